#include "unit.h"

#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

static void any_json_value_is_parsed(void **state)
{
    static const char *const cases[] = {
        "null",
        " true ",
        "0",
        "-1.5e3",
        "\"\"",
        "[]",
        "{}",
        "[1,[2,{\"a\":[]}]]\n",
        "\t{\"a\":1}\r\n",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json json = NULL;

        assert_int_equal(ty_json_parse(cases[i], strlen(cases[i]), &json, NULL), TY_OK);
        assert_non_null(json);
    }
}

static void faults_have_a_code_and_a_position(void **state)
{
    static const struct {
        const char *text;
        const char *code;
        const char *words; /* how the text starts */
    } cases[] = {
        {"",                          "json_empty",         "there is no JSON value"},
        {" \n\t ",                    "json_empty",         "there is no JSON value"},
        {"{\"a\":1,\n \"b\"}",        "json_syntax",        "line 2, column 5: "    },
        {"[1,]",                      "json_syntax",        "line 1, column 4: "    },
        {"[1",                        "json_syntax",        "line 1, column 2: "    },
        {"\"abc",                     "json_syntax",        "line 1, column "       },
        {"\"abc\\",                   "json_syntax",        "line 1, column "       },
        {"\"abc\\\"",                 "json_syntax",        "line 1, column "       },
        {"tru",                       "json_syntax",        "line 1, column 3: "    },
        {"{a:1}",                     "json_syntax",        "line 1, column 2: "    },
        {"'a'",                       "json_syntax",        "line 1, column 1: "    },
        {"[01]",                      "json_syntax",        "line 1, column "       },
        {"[+1]",                      "json_syntax",        "line 1, column "       },
        {"[.5]",                      "json_syntax",        "line 1, column "       },
        {"[NaN]",                     "json_syntax",        "line 1, column "       },
        {"// x\n1",                   "json_syntax",        "line 1, column "       },
        {"]",                         "json_syntax",        "line 1, column 1: "    },
        {"[\"a\tb\"]",                "json_syntax",        "line 1, column "       },
        {"\xef\xbb\xbf{}",            "json_syntax",        "line 1, column "       },
        {"{\"a\":1,\"b\":2,\"a\":3}", "json_duplicate_key", "line 1, column "       },
        {"{\"a\":{\"x\":1,\"x\":2}}", "json_duplicate_key", "line 1, column "       },
        {"{\"a\":1,\"\\u0061\":3}",   "json_duplicate_key", "line 1, column "       },
        {"[9223372036854775808]",     "json_number_range",  "line 1, column "       },
        {"[-9223372036854775809]",    "json_number_range",  "line 1, column "       },
        {"[1e999]",                   "json_number_range",  "line 1, column "       },
        {"[\"a\\u0000b\"]",           "json_nul",           "line 1, column "       },
        {"{\"a\\u0000b\":1}",         "json_nul",           "line 1, column "       },
        {"[\"\xff\"]",                "json_utf8",          "line 1, column "       },
        {"[\"\xed\xa0\x80\"]",        "json_utf8",          "line 1, column "       },
        {"[\"\xc0\xaf\"]",            "json_utf8",          "line 1, column "       },
        {"\xff",                      "json_utf8",          "line 1, column "       },
        {"[\"\\ud800\"]",             "json_syntax",        "line 1, column "       },
        {"[\"\\udc00\"]",             "json_syntax",        "line 1, column "       },
        {"[] []",                     "json_trailing",      "line 1, column "       },
        {"1 x",                       "json_trailing",      "line 1, column "       },
        {"{}\n}",                     "json_trailing",      "line 2, column 1: "    },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        json_t *json = (json_t *)&json;
        struct ty_error err;

        assert_int_equal(ty_json_parse(cases[i].text, strlen(cases[i].text), &json, &err),
                         TY_INVALID);
        assert_ptr_equal(json, &json);
        assert_int_equal(err.status, TY_INVALID);
        assert_string_equal(err.code, cases[i].code);
        assert_true(ty_str_starts(err.text, cases[i].words));
    }
}

static void a_nul_byte_in_the_input_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"\0",         1},
        {"{}\0",       3},
        {"[\"a\0b\"]", 7},
        {"[1\0]",      4}
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        json_t *json = NULL;

        assert_int_equal(ty_json_parse(cases[i].bytes, cases[i].len, &json, NULL), TY_INVALID);
        assert_null(json);
    }
}

static ty_status parse_nested(int depth, const char *open, const char *close, struct ty_error *err)
{
    ty_auto_json json = NULL;
    ty_auto_buf text = {0};

    ty_buf_init(&text, 10000);
    for (int i = 0; i < depth; i++)
        ty_buf_adds(&text, open);
    ty_buf_adds(&text, "0");
    for (int i = 0; i < depth; i++)
        ty_buf_adds(&text, close);
    return ty_json_parse(text.data, text.len, &json, err);
}

