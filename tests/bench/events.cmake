ty_bench(event_floor SOURCES event_floor.c)
