/*
 * Memory that cannot be had while files are opened, read, listed and written: the call says NCZCHUNK_ENOMEM, nothing is
 * leaked, no request is left in flight, no half of a file is left behind, and the same call again does what it should.
 * See out_of_memory.h.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nczchunk_array.h"

#include "counted_threads.h"
#include "out_of_memory.h"
#include "shelf.h"

static const size_t origin[2] = {0, 0};

/* --- A scene: a call or several, each of which is made again if there was no memory for it. */

typedef struct scene {
    const char *name;
    void (*play)(const struct scene *s);
    /* Before it, if there is something to be done: nothing fails there. And what is to be checked once it is over. */
    void (*prepare)(const struct scene *s), (*check)(const struct scene *s);
    /* The file or directory, or NULL for the shelf. */
    const char *path;
    size_t format;
    const size_t *shard_shape;
    int in_flight;
    size_t threads;
    /* How many of its allocations it can do without; SOME: that depends on which thread does what. */
    long can_do_without;
} scene;

enum { SOME = -1 };

/* How many allocations have failed that no call has told. */
static long did_without;

static int play_scene(const void *played, long n)
{
    const scene *s = played;
    int failed;

    if (s->prepare != NULL)
        s->prepare(s);
    fail_at(n);
    s->play(s);
    failed = has_failed();
    CHECK(refusals <= failed);
    did_without += failed - refusals;
    if (s->check != NULL)
        s->check(s);
    return failed;
}

static void play(const scene *s)
{
    did_without = 0;
    play_with_failures(s->name, play_scene, s, 1);
    if (s->can_do_without != SOME && step_of_failures() == 1)
        CHECK_EQ(did_without, s->can_do_without);
    if (s->can_do_without != SOME)
        CHECK(did_without <= s->can_do_without);
    play_with_failures(s->name, play_scene, s, LONG_MAX);
}

/* --- What is told of what is in a storage. */

static int count(void *user, const nczchunk_node *node)
{
    CHECK((node->status != 0) == (strcmp(node->name, "remark") == 0));
    ++*(int *)user;
    return 0;
}

static int list_and_count(const char *path, const nczchunk_storage *storage, int *found)
{
    *found = 0;
    return path != NULL ? nczchunk_list(path, NULL, 1, count, found, NULL)
                        : nczchunk_list_in(storage, NULL, 1, count, found, NULL);
}

static void list(const char *path, const nczchunk_storage *storage, int expected)
{
    int found;

    TRY_OR(list_and_count(path, storage, &found), found < expected);
    CHECK_EQ(found, expected);
}

/* --- Arrays that are read. Each is opened by the path of what it is in, or in a storage. */

static nczchunk_array *open_array(const char *path, const nczchunk_storage *storage, const char *name)
{
    nczchunk_array *array = NULL;

    if (path != NULL)
        TRY_OR(nczchunk_array_open(path, name, NCZCHUNK_READ, &array, NULL), array == NULL);
    else
        TRY_OR(nczchunk_array_open_in(storage, name, NCZCHUNK_READ, &array, NULL), array == NULL);
    return array;
}

static void read_cfdb(const char *path, const nczchunk_storage *storage)
{
    unsigned short temperature[6][10];
    nczchunk_array *array = open_array(path, storage, "temperature");

    TRY(nczchunk_array_read(array, origin, NULL, NULL, temperature, NULL));
    CHECK(temperature[4][9] == 555 && temperature[5][0] == 0);
    nczchunk_array_close(array);
    list(path, storage, 5);
}

static void read_classic(const char *path, const nczchunk_storage *storage)
{
    const size_t zeros[3] = {0, 0, 0}, start[3] = {1, 45, 2}, part[3] = {6, 1, 59};
    const ptrdiff_t stride[3] = {2, 1, 3};
    static float some[6][59], all[12][90][180];
    nczchunk_array *array = open_array(path, storage, "SST");

    TRY(nczchunk_array_read(array, start, part, stride, some, NULL));
    TRY(nczchunk_array_read(array, zeros, NULL, NULL, all, NULL));
    for (size_t month = 0; month < 6; month++)
        for (size_t i = 0; i < 59; i++)
            CHECK(memcmp(&some[month][i], &all[1 + 2 * month][45][2 + 3 * i], sizeof(float)) == 0);
    nczchunk_array_close(array);
    list(path, storage, 5);
}

