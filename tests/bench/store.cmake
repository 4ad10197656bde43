ty_bench(store_floor SOURCES store_floor.c LINKS ty_store PkgConfig::SQLITE)
ty_bench(commit_floor SOURCES commit_floor.c LINKS PkgConfig::SQLITE)
ty_bench(fill SOURCES fill.c LINKS ty_store)
