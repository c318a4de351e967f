# NCZarr on nczchunk
IF(NETCDF_ENABLE_TESTS AND NETCDF_ENABLE_NCZCHUNK)
  foreach(test test_nczchunk_defects test_nczchunk_hard test_nczchunk_random test_nczchunk_internals)
    build_bin_test(${test})
    target_include_directories(${test} PRIVATE ../libnczarr
      $<TARGET_PROPERTY:nczchunk::nczchunk,INTERFACE_INCLUDE_DIRECTORIES>)
    set_target_properties(${test} PROPERTIES C_STANDARD 11 ENABLE_EXPORTS ON)
  endforeach()
  add_sh_test(nczarr_test run_nczchunk)
ENDIF()
