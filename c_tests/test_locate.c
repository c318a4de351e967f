/*
 * Where chunks are stored: nczchunk_array_locate tells for each which bytes of which object it is. Read from the files
 * by the program itself and decoded by the codec, they are the elements that nczchunk_array_read gives.
 */
#include "check.h"


#include "nczchunk_array.h"

/* An array of 7 x 6 shorts in chunks of 2 x 3, and in shards of 4 x 6 if it has some. The last rows are not written. */
static nczchunk_array *make_array(const char *path, int is_sharded)
{
    const size_t shape[2] = {7, 6}, chunks[2] = {2, 3}, shards[2] = {4, 6};
    const size_t start[2] = {0, 0}, count[2] = {4, 6};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    short values[24];

    for (short i = 0; i < 24; i++)
        values[i] = (short)(100 + i);
    description.type = NCZCHUNK_SHORT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.shard_shape = is_sharded ? shards : NULL;
    description.uncompressed = 1;
    description.endian = NCZCHUNK_ENDIAN_LITTLE;
    description.overwrite = 1;
    CHECK_OK(nczchunk_array_create(path, "a", &description, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, start, count, NULL, values, NULL));
    return array;
}

/* What the callback is told, and what it compares it with. */
typedef struct {
    const char *path;
    nczchunk_array *array;
    int stored, absent;
    char objects[200];
} search;

/* Reads the bytes of a chunk as dd does: dd if=PATH/OBJECT iflag=skip_bytes,count_bytes skip=OFFSET count=LEN */
static void read_bytes(const search *at, const nczchunk_located *chunk, unsigned char *bytes, size_t room)
{
    char path[1200];
    FILE *file;

    CHECK(chunk->len <= room);
    snprintf(path, sizeof path, "%s/%s", at->path, chunk->object);
    file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK_EQ(fseek(file, (long)chunk->offset, SEEK_SET), 0);
    CHECK_EQ(fread(bytes, 1, (size_t)chunk->len, file), chunk->len);
    fclose(file);
}

static int compare(void *user, const nczchunk_located *chunk)
{
    search *at = user;

    CHECK(chunk->struct_size >= sizeof *chunk);
    CHECK_EQ(chunk->rank, 2);
    if (strstr(at->objects, chunk->object) == NULL)
        snprintf(at->objects + strlen(at->objects), sizeof at->objects - strlen(at->objects), "%s ", chunk->object);
    if (chunk->state == NCZCHUNK_ABSENT) {
        CHECK_EQ(chunk->offset, 0);
        CHECK_EQ(chunk->len, 0);
        at->absent++;
        return 0;
    }
    CHECK_EQ(chunk->state, NCZCHUNK_STORED);

    /* The chunk is not encoded, so these are its elements, row by row and little-endian. */
    const size_t start[2] = {(size_t)chunk->chunk_indices[0] * 2, (size_t)chunk->chunk_indices[1] * 3};
    const size_t count[2] = {2, 3};
    unsigned char bytes[64];
    short values[6];

    read_bytes(at, chunk, bytes, sizeof bytes);
    CHECK_EQ(chunk->len, sizeof values);
    CHECK_OK(nczchunk_array_read(at->array, start, count, NULL, values, NULL));
    for (int i = 0; i < 6; i++)
        CHECK_EQ(bytes[2 * i] + 256 * bytes[2 * i + 1], values[i]);
    at->stored++;
    return 0;
}

/* Each chunk is a file. */
static void chunks_are_objects(void)
{
    search all = {"located.zarr", make_array("located.zarr", 0), 0, 0, ""};

    CHECK_OK(nczchunk_array_locate(all.array, NULL, NULL, NULL, compare, &all, NULL));
    CHECK_EQ(all.stored, 4);
    CHECK_EQ(all.absent, 4);
    CHECK_STR(all.objects, "a/c/0/0 a/c/0/1 a/c/1/0 a/c/1/1 a/c/2/0 a/c/2/1 a/c/3/0 a/c/3/1 ");

    /* Of a hyperslab only those that it touches. */
    const size_t start[2] = {1, 4}, count[2] = {2, 1};
    const ptrdiff_t stride[2] = {5, 1};
    search some = {all.path, all.array, 0, 0, ""};
    CHECK_OK(nczchunk_array_locate(all.array, start, count, stride, compare, &some, NULL));
    CHECK_STR(some.objects, "a/c/0/1 a/c/3/1 ");
    nczchunk_array_close(all.array);
}

