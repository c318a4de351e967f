/*
 * Memory that cannot be had while files are opened, read, listed and written: the call says NCZCHUNK_ENOMEM, nothing is
 * leaked, no request is left under way, no half of a file is left behind, and the next call finds what was there.
 *
 * Each scene is played with its first allocation failing, then its second, and so on until it gets through.
 */
#define _XOPEN_SOURCE 700
#include <unistd.h>

#include "check.h"

#include "nczchunk_array.h"

#include "counted_malloc.h"

/* Of whatever was called: the first status that is not NCZCHUNK_NOERR, as long as all before it were. */
static int also(int status, int (*next)(void *user), void *user)
{
    return status == NCZCHUNK_NOERR ? next(user) : status;
}

static int count(void *user, const nczchunk_node *node)
{
    CHECK((node->status != 0) == (strcmp(node->name, "remark") == 0));
    ++*(int *)user;
    return 0;
}

static int list(const char *path, int expected)
{
    int found = 0;
    int status = nczchunk_list(path, NULL, 1, count, &found, NULL);

    if (status == NCZCHUNK_NOERR) CHECK_EQ(found, expected);
    return status;
}

/* --- A cfdb file. */

static int read_cfdb(void *path)
{
    const size_t start[2] = {0, 0};
    unsigned short temperature[6][10];
    nczchunk_array *array = NULL;
    int status = nczchunk_array_open(path, "temperature", NCZCHUNK_READ, &array, NULL);

    CHECK((array == NULL) == (status != NCZCHUNK_NOERR));
    if (status == NCZCHUNK_NOERR) status = nczchunk_array_read(array, start, NULL, NULL, temperature, NULL);
    if (status == NCZCHUNK_NOERR) CHECK(temperature[4][9] == 555 && temperature[5][0] == 0);
    nczchunk_array_close(array);
    return status;
}

static int list_cfdb(void *path)
{
    return list(path, 5);
}

/* --- A netCDF classic file. */

static int read_netcdf(void *path)
{
    const size_t start[3] = {1, 45, 2}, count_[3] = {6, 1, 59}, zeros[3] = {0, 0, 0};
    const ptrdiff_t stride[3] = {2, 1, 3};
    static float part[6][59], all[12][90][180];
    nczchunk_array *array = NULL;
    int status = nczchunk_array_open(path, "SST", NCZCHUNK_READ, &array, NULL);

    CHECK((array == NULL) == (status != NCZCHUNK_NOERR));
    if (status == NCZCHUNK_NOERR) status = nczchunk_array_read(array, start, count_, stride, part, NULL);
    if (status == NCZCHUNK_NOERR) status = nczchunk_array_read(array, zeros, NULL, NULL, all, NULL);
    if (status == NCZCHUNK_NOERR)
        for (size_t month = 0; month < 6; month++)
            for (size_t i = 0; i < 59; i++)
                CHECK(memcmp(&part[month][i], &all[1 + 2 * month][45][2 + 3 * i], sizeof(float)) == 0);
    nczchunk_array_close(array);
    return status;
}

static int list_netcdf(void *path)
{
    return list(path, 5);
}

/* --- An array that is made, in a directory or in a zip file. */

static const size_t shape[2] = {4, 6}, chunks[2] = {2, 3}, origin[2] = {0, 0};

static int write_to(nczchunk_place *place, size_t format, const size_t *shard_shape)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    int values[4][6], status;

    for (int i = 0; i < 24; i++)
        values[i / 6][i % 6] = i;
    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.shard_shape = shard_shape;
    description.format = format;
    status = nczchunk_array_create_in(place, "v", &description, &array, NULL);
    if (status == NCZCHUNK_NOERR) status = nczchunk_array_write(array, origin, NULL, NULL, values, NULL);
    nczchunk_array_close(array);
    return status;
}

static int read_made(void *path)
{
    int values[4][6];
    nczchunk_array *array = NULL;
    int status = nczchunk_array_open(path, "v", NCZCHUNK_READ, &array, NULL);

    if (status == NCZCHUNK_NOERR) status = nczchunk_array_read(array, origin, NULL, NULL, values, NULL);
    for (int i = 0; status == NCZCHUNK_NOERR && i < 24; i++)
        CHECK_EQ(values[i / 6][i % 6], i);
    nczchunk_array_close(array);
    return status;
}

static int list_made(void *path)
{
    return list(path, 2);
}

static int make_directory(void *path)
{
    nczchunk_place *place = NULL;
    int status = nczchunk_place_create(path, &place, NULL);

    CHECK((place == NULL) == (status != NCZCHUNK_NOERR));
    if (status == NCZCHUNK_NOERR) status = write_to(place, NCZCHUNK_ZARR_V2, NULL);
    nczchunk_place_free(place);
    return also(also(status, read_made, path), list_made, path);
}

