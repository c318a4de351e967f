/*
 * A call tells how far it has come, if its context has a progress function, and that function may end the call. And
 * what a context tells after a call, or during one, is about that call and no earlier one.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <unistd.h>

#include "watched_array.h"

/* 5 x 4 numbers in a grid of 3 x 2 chunks; and 21 x 23 in one of 11 x 8, too many for a plan to prepare. */
static const struct { size_t dimlens[2], chunklens[2], chunks; } shapes[] = {
    {{5, 4}, {2, 3}, 6}, {{21, 23}, {2, 3}, 88}};

enum { NUM_SHAPES = 2, MOST_CALLS = 100, MOST_ELEMENTS = 21 * 23 };

/* --- A progress function that writes down what it is told. */

typedef struct recorder {
    nczchunk_progress calls[MOST_CALLS];
    size_t num_calls;
    /* The function's answer to the call with this number, and to others 0. */
    size_t stop_at;
    int status;
    /* It runs in this thread only. */
    pthread_t thread;
    /* The context it asks, unless that is NULL. */
    const nczchunk_context *context;
} recorder;

static int record(void *user, const nczchunk_progress *progress)
{
    recorder *r = user;

    CHECK(pthread_equal(pthread_self(), r->thread));
    CHECK_EQ(progress->struct_size, sizeof *progress);
    CHECK(progress->chunks_done <= progress->num_chunks);
    CHECK(progress->bytes_done <= progress->num_bytes);
    if (r->context != NULL) {
        CHECK_EQ(nczchunk_context_status(r->context), NCZCHUNK_NOERR);
        CHECK_STR(nczchunk_context_message(r->context), "");
        CHECK_EQ(nczchunk_context_dimension(r->context), -1);
        CHECK(nczchunk_context_chunk(r->context, NULL) == NULL);
        CHECK_EQ(nczchunk_context_chunks_done(r->context), 0);
    }
    CHECK(r->num_calls < MOST_CALLS);
    r->calls[r->num_calls] = *progress;
    return r->num_calls++ == r->stop_at ? r->status : 0;
}

static void begin_recording(recorder *r)
{
    memset(r, 0, sizeof *r);
    r->stop_at = SIZE_MAX;
    r->thread = pthread_self();
}

/* --- An array, and a call that transfers a hyperslab of it. */

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    recorder recorder;
    int data[MOST_ELEMENTS];
} fixture;

static void open_fixture(fixture *f, int shape, store_kind kind)
{
    memory_array_init(&f->array, 2, shapes[shape].dimlens, shapes[shape].chunklens, sizeof(int));
    CHECK_EQ(f->array.num_chunks, shapes[shape].chunks);
    f->var = memory_array_var(&f->array);
    f->store = memory_array_store(&f->array, kind);
    CHECK_OK(nczchunk_context_new(&f->context));
    begin_recording(&f->recorder);
    CHECK_OK(nczchunk_context_set_progress(f->context, record, &f->recorder));
    for (int i = 0; i < MOST_ELEMENTS; i++)
        f->data[i] = i;
}