/* Four rows of six ints, which are 0 to 23. */
static void read_small(const char *path, const nczchunk_storage *storage)
{
    int values[4][6], column[4];
    const size_t fifth[2] = {0, 5}, one[2] = {4, 1};
    nczchunk_array *array = open_array(path, storage, "v");

    TRY(nczchunk_array_read(array, fifth, one, NULL, column, NULL));
    TRY(nczchunk_array_read(array, origin, NULL, NULL, values, NULL));
    for (int i = 0; i < 24; i++)
        CHECK(values[i / 6][i % 6] == i && column[i / 6] == i / 6 * 6 + 5);
    nczchunk_array_close(array);
    list(path, storage, 2);
}

static void play_cfdb(const scene *s)
{
    read_cfdb(s->path, NULL);
}

static void play_classic(const scene *s)
{
    read_classic(s->path, NULL);
}

static void play_small(const scene *s)
{
    read_small(s->path, NULL);
}

/* The same file as an object of a directory. */
static void play_cfdb_in_a_directory(const scene *s)
{
    nczchunk_storage *directory = NULL, *file = NULL;

    TRY_OR(nczchunk_storage_open(s->path, &directory, NULL), directory == NULL);
    TRY_OR(nczchunk_storage_file(directory, "small.cfdb", &file, NULL), file == NULL);
    nczchunk_storage_free(directory);
    read_cfdb(NULL, file);
    nczchunk_storage_free(file);
}

/* --- An array that is made, in a directory, in a zip file or on the shelf. */

static void write_small(nczchunk_storage *storage, size_t format, const size_t *shard_shape)
{
    static const size_t shape[2] = {4, 6}, chunks[2] = {2, 3};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    int values[4][6];

    for (int i = 0; i < 24; i++)
        values[i / 6][i % 6] = i;
    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.shard_shape = shard_shape;
    description.format = format;
    TRY_OR(nczchunk_array_create_in(storage, "v", &description, &array, NULL), array == NULL);
    TRY(nczchunk_array_write(array, origin, NULL, NULL, values, NULL));
    nczchunk_array_close(array);
}

/* One element, for which a chunk or shard is read first; then less and more rows, which are fill values. */
static void change_small(nczchunk_storage *storage)
{
    const size_t at[2] = {1, 4}, one[2] = {1, 1}, less[2] = {3, 6}, more[2] = {4, 6}, last[2] = {3, 5};
    const int new_value = 99;
    int values[4][6], left = -1;
    nczchunk_array *array = NULL;

    TRY_OR(nczchunk_array_open_in(storage, "v", NCZCHUNK_WRITE, &array, NULL), array == NULL);
    TRY(nczchunk_array_write(array, at, one, NULL, &new_value, NULL));
    TRY_OR(nczchunk_array_resize(array, less, NULL), nczchunk_var_dimlen(nczchunk_array_var(array), 0) == 4);
    TRY_OR(nczchunk_array_resize(array, more, NULL), nczchunk_var_dimlen(nczchunk_array_var(array), 0) == 3);
    TRY(nczchunk_array_set_attribute(array, "units", NCZCHUNK_CHAR, 1, "K", NULL));
    TRY(nczchunk_array_read(array, last, one, NULL, &left, NULL));
    TRY(nczchunk_array_read(array, origin, NULL, NULL, values, NULL));
    CHECK_EQ(left, 0);
    for (int i = 0; i < 24; i++)
        CHECK_EQ(values[i / 6][i % 6], i == 10 ? 99 : i < 18 ? i : 0);
    nczchunk_array_close(array);
}

/* What count_file has seen. */
static int files_found;

static int remove_below(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
    (void)status;
    (void)flag;
    return walk->level > 0 ? remove(path) : 0;
}

