/*
 * A thread of the program that another one cancels while it is in a callback.
 *
 *     victim_open(&v, turn);                            in its callback of this number, counted from 1
 *     is_cancelled = victim_run(&v, call, argument);    calls call(argument) in the thread, and waits for its end
 *     victim_close(&v);
 *
 * The callbacks call victim_callback(&v). The thread waits there until it has been cancelled, passes many cancellation
 * points, and goes on. It ends after the call, at the first cancellation point of the program's own code; if the call
 * had not so many callbacks, it is not cancelled.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

typedef struct victim {
    pthread_t thread;
    void (*call)(void *argument);
    void *argument;
    /* In which callback it is cancelled; 0: in none. How many there have been. */
    long turn, callbacks;
    /* The thread is in that callback, or past the call; it has been cancelled. */
    sem_t news, cancelled;
    int has_been_cancelled;
    /* Something to read from, which is a cancellation point. */
    int pipe[2];
    /* The call has returned, and something came after it. */
    int has_returned, has_survived;
} victim;

/* Many cancellation points. */
static inline void pass_cancellation_points(int from, long nanoseconds)
{
    const struct timespec moment = {0, nanoseconds};
    char byte;

    nanosleep(&moment, NULL);
    if (from >= 0)
        CHECK_EQ(read(from, &byte, 1), 1);
    pthread_testcancel();
    usleep(10);
}

static inline void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        CHECK_EQ(errno, EINTR);
}

/* In the callback in which it is cancelled, the thread goes on as if nothing had happened. */
static inline void victim_callback(victim *v)
{
    int came_from;

    if (++v->callbacks != v->turn)
        return;
    __atomic_store_n(&v->has_been_cancelled, 1, __ATOMIC_RELEASE);
    CHECK_OK(sem_post(&v->news));
    wait_for(&v->cancelled);
    pass_cancellation_points(v->pipe[0], 10000);
    /* The state is the library's: cancellation is off. */
    CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &came_from));
    CHECK_EQ(came_from, PTHREAD_CANCEL_DISABLE);
}

static inline void *victim_main(void *argument)
{
    victim *v = argument;

    v->thread = pthread_self();
    v->call(v->argument);
    v->has_returned = 1;
    if (!v->has_been_cancelled)
        CHECK_OK(sem_post(&v->news));
    pthread_testcancel();
    v->has_survived = 1;
    return NULL;
}

static inline void victim_open(victim *v, long turn)
{
    memset(v, 0, sizeof *v);
    v->turn = turn;
    CHECK_OK(sem_init(&v->news, 0, 0));
    CHECK_OK(sem_init(&v->cancelled, 0, 0));
    CHECK_OK(pipe(v->pipe));
    CHECK_EQ(write(v->pipe[1], "x", 1), 1);
}

static inline void victim_close(victim *v)
{
    close(v->pipe[0]);
    close(v->pipe[1]);
    CHECK_OK(sem_destroy(&v->news));
    CHECK_OK(sem_destroy(&v->cancelled));
}

/* Runs the thread, and cancels it in its callback. Whether or not that comes, the call returns. Tells whether it
 * came. */
static inline int victim_run(victim *v, void (*call)(void *argument), void *argument)
{
    pthread_t thread;
    void *result;
    int is_cancelled;

    v->call = call;
    v->argument = argument;
    CHECK_OK(pthread_create(&thread, NULL, victim_main, v));
    wait_for(&v->news);
    is_cancelled = __atomic_load_n(&v->has_been_cancelled, __ATOMIC_ACQUIRE);
    if (is_cancelled) {
        CHECK_OK(pthread_cancel(thread));
        CHECK_OK(sem_post(&v->cancelled));
    }
    CHECK_OK(pthread_join(thread, &result));
    CHECK(v->has_returned && v->has_survived == !is_cancelled);
    CHECK((result == PTHREAD_CANCELED) == is_cancelled);
    return is_cancelled;
}

#endif
