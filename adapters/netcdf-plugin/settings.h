/* What the plugin is told by the environment or by netCDF-C's .ncrc file. Internal to the plugin. */
#ifndef NCZCHUNK_NETCDF_SETTINGS_H
#define NCZCHUNK_NETCDF_SETTINGS_H

#include <stddef.h>

/* The threads that a read may use: NCZCHUNK_NETCDF_THREADS in the environment, NCZCHUNK.THREADS in .ncrc, or 1. */
size_t nczc_threads(void);

/* Whether URLs are opened: NCZCHUNK_NETCDF_URLS in the environment or NCZCHUNK.URLS in .ncrc is 1. */
int nczc_takes_urls(void);

/*
 * Whether a filter is told to programs that ask for a variable's filters: HDF5's numbers. nccopy and ncks give their
 * output the filters of what they read, and fail if HDF5 has no plugin for one. So such filters are told only if
 * NCZCHUNK_NETCDF_FILTERS in the environment is "all".
 */
int nczc_tells_filter(unsigned id);

/* Sets where netCDF-C's functions are looked for: a handle of dlopen, or NULL for the functions that all can see. */
void nczc_set_netcdf(void *handle);

#endif /* NCZCHUNK_NETCDF_SETTINGS_H */
