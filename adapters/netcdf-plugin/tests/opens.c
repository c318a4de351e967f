/* Opens a path and closes it, or reads a variable before that: what that alone costs. opens PATH MODE [VARIABLE] */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

static int read_all(int ncid, const char *name)
{
    int varid, rank, dimids[NC_MAX_VAR_DIMS], status = nc_inq_varid(ncid, name, &varid);
    size_t total = 1, len;
    double *values;

    if (!status) status = nc_inq_var(ncid, varid, NULL, NULL, &rank, dimids, NULL);
    for (int d = 0; d < rank && !status; d++) {
        status = nc_inq_dimlen(ncid, dimids[d], &len);
        total *= len;
    }
    if (status) return status;
    values = malloc(total * sizeof *values);
    status = values ? nc_get_var_double(ncid, varid, values) : NC_ENOMEM;
    free(values);
    return status;
}

int main(int argc, char **argv)
{
    int ncid, status;

    if (argc < 3) return 2;
    status = nc_open(argv[1], atoi(argv[2]), &ncid);
    if (!status && argc > 3) status = read_all(ncid, argv[3]);
    if (!status) status = nc_close(ncid);
    if (status) fprintf(stderr, "%s: %s\n", argv[1], nc_strerror(status));
    return status != 0;
}