static void close_fixture(fixture *f)
{
    nczchunk_context_free(f->context);
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

/* The ways to transfer everything. */
typedef enum call { READ, READ_MAPPED, READ_STRIDED, READ_PLAN, WRITE, WRITE_MAPPED, WRITE_STRIDED, WRITE_PLAN } call;

enum { NUM_CALLS = 8 };

static int is_write(call c)
{
    return c >= WRITE;
}

static int transfer(fixture *f, call c)
{
    const size_t *count = f->array.dimlens;
    const ptrdiff_t rows = (ptrdiff_t)count[0], strides[2] = {sizeof(int), rows * (ptrdiff_t)sizeof(int)};
    const ptrdiff_t imap[2] = {1, rows};
    nczchunk_plan *plan = NULL;
    int status = -1;

    switch (c) {
    case READ: return nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, f->data, f->context);
    case READ_MAPPED: return nczchunk_read_varm(f->var, f->store, zeros, NULL, NULL, imap, f->data, f->context);
    case READ_STRIDED:
        return nczchunk_read_strided(f->var, f->store, zeros, count, NULL, f->data, sizeof f->data, 0, strides,
                                     f->context);
    case WRITE: return nczchunk_write_vars(f->var, f->store, zeros, NULL, NULL, f->data, f->context);
    case WRITE_MAPPED: return nczchunk_write_varm(f->var, f->store, zeros, NULL, NULL, imap, f->data, f->context);
    case WRITE_STRIDED:
        return nczchunk_write_strided(f->var, f->store, zeros, count, NULL, f->data, sizeof f->data, 0, strides,
                                      f->context);
    case READ_PLAN:
    case WRITE_PLAN:
        CHECK_OK(nczchunk_plan_new(f->var, zeros, NULL, NULL, is_write(c) ? NCZCHUNK_WRITE : NCZCHUNK_READ, &plan,
                                   f->context));
        /* There is nothing to tell of a call that transfers nothing. */
        CHECK_EQ(f->recorder.num_calls, 0);
        if (is_write(c))
            status = nczchunk_plan_write(plan, f->store, 0, NCZCHUNK_ALL, f->data, f->context);
        else
            status = nczchunk_plan_read(plan, f->store, 0, NCZCHUNK_ALL, f->data, f->context);
        nczchunk_plan_free(plan);
    }
    return status;
}

/* The bytes that a plan selects of its chunks from one on, in a list to be freed. */
static size_t *bytes_of_chunks(const nczchunk_plan *plan, size_t first, size_t number)
{
    size_t *bytes = malloc((number + 1) * sizeof *bytes);

    CHECK(bytes != NULL);
    for (size_t i = 0; i < number; i++) {
        nczchunk_projection box[2];

        CHECK_OK(nczchunk_plan_chunk(plan, first + i, box, sizeof *box, NULL, NULL));
        bytes[i] = box[0].iocount * box[1].iocount * sizeof(int);
    }
    return bytes;
}

/* Checks that the function was called before each chunk of the range, and once more when all were done. */
static void check_record(const recorder *r, const nczchunk_plan *plan, size_t first, size_t number)
{
    size_t *bytes = bytes_of_chunks(plan, first, number), done = 0, all = 0;

    for (size_t i = 0; i < number; i++)
        all += bytes[i];
    CHECK_EQ(r->num_calls, number + 1);
    for (size_t i = 0; i <= number; i++) {
        CHECK_EQ(r->calls[i].chunks_done, i);
        CHECK_EQ(r->calls[i].num_chunks, number);
        CHECK_EQ(r->calls[i].bytes_done, done);
        CHECK_EQ(r->calls[i].num_bytes, all);
        done += i < number ? bytes[i] : 0;
    }
    CHECK_EQ(done, all);
    free(bytes);
}

/* --- What it is told. */

