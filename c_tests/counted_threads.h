/*
 * Threads that are counted, and refused when told to. Include it in one file of a program, which defines _GNU_SOURCE:
 * it takes the place of pthread_create in the whole program, the library included.
 */
#ifndef COUNTED_THREADS_H
#define COUNTED_THREADS_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "check.h"

/* Counted atomically, for several threads may begin others. */
static long threads_begun;
/* How many more may begin; -1: any number. */
static long threads_allowed = -1;
/* How many were refused. */
static long threads_refused;
/* Whether this thread is in glibc's pthread_create. What that allocates stays with the stack of a thread that has
 * ended, for the next one: the more threads there are at a time, the more of it. counted_malloc.h counts none of it. */
static __thread int begins_thread;

typedef int create_function(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                            void *argument);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    create_function *create;
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    int status;

    CHECK(symbol != NULL);
    memcpy(&create, &symbol, sizeof create);
    if (threads_allowed == 0) {
        __atomic_fetch_add(&threads_refused, 1, __ATOMIC_RELAXED);
        return EAGAIN;
    }
    if (threads_allowed > 0)
        threads_allowed--;
    __atomic_fetch_add(&threads_begun, 1, __ATOMIC_RELAXED);
    begins_thread = 1;
    status = create(thread, attributes, start, argument);
    begins_thread = 0;
    return status;
}

#endif
