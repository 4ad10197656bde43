#include "unit.h"

#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"

static void pointers_escape_tilde_and_slash(void **state)
{
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, 100);
    ty_json_pointer_add(&buf, "a/b");
    ty_json_pointer_add(&buf, "m~n");
    ty_json_pointer_add(&buf, "");
    ty_json_pointer_add(&buf, "0");
    assert_string_equal(buf.data, "/a~1b/m~0n//0");
}

static void strings_are_escaped_and_repaired(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *quoted;
    } cases[] = {
        {"",                     0, "\"\""                                    },
        {"a b",                  3, "\"a b\""                                 },
        {"a\"b\\c",              5, "\"a\\\"b\\\\c\""                         },
        {"\b\f\n\r\t",           5, "\"\\b\\f\\n\\r\\t\""                     },
        {"\x01\x1f\x7f",         3, "\"\\u0001\\u001f\x7f\""                  },
        {"a\0b",                 3, "\"a\\u0000b\""                           },
        {"\xc3\xa9\xe2\x82\xac", 5, "\"\xc3\xa9\xe2\x82\xac\""                },
        {"x\xffy",               3, "\"x\xef\xbf\xbdy\""                      },
        {"x\xe2\x82",            3, "\"x\xef\xbf\xbd\""                       },
        {"\xed\xa0\x80",         3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"</script>",            9, "\"</script>\""                           },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_buf buf = {0};

        ty_buf_init(&buf, 100);
        ty_json_quote(&buf, cases[i].bytes, cases[i].len);
        assert_string_equal(buf.data, cases[i].quoted);
    }
}

static void the_writer_puts_commas_where_they_belong(void **state)
{
    ty_auto_buf buf = {0};
    struct ty_json_writer w;

    (void)state;
    ty_buf_init(&buf, 1000);
    ty_json_writer_init(&w, &buf);
    ty_json_object(&w);
    ty_json_put_string(&w, "a", "x");
    ty_json_put_string(&w, "none", NULL);
    ty_json_put_int(&w, "n", -5);
    ty_json_put_bool(&w, "t", true);
    ty_json_put_bool(&w, "f", false);
    ty_json_put_time(&w, "at", 1);
    ty_json_put_time(&w, "never", 0);
    ty_json_key(&w, "list");
    ty_json_array(&w);
    ty_json_int(&w, 1);
    ty_json_null(&w);
    ty_json_raw(&w, "{\"r\":1}", 7);
    ty_json_array(&w);
    ty_json_end(&w);
    ty_json_object(&w);
    ty_json_end(&w);
    ty_json_end(&w);
    ty_json_key(&w, "last\n");
    ty_json_string_len(&w, "p\0q", 3);
    ty_json_end(&w);
    assert_string_equal(buf.data, "{\"a\":\"x\",\"none\":null,\"n\":-5,\"t\":true,\"f\":false,"
                                  "\"at\":\"1970-01-01T00:00:00.000001Z\",\"never\":null,"
                                  "\"list\":[1,null,{\"r\":1},[],{}],\"last\\n\":\"p\\u0000q\"}");
    assert_int_equal(w.depth, 0);
}

static void integers_beyond_2_to_53_become_strings(void **state)
{
    ty_auto_buf buf = {0};
    struct ty_json_writer w;

    (void)state;
    ty_buf_init(&buf, 1000);
    ty_json_writer_init(&w, &buf);
    ty_json_array(&w);
    ty_json_int(&w, INT64_C(9007199254740992));
    ty_json_int(&w, INT64_C(9007199254740993));
    ty_json_int(&w, INT64_C(-9007199254740992));
    ty_json_int(&w, INT64_C(-9007199254740993));
    ty_json_int(&w, INT64_MIN);
    ty_json_end(&w);
    assert_string_equal(buf.data, "[9007199254740992,\"9007199254740993\",-9007199254740992,"
                                  "\"-9007199254740993\",\"-9223372036854775808\"]");
}

static void real_numbers_are_short_and_read_back_exactly(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1,                    "0.1"                    },
        {0.0,                    "0.0"                    },
        {-0.0,                   "-0.0"                   },
        {1.0,                    "1.0"                    },
        {100000.0,               "100000.0"               },
        {1e20,                   "1.0e+20"                },
        {-2.5e-7,                "-2.5e-07"               },
        {0.1 + 0.2,              "0.30000000000000004"    },
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {5e-324,                 "4.94065645841247e-324"  },
        {3.141592653589793,      "3.14159265358979"       },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json json = json_real(cases[i].value);
        ty_auto_json back = NULL;
        struct ty_json_writer w;
        ty_auto_buf buf = {0};

        ty_buf_init(&buf, 100);
        ty_json_writer_init(&w, &buf);
        ty_json_value(&w, json);
        if (i < UNIT_COUNT(cases) - 1)
            assert_string_equal(buf.data, cases[i].text);
        assert_int_equal(ty_json_parse(buf.data, buf.len, &back, NULL), TY_OK);
        assert_true(json_is_real(back));
        assert_true(json_equal(json, back));
    }
}

static void a_tree_is_written_as_it_was_parsed(void **state)
{
    static const char text[] =
        "{\"z\":[1,-2,true,false,null,\"\\u0001\xc3\xa9\",0.5],\"a\":{\"b\":{},\"c\":[[]]},"
        "\"big\":9223372036854775807}";
    ty_auto_json json = NULL;
    struct ty_json_writer w;
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, 1000);
    assert_int_equal(ty_json_parse(text, strlen(text), &json, NULL), TY_OK);
    ty_json_writer_init(&w, &buf);
    ty_json_value(&w, json);
    assert_string_equal(buf.data, text);
}

static void a_tree_beyond_the_buffer_fails_in_the_buffer(void **state)
{
    ty_auto_json json = json_pack("{s:[s,s,s]}", "a", "long text", "long text", "long text");
    struct ty_json_writer w;
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, 20);
    ty_json_writer_init(&w, &buf);
    ty_json_value(&w, json);
    assert_int_equal(buf.failed, TY_TOO_LARGE);
    assert_int_equal(ty_buf_check(&buf, "x", NULL), TY_TOO_LARGE);
}

static void the_writer_goes_64_levels_deep_and_no_deeper(void **state)
{
    struct ty_json_writer w;
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, 1000);
    ty_json_writer_init(&w, &buf);
    for (int i = 0; i < 64; i++)
        ty_json_array(&w);
    ty_json_int(&w, 1);
    ty_json_int(&w, 2);
    for (int i = 0; i < 64; i++)
        ty_json_end(&w);
    ty_json_end(&w);
    assert_int_equal(buf.failed, TY_OK);
    assert_int_equal(buf.len, 131);
    assert_memory_equal(buf.data + 62, "[[1,2]]", 7);
    for (int i = 0; i < 65; i++)
        ty_json_array(&w);
    assert_int_equal(buf.failed, TY_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_escape_tilde_and_slash),
        cmocka_unit_test(strings_are_escaped_and_repaired),
        cmocka_unit_test(the_writer_puts_commas_where_they_belong),
        cmocka_unit_test(integers_beyond_2_to_53_become_strings),
        cmocka_unit_test(real_numbers_are_short_and_read_back_exactly),
        cmocka_unit_test(a_tree_is_written_as_it_was_parsed),
        cmocka_unit_test(a_tree_beyond_the_buffer_fails_in_the_buffer),
        cmocka_unit_test(the_writer_goes_64_levels_deep_and_no_deeper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
