#include "unit.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/base/yaml.h"

static void check_round_trip(const json_t *value)
{
    ty_auto_json back = NULL;
    struct ty_error err;
    ty_auto_buf text = {0};

    ty_buf_init(&text, 1000000);
    ty_yaml_write(&text, value);
    assert_int_equal(ty_buf_check(&text, "text", NULL), TY_OK);
    if (ty_yaml_parse(text.data, text.len, &back, &err))
        fail_msg("%s in:\n%s", err.text, text.data);
    if (!json_equal(value, back))
        fail_msg("not the same:\n%s", text.data);
}

static void check_write(json_t *value, const char *expected)
{
    ty_auto_buf text = {0};

    ty_buf_init(&text, 100000);
    ty_yaml_write(&text, value);
    assert_string_equal(text.data, expected);
    check_round_trip(value);
    json_decref(value);
}

static void values_are_written_in_block_style(void **state)
{
    (void)state;
    check_write(json_null(), "null\n");
    check_write(json_true(), "true\n");
    check_write(json_integer(-5), "-5\n");
    check_write(json_real(1e20), "1.0e+20\n");
    check_write(json_string("plain text"), "plain text\n");
    check_write(json_string(""), "\"\"\n");
    check_write(json_object(), "{}\n");
    check_write(json_array(), "[]\n");
    check_write(json_pack("[i,[i,[]],{s:i,s:{}}]", 1, 2, "a", 3, "b"),
                "- 1\n- - 2\n  - []\n- a: 3\n  b: {}\n");
    check_write(json_pack("{s:{s:[s,{s:s,s:[i]}]},s:n}", "spec", "args", "--x=1", "name", "x1",
                          "list", 1, "none"),
                "spec:\n  args:\n  - \"--x=1\"\n  - name: x1\n    list:\n    - 1\nnone: null\n");
}

static void texts_of_many_lines_become_literal_blocks(void **state)
{
    (void)state;
    check_write(json_pack("{s:{s:s},s:s}", "data", "train.py", "import x\n\nif a:\n  b: # c\n",
                          "next", "a\n---\nb"),
                "data:\n  train.py: |\n    import x\n\n    if a:\n      b: # c\n"
                "next: |-\n  a\n  ---\n  b\n");
    check_write(json_pack("[s]", "#!/bin/sh\n- a\n"), "- |\n  #!/bin/sh\n  - a\n");
    check_write(json_string("a\nb"), "|-\n  a\n  b\n");
}

/* What some reader of YAML 1.1 or 1.2 takes for another type, or for structure. */
static const char *const retyped[] = {
    "no",       "No",     "NO",        "yes",        "on",
    "off",      "Off",    "y",         "Y",          "n",
    "N",        "true",   "TRUE",      "false",      "null",
    "Null",     "NULL",   "~",         "",           "1",
    "0",        "-1",     "+1",        "1e3",        "1.5",
    ".5",       "0x1F",   "0123",      "0o17",       "0b1",
    "1_000",    "1:30",   "190:20:30", "2001-01-01", "2001-12-14t21:59:43.10-05:00",
    ".inf",     "-.inf",  ".nan",      "inf",        "NaN",
    "infinity", "=",      "<<",        "- x",        "-",
    "--",       "---",    "...",       "? x",        ": x",
    ":",        "a: b",   "a:",        "a #b",       "#a",
    "&a",       "*a",     "!a",        "!!str a",    "|",
    ">",        "'a'",    "\"a\"",     "%a",         "@a",
    "`a`",      "[a]",    "{a}",       "a]",         ",a",
    " lead",    "trail ", "\ttab",     "tab\t",      "a\tb",
    "_1",       "1_",     "0.",        "00",         "08",
    "1e",       "1,000",  "12e03",     "0x",         "\\",
    "a\\b",
};

static void texts_that_a_reader_would_retype_are_quoted(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(retyped); i++) {
        ty_auto_json value = json_pack("[s,{s:s}]", retyped[i], retyped[i], retyped[i]);
        ty_auto_buf text = {0};

        ty_buf_init(&text, 1000);
        ty_yaml_write(&text, value);
        assert_true(ty_str_starts(text.data, "- \""));
        assert_non_null(strstr(text.data, "\n- \""));
        assert_non_null(strstr(text.data, "\": \""));
        check_round_trip(value);
    }
}

