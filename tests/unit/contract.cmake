foreach(test test_pattern test_schema test_faults test_contract test_job_spec test_parameters test_documents test_threads)
    ty_unit_test(contract/${test}.c ty_contract)
endforeach()
ty_unit_test(contract/test_memory.c ty_contract ty_oom)

# The same schemas and instances given to Python's jsonschema and to ours.
ty_program(contract_cross SOURCES contract/cross.c LINKS ty_contract)
target_include_directories(contract_cross PRIVATE ${CMAKE_SOURCE_DIR}/server)
set_target_properties(contract_cross PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME contract/cross.py
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/contract/cross.py $<TARGET_FILE:contract_cross>
        ${CMAKE_SOURCE_DIR}/openapi/trainyard.v1.yaml)
set_tests_properties(contract/cross.py PROPERTIES TIMEOUT 900)
