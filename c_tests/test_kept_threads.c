/*
 * Threads that stay between calls: after test_parallel.c and test_parallel_process.c.
 *
 *     nczchunk_context_set_threads(context, 4);
 *     nczchunk_context_set_keeps_threads(context, 1);
 *     for (...)
 *         nczchunk_read_vars(var, store, start, count, stride, data, context);      the same threads each time
 *     nczchunk_context_free(context);                                               here they end
 *
 * Bytes, status and what the context tells are the same as without. A child that was forked begins threads of its own.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "counted_threads.h"
#include "tasks.h"
#include "watched_array.h"

/* What is read. */
static unsigned char data[LARGE_ELEMENT * ELEMENTS];

static void open_keeping(watched *w, store_kind kind)
{
    watched_open(w, kind);
    watched_compress(w);
    CHECK_EQ(nczchunk_context_set_keeps_threads(w->context, 1), 0);
    CHECK_EQ(nczchunk_context_set_keeps_threads(w->context, 2), 1);
    threads_begun = 0;
}

/* Reads everything with so many threads, all of which have to be at work at the same time. */
static void read_with(watched *w, size_t threads)
{
    memset(data, 0, sizeof data);
    watched_expect_threads(w, threads, threads);
    CHECK_OK(watched_read(w, data));
    CHECK_EQ(w->num_threads, threads);
    watched_check(w, data);
}

/* The system may list a thread for a moment after it has ended. */
static void expect_tasks(long tasks)
{
    const struct timespec moment = {0, 1000000};

    while (count_tasks() > tasks)
        nanosleep(&moment, NULL);
    CHECK_EQ(count_tasks(), tasks);
}

/* Those of one call are there for the next, whatever became of it; only what is missing is begun. */
static void threads_stay_for_the_next_call(store_kind kind)
{
    const long before = count_tasks();
    watched w;

    open_keeping(&w, kind);
    for (int i = 0; i < 3; i++)
        read_with(&w, 4);
    CHECK_EQ(threads_begun, 3);

    w.array.chunks[5].status = 77;
    CHECK_EQ(watched_read(&w, data), 77);
    w.array.chunks[5].status = NCZCHUNK_NOERR;
    read_with(&w, 2);
    read_with(&w, 4);
    CHECK_EQ(threads_begun, 3);
    read_with(&w, 6);
    CHECK_EQ(threads_begun, 5);
    CHECK_EQ(count_tasks(), before + 5);

    /* Not kept any more, and kept again. */
    CHECK_EQ(nczchunk_context_set_keeps_threads(w.context, 0), 1);
    expect_tasks(before);
    read_with(&w, 3);
    expect_tasks(before);
    CHECK_EQ(nczchunk_context_set_keeps_threads(w.context, 1), 0);
    read_with(&w, 3);
    CHECK_EQ(threads_begun, 5 + 2 + 2);
    CHECK_EQ(count_tasks(), before + 2);

    watched_close(&w);
    expect_tasks(before);
}

/* What does not suffice for several threads is done by one, as ever. */
static void little_work_begins_none(void)
{
    const size_t one = 1;
    watched w;

    open_keeping(&w, FILLING);
    CHECK_OK(nczchunk_context_set_threads(w.context, 4));
    CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, (const size_t[RANK]){one, one, one}, NULL, data, w.context));
    CHECK_EQ(threads_begun, 0);
    watched_close(&w);
}

static int keep_none(void *context, const nczchunk_progress *progress)
{
    (void)progress;
    CHECK(nczchunk_context_set_keeps_threads(context, 0) >= 0);
    return 0;
}

/* A callback may change its mind: the threads end with the call that uses them. */
static void a_callback_ends_them(void)
{
    const long before = count_tasks();
    watched w;

    open_keeping(&w, FILLING);
    read_with(&w, 4);
    CHECK_OK(nczchunk_context_set_progress(w.context, keep_none, w.context));
    read_with(&w, 4);
    expect_tasks(before);
    CHECK_OK(nczchunk_context_set_progress(w.context, NULL, NULL));
    read_with(&w, 3);
    CHECK_EQ(threads_begun, 3 + 2);
    watched_close(&w);
}

/* Where the system refuses threads, a call has those that were kept and the caller. */
static void refused_threads(void)
{
    watched w;

    open_keeping(&w, FILLING);
    read_with(&w, 3);
    threads_allowed = 1;
    watched_expect_threads(&w, 8, 4);
    CHECK_OK(watched_read(&w, data));
    threads_allowed = -1;
    CHECK_EQ(w.num_threads, 4);
    watched_check(&w, data);
    watched_close(&w);
}

/* A child has none of its parent's threads. It may free the context, as the parent may. (ThreadSanitizer allows no
 * threads in a child of a process that has several.) */
static void after_a_fork(store_kind kind)
{
    int status;
    pid_t child;
    watched w;

    open_keeping(&w, kind);
    read_with(&w, 4);
    for (int uses = 0; uses <= 1; uses++) {
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            threads_begun = 0;
            if (uses) {
                read_with(&w, 4);
                read_with(&w, 4);
                CHECK_EQ(threads_begun, 3);
            }
            watched_close(&w);
            CHECK_EQ(count_tasks(), 1);
            /* No memory checker is to count what glibc has of the parent's threads as lost. */
            raise(SIGKILL);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(WTERMSIG(status), SIGKILL);
    }
    read_with(&w, 4);
    CHECK_EQ(threads_begun, 3);
    watched_close(&w);
}

static void *nothing(void *argument)
{
    return argument;
}

int main(void)
{
    pthread_t thread;

    alarm(600);
    /* With the first thread ThreadSanitizer begins one of its own. */
    CHECK_OK(pthread_create(&thread, NULL, nothing, NULL));
    CHECK_OK(pthread_join(thread, NULL));
#ifdef __SANITIZE_THREAD__
    expect_tasks(2);
#else
    expect_tasks(1);
#endif
    CHECK_EQ(nczchunk_context_set_keeps_threads(NULL, 1), NCZCHUNK_EINVAL);
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        threads_stay_for_the_next_call(store_kinds[i]);
#ifndef __SANITIZE_THREAD__
        after_a_fork(store_kinds[i]);
#else
        (void)after_a_fork;
#endif
    }
    little_work_begins_none();
    refused_threads();
    a_callback_ends_them();
    return 0;
}