static void remove_made(const scene *s)
{
    (void)s;
    CHECK_EQ(nftw("made", remove_below, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void make_directory(const scene *s)
{
    nczchunk_storage *storage = NULL;

    TRY_OR(nczchunk_storage_create(s->path, &storage, NULL), storage == NULL);
    write_small(storage, s->format, s->shard_shape);
    read_small(s->path, NULL);
    change_small(storage);
    nczchunk_storage_free(storage);
}

/* The same by the path alone. */
static void make_array_at_a_path(const scene *s)
{
    static const size_t shape[2] = {4, 6};
    static const char *const names[2] = {"y", "x"};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.dimension_names = names;
    description.format = s->format;
    TRY_OR(nczchunk_array_create(s->path, "v", &description, &array, NULL), array == NULL);
    nczchunk_array_close(array);
    list(s->path, NULL, 2);
}

/* The file is there when it is finished, and not before. */
static void make_zip(const scene *s)
{
    nczchunk_storage *storage = NULL;

    TRY_OR(nczchunk_storage_create_zip(s->path, &storage, NULL), storage == NULL);
    write_small(storage, s->format, s->shard_shape);
    CHECK(access(s->path, F_OK) != 0);
    TRY_OR(nczchunk_storage_finish(storage, NULL), access(s->path, F_OK) != 0);
    CHECK(access(s->path, F_OK) == 0);
    nczchunk_storage_free(storage);
    read_small(s->path, NULL);
}

/* Of what was made there is nothing but that: no file that had another name until it was whole. */
static int files_below(const char *path, const char *const *expected, size_t num_expected)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    size_t found = 0;

    CHECK(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        size_t i = 0;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        while (i < num_expected && strcmp(entry->d_name, expected[i]) != 0)
            i++;
        if (i == num_expected)
            CHECK_FAILED("%s/%s is left", path, entry->d_name);
        found++;
    }
    CHECK_EQ(closedir(directory), 0);
    return found == num_expected;
}

static void check_directory(const scene *s)
{
    static const char *const made[] = {"d.zarr"}, *const of_v2[] = {".zarray", ".zattrs", "0.0", "0.1", "1.0", "1.1"},
                            *const of_v3[] = {"zarr.json", "c"}, *const shards[] = {"0", "1"};

    CHECK(files_below("made", made, 1));
    if (s->format == NCZCHUNK_ZARR_V2) {
        CHECK(files_below("made/d.zarr/v", of_v2, 6));
    } else {
        CHECK(files_below("made/d.zarr/v", of_v3, 2));
        CHECK(files_below("made/d.zarr/v/c", shards, 1)); /* one row of them */
        CHECK(files_below("made/d.zarr/v/c/0", shards, 2));
    }
}

static void check_zip(const scene *s)
{
    static const char *const made[] = {"z.zip"};

    (void)s;
    CHECK(files_below("made", made, 1));
}

/* A zip file that is never finished leaves nothing behind. */
static void give_up_a_zip(const scene *s)
{
    nczchunk_storage *storage = NULL;

    TRY_OR(nczchunk_storage_create_zip(s->path, &storage, NULL), storage == NULL);
    TRY(nczchunk_storage_write(storage, "v/.zattrs", "{}", 2, NULL));
    nczchunk_storage_free(storage);
}

static void check_nothing(const scene *s)
{
    (void)s;
    CHECK(files_below("made", NULL, 0));
}

static int count_file(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
    (void)path;
    (void)status;
    (void)walk;
    files_found += flag == FTW_F;
    return 0;
}

/* There is neither room for an object nor memory. Its name is long, and so is what it is called while it is written. */
static void write_without_room(const scene *s)
{
    static const char bytes[4096];
    const struct rlimit little = {sizeof bytes / 2, RLIM_INFINITY}, enough = {RLIM_INFINITY, RLIM_INFINITY};
    nczchunk_storage *storage = NULL;
    char name[600] = "v";
    int status;

    while (strlen(name) < 500)
        strcat(name, "/directory");
    TRY_OR(nczchunk_storage_open(s->path, &storage, NULL), storage == NULL);
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &little) == 0);
    status = nczchunk_storage_write(storage, name, bytes, sizeof bytes, NULL);
    end_failures();
    if (status == NCZCHUNK_ENOMEM) {
        refusals++;
        status = nczchunk_storage_write(storage, name, bytes, sizeof bytes, NULL);
    }
    CHECK(setrlimit(RLIMIT_FSIZE, &enough) == 0);
    CHECK_EQ(status, EFBIG);
    nczchunk_storage_free(storage);
}

static void check_no_file(const scene *s)
{
    files_found = 0;
    CHECK_EQ(nftw(s->path, count_file, 8, FTW_PHYS), 0);
    CHECK_EQ(files_found, 0);
}

/* A path as long as it may be stands for the same as a short one. The system's words for what is wrong with a path need
 * no memory. */
