ty_fuzz(fuzz_texts ty_domain)
