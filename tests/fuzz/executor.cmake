foreach(target fuzz_local_plan fuzz_status_line)
    ty_fuzz(${target} ty_executor)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/server)
endforeach()
