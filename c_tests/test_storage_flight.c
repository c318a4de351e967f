/*
 * Many reads in flight from one thread: storages with start and wait.
 *
 * A storage that takes long to answer, such as one over a network, need not be waited for object by object. Its
 * callback start begins to read an object and returns at once; its callback wait returns when one of those that were
 * begun, any one, has arrived.
 *
 *     static int start(void *user, nczchunk_object_request *request)       begins to read into request->buffer
 *     static int wait_for_one(void *user, nczchunk_object_request **done)  sets done, (*done)->status, ->nbytes, ...
 *
 *     nczchunk_storage_callbacks callbacks = {.struct_size = sizeof callbacks, .start = start, .wait = wait_for_one,
 *                                           .in_flight = 16};
 *
 * The storage here has its objects in a table and a clock of its own: to wait takes no time, but it is known how long
 * it would have taken. What is in the table was written by the library.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

#include "nczchunk_array.h"

enum { ROWS = 16, COLUMNS = 20, ELEMENTS = ROWS * COLUMNS, MOST_OBJECTS = 1100, MOST_UNDER_WAY = 1200, LATENCY = 50 };

/* 4 x 4 chunks of 4 x 5 elements; 2 x 2 shards of 2 x 2 chunks. */
enum { CHUNKS = 16, CHUNK = 4 * 5 * 4, SHARDS = 4, INDEX = 4 * 16, FILL = -1 };

static const size_t zeros[2] = {0, 0};

/* In which order reads come back. */
typedef enum order { FIRST_COME, LAST_COME, SHUFFLED, BY_CLOCK, NUM_ORDERS } order;

typedef struct object {
    char name[32];
    unsigned char *bytes;
    size_t nbytes;
    uint64_t version; /* how often it was written */
    int start_status, status; /* what start returns, and what its reads end with */
    size_t lost;              /* how many bytes its reads lack */
    int reads, is_cancelled;
} object;

typedef struct flight {
    nczchunk_object_request *request, seen; /* as it was when it was started */
    long due;
} flight;

typedef struct far_storage {
    object objects[MOST_OBJECTS];
    size_t num_objects;
    order order;
    int wait_status;
    long failing_wait; /* the call of wait that fails, counted from 1 */

    flight in_flight[MOST_UNDER_WAY];
    size_t num_in_flight, most_under_way, bytes, most_bytes, largest;
    long started, given_back, waits, cancelled, now;
    int destroyed, has_no_versions;
    unsigned seed;
    pthread_t thread;
    nczchunk_context *context;
} far_storage;

/* --- The callbacks. */

static object *find(far_storage *f, const char *name)
{
    for (size_t i = 0; i < f->num_objects; i++)
        if (strcmp(f->objects[i].name, name) == 0)
            return &f->objects[i];
    return NULL;
}

static int write_object(void *user, const char *name, const void *bytes, size_t nbytes)
{
    far_storage *f = user;
    object *o = find(f, name);

    if (o == NULL) {
        CHECK(f->num_objects < MOST_OBJECTS && strlen(name) < sizeof o->name);
        o = &f->objects[f->num_objects++];
        strcpy(o->name, name);
    }
    free(o->bytes);
    o->bytes = malloc(nbytes > 0 ? nbytes : 1);
    CHECK(o->bytes != NULL);
    memcpy(o->bytes, bytes, nbytes);
    o->nbytes = nbytes;
    o->version++;
    return NCZCHUNK_NOERR;
}

static void remove_object(far_storage *f, const char *name)
{
    object *o = find(f, name);

    CHECK(o != NULL);
    free(o->bytes);
    o->bytes = NULL;
}

/* One in 20 takes twice as long. */
static long latency(long started)
{
    return started % 20 == 7 ? 2 * LATENCY : LATENCY;
}

