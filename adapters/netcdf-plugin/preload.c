/*
 * The plugin for programs that do not know it, to be preloaded: nc_open and nc__open come here first. What is opened to
 * be read and netCDF-C cannot read itself is opened by the plugin; everything else goes to netCDF-C as it is.
 *
 *     LD_PRELOAD=libnczchunk_netcdf_preload.so ncdump -h sst.zarr
 */
#include "nczchunk_netcdf.h"
#include "dataset.h"
#include "settings.h"
#include "url.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* The functions of the libnetcdf that a caller is linked to. */
typedef struct Netcdf {
    int (*open)(const char *, int, int *);
    int (*open_hint)(const char *, int, size_t *, int *);
    int (*define)(int, NC_Dispatch *, char *);
    int (*inquire)(int, NC_Dispatch **, char *);
    int (*path)(int, size_t *, char *);
} Netcdf;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int look_up(void *handle, Netcdf *netcdf)
{
    static const char *const names[] = {"nc_open", "nc__open", "nc_def_user_format", "nc_inq_user_format",
                                       "nc_inq_path"};
    void *found[5];

    for (int i = 0; i < 5; i++) {
        found[i] = dlsym(handle, names[i]);
        if (!found[i]) return 0;
    }
    memcpy(netcdf, found, sizeof found);
    return 1;
}

/*
 * Finds netCDF-C's functions: those that come after these, or, where Python has loaded libnetcdf for itself alone,
 * those of the library that calls.
 */
static int find_netcdf(const void *caller, Netcdf *netcdf)
{
    Dl_info info;
    void *handle;

    if (look_up(RTLD_NEXT, netcdf)) return 1;
    if (!dladdr(caller, &info) || !info.dli_fname) return 0;
    handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) return 0;
    /* The handle is kept: what it leads to stays loaded as long as the caller. */
    nczc_set_netcdf(handle);
    return look_up(handle, netcdf);
}

/* The mode flag of a format that is this plugin's, in one libnetcdf; 0 if there is none left. */
static int register_in(const Netcdf *netcdf)
{
    static const int flags[] = {NC_UDF0, NC_UDF1};
    NC_Dispatch *ours = nczchunk_netcdf_dispatch(), *used;
    char magic[64];
    int flag = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < 2 && !flag; i++) {
        used = NULL;
        if (netcdf->inquire(flags[i], &used, magic)) continue;
        if (used == ours || (!used && netcdf->define(flags[i], ours, NULL) == NC_NOERR)) flag = flags[i];
    }
    pthread_mutex_unlock(&lock);
    return flag;
}

static int is_file(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

/* Whether netCDF-C leaves such a file to others: zip, cfdb, references, files that name a URL, and HDF5 if the
 * environment says so. */
static int is_ours(const char *path)
{
    static const char cfdb[] = "\x4f\x7e\x8a\x3f\xe7\x5c\x47\x50", hdf5[] = "\211HDF\r\n\032\n";
    const char *take_hdf5 = getenv("NCZCHUNK_NETCDF_HDF5");
    char magic[9] = "";
    FILE *file = fopen(path, "rb");
    size_t len;

    if (!file) return 0;
    len = fread(magic, 1, 8, file);
    fclose(file);
    if (len < 8) return 0;
    if (magic[0] == '{' || memcmp(magic, "NCZCHUNK", 8) == 0) return 1;
    if (memcmp(magic, "PK\3\4", 4) == 0 || memcmp(magic, cfdb, 8) == 0) return 1;
    return take_hdf5 && strcmp(take_hdf5, "1") == 0 && memcmp(magic, hdf5, 8) == 0;
}

/* Whether a URL is for the plugin: those of object stores, and of HTTP servers if it asks for it or names Zarr, which
 * netCDF-C does not read from there; other HTTP is netCDF-C's DAP. */
static int is_our_url(const char *path, int mode)
{
    const char *fragment = strchr(path, '#');

    if (mode & (NC_WRITE | NC_INMEMORY) || !nczc_is_url(path) || !nczc_takes_urls()) return 0;
    if (strncmp(path, "http", 4) != 0) return 1;
    return fragment && (strstr(fragment, "zarr") || strstr(fragment, "xarray") || strstr(fragment, "nczchunk"));
}

/* The path for netCDF-C of what the plugin is to open: a regular file, whose first bytes netCDF-C reads; NULL for what
 * is not for the plugin. Free it. */
static char *path_for_plugin(const char *path, int mode)
{
    static const char *const names[] = {"zarr.json", ".zgroup", ".zarray", ".zmetadata"};
    const char *fragment = strchr(path, '#');
    struct stat found;
    char *inside;
    size_t len = strlen(path);

    if (mode & (NC_WRITE | NC_INMEMORY)) return NULL;
    if (strncmp(path, "file://", 7) == 0) {
        /* A URL that asks for it: file:///data/sst.zarr#mode=nczchunk. */
        if (!fragment || !strstr(fragment, "nczchunk")) return NULL;
        len = (size_t)(fragment - path) - 7;
        path += 7;
    }
    inside = malloc(len + 16);
    if (!inside) return NULL;
    memcpy(inside, path, len);
    inside[len] = '\0';
    if (stat(inside, &found) == 0 && S_ISREG(found.st_mode) && is_ours(inside)) return inside;
    if (stat(inside, &found) == 0 && S_ISDIR(found.st_mode)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            inside[len] = '/';
            strcpy(inside + len + 1, names[i]);
            if (is_file(inside)) return inside;
        }
    }
    free(inside);
    return NULL;
}

static int open_by(const void *caller, const char *path, int mode, size_t *hint, int *ncid)
{
    Netcdf netcdf;
    char *ours;
    int flag, status, is_url;

    if (!find_netcdf(caller, &netcdf)) return NC_ENOTBUILT;
    is_url = path && is_our_url(path, mode);
    if (is_url) ours = nczc_file_for(path);
    else ours = path ? path_for_plugin(path, mode) : NULL;
    flag = ours ? register_in(&netcdf) : 0;
    if (flag) {
        path = ours;
        mode |= flag;
    }
    status = hint ? netcdf.open_hint(path, mode, hint, ncid) : netcdf.open(path, mode, ncid);
    if (is_url && ours) unlink(ours);
    free(ours);
    return status;
}

EXPORT int nc_open(const char *path, int mode, int *ncid)
{
    return open_by(__builtin_return_address(0), path, mode, NULL, ncid);
}

EXPORT int nc__open(const char *path, int mode, size_t *hint, int *ncid)
{
    return open_by(__builtin_return_address(0), path, mode, hint, ncid);
}

/* netCDF-C knows a URL by the file that named it. */
EXPORT int nc_inq_path(int ncid, size_t *len, char *path)
{
    const char *url = nczc_url_of(ncid);
    Netcdf netcdf;

    if (!url) return find_netcdf(__builtin_return_address(0), &netcdf) ? netcdf.path(ncid, len, path) : NC_ENOTBUILT;
    if (len) *len = strlen(url);
    if (path) strcpy(path, url);
    return NC_NOERR;
}
