/* Hard cases, one a run: exit 0 if the answer is right. Stock netCDF-C may pass or fail; the adapter has to pass.
 *
 *   hard                prints the names of the cases
 *   hard CASE DIRECTORY
 */
#define _GNU_SOURCE
#include "check.h"
#include "collision.h"

#include <dlfcn.h>
#include <math.h>
#include <netcdf_filter.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *directory, *url;

static int reopen(int ncid, int mode)
{
    OK(nc_close(ncid));
    OK(nc_open(url, mode, &ncid));
    return ncid;
}

static const char *chunk_path(const char *chunk)
{
    static char path[4200];

    snprintf(path, sizeof path, "%s/file/v/%s", directory, chunk);
    return path;
}

static int is_492(void)
{
    return strncmp(nc_inq_libvers(), "4.9.2", 5) == 0;
}

/* --- Caches with room for nothing, for less than a chunk, for one, for some; limits that change while in use */

static void small_caches(void)
{
    enum { LEN = 23 };
    static const size_t sizes[] = {0, 1, 59, 60, 61, 200, 100000}, numbers[] = {0, 1, 2, 5, 1000};
    const size_t len[2] = {LEN, LEN}, chunk[2] = {5, 3};
    const size_t start[2] = {2, 1}, count[2] = {10, 7};
    const ptrdiff_t stride[2] = {2, 3};
    int values[LEN][LEN], found[LEN][LEN], some[10][7], ncid = create_file(url, NC_INT, 2, len, chunk);

    OK(nc_def_var_deflate(ncid, 0, 0, 1, 1));
    for (int y = 0; y < LEN; y++)
        for (int x = 0; x < LEN; x++)
            values[y][x] = y * LEN + x;
    OK(nc_put_var_int(ncid, 0, &values[0][0]));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            OK(nc_set_var_chunk_cache(ncid, 0, sizes[s], numbers[n], n % 2 == 0 ? 0.0f : 1.0f));
            for (int y = 0; y < 10; y++)
                for (int x = 0; x < 7; x++)
                    some[y][x] = values[2 + 2 * y][1 + 3 * x] = (int)(s * 100 + n) * 1000 + y * 7 + x;
            OK(nc_put_vars_int(ncid, 0, start, count, stride, &some[0][0]));
            if (n % 2 == 0)
                OK(nc_sync(ncid));
            OK(nc_get_var_int(ncid, 0, &found[0][0]));
            EXPECT(memcmp(found, values, sizeof values) == 0);
        }
    }
    /* Nothing was lost on the way out. */
    ncid = reopen(ncid, NC_NOWRITE);
    OK(nc_get_var_int(ncid, 0, &found[0][0]));
    EXPECT(memcmp(found, values, sizeof values) == 0);
    OK(nc_close(ncid));
}

/* --- What variables keep whose cache nobody has sized: chunks that come back, with one bound for all */

enum { VARIABLES = 30, KEPT = 2 << 20 }; /* 60 MiB in all */

/* Bytes that this process has read from files. */
static size_t bytes_read(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    size_t bytes = 0;

    EXPECT(file != NULL && fscanf(file, "rchar: %zu", &bytes) == 1);
    fclose(file);
    return bytes;
}

static void create_variables(void)
{
    const size_t len = KEPT, chunk = KEPT / 8;
    signed char *data = calloc(len, 1);
    int ncid, dim;

    OK(nc_create(url, NC_NETCDF4 | NC_CLOBBER, &ncid));
    OK(nc_def_dim(ncid, "x", len, &dim));
    for (int v = 0; v < VARIABLES; v++) {
        char name[20];

        snprintf(name, sizeof name, "v%d", v);
        OK(nc_def_var(ncid, name, NC_BYTE, 1, &dim, &(int){0}));
        OK(nc_def_var_chunking(ncid, v, NC_CHUNKED, &chunk));
        memset(data, v, len);
        OK(nc_put_var_schar(ncid, v, data));
    }
    OK(nc_close(ncid));
    free(data);
}

/* Reads a variable, and tells how many times it is read from its files. */
static double read_variable(int ncid, int v)
{
    static signed char found[KEPT];
    const size_t bytes = bytes_read();

    OK(nc_get_var_schar(ncid, v, found));
    for (size_t i = 0; i < KEPT; i += 1000)
        EXPECT(found[i] == v);
    return (double)(bytes_read() - bytes) / KEPT;
}

static void bound(void)
{
    int ncid;

    if (is_492())
        return; /* whose cache has no bound */
    OK(nc_rc_set("NCZCHUNK.CACHE_SIZE", "25165824"));
    create_variables();
    OK(nc_open(url, NC_NOWRITE, &ncid));
    for (int v = 0; v < VARIABLES; v++) {
        EXPECT(read_variable(ncid, v) > 0.9);
        (void)read_variable(ncid, v);
        EXPECT(read_variable(ncid, v) < 0.1); /* it came back, so it is kept */
    }
    EXPECT(read_variable(ncid, VARIABLES - 1) < 0.1);
    EXPECT(read_variable(ncid, VARIABLES - 5) < 0.1);
    EXPECT(read_variable(ncid, 0) > 0.5); /* had to go */
    OK(nc_close(ncid));
}

/* Closed files give back what they kept. */
static void bound_given_back(void)
{
    if (is_492())
        return;
    OK(nc_rc_set("NCZCHUNK.CACHE_SIZE", "25165824")); /* this process is small, and would keep less */
    create_variables();
    for (int round = 0; round < 4; round++) {
        int ncid;

        OK(nc_open(url, NC_NOWRITE, &ncid));
        for (int v = 0; v < 9; v++)
            for (int pass = 0; pass < 3; pass++)
                (void)read_variable(ncid, v);
        for (int v = 0; v < 9; v++)
            EXPECT(read_variable(ncid, v) < 0.1);
        OK(nc_close(ncid));
    }
}

/* netCDF's rc file sets the bound. */
static void set_bound(const char *bytes)
{
    char path[4200];
    FILE *file;

    snprintf(path, sizeof path, "%s/.ncrc", directory);
    file = fopen(path, "w");
    EXPECT(file != NULL && fprintf(file, "NCZCHUNK.CACHE_SIZE=%s\n", bytes) > 0 && fclose(file) == 0);
    EXPECT(setenv("HOME", directory, 1) == 0 && chdir(directory) == 0 && unsetenv("NCRCENV_RC") == 0);
}

static void bound_from_rc(void)
{
    int ncid;

    if (is_492())
        return;
    set_bound("1000000");
    create_variables();
    OK(nc_open(url, NC_NOWRITE, &ncid));
    for (int pass = 0; pass < 4; pass++)
        EXPECT(read_variable(ncid, 0) > 0.4);
    OK(nc_close(ncid));
}

/* --- Chunks of 1 KiB, beside which an entry of netCDF-C's cache takes 8: as many as fit into the bound are kept */

enum { SMALL = 1 << 10, SMALL_ALL = 16 << 20 };