static int start(void *user, nczchunk_object_request *request)
{
    far_storage *f = user;
    flight *begun = &f->in_flight[f->num_in_flight];
    object *o = find(f, request->name);

    CHECK(pthread_equal(pthread_self(), f->thread));
    CHECK_EQ(request->struct_size, sizeof *request);
    CHECK(request->nbytes == 0 && request->object_size == 0 && request->status == 0 && request->handle == NULL);
    if (o != NULL && o->start_status != NCZCHUNK_NOERR)
        return o->start_status;
    CHECK(f->num_in_flight < MOST_UNDER_WAY);
    if (request->size > 0)
        memset(request->buffer, 0xCC, request->size); /* the buffer is the callbacks' from now on */
    request->handle = f;
    begun->request = request;
    begun->seen = *request;
    begun->due = f->now + latency(f->started++);
    if (++f->num_in_flight > f->most_under_way)
        f->most_under_way = f->num_in_flight;
    if ((f->bytes += request->size) > f->most_bytes)
        f->most_bytes = f->bytes;
    if (request->size > f->largest)
        f->largest = request->size;
    return NCZCHUNK_NOERR;
}

/* The request has arrived: it is as it was left, and gets what there is. */
static void arrive(far_storage *f, const flight *arrived)
{
    nczchunk_object_request *request = arrived->request;
    object *o = find(f, request->name);
    size_t offset, rest;

    CHECK(memcmp(request, &arrived->seen, sizeof *request) == 0);
    for (size_t b = 0; b < request->size; b++)
        CHECK_EQ(((unsigned char *)request->buffer)[b], 0xCC);
    if (o == NULL || o->bytes == NULL || o->status != NCZCHUNK_NOERR) {
        request->status = o != NULL && o->status != NCZCHUNK_NOERR ? o->status : NCZCHUNK_ENOOBJECT;
        return;
    }
    o->reads++;
    offset = request->offset < o->nbytes ? (size_t)request->offset : o->nbytes;
    if (request->from_end)
        offset = o->nbytes - offset;
    rest = o->nbytes - offset;
    request->nbytes = rest < request->size ? rest : request->size;
    request->nbytes -= o->lost < request->nbytes ? o->lost : request->nbytes;
    memcpy(request->buffer, o->bytes + offset, request->nbytes);
    request->object_size = o->nbytes;
    request->version = f->has_no_versions ? 0 : o->version;
}

static size_t next_to_arrive(far_storage *f)
{
    size_t next = 0;

    switch (f->order) {
    case FIRST_COME: break;
    case LAST_COME: next = f->num_in_flight - 1; break;
    case SHUFFLED: next = (f->seed = f->seed * 1664525u + 1013904223u) / 65536 % f->num_in_flight; break;
    default:
        for (size_t i = 1; i < f->num_in_flight; i++)
            if (f->in_flight[i].due < f->in_flight[next].due)
                next = i;
    }
    return next;
}

static int wait_for_one(void *user, nczchunk_object_request **done)
{
    far_storage *f = user;
    size_t next;

    CHECK(pthread_equal(pthread_self(), f->thread));
    CHECK(f->num_in_flight > 0);
    if (++f->waits == f->failing_wait) {
        f->num_in_flight = f->bytes = 0; /* all of them have ended */
        return f->wait_status;
    }
    next = next_to_arrive(f);
    if (f->in_flight[next].due > f->now)
        f->now = f->in_flight[next].due;
    arrive(f, &f->in_flight[next]);
    *done = f->in_flight[next].request;
    f->bytes -= (*done)->size;
    f->given_back++;
    memmove(&f->in_flight[next], &f->in_flight[next + 1], (--f->num_in_flight - next) * sizeof f->in_flight[0]);
    return NCZCHUNK_NOERR;
}

/* A read that is cancelled is still in flight. */
static void cancel(void *user, nczchunk_object_request *request)
{
    far_storage *f = user;
    int is_under_way = 0;

    for (size_t i = 0; i < f->num_in_flight; i++)
        is_under_way |= f->in_flight[i].request == request;
    CHECK(is_under_way);
    f->cancelled++;
}

