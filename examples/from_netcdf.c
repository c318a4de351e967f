/*
 * The same read by netCDF-C and by nczchunk: every third month of a part of the Pacific, every second row and column;
 * and a hyperslab that does not fit, for which both have the same status.
 *
 *     cc from_netcdf.c -lnczchunk -lnetcdf && ./a.out coads_sst.nc
 */
#include <stdio.h>
#include <string.h>

#include <netcdf.h>

#include "nczchunk_array.h"

enum { MONTHS = 4, ROWS = 10, COLUMNS = 15 };

static const size_t start[3] = {0, 40, 60}, count[3] = {MONTHS, ROWS, COLUMNS};
static const ptrdiff_t stride[3] = {3, 2, 2};

/* [netcdf] */
static int with_netcdf(const char *path, float *data)
{
    int ncid, varid, status;

    if ((status = nc_open(path, NC_NOWRITE, &ncid))) return status;
    status = nc_inq_varid(ncid, "SST", &varid);
    if (!status) status = nc_get_vars_float(ncid, varid, start, count, stride, data);
    nc_close(ncid);
    return status;
}

/* [nczchunk] */
static int with_nczchunk(const char *path, float *data)
{
    nczchunk_array *array = NULL;
    int status;

    if ((status = nczchunk_array_open(path, "SST", NCZCHUNK_READ, &array, NULL))) return status;
    if (nczchunk_array_type(array) != NC_FLOAT) status = NCZCHUNK_EBADTYPE; /* elements are not converted */
    if (!status) status = nczchunk_array_read(array, start, count, stride, data, NULL);
    nczchunk_array_close(array);
    return status;
}

/* [end] */
static int beyond_the_edge(const char *path, int *theirs, int *ours)
{
    const size_t too_many[3] = {13, 1, 1};
    nczchunk_array *array = NULL;
    float data[13];
    int ncid, varid, status;

    if ((status = nc_open(path, NC_NOWRITE, &ncid))) return status;
    status = nc_inq_varid(ncid, "SST", &varid);
    if (!status) *theirs = nc_get_vara_float(ncid, varid, start, too_many, data);
    nc_close(ncid);
    if (!status) status = nczchunk_array_open(path, "SST", NCZCHUNK_READ, &array, NULL);
    if (!status) *ours = nczchunk_array_read(array, start, too_many, NULL, data, NULL);
    nczchunk_array_close(array);
    return status;
}

int main(int argc, char **argv)
{
    static float theirs[MONTHS][ROWS][COLUMNS], ours[MONTHS][ROWS][COLUMNS];
    const char *path = argc > 1 ? argv[1] : "coads_sst.nc";
    int their_status = 0, our_status = 0;

    int status = with_netcdf(path, &theirs[0][0][0]);
    if (!status) status = with_nczchunk(path, &ours[0][0][0]);
    if (!status) status = beyond_the_edge(path, &their_status, &our_status);
    if (status) {
        fprintf(stderr, "from_netcdf: %s\n", nczchunk_strerror(status));
        return 1;
    }
    printf("%.2f and %.2f\n", theirs[1][2][3], ours[1][2][3]);
    printf("%d and %d: %s\n", their_status, our_status, nczchunk_strerror(our_status));
    return memcmp(theirs, ours, sizeof ours) != 0 || their_status != our_status || our_status != NC_EEDGE;
}
