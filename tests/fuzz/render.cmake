ty_fuzz(fuzz_spec ty_render)
