ty_fuzz(fuzz_cli_answers ty_cli)
target_include_directories(fuzz_cli_answers PRIVATE ${CMAKE_SOURCE_DIR}/clients/cli)