static size_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    size_t all, pages;

    EXPECT(file != NULL && fscanf(file, "%zu %zu", &all, &pages) == 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static signed char small_value(size_t i)
{
    return (signed char)(i / SMALL * 7 + i);
}

/* Reads the first bytes again and again, and tells how many bytes the last time read from the files. */
static size_t read_small(int ncid, size_t number)
{
    static signed char found[SMALL_ALL];
    size_t bytes = 0;

    for (int pass = 0; pass < 5; pass++) {
        memset(found, -1, sizeof found);
        bytes = bytes_read();
        OK(nc_get_vara_schar(ncid, 0, (size_t[]){0}, &number, found));
        bytes = bytes_read() - bytes;
        for (size_t i = 0; i < number; i++)
            EXPECT(found[i] == small_value(i));
    }
    return bytes;
}

static int create_small(void)
{
    const size_t len = SMALL_ALL, chunk = SMALL;
    signed char *values = malloc(len);
    int ncid = create_file(url, NC_BYTE, 1, &len, &chunk);

    EXPECT(values != NULL);
    for (size_t i = 0; i < len; i++)
        values[i] = small_value(i);
    OK(nc_put_var_schar(ncid, 0, values));
    free(values);
    ncid = reopen(ncid, NC_WRITE);
    (void)read_small(ncid, SMALL); /* has its memory from now on */
    return ncid;
}

static void small_chunks(void)
{
    enum { PART = 5 * SMALL };
    static signed char part[PART], found[PART + 2 * SMALL];
    size_t before;
    int ncid;

    if (is_492())
        return;
    ncid = create_small();
    before = resident();
    EXPECT(read_small(ncid, SMALL_ALL) < 4 * SMALL);
    EXPECT(resident() - before < 24 << 20);
    /* What is written, in part and as a whole, is read, from memory and from the files. */
    memset(part, 77, sizeof part);
    OK(nc_put_vara_schar(ncid, 0, (size_t[]){SMALL_ALL / 2 + 100}, (size_t[]){PART}, part));
    for (int session = 0; session < 2; session++) {
        OK(nc_get_vara_schar(ncid, 0, (size_t[]){SMALL_ALL / 2 - SMALL}, (size_t[]){sizeof found}, found));
        for (size_t i = 0; i < sizeof found; i++)
            EXPECT(found[i] == (i >= SMALL + 100 && i < SMALL + 100 + PART
                                    ? 77
                                    : small_value(SMALL_ALL / 2 - SMALL + i)));
        ncid = reopen(ncid, NC_NOWRITE);
    }
    OK(nc_close(ncid));
}

/* A part that fits is kept; more than fits is not. */
static void small_chunks_bound(void)
{
    enum { FITS = 3500000 };
    size_t before;
    int ncid;

    if (is_492())
        return;
    set_bound("4000000");
    ncid = create_small();
    before = resident();
    EXPECT(read_small(ncid, FITS) < 4 * SMALL);
    EXPECT(read_small(ncid, SMALL_ALL) > SMALL_ALL / 2);
    EXPECT(resident() - before < 5 << 20);
    OK(nc_close(ncid));
}

/* --- What comes next is read ahead, where chunks cannot be kept */

enum { SIDE = 48, BLOCK = 16 };

static int (*cube)[SIDE][SIDE][SIDE]; /* of each of two variables */

/* Cubes of two variables, the second in the other byte order and filtered. */
static int create_cubes(void)
{
    const size_t len[3] = {SIDE, SIDE, SIDE}, chunk[3] = {BLOCK, BLOCK, BLOCK};
    int ncid = create_file(url, NC_INT, 3, len, chunk), dims[3] = {0, 1, 2};

    cube = malloc(2 * sizeof *cube);
    EXPECT(cube != NULL);
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < SIDE * SIDE * SIDE; i++)
            (&cube[v][0][0][0])[i] = (v + 1) * i;
    OK(nc_def_var(ncid, "w", NC_INT, 3, dims, &(int){0}));
    OK(nc_def_var_chunking(ncid, 1, NC_CHUNKED, chunk));
    OK(nc_def_var_endian(ncid, 1, NC_ENDIAN_BIG));
    OK(nc_def_var_deflate(ncid, 1, 1, 1, 1));
    for (int v = 0; v < 2; v++)
        OK(nc_put_var_int(ncid, v, &cube[v][0][0][0]));
    return reopen(ncid, NC_NOWRITE);
}

static void read_box(int ncid, int v, const size_t start[3], const size_t count[3], const ptrdiff_t stride[3])
{
    static int found[SIDE * SIDE * SIDE];
    size_t i = 0;

    memset(found, -1, sizeof found);
    OK(nc_get_vars_int(ncid, v, start, count, stride, found));
    for (size_t z = 0; z < count[0]; z++)
        for (size_t y = 0; y < count[1]; y++)
            for (size_t x = 0; x < count[2]; x++)
                EXPECT(found[i++] == cube[v][start[0] + z * (size_t)stride[0]][start[1] + y * (size_t)stride[1]]
                                         [start[2] + x * (size_t)stride[2]]);
    EXPECT(i == SIDE * SIDE * SIDE || found[i] == -1);
}

/* Reads through a cube along a dimension, count elements at once, and tells how many times all is read from the
 * files. */
static double read_along(int ncid, int v, size_t along, size_t count, size_t step, ptrdiff_t stride)
{
    const size_t bytes = bytes_read();
    size_t starts[3] = {1, 2, 3}, counts[3] = {20, 21, 19};
    const ptrdiff_t strides[3] = {along == 0 ? 1 : stride, along == 1 ? 1 : stride, along == 2 ? 1 : stride};

    counts[along] = count;
    for (starts[along] = 0; starts[along] + count <= SIDE; starts[along] += step)
        read_box(ncid, v, starts, counts, strides);
    return (double)(bytes_read() - bytes) / sizeof *cube;
}

