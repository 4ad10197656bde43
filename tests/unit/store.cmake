add_library(store_support STATIC
    ${CMAKE_SOURCE_DIR}/tests/support/store_fixture.c
    ${CMAKE_SOURCE_DIR}/tests/support/sim_disk.c
    ${CMAKE_SOURCE_DIR}/tests/support/sim_vfs.c)
target_link_libraries(store_support PUBLIC ty_store cmocka)
ty_compile_options(store_support)
target_include_directories(store_support PUBLIC ${CMAKE_SOURCE_DIR}/tests/support)

foreach(module access cursor jobs kill lists memory power records store threads)
    ty_unit_test(store/test_${module}.c store_support ty_store)
endforeach()
ty_unit_test(store/test_oom.c store_support ty_store ty_oom)
if(TRAINYARD_SANITIZE) # each seed takes several times as long
    set_tests_properties(store/test_power.c PROPERTIES ENVIRONMENT TRAINYARD_SEEDS=20)
endif()