static void meet_a_file_on_the_way(const scene *s)
{
    nczchunk_context *context = NULL;
    nczchunk_array *array = NULL;
    int status;

    TRY_OR(nczchunk_context_new(&context), context == NULL);
    status = nczchunk_array_open(s->path, "v", NCZCHUNK_READ, &array, context);
    end_failures();
    if (status == NCZCHUNK_ENOMEM) {
        refusals++;
        status = nczchunk_array_open(s->path, "v", NCZCHUNK_READ, &array, context);
    }
    CHECK(status == ENOTDIR && array == NULL);
    CHECK(strstr(nczchunk_context_message(context), strerror(ENOTDIR)) != NULL);
    nczchunk_context_free(context);
}

/* --- Large chunks that are read row by row, which have larger memory in common if there is any; and by threads. */

enum { CHUNKS = 4, ROWS = 64, COLUMNS = 1024 };

static int large[CHUNKS * ROWS][COLUMNS];

static void make_large(const char *path, const size_t *shard_shape)
{
    static const size_t shape[2] = {CHUNKS * ROWS, COLUMNS}, chunk[2] = {ROWS, COLUMNS};
    static const nczchunk_codec_setting zstd = {"zstd", NULL};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    for (int i = 0; i < CHUNKS * ROWS * COLUMNS; i++)
        large[i / COLUMNS][i % COLUMNS] = i;
    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunk;
    description.shard_shape = shard_shape;
    description.codecs = &zstd;
    description.num_codecs = 1;
    description.overwrite = 1;
    CHECK_OK(nczchunk_array_create(path, NULL, &description, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, large, NULL));
    nczchunk_array_close(array);
}

static void read_rows(const scene *s)
{
    nczchunk_array *array = open_array(s->path, NULL, NULL);

    for (size_t row = 0; row < 2 * ROWS; row += ROWS / 4) {
        const size_t start[2] = {row, 0}, one[2] = {1, COLUMNS};
        int values[COLUMNS];

        TRY(nczchunk_array_read(array, start, one, NULL, values, NULL));
        CHECK(memcmp(values, large[row], sizeof values) == 0);
    }
    nczchunk_array_close(array);
}

/* All of it by several threads, each of which takes chunks. */
static void read_by_threads(const scene *s)
{
    static int values[CHUNKS * ROWS][COLUMNS];
    nczchunk_context *context = NULL;
    nczchunk_array *array = open_array(s->path, NULL, NULL);

    TRY_OR(nczchunk_context_new(&context), context == NULL);
    TRY(nczchunk_context_set_threads(context, s->threads));
    memset(values, 0, sizeof values);
    TRY(nczchunk_array_read(array, origin, NULL, NULL, values, context));
    CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_NOERR);
    CHECK(memcmp(values, large, sizeof values) == 0);
    nczchunk_context_free(context);
    nczchunk_array_close(array);
}

/* --- A storage of callbacks, which answer at once or later. */

static shelf far;

/* Nothing is in flight when a call is over, whether it was refused or not. */
#define TRY_FAR(call)                         \
    do {                                      \
        TRY_OR(call, far.num_under_way == 0); \
        CHECK_EQ(far.num_under_way, 0);       \
    } while (0)

static nczchunk_storage *far_storage(const scene *s)
{
    const nczchunk_storage_callbacks callbacks = shelf_callbacks(&far, s->in_flight);
    nczchunk_storage *storage = NULL;

    TRY_OR(nczchunk_storage_new(&callbacks, &storage, NULL), storage == NULL);
    return storage;
}

static void empty_the_shelf(const scene *s)
{
    (void)s;
    memset(&far, 0, sizeof far);
}

static void nothing_is_under_way(const scene *s)
{
    (void)s;
    CHECK_EQ(far.num_under_way, 0);
}

static void make_and_change_far(const scene *s)
{
    nczchunk_storage *storage = far_storage(s);

    write_small(storage, s->format, s->shard_shape);
    read_small(NULL, storage);
    change_small(storage);
    nczchunk_storage_free(storage);
}

