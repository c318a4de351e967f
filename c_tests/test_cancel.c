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
#include "tasks.h"
#include "victim.h"
#include "watched_array.h"

/* --- A call in which a thread is cancelled in its first callback, and the call's workers cancel themselves. */

typedef struct caller {
    victim v;
    watched w;
    int is_write;
    /* What a callback fails with, if it does; what the call returned. */
    int callback_status, status;
    int workers_cancelled;
} caller;

static caller *the_caller;
static unsigned char data[LARGE_ELEMENT * ELEMENTS];

/* What callbacks do: those of the thread are cancelled by another, those of workers by themselves. */
static void in_a_callback(watched *w, memory_chunk *chunk)
{
    caller *c = the_caller;

    (void)w;
    if (pthread_equal(pthread_self(), c->v.thread)) {
        victim_callback(&c->v);
    } else {
        /* They leave a chunk to the thread. */
        while (!__atomic_load_n(&c->v.has_been_cancelled, __ATOMIC_ACQUIRE))
            pass_cancellation_points(-1, 2000000);
        __atomic_fetch_add(&c->workers_cancelled, 1, __ATOMIC_RELAXED);
        CHECK_OK(pthread_cancel(pthread_self()));
    }
    pass_cancellation_points(-1, 2000000);
    if (c->callback_status != NCZCHUNK_NOERR)
        chunk->status = chunk->write_status = c->callback_status;
}

static void make_a_call(void *argument)
{
    caller *c = argument;
    c->status = c->is_write ? watched_write(&c->w, data) : watched_read(&c->w, data);
}

/* --- Reads and writes. */

static void calls(store_kind kind, int compressed, int is_write, size_t threads, int status)
{
    static caller c;
    const long before = count_tasks();

    memset(&c, 0, sizeof c);
    the_caller = &c;
    victim_open(&c.v, 1);
    if (compressed) {
        watched_open(&c.w, kind);
        watched_compress(&c.w);
    } else {
        watched_open_large(&c.w, kind);
    }
    c.w.also = in_a_callback;
    c.is_write = is_write;
    c.callback_status = status;
    CHECK_OK(nczchunk_context_set_threads(c.w.context, threads));
    memset(data, 0, sizeof data);
    if (is_write)
        memory_array_make_data(&c.w.array, ELEMENTS, data);
    CHECK(victim_run(&c.v, make_a_call, &c));

    CHECK_EQ(c.status, status);
    CHECK_EQ(nczchunk_context_status(c.w.context), status);
    if (status == NCZCHUNK_NOERR) {
        CHECK_EQ(nczchunk_context_chunks_done(c.w.context), CHUNKS);
        CHECK((c.workers_cancelled > 0) == (threads > 1));
        if (is_write)
            CHECK_EQ(c.w.array.written, CHUNKS);
        else
            watched_check(&c.w, data);
    }
    /* No worker is left. The system may list a thread for a moment after it has ended. */
    while (count_tasks() > before)
        usleep(1000);

    /* The store and the context serve the next call, in this thread. */
    c.w.also = NULL;
    for (size_t i = 0; i < CHUNKS; i++)
        if (c.w.array.chunks[i].bytes != NULL)
            c.w.array.chunks[i].status = c.w.array.chunks[i].write_status = NCZCHUNK_NOERR;
    CHECK_OK(watched_read(&c.w, data));
    watched_close(&c.w);
    victim_close(&c.v);
}

/* --- In every callback of a call, whichever it is. */

typedef enum way { LENDS, FILLS, IN_FLIGHT, WITH_CODEC, WITH_COPIER, NUM_WAYS } way;

typedef enum callback_kind {
    LEND,
    LEND_TO_WRITE,
    RELEASE,
    FILL,
    STORE,
    START,
    WAIT,
    CANCEL,
    DECODE,
    ENCODE,
    BOUND,
    COPY,
    PROGRESS,
    NUM_KINDS
} callback_kind;

/* In how many callbacks of each kind a thread has been cancelled. */
static long cancelled_in[NUM_KINDS];

/* Six chunks, of which three as a whole and three in part: numbers 0, 3, 6, 9, 12 and 15. If number 6 fails in flight,
 * two have been done, and those after it are cancelled. */
enum { PART_CHUNKS = 6, FAILING = 6, BEFORE_FAILING = 2, MOST_UNDER_WAY = 5 };

static const size_t part_count[RANK] = {7, 10, 3};

typedef struct called {
    memory_array array; /* first, for the array's own callbacks take a pointer to it */
    memory_array expected;
    victim v;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    int is_write, status;
    int data[ELEMENTS];
    long lent;
    nczchunk_request *requests_in_flight[MOST_UNDER_WAY];
    size_t num_under_way;
} called;

