/* The settings. What other libraries say is looked up, not linked: not all have it. */
#include "settings.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* More threads than this are a mistake. */
#define MOST_THREADS 1024

static void *netcdf;

void nczc_set_netcdf(void *handle)
{
    netcdf = handle;
}

static size_t number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);

    return end == text || *end != '\0' || value < 1 || value > MOST_THREADS ? 1 : (size_t)value;
}

static void *look_up(const char *name)
{
    return dlsym(netcdf ? netcdf : RTLD_DEFAULT, name);
}

int nczc_tells_filter(unsigned id)
{
    const char *told = getenv("NCZCHUNK_NETCDF_FILTERS");
    void *symbol = look_up("H5Zfilter_avail");
    int (*is_available)(int);

    /* A libnetcdf without HDF5 has its own filters. */
    if (!symbol || (told && strcmp(told, "all") == 0)) return 1;
    memcpy(&is_available, &symbol, sizeof is_available);
    return is_available((int)id) > 0;
}

size_t nczc_threads(void)
{
    const char *threads = getenv("NCZCHUNK_NETCDF_THREADS");
    char *(*rc_get)(const char *);
    void *symbol;
    char *said;
    size_t found;

    if (threads) return number(threads);
    symbol = look_up("nc_rc_get");
    if (!symbol) return 1;
    memcpy(&rc_get, &symbol, sizeof rc_get);
    said = rc_get("NCZCHUNK.THREADS");
    found = said ? number(said) : 1;
    free(said);
    return found;
}
