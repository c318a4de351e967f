/*
 * One job on a dataset at a path or URL: s3 JOB PATH. Prints a sum of what it reads, which is the same however it is
 * read. `make` writes the dataset, of one variable t(time, y, x) in 4 x 4 x 4 chunks, and 8 that are as large as one.
 */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                        \
    do {                                                                \
        const int status = (call);                                      \
        if (status) {                                                   \
            fprintf(stderr, "%s: %s\n", #call, nc_strerror(status));    \
            exit(1);                                                    \
        }                                                               \
    } while (0)

static const size_t lens[3] = {32, 256, 256}, chunks[3] = {8, 64, 64};
static float values[32 * 256 * 256];

static void make(const char *path)
{
    int ncid, dims[3], varid;
    char name[16];

    OK(nc_create(path, NC_NETCDF4, &ncid));
    OK(nc_put_att_text(ncid, NC_GLOBAL, "title", 4, "test"));
    for (int d = 0; d < 3; d++) OK(nc_def_dim(ncid, (const char *[]){"time", "y", "x"}[d], lens[d], &dims[d]));
    for (int v = 0; v < 9; v++) {
        snprintf(name, sizeof name, v ? "t%d" : "t", v);
        OK(nc_def_var(ncid, name, NC_FLOAT, 3, dims, &varid));
        OK(nc_def_var_chunking(ncid, varid, NC_CHUNKED, chunks));
        OK(nc_def_var_deflate(ncid, varid, 0, 1, 1));
        OK(nc_put_att_text(ncid, varid, "units", 1, "K"));
    }
    OK(nc_enddef(ncid));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) values[i] = (float)(i * 7919 % 1009);
    OK(nc_inq_varid(ncid, "t", &varid));
    OK(nc_put_var_float(ncid, varid, values));
    OK(nc_close(ncid));
}

int main(int argc, char **argv)
{
    const char *job = argc == 3 ? argv[1] : "";
    size_t start[3] = {8, 64, 64}, count[3] = {8, 64, 64}, selected = 1;
    int ncid, varid, times = 1;
    double sum = 0;

    if (strcmp(job, "make") == 0) {
        make(argv[2]);
        return 0;
    }
    if (strcmp(job, "box") == 0) memcpy(start, (size_t[]){8, 0, 0}, sizeof start), count[1] = count[2] = 256;
    if (strcmp(job, "all") == 0) memset(start, 0, sizeof start), memcpy(count, lens, sizeof count);
    if (strcmp(job, "maps") == 0) memcpy(count, (size_t[]){1, 64, 64}, sizeof count), times = 8;
    for (int d = 0; d < 3; d++) selected *= count[d];
    OK(nc_open(argv[2], NC_NOWRITE, &ncid));
    OK(nc_inq_varid(ncid, "t", &varid));
    for (int i = 0; i < times && strcmp(job, "open") != 0; i++, start[0]++) {
        OK(nc_get_vara_float(ncid, varid, start, count, values));
        for (size_t k = 0; k < selected; k++) sum += values[k] * (double)(k % 31);
    }
    printf("%.0f\n", sum);
    OK(nc_close(ncid));
    return 0;
}