static void destroy(void *user)
{
    ((far_storage *)user)->destroyed++;
}

/* --- The storage and its array. */

#define BYTES "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}"
#define ZSTD ", {\"name\": \"zstd\", \"configuration\": {\"level\": 1, \"checksum\": false}}"
#define SHARDED(chunk, codecs)                                                                                        \
    "{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": " chunk ", \"codecs\": [" codecs "], "     \
    "\"index_codecs\": [" BYTES "]}}"
#define METADATA(shape, chunk, codecs)                                                                                \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": " shape ", \"data_type\": \"int32\","                  \
    " \"fill_value\": -1, \"chunk_key_encoding\": {\"name\": \"default\"}, \"chunk_grid\": {\"name\": \"regular\","   \
    " \"configuration\": {\"chunk_shape\": " chunk "}}, \"codecs\": [" codecs "]}"

static const char plain[] = METADATA("[16, 20]", "[4, 5]", BYTES);
static const char compressed[] = METADATA("[16, 20]", "[4, 5]", BYTES ZSTD);
static const char sharded[] = METADATA("[16, 20]", "[8, 10]", SHARDED("[4, 5]", BYTES));
static const char sharded_compressed[] = METADATA("[16, 20]", "[8, 10]", SHARDED("[4, 5]", BYTES ZSTD));

static const char *const all_metadata[] = {plain, compressed, sharded, sharded_compressed};
#define NUM_METADATA 4
#define IS_SHARDED(i) ((i) >= 2)

/* The storage has no read: the metadata are read by start and wait, too. */
static nczchunk_storage_callbacks far_callbacks(far_storage *f)
{
    nczchunk_storage_callbacks callbacks = NCZCHUNK_STORAGE_CALLBACKS_INIT;

    callbacks.user = f;
    callbacks.write = write_object;
    callbacks.destroy = destroy;
    callbacks.gap = 1;
    callbacks.start = start;
    callbacks.wait = wait_for_one;
    callbacks.cancel = cancel;
    callbacks.versions = 1; /* request->version is set */
    return callbacks;
}

static nczchunk_array *open_in(far_storage *f, const nczchunk_storage_callbacks *callbacks, int mode)
{
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_storage_new(callbacks, &storage, f->context));
    CHECK_OK(nczchunk_array_open_in(storage, "a", mode, &array, f->context));
    nczchunk_storage_free(storage);
    return array;
}

static void reset(far_storage *f)
{
    CHECK_EQ(f->num_in_flight, 0);
    f->started = f->given_back = f->waits = f->cancelled = f->now = 0;
    f->most_under_way = f->most_bytes = f->largest = 0;
    for (size_t i = 0; i < f->num_objects; i++)
        f->objects[i].reads = 0;
}

/* Writes an array whose elements are their numbers; opened anew, it is as nobody has seen it. */
static nczchunk_array *open_far(far_storage *f, const char *metadata, const nczchunk_storage_callbacks *callbacks)
{
    nczchunk_array *array;
    int data[ELEMENTS];

    memset(f, 0, sizeof *f);
    f->thread = pthread_self();
    CHECK_OK(nczchunk_context_new(&f->context));
    CHECK_OK(write_object(f, "a/zarr.json", metadata, strlen(metadata)));
    array = open_in(f, callbacks, NCZCHUNK_WRITE);
    for (int e = 0; e < ELEMENTS; e++)
        data[e] = e;
    CHECK_OK(nczchunk_array_write(array, zeros, NULL, NULL, data, f->context));
    nczchunk_array_close(array);
    array = open_in(f, callbacks, NCZCHUNK_READ);
    f->destroyed = 0;
    reset(f);
    return array;
}

static void close_far(far_storage *f, nczchunk_array *array)
{
    nczchunk_array_close(array);
    CHECK_EQ(f->num_in_flight, 0);
    CHECK_EQ(f->destroyed, 1);
    nczchunk_context_free(f->context);
    for (size_t i = 0; i < f->num_objects; i++)
        free(f->objects[i].bytes);
}

