/*
 * Threads that are cancelled while they are in a call of the library.
 *
 * pthread_cancel ends a thread at a cancellation point: when it sleeps, reads, waits. Such points are in callbacks. To
 * end a thread there would leave behind the call's memory and its workers, so the library holds cancellation off while
 * it runs: the call returns as usual, and the thread ends at the next cancellation point of the program's own code.
 *
 *     status = nczchunk_read_vars(var, store, start, count, stride, data, context);      returns, cancelled or not
 *     pthread_testcancel();                                                              here the thread ends
 *
 * That is so for deferred cancellation. With the type PTHREAD_CANCEL_ASYNCHRONOUS a thread may call hardly any function
 * of any library, and none of this one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <unistd.h>

#include "tasks.h"
#include "watched_array.h"

/* --- A thread of the program, and one that cancels it. */

typedef struct victim {
    watched w;
    pthread_t thread;
    int is_write;
    /* What a callback fails with, if it does. */
    int callback_status;
    /* The thread is in a callback; it has been cancelled. */
    sem_t inside, cancelled;
    int has_been_cancelled;
    /* Something to read from, which is a cancellation point. */
    int pipe[2];
    /* What the call returned, after which the thread was still alive, and that nothing came after. */
    int has_returned, status, has_survived;
    /* How many worker threads have asked to be cancelled themselves. */
    int workers_cancelled;
} victim;

static victim *the_victim;
static unsigned char data[LARGE_ELEMENT * ELEMENTS];

/* Many cancellation points. */
static void pass_cancellation_points(int from)
{
    const struct timespec moment = {0, 2000000};
    char byte;

    nanosleep(&moment, NULL);
    if (from >= 0)
        CHECK_EQ(read(from, &byte, 1), 1);
    pthread_testcancel();
    usleep(10);
}

/* In its first callback the thread waits until it has been cancelled, then goes on as if nothing had happened. */
static void be_cancelled(victim *v)
{
    int came_from;

    if (v->has_been_cancelled)
        return;
    __atomic_store_n(&v->has_been_cancelled, 1, __ATOMIC_RELEASE);
    CHECK_OK(sem_post(&v->inside));
    while (sem_wait(&v->cancelled) != 0)
        CHECK_EQ(errno, EINTR);
    pass_cancellation_points(v->pipe[0]);
    /* The state is the library's: cancellation is off. */
    CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &came_from));
    CHECK_EQ(came_from, PTHREAD_CANCEL_DISABLE);
}

/* What callbacks do: those of the thread are cancelled by another, those of workers by themselves. */
static void in_a_callback(watched *w, memory_chunk *chunk)
{
    victim *v = the_victim;

    (void)w;
    if (pthread_equal(pthread_self(), v->thread)) {
        be_cancelled(v);
    } else {
        /* They leave a chunk to the thread. */
        while (!__atomic_load_n(&v->has_been_cancelled, __ATOMIC_ACQUIRE))
            pass_cancellation_points(-1);
        __atomic_fetch_add(&v->workers_cancelled, 1, __ATOMIC_RELAXED);
        CHECK_OK(pthread_cancel(pthread_self()));
    }
    pass_cancellation_points(-1);
    if (v->callback_status != NCZCHUNK_NOERR)
        chunk->status = chunk->write_status = v->callback_status;
}

static void *make_a_call(void *argument)
{
    victim *v = argument;

    v->status = v->is_write ? watched_write(&v->w, data) : watched_read(&v->w, data);
    v->has_returned = 1;
    pthread_testcancel();
    v->has_survived = 1;
    return NULL;
}

static void open_victim(victim *v)
{
    the_victim = v;
    CHECK_OK(sem_init(&v->inside, 0, 0));
    CHECK_OK(sem_init(&v->cancelled, 0, 0));
    CHECK_OK(pipe(v->pipe));
    CHECK_EQ(write(v->pipe[1], "x", 1), 1);
}

static void close_victim(victim *v)
{
    close(v->pipe[0]);
    close(v->pipe[1]);
    CHECK_OK(sem_destroy(&v->inside));
    CHECK_OK(sem_destroy(&v->cancelled));
}

/* Cancels the thread in its callback, and waits for its end. */
static void cancel_and_join(victim *v)
{
    void *result;

    while (sem_wait(&v->inside) != 0)
        CHECK_EQ(errno, EINTR);
    CHECK_OK(pthread_cancel(v->thread));
    CHECK_OK(sem_post(&v->cancelled));
    CHECK_OK(pthread_join(v->thread, &result));
    CHECK(result == PTHREAD_CANCELED);
}

/* --- Reads and writes. */

