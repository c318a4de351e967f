/* What the tests and the benchmark share. */
#ifndef NCZCHUNK_NETCDF_CHECK_H
#define NCZCHUNK_NETCDF_CHECK_H

#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The program ends with 1 if a call fails, or what should be is not. */
#define OK(call) check_ok(call, #call, __FILE__, __LINE__)
#define EXPECT(condition) check_that(condition, #condition, __FILE__, __LINE__)

static inline void check_ok(int status, const char *call, const char *file, int line)
{
    if (status == NC_NOERR)
        return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, nc_strerror(status));
    exit(1);
}

static inline void check_that(int condition, const char *text, const char *file, int line)
{
    if (condition)
        return;
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, text);
    exit(1);
}

static inline double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A new file with one variable, v, of at most 4 dimensions: url names it, and v has the id 0. chunklens NULL leaves
 * them to netCDF. */
static inline int create_file(const char *url, nc_type type, int rank, const size_t *dimlens, const size_t *chunklens)
{
    static const char *const names[] = {"t", "z", "y", "x"};
    int ncid, dims[4];

    OK(nc_create(url, NC_NETCDF4 | NC_CLOBBER, &ncid));
    for (int d = 0; d < rank; d++)
        OK(nc_def_dim(ncid, names[d], dimlens[d], &dims[d]));
    OK(nc_def_var(ncid, "v", type, rank, dims, &(int){0}));
    if (rank > 0 && chunklens != NULL)
        OK(nc_def_var_chunking(ncid, 0, NC_CHUNKED, chunklens));
    return ncid;
}

/* Where a file of this name in a directory is. */
static inline const char *url_of(const char *directory, const char *name)
{
    static char url[4200];

    snprintf(url, sizeof url, "file://%s/%s#mode=nczarr,file", directory, name);
    return url;
}

/*
 * Whether a program of cases is to run this one: "program CASE DIRECTORY" asks for it. Without arguments it is named.
 */
static inline int is_asked_for(const char *name, int argc, char **argv)
{
    if (argc < 3)
        puts(name);
    return argc >= 3 && strcmp(argv[1], name) == 0;
}

#endif
