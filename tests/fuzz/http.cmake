foreach(target reader target fields gzip)
    ty_fuzz(fuzz_http_${target} ty_http)
endforeach()
