# The room's own pieces are tested beside its door.
ty_unit_test(engine/test_admit.c ty_engine)
ty_unit_test(engine/test_pieces.c ty_engine)