/* Several chunks are parts of one file, a shard, whose index tells which. */
static void chunks_are_parts_of_shards(void)
{
    search all = {"located.zarr", make_array("located.zarr", 1), 0, 0, ""};

    CHECK_OK(nczchunk_array_locate(all.array, NULL, NULL, NULL, compare, &all, NULL));
    CHECK_EQ(all.stored, 4);
    CHECK_EQ(all.absent, 4);
    CHECK_STR(all.objects, "a/c/0/0 a/c/1/0 ");
    nczchunk_array_close(all.array);
}

/* Before anything is read it can be said what it takes: a request for each file, or for the index of a shard and for
 * neighbours in it together. */
static void costs_are_known_before(void)
{
    const size_t start[2] = {0, 2}, count[2] = {2, 2};
    nczchunk_read_cost cost = NCZCHUNK_READ_COST_INIT;
    nczchunk_array *array = make_array("located.zarr", 0);

    CHECK_OK(nczchunk_array_read_cost(array, start, count, NULL, &cost, NULL));
    CHECK_EQ(cost.requests, 2);
    CHECK_EQ(cost.index_requests, 0);
    CHECK(cost.bytes >= 2 * 2 * sizeof(short) && cost.bytes <= 2 * 6 * sizeof(short));
    nczchunk_array_close(array);

    array = make_array("located.zarr", 1);
    nczchunk_array_close(array);
    CHECK_OK(nczchunk_array_open("located.zarr", "a", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_read_cost(array, start, count, NULL, &cost, NULL));
    CHECK_EQ(cost.index_requests, 1);
    CHECK_EQ(cost.requests, 2);
    CHECK(cost.bytes >= cost.index_bytes + 2 * 2 * sizeof(short));

    CHECK_EQ(nczchunk_array_read_cost(NULL, start, count, NULL, &cost, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_read_cost(array, start, count, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    cost.struct_size = 0;
    CHECK_EQ(nczchunk_array_read_cost(array, start, count, NULL, &cost, NULL), NCZCHUNK_EINVAL);
    nczchunk_array_close(array);
}

static int note(void *user, const nczchunk_located *chunk)
{
    *(nczchunk_located *)user = *chunk;
    return 0;
}

/* A netCDF classic file is the object itself, which has no name below its path. */
static void chunks_are_parts_of_a_file(const char *data)
{
    char path[1100];
    nczchunk_array *array = NULL;
    nczchunk_located chunk;
    FILE *file;
    unsigned char bytes[8];

    snprintf(path, sizeof path, "%s/coads_sst.nc", data);
    CHECK_OK(nczchunk_array_open(path, "COADSY", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_locate(array, NULL, NULL, NULL, note, &chunk, NULL));
    CHECK_EQ(chunk.state, NCZCHUNK_STORED);
    CHECK_EQ(chunk.len, 90 * sizeof(double));
    file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, (long)chunk.offset, SEEK_SET) == 0 && fread(bytes, 1, 8, file) == 8);
    fclose(file);
    CHECK(memcmp(bytes, "\xc0\x56\x40\0\0\0\0\0", 8) == 0); /* -89.0, big-endian */
    nczchunk_array_close(array);
}

/* The same for all arrays of a file, as an object that is a storage again. */
static void references_are_opened_as_a_storage(const char *data)
{
    char path[1100], url[1200];
    nczchunk_storage *file = NULL, *here = NULL;
    nczchunk_array *array = NULL;
    double first = 0;
    const size_t start[1] = {0}, count[1] = {1};

    snprintf(path, sizeof path, "%s/coads_sst.nc", data);
    CHECK_OK(nczchunk_storage_open(path, &file, NULL));
    CHECK_OK(nczchunk_storage_create(".", &here, NULL));

    /* A path that does not begin with a slash begins where the references are. */
    snprintf(url, sizeof url, "%s", path);
    CHECK_OK(nczchunk_storage_write_references(file, "COADSY", url, here, "coads_sst.json", NULL));
    CHECK_OK(nczchunk_array_open("coads_sst.json", "COADSY", NCZCHUNK_READ, &array, NULL));
    CHECK_STR(nczchunk_array_format(array), "Zarr v2");
    CHECK_OK(nczchunk_array_read(array, start, count, NULL, &first, NULL));
    CHECK(first == -89.0);
    nczchunk_array_close(array);

    CHECK_EQ(nczchunk_storage_write_references(file, "no", url, here, "no.json", NULL), NCZCHUNK_ENOTFOUND);
    CHECK_EQ(nczchunk_storage_write_references(NULL, "", url, here, "no.json", NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_write_references(file, "", NULL, here, "no.json", NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_write_references(file, "", url, here, "../no", NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_write_references(file, "", url, file, "no.json", NULL), NCZCHUNK_EPERM);
    nczchunk_storage_free(here);
    nczchunk_storage_free(file);
}

static int stop(void *user, const nczchunk_located *chunk)
{
    (void)chunk;
    return ++*(int *)user == 3 ? 77 : 0;
}

static void it_ends_when_the_callback_says_so(void)
{
    nczchunk_array *array = make_array("located.zarr", 0);
    nczchunk_context *context = NULL;
    const size_t start[2] = {0, 0}, count[2] = {1, 7};
    int calls = 0;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_array_locate(array, NULL, NULL, NULL, stop, &calls, context), 77);
    CHECK_EQ(calls, 3);
    CHECK_EQ(nczchunk_array_locate(NULL, NULL, NULL, NULL, stop, &calls, context), NCZCHUNK_EINVAL);
    CHECK_STR(nczchunk_context_message(context), "array is NULL");
    CHECK_EQ(nczchunk_array_locate(array, NULL, NULL, NULL, NULL, NULL, context), NCZCHUNK_EINVAL);
    CHECK_STR(nczchunk_context_message(context), "found is NULL");
    CHECK_EQ(nczchunk_array_locate(array, start, count, NULL, stop, &calls, context), NCZCHUNK_EEDGE);
    CHECK_EQ(calls, 3);
    nczchunk_context_free(context);
    nczchunk_array_close(array);
}

/* The index of a shard that says that a chunk is beyond the shard's end. */
static void a_shard_that_is_broken(void)
{
    nczchunk_array *array = make_array("located.zarr", 1);
    nczchunk_context *context = NULL;
    FILE *file = fopen("located.zarr/a/c/0/0", "r+b");
    int calls = 0;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK(file != NULL && fseek(file, -68, SEEK_END) == 0 && fwrite("\xff\xff\xff\xff", 1, 4, file) == 4);
    fclose(file);
    CHECK_EQ(nczchunk_array_locate(array, NULL, NULL, NULL, stop, &calls, context), NCZCHUNK_EIO);
    CHECK(strstr(nczchunk_context_message(context), "sharding_indexed") != NULL);
    CHECK_EQ(calls, 0);
    nczchunk_context_free(context);
    nczchunk_array_close(array);
}

int main(int argc, char **argv)
{
    chunks_are_objects();
    chunks_are_parts_of_shards();
    costs_are_known_before();
    chunks_are_parts_of_a_file(argc > 1 ? argv[1] : "data");
    references_are_opened_as_a_storage(argc > 1 ? argv[1] : "data");
    it_ends_when_the_callback_says_so();
    a_shard_that_is_broken();
    return 0;
}
