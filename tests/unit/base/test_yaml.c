#include "unit.h"

#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/base/yaml.h"

static void check_parse(const char *yaml, size_t len, const char *json)
{
    ty_auto_json parsed = NULL;
    struct ty_json_writer writer;
    struct ty_error err;
    ty_auto_buf text = {0};

    if (ty_yaml_parse(yaml, len, &parsed, &err))
        fail_msg("%s: %s", yaml, err.text);
    ty_buf_init(&text, 1000000);
    ty_json_writer_init(&writer, &text);
    ty_json_value(&writer, parsed);
    assert_string_equal(text.data, json);
}

static void plain_scalars_follow_the_core_schema(void **state)
{
    static const struct {
        const char *yaml;
        const char *json;
    } cases[] = {
        {"null",                 "null"                },
        {"Null",                 "null"                },
        {"NULL",                 "null"                },
        {"nULL",                 "\"nULL\""            },
        {"~",                    "null"                },
        {"---\n...",             "null"                },
        {"--- ''",               "\"\""                },
        {"true",                 "true"                },
        {"True",                 "true"                },
        {"TRUE",                 "true"                },
        {"tRue",                 "\"tRue\""            },
        {"false",                "false"               },
        {"FALSE",                "false"               },
        {"no",                   "\"no\""              },
        {"yes",                  "\"yes\""             },
        {"on",                   "\"on\""              },
        {"y",                    "\"y\""               },
        {"0",                    "0"                   },
        {"-12",                  "-12"                 },
        {"+12",                  "12"                  },
        {"-0",                   "0"                   },
        {"9223372036854775807",  "9223372036854775807" },
        {"-9223372036854775808", "-9223372036854775808"},
        {"0755",                 "\"0755\""            },
        {"-01",                  "\"-01\""             },
        {"00",                   "\"00\""              },
        {"0o755",                "493"                 },
        {"0o8",                  "\"0o8\""             },
        {"0o",                   "\"0o\""              },
        {"0x1F",                 "31"                  },
        {"0xfg",                 "\"0xfg\""            },
        {"-0x1",                 "\"-0x1\""            },
        {"0b1",                  "\"0b1\""             },
        {"1_000",                "\"1_000\""           },
        {"1:30",                 "\"1:30\""            },
        {"2001-01-01",           "\"2001-01-01\""      },
        {"1e3",                  "1000.0"              },
        {"1E-2",                 "0.01"                },
        {"1.5",                  "1.5"                 },
        {".5",                   "0.5"                 },
        {"5.",                   "5.0"                 },
        {"-.5e+1",               "-5.0"                },
        {"1.5.2",                "\"1.5.2\""           },
        {".",                    "\".\""               },
        {"e3",                   "\"e3\""              },
        {"1e",                   "\"1e\""              },
        {"1e+",                  "\"1e+\""             },
        {".e1",                  "\".e1\""             },
        {"+",                    "\"+\""               },
        {"=",                    "\"=\""               },
        {"<<",                   "\"<<\""              },
        {"'1'",                  "\"1\""               },
        {"\"true\"",             "\"true\""            },
        {"a b  c",               "\"a b  c\""          },
        {"|\n  1\n",             "\"1\\n\""            },
        {">\n  a\n  b\n",        "\"a b\\n\""          },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        check_parse(cases[i].yaml, strlen(cases[i].yaml), cases[i].json);
}

static void collections_tags_and_aliases_become_json(void **state)
{
    static const struct {
        const char *yaml;
        const char *json;
    } cases[] = {
        {"a: 1\nb: [x, 2]\nc:\n- {d: e}\n-\n",
         "{\"a\":1,\"b\":[\"x\",2],\"c\":[{\"d\":\"e\"},null]}"                     },
        {"{}",                                   "{}"                               },
        {"[]",                                   "[]"                               },
        {"on: 1\nno: 2",                         "{\"on\":1,\"no\":2}"              },
        {"'1': a",                               "{\"1\":\"a\"}"                    },
        {"!!str 1",                              "\"1\""                            },
        {"! 1",                                  "\"1\""                            },
        {"!!int '7'",                            "7"                                },
        {"!!float 1.0",                          "1.0"                              },
        {"!!bool true",                          "true"                             },
        {"!!null ''",                            "null"                             },
        {"!!map {a: !!seq [1]}",                 "{\"a\":[1]}"                      },
        {"a: &x {b: [1, {c: d}]}\ne: *x\nf: *x",
         "{\"a\":{\"b\":[1,{\"c\":\"d\"}]},\"e\":{\"b\":[1,{\"c\":\"d\"}]},\"f\":{\"b\":[1,{\"c\":"
         "\"d\"}]}}"                                                                },
        {"[&a 1, *a, &a 2, *a]",                 "[1,1,2,2]"                        },
        {"&a [&a 1, *a]",                        "[1,1]"                            },
        {"&k key: *k",                           "{\"key\":\"key\"}"                },
        {"[&k key, {*k : 1}]",                   "[\"key\",{\"key\":1}]"            },
        {"%YAML 1.2\n---\na: 1\n...\n",          "{\"a\":1}"                        },
        {"# only\na: 1 # comment\n",             "{\"a\":1}"                        },
        {"\xef\xbb\xbf"
         "a: 1",                        "{\"a\":1}"                        },
        {"\xef\xbb\xbf"
         "a: 1\nb: [2]\n",              "{\"a\":1,\"b\":[2]}"              },
        {"\xef\xbb\xbf"
         "---\na:\n  b: 1\n",           "{\"a\":{\"b\":1}}"                },
        {"'<<': {a: 1}",                         "{\"<<\":{\"a\":1}}"               },
        {"? a\n: 1",                             "{\"a\":1}"                        },
        {"a:\r\n  - 1\r\n",                      "{\"a\":[1]}"                      },
        {"\"\\u00e9\\U0001F682\\x41\"",          "\"\xc3\xa9\xf0\x9f\x9a\x82"
                                        "A\""},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        check_parse(cases[i].yaml, strlen(cases[i].yaml), cases[i].json);
}

static void faults_have_a_position_and_leave_the_output_alone(void **state)
{
    static const struct {
        const char *yaml;
        const char *text;
    } cases[] = {
        {"",                             "line 1, column 1: there is no document"                          },
        {"# nothing\n",                  "line 1, column 1: there is no document"                          },
        {"a: 1\n---\nb: 2\n",            "line 2, column 1: more than one document"                        },
        {"a: &x {b: 1}\nc:\n  <<: *x\n",
         "line 3, column 3: merge keys are not of YAML 1.2: write the members out"                         },
        {"a: 1\nb: 2\na: 3\n",           "line 3, column 1: a mapping has the same key twice"              },
        {"a: 1\n\"a\": 3\n",             "line 2, column 1: a mapping has the same key twice"              },
        {"1: a",                         "line 1, column 1: a key is not text"                             },
        {"true: a",                      "line 1, column 1: a key is not text"                             },
        {"~: a",                         "line 1, column 1: a key is not text"                             },
        {"{[a]: b}",                     "line 1, column 2: a key is not text"                             },
        {"? {a: b}\n: c",                "line 1, column 3: a key is not text"                             },
        {"a: *x",                        "line 1, column 4: an alias of an anchor that was not set before" },
        {"a: &x [*x]",                   "line 1, column 8: an alias of the value that it is a part of"    },
        {"&x {a: *x}",                   "line 1, column 8: an alias of the value that it is a part of"    },
        {"a: .inf",                      "line 1, column 4: a number that is not finite"                   },
        {"-.INF",                        "line 1, column 1: a number that is not finite"                   },
        {".nan",                         "line 1, column 1: a number that is not finite"                   },
        {"1e999",                        "line 1, column 1: a number is out of range"                      },
        {"9223372036854775808",          "line 1, column 1: a number is out of range"                      },
        {"0xffffffffffffffff",           "line 1, column 1: a number is out of range"                      },
        {"\"a\\0b\"",                    "line 1, column 1: a text holds the character U+0000"             },
        {"!!int x",                      "line 1, column 1: the text does not fit its tag"                 },
        {"!!binary aGk=",                "line 1, column 1: a tag that is not supported"                   },
        {"!foo x",                       "line 1, column 1: a tag that is not supported"                   },
        {"!!set {a}",                    "line 1, column 1: a tag that is not supported"                   },
        {"!!map [a]",                    "line 1, column 1: a tag that is not supported"                   },
        {"a: [1",                        "line 2, column 1: did not find expected ',' or ']'"              },
        {"a:\n\t- 1",                    "line 2, column 1: found character that cannot start any token"   },
        {"a: b: c",                      "line 1, column 5: mapping values are not allowed in this context"},
        {"a: \x01",                      "line 1, column 4: a character that YAML does not allow"          },
        {"a: \xff",                      "line 1, column 4: a character that YAML does not allow"          },
        {"%YAML 3.0\n---\na",            "line 1, column 1: found incompatible YAML document"              },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        json_t *json = (json_t *)&json;
        struct ty_error err;

        assert_int_equal(ty_yaml_parse(cases[i].yaml, strlen(cases[i].yaml), &json, &err),
                         TY_INVALID);
        assert_ptr_equal(json, &json);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void a_copy_of_an_alias_is_a_value_of_its_own(void **state)
{
    static const char yaml[] = "a: &x {b: 1}\nc: *x\n";
    ty_auto_json json = NULL;

    (void)state;
    assert_int_equal(ty_yaml_parse(yaml, strlen(yaml), &json, NULL), TY_OK);
    assert_int_equal(json_object_set_new(json_object_get(json, "a"), "b", json_integer(2)), 0);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "c"), "b")), 1);
}

