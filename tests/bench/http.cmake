ty_bench(http_floor SOURCES http_floor.c LINKS PkgConfig::MICROHTTPD PkgConfig::SQLITE)
