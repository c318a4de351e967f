/* A program of somebody who only has netCDF's header and library. Strides over an unlimited dimension, which stock
 * netCDF-C reads wrongly, tell that the adapter is in the library.
 *
 *   consumer DIRECTORY
 */
#include <netcdf.h>
#include <stdio.h>

static int check(int status)
{
    if (status != NC_NOERR)
        fprintf(stderr, "consumer: %s\n", nc_strerror(status));
    return status == NC_NOERR;
}

int main(int argc, char **argv)
{
    const size_t start[2] = {0, 0}, all[2] = {3, 13}, some[2] = {3, 5}, chunk[2] = {3, 8};
    const ptrdiff_t stride[2] = {1, 3};
    int values[3][13], found[3][5] = {{0}}, ncid, dims[2], varid;
    char url[4200];

    if (argc != 2)
        return 2;
    snprintf(url, sizeof url, "file://%s/file#mode=nczarr,file", argv[1]);
    for (int i = 0; i < 39; i++)
        values[i / 13][i % 13] = i;
    if (!check(nc_create(url, NC_NETCDF4 | NC_CLOBBER, &ncid)) || !check(nc_def_dim(ncid, "y", 3, &dims[0])) ||
        !check(nc_def_dim(ncid, "x", NC_UNLIMITED, &dims[1])) ||
        !check(nc_def_var(ncid, "v", NC_INT, 2, dims, &varid)) ||
        !check(nc_def_var_chunking(ncid, varid, NC_CHUNKED, chunk)) ||
        !check(nc_put_vara_int(ncid, varid, start, all, &values[0][0])) || !check(nc_close(ncid)) ||
        !check(nc_open(url, NC_NOWRITE, &ncid)) ||
        !check(nc_get_vars_int(ncid, varid, start, some, stride, &found[0][0])) || !check(nc_close(ncid)))
        return 1;
    for (int i = 0; i < 15; i++) {
        if (found[i / 5][i % 5] != i / 5 * 13 + i % 5 * 3) {
            fprintf(stderr, "consumer: wrong values\n");
            return 1;
        }
    }
    return 0;
}
