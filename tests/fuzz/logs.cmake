foreach(what file_path log_frame log_index)
    ty_fuzz(fuzz_${what} ty_logs)
endforeach()
