ty_fuzz(fuzz_texts ty_domain)
ty_fuzz(fuzz_policy ty_domain)