static ty_status parse_text(const struct ty_buf *text, struct ty_error *err)
{
    ty_auto_json json = NULL;

    return ty_yaml_parse(text->data, text->len, &json, err);
}

static void aliases_of_aliases_hit_the_limit_of_values(void **state)
{
    struct ty_error err;
    ty_auto_buf text = {0};

    (void)state;
    ty_buf_init(&text, 10000);
    ty_buf_adds(&text, "l0: &l0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        ty_buf_addf(&text, "l%d: &l%d [*l%d", i, i, i - 1);
        for (int j = 0; j < 8; j++)
            ty_buf_addf(&text, ", *l%d", i - 1);
        ty_buf_adds(&text, "]\n");
    }
    assert_int_equal(parse_text(&text, &err), TY_INVALID);
    assert_true(ty_str_ends(err.text, ": more than 100000 values, aliases counted"));
}

static void aliases_of_long_texts_hit_the_limit_of_text(void **state)
{
    struct ty_error err;
    ty_auto_buf text = {0};

    (void)state;
    ty_buf_init(&text, 3000000);
    ty_buf_adds(&text, "- &x ");
    for (int i = 0; i < 1000000; i++)
        ty_buf_addc(&text, 'x');
    for (int i = 0; i < 17; i++)
        ty_buf_adds(&text, "\n- *x");
    assert_int_equal(parse_text(&text, &err), TY_INVALID);
    assert_true(ty_str_ends(err.text, ": more than 16 MiB of text, aliases counted"));
}

static void aliases_of_objects_with_long_keys_hit_the_limit_of_text(void **state)
{
    struct ty_error err;
    ty_auto_buf text = {0};

    (void)state;
    ty_buf_init(&text, 3000000);
    ty_buf_adds(&text, "- &x\n  ? ");
    for (int i = 0; i < 1000000; i++)
        ty_buf_addc(&text, 'x');
    ty_buf_adds(&text, "\n  : 1");
    for (int i = 0; i < 17; i++)
        ty_buf_adds(&text, "\n- *x");
    assert_int_equal(parse_text(&text, &err), TY_INVALID);
    assert_true(ty_str_ends(err.text, ": more than 16 MiB of text, aliases counted"));
}

static ty_status parse_nested(int depth, struct ty_error *err)
{
    ty_auto_buf text = {0};

    ty_buf_init(&text, 1000000);
    for (int i = 0; i < depth; i++)
        ty_buf_adds(&text, i % 2 ? "{a: " : "[");
    for (int i = depth; i-- > 0;)
        ty_buf_adds(&text, i % 2 ? "}" : "]");
    return parse_text(&text, err);
}

static void nesting_is_limited_to_64_levels(void **state)
{
    struct ty_error err;

    (void)state;
    assert_int_equal(parse_nested(64, &err), TY_OK);
    assert_int_equal(parse_nested(65, &err), TY_INVALID);
    assert_true(ty_str_ends(err.text, ": nested deeper than 64 levels"));
    assert_int_equal(parse_nested(20000, &err), TY_INVALID);
    assert_true(ty_str_ends(err.text, ": nested deeper than 64 levels"));
}

static void aliases_cannot_nest_deeper_than_64_levels(void **state)
{
    struct ty_error err;
    ty_auto_buf text = {0};

    (void)state;
    ty_buf_init(&text, 100000);
    ty_buf_adds(&text, "- &l0 [x]\n");
    for (int i = 1; i < 62; i++)
        ty_buf_addf(&text, "- &l%d [*l%d]\n", i, i - 1);
    assert_int_equal(parse_text(&text, &err), TY_OK);
    for (int i = 62; i < 70; i++)
        ty_buf_addf(&text, "- &l%d [*l%d]\n", i, i - 1);
    assert_int_equal(parse_text(&text, &err), TY_INVALID);
    assert_true(ty_str_ends(err.text, ": nested deeper than 64 levels"));
}

static void a_stream_gives_all_its_documents(void **state)
{
    static const char yaml[] = "a: &x 1\n---\n- b\n---\n...\n--- c\n";
    ty_auto_json documents = NULL;
    ty_auto_json empty = NULL;
    json_t *untouched = NULL;
    struct ty_error err;

    (void)state;
    assert_int_equal(ty_yaml_parse_stream(yaml, strlen(yaml), 4, &documents, &err), TY_OK);
    assert_int_equal(json_array_size(documents), 4);
    assert_true(json_is_object(json_array_get(documents, 0)));
    assert_true(json_is_null(json_array_get(documents, 2)));
    assert_int_equal(ty_yaml_parse_stream(yaml, strlen(yaml), 3, &untouched, &err), TY_INVALID);
    assert_string_equal(err.text, "line 6, column 1: too many documents");
    assert_null(untouched);
    assert_int_equal(ty_yaml_parse_stream("", 0, 4, &empty, &err), TY_OK);
    assert_int_equal(json_array_size(empty), 0);
}

static void anchors_end_with_their_document(void **state)
{
    static const char yaml[] = "a: &x 1\n---\nb: *x\n";
    json_t *documents = NULL;
    struct ty_error err;

    (void)state;
    assert_int_equal(ty_yaml_parse_stream(yaml, strlen(yaml), 4, &documents, &err), TY_INVALID);
    assert_string_equal(err.text,
                        "line 3, column 4: an alias of an anchor that was not set before");
    assert_null(documents);
}

static void a_place_is_found_where_its_key_or_item_begins(void **state)
{
    static const char yaml[] = "# first\n"
                               "a: 1\n"
                               "b:\n"
                               "  - x\n"
                               "  - {k: v, \"s/~\": w}\n"
                               "---\n"
                               "\xc3\xbc: {deep: [1, 2]}\n"
                               "use: &x {in: 1}\n"
                               "again: *x\n";
    static const struct {
        size_t document;
        const char *pointer;
        size_t line;
        size_t column;
    } cases[] = {
        {0, "",                 2, 1 },
        {0, "/a",               2, 1 },
        {0, "/b",               3, 1 },
        {0, "/b/0",             4, 5 },
        {0, "/b/1",             5, 5 },
        {0, "/b/1/k",           5, 6 },
        {0, "/b/1/s~1~0",       5, 12},
        {0, "/b/1/k/not/there", 5, 6 },
        {0, "/b/7",             3, 1 },
        {0, "/bb",              2, 1 },
        {1, "",                 7, 1 },
        {1, "/\xc3\xbc/deep",   7, 5 },
        {1, "/\xc3\xbc/deep/1", 7, 15},
        {1, "/use/in",          8, 10},
        {1, "/again/in",        9, 1 },
        {2, "",                 0, 0 },
    };
    struct ty_yaml_place places[UNIT_COUNT(cases)];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        places[i] =
            (struct ty_yaml_place){.document = cases[i].document, .pointer = cases[i].pointer};
    assert_int_equal(ty_yaml_locate(yaml, strlen(yaml), places, UNIT_COUNT(cases), NULL), TY_OK);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        if (places[i].line != cases[i].line || places[i].column != cases[i].column)
            fail_msg("%zu %s: %zu:%zu", cases[i].document, cases[i].pointer, places[i].line,
                     places[i].column);
}

static void a_byte_order_mark_is_no_column(void **state)
{
    static const char yaml[] = "\xef\xbb\xbf"
                               "a: 1\nb: 2\n";
    struct ty_yaml_place places[] = {{.pointer = "/a"}, {.pointer = "/b"}};

    (void)state;
    assert_int_equal(ty_yaml_locate(yaml, strlen(yaml), places, 2, NULL), TY_OK);
    assert_int_equal(places[0].line, 1);
    assert_int_equal(places[0].column, 1);
    assert_int_equal(places[1].line, 2);
    assert_int_equal(places[1].column, 1);
}

static void the_place_of_a_syntax_error_is_told_as_numbers(void **state)
{
    struct ty_error err;
    json_t *untouched = NULL;
    size_t line;
    size_t column;

    (void)state;
    assert_int_equal(ty_yaml_parse("a: 1\nb: [\n", 10, &untouched, &err), TY_INVALID);
    assert_true(ty_yaml_error_place(&err, &line, &column));
    assert_int_equal(line, 3);
    assert_int_equal(column, 1);
    (void)ty_fail(&err, TY_INVALID, "something else");
    assert_false(ty_yaml_error_place(&err, &line, &column));
    assert_int_equal(line, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_found_where_its_key_or_item_begins),
        cmocka_unit_test(a_byte_order_mark_is_no_column),
        cmocka_unit_test(the_place_of_a_syntax_error_is_told_as_numbers),
        cmocka_unit_test(plain_scalars_follow_the_core_schema),
        cmocka_unit_test(collections_tags_and_aliases_become_json),
        cmocka_unit_test(faults_have_a_position_and_leave_the_output_alone),
        cmocka_unit_test(a_copy_of_an_alias_is_a_value_of_its_own),
        cmocka_unit_test(aliases_of_aliases_hit_the_limit_of_values),
        cmocka_unit_test(aliases_of_long_texts_hit_the_limit_of_text),
        cmocka_unit_test(aliases_of_objects_with_long_keys_hit_the_limit_of_text),
        cmocka_unit_test(nesting_is_limited_to_64_levels),
        cmocka_unit_test(aliases_cannot_nest_deeper_than_64_levels),
        cmocka_unit_test(a_stream_gives_all_its_documents),
        cmocka_unit_test(anchors_end_with_their_document),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
