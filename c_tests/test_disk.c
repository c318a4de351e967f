/*
 * A disk that does not do what it should. There is no room: for a chunk, a shard, metadata, a new array, a zip file.
 * A chunk or a shard was cut short or removed by others, or a directory is in the place of a chunk; a zip file, a
 * netCDF classic file or a cfdb file was cut short or removed while it is open. The call says so, or its result is
 * right; what was stored before is there still, and a retry is right.
 *
 * What stands for a full disk is the limit of a process on the sizes of its files.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "coads.h"

#include "nczchunk_array.h"

static const size_t length = 1000, quarter = 250, origin = 0;

/* An array of 1000 numbers. All are in one object: a chunk, or a shard of 4 chunks. */
static nczchunk_description describe(size_t format, int is_sharded)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;

    description.type = NCZCHUNK_INT;
    description.rank = 1;
    description.shape = &length;
    description.chunk_shape = is_sharded ? &quarter : &length;
    description.shard_shape = is_sharded ? &length : NULL;
    description.uncompressed = 1;
    description.format = format;
    description.overwrite = 1;
    return description;
}

/* The status of a read, and the value that all elements have. */
static int read_all(const nczchunk_array *array, int *value)
{
    int values[1000] = {0};
    int status = nczchunk_array_read(array, &origin, NULL, NULL, values, NULL);

    *value = values[0];
    for (int i = 0; status == 0 && i < 1000; i++)
        CHECK_EQ(values[i], *value);
    return status;
}

static int write_all(const nczchunk_array *array, int value)
{
    int values[1000];

    for (int i = 0; i < 1000; i++)
        values[i] = value;
    return nczchunk_array_write(array, &origin, NULL, NULL, values, NULL);
}

/* That all elements of the array of this name at a path have this value, for those who open it now. */
static void check_stored(const char *path, const char *name, int expected)
{
    nczchunk_array *array = NULL;
    int value;

    CHECK_OK(nczchunk_array_open(path, name, NCZCHUNK_READ, &array, NULL));
    CHECK_OK(read_all(array, &value));
    CHECK_EQ(value, expected);
    nczchunk_array_close(array);
}

/* That nobody finds an array of this name: at most a group, which in Zarr v2 its attributes make. */
static void check_no_array(const char *path, const char *name)
{
    nczchunk_array *array = NULL;
    int status = nczchunk_array_open(path, name, NCZCHUNK_READ, &array, NULL);

    CHECK(array == NULL && (status == NCZCHUNK_ENOTFOUND || status == NCZCHUNK_ENOTVAR));
}

typedef struct disk {
    char path[64], chunk[96], metadata[96];
    nczchunk_array *array;
} disk;

