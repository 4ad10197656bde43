ty_unit_test(app/test_config.c ty_config)
