/* What netCDF-C's chunking does wrong, by the names of the guide's list, one case a run: exit 0 if the answer is right.
 *
 *   defects              prints the names of the cases, for the version of netCDF-C it runs with
 *   defects CASE DIRECTORY
 *
 * With a stock libnetcdf every case fails or crashes, with an adapted one every case passes.
 */
#include "check.h"
#include "collision.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Not part of netCDF's interface, but visible: ncdumpchunks' way to a chunk. */
extern int NCZ_read_chunk(int ncid, int varid, unsigned long long *indices, void *chunk);

static const char *directory, *url;

static int create(nc_type type, int rank, const size_t *dimlens, const size_t *chunklens)
{
    return create_file(url, type, rank, dimlens, chunklens);
}

static int reopen(int ncid, int mode)
{
    OK(nc_close(ncid));
    OK(nc_open(url, mode, &ncid));
    return ncid;
}

/* Bytes that this process has read from files. */
static size_t bytes_read(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    size_t bytes = 0;

    EXPECT(file != NULL && fscanf(file, "rchar: %zu", &bytes) == 1);
    fclose(file);
    return bytes;
}

static int chunk_exists(const char *chunk)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/file/v/%s", directory, chunk);
    return access(path, F_OK) == 0;
}

/* --- B1: strides over an unlimited dimension */

static void unlimited_row(size_t rows, size_t len, size_t chunklen, size_t count, ptrdiff_t stride)
{
    const size_t start[2] = {0, 0}, all[2] = {rows, len}, some[2] = {rows, count};
    const ptrdiff_t strides[2] = {1, stride};
    int ncid = create(NC_INT, 2, (size_t[]){rows, NC_UNLIMITED}, (size_t[]){rows, chunklen});
    int *data = malloc(rows * len * sizeof *data), *found = malloc(rows * count * sizeof *found);

    for (size_t i = 0; i < rows * len; i++)
        data[i] = (int)i + 1;
    OK(nc_put_vara_int(ncid, 0, start, all, data));
    OK(nc_get_vars_int(ncid, 0, start, some, strides, found));
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < count; k++)
            EXPECT(found[r * count + k] == data[r * len + k * (size_t)stride]);
    OK(nc_close(ncid));
    free(found);
    free(data);
}

static void b1_rows(void)
{
    unlimited_row(3, 13, 8, 5, 3);
}

static void b1_long(void)
{
    unlimited_row(1, 365, 30, 122, 3);
}

static void b1_short(void)
{
    unlimited_row(1, 4, 8, 2, 3);
}

/* --- B2: a scalar that is written again */

static void b2(void)
{
    int ncid = create(NC_INT, 0, NULL, NULL), value = 17;

    OK(nc_put_var_int(ncid, 0, &value));
    ncid = reopen(ncid, NC_WRITE);
    value = 42;
    OK(nc_put_var_int(ncid, 0, &value));
    ncid = reopen(ncid, NC_NOWRITE);
    OK(nc_get_var_int(ncid, 0, &value));
    EXPECT(value == 42);
    OK(nc_close(ncid));
}

/* --- B3: a write of nothing */

static void b3(void)
{
    int ncid = create(NC_INT, 2, (size_t[]){2, 4}, (size_t[]){2, 4}), values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const int others[8] = {-1, -1, -1, -1, -1, -1, -1, -1};

    OK(nc_put_var_int(ncid, 0, values));
    OK(nc_put_vars_int(ncid, 0, (size_t[]){0, 1}, (size_t[]){2, 0}, (ptrdiff_t[]){1, 2}, others));
    OK(nc_get_var_int(ncid, 0, values));
    for (int i = 0; i < 8; i++)
        EXPECT(values[i] == i + 1);
    OK(nc_close(ncid));
}

static void b3_heap(void)
{
    const size_t lens[3] = {2, 3, 3};
    int ncid = create(NC_INT, 3, lens, lens), values[18];

    for (int i = 0; i < 18; i++)
        values[i] = i;
    OK(nc_put_var_int(ncid, 0, values));
    OK(nc_put_vara_int(ncid, 0, (size_t[]){0, 0, 0}, (size_t[]){2, 0, 3}, (int[]){-1}));
    OK(nc_get_var_int(ncid, 0, values));
    for (int i = 0; i < 18; i++)
        EXPECT(values[i] == i);
    OK(nc_close(ncid));
}

/* --- B4: a stride that takes the second element beyond all numbers */