static void calls(store_kind kind, int compressed, int is_write, size_t threads, int status)
{
    static victim v;
    const long before = count_tasks();

    memset(&v, 0, sizeof v);
    open_victim(&v);
    if (compressed) {
        watched_open(&v.w, kind);
        watched_compress(&v.w);
    } else {
        watched_open_large(&v.w, kind);
    }
    v.w.also = in_a_callback;
    v.is_write = is_write;
    v.callback_status = status;
    CHECK_OK(nczchunk_context_set_threads(v.w.context, threads));
    memset(data, 0, sizeof data);
    if (is_write)
        memory_array_make_data(&v.w.array, ELEMENTS, data);
    /* The thread must know itself before its callbacks run. */
    CHECK_OK(pthread_mutex_lock(&v.w.lock));
    CHECK_OK(pthread_create(&v.thread, NULL, make_a_call, &v));
    CHECK_OK(pthread_mutex_unlock(&v.w.lock));
    cancel_and_join(&v);

    CHECK(v.has_returned && !v.has_survived);
    CHECK_EQ(v.status, status);
    CHECK_EQ(nczchunk_context_status(v.w.context), status);
    if (status == NCZCHUNK_NOERR) {
        CHECK_EQ(nczchunk_context_chunks_done(v.w.context), CHUNKS);
        CHECK((v.workers_cancelled > 0) == (threads > 1));
        if (is_write)
            CHECK_EQ(v.w.array.written, CHUNKS);
        else
            watched_check(&v.w, data);
    }
    /* No worker is left. The system may list a thread for a moment after it has ended. */
    while (count_tasks() > before)
        usleep(1000);

    /* The store and the context serve the next call, in this thread. */
    v.w.also = NULL;
    for (size_t c = 0; c < CHUNKS; c++)
        if (v.w.array.chunks[c].bytes != NULL)
            v.w.array.chunks[c].status = v.w.array.chunks[c].write_status = NCZCHUNK_NOERR;
    CHECK_OK(watched_read(&v.w, data));
    watched_close(&v.w);
    close_victim(&v);
}

/* --- Callbacks that destroy. */

static void destroyed_meanwhile(void *user)
{
    be_cancelled(user);
}

static int never_decode(void *user, nczchunk_coding *coding)
{
    (void)user, (void)coding;
    return NCZCHUNK_EIO;
}

static int never_fill(void *user, nczchunk_request *request)
{
    (void)user, (void)request;
    return NCZCHUNK_EIO;
}

typedef struct destroyer {
    victim v;
    nczchunk_store *store;
    nczchunk_codec *codec;
} destroyer;

static void *free_them(void *argument)
{
    destroyer *d = argument;

    nczchunk_store_free(d->store);
    nczchunk_codec_free(d->codec);
    d->v.has_returned = 1;
    pthread_testcancel();
    d->v.has_survived = 1;
    return NULL;
}

/* Of a store, of a codec that a store has taken over, of a codec that none has. */
static void objects_that_are_freed(int of_store, int of_codec, int is_taken_over)
{
    static destroyer d;
    const nczchunk_filling_callbacks callbacks = {.struct_size = sizeof callbacks, .user = &d.v, .fill = never_fill,
                                                  .destroy = of_store ? destroyed_meanwhile : NULL};
    const nczchunk_codec_callbacks coding = {.struct_size = sizeof coding, .user = &d.v, .decode = never_decode,
                                             .destroy = of_codec ? destroyed_meanwhile : NULL};

    memset(&d, 0, sizeof d);
    open_victim(&d.v);
    CHECK_OK(nczchunk_store_filling(&callbacks, &d.store, NULL));
    CHECK_OK(nczchunk_codec_new("none", &coding, &d.codec, NULL));
    if (is_taken_over) {
        CHECK_OK(nczchunk_store_add_codec(d.store, d.codec, NULL));
        d.codec = NULL;
    }
    CHECK_OK(pthread_create(&d.v.thread, NULL, free_them, &d));
    cancel_and_join(&d.v);
    CHECK(d.v.has_returned && !d.v.has_survived);
    close_victim(&d.v);
}

/* --- A thread that has switched cancellation off finds it off after the call, one that has not finds it on. */

static void the_state_is_as_it_was(void)
{
    const size_t beyond[RANK] = {99, 0, 0};
    watched w;

    watched_open(&w, FILLING);
    for (int off = 0; off <= 1; off++) {
        const int state = off ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
        int found;

        CHECK_OK(pthread_setcancelstate(state, NULL));
        CHECK_OK(watched_read(&w, data));
        CHECK_OK(pthread_setcancelstate(state, &found));
        CHECK_EQ(found, state);
        CHECK_EQ(nczchunk_read_vars(w.var, w.store, beyond, NULL, NULL, data, w.context), NCZCHUNK_EINVALCOORDS);
        CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &found));
        CHECK_EQ(found, state);
    }
    watched_close(&w);
}

int main(void)
{
    alarm(300);
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (size_t threads = 1; threads <= 4; threads += 3) {
            calls(store_kinds[kind], 0, 0, threads, NCZCHUNK_NOERR);
            calls(store_kinds[kind], 0, 1, threads, NCZCHUNK_NOERR);
            calls(store_kinds[kind], 1, 0, threads, NCZCHUNK_NOERR);
            calls(store_kinds[kind], 0, 0, threads, EIO);
            calls(store_kinds[kind], 0, 1, threads, EIO);
        }
    }
    objects_that_are_freed(1, 0, 0);
    objects_that_are_freed(0, 1, 0);
    objects_that_are_freed(0, 1, 1);
    the_state_is_as_it_was();
    return 0;
}