/* Whatever came of it, nothing is in flight any more. */
static int read_all(far_storage *f, nczchunk_array *array, int *data)
{
    int status;

    reset(f);
    status = nczchunk_array_read(array, zeros, NULL, NULL, data, f->context);
    CHECK_EQ(f->num_in_flight, 0);
    return status;
}

static void check_all(const int *data)
{
    for (int e = 0; e < ELEMENTS; e++)
        CHECK_EQ(data[e], e);
}

/* --- What is read is the same in any order, and with any number in flight. */

static void answers_in_any_order(void)
{
    const size_t limits[] = {1, 2, 3, 7, 15, 16, 17, 0, SIZE_MAX};
    static far_storage f;

    for (int i = 0; i < NUM_METADATA; i++) {
        for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
            for (int order = 0; order < NUM_ORDERS; order++) {
                const size_t start_at[2] = {1, 3}, count[2] = {5, 6};
                const ptrdiff_t stride[2] = {3, 3};
                nczchunk_storage_callbacks callbacks = far_callbacks(&f);
                nczchunk_array *array;
                int data[ELEMENTS];

                callbacks.in_flight = limits[l];
                array = open_far(&f, all_metadata[i], &callbacks);
                f.order = (enum order)order;
                CHECK_OK(read_all(&f, array, data));
                check_all(data);
                CHECK_EQ(f.given_back, f.started);
                CHECK_EQ(f.cancelled, 0);
                CHECK(limits[l] == 0 || f.most_under_way <= limits[l]);
                if (!IS_SHARDED(i)) {
                    CHECK_EQ(f.started, CHUNKS);
                    CHECK_EQ(f.most_under_way, limits[l] > 0 && limits[l] < CHUNKS ? limits[l] : CHUNKS);
                } else if (limits[l] == 0) {
                    CHECK_EQ(f.started, SHARDS); /* its index and all of its chunks at once */
                }
                CHECK_OK(nczchunk_array_read(array, start_at, count, stride, data, f.context));
                for (int r = 0; r < 5; r++)
                    for (int c = 0; c < 6; c++)
                        CHECK_EQ(data[6 * r + c], (1 + 3 * r) * COLUMNS + 3 + 3 * c);
                close_far(&f, array);
            }
        }
    }
}

static void limits_are_respected(void)
{
    static far_storage f;

    for (int i = 0; i < NUM_METADATA; i++) {
        for (size_t chunks = 1; chunks <= 5; chunks++) {
            nczchunk_storage_callbacks callbacks = far_callbacks(&f);
            nczchunk_array *array;
            int data[ELEMENTS];
            size_t most = chunks * CHUNK;

            callbacks.bytes_in_flight = most;
            callbacks.largest = 2 * CHUNK;
            array = open_far(&f, all_metadata[i], &callbacks);
            CHECK_OK(read_all(&f, array, data));
            check_all(data);
            /* A single one, be it larger, is not refused; indices are read beside. */
            if (most < 2 * CHUNK)
                most = 2 * CHUNK;
            CHECK(f.most_bytes <= most + (IS_SHARDED(i) ? SHARDS * INDEX : 0));
            CHECK(f.largest <= 2 * CHUNK);
            close_far(&f, array);
        }
    }
}

/* --- Absent objects. */

