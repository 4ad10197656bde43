ty_fuzz(fuzz_spec ty_render)
ty_fuzz(fuzz_import ty_render)
