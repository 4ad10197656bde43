ty_bench(log_floor SOURCES log_floor.c)
ty_bench(log_relay SOURCES log_relay.c LINKS ty_logs)
