/*
 * The table of status_table.h against libnetcdf itself: what nczchunk_read_vars and nczchunk_write_vars answer is what
 * nc_get_vars_int and nc_put_vars_int answer for a variable of the same shape, both in a file of HDF5's and in one of
 * NCZarr's. Where it is not, the table says so.
 */
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <netcdf.h>
#include <unistd.h>

#include "check.h"
#include "status_table.h"

/* Makes the variable of a case in an open file, with the elements 0, 1, 2, ... */
static int define_case(int ncid, size_t number)
{
    const status_case *c = &status_cases[number];
    int dimids[STATUS_MAX_RANK], varid;
    char name[32];

    for (size_t d = 0; d < c->rank; d++) {
        snprintf(name, sizeof name, "d%zu_%zu", number, d);
        CHECK_OK(nc_def_dim(ncid, name, c->dimlens[d], &dimids[d]));
    }
    snprintf(name, sizeof name, "v%zu", number);
    CHECK_OK(nc_def_var(ncid, name, NC_INT, (int)c->rank, dimids, &varid));
    if (c->rank > 0)
        CHECK_OK(nc_def_var_chunking(ncid, varid, NC_CHUNKED, c->chunklens));
    return varid;
}

static void write_case(int ncid, int varid)
{
    int data[STATUS_MAX_ELEMENTS];

    for (int i = 0; i < STATUS_MAX_ELEMENTS; i++)
        data[i] = i;
    CHECK_OK(nc_put_var_int(ncid, varid, data));
}

/* The two kinds of file. */
typedef enum file_kind { HDF5, NCZARR } file_kind;

static int expected_status(const status_case *c, file_kind kind)
{
    return kind == HDF5 ? c->hdf5 : c->nczarr;
}

static void check_status(const char *call, size_t number, file_kind kind, int status)
{
    int expected = expected_status(&status_cases[number], kind);

    if (status != expected)
        CHECK_FAILED("case %zu, %s: the status of %s is %d, not %d", number, kind == HDF5 ? "HDF5" : "NCZarr", call,
                     status, expected);
}

static void check_get(int ncid, int varid, size_t number, file_kind kind)
{
    const status_case *c = &status_cases[number];
    int guarded[STATUS_MAX_ELEMENTS + 2], *data = guarded + 1, status;

    for (size_t i = 0; i < STATUS_MAX_ELEMENTS + 2; i++)
        guarded[i] = -1;
    status = nc_get_vars_int(ncid, varid, status_start(c), status_count(c), status_stride(c), data);
    check_status("nc_get_vars_int", number, kind, status);
    /* Where netCDF is wrong it may write what it likes. */
    if (status != c->status)
        return;
    for (size_t i = 0; i < STATUS_MAX_ELEMENTS; i++)
        CHECK_EQ(data[i] != -1, status == NC_NOERR && i < status_elements(c));
}

/* Which element of the variable element number e of a case is. */
static size_t element_number(const status_case *c, size_t e)
{
    const size_t *count = status_count(c) ? status_count(c) : c->dimlens;
    size_t number = 0, weight = 1;

    for (size_t d = c->rank; d-- > 0;) {
        size_t stride = status_stride(c) ? (size_t)c->stride[d] : 1;

        number += (c->start[d] + e % count[d] * stride) * weight;
        weight *= c->dimlens[d];
        e /= count[d];
    }
    return number;
}

/* Puts other numbers there, and looks at what has become of the variable. */
static void check_put(int ncid, int varid, size_t number, file_kind kind)
{
    const status_case *c = &status_cases[number];
    size_t selected = c->status == NCZCHUNK_NOERR ? status_elements(c) : 0, all = 1;
    int data[STATUS_MAX_ELEMENTS], expected[STATUS_MAX_ELEMENTS], after[STATUS_MAX_ELEMENTS], status;

    for (size_t d = 0; d < c->rank; d++)
        all *= c->dimlens[d];
    for (int i = 0; i < STATUS_MAX_ELEMENTS; i++) {
        data[i] = -100 - i;
        expected[i] = i;
    }
    for (size_t e = 0; e < selected; e++)
        expected[element_number(c, e)] = data[e];
    status = nc_put_vars_int(ncid, varid, status_start(c), status_count(c), status_stride(c), data);
    check_status("nc_put_vars_int", number, kind, status);
    CHECK_OK(nc_get_var_int(ncid, varid, after));
    CHECK(memcmp(after, expected, all * sizeof(int)) == 0);
}

