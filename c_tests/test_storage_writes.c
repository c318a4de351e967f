/*
 * Many writes under way from one thread: storages with start_write.
 *
 * A storage that can begin a write and go on has a third callback beside start and wait. It begins to write an object
 * and returns at once; wait returns the request when the object is there.
 *
 *     static int start_write(void *user, nczchunk_object_request *request)   request->size bytes at request->buffer
 *
 * A chunk that is written in part is read first, in flight, too. No write is cancelled: a call returns once all that it
 * began have ended.
 */
#include <stdint.h>

#include "check.h"

#include "nczchunk_array.h"

enum { ROWS = 16, COLUMNS = 20, ELEMENTS = ROWS * COLUMNS, CHUNKS = 16, CHUNK = 4 * 5 * 4, MOST = 32 };

typedef struct object {
    char name[24];
    unsigned char bytes[1024];
    size_t nbytes;
} object;

typedef struct far_storage {
    object objects[MOST];
    struct {
        nczchunk_object_request *request;
        int is_write;
    } in_flight[MOST];
    size_t num_in_flight, writes, bytes, most_writes, most_bytes;
    int num_writes, num_reads;
    const char *failing; /* the object whose writes fail */
} far_storage;

static object *find(far_storage *f, const char *name)
{
    for (size_t i = 0; i < MOST; i++)
        if (strcmp(f->objects[i].name, name) == 0)
            return &f->objects[i];
    return NULL;
}

static void begin(far_storage *f, nczchunk_object_request *request, int is_write)
{
    CHECK(f->num_in_flight < MOST);
    f->in_flight[f->num_in_flight].request = request;
    f->in_flight[f->num_in_flight++].is_write = is_write;
    f->writes += is_write;
    f->bytes += request->size;
    f->most_writes = f->writes > f->most_writes ? f->writes : f->most_writes;
    f->most_bytes = f->bytes > f->most_bytes ? f->bytes : f->most_bytes;
}

static int start(void *user, nczchunk_object_request *request)
{
    ((far_storage *)user)->num_reads++;
    begin(user, request, 0);
    return NCZCHUNK_NOERR;
}

static int start_write(void *user, nczchunk_object_request *request)
{
    ((far_storage *)user)->num_writes++;
    begin(user, request, 1);
    return NCZCHUNK_NOERR;
}

static int answer_read(far_storage *f, nczchunk_object_request *request)
{
    const object *object = find(f, request->name);
    size_t first;

    if (object == NULL)
        return NCZCHUNK_ENOOBJECT;
    first = request->offset < object->nbytes ? (size_t)request->offset : object->nbytes;
    if (request->from_end)
        first = object->nbytes - first;
    request->nbytes = object->nbytes - first < request->size ? object->nbytes - first : request->size;
    if (request->nbytes > 0)
        memcpy(request->buffer, object->bytes + first, request->nbytes);
    request->object_size = object->nbytes;
    return NCZCHUNK_NOERR;
}

/* The bytes are valid until now, and the object is there from now on. */
static int answer_write(far_storage *f, const nczchunk_object_request *request)
{
    object *object = find(f, request->name);

    if (f->failing != NULL && strcmp(f->failing, request->name) == 0)
        return 28; /* ENOSPC */
    if (object == NULL)
        object = find(f, "");
    CHECK(object != NULL && request->size <= sizeof object->bytes && strlen(request->name) < sizeof object->name);
    strcpy(object->name, request->name);
    memcpy(object->bytes, request->buffer, request->size);
    object->nbytes = request->size;
    return NCZCHUNK_NOERR;
}

/* The one that was begun last comes back first. */
static int wait_for_one(void *user, nczchunk_object_request **done)
{
    far_storage *f = user;

    CHECK(f->num_in_flight > 0);
    *done = f->in_flight[--f->num_in_flight].request;
    f->bytes -= (*done)->size;
    if (f->in_flight[f->num_in_flight].is_write) {
        f->writes--;
        (*done)->status = answer_write(f, *done);
    } else {
        (*done)->status = answer_read(f, *done);
    }
    return NCZCHUNK_NOERR;
}

static void cancel(void *user, nczchunk_object_request *request)
{
    const far_storage *f = user;

    for (size_t i = 0; i < f->num_in_flight; i++)
        CHECK(f->in_flight[i].request != request || !f->in_flight[i].is_write);
}

static nczchunk_storage *storage_of(far_storage *f, size_t in_flight, size_t bytes_in_flight)
{
    const nczchunk_storage_callbacks callbacks = {
        .struct_size = sizeof callbacks,
        .user = f,
        .start = start,
        .wait = wait_for_one,
        .cancel = cancel,
        .start_write = start_write,
        .in_flight = in_flight,
        .bytes_in_flight = bytes_in_flight,
    };
    nczchunk_storage *storage;

    CHECK_OK(nczchunk_storage_new(&callbacks, &storage, NULL));
    return storage;
}

