if(@NETCDF_ENABLE_NCZCHUNK@)
  include(CMakeFindDependencyMacro)
  find_dependency(nczchunk 0.3)
endif()

