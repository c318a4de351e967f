/*
 * nczchunk as a user-defined format of netCDF-C: programs of netCDF read what nczchunk reads, by the functions of
 * netcdf.h. docs/netcdf-plugin.md says what works with which version of netCDF-C.
 *
 *     nc_def_user_format(NC_UDF0, nczchunk_netcdf_dispatch(), NULL);
 *     nc_open("sst.zarr/zarr.json", NC_UDF0, &ncid);
 *
 * A Zarr directory is opened by the path of a metadata file in it, for netCDF-C reads the first bytes of what it opens.
 */
#ifndef NCZCHUNK_NETCDF_H
#define NCZCHUNK_NETCDF_H

#include <netcdf.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the table of functions for nc_def_user_format, for any of its formats and any magic number. It is static and
 * never NULL. netCDF-C from 4.10 on calls this function itself where a .ncrc file says NETCDF.UDF0.LIBRARY and
 * NETCDF.UDF0.INIT=nczchunk_netcdf_dispatch.
 *
 * Several threads may read different open files, as far as netCDF-C allows that.
 */
#if defined(__GNUC__) && !defined(_WIN32)
__attribute__((visibility("default")))
#endif
NC_Dispatch *nczchunk_netcdf_dispatch(void);

#ifdef __cplusplus
}
#endif

#endif /* NCZCHUNK_NETCDF_H */