static void it_is_told_before_each_chunk_and_at_the_end(store_kind kind)
{
    for (int shape = 0; shape < NUM_SHAPES; shape++)
        for (int c = 0; c < NUM_CALLS; c++) {
            nczchunk_plan *plan;
            fixture f;

            open_fixture(&f, shape, kind);
            CHECK_OK(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
            CHECK_OK(transfer(&f, (call)c));
            check_record(&f.recorder, plan, 0, f.array.num_chunks);
            CHECK_EQ(nczchunk_context_chunks_done(f.context), f.array.num_chunks);

            /* The function stays until it is taken away. */
            begin_recording(&f.recorder);
            CHECK_OK(transfer(&f, (call)c));
            check_record(&f.recorder, plan, 0, f.array.num_chunks);
            begin_recording(&f.recorder);
            CHECK_OK(nczchunk_context_set_progress(f.context, NULL, NULL));
            CHECK_OK(transfer(&f, (call)c));
            CHECK_EQ(f.recorder.num_calls, 0);
            nczchunk_plan_free(plan);
            close_fixture(&f);
        }
}

/* A part of a plan is all there is to do in that call. */
static void ranges_of_a_plan_are_told_from_their_beginning(store_kind kind)
{
    const size_t start[2] = {1, 0}, count[2] = {10, 8};
    const ptrdiff_t stride[2] = {2, 3};

    for (int access = NCZCHUNK_READ; access <= NCZCHUNK_WRITE; access++) {
        nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
        nczchunk_plan *plan;
        fixture f;

        open_fixture(&f, 1, kind);
        CHECK_OK(nczchunk_plan_new(f.var, start, count, stride, access, &plan, NULL));
        CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
        for (size_t first = 0; first <= totals.chunks; first += 7)
            for (size_t number = 0; first + number <= totals.chunks; number += 5) {
                begin_recording(&f.recorder);
                if (access == NCZCHUNK_READ)
                    CHECK_OK(nczchunk_plan_read(plan, f.store, first, number, f.data, f.context));
                else
                    CHECK_OK(nczchunk_plan_write(plan, f.store, first, number, f.data, f.context));
                check_record(&f.recorder, plan, first, number);
            }
        nczchunk_plan_free(plan);
        close_fixture(&f);
    }
}

/* One chunk is begun once and done once. No chunk is done at once. */
static void small_calls(store_kind kind)
{
    const size_t start[2] = {1, 1}, count[2] = {1, 2}, none[2] = {1, 0};
    fixture f;

    for (int access = NCZCHUNK_READ; access <= NCZCHUNK_WRITE; access++) {
        open_fixture(&f, 0, kind);
        if (access == NCZCHUNK_READ)
            CHECK_OK(nczchunk_read_vars(f.var, f.store, start, count, NULL, f.data, f.context));
        else
            CHECK_OK(nczchunk_write_vars(f.var, f.store, start, count, NULL, f.data, f.context));
        CHECK_EQ(f.recorder.num_calls, 2);
        for (size_t i = 0; i < 2; i++) {
            CHECK_EQ(f.recorder.calls[i].chunks_done, i);
            CHECK_EQ(f.recorder.calls[i].num_chunks, 1);
            CHECK_EQ(f.recorder.calls[i].bytes_done, i * 2 * sizeof(int));
            CHECK_EQ(f.recorder.calls[i].num_bytes, 2 * sizeof(int));
        }
        CHECK_EQ(nczchunk_context_chunks_done(f.context), 1);

        begin_recording(&f.recorder);
        if (access == NCZCHUNK_READ)
            CHECK_OK(nczchunk_read_vars(f.var, f.store, start, none, NULL, f.data, f.context));
        else
            CHECK_OK(nczchunk_write_vars(f.var, f.store, start, none, NULL, f.data, f.context));
        CHECK_EQ(f.recorder.num_calls, 1);
        CHECK_EQ(f.recorder.calls[0].num_chunks, 0);
        CHECK_EQ(f.recorder.calls[0].num_bytes, 0);
        CHECK_EQ(nczchunk_context_chunks_done(f.context), 0);
        close_fixture(&f);
    }
}

/* A call that fails does not say at its end that all is done. */
static void a_chunk_that_fails_is_the_last_that_is_told(store_kind kind)
{
    for (int c = 0; c < NUM_CALLS; c++)
        for (size_t failed = 0; failed < 6; failed++) {
            fixture f;

            open_fixture(&f, 0, kind);
            f.array.chunks[failed].status = is_write((call)c) ? 0 : EIO;
            f.array.chunks[failed].write_status = EIO;
            CHECK_EQ(transfer(&f, (call)c), EIO);
            CHECK_EQ(f.recorder.num_calls, failed + 1);
            CHECK_EQ(f.recorder.calls[failed].chunks_done, failed);
            CHECK_EQ(nczchunk_context_chunks_done(f.context), failed);
            close_fixture(&f);
        }
}

/* --- It may end the call, before any chunk. */

static void it_may_end_the_call(store_kind kind)
{
    /* NCZCHUNK_EEMPTY is no absent chunk here. */
    const int statuses[] = {1, -1, ECANCELED, NCZCHUNK_EINTERNAL, NCZCHUNK_EEMPTY, 12345};

    for (int c = 0; c < NUM_CALLS; c++)
        for (size_t stop_at = 0; stop_at <= 6; stop_at++) {
            const int status = statuses[stop_at % 6], is_ended = stop_at < 6;
            char words[256];
            fixture f;

            open_fixture(&f, 0, kind);
            f.recorder.stop_at = stop_at;
            f.recorder.status = status;
            /* When all is done there is nothing left to end. */
            CHECK_EQ(transfer(&f, (call)c), is_ended ? status : NCZCHUNK_NOERR);
            CHECK_EQ(f.recorder.num_calls, stop_at + 1);
            CHECK_EQ(is_write((call)c) ? f.array.written : f.array.asked, stop_at);
            CHECK_EQ(nczchunk_context_chunks_done(f.context), stop_at);
            CHECK_EQ(nczchunk_context_status(f.context), is_ended ? status : NCZCHUNK_NOERR);
            snprintf(words, sizeof words, "the progress callback ended the call with status %d: %s", status,
                     nczchunk_strerror(status));
            CHECK_STR(nczchunk_context_message(f.context), is_ended ? words : "");

            /* The same call, if it is not ended, does all of it. */
            begin_recording(&f.recorder);
            f.recorder.context = f.context;
            CHECK_OK(transfer(&f, (call)c));
            CHECK_STR(nczchunk_context_message(f.context), "");
            CHECK_EQ(nczchunk_context_chunks_done(f.context), 6);
            close_fixture(&f);
        }
}

/* What was read before the end is there. */
static void what_is_done_is_done(void)
{
    const size_t rows = 5, one = 1, zero = 0;
    int data[5];
    recorder r;
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;

    memory_array_init(&array, 1, &rows, &one, sizeof(int));
    var = memory_array_var(&array);
    store = memory_array_store(&array, FILLING);
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_progress(context, record, &r));
    for (int stop_at = 0; stop_at < 5; stop_at++) {
        begin_recording(&r);
        r.stop_at = (size_t)stop_at;
        r.status = 7;
        for (int i = 0; i < 5; i++)
            data[i] = -1;
        CHECK_EQ(nczchunk_read_vars(var, store, &zero, NULL, NULL, data, context), 7);
        for (int i = 0; i < 5; i++)
            CHECK_EQ(data[i], i < stop_at ? i : -1);
    }
    nczchunk_context_free(context);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

/* The function may use the library itself, with another context. */
static int read_something_else(void *user, const nczchunk_progress *progress)
{
    fixture *other = user;

    (void)progress;
    CHECK_OK(nczchunk_read_vars(other->var, other->store, zeros, NULL, NULL, other->data, other->context));
    memory_array_expect(&other->array, zeros, NULL, NULL, NULL, other->data);
    return 0;
}

static void it_may_use_the_library(store_kind kind)
{
    fixture f, other;

    open_fixture(&f, 0, kind);
    open_fixture(&other, 0, kind);
    CHECK_OK(nczchunk_context_set_progress(f.context, read_something_else, &other));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, f.data, f.context));
    memory_array_expect(&f.array, zeros, NULL, NULL, NULL, f.data);
    CHECK_EQ(other.recorder.num_calls, 7 * 7);
    close_fixture(&other);
    close_fixture(&f);
}

