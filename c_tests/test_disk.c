/*
 * A disk that does not do what it should: no room for a chunk, a chunk that was cut short or removed by others, a
 * directory in the place of a file. The call says so, what was stored before is there still, and a retry is right.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#include "nczchunk_array.h"

static const size_t length = 1000, origin = 0;

typedef struct disk {
    char path[64], chunk[96], metadata[96];
    nczchunk_array *array;
} disk;

/* An array of one chunk of 4000 bytes, all of them 1s, in a new directory. */
static void open_disk(disk *d, size_t format)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    int ones[1000];

    for (int i = 0; i < 1000; i++)
        ones[i] = 1;
    strcpy(d->path, "/tmp/nczchunk-disk-XXXXXX");
    CHECK(mkdtemp(d->path) != NULL);
    snprintf(d->chunk, sizeof d->chunk, "%s/%s", d->path, format == NCZCHUNK_ZARR_V2 ? "0" : "c/0");
    snprintf(d->metadata, sizeof d->metadata, "%s/%s", d->path, format == NCZCHUNK_ZARR_V2 ? ".zarray" : "zarr.json");
    description.type = NCZCHUNK_INT;
    description.rank = 1;
    description.shape = &length;
    description.chunk_shape = &length;
    description.uncompressed = 1;
    description.format = format;
    description.overwrite = 1;
    CHECK_OK(nczchunk_array_create(d->path, NULL, &description, &d->array, NULL));
    CHECK_OK(nczchunk_array_set_cache(d->array, NULL, NULL));
    CHECK_OK(nczchunk_array_write(d->array, &origin, NULL, NULL, ones, NULL));
}

static void close_disk(disk *d)
{
    char beside[96];

    nczchunk_array_close(d->array);
    snprintf(beside, sizeof beside, "%s/c", d->path);
    remove(d->chunk);
    remove(beside);
    remove(d->metadata);
    snprintf(beside, sizeof beside, "%s/.zattrs", d->path);
    remove(beside);
    CHECK_EQ(rmdir(d->path), 0); /* nothing else is left */
}

/* The status of a read, and the value that all elements have. */
static int read_all(const disk *d, int *value)
{
    int values[1000] = {0};
    int status = nczchunk_array_read(d->array, &origin, NULL, NULL, values, NULL);

    *value = values[0];
    for (int i = 0; status == 0 && i < 1000; i++)
        CHECK_EQ(values[i], *value);
    return status;
}

static int write_all(const disk *d, int value)
{
    int values[1000];

    for (int i = 0; i < 1000; i++)
        values[i] = value;
    return nczchunk_array_write(d->array, &origin, NULL, NULL, values, NULL);
}

/* Files may have so many bytes: the write of a chunk gets so far, and then there is no room. */
static void set_room(rlim_t bytes)
{
    struct rlimit limit;

    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes > limit.rlim_max ? limit.rlim_max : bytes;
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void no_room_for_a_chunk(size_t format)
{
    static const rlim_t rooms[] = {0, 1, 100, 3999};
    disk d;
    int value;

    open_disk(&d, format);
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        set_room(rooms[i]);
        CHECK_EQ(write_all(&d, 2), EFBIG);
        CHECK_OK(read_all(&d, &value));
        CHECK_EQ(value, 1);
    }
    set_room(4000);
    CHECK_OK(write_all(&d, 3));
    CHECK_OK(read_all(&d, &value));
    CHECK_EQ(value, 3);
    set_room(RLIM_INFINITY);
    close_disk(&d);
}

/* Nor for metadata: the shape and the attributes are the old ones. */
static void no_room_for_metadata(size_t format)
{
    const size_t longer = 2000;
    disk d;
    nczchunk_array *again = NULL;

    open_disk(&d, format);
    set_room(10);
    CHECK_EQ(nczchunk_array_resize(d.array, &longer, NULL), EFBIG);
    CHECK_EQ(nczchunk_var_dimlen(nczchunk_array_var(d.array), 0), 1000);
    if (format == NCZCHUNK_ZARR_V3)
        CHECK_EQ(nczchunk_array_set_attribute(d.array, "units", NCZCHUNK_CHAR, 1, "K", NULL), EFBIG);
    CHECK_EQ(nczchunk_array_num_attributes(d.array), 0);
    set_room(RLIM_INFINITY);
    CHECK_OK(nczchunk_array_open(d.path, NULL, NCZCHUNK_READ, &again, NULL));
    CHECK_EQ(nczchunk_var_dimlen(nczchunk_array_var(again), 0), 1000);
    nczchunk_array_close(again);
    CHECK_OK(nczchunk_array_resize(d.array, &longer, NULL));
    close_disk(&d);
}

/* A chunk that others have cut short is an error, one that they have removed is absent; both can be written anew. */
static void a_chunk_that_shrinks_and_vanishes(size_t format)
{
    disk d;
    int value;

    open_disk(&d, format);
    for (off_t size = 0; size < 4000; size += 1333) {
        CHECK_EQ(truncate(d.chunk, size), 0);
        CHECK_EQ(read_all(&d, &value), NCZCHUNK_EBADCHUNK);
    }
    CHECK_OK(write_all(&d, 4));
    CHECK_OK(read_all(&d, &value));
    CHECK_EQ(value, 4);
    CHECK_EQ(remove(d.chunk), 0);
    CHECK_OK(read_all(&d, &value));
    CHECK_EQ(value, 0); /* the fill value */
    CHECK_OK(write_all(&d, 5));
    CHECK_OK(read_all(&d, &value));
    CHECK_EQ(value, 5);
    close_disk(&d);
}

/* A directory where a chunk should be: an error both ways, and nothing of it is removed. */
static void a_directory_in_the_place_of_a_chunk(size_t format)
{
    disk d;
    int value;

    open_disk(&d, format);
    CHECK_EQ(remove(d.chunk), 0);
    CHECK_EQ(mkdir(d.chunk, 0777), 0);
    CHECK(read_all(&d, &value) != NCZCHUNK_NOERR);
    CHECK(write_all(&d, 6) != NCZCHUNK_NOERR);
    CHECK_EQ(rmdir(d.chunk), 0);
    CHECK_OK(write_all(&d, 7));
    CHECK_OK(read_all(&d, &value));
    CHECK_EQ(value, 7);
    close_disk(&d);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN); /* the system tells by the write's result instead */
    for (size_t format = NCZCHUNK_ZARR_V2; format <= NCZCHUNK_ZARR_V3; format++) {
        no_room_for_a_chunk(format);
        no_room_for_metadata(format);
        a_chunk_that_shrinks_and_vanishes(format);
        a_directory_in_the_place_of_a_chunk(format);
    }
    return 0;
}
