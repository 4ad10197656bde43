ty_fuzz(fuzz_cursor ty_store)
target_sources(fuzz_cursor PRIVATE 
    ${CMAKE_SOURCE_DIR}/tests/support/sim_disk.c ${CMAKE_SOURCE_DIR}/tests/support/sim_vfs.c)
target_include_directories(fuzz_cursor PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
