/*
 * Every status has words. They are netCDF's for netCDF's numbers, the system's for positive numbers (errno), and
 * "Unknown Error" for anything else. test_status_netcdf.c compares them with what libnetcdf says.
 */
#include <errno.h>
#include <limits.h>

#include "check.h"
#include "nczchunk.h"

static const struct {
    int status, value;
    const char *words;
} statuses[] = {
    {NCZCHUNK_NOERR, 0, "No error"},
    {NCZCHUNK_EEXIST, -35, "NetCDF: File exists && NC_NOCLOBBER"},
    {NCZCHUNK_EINVAL, -36, "NetCDF: Invalid argument"},
    {NCZCHUNK_EPERM, -37, "NetCDF: Write to read only"},
    {NCZCHUNK_EINVALCOORDS, -40, "NetCDF: Index exceeds dimension bound"},
    {NCZCHUNK_ENOTATT, -43, "NetCDF: Attribute not found"},
    {NCZCHUNK_EMAXDIMS, -41, "NetCDF: NC_MAX_DIMS exceeded"},
    {NCZCHUNK_EBADTYPE, -45, "NetCDF: Not a valid data type or _FillValue type mismatch"},
    {NCZCHUNK_EBADDIM, -46, "NetCDF: Invalid dimension ID or name"},
    {NCZCHUNK_ENOTVAR, -49, "NetCDF: Variable not found"},
    {NCZCHUNK_ENOTNC, -51, "NetCDF: Unknown file format"},
    {NCZCHUNK_ECHAR, -56, "NetCDF: Attempt to convert between text & numbers"},
    {NCZCHUNK_EEDGE, -57, "NetCDF: Start+count exceeds dimension bound"},
    {NCZCHUNK_ESTRIDE, -58, "NetCDF: Illegal stride"},
    {NCZCHUNK_ERANGE, -60, "NetCDF: Numeric conversion not representable"},
    {NCZCHUNK_ENOMEM, -61, "NetCDF: Memory allocation (malloc) failure"},
    {NCZCHUNK_EVARSIZE, -62, "NetCDF: One or more variable sizes violate format constraints"},
    {NCZCHUNK_EDIMSIZE, -63, "NetCDF: Invalid dimension size"},
    {NCZCHUNK_EIO, -68, "NetCDF: I/O failure"},
    {NCZCHUNK_ENOTFOUND, -90, "NetCDF: file not found"},
    {NCZCHUNK_EINTERNAL, -92, "NetCDF: internal library error; Please contact Unidata support"},
    {NCZCHUNK_EBADCHUNK, -127, "NetCDF: Bad chunk sizes."},
    {NCZCHUNK_ENOTBUILT, -128,
     "NetCDF: Attempt to use feature that was not turned on when netCDF was built."},
    {NCZCHUNK_ECANTEXTEND, -130,
     "NetCDF: Attempt to extend dataset during NC_INDEPENDENT I/O operation. "
     "Use nc_var_par_access to set mode NC_COLLECTIVE before extending variable."},
    {NCZCHUNK_EFILTER, -132, "NetCDF: Filter error: bad id or parameters or duplicate filter"},
    {NCZCHUNK_ENOFILTER, -136, "NetCDF: Filter error: undefined filter encountered"},
    {NCZCHUNK_ENCZARR, -137, "NetCDF: NCZarr error"},
    {NCZCHUNK_EEMPTY, -139, "NetCDF: Attempt to read empty NCZarr map key"},
    {NCZCHUNK_EOBJECT, -140, "NetCDF: Some object exists when it should not"},
    {NCZCHUNK_ENOOBJECT, -141, "NetCDF: Some object not found"},
};

/* The numbers are netCDF's own, so that a caller inside netCDF can return them as they are. */
static void every_status_has_its_number_and_words(void)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        CHECK_EQ(statuses[i].status, statuses[i].value);
        CHECK_STR(nczchunk_strerror(statuses[i].status), statuses[i].words);
    }
}

/* strerror may keep its text in one place, so each is compared with a copy. */
static void positive_numbers_are_errno(void)
{
    const int numbers[] = {EPERM, ENOENT, EIO, EACCES, ENOSPC, INT_MAX};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char words[256];
        snprintf(words, sizeof words, "%s", strerror(numbers[i]));
        CHECK_STR(nczchunk_strerror(numbers[i]), words);
    }
}

static void other_numbers_are_unknown(void)
{
    const int numbers[] = {-1, -34, -142, -100000, INT_MIN};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        CHECK_STR(nczchunk_strerror(numbers[i]), "Unknown Error");
}

int main(void)
{
    every_status_has_its_number_and_words();
    positive_numbers_are_errno();
    other_numbers_are_unknown();
    return 0;
}
