ty_program(http_probe SOURCES ${CMAKE_SOURCE_DIR}/tests/support/http_probe.c LINKS ty_http)

foreach(module accept conditional gzip problem range reader response route server target trace)
    ty_unit_test(http/test_${module}.c ty_http)
endforeach()
ty_unit_test(http/test_oom.c ty_http ty_oom)
