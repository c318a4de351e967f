/* Makes a dataset for ncdump and nccopy.
 *
 *   dataset URL
 *
 * Any libnetcdf stores it rightly. But stock ones read the chunks of `foreign` that are absent wrongly, B6.
 */
#include "check.h"

enum { ROWS = 6, COLUMNS = 8 };

static int define(int ncid, const char *name, nc_type type, int rank, const int *dims)
{
    int varid;

    OK(nc_def_var(ncid, name, type, rank, dims, &varid));
    if (rank > 0)
        OK(nc_def_var_chunking(ncid, varid, NC_CHUNKED, (size_t[]){4, 3}));
    return varid;
}

static int is_little_endian(void)
{
    return *(const unsigned char *)&(const int){1};
}

int main(int argc, char **argv)
{
    const char *words[ROWS] = {"one", "two", "", "four", "five", "and a longer one"};
    double numbers[ROWS][COLUMNS];
    int ncid, dims[2], packed, foreign, records, text, scalar;

    if (argc != 2)
        return 2;
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++)
            numbers[y][x] = 100 * y + x;

    OK(nc_create(argv[1], NC_NETCDF4 | NC_CLOBBER, &ncid));
    OK(nc_def_dim(ncid, "y", ROWS, &dims[0]));
    OK(nc_def_dim(ncid, "x", COLUMNS, &dims[1]));
    packed = define(ncid, "packed", NC_DOUBLE, 2, dims);
    OK(nc_def_var_deflate(ncid, packed, 0, 1, 1));
    foreign = define(ncid, "foreign", NC_INT, 2, dims);
    OK(nc_def_var_endian(ncid, foreign, is_little_endian() ? NC_ENDIAN_BIG : NC_ENDIAN_LITTLE));
    OK(nc_def_var_fill(ncid, foreign, NC_FILL, &(int){7}));
    text = define(ncid, "text", NC_STRING, 1, dims);
    scalar = define(ncid, "scalar", NC_SHORT, 0, NULL);
    OK(nc_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
    records = define(ncid, "records", NC_FLOAT, 2, dims);

    OK(nc_put_var_double(ncid, packed, &numbers[0][0]));
    OK(nc_put_vara_int(ncid, foreign, (size_t[]){0, 0}, (size_t[]){4, 3}, (int[12]){1, 2, 3}));
    OK(nc_put_var_string(ncid, text, words));
    OK(nc_put_var_short(ncid, scalar, &(short){-5}));
    OK(nc_put_vara_double(ncid, records, (size_t[]){1, 0}, (size_t[]){5, COLUMNS}, &numbers[0][0]));
    OK(nc_close(ncid));
    return 0;
}