/* A netCDF classic file with v(time, x), which are 10 * time + x, and w(x), as words of 4 bytes. */
static void put_classic_file(const scene *s)
{
    static const uint32_t words[] = {
        0x43444601, 3,                             /* CDF, version 1, and 3 records */
        10, 2, 1, 0x74000000, 0,                   /* 2 dimensions: t, which has the records, */
        1, 0x78000000, 4,                          /* and x, which has length 4 */
        12, 1, 5, 0x7469746c, 0x65000000,          /* 1 attribute: title, */
        2, 4, 0x666f7572,                          /* which is a text of 4 bytes: four */
        11, 2, 1, 0x76000000, 2, 0, 1, 0, 0,       /* 2 variables: v has t and x, no attributes, */
        3, 8, 172,                                 /* is of shorts, 8 bytes in a record, from byte 172 on; */
        1, 0x77000000, 1, 1, 0, 0, 4, 16, 156,     /* w has x and is of ints */
        10, 20, 30, 40,                            /* w */
        0x00000001, 0x00020003, 0x000a000b, 0x000c000d, 0x00140015, 0x00160017,
    };
    unsigned char bytes[sizeof words];

    empty_the_shelf(s);
    for (size_t i = 0; i < sizeof words; i++)
        bytes[i] = (unsigned char)(words[i / 4] >> (24 - 8 * (i % 4)));
    CHECK_OK(shelf_write(&far, "some/file", bytes, sizeof bytes));
}

static nczchunk_storage *far_file(const scene *s)
{
    nczchunk_storage *storage = far_storage(s), *file = NULL;

    TRY_OR(nczchunk_storage_file(storage, "some/file", &file, NULL), file == NULL);
    nczchunk_storage_free(storage);
    return file;
}

static void read_far_classic(const scene *s)
{
    const size_t second[2] = {0, 1}, two[2] = {3, 2};
    const ptrdiff_t stride[2] = {1, 2};
    nczchunk_storage *file = far_file(s);
    nczchunk_array *v = open_array(NULL, file, "v"), *w = open_array(NULL, file, "w");
    short all[3][4], part[3][2];
    int row[4];

    TRY_FAR(nczchunk_array_read(v, second, two, stride, part, NULL));
    TRY_FAR(nczchunk_array_read(v, origin, NULL, NULL, all, NULL));
    TRY_FAR(nczchunk_array_read(w, origin, NULL, NULL, row, NULL));
    for (int i = 0; i < 12; i++)
        CHECK_EQ(all[i / 4][i % 4], 10 * (i / 4) + i % 4);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(part[i / 2][i % 2], 10 * (i / 2) + 1 + 2 * (i % 2));
    CHECK(row[0] == 10 && row[3] == 40);
    nczchunk_array_close(v);
    nczchunk_array_close(w);
    list(NULL, file, 3);
    nczchunk_storage_free(file);
}

static char cfdb_path[1100];

static void put_cfdb_file(const scene *s)
{
    static unsigned char bytes[SHELF_BYTES];
    static size_t nbytes;

    if (nbytes == 0) {
        FILE *file = fopen(cfdb_path, "rb");

        CHECK(file != NULL);
        nbytes = fread(bytes, 1, sizeof bytes, file);
        CHECK(nbytes > 0 && nbytes < sizeof bytes);
        CHECK_EQ(fclose(file), 0);
    }
    empty_the_shelf(s);
    CHECK_OK(shelf_write(&far, "some/file", bytes, nbytes));
}

static void read_far_cfdb(const scene *s)
{
    nczchunk_storage *file = far_file(s);

    read_cfdb(NULL, file);
    nczchunk_storage_free(file);
}

/* --- All of them. */

/* Whether a storage for a file of this kind is built in. */
static int is_built_in(const char *path)
{
    nczchunk_storage *storage = NULL;
    int status = nczchunk_storage_open(path, &storage, NULL);

    nczchunk_storage_free(storage);
    return status == NCZCHUNK_NOERR;
}

static const size_t small_shards[2] = {4, 3};

