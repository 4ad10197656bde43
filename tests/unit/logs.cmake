foreach(module archive checkpoints digest disk_full files frame index prune tail watch writer_dies)
    ty_unit_test(logs/test_${module}.c ty_logs)
endforeach()
ty_unit_test(logs/test_oom.c ty_logs ty_oom)