/* --- With several threads it is still called in the caller's only, and at the end all is done. */

static void check_calls_of_many(const recorder *r, size_t chunks, size_t bytes)
{
    for (size_t i = 0; i < r->num_calls; i++) {
        CHECK_EQ(r->calls[i].num_chunks, chunks);
        CHECK_EQ(r->calls[i].num_bytes, bytes);
        if (i > 0) {
            CHECK(r->calls[i].chunks_done >= r->calls[i - 1].chunks_done);
            CHECK(r->calls[i].bytes_done >= r->calls[i - 1].bytes_done);
        }
    }
}

static void many_threads_in_one_call(store_kind kind, int access)
{
    watched w;
    recorder r;
    size_t bytes;
    void *data;

    watched_open_large(&w, kind);
    bytes = ELEMENTS * w.array.element_size;
    data = malloc(bytes);
    CHECK(data != NULL);
    memory_array_make_data(&w.array, ELEMENTS, data);
    watched_expect_threads(&w, 4, 4);
    begin_recording(&r);
    r.context = w.context;
    CHECK_OK(nczchunk_context_set_progress(w.context, record, &r));
    CHECK_OK(access == NCZCHUNK_READ ? watched_read(&w, data) : watched_write(&w, data));
    CHECK_EQ(w.num_threads, 4);
    CHECK_EQ(nczchunk_context_chunks_done(w.context), CHUNKS);
    check_calls_of_many(&r, CHUNKS, bytes);
    /* This thread has done one chunk together with the others and, before, any that the store was timed on. */
    CHECK(r.num_calls >= (kind == LENDING ? 2 : 3));
    CHECK_EQ(r.calls[r.num_calls - 1].chunks_done, CHUNKS);
    CHECK_EQ(r.calls[r.num_calls - 1].bytes_done, bytes);
    if (access == NCZCHUNK_READ)
        watched_check(&w, data);
    free(data);
    watched_close(&w);
}