static void ordinary_texts_stay_plain(void **state)
{
    static const char *const cases[] = {
        "a",
        "hello world",
        "pytorch/pytorch:2.0.0",
        "/data/x_y.z",
        "kubeflow.org/v1",
        "key=value",
        "a,b",
        "yesterday",
        "nothing",
        "trueish",
        "x@y",
        "a-b+c",
        "docker.io/a/b:1.2",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_buf expected = {0};

        ty_buf_init(&expected, 100);
        ty_buf_addf(&expected, "%s\n", cases[i]);
        check_write(json_string(cases[i]), expected.data);
    }
}

static void every_byte_of_a_text_survives(void **state)
{
    static const char *const cases[] = {
        "\n",
        "\n\n",
        "a\n",
        "a\n\n",
        "a\n\n\n",
        "\na",
        " a\nb",
        "a\n b",
        "a \nb",
        "a\nb ",
        "a\n \nb",
        "a\n\tb",
        "\ta\nb",
        "a\r\nb\r\n",
        "a\rb",
        "\r",
        "a\n\n\nb\n",
        "a\x01\nb",
        "a\x7f",
        "\x1b[0m",
        "\xc3\xa9\nb",
        "\xc2\x85",
        "a\xc2\x85\x62\nc",
        "\xc2\xa0",
        "\xe2\x80\xa8",
        "a\xe2\x80\xa9\nb",
        "\xef\xbb\xbf",
        "\xef\xbb\xbf\x61\nb",
        "\xef\xbf\xbe",
        "\xef\xbf\xbf",
        "\xf0\x9f\x9a\x82",
        "\xf0\x9f\xbf\xbe",
        "\xef\xb7\x90",
        "---\na",
        "...\na",
        "# a\n# b\n",
        "a\n#b",
        "key: {a: b} # c\nx",
        "- a\n- b",
        "? a\n: b",
        "%YAML\na",
        "\"\n'",
        "\\n",
        "a\\\nb",
        "tab\there",
        "a\n...\n",
        "a\n\n  indented\n\nlast",
        "trailing\n   ",
        "  \n",
        " ",
        "\n ",
        "\t\n",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json value = json_pack("[s,{s:s,s:[s,[s]]},s]", cases[i], cases[i], cases[i], "b",
                                       cases[i], cases[i], cases[i]);

        check_round_trip(value);
        check_round_trip(json_array_get(value, 0));
    }
}

static void keys_of_any_length_survive(void **state)
{
    (void)state;
    for (size_t len = 1; len < 3000; len = len * 3 / 2 + 1) {
        char key[3000];
        ty_auto_json value = NULL;

        memset(key, 'k', len);
        key[len] = '\0';
        value = json_pack("{s:i,s:{s:[i]}}", key, 1, "b", key, 2);
        check_round_trip(value);
        memset(key, '\x01', len);
        json_decref(value);
        value = json_pack("[{s:i,s:{s:{s:i}}}]", key, 1, "b", key, "c", 2);
        check_round_trip(value);
        memset(key, '\n', len);
        json_decref(value);
        value = json_pack("[[{s:i,s:{s:[[i]]}}]]", key, 1, "b", key, 2);
        check_round_trip(value);
    }
}

static void writing_stops_64_levels_down(void **state)
{
    ty_auto_json value = json_integer(1);
    ty_auto_buf text = {0};

    (void)state;
    for (int i = 0; i < 64; i++)
        value = i % 2 ? json_pack("[o]", value) : json_pack("{s:o}", "k", value);
    check_round_trip(value);
    value = json_pack("[o]", value);
    ty_buf_init(&text, 100000);
    ty_yaml_write(&text, value);
    assert_int_equal(text.failed, TY_TOO_LARGE);
}

static void a_text_beyond_the_buffer_fails_in_the_buffer(void **state)
{
    ty_auto_json value = json_pack("{s:s,s:[i,i,i,i]}", "a", "0123456789", "b", 1, 2, 3, 4);
    ty_auto_buf text = {0};

    (void)state;
    ty_buf_init(&text, 16);
    ty_yaml_write(&text, value);
    assert_int_equal(text.failed, TY_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_in_block_style),
        cmocka_unit_test(texts_of_many_lines_become_literal_blocks),
        cmocka_unit_test(texts_that_a_reader_would_retype_are_quoted),
        cmocka_unit_test(ordinary_texts_stay_plain),
        cmocka_unit_test(every_byte_of_a_text_survives),
        cmocka_unit_test(keys_of_any_length_survive),
        cmocka_unit_test(writing_stops_64_levels_down),
        cmocka_unit_test(a_text_beyond_the_buffer_fails_in_the_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