static void absent_objects(void)
{
    static const int statuses[] = {NCZCHUNK_EEMPTY, NCZCHUNK_ENOOBJECT};
    static far_storage f;

    for (int i = 0; i < NUM_METADATA; i++) {
        for (int s = 0; s < 2; s++) {
            for (int when = 0; when < 3; when++) {
                const nczchunk_storage_callbacks callbacks = far_callbacks(&f);
                const int rows = IS_SHARDED(i) ? 8 : 4, columns = IS_SHARDED(i) ? 10 : 5;
                nczchunk_array *array = open_far(&f, all_metadata[i], &callbacks);
                int data[ELEMENTS];

                f.order = SHUFFLED;
                if (when == 0)
                    remove_object(&f, "a/c/0/1");
                else if (when == 1)
                    find(&f, "a/c/0/1")->start_status = statuses[s];
                else
                    find(&f, "a/c/0/1")->status = statuses[s];
                CHECK_OK(read_all(&f, array, data));
                for (int e = 0; e < ELEMENTS; e++) {
                    int is_absent = e / COLUMNS < rows && e % COLUMNS / columns == 1;
                    CHECK_EQ(data[e], is_absent ? FILL : e);
                }
                close_far(&f, array);
            }
        }
    }
}

/* --- Errors. */

typedef enum fault { FAILS, FAILS_AT_ONCE, SHORT, EMPTY, NUM_FAULTS } fault;

static int make_fault(object *o, fault kind, int status)
{
    switch (kind) {
    case FAILS: return o->status = status;
    case FAILS_AT_ONCE: return o->start_status = status;
    case SHORT: o->lost = 1; break;
    default: o->lost = SIZE_MAX; break;
    }
    return NCZCHUNK_EBADCHUNK;
}

/* The first in order that fails is told, all before it are complete, and what was started has been given back. */
static void an_error_at_every_object(void)
{
    static far_storage f;

    for (int i = 0; i < NUM_METADATA; i++) {
        const int across = IS_SHARDED(i) ? 2 : 4;

        for (int failed = 0; failed < across * across; failed++) {
            for (int kind = 0; kind < NUM_FAULTS; kind++) {
                for (int order = 0; order < NUM_ORDERS; order++) {
                    nczchunk_storage_callbacks callbacks = far_callbacks(&f);
                    nczchunk_array *array;
                    int data[ELEMENTS] = {0}, status;
                    const ptrdiff_t *indices;
                    size_t rank, done;
                    char name[32];

                    callbacks.in_flight = (size_t)(1 + 4 * order);
                    array = open_far(&f, all_metadata[i], &callbacks);
                    f.order = (enum order)order;
                    f.seed = (unsigned)failed;
                    for (int later = failed + 1; later < across * across; later += 2) {
                        snprintf(name, sizeof name, "a/c/%d/%d", later / across, later % across);
                        make_fault(find(&f, name), FAILS, ETIMEDOUT);
                    }
                    snprintf(name, sizeof name, "a/c/%d/%d", failed / across, failed % across);
                    status = make_fault(find(&f, name), (fault)kind, EIO);
                    if (failed % across + 1 < across || !IS_SHARDED(i)) {
                        CHECK_EQ(read_all(&f, array, data), status);
                        CHECK(strstr(nczchunk_context_message(f.context), name) != NULL);
                        indices = nczchunk_context_chunk(f.context, &rank);
                        CHECK(indices != NULL && rank == 2);
                        CHECK_EQ(indices[0] / (4 / across), failed / across);
                        CHECK_EQ(indices[1] / (4 / across), failed % across);
                        done = nczchunk_context_chunks_done(f.context);
                        CHECK_EQ(done, indices[0] * 4 + indices[1]);
                        for (int e = 0; e < ELEMENTS; e++)
                            if ((size_t)(e / COLUMNS / 4 * 4 + e % COLUMNS / 5) < done)
                                CHECK_EQ(data[e], e);
                    } else {
                        CHECK(read_all(&f, array, data) != NCZCHUNK_NOERR);
                    }
                    CHECK_EQ(f.given_back, f.started);
                    close_far(&f, array);
                }
            }
        }
    }
}

