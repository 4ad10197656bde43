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