/* Ended at any of its calls, chunks_done is right: those before are done, and the one after them is not. */
static void many_threads_ended(void)
{
    for (size_t stop_at = 0; stop_at < 4; stop_at++) {
        const size_t start[1] = {0}, length = CHUNKS, one = 1;
        int data[CHUNKS];
        size_t done;
        watched w;
        recorder r;
        int status;

        watched_open(&w, FILLING);
        watched_replace(&w, 1, &length, &one);
        watched_expect_threads(&w, 4, stop_at < 2 ? 1 : 4);
        begin_recording(&r);
        r.stop_at = stop_at;
        r.status = 99;
        for (size_t i = 0; i < CHUNKS; i++)
            data[i] = -1;
        CHECK_OK(nczchunk_context_set_progress(w.context, record, &r));
        status = nczchunk_read_vars(w.var, w.store, start, NULL, NULL, data, w.context);
        done = nczchunk_context_chunks_done(w.context);
        /* With luck the other threads leave so little to this one that it is not asked once more. */
        if (r.num_calls > stop_at && r.calls[stop_at].chunks_done < CHUNKS) {
            CHECK_EQ(status, 99);
            CHECK(done < CHUNKS && done >= stop_at);
            CHECK_EQ(data[done], -1);
            CHECK_EQ(r.num_calls, stop_at + 1);
        } else {
            CHECK_OK(status);
        }
        for (size_t i = 0; i < done; i++)
            CHECK_EQ(data[i], (int)i);
        watched_close(&w);
    }
}

/* --- With several requests in flight it is called before each is begun. */

enum { IN_FLIGHT = 4 };

/* A store that has requests wait, and ends the latest first. */
typedef struct waiting {
    memory_array array; /* first, for its own callbacks take a pointer to it */
    nczchunk_request *requests[IN_FLIGHT];
    size_t num_requests;
} waiting;

static int start_request(void *user, nczchunk_request *request)
{
    waiting *w = user;

    CHECK(w->num_requests < IN_FLIGHT);
    w->requests[w->num_requests++] = request;
    return NCZCHUNK_NOERR;
}

static int end_a_request(void *user, nczchunk_request **done)
{
    waiting *w = user;

    CHECK(w->num_requests > 0);
    *done = w->requests[--w->num_requests];
    (*done)->status = memory_array_fill(&w->array, *done);
    return NCZCHUNK_NOERR;
}

/* Chunks that are in flight when the call is ended may be done or not. Those that count are done. */
static void requests_in_flight(size_t stop_at)
{
    const size_t length = CHUNKS, one = 1, start = 0;
    int data[CHUNKS];
    waiting w;
    recorder r;
    nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks,
                                            .user = &w,
                                            .start = start_request,
                                            .wait = end_a_request,
                                            .in_flight = IN_FLIGHT};
    nczchunk_chunk_store *store;
    nczchunk_var *var;
    nczchunk_context *context;
    size_t done;
    int status;

    memset(&w, 0, sizeof w);
    memory_array_init(&w.array, 1, &length, &one, sizeof(int));
    var = memory_array_var(&w.array);
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    CHECK_OK(nczchunk_context_new(&context));
    begin_recording(&r);
    r.stop_at = stop_at;
    r.status = 99;
    r.context = context;
    CHECK_OK(nczchunk_context_set_progress(context, record, &r));
    for (size_t i = 0; i < CHUNKS; i++)
        data[i] = -1;
    status = nczchunk_read_vars(var, store, &start, NULL, NULL, data, context);
    done = nczchunk_context_chunks_done(context);
    check_calls_of_many(&r, CHUNKS, CHUNKS * sizeof(int));
    CHECK_EQ(w.num_requests, 0);
    if (stop_at < CHUNKS) {
        CHECK_EQ(status, 99);
        CHECK_EQ(nczchunk_context_status(context), 99);
        CHECK_EQ(r.num_calls, stop_at + 1);
        CHECK(done <= stop_at);
    } else {
        CHECK_OK(status);
        CHECK_EQ(r.num_calls, CHUNKS + 1);
        CHECK_EQ(r.calls[CHUNKS].chunks_done, CHUNKS);
        CHECK_EQ(done, CHUNKS);
    }
    for (size_t i = 0; i < done; i++)
        CHECK_EQ(data[i], (int)i);
    nczchunk_context_free(context);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&w.array);
}