static void read_ahead(int ncid)
{
    size_t random = 7;

    for (size_t d = 0; d < 3; d++) {
        /* Without that each of 48 steps reads four chunks at least, which is 7 times all. */
        EXPECT(read_along(ncid, 0, d, 1, 1, 1) < 0.6);
        EXPECT(read_along(ncid, 0, d, 1, 1, 2) < 3.4);
        EXPECT(read_along(ncid, 0, d, 2, 1, 1) < 0.9); /* overlapping */
        EXPECT(read_along(ncid, 0, d, 1, 3, 1) < 0.6); /* with gaps */
        (void)read_along(ncid, 1, d, 1, 1, 1);
        (void)read_along(ncid, 1, d, 5, 5, 2);
    }
    /* Two in turn, and what goes backwards, and elsewhere, and beyond the end. */
    for (size_t t = 0; t < SIDE; t++)
        for (int v = 0; v < 2; v++)
            read_box(ncid, v, (size_t[]){t, 0, 0}, (size_t[]){1, 40, 40}, (ptrdiff_t[]){1, 1, 1});
    for (size_t t = SIDE; t-- > 0;)
        read_box(ncid, 1, (size_t[]){t, 0, 0}, (size_t[]){1, 40, 40}, (ptrdiff_t[]){1, 1, 1});
    for (size_t i = 0; i < 500; i++) {
        size_t start[3], count[3];
        ptrdiff_t stride[3];
        int found;

        for (int d = 0; d < 3; d++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            start[d] = (random >> 33) % SIDE;
            count[d] = 1 + (random >> 40) % (SIDE - start[d]);
            stride[d] = 1 + (ptrdiff_t)((random >> 50) % (count[d] == 1 ? 9 : (SIDE - 1 - start[d]) / (count[d] - 1)));
        }
        for (int times = 0; times < 3; times++) {
            const size_t d = random >> 60 & 1;

            read_box(ncid, (int)(i % 2), start, count, stride);
            if (start[d] + 1 + (count[d] - 1) * (size_t)stride[d] >= SIDE) {
                start[d]++;
                EXPECT(nc_get_vars_int(ncid, 0, start, count, stride, &found) == NC_EEDGE ||
                       start[d] == SIDE);
                break;
            }
            start[d]++;
        }
    }
    /* A size that is set takes the place of all that. */
    OK(nc_set_var_chunk_cache(ncid, 0, 1000000, 100, 0.5f));
    for (size_t d = 0; d < 3; d++)
        (void)read_along(ncid, 0, d, 1, 1, 1);
    EXPECT(read_along(ncid, 0, 0, 1, 1, 1) < 0.1);
}

static void reading_ahead(void)
{
    int ncid;

    if (is_492())
        return;
    set_bound("40000"); /* less than the chunks of a map, and more than what is read of them */
    ncid = create_cubes();
    read_ahead(ncid);
    OK(nc_rc_set("NCZCHUNK.DECODE", "1"));
    OK(nc_rc_set("NCZCHUNK.THREADS", "3"));
    ncid = reopen(ncid, NC_NOWRITE);
    read_ahead(ncid);
    OK(nc_close(ncid));
    free(cube);
}

/* --- Whole chunks, so large that they pass by a cache of the default size, between what is in it */

static void pass_by(int is_filtered)
{
    enum { ROWS = 1100, COLUMNS = 900, CHUNK = 256 };
    const size_t len[2] = {ROWS, COLUMNS}, chunk[2] = {CHUNK, CHUNK};
    const size_t start[2] = {100, 50}, count[2] = {900, 800};
    static int values[ROWS][COLUMNS], found[ROWS][COLUMNS], part[900][800];
    int ncid = create_file(url, NC_INT, 2, len, chunk);

    if (is_filtered)
        OK(nc_def_var_deflate(ncid, 0, 1, 1, 1));
    OK(nc_def_var_endian(ncid, 0, NC_ENDIAN_BIG));
    for (int round = 0; round < 6; round++) {
        for (int y = 0; y < ROWS; y++)
            for (int x = 0; x < COLUMNS; x++)
                values[y][x] = (round * ROWS + y) * COLUMNS + x;
        OK(nc_put_var1_int(ncid, 0, (size_t[]){600, 600}, &(int){-1}));
        OK(nc_put_var_int(ncid, 0, &values[0][0]));
        values[300][300] = -2;
        OK(nc_put_var1_int(ncid, 0, (size_t[]){300, 300}, &values[300][300]));
        for (int y = 0; y < 900; y++)
            for (int x = 0; x < 800; x++)
                part[y][x] = values[100 + y][50 + x] = -(y * 800 + x + round);
        if (round % 2 == 1)
            OK(nc_get_vara_int(ncid, 0, start, count, &found[0][0]));
        OK(nc_put_vara_int(ncid, 0, start, count, &part[0][0])); /* at its edges, chunks in parts */
        if (round == 2)
            OK(nc_sync(ncid));
        if (round == 4)
            ncid = reopen(ncid, NC_WRITE);
        OK(nc_get_var_int(ncid, 0, &found[0][0]));
        EXPECT(memcmp(found, values, sizeof values) == 0);
    }
    ncid = reopen(ncid, NC_NOWRITE);
    OK(nc_get_var_int(ncid, 0, &found[0][0]));
    EXPECT(memcmp(found, values, sizeof values) == 0);
    OK(nc_close(ncid));
}

static void passing_by(void)
{
    pass_by(0);
}

static void passing_by_filtered(void)
{
    pass_by(1);
}

/* --- Strings that are NULL, written over others and read again */

static void null_strings(void)
{
    enum { LEN = 7 };
    const size_t len = LEN, chunk = 3;
    const char *words[LEN] = {"one", NULL, "three", NULL, NULL, "six", "seven"}, *none[2] = {NULL, NULL};
    const char *expected[LEN] = {"one", "", "", "", "", "six", "seven"};
    char *found[LEN];
    int ncid = create_file(url, NC_STRING, 1, &len, &chunk);

    OK(nc_put_var_string(ncid, 0, words));
    OK(nc_put_vara_string(ncid, 0, (size_t[]){1}, (size_t[]){2}, none));
    for (int session = 0; session < 3; session++) {
        OK(nc_get_var_string(ncid, 0, found));
        for (int i = 0; i < LEN; i++)
            EXPECT(strcmp(found[i] == NULL ? "" : found[i], expected[i]) == 0);
        OK(nc_free_string(LEN, found));
        if (session == 0)
            OK(nc_sync(ncid));
        else
            ncid = reopen(ncid, NC_NOWRITE);
    }
    OK(nc_close(ncid));
}

/* --- A scalar of every type */

static void scalars(void)
{
    for (nc_type type = NC_BYTE; type <= NC_STRING; type++) {
        char value[8], found[8] = {0}, *word = "word";
        size_t size;
        int ncid = create_file(url, type, 0, NULL, NULL);

        OK(nc_inq_type(ncid, type, NULL, &size));
        if (type > NC_CHAR && type < NC_STRING)
            OK(nc_def_var_endian(ncid, 0, type % 2 == 0 ? NC_ENDIAN_BIG : NC_ENDIAN_LITTLE));
        for (size_t i = 0; i < size; i++)
            value[i] = (char)(i + 1);
        if (type == NC_STRING)
            memcpy(value, &word, sizeof word);
        OK(nc_put_var(ncid, 0, value));
        for (int session = 0; session < 3; session++) {
            OK(nc_get_var(ncid, 0, found));
            if (type == NC_STRING) {
                EXPECT(strcmp(*(char **)found, word) == 0);
                OK(nc_free_string(1, (char **)found));
            } else {
                EXPECT(memcmp(found, value, size) == 0);
            }
            ncid = reopen(ncid, NC_NOWRITE);
        }
        OK(nc_close(ncid));
    }
}

/* --- As many dimensions as the name of a chunk's file has room for */

