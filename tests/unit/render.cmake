ty_unit_test(render/test_render.c ty_render)
ty_unit_test(render/test_members.c ty_render)
ty_unit_test(render/test_property.c ty_render)
ty_unit_test(render/test_memory.c ty_render ty_oom)
ty_unit_test(render/test_golden.c ty_render)
target_compile_definitions(render_test_golden_c PRIVATE
    GOLDEN_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/render/golden")
ty_unit_test(render/test_import.c ty_render)
target_compile_definitions(render_test_import_c PRIVATE
    MANIFESTS_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/render/manifests")

# For .ci/manifests.
add_executable(manifest_mutate ${CMAKE_SOURCE_DIR}/tests/support/manifest_mutate.c)
target_link_libraries(manifest_mutate PRIVATE ty_render ty_contract)
ty_compile_options(manifest_mutate)
target_include_directories(manifest_mutate PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
set_target_properties(manifest_mutate PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
