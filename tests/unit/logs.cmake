foreach(module index archive tail)
    ty_unit_test(logs/test_${module}.c ty_logs)
endforeach()