static void b4(void)
{
    const size_t len = 10, start = 0, count = 5;
    const ptrdiff_t stride = (ptrdiff_t)1 << 62;
    int ncid = create(NC_INT, 1, &len, &len), values[5] = {1, 2, 3, 4, 5};

    OK(nc_put_vara_int(ncid, 0, &start, &count, values));
    EXPECT(nc_get_vars_int(ncid, 0, &start, &count, &stride, values) == NC_EEDGE);
    EXPECT(nc_put_vars_int(ncid, 0, &start, &count, &stride, values) == NC_EEDGE);
    for (int i = 0; i < 5; i++)
        EXPECT(values[i] == i + 1);
    OK(nc_close(ncid));
}

/* --- B5: two elements, far apart */

static void b5(void)
{
    const size_t len = 80000, one = 1, start = 0, count = 2, last = len - 1;
    const ptrdiff_t stride = (ptrdiff_t)last;
    int ncid = create(NC_INT, 1, &len, &one), values[2];
    double one_by_one, both;

    OK(nc_put_var1_int(ncid, 0, &start, &(int){1}));
    OK(nc_put_var1_int(ncid, 0, &last, &(int){2}));
    one_by_one = now();
    OK(nc_get_var1_int(ncid, 0, &start, &values[0]));
    OK(nc_get_var1_int(ncid, 0, &last, &values[1]));
    one_by_one = now() - one_by_one;
    both = now();
    OK(nc_get_vars_int(ncid, 0, &start, &count, &stride, values));
    both = now() - both;
    EXPECT(values[0] == 1 && values[1] == 2);
    EXPECT(both < 100 * one_by_one);
    OK(nc_close(ncid));
}

/* --- B6: fill values of the other byte order */

static void b6(void)
{
    const size_t len = 8, chunklen = 4, position = 1;
    int ncid = create(NC_INT, 1, &len, &chunklen), values[8];

    OK(nc_def_var_endian(ncid, 0, NC_ENDIAN_BIG));
    OK(nc_def_var_fill(ncid, 0, NC_FILL, &(int){7}));
    OK(nc_put_var1_int(ncid, 0, &position, &(int){5}));
    for (int session = 0; session < 2; session++) {
        OK(nc_get_var_int(ncid, 0, values));
        for (int i = 0; i < 8; i++)
            EXPECT(values[i] == (i == 1 ? 5 : 7));
        ncid = reopen(ncid, NC_NOWRITE);
    }
    OK(nc_close(ncid));
}

/* What ncdumpchunks shows of an absent chunk is what would be stored. */
static void b6_chunk(void)
{
    const size_t len = 8, chunklen = 4;
    const unsigned char seven[4] = {0, 0, 0, 7};
    unsigned char chunk[4][4];
    int ncid = create(NC_INT, 1, &len, &chunklen), values[8];

    OK(nc_def_var_endian(ncid, 0, NC_ENDIAN_BIG));
    OK(nc_def_var_fill(ncid, 0, NC_FILL, &(int){7}));
    OK(nc_enddef(ncid));
    OK(NCZ_read_chunk(ncid, 0, (unsigned long long[]){1}, chunk));
    for (int i = 0; i < 4; i++)
        EXPECT(memcmp(chunk[i], seven, sizeof seven) == 0);
    OK(nc_get_var_int(ncid, 0, values));
    for (int i = 0; i < 8; i++)
        EXPECT(values[i] == 7);
    OK(nc_close(ncid));
}

/* --- B7: a chunk that is shorter than it should be */

static void b7(void)
{
    const size_t len = 1000;
    int ncid = create(NC_INT, 1, &len, &len), *values = calloc(len, sizeof *values);
    char path[4200];

    OK(nc_put_var_int(ncid, 0, values));
    OK(nc_close(ncid));
    snprintf(path, sizeof path, "%s/file/v/0", directory);
    EXPECT(truncate(path, 40) == 0);
    OK(nc_open(url, NC_WRITE, &ncid));
    EXPECT(nc_get_var_int(ncid, 0, values) != NC_NOERR);
    EXPECT(nc_put_var1_int(ncid, 0, (size_t[]){500}, values) != NC_NOERR);
    OK(nc_put_var_int(ncid, 0, values)); /* which puts it right */
    OK(nc_get_var_int(ncid, 0, values));
    OK(nc_close(ncid));
    free(values);
}

/* --- B8: a thread with a small stack */

static void *read_in_thread(void *ncid)
{
    float values[16];

    OK(nc_get_vars_float(*(int *)ncid, 0, (size_t[]){1, 1}, (size_t[]){4, 4}, (ptrdiff_t[]){3, 2}, values));
    OK(nc_put_vars_float(*(int *)ncid, 0, (size_t[]){1, 1}, (size_t[]){4, 4}, (ptrdiff_t[]){3, 2}, values));
    return NULL;
}

