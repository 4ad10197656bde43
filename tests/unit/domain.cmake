foreach(test event job machine access quantity image policy spec_faults spec_values spec_warnings)
    ty_unit_test(domain/test_${test}.c ty_domain)
endforeach()
ty_unit_test(domain/test_spec_memory.c ty_domain ty_oom)
