/*
 * Memory that cannot be had, wherever some is asked for. A scene is played with its first allocation failing, then its
 * second, and so on until it gets through. Each call that fails is made again with the same objects, and is right then.
 *
 * It is played in two ways: a single allocation fails, as where a large block cannot be had and small ones can; then
 * all fail from one on until the call has returned, as where nothing is left. A call has not even the memory to raise a
 * panic of Rust's then, so that the program would be aborted.
 *
 *     static int open_and_read(const void *path, long n)
 *     {
 *         nczchunk_array *array = NULL;
 *
 *         fail_at(n);
 *         TRY_OR(nczchunk_array_open(path, NULL, NCZCHUNK_READ, &array, NULL), array == NULL);
 *         TRY(nczchunk_array_read(array, start, NULL, NULL, data, NULL));
 *         nczchunk_array_close(array);
 *         return has_been_refused();
 *     }
 *
 *     play_until_it_gets_through("open and read", open_and_read, "sst.zarr");
 *
 * With NCZCHUNK_EVERY=7 in the environment every seventh allocation fails, from one of the first seven on, which the
 * time chooses: for checkers under which all of them take minutes.
 */
#ifndef OUT_OF_MEMORY_H
#define OUT_OF_MEMORY_H

#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "nczchunk.h"

#include "counted_malloc.h"

/* How many of the calls below have said NCZCHUNK_ENOMEM since fail_at. */
static int refusals;

/* Lets the n-th allocation from here on fail, and as many behind it as are to fail in a row. */
static inline void fail_at(long n)
{
    refusals = 0;
    failing_allocation = allocations + n;
}

/* Has memory be there again, after a call in which some was lacking. */
static inline void end_failures(void)
{
    if (allocations >= failing_allocation)
        failing_allocation = 0;
}

/* Ends that allocations fail. Returns whether one has. */
static inline int has_failed(void)
{
    int failed = allocations >= failing_allocation;

    failing_allocation = 0;
    return failed;
}

/* The same, where one of the calls below must have told it. */
static inline int has_been_refused(void)
{
    int failed = has_failed();

    CHECK_EQ(refusals, failed);
    return failed;
}

/* Makes a call. If there is no memory for it the condition holds, and the same call again succeeds. */
#define TRY_OR(call, condition)                                 \
    do {                                                        \
        int try_status = (call);                                \
        end_failures();                                         \
        if (try_status == NCZCHUNK_ENOMEM) {                    \
            refusals++;                                         \
            CHECK(condition);                                   \
            try_status = (call);                                \
        }                                                       \
        CHECK_EQ(try_status, NCZCHUNK_NOERR);                   \
    } while (0)

#define TRY(call) TRY_OR(call, 1)

/* How many allocations lie between two that fail, and one more. */
static inline long step_of_failures(void)
{
    const char *every = getenv("NCZCHUNK_EVERY");
    long step = every != NULL ? atol(every) : 1;

    CHECK(step > 0);
    return step;
}

/* Plays a scene with so many allocations failing in a row. It gets n, and returns whether its n-th allocation has
 * failed. Nothing is leaked. */
static inline void play_with_failures(const char *name, int (*play)(const void *scene, long n), const void *scene,
                                      long in_a_row)
{
    const long step = step_of_failures(), first = 1 + (long)time(NULL) % step;
    long n = first;
    int failed;

    failures = in_a_row;
    do {
        long live = live_allocations;

        CHECK(n < 5000);
        failed = play(scene, n);
        if (live_allocations != live)
            CHECK_FAILED("%s: %ld allocations left when number %ld failed", name, live_allocations - live, n);
        if (!failed && n == 1)
            CHECK_FAILED("%s allocates nothing", name);
        n += step;
    } while (failed);
    failures = 1;
}

/* Plays it in both ways. */
static inline void play_until_it_gets_through(const char *name, int (*play)(const void *scene, long n),
                                              const void *scene)
{
    play_with_failures(name, play, scene, 1);
    play_with_failures(name, play, scene, LONG_MAX);
}

#endif