static void many_dimensions(void)
{
    static int dims[NC_MAX_VAR_DIMS];
    static size_t start[NC_MAX_VAR_DIMS], count[NC_MAX_VAR_DIMS], chunk[NC_MAX_VAR_DIMS];
    static ptrdiff_t stride[NC_MAX_VAR_DIMS];
    int values[6], found[3], ncid;
    const int rank = 120;

    OK(nc_create(url, NC_NETCDF4 | NC_CLOBBER, &ncid));
    for (int d = 0; d < rank; d++) {
        char name[20];

        snprintf(name, sizeof name, "d%d", d);
        OK(nc_def_dim(ncid, name, d == 50 ? 6 : 1, &dims[d]));
        chunk[d] = d == 50 ? 4 : 1;
        count[d] = d == 50 ? 3 : 1;
        stride[d] = d == 50 ? 2 : 1;
    }
    OK(nc_def_var(ncid, "v", NC_INT, rank, dims, &(int){0}));
    OK(nc_def_var_chunking(ncid, 0, NC_CHUNKED, chunk));
    for (int i = 0; i < 6; i++)
        values[i] = i;
    OK(nc_put_var_int(ncid, 0, values));
    start[50] = 1;
    OK(nc_get_vars_int(ncid, 0, start, count, stride, found));
    for (int i = 0; i < 3; i++)
        EXPECT(found[i] == 1 + 2 * i);
    OK(nc_close(ncid));
}

/* --- Two unlimited dimensions that grow in one write, again and again, into chunks in the cache and into new ones */

static void growing(void)
{
    enum { LEN = 12 };
    const size_t chunk[2] = {4, 5};
    int values[LEN][LEN], found[LEN * LEN], ncid;

    if (is_492())
        return; /* it has no unlimited dimensions */
    ncid = create_file(url, NC_INT, 2, (size_t[]){NC_UNLIMITED, NC_UNLIMITED}, chunk);
    OK(nc_def_var_endian(ncid, 0, NC_ENDIAN_BIG));
    OK(nc_def_var_fill(ncid, 0, NC_FILL, &(int){7}));
    for (int i = 0; i < LEN * LEN; i++)
        values[i / LEN][i % LEN] = 7;
    for (size_t n = 1; n < LEN; n += 2) {
        const size_t start[2] = {n - 1, n}, count[2] = {2, 1};

        values[n - 1][n] = (int)n;
        values[n][n] = -(int)n;
        OK(nc_put_vara_int(ncid, 0, start, count, (int[2]){(int)n, -(int)n}));
        if (n == 5)
            OK(nc_sync(ncid));
        if (n == 7)
            ncid = reopen(ncid, NC_WRITE);
        OK(nc_get_var_int(ncid, 0, found));
        for (size_t y = 0; y <= n; y++)
            for (size_t x = 0; x <= n; x++)
                EXPECT(found[y * (n + 1) + x] == values[y][x]);
    }
    OK(nc_close(ncid));
}

/* A directory in the place of a chunk, so that it cannot be stored. */
static void block_chunk(const char *chunk)
{
    (void)mkdir(chunk_path(""), 0777); /* may not be there yet */
    EXPECT(mkdir(chunk_path(chunk), 0777) == 0);
}

static void unblock_chunk(const char *chunk)
{
    EXPECT(rmdir(chunk_path(chunk)) == 0);
}

/* --- A chunk that cannot be stored: nothing is lost, and it is stored once it can be */

static void unwritable(int is_filtered)
{
    const size_t len = 4, chunk = 2;
    int ncid = create_file(url, NC_INT, 1, &len, &chunk), values[4] = {1, 2, 3, 4}, found[4];

    if (is_filtered)
        OK(nc_def_var_deflate(ncid, 0, 0, 1, 1));
    OK(nc_enddef(ncid));
    OK(nc_sync(ncid));
    block_chunk("0");
    OK(nc_put_var_int(ncid, 0, values));
    EXPECT(nc_sync(ncid) != NC_NOERR);
    unblock_chunk("0");
    OK(nc_sync(ncid));
    OK(nc_get_var_int(ncid, 0, found));
    EXPECT(memcmp(found, values, sizeof values) == 0);
    (void)nc_close(ncid); /* metadata that became shorter in the meantime may have a rest */
}

static void unwritable_plain(void)
{
    unwritable(0);
}

static void unwritable_filtered(void)
{
    unwritable(1);
}

/* A cache that is full of what cannot be stored: the write fails, and is there once it is repeated. */
static void unwritable_full_cache(void)
{
    const size_t len = 8, chunk = 2;
    int ncid = create_file(url, NC_INT, 1, &len, &chunk), values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, found[8];

    OK(nc_enddef(ncid));
    OK(nc_sync(ncid));
    OK(nc_set_var_chunk_cache(ncid, 0, 16, 2, 0.5f));
    block_chunk("1");
    if (!is_492()) /* which never makes room */
        EXPECT(nc_put_var_int(ncid, 0, values) != NC_NOERR);
    unblock_chunk("1");
    OK(nc_put_var_int(ncid, 0, values));
    OK(nc_get_var_int(ncid, 0, found));
    EXPECT(memcmp(found, values, sizeof values) == 0);
    ncid = reopen(ncid, NC_NOWRITE);
    OK(nc_get_var_int(ncid, 0, found));
    EXPECT(memcmp(found, values, sizeof values) == 0);
    OK(nc_close(ncid));
}

/* --- Chunks larger than memory, and dimensions as long as there are numbers */

static void large_chunk(void)
{
    const size_t len = ((size_t)1 << 30) - 1; /* the most that netCDF defines: 4 GiB */
    const struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    int ncid = create_file(url, NC_INT, 1, &len, &len), value = 5;

    OK(nc_enddef(ncid));
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
    EXPECT(nc_get_var1_int(ncid, 0, (size_t[]){len - 1}, &value) == NC_ENOMEM);
    EXPECT(nc_put_var1_int(ncid, 0, (size_t[]){len - 1}, &value) == NC_ENOMEM);
    EXPECT(nc_get_var1_int(ncid, 0, (size_t[]){0}, &value) == NC_ENOMEM && value == 5);
    OK(nc_close(ncid));
}

static void long_dimension(void)
{
    const size_t len = (size_t)1 << 62, chunk = 3, end = len - 1;
    const ptrdiff_t stride = (ptrdiff_t)1 << 60;
    const size_t start = 0, count = 4;
    int ncid = create_file(url, NC_INT, 1, &len, &chunk), values[4] = {1, 2, 3, 4}, found[4], value;

    OK(nc_put_vars_int(ncid, 0, &start, &count, &stride, values));
    OK(nc_put_var1_int(ncid, 0, &end, &(int){9}));
    OK(nc_get_vars_int(ncid, 0, &start, &count, &stride, found));
    EXPECT(memcmp(found, values, sizeof values) == 0);
    OK(nc_get_var1_int(ncid, 0, &end, &value));
    EXPECT(value == 9);
    EXPECT(nc_get_var1_int(ncid, 0, &len, &value) == NC_EINVALCOORDS);
    OK(nc_close(ncid));
}

/* --- Values that are quantized on the way in, in a chunk that is whole and in one that is not */

