/* What netCDF-C's NCZarr takes: a variable of a directory of chunks, with a chunk cache that has room for all of it.
 *
 *     netcdf DIRECTORY    where it may write
 */
#include <netcdf.h>
#include <unistd.h>

#include "peer.h"

static const char *directory;
static int file = -1, var;
static char path[PEER_LINE];

static void check(int status, const char *what)
{
    char words[256];

    snprintf(words, sizeof words, "%s: %s", what, nc_strerror(status));
    peer_check(status == NC_NOERR, words);
}

static void versions(void)
{
    char version[64] = "";

    sscanf(nc_inq_libvers(), "%63s", version);
    printf("\"netcdf-c\": \"%s\"", version);
}

static void unload(void)
{
    char command[PEER_LINE + 16];

    if (file < 0)
        return;
    check(nc_close(file), "nc_close");
    file = -1;
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    peer_check(system(command) == 0, command);
}

static const char *load(const peer_array *array)
{
    char url[PEER_LINE + 64];
    int dimids[PEER_MAX_RANK];
    const float fill_float = -999;
    const double fill_double = -999;
    const short fill_short = -999;
    size_t chunks = 1;
    nc_type type = NC_FLOAT;
    const void *fill_value = &fill_float;

    if (strcmp(array->codec, "none") != 0)
        return "Debian's netCDF-C has no zstd filter for Zarr";
    if (strcmp(array->type, "float64") == 0) {
        type = NC_DOUBLE;
        fill_value = &fill_double;
    } else if (strcmp(array->type, "int16") == 0) {
        type = NC_SHORT;
        fill_value = &fill_short;
    }
    snprintf(path, sizeof path, "%s/%s.%ld.zarr", directory, array->name, (long)getpid());
    snprintf(url, sizeof url, "file://%s#mode=nczarr,file", path);
    check(nc_create(url, NC_NETCDF4 | NC_CLOBBER, &file), "nc_create");
    for (size_t d = 0; d < array->rank; d++) {
        char name[8];

        snprintf(name, sizeof name, "d%zu", d);
        check(nc_def_dim(file, name, array->dimlens[d], &dimids[d]), "nc_def_dim");
        chunks *= array->dimlens[d] / array->chunklens[d];
    }
    check(nc_def_var(file, "x", type, (int)array->rank, dimids, &var), "nc_def_var");
    check(nc_def_var_chunking(file, var, NC_CHUNKED, array->chunklens), "nc_def_var_chunking");
    check(nc_def_var_fill(file, var, NC_FILL, fill_value), "nc_def_var_fill");
    check(nc_def_var_endian(file, var, strcmp(array->order, "big") == 0 ? NC_ENDIAN_BIG : NC_ENDIAN_LITTLE),
          "nc_def_var_endian");
    check(nc_set_var_chunk_cache(file, var, (size_t)2 << 30, chunks + 1, 0.5f), "nc_set_var_chunk_cache");
    check(nc_enddef(file), "nc_enddef");
    return NULL;
}

static void read_box(const peer_box *box, void *memory)
{
    const ptrdiff_t *stride = (const ptrdiff_t *)box->stride;
    ptrdiff_t imap[PEER_MAX_RANK], step = 1;

    if (!box->transposed) {
        check(nc_get_vars(file, var, box->start, box->count, stride, memory), "nc_get_vars");
        return;
    }
    for (size_t d = 0; d < box->rank; d++) {
        imap[d] = step;
        step *= (ptrdiff_t)box->count[d];
    }
    check(nc_get_varm(file, var, box->start, box->count, stride, imap, memory), "nc_get_varm");
}

static void write_box(const peer_box *box, const void *memory)
{
    check(nc_put_vars(file, var, box->start, box->count, (const ptrdiff_t *)box->stride, memory), "nc_put_vars");
}

static void read_element(const size_t *position, void *memory)
{
    check(nc_get_var1(file, var, position, memory), "nc_get_var1");
}

int main(int argc, char **argv)
{
    const peer netcdf = {versions, load, unload, read_box, write_box, read_element};

    peer_check(argc == 2, "usage: netcdf DIRECTORY");
    directory = argv[1];
    peer_serve(&netcdf);
    return 0;
}