/* The file is there when it is finished, and not before. */
static int make_zip(void *path)
{
    nczchunk_place *place = NULL;
    int status = nczchunk_place_create_zip(path, &place, NULL);

    CHECK((place == NULL) == (status != NCZCHUNK_NOERR));
    if (status == NCZCHUNK_NOERR) status = write_to(place, NCZCHUNK_ZARR_V3, NULL);
    CHECK(access(path, F_OK) != 0);
    if (status == NCZCHUNK_NOERR) status = nczchunk_place_finish(place, NULL);
    nczchunk_place_free(place);
    CHECK_EQ(access(path, F_OK) == 0, status == NCZCHUNK_NOERR);
    return also(also(status, read_made, path), list_made, path);
}

/* --- Large chunks that are read row by row, which have larger memory in common if there is any. */

enum { ROWS = 64, COLUMNS = 1024 };

static void make_large(const char *path)
{
    static const size_t large[2] = {2 * ROWS, COLUMNS}, chunk[2] = {ROWS, COLUMNS};
    static const nczchunk_codec_setting zstd = {"zstd", NULL};
    static int values[2 * ROWS][COLUMNS];
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    for (int i = 0; i < 2 * ROWS * COLUMNS; i++)
        values[i / COLUMNS][i % COLUMNS] = i;
    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = large;
    description.chunk_shape = chunk;
    description.codecs = &zstd;
    description.num_codecs = 1;
    description.overwrite = 1;
    CHECK_OK(nczchunk_array_create(path, NULL, &description, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, values, NULL));
    nczchunk_array_close(array);
}

static int read_rows(void *path)
{
    nczchunk_array *array = NULL;
    int status = nczchunk_array_open(path, NULL, NCZCHUNK_READ, &array, NULL);

    for (size_t row = 0; status == NCZCHUNK_NOERR && row < 2 * ROWS; row += ROWS / 4) {
        const size_t start[2] = {row, 0}, one[2] = {1, COLUMNS};
        int values[COLUMNS];

        status = nczchunk_array_read(array, start, one, NULL, values, NULL);
        for (int i = 0; status == NCZCHUNK_NOERR && i < COLUMNS; i++)
            CHECK_EQ(values[i], (int)row * COLUMNS + i);
    }
    nczchunk_array_close(array);
    return status;
}

/* --- A place that answers later. */

enum { MOST = 32, LONGEST = 4096 };

typedef struct far_place {
    struct {
        char name[32];
        unsigned char bytes[LONGEST];
        size_t nbytes;
    } objects[MOST];
    size_t num_objects;
    nczchunk_object_request *under_way[MOST];
    size_t num_under_way;
} far_place;

static int write_far(void *user, const char *name, const void *bytes, size_t nbytes)
{
    far_place *f = user;
    size_t i = 0;

    while (i < f->num_objects && strcmp(f->objects[i].name, name) != 0)
        i++;
    CHECK(i < MOST && strlen(name) < sizeof f->objects[i].name && nbytes <= LONGEST);
    f->num_objects += i == f->num_objects;
    strcpy(f->objects[i].name, name);
    memcpy(f->objects[i].bytes, bytes, nbytes);
    f->objects[i].nbytes = nbytes;
    return NCZCHUNK_NOERR;
}

static int start(void *user, nczchunk_object_request *request)
{
    far_place *f = user;

    CHECK(f->num_under_way < MOST);
    f->under_way[f->num_under_way++] = request;
    return NCZCHUNK_NOERR;
}

/* The one that was started last comes first. */
static int wait_for_one(void *user, nczchunk_object_request **done)
{
    far_place *f = user;
    nczchunk_object_request *request;
    size_t i = 0, offset;

    CHECK(f->num_under_way > 0);
    *done = request = f->under_way[--f->num_under_way];
    while (i < f->num_objects && strcmp(f->objects[i].name, request->name) != 0)
        i++;
    if (i == f->num_objects) {
        request->status = NCZCHUNK_ENOOBJECT;
        return NCZCHUNK_NOERR;
    }
    offset = request->offset < f->objects[i].nbytes ? (size_t)request->offset : f->objects[i].nbytes;
    if (request->from_end) offset = f->objects[i].nbytes - offset;
    request->nbytes = f->objects[i].nbytes - offset;
    if (request->nbytes > request->size) request->nbytes = request->size;
    memcpy(request->buffer, f->objects[i].bytes + offset, request->nbytes);
    request->object_size = f->objects[i].nbytes;
    return NCZCHUNK_NOERR;
}