static void nesting_is_limited_to_32_levels(void **state)
{
    struct ty_error err;

    (void)state;
    assert_int_equal(parse_nested(TY_JSON_DEPTH, "[", "]", &err), TY_OK);
    assert_int_equal(parse_nested(TY_JSON_DEPTH, "{\"[{\\\"\":", "}", &err), TY_OK);
    assert_int_equal(parse_nested(TY_JSON_DEPTH + 1, "[", "]", &err), TY_INVALID);
    assert_string_equal(err.code, "json_depth");
    assert_string_equal(err.text, "line 1, column 33: nested deeper than 32 levels");
    assert_int_equal(parse_nested(TY_JSON_DEPTH + 1, "{\"a\":", "}", &err), TY_INVALID);
    assert_string_equal(err.code, "json_depth");
}

static void brackets_within_strings_do_not_nest(void **state)
{
    static const char text[] =
        "[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[\",\"\\\\\",1]";
    ty_auto_json json = NULL;

    (void)state;
    assert_int_equal(ty_json_parse(text, strlen(text), &json, NULL), TY_OK);
    assert_int_equal(json_array_size(json), 3);
}

static ty_status parse_many(size_t values, const char *value, struct ty_error *err)
{
    ty_auto_json json = NULL;
    ty_auto_buf text = {0};

    ty_buf_init(&text, 10000000);
    for (size_t i = 0; i < values; i++)
        ty_buf_addf(&text, "%c%s", i ? ',' : '[', value);
    ty_buf_addc(&text, ']');
    return ty_json_parse(text.data, text.len, &json, err);
}

static void the_number_of_values_is_limited(void **state)
{
    struct ty_error err;

    (void)state;
    /* The outer array is a value too. */
    assert_int_equal(parse_many(TY_JSON_MEMBERS - 1, "0", &err), TY_OK);
    assert_int_equal(parse_many(TY_JSON_MEMBERS, "0", &err), TY_INVALID);
    assert_string_equal(err.code, "json_members");
    assert_int_equal(parse_many(TY_JSON_MEMBERS - 1, "[ ]", &err), TY_OK);
    assert_int_equal(parse_many(TY_JSON_MEMBERS, "{}", &err), TY_INVALID);
    assert_string_equal(err.code, "json_members");
    assert_int_equal(parse_many(TY_JSON_MEMBERS / 2, "[1]", &err), TY_INVALID);
    assert_string_equal(err.code, "json_members");
    assert_int_equal(parse_many(TY_JSON_MEMBERS / 2 - 1, "{\"a,b\":\",,\"}", &err), TY_OK);
}

static void numbers_keep_their_kind_and_value(void **state)
{
    static const char text[] = "[9223372036854775807,-9223372036854775808,1.0,1e3,-0.0]";
    ty_auto_json json = NULL;

    (void)state;
    assert_int_equal(ty_json_parse(text, strlen(text), &json, NULL), TY_OK);
    assert_true(json_integer_value(json_array_get(json, 0)) == INT64_MAX);
    assert_true(json_integer_value(json_array_get(json, 1)) == INT64_MIN);
    assert_true(json_is_real(json_array_get(json, 2)));
    assert_true(json_is_real(json_array_get(json, 3)));
}

static void a_compact_text_has_no_blanks_between_its_values(void **state)
{
    static const struct {
        const char *text;
        const char *compact;
    } cases[] = {
        {" { \"a b\" :\t[ 1 ,\n2 ] }\r\n", "{\"a b\":[1,2]}"   },
        {"\" \\\" \"",                     "\" \\\" \""        },
        {"[\"\\\\\" , \" , \"]",           "[\"\\\\\",\" , \"]"},
        {"7",                              "7"                 },
        {"  null  ",                       "null"              },
        {"[ \"a\",\"\" ]",                 "[\"a\",\"\"]"      },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_buf text = {0};

        ty_buf_init(&text, 100);
        ty_json_compact(&text, cases[i].text, strlen(cases[i].text));
        assert_string_equal(text.data, cases[i].compact);
    }
}

static void keys_keep_their_order(void **state)
{
    static const char text[] = "{\"z\":1,\"a\":2,\"m\":3}";
    ty_auto_json json = NULL;
    void *member;

    (void)state;
    assert_int_equal(ty_json_parse(text, strlen(text), &json, NULL), TY_OK);
    member = json_object_iter(json);
    assert_string_equal(json_object_iter_key(member), "z");
    member = json_object_iter_next(json, member);
    assert_string_equal(json_object_iter_key(member), "a");
}

static void columns_count_characters_not_bytes(void **state)
{
    struct ty_error err;
    json_t *json = NULL;
    static const char text[] = "[\"\xc3\xa9\xe2\x82\xac\",]";

    (void)state;
    assert_int_equal(ty_json_parse(text, strlen(text), &json, &err), TY_INVALID);
    assert_true(ty_str_starts(err.text, "line 1, column 7: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_json_value_is_parsed),
        cmocka_unit_test(faults_have_a_code_and_a_position),
        cmocka_unit_test(a_nul_byte_in_the_input_is_refused),
        cmocka_unit_test(nesting_is_limited_to_32_levels),
        cmocka_unit_test(brackets_within_strings_do_not_nest),
        cmocka_unit_test(the_number_of_values_is_limited),
        cmocka_unit_test(numbers_keep_their_kind_and_value),
        cmocka_unit_test(a_compact_text_has_no_blanks_between_its_values),
        cmocka_unit_test(keys_keep_their_order),
        cmocka_unit_test(columns_count_characters_not_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