static void what_is_not_needed_is_cancelled(void)
{
    static far_storage f;

    for (int has_cancel = 0; has_cancel <= 1; has_cancel++) {
        nczchunk_storage_callbacks callbacks = far_callbacks(&f);
        nczchunk_array *array;
        int data[ELEMENTS];

        callbacks.in_flight = 10;
        if (!has_cancel)
            callbacks.cancel = NULL;
        array = open_far(&f, plain, &callbacks);
        /* They come in order: when chunk 4 does, chunks 5 to 13 are in flight. */
        find(&f, "a/c/1/0")->status = EIO;
        CHECK_EQ(read_all(&f, array, data), EIO);
        CHECK_EQ(f.started, 14);
        CHECK_EQ(f.cancelled, has_cancel ? 9 : 0);
        close_far(&f, array);
    }
}

/* A connection that breaks: if wait fails nothing is in flight any more, and the call ends at once. */
static void a_wait_that_fails(void)
{
    static far_storage f;

    for (int i = 0; i < NUM_METADATA; i++) {
        for (long failing = 1; failing <= 8; failing++) {
            nczchunk_storage_callbacks callbacks = far_callbacks(&f);
            nczchunk_array *array;
            int data[ELEMENTS];

            callbacks.in_flight = 3;
            callbacks.largest = 1;
            array = open_far(&f, all_metadata[i], &callbacks);
            f.failing_wait = failing;
            f.wait_status = ECONNRESET;
            CHECK_EQ(read_all(&f, array, data), ECONNRESET);
            CHECK_EQ(f.waits, failing);
            /* The array can still be used. */
            f.failing_wait = 0;
            CHECK_OK(read_all(&f, array, data));
            check_all(data);
            close_far(&f, array);
        }
    }
}

static int wait_for_nothing(void *user, nczchunk_object_request **done)
{
    far_storage *f = user;

    f->num_in_flight = 0;
    *done = NULL;
    return NCZCHUNK_NOERR;
}

static void callbacks_that_do_not_fit(void)
{
    static far_storage f;
    nczchunk_storage_callbacks callbacks = far_callbacks(&f);
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;

    callbacks.wait = NULL;
    CHECK_EQ(nczchunk_storage_new(&callbacks, &storage, NULL), NCZCHUNK_EINVAL);
    callbacks.start = NULL;
    CHECK_EQ(nczchunk_storage_new(&callbacks, &storage, NULL), NCZCHUNK_EINVAL);
    callbacks = far_callbacks(&f);
    callbacks.wait = wait_for_nothing;
    memset(&f, 0, sizeof f);
    f.thread = pthread_self();
    CHECK_OK(nczchunk_storage_new(&callbacks, &storage, NULL));
    CHECK_EQ(nczchunk_array_open_in(storage, "a", NCZCHUNK_READ, &array, NULL), NCZCHUNK_EINVAL);
    nczchunk_storage_free(storage);
    CHECK_EQ(f.destroyed, 1);
}

typedef struct watcher {
    size_t calls, end_at;
} watcher;

static int watch(void *user, const nczchunk_progress *progress)
{
    watcher *w = user;

    (void)progress;
    return ++w->calls == w->end_at ? 77 : 0;
}

static void a_call_that_is_ended(void)
{
    static far_storage f;

    for (int i = 0; i < NUM_METADATA; i++) {
        for (size_t end_at = 1; end_at <= CHUNKS; end_at++) {
            nczchunk_storage_callbacks callbacks = far_callbacks(&f);
            nczchunk_array *array;
            watcher w = {0, end_at};
            int data[ELEMENTS];

            callbacks.in_flight = 3;
            array = open_far(&f, all_metadata[i], &callbacks);
            CHECK_OK(nczchunk_context_set_progress(f.context, watch, &w));
            CHECK_EQ(read_all(&f, array, data), 77);
            CHECK_EQ(f.given_back, f.started);
            CHECK(nczchunk_context_chunks_done(f.context) < end_at);
            close_far(&f, array);
        }
    }
}

/* --- Shards that are written anew while somebody reads them. */

