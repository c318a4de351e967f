/*
 * Children that are forked while other threads use the same objects, and use them at once.
 *
 *     static const forks all = {.user = &shared, .use = read_everything, .renew = open_again};
 *
 *     forks_run(&all, 300, 0);        beside threads that call use again and again, 300 children call it once
 *
 * After a fork the child has one thread, and whatever the others held at that moment they hold for ever. If the child
 * has to wait for that, an alarm ends it; if something is wrong, a check does. Otherwise it ends itself by a signal, so
 * that no memory checker counts what the other threads held as lost.
 */
#ifndef FORKS_H
#define FORKS_H

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "nczchunk.h"

enum { FORKS_THREADS = 8, FORKS_AT_A_TIME = 10, FORKS_MOST_SECONDS = 100, FORKS_LONG_ENOUGH = 4 };

typedef struct forks {
    void *user;
    /* Uses the objects. It is called in several threads at the same time. */
    void (*use)(void *user, nczchunk_context *context, int is_child);
    /* Frees the objects and makes others, in a child. */
    void (*renew)(void *user);
    /* Frees them, in a child. */
    void (*free)(void *user);
} forks;

typedef struct forks_load {
    const forks *forks;
    int is_over;
    long uses;
} forks_load;

static const struct timespec forks_moment = {0, 20000};

static inline void *forks_keep_using(void *argument)
{
    forks_load *load = argument;
    nczchunk_context *context;

    CHECK_OK(nczchunk_context_new(&context));
    while (!__atomic_load_n(&load->is_over, __ATOMIC_RELAXED)) {
        load->forks->use(load->forks->user, context, 0);
        nanosleep(&forks_moment, NULL); /* lets the children have a processor */
        __atomic_fetch_add(&load->uses, 1, __ATOMIC_RELAXED);
    }
    nczchunk_context_free(context);
    return NULL;
}

static inline void forks_be_the_child(const forks *f, int frees)
{
    nczchunk_context *context;

    alarm(FORKS_MOST_SECONDS);
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_threads(context, 2));
    f->use(f->user, context, 1);
    /* What the other threads hold of the objects is lost, but they can be freed, and others made. */
    if (frees) {
        f->renew(f->user);
        f->use(f->user, context, 0);
        f->free(f->user);
    }
    nczchunk_context_free(context);
    raise(SIGKILL);
}

/* So many children. Fewer under a memory checker, where all takes longer, unless it may take as long as it likes. */
static inline void forks_run(const forks *f, int wanted, int is_long)
{
    forks_load load = {.forks = f};
    pthread_t threads[FORKS_THREADS];
    const time_t begun = time(NULL);
    int done = 0;

    for (size_t i = 0; i < FORKS_THREADS; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, forks_keep_using, &load));
    while (__atomic_load_n(&load.uses, __ATOMIC_RELAXED) < FORKS_THREADS)
        CHECK_OK(nanosleep(&forks_moment, NULL));
    while (done < wanted && (is_long || done < 2 * FORKS_AT_A_TIME || time(NULL) < begun + FORKS_LONG_ENOUGH)) {
        pid_t children[FORKS_AT_A_TIME];

        for (int i = 0; i < FORKS_AT_A_TIME; i++) {
            children[i] = fork();
            CHECK(children[i] >= 0);
            if (children[i] == 0)
                forks_be_the_child(f, i % 2);
        }
        for (int i = 0; i < FORKS_AT_A_TIME; i++, done++) {
            int status;

            CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
            if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
                CHECK_FAILED("child %d failed: its status is %#x", done, (unsigned)status);
        }
    }
    __atomic_store_n(&load.is_over, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < FORKS_THREADS; i++)
        CHECK_OK(pthread_join(threads[i], NULL));
    printf("%d children beside %d threads\n", done, FORKS_THREADS);
}

#endif
