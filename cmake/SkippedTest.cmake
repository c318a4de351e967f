# A test that cannot run here shows as skipped, so that nobody takes its absence for success.
function(add_skipped_test name reason)
    if(NCZCHUNK_REQUIRE_CHECKERS)
        message(FATAL_ERROR "The test ${name} cannot run: ${reason}.")
    endif()
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()