/* Every callback begins with this. */
static called *enter(void *user, callback_kind kind)
{
    called *c = user;

    victim_callback(&c->v);
    cancelled_in[kind] += c->v.callbacks == c->v.turn;
    return c;
}

static int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    called *c = enter(user, LEND);
    c->lent++;
    return memory_array_lend(&c->array, loan);
}

static int lend_to_write(void *user, nczchunk_borrowed_chunk *loan)
{
    called *c = enter(user, LEND_TO_WRITE);
    c->lent++;
    return memory_array_lend_to_write(&c->array, loan);
}

static int release(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    return memory_array_release(&enter(user, RELEASE)->array, loan, status);
}

static int fill(void *user, nczchunk_request *request)
{
    return memory_array_fill(&enter(user, FILL)->array, request);
}

static int save(void *user, nczchunk_request *request)
{
    return memory_array_save(&enter(user, STORE)->array, request);
}

static int start(void *user, nczchunk_request *request)
{
    called *c = enter(user, START);

    CHECK(c->num_under_way < MOST_UNDER_WAY);
    c->requests_in_flight[c->num_under_way++] = request;
    return NCZCHUNK_NOERR;
}

/* The first comes back first, so that others are in flight when one fails. */
static int wait_for_one(void *user, nczchunk_request **done)
{
    called *c = enter(user, WAIT);

    CHECK(c->num_under_way > 0);
    *done = c->requests_in_flight[0];
    memmove(&c->requests_in_flight[0], &c->requests_in_flight[1], --c->num_under_way * sizeof c->requests_in_flight[0]);
    (*done)->status = memory_array_fill(&c->array, *done);
    return NCZCHUNK_NOERR;
}

static void cancel(void *user, nczchunk_request *request)
{
    (void)request;
    enter(user, CANCEL);
}

static int invert(void *user, nczchunk_coding *coding, callback_kind kind)
{
    enter(user, kind);
    CHECK(coding->source_size <= coding->capacity);
    for (size_t i = 0; i < coding->source_size; i++)
        ((unsigned char *)coding->destination)[i] = (unsigned char)~((const unsigned char *)coding->source)[i];
    coding->nbytes = coding->source_size;
    return NCZCHUNK_NOERR;
}

static int decode(void *user, nczchunk_coding *coding)
{
    return invert(user, coding, DECODE);
}

static int encode(void *user, nczchunk_coding *coding)
{
    return invert(user, coding, ENCODE);
}

static size_t encoded_bound(void *user, size_t decoded_size)
{
    enter(user, BOUND);
    return decoded_size;
}

static int copy_ints(void *user, int writing, size_t elements, const void *source, void *destination)
{
    (void)writing;
    enter(user, COPY);
    memcpy(destination, source, elements * sizeof(int));
    return NCZCHUNK_NOERR;
}

static int progress(void *user, const nczchunk_progress *so_far)
{
    (void)so_far;
    enter(user, PROGRESS);
    return 0;
}

static void open_called(called *c, way way, int is_write, long turn)
{
    nczchunk_zero_copy_callbacks lending = memory_array_lending(&c->array);
    nczchunk_reader_callbacks filling = memory_array_filling(&c->array);
    const nczchunk_codec_callbacks coding = {.struct_size = sizeof coding, .user = c, .decode = decode,
                                             .encode = encode, .encoded_bound = encoded_bound};
    nczchunk_codec *codec;

    memset(c, 0, sizeof *c);
    victim_open(&c->v, turn);
    c->is_write = is_write;
    memory_array_init(&c->array, RANK, dimlens, chunklens, sizeof(int));
    c->expected = memory_array_copy(&c->array);
    c->var = memory_array_var(&c->array);
    lending.lend = lend;
    lending.lend_to_write = lend_to_write;
    lending.release = release;
    filling.fill = fill;
    filling.store = save;
    if (way == IN_FLIGHT) {
        filling.fill = NULL;
        filling.start = start;
        filling.wait = wait_for_one;
        filling.cancel = cancel;
        filling.in_flight = MOST_UNDER_WAY;
    }
    if (way == LENDS || way == WITH_COPIER)
        CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &c->store, NULL));
    else
        CHECK_OK(nczchunk_chunk_store_new(&filling, &c->store, NULL));
    if (way == WITH_CODEC) {
        for (size_t i = 0; i < CHUNKS; i++)
            for (size_t b = 0; b < c->array.chunk_bytes; b++)
                c->array.chunks[i].bytes[b] = (unsigned char)~c->array.chunks[i].bytes[b];
        CHECK_OK(nczchunk_codec_new("invert", &coding, &codec, NULL));
        CHECK_OK(nczchunk_chunk_store_add_codec(c->store, codec, NULL));
    }
    if (way == WITH_COPIER)
        CHECK_OK(nczchunk_var_set_copier(c->var, copy_ints, c, NULL));
    CHECK_OK(nczchunk_context_new(&c->context));
    CHECK_OK(nczchunk_context_set_progress(c->context, progress, c));
    /* The codec's bound is asked for here, too. */
    c->v.callbacks = 0;
}

