# The viewer of the reference page is an npm package, pinned with its digest by viewer/package-lock.json. It is fetched while
# CMake configures. Where npm is not there, is not wanted (-DTRAINYARD_DOCS_VIEWER=OFF) or gets nothing, /docs is the plain
# page, and the build goes on.
option(TRAINYARD_DOCS_VIEWER "embed the viewer of the reference page, where npm can fetch it" ON)
find_program(TRAINYARD_NPM npm)

# Fetch into `folder` once for each lockfile. `good_out`: whether the packages are there.
function(ty_fetch_viewer folder good_out)
    set(own ${CMAKE_CURRENT_SOURCE_DIR}/viewer)
    set(fetched ${folder}/fetched-lock.json) # a copy of the lockfile, made after the packages
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${own}/package-lock.json)
    set(${good_out} ON PARENT_SCOPE)
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${own}/package-lock.json ${fetched}
        RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
    if(NOT differs)
        return()
    endif()
    file(REMOVE ${fetched})
    file(COPY ${own}/package.json ${own}/package-lock.json DESTINATION ${folder})
    message(STATUS "Fetching the viewer of the reference page")
    execute_process(
        COMMAND ${CMAKE_COMMAND} -E env SCARF_ANALYTICS=false
            ${TRAINYARD_NPM} ci --ignore-scripts --no-audit --no-fund --no-update-notifier --prefer-offline
            --fetch-retries=1 --fetch-timeout=20000 --loglevel=error
        WORKING_DIRECTORY ${folder} TIMEOUT 90 RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE words)
    if(failed)
        string(REGEX MATCH "[^\n]*" words "${words}")
        message(STATUS "npm did not fetch it (${failed}: ${words}); /docs will be the plain page")
        set(${good_out} OFF PARENT_SCOPE)
        return()
    endif()
    file(COPY_FILE ${own}/package-lock.json ${fetched})
endfunction()

set(viewer_folder ${CMAKE_CURRENT_BINARY_DIR}/viewer)
set(viewer_c viewer_none.c)
set(viewer_good OFF)
if(TRAINYARD_DOCS_VIEWER AND TRAINYARD_NPM)
    ty_fetch_viewer(${viewer_folder} viewer_good)
endif()
if(viewer_good)
    set(viewer_c ${CMAKE_CURRENT_BINARY_DIR}/viewer_files.c)
    set(viewer_own ${CMAKE_CURRENT_SOURCE_DIR}/viewer)
    add_custom_command(OUTPUT ${viewer_c}
        COMMAND ${TRAINYARD_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/viewer.py
            ${viewer_own} ${viewer_folder}/node_modules ${viewer_c}
        DEPENDS viewer.py ${viewer_folder}/fetched-lock.json
            ${viewer_own}/start.js ${viewer_own}/page.css ${viewer_own}/page.html
        VERBATIM)
endif()
