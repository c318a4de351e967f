if(NETCDF_ENABLE_NCZCHUNK)
  list(APPEND NC_LIBS "-lnczchunk")
endif()