static void b8(void)
{
    float values[400];
    pthread_attr_t attributes;
    pthread_t thread;
    int ncid = create(NC_FLOAT, 2, (size_t[]){20, 20}, (size_t[]){7, 6});

    for (int i = 0; i < 400; i++)
        values[i] = (float)i;
    OK(nc_put_var_float(ncid, 0, values));
    EXPECT(pthread_attr_init(&attributes) == 0);
    EXPECT(pthread_attr_setstacksize(&attributes, (size_t)256 << 10) == 0);
    EXPECT(pthread_create(&thread, &attributes, read_in_thread, &ncid) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    OK(nc_close(ncid));
}

/* --- C1: a cache that is large enough for all chunks */

static void c1(void)
{
    const size_t len = 8 << 18, chunklen = 1 << 18;
    int ncid = create(NC_INT, 1, &len, &chunklen), *values = calloc(len, sizeof *values);
    size_t bytes;

    OK(nc_put_var_int(ncid, 0, values));
    ncid = reopen(ncid, NC_NOWRITE);
    OK(nc_set_var_chunk_cache(ncid, 0, (size_t)32 << 20, 1000, 0.75f));
    bytes = bytes_read();
    for (int round = 0; round < 10; round++)
        OK(nc_get_var_int(ncid, 0, values));
    EXPECT(bytes_read() - bytes < 2 * len * sizeof *values);
    OK(nc_close(ncid));
    free(values);
}

/* --- C2: reading does not write */

static void c2(void)
{
    const size_t len = 8, chunklen = 4;
    int ncid = create(NC_INT, 1, &len, &chunklen), values[8];

    OK(nc_put_var1_int(ncid, 0, (size_t[]){0}, &(int){1}));
    ncid = reopen(ncid, NC_WRITE);
    OK(nc_get_var_int(ncid, 0, values));
    OK(nc_close(ncid));
    EXPECT(chunk_exists("0") && !chunk_exists("1"));
}

/* --- C3: what is replaced is not read */

static void c3(void)
{
    const size_t len = 5 * 100000, chunklen = 120000; /* the last chunk reaches beyond the end */
    int ncid = create(NC_INT, 1, &len, &chunklen), *values = calloc(len, sizeof *values);
    size_t bytes;

    OK(nc_put_var_int(ncid, 0, values));
    ncid = reopen(ncid, NC_WRITE);
    for (size_t i = 0; i < len; i++)
        values[i] = (int)i;
    bytes = bytes_read();
    OK(nc_put_var_int(ncid, 0, values));
    EXPECT(bytes_read() - bytes < chunklen);
    ncid = reopen(ncid, NC_NOWRITE);
    memset(values, 0, len * sizeof *values);
    OK(nc_get_var_int(ncid, 0, values));
    for (size_t i = 0; i < len; i++)
        EXPECT(values[i] == (int)i);
    OK(nc_close(ncid));
    free(values);
}

/* --- C4: two chunks whose indices have the same hash */

static void c4(void)
{
    const size_t len = (size_t)1 << INDEX_BITS;
    unsigned long long indices[2];
    int ncid = create(NC_INT, 2, (size_t[]){len, len}, (size_t[]){1, 1}), value;
    size_t here[2] = {0, 0}, there[2];

    find_collision(2, 0, indices);
    there[0] = indices[0];
    there[1] = indices[1];
    OK(nc_put_var1_int(ncid, 0, here, &(int){5}));
    OK(nc_put_var1_int(ncid, 0, there, &(int){9}));
    OK(nc_get_var1_int(ncid, 0, here, &value));
    EXPECT(value == 5);
    OK(nc_get_var1_int(ncid, 0, there, &value));
    EXPECT(value == 9);
    OK(nc_close(ncid));
}

/* --- E1, E2: what was synchronised is read again, through a filter or as strings */

static void e1(void)
{
    const size_t len = 1000;
    int ncid = create(NC_INT, 1, &len, &len), values[1000];

    OK(nc_def_var_deflate(ncid, 0, 0, 1, 5));
    for (int i = 0; i < 1000; i++)
        values[i] = i;
    OK(nc_put_var_int(ncid, 0, values));
    OK(nc_sync(ncid));
    OK(nc_get_var_int(ncid, 0, values));
    for (int i = 0; i < 1000; i++)
        EXPECT(values[i] == i);
    OK(nc_put_var1_int(ncid, 0, (size_t[]){999}, &(int){-1}));
    OK(nc_get_var_int(ncid, 0, values));
    EXPECT(values[999] == -1);
    OK(nc_close(ncid));
}

static void e2(void)
{
    const size_t len = 3;
    const char *words[3] = {"one", "two", "three"};
    char *found[3];
    int ncid = create(NC_STRING, 1, &len, &len);

    OK(nc_put_var_string(ncid, 0, words));
    OK(nc_sync(ncid));
    OK(nc_get_var_string(ncid, 0, found));
    for (int i = 0; i < 3; i++)
        EXPECT(strcmp(found[i], words[i]) == 0);
    OK(nc_free_string(3, found));
    OK(nc_close(ncid));
}

/* --- E3: 4.9.2 stores big-endian variables in native byte order */

static void e3(void)
{
    const size_t len = 1;
    const unsigned char expected[4] = {0x01, 0x02, 0x03, 0x04};
    unsigned char stored[4] = {0};
    char path[4200];
    FILE *file;
    int ncid = create(NC_INT, 1, &len, &len);

    OK(nc_def_var_endian(ncid, 0, NC_ENDIAN_BIG));
    OK(nc_put_var_int(ncid, 0, &(int){0x01020304}));
    OK(nc_close(ncid));
    snprintf(path, sizeof path, "%s/file/v/0", directory);
    file = fopen(path, "rb");
    EXPECT(file != NULL && fread(stored, 1, sizeof stored, file) == sizeof stored);
    fclose(file);
    EXPECT(memcmp(stored, expected, sizeof stored) == 0);
}

/* --- E4: a chunk that its filter refuses is an error for what needs it, and not for what replaces it */

static void e4(void)
{
    const size_t len = 100, chunk = 50;
    int ncid = create(NC_INT, 1, &len, &chunk), values[100] = {1}, found[100];
    char path[4200];
    FILE *stored;

    OK(nc_def_var_fletcher32(ncid, 0, 1));
    OK(nc_put_var_int(ncid, 0, values));
    OK(nc_close(ncid));
    snprintf(path, sizeof path, "%s/file/v/0", directory);
    stored = fopen(path, "r+b");
    EXPECT(stored != NULL && fputc(0x55, stored) == 0x55 && fclose(stored) == 0);
    OK(nc_open(url, NC_WRITE, &ncid));
    for (int round = 0; round < 2; round++) {
        EXPECT(nc_get_var_int(ncid, 0, found) != NC_NOERR);
        EXPECT(nc_put_var1_int(ncid, 0, (size_t[]){3}, values) != NC_NOERR);
        OK(nc_get_vara_int(ncid, 0, (size_t[]){50}, (size_t[]){50}, found));
        OK(nc_put_var1_int(ncid, 0, (size_t[]){99}, &values[99]));
        OK(nc_sync(ncid));
    }
    OK(nc_put_vara_int(ncid, 0, (size_t[]){0}, (size_t[]){50}, values));
    ncid = reopen(ncid, NC_NOWRITE);
    OK(nc_get_var_int(ncid, 0, found));
    EXPECT(memcmp(found, values, sizeof values) == 0);
    OK(nc_close(ncid));
}

/* 4.9.2 has no unlimited dimensions, does not swap, uses less stack and never empties its cache. */
enum { ALL, NOT_492, ONLY_492 };

static const struct {
    const char *name;
    void (*run)(void);
    int versions;
} cases[] = {
    {"B1-rows", b1_rows, NOT_492}, {"B1-long", b1_long, NOT_492}, {"B1-short", b1_short, NOT_492}, {"B2", b2, ALL},
    {"B3", b3, ALL}, {"B3-heap", b3_heap, ALL}, {"B4", b4, ALL}, {"B5", b5, ALL}, {"B6", b6, NOT_492},
    {"B6-chunk", b6_chunk, NOT_492}, {"B7", b7, ALL},
    {"B8", b8, NOT_492}, {"C1", c1, NOT_492}, {"C2", c2, ALL}, {"C3", c3, ALL}, {"C4", c4, ALL}, {"E1", e1, ALL},
    {"E2", e2, ALL}, {"E3", e3, ONLY_492}, {"E4", e4, ALL},
};

int main(int argc, char **argv)
{
    const int other = strncmp(nc_inq_libvers(), "4.9.2", 5) == 0 ? NOT_492 : ONLY_492;

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (cases[c].versions != other && is_asked_for(cases[c].name, argc, argv)) {
            directory = argv[2];
            url = url_of(directory, "file");
            cases[c].run();
            return 0;
        }
    }
    return argc < 3 ? 0 : 2;
}
