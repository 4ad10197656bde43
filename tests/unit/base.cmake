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