/* --- A context tells of its last call, whatever that was. */

/* Makes the context one that has something to tell: of a dimension, or of a chunk. */
static void have_it_tell(fixture *f, int of_a_chunk)
{
    const size_t beyond[2] = {6, 0};

    f->recorder.context = NULL;
    if (of_a_chunk) {
        f->array.chunks[2].status = EIO;
        CHECK_EQ(nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, f->data, f->context), EIO);
        f->array.chunks[2].status = NCZCHUNK_NOERR;
        CHECK(nczchunk_context_chunk(f->context, NULL) != NULL);
        CHECK_EQ(nczchunk_context_chunks_done(f->context), 2);
    } else {
        CHECK_EQ(nczchunk_read_vars(f->var, f->store, beyond, NULL, NULL, f->data, f->context),
                 NCZCHUNK_EINVALCOORDS);
        CHECK_EQ(nczchunk_context_dimension(f->context), 0);
    }
    CHECK(strlen(nczchunk_context_message(f->context)) > 0);
}

static void check_tells_nothing(const fixture *f)
{
    CHECK_EQ(nczchunk_context_status(f->context), NCZCHUNK_NOERR);
    CHECK_STR(nczchunk_context_message(f->context), "");
    CHECK_EQ(nczchunk_context_dimension(f->context), -1);
    CHECK(nczchunk_context_chunk(f->context, NULL) == NULL);
}

/* Calls that succeed, each of which a context could have something to tell of. */
static int set_nothing(fixture *f)
{
    return nczchunk_var_set_fill_value(f->var, NULL, f->context);
}

static int set_endian(fixture *f)
{
    return nczchunk_var_set_endian(f->var, NCZCHUNK_ENDIAN_NATIVE, f->context);
}

static int set_word_size(fixture *f)
{
    return nczchunk_var_set_word_size(f->var, sizeof(int), f->context);
}

static int set_chunk_order(fixture *f)
{
    return nczchunk_var_set_chunk_order(f->var, NULL, f->context);
}

static int set_write_grid(fixture *f)
{
    return nczchunk_var_set_write_grid(f->var, NULL, f->context);
}

static int set_dimlen(fixture *f)
{
    return nczchunk_var_set_dimlen(f->var, 0, 5, f->context);
}

static int set_origin(fixture *f)
{
    return nczchunk_var_set_origin(f->var, 0, 0, f->context);
}

static int set_copier(fixture *f)
{
    return nczchunk_var_set_copier(f->var, NULL, NULL, f->context);
}

static int set_threads(fixture *f)
{
    return nczchunk_context_set_threads(f->context, 1);
}

static int set_progress(fixture *f)
{
    return nczchunk_context_set_progress(f->context, record, &f->recorder);
}

static int set_verify(fixture *f)
{
    return nczchunk_chunk_store_set_verify(f->store, 0, f->context);
}

static int read_everything(fixture *f)
{
    f->recorder.context = f->context;
    return nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, f->data, f->context);
}

static int read_one_chunk(fixture *f)
{
    f->recorder.context = f->context;
    return nczchunk_read_vars(f->var, f->store, zeros, (const size_t[2]){1, 1}, NULL, f->data, f->context);
}

static int write_everything(fixture *f)
{
    f->recorder.context = f->context;
    return nczchunk_write_vars(f->var, f->store, zeros, NULL, NULL, f->data, f->context);
}

static int write_a_key(fixture *f)
{
    const ptrdiff_t indices[2] = {0, 2};
    char key[8];

    return nczchunk_key_zarr_v2(2, indices, '.', key, sizeof key, NULL, f->context);
}