static void quantized(void)
{
    const size_t len = 10, chunk = 4;
    int ncid = create_file(url, NC_FLOAT, 1, &len, &chunk), mode, digits;
    float values[10], found[10];

    OK(nc_def_var_quantize(ncid, 0, NC_QUANTIZE_BITGROOM, 3));
    for (int i = 0; i < 10; i++)
        values[i] = 1.23456789f * (float)(i + 1);
    OK(nc_put_var_float(ncid, 0, values));
    ncid = reopen(ncid, NC_NOWRITE);
    OK(nc_inq_var_quantize(ncid, 0, &mode, &digits));
    EXPECT(mode == NC_QUANTIZE_BITGROOM && digits == 3);
    OK(nc_get_var_float(ncid, 0, found));
    for (int i = 0; i < 10; i++)
        EXPECT(found[i] != values[i] && fabsf(found[i] - values[i]) < 1e-3f * values[i]);
    OK(nc_close(ncid));
}

/* --- Other types in memory, and characters */

static void converted(void)
{
    const size_t len = 9, chunk = 4;
    double values[9], found[9];
    int ncid = create_file(url, NC_SHORT, 1, &len, &chunk);

    OK(nc_def_var_endian(ncid, 0, NC_ENDIAN_BIG));
    for (int i = 0; i < 9; i++)
        values[i] = i - 4;
    OK(nc_put_var_double(ncid, 0, values));
    EXPECT(nc_put_var1_double(ncid, 0, (size_t[]){3}, &(double){1e9}) == NC_ERANGE);
    OK(nc_put_var1_double(ncid, 0, (size_t[]){3}, &values[3]));
    ncid = reopen(ncid, NC_NOWRITE);
    OK(nc_get_var_double(ncid, 0, found));
    EXPECT(memcmp(found, values, sizeof values) == 0);
    OK(nc_get_vars_double(ncid, 0, (size_t[]){1}, (size_t[]){3}, (ptrdiff_t[]){3}, found));
    EXPECT(found[0] == values[1] && found[1] == values[4] && found[2] == values[7]);
    OK(nc_close(ncid));
}

static void characters(void)
{
    const size_t len[2] = {3, 10}, chunk[2] = {2, 4};
    char found[3][10], row[10];
    int ncid = create_file(url, NC_CHAR, 2, len, chunk);

    OK(nc_put_vara_text(ncid, 0, (size_t[]){1, 0}, (size_t[]){1, 5}, "hello"));
    ncid = reopen(ncid, NC_NOWRITE);
    OK(nc_get_var_text(ncid, 0, &found[0][0]));
    OK(nc_get_vara_text(ncid, 0, (size_t[]){1, 0}, (size_t[]){1, 10}, row));
    EXPECT(memcmp(found[1], "hello\0\0\0\0\0", 10) == 0 && memcmp(row, found[1], 10) == 0);
    EXPECT(found[0][0] == 0 && found[2][9] == 0);
    OK(nc_close(ncid));
}

/* --- A file that is open for reading only */

static void read_only(void)
{
    const size_t len = 4, chunk = 2;
    int ncid = create_file(url, NC_INT, 1, &len, &chunk), found[4];

    OK(nc_put_vara_int(ncid, 0, (size_t[]){0}, (size_t[]){2}, (int[]){1, 2}));
    ncid = reopen(ncid, NC_NOWRITE);
    for (int round = 0; round < 2; round++) {
        EXPECT(nc_put_var1_int(ncid, 0, (size_t[]){0}, &(int){9}) == NC_EPERM);
        OK(nc_get_var_int(ncid, 0, found));
        EXPECT(found[0] == 1 && found[1] == 2 && found[2] == NC_FILL_INT && found[3] == NC_FILL_INT);
    }
    OK(nc_close(ncid));
    EXPECT(access(chunk_path("0"), F_OK) == 0 && access(chunk_path("1"), F_OK) != 0);
}

/* --- A chunk that another program takes away while the file is open is one that is absent */

static void removed_chunk(void)
{
    const size_t len = 4, chunk = 2;
    int ncid = create_file(url, NC_INT, 1, &len, &chunk), found[4];

    OK(nc_put_var_int(ncid, 0, (int[]){1, 2, 3, 4}));
    ncid = reopen(ncid, NC_WRITE);
    EXPECT(remove(chunk_path("1")) == 0);
    OK(nc_put_var1_int(ncid, 0, (size_t[]){3}, &(int){9}));
    OK(nc_get_var_int(ncid, 0, found));
    EXPECT(found[0] == 1 && found[1] == 2 && found[2] == NC_FILL_INT && found[3] == 9);
    OK(nc_close(ncid));
}

/* --- Chunks that are longer than they should be: their first bytes are used, and the rest stays */

static size_t read_bytes(const char *path, unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t length;

    EXPECT(file != NULL);
    length = fread(bytes, 1, size, file);
    EXPECT(length < size && fclose(file) == 0);
    return length;
}

