ty_unit_test(executor/test_cgroup.c ty_supervisor)
ty_unit_test(executor/test_expand.c ty_executor)
ty_unit_test(executor/test_facts.c ty_executor)
ty_unit_test(executor/test_local.c ty_executor)
ty_unit_test(executor/test_make_plan.c ty_executor ty_oom)
ty_unit_test(executor/test_network.c ty_supervisor)
ty_unit_test(executor/test_operator.c ty_supervisor)

# Real processes are driven by a small program over the executor's own door: tests/fault/test_local_executor.py.
add_executable(local_run ${CMAKE_SOURCE_DIR}/tests/support/local_run.c)
target_link_libraries(local_run PRIVATE ty_executor)
ty_compile_options(local_run)
set_target_properties(local_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(local_run trainyard-supervisor)