static void a_shard_that_was_written_anew(void)
{
    static far_storage f;
    const nczchunk_storage_callbacks callbacks = far_callbacks(&f);
    nczchunk_array *reader = open_far(&f, sharded, &callbacks), *writer = open_in(&f, &callbacks, NCZCHUNK_WRITE);
    const size_t corner[2] = {4, 5};
    int data[ELEMENTS], hole[20];

    CHECK_OK(read_all(&f, reader, data));
    CHECK_EQ(f.started, SHARDS); /* each as a whole */
    CHECK_OK(read_all(&f, reader, data));
    CHECK_EQ(f.started, SHARDS); /* the indices are known */
    check_all(data);

    /* A chunk of fill values is left out, so the shard is shorter, and the others lie elsewhere. */
    for (int e = 0; e < 20; e++)
        hole[e] = FILL;
    CHECK_OK(nczchunk_array_write(writer, zeros, corner, NULL, hole, f.context)); /* shape 4 x 5, from 0, 0 */
    nczchunk_array_close(writer);
    f.destroyed = 0;
    CHECK_OK(read_all(&f, reader, data));
    for (int e = 0; e < ELEMENTS; e++)
        CHECK_EQ(data[e], e / COLUMNS < 4 && e % COLUMNS < 5 ? FILL : e);
    CHECK_EQ(find(&f, "a/c/0/0")->reads, 2); /* in vain, and as a whole */

    remove_object(&f, "a/c/0/0");
    CHECK_OK(read_all(&f, reader, data));
    for (int e = 0; e < ELEMENTS; e++)
        CHECK_EQ(data[e], e / COLUMNS < 8 && e % COLUMNS < 10 ? FILL : e);
    close_far(&f, reader);
}

/*
 * A storage that cannot say which version of an object it has read from is asked for the index of a shard in each call,
 * and again after the chunks, to compare, unless the shard is read as a whole. The shards here have the same length,
 * and another chunk is left out in each.
 */
static void a_shard_without_versions(void)
{
    static far_storage f;
    nczchunk_storage_callbacks callbacks = far_callbacks(&f);
    nczchunk_array *reader, *writer;
    const size_t corner[2] = {4, 5}, end[2] = {12, 15};
    int data[ELEMENTS], values[20], hole[20];

    callbacks.versions = 0;
    reader = open_far(&f, sharded, &callbacks);
    writer = open_in(&f, &callbacks, NCZCHUNK_WRITE);
    f.has_no_versions = 1;
    for (int e = 0; e < 20; e++) {
        values[e] = e / 5 * COLUMNS + e % 5;
        hole[e] = FILL;
    }
    for (size_t round = 0; round < 4; round++) {
        /* The first chunk is a hole and the second is not, or the other way around. */
        const size_t first[2] = {0, 0}, second[2] = {0, 5};
        int first_is_hole = round % 2 == 0;

        for (int e = 0; e < 20; e++)
            data[e] = values[e] + 5;
        CHECK_OK(nczchunk_array_write(writer, first, corner, NULL, first_is_hole ? hole : values, f.context));
        CHECK_OK(nczchunk_array_write(writer, second, corner, NULL, first_is_hole ? data : hole, f.context));
        CHECK_OK(read_all(&f, reader, data));
        for (int e = 0; e < ELEMENTS; e++) {
            int in_first = e / COLUMNS < 4 && e % COLUMNS < 5, in_second = e / COLUMNS < 4 && e % COLUMNS / 5 == 1;
            CHECK_EQ(data[e], (first_is_hole ? in_first : in_second) ? FILL : e);
        }
        CHECK_EQ(find(&f, "a/c/1/1")->reads, 1);
        CHECK_OK(nczchunk_array_read(reader, end, corner, NULL, hole, f.context));
        CHECK_EQ(hole[0], 12 * COLUMNS + 15);
        CHECK_EQ(find(&f, "a/c/1/1")->reads, 1 + 3); /* the index, the chunk, and the index */
        for (int e = 0; e < 20; e++)
            hole[e] = FILL;
    }
    nczchunk_array_close(writer);
    f.destroyed = 0;
    close_far(&f, reader);
}

