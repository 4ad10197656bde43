add_executable(local_run ${CMAKE_SOURCE_DIR}/tests/support/local_run.c)
target_link_libraries(local_run PRIVATE ty_executor)
ty_compile_options(local_run)
set_target_properties(local_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(local_run trainyard-supervisor)

ty_unit_test(executor/test_operator.c ty_supervisor)
