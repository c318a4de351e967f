/* Two copies of libnetcdf in one process, each loaded for itself, as a program and an extension of Python do. Strides
 * over an unlimited dimension, which stock netCDF-C reads wrongly, must be right with both.
 *
 *   two DIRECTORY LIBRARY LIBRARY
 */
#include <dlfcn.h>
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (found == NULL) {
        fprintf(stderr, "two: %s\n", dlerror());
        exit(1);
    }
    return found;
}

#define LOAD(name) *(void **)&name = find(library, "nc_" #name)

static int is_right(const char *path, const char *url)
{
    const size_t start[2] = {0, 0}, all[2] = {3, 13}, some[2] = {3, 5}, chunk[2] = {3, 8};
    const ptrdiff_t stride[2] = {1, 3};
    int values[3][13], found[3][5] = {{0}}, ncid, dims[2], varid, wrong = 0;
    int (*create)(const char *, int, int *), (*def_dim)(int, const char *, size_t, int *), (*close)(int);
    int (*def_var)(int, const char *, nc_type, int, const int *, int *);
    int (*def_var_chunking)(int, int, int, const size_t *);
    int (*put_vara_int)(int, int, const size_t *, const size_t *, const int *);
    int (*get_vars_int)(int, int, const size_t *, const size_t *, const ptrdiff_t *, int *);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        fprintf(stderr, "two: %s\n", dlerror());
        return 0;
    }
    LOAD(create);
    LOAD(def_dim);
    LOAD(def_var);
    LOAD(def_var_chunking);
    LOAD(put_vara_int);
    LOAD(get_vars_int);
    LOAD(close);
    for (int i = 0; i < 39; i++)
        values[i / 13][i % 13] = i;
    if (create(url, NC_NETCDF4 | NC_CLOBBER, &ncid) || def_dim(ncid, "y", 3, &dims[0]) ||
        def_dim(ncid, "x", NC_UNLIMITED, &dims[1]) || def_var(ncid, "v", NC_INT, 2, dims, &varid) ||
        def_var_chunking(ncid, varid, NC_CHUNKED, chunk) || put_vara_int(ncid, varid, start, all, &values[0][0]) ||
        get_vars_int(ncid, varid, start, some, stride, &found[0][0]) || close(ncid))
        return 0;
    for (int i = 0; i < 15; i++)
        wrong += found[i / 5][i % 5] != i / 5 * 13 + i % 5 * 3;
    return wrong == 0;
}

int main(int argc, char **argv)
{
    char url[4200];

    if (argc != 4)
        return 2;
    snprintf(url, sizeof url, "file://%s/file#mode=nczarr,file", argv[1]);
    /* In turn, so that the second does not take the place of the first. */
    for (int i = 0; i < 4; i++)
        if (!is_right(argv[2 + i % 2], url)) {
            fprintf(stderr, "two: wrong with %s\n", argv[2 + i % 2]);
            return 1;
        }
    return 0;
}