/* An array of 4 x 4 chunks of 4 x 5 elements. */
static nczchunk_array *array_of(far_storage *f, nczchunk_storage *storage)
{
    static const char metadata[] =
        "{\"zarr_format\": 2, \"shape\": [16, 20], \"chunks\": [4, 5], \"dtype\": \"<i4\", \"compressor\": null,"
        " \"fill_value\": -1, \"order\": \"C\", \"filters\": null}";
    object *object = find(f, "");
    nczchunk_array *array;

    strcpy(object->name, ".zarray");
    memcpy(object->bytes, metadata, object->nbytes = sizeof metadata - 1);
    CHECK_OK(nczchunk_array_open_in(storage, NULL, NCZCHUNK_WRITE, &array, NULL));
    return array;
}

static void forget(far_storage *f)
{
    CHECK_EQ(f->num_in_flight, 0);
    f->most_writes = f->most_bytes = 0;
    f->num_writes = f->num_reads = 0;
}

static void many_chunks_are_written_at_a_time(void)
{
    static const size_t in_flight[4] = {1, 5, 0, 64}, bytes[4] = {0, 0, 0, 3 * CHUNK}, most[4] = {1, 5, CHUNKS, 3};
    static const size_t start_at[2] = {0, 0};

    for (int i = 0; i < 4; i++) {
        static far_storage f;
        int32_t data[ELEMENTS], got[ELEMENTS];
        nczchunk_storage *storage;
        nczchunk_array *array;

        memset(&f, 0, sizeof f);
        storage = storage_of(&f, in_flight[i], bytes[i]);
        array = array_of(&f, storage);
        for (int element = 0; element < ELEMENTS; element++)
            data[element] = element;
        forget(&f);
        CHECK_OK(nczchunk_array_write(array, start_at, NULL, NULL, data, NULL));
        CHECK_EQ(f.num_writes, CHUNKS);
        CHECK_EQ(f.num_reads, 0);
        CHECK_EQ(f.most_writes, most[i]);
        CHECK_EQ(f.most_bytes, most[i] * CHUNK);
        forget(&f);
        CHECK_OK(nczchunk_array_read(array, start_at, NULL, NULL, got, NULL));
        CHECK(memcmp(data, got, sizeof data) == 0);

        /* Columns 1 to 18: the first and the last chunk of each row are written in part, and read before. */
        {
            const size_t from[2] = {0, 1}, count[2] = {ROWS, COLUMNS - 2};
            int32_t part[ROWS * (COLUMNS - 2)];

            for (int element = 0; element < ROWS * (COLUMNS - 2); element++)
                part[element] = -element;
            for (int row = 0; row < ROWS; row++)
                memcpy(&data[row * COLUMNS + 1], &part[row * (COLUMNS - 2)], (COLUMNS - 2) * sizeof part[0]);
            forget(&f);
            CHECK_OK(nczchunk_array_write(array, from, count, NULL, part, NULL));
            CHECK_EQ(f.num_writes, CHUNKS);
            CHECK_EQ(f.num_reads, CHUNKS / 2);
            CHECK(f.most_bytes <= most[i] * CHUNK);
            CHECK_OK(nczchunk_array_read(array, start_at, NULL, NULL, got, NULL));
            CHECK(memcmp(data, got, sizeof data) == 0);
        }
        forget(&f);
        nczchunk_array_close(array);
        nczchunk_storage_free(storage);
    }
}

static void a_write_that_fails_ends_the_call(void)
{
    static far_storage f;
    static const size_t start_at[2] = {0, 0};
    static int32_t data[ELEMENTS];
    nczchunk_storage *storage = storage_of(&f, 64, 0);
    nczchunk_array *array = array_of(&f, storage);

    f.failing = "1.2";
    CHECK_EQ(nczchunk_array_write(array, start_at, NULL, NULL, data, NULL), 28);
    /* Those before it are written, and nothing is under way any more. */
    CHECK_EQ(f.num_in_flight, 0);
    CHECK(find(&f, "0.0") != NULL && find(&f, "1.1") != NULL && find(&f, "1.2") == NULL);
    f.failing = NULL;
    CHECK_OK(nczchunk_array_write(array, start_at, NULL, NULL, data, NULL));
    CHECK(find(&f, "1.2") != NULL);
    nczchunk_array_close(array);
    nczchunk_storage_free(storage);
}

static void start_write_needs_start(void)
{
    const nczchunk_storage_callbacks callbacks = {
        .struct_size = sizeof callbacks, .read = start, .start_write = start_write};
    nczchunk_storage *storage;

    CHECK_EQ(nczchunk_storage_new(&callbacks, &storage, NULL), NCZCHUNK_EINVAL);
}

int main(void)
{
    many_chunks_are_written_at_a_time();
    a_write_that_fails_ends_the_call();
    start_write_needs_start();
    return 0;
}
