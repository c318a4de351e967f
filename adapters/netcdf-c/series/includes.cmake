if(NETCDF_ENABLE_NCZCHUNK)
    target_include_directories(nczarr PRIVATE $<TARGET_PROPERTY:nczchunk::nczchunk,INTERFACE_INCLUDE_DIRECTORIES>)
endif()