static void check_table(const char *path, int mode, file_kind kind)
{
    int ncid, varids[NUM_STATUS_CASES];

    CHECK_OK(nc_create(path, mode, &ncid));
    for (size_t number = 0; number < NUM_STATUS_CASES; number++)
        varids[number] = define_case(ncid, number);
    CHECK_OK(nc_enddef(ncid));
    for (size_t number = 0; number < NUM_STATUS_CASES; number++) {
        const status_case *c = &status_cases[number];

        write_case(ncid, varids[number]);
        if (expected_status(c, kind) == STATUS_NOT_ASKED)
            continue;
        if (c->access & GET)
            check_get(ncid, varids[number], number, kind);
        if (c->access & PUT)
            check_put(ncid, varids[number], number, kind);
    }
    CHECK_OK(nc_close(ncid));
}

/* HDF5's file is kept in memory. */
static void hdf5_agrees(void)
{
    check_table("status_netcdf.nc", NC_NETCDF4 | NC_DISKLESS, HDF5);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

/* NCZarr's is a directory, made in the current one and removed afterwards. */
static char directory[] = "status_netcdf_XXXXXX";

static void remove_directory(void)
{
    nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void nczarr_agrees(void)
{
    char current[4096], path[5000];

    CHECK(getcwd(current, sizeof current) != NULL);
    CHECK(mkdtemp(directory) != NULL);
    atexit(remove_directory);
    snprintf(path, sizeof path, "file://%s/%s/table.zarr#mode=nczarr,file", current, directory);
    check_table(path, NC_NETCDF4, NCZARR);
}

/* The numbers are netCDF's, and so are the words for them. */
static void the_words_agree(void)
{
    const struct { int ours, netcdfs; } numbers[] = {
        {NCZCHUNK_NOERR, NC_NOERR},
        {NCZCHUNK_EEXIST, NC_EEXIST},
        {NCZCHUNK_EINVAL, NC_EINVAL},
        {NCZCHUNK_EPERM, NC_EPERM},
        {NCZCHUNK_EINVALCOORDS, NC_EINVALCOORDS},
        {NCZCHUNK_ENOTATT, NC_ENOTATT},
        {NCZCHUNK_EMAXDIMS, NC_EMAXDIMS},
        {NCZCHUNK_EBADTYPE, NC_EBADTYPE},
        {NCZCHUNK_EBADDIM, NC_EBADDIM},
        {NCZCHUNK_ENOTVAR, NC_ENOTVAR},
        {NCZCHUNK_ENOTNC, NC_ENOTNC},
        {NCZCHUNK_ECHAR, NC_ECHAR},
        {NCZCHUNK_EEDGE, NC_EEDGE},
        {NCZCHUNK_ESTRIDE, NC_ESTRIDE},
        {NCZCHUNK_ERANGE, NC_ERANGE},
        {NCZCHUNK_ENOMEM, NC_ENOMEM},
        {NCZCHUNK_EVARSIZE, NC_EVARSIZE},
        {NCZCHUNK_EDIMSIZE, NC_EDIMSIZE},
        {NCZCHUNK_EIO, NC_EIO},
        {NCZCHUNK_ENOTFOUND, NC_ENOTFOUND},
        {NCZCHUNK_EINTERNAL, NC_EINTERNAL},
        {NCZCHUNK_EBADCHUNK, NC_EBADCHUNK},
        {NCZCHUNK_ENOTBUILT, NC_ENOTBUILT},
        {NCZCHUNK_ECANTEXTEND, NC_ECANTEXTEND},
        {NCZCHUNK_EFILTER, NC_EFILTER},
        {NCZCHUNK_ENOFILTER, NC_ENOFILTER},
        {NCZCHUNK_ENCZARR, NC_ENCZARR},
        {NCZCHUNK_EEMPTY, NC_EEMPTY},
        {NCZCHUNK_EOBJECT, NC_EOBJECT},
        {NCZCHUNK_ENOOBJECT, NC_ENOOBJECT},
        {2, 2},       /* an errno value */
        {-1, -1},     /* nobody's */
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char words[512];

        CHECK_EQ(numbers[i].ours, numbers[i].netcdfs);
        snprintf(words, sizeof words, "%s", nc_strerror(numbers[i].netcdfs));
        CHECK_STR(nczchunk_strerror(numbers[i].ours), words);
    }
    CHECK_EQ(NCZCHUNK_ENDIAN_NATIVE, NC_ENDIAN_NATIVE);
    CHECK_EQ(NCZCHUNK_ENDIAN_LITTLE, NC_ENDIAN_LITTLE);
    CHECK_EQ(NCZCHUNK_ENDIAN_BIG, NC_ENDIAN_BIG);
    CHECK_EQ(NCZCHUNK_MAX_RANK, NC_MAX_VAR_DIMS);
}

int main(void)
{
    hdf5_agrees();
    nczarr_agrees();
    the_words_agree();
    return 0;
}