static void an_old_message_never_survives(store_kind kind)
{
    int (*const calls[])(fixture *) = {set_nothing, set_endian,   set_word_size,   set_chunk_order, set_write_grid,
                                       set_dimlen,  set_origin,   set_copier,      set_threads,     set_progress,
                                       set_verify,  write_a_key,  read_everything, read_one_chunk,  write_everything};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int of_a_chunk = 0; of_a_chunk < 2; of_a_chunk++) {
            fixture f;

            open_fixture(&f, 0, kind);
            have_it_tell(&f, of_a_chunk);
            CHECK_OK(calls[i](&f));
            check_tells_nothing(&f);
            close_fixture(&f);
        }
}

/* What a setter refuses, the context tells of: the status, and some words. */
static void setters_report_too(void)
{
    const size_t twice[2] = {1, 1}, no_multiple[2] = {3, 3};
    fixture f;

    open_fixture(&f, 0, LENDING);
#define CHECK_TOLD(call, expected)                                           \
    do {                                                                     \
        CHECK_EQ(call, expected);                                            \
        CHECK_EQ(nczchunk_context_status(f.context), expected);              \
        CHECK(strlen(nczchunk_context_message(f.context)) > 0);              \
        CHECK_EQ(nczchunk_context_chunks_done(f.context), 0);                \
    } while (0)
    CHECK_TOLD(nczchunk_var_set_fill_value(NULL, NULL, f.context), NCZCHUNK_EINVAL);
    CHECK_TOLD(nczchunk_var_set_endian(f.var, 3, f.context), NCZCHUNK_EINVAL);
    CHECK_TOLD(nczchunk_var_set_word_size(f.var, 3, f.context), NCZCHUNK_EINVAL);
    CHECK_TOLD(nczchunk_var_set_chunk_order(f.var, twice, f.context), NCZCHUNK_EINVAL);
    CHECK_TOLD(nczchunk_var_set_write_grid(f.var, no_multiple, f.context), NCZCHUNK_EINVAL);
    CHECK_TOLD(nczchunk_var_set_dimlen(f.var, 2, 4, f.context), NCZCHUNK_EBADDIM);
    CHECK_TOLD(nczchunk_var_set_dimlen(f.var, 0, SIZE_MAX, f.context), NCZCHUNK_EDIMSIZE);
    CHECK_TOLD(nczchunk_var_set_origin(f.var, 2, 0, f.context), NCZCHUNK_EBADDIM);
    CHECK_TOLD(nczchunk_var_set_copier(NULL, NULL, NULL, f.context), NCZCHUNK_EINVAL);
    CHECK_TOLD(nczchunk_context_set_threads(f.context, 0), NCZCHUNK_EINVAL);
    CHECK_TOLD(nczchunk_chunk_store_set_verify(NULL, 1, f.context), NCZCHUNK_EINVAL);
    CHECK_TOLD(nczchunk_chunk_store_add_codec(f.store, NULL, f.context), NCZCHUNK_EINVAL);
#undef CHECK_TOLD
    close_fixture(&f);
    CHECK_EQ(nczchunk_context_set_progress(NULL, record, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_context_set_threads(NULL, 1), NCZCHUNK_EINVAL);
}

int main(void)
{
    alarm(600);
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        it_is_told_before_each_chunk_and_at_the_end(store_kinds[i]);
        ranges_of_a_plan_are_told_from_their_beginning(store_kinds[i]);
        small_calls(store_kinds[i]);
        a_chunk_that_fails_is_the_last_that_is_told(store_kinds[i]);
        it_may_end_the_call(store_kinds[i]);
        it_may_use_the_library(store_kinds[i]);
        an_old_message_never_survives(store_kinds[i]);
    }
    what_is_done_is_done();
    for (size_t i = 0; i < NUM_STORE_KINDS; i++)
        for (int access = NCZCHUNK_READ; access <= NCZCHUNK_WRITE; access++)
            many_threads_in_one_call(store_kinds[i], access);
    many_threads_ended();
    for (size_t stop_at = 0; stop_at <= CHUNKS + 1; stop_at++)
        requests_in_flight(stop_at);
    setters_report_too();
    return 0;
}
