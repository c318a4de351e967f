if(NETCDF_ENABLE_NCZCHUNK)
  target_link_libraries(netcdf PRIVATE nczchunk::nczchunk)
  # The installed library finds libnczchunk where it was linked to it.
  set_property(TARGET netcdf PROPERTY INSTALL_RPATH_USE_LINK_PATH TRUE)
endif()

