ty_program(http_probe SOURCES ${CMAKE_SOURCE_DIR}/tests/support/http_probe.c LINKS ty_http)
