/* Memory that cannot be had, in the adapter and in nczchunk: every allocation fails once. (netCDF-C itself does not
 * survive all of its own, so those are left alone.)
 *
 *   memory DIRECTORY
 *
 * Whatever fails, the answer is NC_ENOMEM, and the same again, with memory, succeeds and gives the right values.
 */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* --- The C library's functions, which fail when told to. glibc has them under these names, too. */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static size_t until_failure; /* 0: none fails */
static size_t failures;
static int is_asking;

/* Whether this is the one that fails. Whose it is tells the address it returns to: the adapter's own functions have
 * hidden names, so the nearest visible one is netCDF's, but what does not lie in NCZ_transferslice's library is not
 * meant. */
static int fails(void *caller)
{
    Dl_info info;
    int is_meant;

    if (until_failure == 0 || is_asking)
        return 0;
    is_asking = 1;
    is_meant = dladdr(caller, &info) != 0 && strstr(info.dli_fname, "nczchunk") != NULL;
    is_asking = 0;
    if (!is_meant || --until_failure > 0)
        return 0;
    failures++;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return ENOMEM;
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

/* --- Transfers of an array of 10 dimensions, more than the adapter has room for on its stack: numbers and strings */

enum { RANK = 10, LEN = 9, CHUNK = 4 };

static const char *const words[LEN] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight"};
static size_t start[RANK], count[RANK];
static int is_decoding; /* netCDF's rc file has the adapter decode: then the numbers are filtered */

static int put(int ncid, int varid, const void *data)
{
    return nc_put_vara(ncid, varid, start, count, data);
}

static void check_values(int ncid)
{
    int numbers[LEN], status = nc_get_vara(ncid, 0, start, count, numbers);
    char *strings[LEN] = {NULL};

    OK(status);
    for (int i = 0; i < LEN; i++)
        EXPECT(numbers[i] == i);
    OK(nc_get_vara(ncid, 1, start, count, strings));
    for (int i = 0; i < LEN; i++)
        EXPECT(strcmp(strings[i], words[i]) == 0);
    OK(nc_free_string(LEN, strings));
}

/* The n-th allocation fails; 0 if there are not as many. */
static int one_round(const char *directory, size_t n, int writing, int is_fresh)
{
    const int numbers[LEN] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    int found[LEN], ncid, dims[RANK], failed, statuses[2];
    size_t chunk[RANK];
    char *strings[LEN] = {NULL};

    OK(nc_create(url_of(directory, "file"), NC_NETCDF4 | NC_CLOBBER, &ncid));
    for (int d = 0; d < RANK; d++) {
        char name[20];

        snprintf(name, sizeof name, "d%d", d);
        count[d] = d == 0 ? LEN : 1;
        chunk[d] = d == 0 ? CHUNK : 1;
        OK(nc_def_dim(ncid, name, count[d], &dims[d]));
    }
    OK(nc_def_var(ncid, "numbers", NC_INT, RANK, dims, &(int){0}));
    OK(nc_def_var_chunking(ncid, 0, NC_CHUNKED, chunk));
    OK(nc_def_var_endian(ncid, 0, NC_ENDIAN_BIG));
    if (is_decoding)
        OK(nc_def_var_deflate(ncid, 0, 1, 1, 1));
    OK(nc_def_var(ncid, "strings", NC_STRING, RANK, dims, &(int){0}));
    OK(nc_def_var_chunking(ncid, 1, NC_CHUNKED, chunk));
    OK(nc_enddef(ncid));
    if (!writing || !is_fresh) {
        OK(put(ncid, 0, numbers));
        OK(put(ncid, 1, words));
    }
    if (!is_fresh)
        check_values(ncid);

    failures = 0;
    until_failure = n;
    if (writing) {
        statuses[0] = put(ncid, 0, numbers);
        statuses[1] = put(ncid, 1, words);
    } else {
        statuses[0] = nc_get_vara(ncid, 0, start, count, found);
        statuses[1] = nc_get_vara(ncid, 1, start, count, strings);
    }
    until_failure = 0;
    failed = failures > 0;
    EXPECT(statuses[0] == NC_NOERR || (failed && statuses[0] == NC_ENOMEM));
    EXPECT(statuses[1] == NC_NOERR || (failed && statuses[1] == NC_ENOMEM));
    for (int i = 0; i < LEN; i++)
        free(strings[i]);
    if (writing) {
        OK(put(ncid, 0, numbers));
        OK(put(ncid, 1, words));
    }
    check_values(ncid);
    OK(nc_close(ncid));
    OK(nc_open(url_of(directory, "file"), NC_NOWRITE, &ncid));
    check_values(ncid);
    OK(nc_close(ncid));
    return failed;
}

int main(int argc, char **argv)
{
    size_t all = 0;

    char *decode = nc_rc_get("NCZCHUNK.DECODE");

    if (argc != 2)
        return 2;
    is_decoding = decode != NULL;
    free(decode);
    for (int kind = 0; kind < 4; kind++) {
        size_t n = 1;

        while (one_round(argv[1], n, kind & 1, kind >> 1))
            n++;
        EXPECT(n > 1);
        all += n - 1;
    }
    printf("%zu allocations failed\n", all);
    return 0;
}
