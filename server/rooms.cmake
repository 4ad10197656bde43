# How a room is declared: ty_room(base SOURCES error.c … LINKS PkgConfig::JANSSON) makes the library ty_base.
# A room may link only what it names; `tests/walls.py` holds the include lines against the same list.

set(TRAINYARD_WARNINGS
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wformat=2 -Wundef -Wvla -Werror)
set(TRAINYARD_HARDENING -fstack-protector-strong -fPIE -fno-omit-frame-pointer)

function(ty_compile_options target)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE TRAINYARD_VERSION="${PROJECT_VERSION}")
    target_compile_options(${target} PRIVATE ${TRAINYARD_WARNINGS} ${TRAINYARD_HARDENING}
        -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
    target_link_options(${target} PRIVATE -pie -Wl,-z,relro,-z,now)
    if(TRAINYARD_FAILPOINTS)
        target_compile_definitions(${target} PRIVATE TRAINYARD_FAILPOINTS)
    endif()
    if(TRAINYARD_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${TRAINYARD_SANITIZE} -fno-sanitize-recover=undefined)
        target_link_options(${target} PRIVATE -fsanitize=${TRAINYARD_SANITIZE})
    elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
        target_compile_definitions(${target} PRIVATE _FORTIFY_SOURCE=2)
    endif()
    if(TRAINYARD_FUZZ)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
endfunction()

function(ty_room name)
    cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS" ${ARGN})
    add_library(ty_${name} STATIC ${ROOM_SOURCES})
    target_link_libraries(ty_${name} PUBLIC ${ROOM_LINKS})
    ty_compile_options(ty_${name})
endfunction()

function(ty_program name)
    cmake_parse_arguments(PROGRAM "" "" "SOURCES;LINKS" ${ARGN})
    add_executable(${name} ${PROGRAM_SOURCES})
    target_link_libraries(${name} PRIVATE ${PROGRAM_LINKS})
    ty_compile_options(${name})
endfunction()

# ty_unit_test(base/test_buf.c ty_base): one cmocka program, registered with ctest under its path.
function(ty_unit_test source)
    string(REGEX REPLACE "[/.]" "_" name ${source})
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${ARGN} cmocka)
    ty_compile_options(${name})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support ${CMAKE_SOURCE_DIR}/server)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME ${source} COMMAND ${name})
    # Whatever takes so long hangs, on however busy a machine.
    set_tests_properties(${source} PROPERTIES TIMEOUT 900)
endfunction()
