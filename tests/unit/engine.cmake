# The room's own pieces are tested beside its door; what needs the store uses the real one.
ty_unit_test(engine/test_admit.c ty_engine)
ty_unit_test(engine/test_pieces.c ty_engine)
foreach(test actions life prune results scale)
    ty_unit_test(engine/test_${test}.c ty_engine)
    target_sources(engine_test_${test}_c PRIVATE
        ${CMAKE_SOURCE_DIR}/tests/support/store_fixture.c ${CMAKE_CURRENT_LIST_DIR}/engine/engine_fixture.c)
endforeach()
ty_unit_test(engine/test_threads.c ty_engine)
target_sources(engine_test_threads_c PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/store_fixture.c)
