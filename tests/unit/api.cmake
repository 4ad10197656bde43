ty_unit_test(api/test_access_table.c store_support ty_api)
