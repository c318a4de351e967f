  if(NETCDF_ENABLE_NCZCHUNK)
    find_package(nczchunk 0.3 REQUIRED)
    message(STATUS "NCZarr runs on nczchunk ${nczchunk_VERSION}")
  endif()