/* A new directory. */
static void make_directory(char path[64])
{
    strcpy(path, "/tmp/nczchunk-disk-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
}

/* An array in a new directory, whose elements are 1s. */
static void open_disk(disk *d, size_t format, int is_sharded)
{
    const nczchunk_description description = describe(format, is_sharded);

    make_directory(d->path);
    snprintf(d->chunk, sizeof d->chunk, "%s/%s", d->path, format == NCZCHUNK_ZARR_V2 ? "0" : "c/0");
    snprintf(d->metadata, sizeof d->metadata, "%s/%s", d->path, format == NCZCHUNK_ZARR_V2 ? ".zarray" : "zarr.json");
    CHECK_OK(nczchunk_array_create(d->path, NULL, &description, &d->array, NULL));
    CHECK_OK(nczchunk_array_set_cache(d->array, NULL, NULL));
    CHECK_OK(write_all(d->array, 1));
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

/* Files may have so many bytes: the write of a chunk gets so far, and then there is no room. */
static void set_room(rlim_t bytes)
{
    struct rlimit limit;

    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes > limit.rlim_max ? limit.rlim_max : bytes;
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static off_t size_of(const char *path)
{
    struct stat status;

    CHECK_EQ(stat(path, &status), 0);
    return status.st_size;
}

/* A chunk that is replaced, or a shard: as a whole, and to change one of its elements. */
static void no_room_for_a_chunk(size_t format, int is_sharded)
{
    const size_t one = 1;
    const int two = 2;
    disk d;
    int value;

    open_disk(&d, format, is_sharded);
    const rlim_t room = (rlim_t)size_of(d.chunk);
    const rlim_t rooms[] = {0, 1, 100, room - 1};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        set_room(rooms[i]);
        CHECK_EQ(write_all(d.array, 2), EFBIG);
        CHECK_EQ(nczchunk_array_write(d.array, &origin, &one, NULL, &two, NULL), EFBIG);
        CHECK_OK(read_all(d.array, &value));
        CHECK_EQ(value, 1);
        check_stored(d.path, NULL, 1);
    }
    set_room(room);
    CHECK_OK(write_all(d.array, 3));
    CHECK_OK(read_all(d.array, &value));
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

    open_disk(&d, format, 0);
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

/* Nor for a new array: there is none then, and the one beside it is as it was. */
static void no_room_for_an_array(size_t format)
{
    const char *const documents[] = {".zgroup", ".zarray", ".zattrs", "zarr.json", "0", "c/0", "c"};
    const nczchunk_description description = describe(format, 0);
    char path[64], name[96];
    nczchunk_array *array = NULL;

    make_directory(path);
    CHECK_OK(nczchunk_array_create(path, "old", &description, &array, NULL));
    CHECK_OK(write_all(array, 1));
    nczchunk_array_close(array);
    array = NULL;
    for (rlim_t room = 0; room <= 100; room += 50) {
        set_room(room);
        CHECK_EQ(nczchunk_array_create(path, "new", &description, &array, NULL), EFBIG);
        set_room(RLIM_INFINITY);
        check_no_array(path, "new");
        check_stored(path, "old", 1);
    }
    /* An array that is to be overwritten makes room first: it is gone then, and not half there. */
    set_room(50);
    CHECK_EQ(nczchunk_array_create(path, "old", &description, &array, NULL), EFBIG);
    set_room(RLIM_INFINITY);
    check_no_array(path, "old");
    for (int is_new = 0; is_new < 2; is_new++) {
        CHECK_OK(nczchunk_array_create(path, is_new ? "new" : "old", &description, &array, NULL));
        CHECK_OK(write_all(array, 2));
        nczchunk_array_close(array);
        check_stored(path, is_new ? "new" : "old", 2);
    }
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++)
        for (int where = 0; where < 3; where++) {
            snprintf(name, sizeof name, "%s/%s/%s", path, where == 0 ? "." : where == 1 ? "old" : "new", documents[i]);
            remove(name);
        }
    for (int is_new = 0; is_new < 2; is_new++) {
        snprintf(name, sizeof name, "%s/%s", path, is_new ? "new" : "old");
        CHECK_EQ(rmdir(name), 0);
    }
    CHECK_EQ(rmdir(path), 0); /* nothing else is left */
}

/* How far the making of a zip file has got. */
typedef enum stage { CREATE, WRITE, FINISH, DONE } stage;

/* Makes a zip file whose elements have this value. If that fails for want of room it is tried again with room. */
static stage make_zip(const char *path, int value, rlim_t room, int is_tried_again)
{
    const nczchunk_description description = describe(0, 0);
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    stage stage = CREATE;
    int status;

    CHECK_OK(nczchunk_storage_create_zip(path, &storage, NULL));
    set_room(room);
    status = nczchunk_array_create_in(storage, "a", &description, &array, NULL);
    if (status == NCZCHUNK_NOERR) {
        stage = WRITE;
        status = write_all(array, value);
    }
    if (status == NCZCHUNK_NOERR) {
        stage = FINISH;
        status = nczchunk_storage_finish(storage, NULL);
    }
    set_room(RLIM_INFINITY);
    if (status == NCZCHUNK_NOERR) {
        stage = DONE;
    } else {
        CHECK_EQ(status, EFBIG);
        if (is_tried_again) {
            if (stage == CREATE)
                CHECK_OK(nczchunk_array_create_in(storage, "a", &description, &array, NULL));
            if (stage != FINISH)
                CHECK_OK(write_all(array, value));
            CHECK_OK(nczchunk_storage_finish(storage, NULL));
        }
    }
    nczchunk_array_close(array);
    nczchunk_storage_free(storage);
    return stage;
}

/* Every room that is too small, from none on: for metadata, for a chunk behind these, for the directory at the end. */
static void no_room_for_a_zip_file(void)
{
    int failed[DONE] = {0};
    char directory[64], path[96];
    stage stage = CREATE;

    make_directory(directory);
    snprintf(path, sizeof path, "%s/x.zip", directory);
    CHECK_EQ(make_zip(path, 1, RLIM_INFINITY, 0), DONE);
    for (rlim_t room = 0; stage != DONE; room += 61) {
        stage = make_zip(path, 2, room, 0);
        check_stored(path, "a", stage == DONE ? 2 : 1);
        if (stage == DONE)
            break;
        failed[stage]++;
        CHECK_EQ(make_zip(path, 3, room, 1), stage);
        check_stored(path, "a", 3);
        CHECK_EQ(make_zip(path, 1, RLIM_INFINITY, 0), DONE);
    }
    CHECK(failed[CREATE] > 0 && failed[WRITE] > 0 && failed[FINISH] > 0);
    CHECK_EQ(remove(path), 0);
    CHECK_EQ(rmdir(directory), 0); /* nothing else is left */
}

/* A chunk that others have cut short is an error, one that they have removed is absent; both can be written anew. */
static void a_chunk_that_shrinks_and_vanishes(size_t format)
{
    disk d;
    int value;

    open_disk(&d, format, 0);
    for (off_t size = 0; size < 4000; size += 1333) {
        CHECK_EQ(truncate(d.chunk, size), 0);
        CHECK_EQ(read_all(d.array, &value), NCZCHUNK_EBADCHUNK);
    }
    CHECK_OK(write_all(d.array, 4));
    CHECK_OK(read_all(d.array, &value));
    CHECK_EQ(value, 4);
    CHECK_EQ(remove(d.chunk), 0);
    CHECK_OK(read_all(d.array, &value));
    CHECK_EQ(value, 0); /* the fill value */
    CHECK_OK(write_all(d.array, 5));
    CHECK_OK(read_all(d.array, &value));
    CHECK_EQ(value, 5);
    close_disk(&d);
}

/* The same of a shard, whose index the array has kept from a read before. */
static void a_shard_that_shrinks_and_vanishes(void)
{
    enum { INDEX_BYTES = 4 * 16 + 4 };
    const size_t one = 1;
    disk d;
    int value;

    open_disk(&d, NCZCHUNK_ZARR_V3, 1);
    const off_t all = size_of(d.chunk);
    const off_t sizes[] = {all - 1, all - INDEX_BYTES, 1000, INDEX_BYTES, INDEX_BYTES - 1, 1, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CHECK_OK(write_all(d.array, 3));
        CHECK_OK(read_all(d.array, &value));
        CHECK_EQ(value, 3);
        CHECK_EQ(truncate(d.chunk, sizes[i]), 0);
        CHECK_EQ(read_all(d.array, &value), NCZCHUNK_EIO);
        CHECK_EQ(nczchunk_array_read(d.array, &origin, &one, NULL, &value, NULL), NCZCHUNK_EIO);
        /* What the others have left is not written over by a part of it. */
        CHECK_EQ(nczchunk_array_write(d.array, &origin, &one, NULL, &value, NULL), NCZCHUNK_EIO);
        CHECK_EQ(size_of(d.chunk), sizes[i]);
    }
    CHECK_OK(write_all(d.array, 4));
    CHECK_OK(read_all(d.array, &value));
    CHECK_EQ(value, 4);
    CHECK_EQ(remove(d.chunk), 0);
    CHECK_OK(read_all(d.array, &value));
    CHECK_EQ(value, 0); /* the fill value */
    CHECK_OK(write_all(d.array, 5));
    CHECK_OK(read_all(d.array, &value));
    CHECK_EQ(value, 5);
    close_disk(&d);
}

/* A directory where a chunk should be: an error both ways, and nothing of it is removed. */
static void a_directory_in_the_storage_of_a_chunk(size_t format)
{
    disk d;
    int value;

    open_disk(&d, format, 0);
    CHECK_EQ(remove(d.chunk), 0);
    CHECK_EQ(mkdir(d.chunk, 0777), 0);
    CHECK(read_all(d.array, &value) != NCZCHUNK_NOERR);
    CHECK(write_all(d.array, 6) != NCZCHUNK_NOERR);
    CHECK_EQ(rmdir(d.chunk), 0);
    CHECK_OK(write_all(d.array, 7));
    CHECK_OK(read_all(d.array, &value));
    CHECK_EQ(value, 7);
    close_disk(&d);
}

/* A zip file that others cut short while it is open: an error. If they remove it, it is read as long as it is open. */
static void a_zip_file_that_shrinks_and_vanishes(void)
{
    char directory[64], path[96];
    nczchunk_array *array = NULL;
    int value;

    make_directory(directory);
    snprintf(path, sizeof path, "%s/x.zip", directory);
    CHECK_EQ(make_zip(path, 1, RLIM_INFINITY, 0), DONE);
    CHECK_OK(nczchunk_array_open(path, "a", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
    CHECK_OK(read_all(array, &value));
    CHECK_EQ(value, 1);
    /* The chunk has 4000 bytes, so that it is cut in all cases. */
    for (off_t size = 3999; size >= 0; size -= 1333) {
        CHECK_EQ(truncate(path, size), 0);
        CHECK_EQ(read_all(array, &value), NCZCHUNK_EIO);
    }
    nczchunk_array_close(array);
    array = NULL;

    CHECK_EQ(make_zip(path, 2, RLIM_INFINITY, 0), DONE);
    CHECK_OK(nczchunk_array_open(path, "a", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
    CHECK_EQ(remove(path), 0);
    CHECK_OK(read_all(array, &value));
    CHECK_EQ(value, 2);
    nczchunk_array_close(array);
    CHECK_EQ(rmdir(directory), 0);
}

/* A copy of a sample. */
static void copy_sample(const char *data, const char *sample, const char *path)
{
    char name[1100];
    size_t nbytes;
    unsigned char *bytes;
    FILE *file;

    snprintf(name, sizeof name, "%s/%s", data, sample);
    bytes = coads_read_file(name, &nbytes);
    file = fopen(path, "wb");
    CHECK(bytes != NULL && file != NULL && fwrite(bytes, 1, nbytes, file) == nbytes && fclose(file) == 0);
    free(bytes);
}

/* The same of a netCDF classic file. Each map is a record, and those before the end of the file are read. */
static void a_netcdf_file_that_shrinks_and_vanishes(const char *data)
{
    enum { MAPS = 12, MAP = 90 * 180 };
    const size_t one_map[3] = {1, 90, 180}, start[3] = {0, 0, 0};
    static float values[MAPS * MAP];
    float *raw = coads_read_raw(data);
    char directory[64], path[96];
    nczchunk_array *array = NULL;

    make_directory(directory);
    snprintf(path, sizeof path, "%s/x.nc", directory);
    copy_sample(data, "coads_sst.nc", path);
    CHECK_OK(nczchunk_array_open(path, "SST", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
    const off_t whole = size_of(path);
    const off_t sizes[] = {whole - 1, whole / 2, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int num_read = 0;

        CHECK_EQ(truncate(path, sizes[i]), 0);
        CHECK_EQ(nczchunk_array_read(array, start, NULL, NULL, values, NULL), NCZCHUNK_EIO);
        for (size_t map = 0; map < MAPS; map++) {
            const size_t at[3] = {map, 0, 0};
            int status = nczchunk_array_read(array, at, one_map, NULL, values, NULL);

            if (status == NCZCHUNK_NOERR)
                CHECK(memcmp(values, raw + map * MAP, MAP * sizeof(float)) == 0);
            else
                CHECK_EQ(status, NCZCHUNK_EIO);
            num_read += status == NCZCHUNK_NOERR;
        }
        /* What comes before the first record takes less than one. */
        CHECK_EQ(num_read, sizes[i] == 0 ? 0 : sizes[i] == whole / 2 ? 5 : 11);
    }
    nczchunk_array_close(array);
    array = NULL;

    copy_sample(data, "coads_sst.nc", path);
    CHECK_OK(nczchunk_array_open(path, "SST", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
    CHECK_EQ(remove(path), 0);
    CHECK_OK(nczchunk_array_read(array, start, NULL, NULL, values, NULL));
    CHECK(memcmp(values, raw, sizeof values) == 0);
    nczchunk_array_close(array);
    CHECK_EQ(rmdir(directory), 0);
    free(raw);
}

/* The temperatures of a cfdb file: see test_cfdb.c. */
static int read_cfdb(const nczchunk_array *array)
{
    const size_t start[2] = {0, 0};
    unsigned short values[6][10];
    int status = nczchunk_array_read(array, start, NULL, NULL, values, NULL);

    for (int day = 0; status == NCZCHUNK_NOERR && day < 6; day++)
        for (int place = 0; place < 10; place++)
            CHECK_EQ(values[day][place], day == 5 ? 0 : 10 * (10 * day + 11) + 5 * place);
    return status;
}

/* The same of a cfdb file. Once it was cut it has to be opened again. */
static void a_cfdb_file_that_shrinks_and_vanishes(const char *data)
{
    static const char sample[] = "../tests/vectors/small.cfdb";
    char directory[64], path[96];
    nczchunk_array *array = NULL;

    make_directory(directory);
    snprintf(path, sizeof path, "%s/x.cfdb", directory);
    copy_sample(data, sample, path);
    const off_t all = size_of(path);
    const off_t sizes[] = {all - 1, all / 2, 1, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CHECK_OK(nczchunk_array_open(path, "temperature", NCZCHUNK_READ, &array, NULL));
        CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
        CHECK_OK(read_cfdb(array));
        CHECK_EQ(truncate(path, sizes[i]), 0);
        CHECK_EQ(read_cfdb(array), NCZCHUNK_EIO);
        CHECK_EQ(read_cfdb(array), NCZCHUNK_EIO);
        nczchunk_array_close(array);
        array = NULL;
        copy_sample(data, sample, path);
    }

    CHECK_OK(nczchunk_array_open(path, "temperature", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
    CHECK_EQ(remove(path), 0);
    CHECK_OK(read_cfdb(array));
    nczchunk_array_close(array);
    CHECK_EQ(rmdir(directory), 0);
}

/* Whether the library was built with cfdb files. */
static int has_cfdb(const char *data)
{
    char name[1100];
    nczchunk_array *array = NULL;
    int status;

    snprintf(name, sizeof name, "%s/../tests/vectors/small.cfdb", data);
    status = nczchunk_array_open(name, "temperature", NCZCHUNK_READ, &array, NULL);
    nczchunk_array_close(array);
    CHECK(status == NCZCHUNK_NOERR || status == NCZCHUNK_ENOTBUILT);
    return status == NCZCHUNK_NOERR;
}

int main(int argc, char **argv)
{
    const char *data = argc > 1 ? argv[1] : "data";

    signal(SIGXFSZ, SIG_IGN); /* the system tells by the write's result instead */
    for (size_t format = NCZCHUNK_ZARR_V2; format <= NCZCHUNK_ZARR_V3; format++) {
        no_room_for_a_chunk(format, 0);
        no_room_for_metadata(format);
        no_room_for_an_array(format);
        a_chunk_that_shrinks_and_vanishes(format);
        a_directory_in_the_storage_of_a_chunk(format);
    }
    no_room_for_a_chunk(NCZCHUNK_ZARR_V3, 1);
    a_shard_that_shrinks_and_vanishes();
    no_room_for_a_zip_file();
    a_zip_file_that_shrinks_and_vanishes();
    a_netcdf_file_that_shrinks_and_vanishes(data);
    if (has_cfdb(data))
        a_cfdb_file_that_shrinks_and_vanishes(data);
    return 0;
}
