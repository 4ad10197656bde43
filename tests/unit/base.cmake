# For tests of any room: link ty_oom and see tests/support/oom.h.
add_library(ty_oom STATIC ${CMAKE_SOURCE_DIR}/tests/support/oom.c)
ty_compile_options(ty_oom)
target_link_libraries(ty_oom PUBLIC PkgConfig::JANSSON)
target_link_options(ty_oom INTERFACE
    LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup)

foreach(module buf clock digest error faults file id json json_write log map pool queue random str tree yaml
        yaml_write)
    ty_unit_test(base/test_${module}.c ty_base)
endforeach()
ty_unit_test(base/test_oom.c ty_base ty_oom)
ty_unit_test(base/test_json_merge.c ty_base ty_oom)

# The writer's output under another reader, where PyYAML is at hand.
add_executable(base_yaml_filter base/yaml_filter.c)
target_link_libraries(base_yaml_filter PRIVATE ty_base)
ty_compile_options(base_yaml_filter)
set_target_properties(base_yaml_filter PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
execute_process(COMMAND /usr/bin/python3 -c "import yaml" RESULT_VARIABLE without_pyyaml OUTPUT_QUIET ERROR_QUIET)
if(NOT without_pyyaml)
    add_test(NAME base/check_yaml11.py
        COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/base/check_yaml11.py $<TARGET_FILE:base_yaml_filter>)
endif()
