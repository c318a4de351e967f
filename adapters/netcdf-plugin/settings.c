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

/* What a variable of the environment says or else a key in .ncrc; NULL if neither is there. Free it. */
static char *setting(const char *variable, const char *key)
{
    const char *told = getenv(variable);
    void *symbol = told ? NULL : look_up("nc_rc_get");
    char *(*rc_get)(const char *);

    if (told) return strdup(told);
    if (!symbol) return NULL;
    memcpy(&rc_get, &symbol, sizeof rc_get);
    return rc_get(key);
}

size_t nczc_threads(void)
{
    char *told = setting("NCZCHUNK_NETCDF_THREADS", "NCZCHUNK.THREADS");
    const size_t threads = told ? number(told) : 1;

    free(told);
    return threads;
}

int nczc_takes_urls(void)
{
    char *told = setting("NCZCHUNK_NETCDF_URLS", "NCZCHUNK.URLS");
    const int takes = told && strcmp(told, "1") == 0;

    free(told);
    return takes;
}
