ty_fuzz(fuzz_json ty_base)
ty_fuzz(fuzz_yaml ty_base)
ty_fuzz(fuzz_time ty_base)
ty_fuzz(fuzz_utf8 ty_base)