static void close_called(called *c)
{
    nczchunk_context_free(c->context);
    nczchunk_chunk_store_free(c->store);
    nczchunk_var_free(c->var);
    CHECK_EQ(c->array.destroyed, 1);
    memory_array_clear(&c->array);
    memory_array_clear(&c->expected);
    victim_close(&c->v);
}

static void read_or_write(void *argument)
{
    called *c = argument;

    if (c->is_write)
        c->status = nczchunk_write_vars(c->var, c->store, zeros, part_count, NULL, c->data, c->context);
    else
        c->status = nczchunk_read_vars(c->var, c->store, zeros, part_count, NULL, c->data, c->context);
}

/* All elements are as they should be. */
static void check_elements(const called *c)
{
    for (size_t e = 0; e < ELEMENTS; e++) {
        size_t element;
        const size_t chunk = memory_array_find(&c->expected, zeros, NULL, NULL, e, &element);

        CHECK(memcmp(&c->data[e], c->expected.chunks[chunk].bytes + element * sizeof(int), sizeof(int)) == 0);
    }
}

/* One call for each of its callbacks: it does all that it would have done, and its objects serve the next call. */
static void in_every_callback(way way, int is_write, int fails)
{
    static called c;
    int is_cancelled;

    for (long turn = 1;; turn++) {
        open_called(&c, way, is_write, turn);
        if (fails)
            c.array.chunks[FAILING].status = EIO;
        if (is_write) {
            memory_array_make_data(&c.array, ELEMENTS, (unsigned char *)c.data);
            memory_array_put(&c.expected, zeros, part_count, NULL, NULL, c.data, NULL);
        }
        is_cancelled = victim_run(&c.v, read_or_write, &c);
        CHECK_EQ(c.status, fails ? EIO : NCZCHUNK_NOERR);
        CHECK_EQ(nczchunk_context_status(c.context), c.status);
        CHECK_EQ(nczchunk_context_chunks_done(c.context), fails ? BEFORE_FAILING : PART_CHUNKS);
        CHECK_EQ(c.array.released, c.lent);
        CHECK_EQ(c.num_under_way, 0);
        if (!is_write && !fails)
            memory_array_expect(&c.expected, zeros, part_count, NULL, NULL, c.data);

        c.v.turn = 0;
        c.array.chunks[FAILING].status = NCZCHUNK_NOERR;
        CHECK_OK(nczchunk_read_vars(c.var, c.store, zeros, NULL, NULL, c.data, c.context));
        check_elements(&c);
        CHECK_EQ(c.array.released, c.lent);
        close_called(&c);
        if (!is_cancelled)
            return;
    }
}

static void in_every_callback_of_every_call(void)
{
    for (way way = LENDS; way < NUM_WAYS; way++)
        for (int is_write = 0; is_write <= 1; is_write++)
            in_every_callback(way, is_write, 0);
    in_every_callback(IN_FLIGHT, 0, 1);
    for (callback_kind kind = LEND; kind < NUM_KINDS; kind++)
        CHECK(cancelled_in[kind] > 0);
}

/* --- Callbacks that destroy. */

static void destroyed_meanwhile(void *user)
{
    victim_callback(user);
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
    nczchunk_chunk_store *store;
    nczchunk_codec *codec;
} destroyer;

static void free_them(void *argument)
{
    destroyer *d = argument;

    nczchunk_chunk_store_free(d->store);
    nczchunk_codec_free(d->codec);
}

/* Of a store, of a codec that a store has taken over, of a codec that none has. */
static void objects_that_are_freed(int of_store, int of_codec, int is_taken_over)
{
    static destroyer d;
    const nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .user = &d.v, .fill = never_fill,
                                                  .destroy = of_store ? destroyed_meanwhile : NULL};
    const nczchunk_codec_callbacks coding = {.struct_size = sizeof coding, .user = &d.v, .decode = never_decode,
                                             .destroy = of_codec ? destroyed_meanwhile : NULL};

    memset(&d, 0, sizeof d);
    victim_open(&d.v, 1);
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &d.store, NULL));
    CHECK_OK(nczchunk_codec_new("none", &coding, &d.codec, NULL));
    if (is_taken_over) {
        CHECK_OK(nczchunk_chunk_store_add_codec(d.store, d.codec, NULL));
        d.codec = NULL;
    }
    CHECK(victim_run(&d.v, free_them, &d));
    victim_close(&d.v);
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
    in_every_callback_of_every_call();
    objects_that_are_freed(1, 0, 0);
    objects_that_are_freed(0, 1, 0);
    objects_that_are_freed(0, 1, 1);
    the_state_is_as_it_was();
    return 0;
}
