foreach(module archive checkpoints files frame index tail)
    ty_unit_test(logs/test_${module}.c ty_logs)
endforeach()