static void write_bytes(const char *path, const char *mode, const void *bytes, size_t length)
{
    FILE *file = fopen(path, mode);

    EXPECT(file != NULL && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

/* All are read, one is changed in part, one is replaced, and all are read again, from the cache and from the file. */
static void use_longer(int ncid, int values[12])
{
    int found[12];

    OK(nc_get_var_int(ncid, 0, found));
    EXPECT(memcmp(found, values, sizeof found) == 0);
    for (int round = 0; round < 2; round++) {
        values[2] = 20 + round;
        OK(nc_put_var1_int(ncid, 0, (size_t[]){2}, &values[2]));
        for (int i = 4; i < 8; i++)
            values[i] = 100 * i + round;
        if (round > 0)
            ncid = reopen(ncid, NC_WRITE); /* what is replaced is not in the cache */
        OK(nc_put_vara_int(ncid, 0, (size_t[]){4}, (size_t[]){4}, &values[4]));
        OK(nc_get_var_int(ncid, 0, found));
        EXPECT(memcmp(found, values, sizeof found) == 0);
        ncid = reopen(ncid, NC_WRITE);
        OK(nc_get_var_int(ncid, 0, found));
        EXPECT(memcmp(found, values, sizeof found) == 0);
        ncid = reopen(ncid, NC_WRITE);
    }
    OK(nc_close(ncid));
}

static void longer(void)
{
    static const unsigned char rest[4] = {0xDE, 0xAD, 0xBE, 0xEF};
    static const size_t caches[] = {0, 100000};
    const size_t len = 12, chunk = 4;

    for (size_t c = 0; c < sizeof caches / sizeof *caches; c++) {
        int values[12], ncid = create_file(url, NC_INT, 1, &len, &chunk);

        OK(nc_def_var_endian(ncid, 0, NC_ENDIAN_BIG));
        for (int i = 0; i < 12; i++)
            values[i] = i;
        OK(nc_put_var_int(ncid, 0, values));
        OK(nc_close(ncid));
        write_bytes(chunk_path("0"), "ab", rest, sizeof rest);
        write_bytes(chunk_path("1"), "ab", rest, sizeof rest);
        OK(nc_open(url, NC_WRITE, &ncid));
        OK(nc_set_var_chunk_cache(ncid, 0, caches[c], 1000, 0.5f));
        use_longer(ncid, values);
        for (int i = 0; i < 2; i++) {
            unsigned char stored[100];

            EXPECT(read_bytes(chunk_path(i == 0 ? "0" : "1"), stored, sizeof stored) == 20);
            EXPECT(memcmp(stored + 16, rest, sizeof rest) == 0);
            EXPECT(stored[11] == (i == 0 ? values[2] : values[6] & 0xFF));
        }
    }
}

/* Filters that return more than a chunk, because it comes from a file with larger ones. */
static int define_filter(int ncid, int filter)
{
    switch (filter) {
    case 0:
        return nc_def_var_deflate(ncid, 0, 0, 1, 6);
    case 1:
        return nc_def_var_deflate(ncid, 0, 1, 1, 6);
    case 2:
        return nc_def_var_deflate(ncid, 0, 1, 0, 0);
    case 3:
        return nc_def_var_fletcher32(ncid, 0, 1);
    default:
        return nc_def_var_zstandard(ncid, 0, 3);
    }
}

static void longer_filtered(void)
{
    enum { FILTERS = 5, LAST_TO_WRITE = 3 }; /* what zstd stores anew has a rest that it refuses */
    const size_t len = 12, chunk = 4, larger = 6;

    for (int filter = 0; filter < FILTERS; filter++) {
        unsigned char stored[200];
        int values[12], found[12], ncid;
        size_t length;

        for (int i = 0; i < 12; i++)
            values[i] = 10 + i;
        ncid = create_file(url, NC_INT, 1, &larger, &larger);
        if (define_filter(ncid, filter) != NC_NOERR) {
            OK(nc_close(ncid));
            continue; /* not built */
        }
        OK(nc_put_var_int(ncid, 0, values));
        OK(nc_close(ncid));
        length = read_bytes(chunk_path("0"), stored, sizeof stored);

        ncid = create_file(url, NC_INT, 1, &len, &chunk);
        OK(define_filter(ncid, filter));
        OK(nc_put_var_int(ncid, 0, values));
        OK(nc_close(ncid));
        write_bytes(chunk_path("0"), "wb", stored, length);
        write_bytes(chunk_path("1"), "wb", stored, length);
        memcpy(&values[4], &values[0], 4 * sizeof *values);
        OK(nc_open(url, NC_WRITE, &ncid));
        OK(nc_get_var_int(ncid, 0, found));
        EXPECT(memcmp(found, values, sizeof found) == 0);
        if (filter <= LAST_TO_WRITE)
            use_longer(ncid, values);
        else
            OK(nc_close(ncid));
    }
}

/* A filter that returns more than a chunk of what the same library wrote: netCDF-C's own test plugin, H5Zmisc, whose
 * third test makes 1024 floats 2048 and leaves them so when it decodes. */
static void expanding_filter(void)
{
    enum { FILTER = 32768, PARAMETERS = 14, EXPANDING = 3, CHUNK = 1024, LEN = 3 * CHUNK - 100 };
    const size_t len = LEN, chunk = CHUNK;
    const unsigned parameters[PARAMETERS] = {EXPANDING};
    static float values[LEN], found[LEN];
    int ncid = create_file(url, NC_FLOAT, 1, &len, &chunk);

    if (nc_def_var_filter(ncid, 0, FILTER, PARAMETERS, parameters) != NC_NOERR) {
        OK(nc_close(ncid));
        return; /* not built */
    }
    for (int i = 0; i < LEN; i++)
        values[i] = (float)i;
    OK(nc_put_var_float(ncid, 0, values));
    OK(nc_get_var_float(ncid, 0, found));
    EXPECT(memcmp(found, values, sizeof found) == 0);
    OK(nc_sync(ncid));
    for (int round = 0; round < 3; round++) {
        OK(nc_get_var_float(ncid, 0, found));
        EXPECT(memcmp(found, values, sizeof found) == 0);
        for (int i = 0; i < LEN; i += i < 2 * CHUNK ? 700 : 1) /* two chunks in part, the last as a whole */
            values[i] = (float)(-i - round);
        for (int i = 0; i < 2 * CHUNK; i += 700)
            OK(nc_put_var1_float(ncid, 0, (size_t[]){(size_t)i}, &values[i]));
        OK(nc_put_vara_float(ncid, 0, (size_t[]){2 * CHUNK}, (size_t[]){LEN - 2 * CHUNK}, &values[2 * CHUNK]));
        OK(nc_get_var_float(ncid, 0, found));
        EXPECT(memcmp(found, values, sizeof found) == 0);
        ncid = reopen(ncid, NC_WRITE);
    }
    OK(nc_get_var_float(ncid, 0, found));
    EXPECT(memcmp(found, values, sizeof found) == 0);
    OK(nc_close(ncid));
}

/* --- Chunks that are shorter, raw by a byte or filtered by an element: refused, unless they are replaced as a whole */
static void shorter(void)
{
    const size_t len = 12, chunk = 4, smaller = 3;

    for (int filter = -1; filter < 3; filter++) {
        unsigned char stored[200];
        int values[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, found[12], ncid;
        size_t length = 0;

        if (filter >= 0) {
            ncid = create_file(url, NC_INT, 1, &smaller, &smaller);
            if (define_filter(ncid, filter) != NC_NOERR) {
                OK(nc_close(ncid));
                continue;
            }
            OK(nc_put_var_int(ncid, 0, values));
            OK(nc_close(ncid));
            length = read_bytes(chunk_path("0"), stored, sizeof stored);
        }
        ncid = create_file(url, NC_INT, 1, &len, &chunk);
        if (filter >= 0)
            OK(define_filter(ncid, filter));
        OK(nc_put_var_int(ncid, 0, values));
        OK(nc_close(ncid));
        if (filter >= 0)
            write_bytes(chunk_path("1"), "wb", stored, length);
        else
            EXPECT(truncate(chunk_path("1"), 15) == 0);
        OK(nc_open(url, NC_WRITE, &ncid));
        EXPECT(nc_get_var1_int(ncid, 0, (size_t[]){4}, found) == NC_EBADCHUNK);
        EXPECT(nc_put_var1_int(ncid, 0, (size_t[]){4}, found) == NC_EBADCHUNK);
        OK(nc_put_vara_int(ncid, 0, (size_t[]){4}, (size_t[]){4}, &values[4]));
        ncid = reopen(ncid, NC_NOWRITE);
        OK(nc_get_var_int(ncid, 0, found));
        EXPECT(memcmp(found, values, sizeof found) == 0);
        OK(nc_close(ncid));
    }
}

/* --- Copying strings that fails half-way. netCDF-C finds its function here; 4.9.2 has it under the other name. */

static int copies_until_failure; /* 0: none fails */

static int copy_fails(void)
{
    return copies_until_failure > 0 && --copies_until_failure == 0;
}

extern int NC_copy_data(void *nc, nc_type type, const void *memory, size_t count, void *copy);

int NC_copy_data(void *nc, nc_type type, const void *memory, size_t count, void *copy)
{
    int (*original)(void *, nc_type, const void *, size_t, void *);

    *(void **)&original = dlsym(RTLD_NEXT, "NC_copy_data");
    return copy_fails() ? NC_ENOMEM : original(nc, type, memory, count, copy);
}

int nc_copy_data(int ncid, nc_type type, const void *memory, size_t count, void *copy)
{
    int (*original)(int, nc_type, const void *, size_t, void *);

    *(void **)&original = dlsym(RTLD_NEXT, "nc_copy_data");
    return copy_fails() ? NC_ENOMEM : original(ncid, type, memory, count, copy);
}

static void expect_strings(int ncid, const char *const expected[8])
{
    char *found[8];

    OK(nc_get_var_string(ncid, 0, found));
    for (int i = 0; i < 8; i++)
        EXPECT(strcmp(found[i], expected[i]) == 0);
    OK(nc_free_string(8, found));
}

static void half_way(void)
{
    const size_t len = 8, chunk = 4, start = 0, count = 4;
    const ptrdiff_t stride = 2;
    const char *fill = "none", *others[4] = {"A", "C", "E", "G"}, *whole[4] = {"a", "b", "c", "d"};
    const char *expected[8] = {"none", "none", "none", "none", "none", "none", "none", "none"};
    int ncid = create_file(url, NC_STRING, 1, &len, &chunk);

    OK(nc_def_var_fill(ncid, 0, NC_FILL, &fill));
    OK(nc_enddef(ncid));
    /* A new chunk goes again. */
    copies_until_failure = 1;
    EXPECT(nc_put_vara_string(ncid, 0, &start, &count, whole) == NC_ENOMEM && copies_until_failure == 0);
    expect_strings(ncid, expected);
    for (int i = 0; i < 4; i++)
        expected[i] = whole[i];
    OK(nc_put_vara_string(ncid, 0, &start, &count, whole));
    expect_strings(ncid, expected);
    OK(nc_sync(ncid));
    /* A stored one is as it was, whichever of two elements fails; the chunk before it is changed. */
    for (int failure = 1; failure <= 4; failure++) {
        copies_until_failure = failure;
        EXPECT(nc_put_vars_string(ncid, 0, &start, &count, &stride, others) == NC_ENOMEM);
        EXPECT(copies_until_failure == 0);
        if (failure > 2) {
            expected[0] = "A";
            expected[2] = "C";
        }
        expect_strings(ncid, expected);
    }
    /* One with a change that is not stored yet keeps that. */
    expected[5] = "earlier";
    OK(nc_put_var1_string(ncid, 0, (size_t[]){5}, &expected[5]));
    copies_until_failure = 4;
    EXPECT(nc_put_vars_string(ncid, 0, &start, &count, &stride, others) == NC_ENOMEM && copies_until_failure == 0);
    OK(nc_put_vars_string(ncid, 0, &start, &count, &stride, others));
    expected[4] = "E";
    expected[6] = "G";
    expect_strings(ncid, expected);
    ncid = reopen(ncid, NC_NOWRITE);
    expect_strings(ncid, expected);
    OK(nc_close(ncid));
}

/* --- Chunks that take their time to decode, by netCDF-C's filters or, if the rc file asks for it, by the adapter and
 * several threads: what is absent, changed, spoilt and replaced among them, in caches of all sizes. What is printed is
 * the same either way. Who decodes is seen by zlib's function, and the threads by the C library's, which are looked for
 * here first. */

static int inflated, threads_begun;

extern int inflate(void *stream, int flush);

int inflate(void *stream, int flush)
{
    int (*original)(void *, int);
    void *zlib = dlopen("libz.so.1", RTLD_LAZY);

    EXPECT(zlib != NULL);
    *(void **)&original = dlsym(zlib, "inflate");
    __atomic_add_fetch(&inflated, 1, __ATOMIC_RELAXED);
    return original(stream, flush);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *), void *user)
{
    int (*original)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    *(void **)&original = dlsym(RTLD_NEXT, "pthread_create");
    __atomic_add_fetch(&threads_begun, 1, __ATOMIC_RELAXED);
    return original(thread, attributes, begin, user);
}

/* A number in the rc file; 0 without. */
static int rc_number(const char *key)
{
    char *text = nc_rc_get(key);
    int number = text == NULL ? 0 : atoi(text);

    free(text);
    return is_492() ? 0 : number;
}

enum { LONG = 96, WIDE = 8192, HIGH = 4, DECODED = LONG / HIGH };

static int (*decoded_values)[WIDE], (*decoded_found)[WIDE];

static int define_filters(int ncid, int kind)
{
    static const unsigned blosc[7] = {0, 0, 4, 0, 5, 1, 1};

    switch (kind) {
    case 5: return nc_def_var_filter(ncid, 0, 32001, 7, blosc);
    case 6: {
        int stat = nc_def_var_fletcher32(ncid, 0, 1);

        return stat != NC_NOERR ? stat : nc_def_var_deflate(ncid, 0, 1, 1, 1);
    }
    default: return define_filter(ncid, kind);
    }
}

static void read_and_compare(int ncid, size_t first, size_t rows)
{
    OK(nc_get_vara_int(ncid, 0, (size_t[]){first, 0}, (size_t[]){rows, WIDE}, decoded_found[0]));
    EXPECT(memcmp(decoded_found, decoded_values[first], rows * sizeof *decoded_values) == 0);
}

static void decode_kind(int kind)
{
    static const size_t caches[] = {0, 3 * HIGH * WIDE * sizeof(int), DECODED * HIGH * WIDE * sizeof(int)};
    const size_t len[2] = {LONG, WIDE}, chunk[2] = {HIGH, WIDE};
    const int is_ours = rc_number("NCZCHUNK.DECODE"), threads = rc_number("NCZCHUNK.THREADS");
    int ncid = create_file(url, NC_INT, 2, len, chunk), status;

    if (define_filters(ncid, kind) != NC_NOERR) {
        OK(nc_close(ncid));
        printf("filters %d are not there\n", kind);
        return;
    }
    if (kind % 2 == 1 && !is_492())
        OK(nc_def_var_endian(ncid, 0, NC_ENDIAN_BIG));
    srand((unsigned)kind);
    for (int y = 0; y < LONG; y++)
        for (int x = 0; x < WIDE; x++)
            decoded_values[y][x] = y / HIGH == 5 ? NC_FILL_INT : x / 3 * 1000 + rand() % 50;
    for (size_t y = 0; y < LONG; y += HIGH) /* the chunk 5.0 is absent */
        if (y / HIGH != 5)
            OK(nc_put_vara_int(ncid, 0, (size_t[]){y, 0}, (size_t[]){HIGH, WIDE}, decoded_values[y]));
    ncid = reopen(ncid, NC_WRITE);

    inflated = threads_begun = 0;
    read_and_compare(ncid, 0, LONG);
    EXPECT((inflated == 0) == (is_ours || kind == 2 || kind == 3 || kind == 4 || kind == 5));
    EXPECT((threads_begun > 0) == (is_ours && threads > 1));
    EXPECT(access(chunk_path("5.0"), F_OK) != 0);
    ncid = reopen(ncid, NC_WRITE);

    /* Changed in the cache, and not stored yet; and one that is spoilt, which those before it do not mind. */
    decoded_values[7 * HIGH + 1][100] = -1;
    OK(nc_put_var1_int(ncid, 0, (size_t[]){7 * HIGH + 1, 100}, &decoded_values[7 * HIGH + 1][100]));
    if (kind < 5) { /* blosc's filter reads beyond the end, and fletcher32's what deflate's has refused */
        EXPECT(truncate(chunk_path("3.0"), 1000) == 0);
        status = nc_get_var_int(ncid, 0, decoded_found[0]);
        EXPECT(status != NC_NOERR);
        EXPECT(nc_get_var1_int(ncid, 0, (size_t[]){3 * HIGH, 0}, decoded_found[0]) == status);
        printf("filters %d: %s\n", kind, nc_strerror(status));
    }
    read_and_compare(ncid, 0, 3 * HIGH);
    read_and_compare(ncid, 4 * HIGH, LONG - 4 * HIGH);
    /* It is replaced; what zstd stores over a longer chunk has a rest that it refuses. */
    EXPECT(remove(chunk_path("3.0")) == 0);
    OK(nc_put_vara_int(ncid, 0, (size_t[]){3 * HIGH, 0}, (size_t[]){HIGH, WIDE}, decoded_values[3 * HIGH]));
    read_and_compare(ncid, 0, LONG);
    if (kind != 4) {
        for (size_t c = 0; c < sizeof caches / sizeof *caches; c++) {
            OK(nc_set_var_chunk_cache(ncid, 0, caches[c], 1000, 0.5f));
            for (int round = 0; round < 2; round++) {
                const size_t y = 11 * HIGH + c;

                decoded_values[y][round] = (int)c;
                OK(nc_put_var1_int(ncid, 0, (size_t[]){y, (size_t)round}, &decoded_values[y][round]));
                read_and_compare(ncid, 0, LONG);
                read_and_compare(ncid, 2, LONG - 3);
            }
        }
        ncid = reopen(ncid, NC_NOWRITE);
        read_and_compare(ncid, 0, LONG);
    }
    /* Few elements of each chunk. */
    OK(nc_get_vara_int(ncid, 0, (size_t[]){0, 100}, (size_t[]){LONG, 1}, decoded_found[0]));
    for (int y = 0; y < LONG; y++)
        EXPECT(decoded_found[0][y] == decoded_values[y][100]);
    OK(nc_close(ncid));
}

static void decode_kinds(int first, int last)
{
    decoded_values = malloc(LONG * sizeof *decoded_values);
    decoded_found = malloc(LONG * sizeof *decoded_found);
    EXPECT(decoded_values != NULL && decoded_found != NULL);
    for (int kind = first; kind <= last; kind++)
        decode_kind(kind);
    free(decoded_values);
    free(decoded_found);
}

static void decoding(void)
{
    decode_kinds(0, 6);
}

/* For valgrind: deflate, and three filters. (What deflate's refuses, shuffle's asks too much memory for.) */
static void decoding_briefly(void)
{
    decode_kinds(0, 0);
    decode_kinds(6, 6);
}

/* --- Chunks with the same hash, lent to threads at the same time: pairs of them, with two absent chunks between */

static void decoding_collisions(void)
{
    enum { PAIRS = 8, WIDTH = 32768, ROUNDS = 20 };
    const size_t len = (size_t)1 << INDEX_BITS;
    static int values[PAIRS][2][2][WIDTH], found[PAIRS][2][2][WIDTH];
    unsigned long long indices[2];
    const size_t start[4] = {0}, count[4] = {PAIRS, 2, 2, WIDTH};
    ptrdiff_t stride[4] = {1, 1, 1, 1};
    int ncid = create_file(url, NC_INT, 4, (size_t[]){PAIRS, len, len, WIDTH}, (size_t[]){1, 1, 1, WIDTH});

    find_collision(4, 1, indices);
    OK(nc_def_var_deflate(ncid, 0, 1, 1, 1));
    for (size_t p = 0; p < PAIRS; p++) {
        for (size_t k = 0; k < 4; k++) {
            int *row = values[p][k / 2][k % 2];

            for (int x = 0; x < WIDTH; x++)
                row[x] = k % 3 == 0 ? (int)((p * 4 + k) * WIDTH) + x : NC_FILL_INT;
            if (k % 3 == 0)
                OK(nc_put_vara_int(ncid, 0, (size_t[]){p, k == 0 ? 0 : indices[0], k == 0 ? 0 : indices[1], 0},
                                   (size_t[]){1, 1, 1, WIDTH}, row));
        }
    }
    ncid = reopen(ncid, NC_NOWRITE);
    stride[1] = (ptrdiff_t)indices[0];
    stride[2] = (ptrdiff_t)indices[1];
    for (int round = 0; round < ROUNDS; round++) {
        OK(nc_set_var_chunk_cache(ncid, 0, (size_t)round * WIDTH * 8, 1000, 0.5f));
        memset(found, 0, sizeof found);
        OK(nc_get_vars_int(ncid, 0, start, count, stride, &found[0][0][0][0]));
        EXPECT(memcmp(found, values, sizeof found) == 0);
    }
    OK(nc_close(ncid));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"small-caches", small_caches}, {"bound", bound}, {"bound-given-back", bound_given_back},
    {"bound-from-rc", bound_from_rc}, {"small-chunks", small_chunks}, {"small-chunks-bound", small_chunks_bound},
    {"reading-ahead", reading_ahead},
    {"passing-by", passing_by}, {"passing-by-filtered", passing_by_filtered},
    {"null-strings", null_strings}, {"scalars", scalars}, {"many-dimensions", many_dimensions}, {"growing", growing},
    {"unwritable", unwritable_plain}, {"unwritable-filtered", unwritable_filtered},
    {"unwritable-full-cache", unwritable_full_cache}, {"large-chunk", large_chunk}, {"long-dimension", long_dimension},
    {"quantized", quantized}, {"converted", converted}, {"characters", characters}, {"read-only", read_only},
    {"removed-chunk", removed_chunk}, {"longer", longer}, {"longer-filtered", longer_filtered},
    {"expanding-filter", expanding_filter}, {"shorter", shorter}, {"half-way", half_way},
    {"decoding", decoding}, {"decoding-briefly", decoding_briefly}, {"decoding-collisions", decoding_collisions},
};

int main(int argc, char **argv)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (is_asked_for(cases[c].name, argc, argv)) {
            directory = argv[2];
            url = url_of(directory, "file");
            cases[c].run();
            return 0;
        }
    }
    return argc < 3 ? 0 : 2;
}