/* What is made is a name in this directory, which is called made in one way or another. */
static void play_made_in(const char *directory)
{
    char array_path[1100], zip_path[1100];
    scene s = {"array at a path", .play = make_array_at_a_path, .prepare = remove_made, .path = array_path,
               .format = NCZCHUNK_ZARR_V2};
    nczchunk_storage *storage = NULL;

    snprintf(array_path, sizeof array_path, "%s/d.zarr", directory);
    snprintf(zip_path, sizeof zip_path, "%s/z.zip", directory);
    play(&s);
    s.name = "directory";
    s.play = make_directory;
    s.check = check_directory;
    play(&s);
    s.name = "directory with shards";
    s.format = NCZCHUNK_ZARR_V3;
    s.shard_shape = small_shards;
    play(&s);
    if (nczchunk_storage_create_zip("tried.zip", &storage, NULL) == NCZCHUNK_NOERR) {
        scene zip = {"zip file", .play = make_zip, .prepare = remove_made, .check = check_zip, .path = zip_path,
                     .format = NCZCHUNK_ZARR_V3};

        nczchunk_storage_free(storage);
        play(&zip);
        zip.shard_shape = small_shards;
        play(&zip);
        zip = (scene){"zip file that is given up", .play = give_up_a_zip, .prepare = remove_made,
                      .check = check_nothing, .path = zip_path};
        play(&zip);
    }
}

static void play_made(void)
{
    const scene no_room = {"object without room", .play = write_without_room, .prepare = remove_made,
                           .check = check_no_file, .path = "made", .can_do_without = 2};
    char long_path[1000] = "made";

    CHECK(access("made", F_OK) == 0 || mkdir("made", 0777) == 0);
    play_made_in("made");
    /* The same by a path that takes memory of its own. */
    while (strlen(long_path) < 980)
        strcat(long_path, "/../made");
    play_made_in(long_path);
    play(&no_room);
}

static void play_large(void)
{
    static const size_t shards[2] = {2 * ROWS, COLUMNS};
    const scene rows = {"rows", .play = read_rows, .path = "large.zarr",
                        /* Of a slab of the cache: its description, its memory, and the cache's list of slabs. */
                        .can_do_without = 3},
                threads = {"threads", .play = read_by_threads, .path = "large.zarr", .threads = 3,
                           .can_do_without = SOME};

    make_large("large.zarr", NULL);
    play(&rows);
    for (int sharded = 0; sharded <= 1; sharded++) {
        make_large("large.zarr", sharded ? shards : NULL);
        threads_begun = 0;
        play(&threads);
        CHECK(threads_begun > 0);
    }
}

static void play_far(int has_cfdb)
{
    for (int in_flight = 0; in_flight <= 1; in_flight++) {
        scene s = {"array on the shelf", .play = make_and_change_far, .prepare = empty_the_shelf,
                   .check = nothing_is_under_way, .in_flight = in_flight};

        for (s.format = NCZCHUNK_ZARR_V2; s.format <= NCZCHUNK_ZARR_V3; s.format++)
            play(&s);
        s.format = NCZCHUNK_ZARR_V3;
        s.shard_shape = small_shards;
        play(&s);
        s.name = "netCDF classic file on the shelf";
        s.play = read_far_classic;
        s.prepare = put_classic_file;
        play(&s);
        s.name = "cfdb file on the shelf";
        s.play = read_far_cfdb;
        s.prepare = put_cfdb_file;
        if (has_cfdb)
            play(&s);
    }
}

int main(int argc, char **argv)
{
    char path[1100];
    scene s = {"netCDF classic file", .play = play_classic, .path = path};
    int has_cfdb;

    CHECK(argc > 1);
    snprintf(path, sizeof path, "%s/coads_sst.nc", argv[1]);
    play(&s);
    strcat(path, "/v");
    s = (scene){"a file on the way", .play = meet_a_file_on_the_way, .path = path, .can_do_without = 2};
    play(&s);
    snprintf(cfdb_path, sizeof cfdb_path, "%s/../tests/vectors/small.cfdb", argv[1]);
    has_cfdb = is_built_in(cfdb_path);
    if (has_cfdb) {
        s = (scene){"cfdb file", .play = play_cfdb, .path = cfdb_path};
        play(&s);
        snprintf(path, sizeof path, "%s/../tests/vectors", argv[1]);
        s = (scene){"cfdb file in a directory", .play = play_cfdb_in_a_directory, .path = path};
        play(&s);
    }
    snprintf(path, sizeof path, "%s/../tests/vectors/deflated.zip", argv[1]);
    if (is_built_in(path)) {
        s = (scene){"deflated zip file", .play = play_small, .path = path};
        play(&s);
    }
    play_made();
    if (nczchunk_has_codec("zstd"))
        play_large();
    play_far(has_cfdb);
    return 0;
}
