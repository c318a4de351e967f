/* Opens a path and closes it: what that alone costs, and whether it works. opens PATH MODE [VARIABLE] */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int ncid, varid, status;

    if (argc < 3) return 2;
    status = nc_open(argv[1], atoi(argv[2]), &ncid);
    if (!status && argc > 3) status = nc_inq_varid(ncid, argv[3], &varid);
    if (!status) status = nc_close(ncid);
    if (status) fprintf(stderr, "%s: %s\n", argv[1], nc_strerror(status));
    return status != 0;
}
