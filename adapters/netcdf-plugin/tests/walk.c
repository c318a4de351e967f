/* Asks everything of datasets that may be broken, and reads a little of each variable: walk PATH... Whatever is
 * answered is right as long as nothing crashes and memory is freed. */
#include "nczchunk_netcdf.h"

#include <netcdf_filter.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long answers, errors;

static int count(int status)
{
    answers++;
    errors += status != 0;
    return status;
}

static void walk_attributes(int ncid, int varid)
{
    int n = 0;

    (void)count(nc_inq_varnatts(ncid, varid, &n));
    for (int i = 0; i < n; i++) {
        char name[NC_MAX_NAME + 1];
        nc_type type;
        size_t len;
        void *values;

        if (count(nc_inq_attname(ncid, varid, i, name)) || count(nc_inq_att(ncid, varid, name, &type, &len))) continue;
        values = calloc(len + 1, 8);
        if (!values) continue;
        if (!count(nc_get_att(ncid, varid, name, values)) && type == NC_STRING)
            (void)count(nc_free_string(len, values));
        if (type != NC_STRING) (void)count(nc_get_att_double(ncid, varid, name, values));
        free(values);
    }
}

static void walk_variable(int ncid, int varid)
{
    static size_t start[NC_MAX_VAR_DIMS], counts[NC_MAX_VAR_DIMS], chunks[NC_MAX_VAR_DIMS];
    static int dims[NC_MAX_VAR_DIMS];
    static ptrdiff_t stride[NC_MAX_VAR_DIMS];
    char name[NC_MAX_NAME + 1], *strings[8] = {NULL};
    double values[8];
    nc_type type;
    int rank, storage, endian;
    size_t filters, selected = 1, len;
    unsigned ids[32];
    union {
        double number;
        char *string;
    } fill = {0};

    if (count(nc_inq_var(ncid, varid, name, &type, &rank, dims, NULL))) return;
    (void)count(nc_inq_var_chunking(ncid, varid, &storage, chunks));
    if (!count(nc_inq_var_fill(ncid, varid, NULL, &fill)) && type == NC_STRING) free(fill.string);
    (void)count(nc_inq_var_endian(ncid, varid, &endian));
    if (!count(nc_inq_var_filter_ids(ncid, varid, &filters, NULL)) && filters <= 32)
        (void)count(nc_inq_var_filter_ids(ncid, varid, &filters, ids));
    for (int d = 0; d < rank; d++) {
        (void)count(nc_inq_dim(ncid, dims[d], name, &len));
        stride[d] = len > 4 ? (ptrdiff_t)(len / 2) : 1;
        counts[d] = len > 1 && selected < 4 ? 2 : len > 0;
        selected *= counts[d];
    }
    if (type != NC_STRING) (void)count(nc_get_vars_double(ncid, varid, start, counts, stride, values));
    else if (!count(nc_get_vars_string(ncid, varid, start, counts, stride, strings)))
        (void)count(nc_free_string(selected, strings));
    walk_attributes(ncid, varid);
}

static void walk_group(int ncid)
{
    int n = 0, *groups;

    walk_attributes(ncid, NC_GLOBAL);
    (void)count(nc_inq_nvars(ncid, &n));
    for (int i = 0; i < n; i++) walk_variable(ncid, i);
    (void)count(nc_inq_grps(ncid, &n, NULL));
    groups = malloc((size_t)n * sizeof *groups + 1);
    if (groups && !count(nc_inq_grps(ncid, &n, groups)))
        for (int i = 0; i < n; i++) walk_group(groups[i]);
    free(groups);
}

int main(int argc, char **argv)
{
    int ncid;

    if (nc_def_user_format(NC_UDF0, nczchunk_netcdf_dispatch(), NULL)) return 1;
    for (int i = 1; i < argc; i++) {
        if (count(nc_open(argv[i], NC_UDF0, &ncid))) continue;
        walk_group(ncid);
        if (nc_close(ncid)) return 1;
    }
    printf("%llu answers, %llu of them errors\n", answers, errors);
    return 0;
}
