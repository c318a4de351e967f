/* URLs, and the files that name them: netCDF-C reads the first bytes of a file before it asks the plugin. Internal to
 * the plugin. */
#ifndef NCZCHUNK_NETCDF_URL_H
#define NCZCHUNK_NETCDF_URL_H

/* Whether a path is a URL of an object store or of an HTTP server. */
int nczc_is_url(const char *path);

/*
 * The URL that a file names, whose only line is `NCZCHUNK s3://ocean/sst.zarr`; NULL for other files. The word
 * nczchunk in its `#mode=`, which says that the plugin is meant, is left out. Free it.
 */
char *nczc_url_in(const char *path);

/* Makes a file that names a URL, and returns its path; NULL if that cannot be. Remove the file, and free the path. */
char *nczc_file_for(const char *url);

#endif /* NCZCHUNK_NETCDF_URL_H */
