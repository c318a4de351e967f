option(NETCDF_ENABLE_NCZCHUNK "Run the chunking of NCZarr on the library nczchunk." OFF)