static int read_far(void *user)
{
    far_place *f = user;
    nczchunk_place_callbacks callbacks = NCZCHUNK_PLACE_CALLBACKS_INIT;
    nczchunk_place *place = NULL;
    nczchunk_array *array = NULL;
    int values[4][6], status, again;

    callbacks.user = f;
    callbacks.start = start;
    callbacks.wait = wait_for_one;
    callbacks.in_flight = 3;
    status = nczchunk_place_new(&callbacks, &place, NULL);
    if (status == NCZCHUNK_NOERR) status = nczchunk_array_open_in(place, "v", NCZCHUNK_READ, &array, NULL);
    nczchunk_place_free(place);
    if (status == NCZCHUNK_NOERR) {
        status = nczchunk_array_read(array, origin, NULL, NULL, values, NULL);
        CHECK_EQ(f->num_under_way, 0);
        /* The array is as it was: the same call again is right. */
        again = nczchunk_array_read(array, origin, NULL, NULL, values, NULL);
        CHECK(again == NCZCHUNK_NOERR || status == NCZCHUNK_NOERR);
        status = status == NCZCHUNK_NOERR ? again : status;
        for (int i = 0; again == NCZCHUNK_NOERR && i < 24; i++)
            CHECK_EQ(values[i / 6][i % 6], i);
    }
    CHECK_EQ(f->num_under_way, 0);
    nczchunk_array_close(array);
    return status;
}

/* An array in a far place, in shards or not. */
static void make_far(far_place *f, const size_t *shard_shape)
{
    nczchunk_place_callbacks callbacks = NCZCHUNK_PLACE_CALLBACKS_INIT;
    nczchunk_place *place = NULL;

    memset(f, 0, sizeof *f);
    callbacks.user = f;
    callbacks.write = write_far;
    callbacks.start = start;
    callbacks.wait = wait_for_one;
    CHECK_OK(nczchunk_place_new(&callbacks, &place, NULL));
    CHECK_OK(write_to(place, NCZCHUNK_ZARR_V3, shard_shape));
    nczchunk_place_free(place);
}

/* How many of its allocations the scene can do without. */
static long can_do_without;

static void play(const char *name, int (*scene)(void *user), void *user)
{
    int failed = 1;
    long did_without = 0;

    for (long n = 1; failed; n++) {
        long live;
        int status;

        CHECK(n < 5000 && system("rm -rf made.zarr made.zip") == 0);
        live = live_allocations;
        failing_allocation = allocations + n;
        status = scene(user);
        failed = allocations >= failing_allocation;
        failing_allocation = 0;
        if (failed && status == NCZCHUNK_NOERR)
            did_without++;
        else if (status != (failed ? NCZCHUNK_ENOMEM : NCZCHUNK_NOERR))
            CHECK_FAILED("%s: status %d when allocation %ld failed", name, status, n);
        if (live_allocations != live)
            CHECK_FAILED("%s: %ld allocations left when number %ld failed", name, live_allocations - live, n);
    }
    CHECK_EQ(did_without, can_do_without);
}

/* Whether a place for a file of this kind is built in. */
static int is_built_in(const char *path)
{
    nczchunk_place *place = NULL;
    int status = nczchunk_place_at(path, &place, NULL);

    nczchunk_place_free(place);
    return status == NCZCHUNK_NOERR;
}

int main(int argc, char **argv)
{
    static const size_t shards[2] = {4, 3};
    static far_place f;
    nczchunk_place *place = NULL;
    char path[1100];

    CHECK(argc > 1);
    snprintf(path, sizeof path, "%s/coads_sst.nc", argv[1]);
    play("read_netcdf", read_netcdf, path);
    play("list_netcdf", list_netcdf, path);
    snprintf(path, sizeof path, "%s/../tests/vectors/small.cfdb", argv[1]);
    if (is_built_in(path)) {
        play("read_cfdb", read_cfdb, path);
        play("list_cfdb", list_cfdb, path);
    }
    play("make_directory", make_directory, "made.zarr");
    if (nczchunk_place_create_zip("tried.zip", &place, NULL) == NCZCHUNK_NOERR) {
        nczchunk_place_free(place);
        play("make_zip", make_zip, "made.zip");
    }
    if (nczchunk_has_codec("zstd")) {
        make_large("large.zarr");
        /* Of a slab of the cache: its description, its memory, and the cache's list of slabs. */
        can_do_without = 3;
        play("read_rows", read_rows, "large.zarr");
        can_do_without = 0;
    }
    make_far(&f, NULL);
    play("read_far", read_far, &f);
    make_far(&f, shards);
    play("read_far, in shards", read_far, &f);
    return 0;
}