/* --- A chunk that was decoded once is not asked for again. */

static void what_is_in_the_cache_is_not_asked_for(void)
{
    static far_storage f;

    for (int i = 0; i < NUM_METADATA; i++) {
        const size_t count[2] = {ROWS, 1};
        nczchunk_storage_callbacks callbacks = far_callbacks(&f);
        nczchunk_array *array;
        int data[ROWS];

        callbacks.gap = CHUNK; /* so chunks are read as a whole */
        array = open_far(&f, all_metadata[i], &callbacks);
        for (size_t c = 0; c < COLUMNS; c++) {
            const size_t start_at[2] = {0, c};
            const long before = f.started;

            CHECK_OK(nczchunk_array_read(array, start_at, count, NULL, data, f.context));
            for (int r = 0; r < ROWS; r++)
                CHECK_EQ(data[r], r * COLUMNS + (int)c);
            CHECK_EQ(f.started > before, c % 5 == 0);
        }
        close_far(&f, array);
    }
}

/* --- Time and memory. */

/* 1000 chunks, one in 20 of which takes twice as long, with 64 in flight. */
static void latency_is_waited_for_once_per_round(void)
{
    static const char *const metadata[] = {METADATA("[10000]", "[10]", BYTES),
                                           METADATA("[10000]", "[500]", SHARDED("[10]", BYTES))};
    const size_t from[1] = {0};
    static far_storage f;
    static int data[10000];

    for (int is_sharded = 0; is_sharded <= 1; is_sharded++) {
        nczchunk_storage_callbacks callbacks = far_callbacks(&f);
        nczchunk_array *array;
        long ideal = 2 * LATENCY;

        memset(&f, 0, sizeof f);
        f.thread = pthread_self();
        CHECK_OK(nczchunk_context_new(&f.context));
        callbacks.in_flight = 64;
        /* The indices are longer than chunks here. */
        callbacks.bytes_in_flight = (size_t)64 * 40 + (is_sharded ? 20 * 50 * 16 : 0);
        callbacks.largest = 40;
        CHECK_OK(write_object(&f, "a/zarr.json", metadata[is_sharded], strlen(metadata[is_sharded])));
        array = open_in(&f, &callbacks, NCZCHUNK_WRITE);
        for (int e = 0; e < 10000; e++)
            data[e] = e;
        CHECK_OK(nczchunk_array_write(array, from, NULL, NULL, data, f.context));
        nczchunk_array_close(array);
        array = open_in(&f, &callbacks, NCZCHUNK_READ);
        f.destroyed = 0;
        reset(&f);
        f.order = BY_CLOCK;
        memset(data, 0, sizeof data);
        CHECK_OK(nczchunk_array_read(array, from, NULL, NULL, data, f.context));
        for (int e = 0; e < 10000; e++)
            CHECK_EQ(data[e], e);
        for (long i = 0; i < f.started; i++)
            ideal += latency(i) / 64 + (i % 64 < latency(i) % 64);
        CHECK_EQ(f.started, 1000 + (is_sharded ? 20 : 0));
        CHECK_EQ(f.most_under_way, 64);
        if (f.now * 10 > ideal * 11)
            CHECK_FAILED("it took %ld ms, not %ld", f.now, ideal);
        CHECK(f.most_bytes <= callbacks.bytes_in_flight);
        close_far(&f, array);
    }
}

int main(void)
{
    alarm(300);
    answers_in_any_order();
    limits_are_respected();
    absent_objects();
    an_error_at_every_object();
    what_is_not_needed_is_cancelled();
    a_wait_that_fails();
    callbacks_that_do_not_fit();
    a_call_that_is_ended();
    a_shard_that_was_written_anew();
    a_shard_without_versions();
    what_is_in_the_cache_is_not_asked_for();
    latency_is_waited_for_once_per_round();
    return 0;
}
