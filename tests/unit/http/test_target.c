#include "unit.h"

#include "http/target.h"

#include <stdlib.h>

/* A parsed target with the memory it lives in; exactly what the parser asks for, so that a
 * sanitizer sees one byte more. */
struct parsed {
    struct ty_target target;
    char *work;
    struct ty_parameter *parameters;
    struct ty_error err;
};

static ty_status parse(struct parsed *parsed, const char *text)
{
    size_t bound = ty_target_parameter_bound(text);

    memset(parsed, 0, sizeof *parsed);
    parsed->work = malloc(ty_target_work(strlen(text)));
    parsed->parameters = malloc(bound * sizeof *parsed->parameters + 1);
    return ty_target_parse(text, parsed->work, parsed->parameters, &parsed->target, &parsed->err);
}

static void release(struct parsed *parsed)
{
    free(parsed->work);
    free(parsed->parameters);
}

static void paths_are_split_before_they_are_decoded(void **state)
{
    static const struct {
        const char *target;
        const char *path;
        const char *segments[5];
    } cases[] = {
        {"/",                 "/",         {""}              },
        {"/v1/jobs",          "/v1/jobs",  {"v1", "jobs"}    },
        {"/v1/jobs/",         "/v1/jobs/", {"v1", "jobs", ""}},
        {"//a",               "//a",       {"", "a"}         },
        {"/a%2Fb/c",          "/a%2Fb/c",  {"a/b", "c"}      },
        {"/%25",              "/%25",      {"%"}             },
        {"/%252F",            "/%252F",    {"%2F"}           },
        {"/a+b",              "/a+b",      {"a+b"}           },
        {"/%61%62",           "/%61%62",   {"ab"}            },
        {"/%ff",              "/%ff",      {"\xff"}          },
        {"/%3F%23",           "/%3F%23",   {"?#"}            },
        {"/a?b=/../c",        "/a",        {"a"}             },
        {"/...",              "/...",      {"..."}           },
        {"/.a/a.",            "/.a/a.",    {".a", "a."}      },
        {"http://h/a",        "/a",        {"a"}             },
        {"http://h",          "/",         {""}              },
        {"http://h?x=1",      "/",         {""}              },
        {"HTTP://h:80/a/b?c", "/a/b",      {"a", "b"}        },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct parsed parsed;
        size_t count = 0;

        assert_int_equal(parse(&parsed, cases[i].target), TY_OK);
        assert_string_equal(parsed.target.path, cases[i].path);
        for (; count < 5 && cases[i].segments[count]; count++)
            assert_string_equal(parsed.target.segments[count], cases[i].segments[count]);
        assert_int_equal(parsed.target.segment_count, count);
        assert_false(parsed.target.asterisk);
        release(&parsed);
    }
}

static void encoded_slashes_are_noted(void **state)
{
    struct parsed parsed;

    (void)state;
    assert_int_equal(parse(&parsed, "/a/b%2fc/d"), TY_OK);
    assert_false(parsed.target.encoded_slash[0]);
    assert_true(parsed.target.encoded_slash[1]);
    assert_false(parsed.target.encoded_slash[2]);
    release(&parsed);
}

static void queries_are_decoded_as_forms(void **state)
{
    static const struct {
        const char *target;
        size_t count;
        struct ty_parameter first;
        struct ty_parameter last;
    } cases[] = {
        {"/?",                 0, {NULL, NULL},   {NULL, NULL}  },
        {"/?a=1",              1, {"a", "1"},     {"a", "1"}    },
        {"/?a=1&b=2",          2, {"a", "1"},     {"b", "2"}    },
        {"/?a",                1, {"a", ""},      {"a", ""}     },
        {"/?a&b",              2, {"a", ""},      {"b", ""}     },
        {"/?=",                1, {"", ""},       {"", ""}      },
        {"/?=1",               1, {"", "1"},      {"", "1"}     },
        {"/?&&a=1&",           1, {"a", "1"},     {"a", "1"}    },
        {"/?a=b=c",            1, {"a", "b=c"},   {"a", "b=c"}  },
        {"/?a+b=c+d",          1, {"a b", "c d"}, {"a b", "c d"}},
        {"/?a%2Bb=c%26d",      1, {"a+b", "c&d"}, {"a+b", "c&d"}},
        {"/?a=1;b=2",          1, {"a", "1;b=2"}, {"a", "1;b=2"}},
        {"/?a=?",              1, {"a", "?"},     {"a", "?"}    },
        {"/?%C3%A9=%E2%82%AC", 1, {"é", "€"},  {"é", "€"} },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct parsed parsed;
        const struct ty_parameter *at;

        assert_int_equal(parse(&parsed, cases[i].target), TY_OK);
        assert_int_equal(parsed.target.parameter_count, cases[i].count);
        at = parsed.target.parameters;
        if (cases[i].count) {
            assert_string_equal(at[0].name, cases[i].first.name);
            assert_string_equal(at[0].value, cases[i].first.value);
            assert_string_equal(at[cases[i].count - 1].name, cases[i].last.name);
            assert_string_equal(at[cases[i].count - 1].value, cases[i].last.value);
        }
        release(&parsed);
    }
}

static void what_two_readers_could_see_differently_is_refused_and_leaves_the_output(void **state)
{
    static const char *const bad[] = {
        "",
        "a",
        "a/b",
        "*a",
        "*?a=1",
        "ftp://h/",
        "https://h/",
        "/%",
        "/%2",
        "/%zz",
        "/%2z",
        "/%00",
        "/a%00b",
        "/.",
        "/..",
        "/a/../b",
        "/%2e",
        "/%2E%2e",
        "/.%2e/a",
        "/a/.",
        "/?a=%",
        "/?a=%0",
        "/?%00=1",
        "/?a=%ff",
        "/?%c0%af",
        "/?a=%ed%a0%80",
        "/?a=%f4%90%80%80",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct parsed parsed;
        struct ty_target untouched = {0};

        assert_int_equal(parse(&parsed, bad[i]), TY_INVALID);
        assert_string_equal(parsed.err.code, "bad_target");
        assert_memory_equal(&parsed.target, &untouched, sizeof untouched);
        release(&parsed);
    }
}

static void the_asterisk_stands_alone(void **state)
{
    struct parsed parsed;

    (void)state;
    assert_int_equal(parse(&parsed, "*"), TY_OK);
    assert_true(parsed.target.asterisk);
    assert_int_equal(parsed.target.segment_count, 0);
    release(&parsed);
}

static void segments_and_parameters_have_a_maximum(void **state)
{
    char text[8192];
    struct parsed parsed;

    (void)state;
    text[0] = '\0';
    for (int i = 0; i < TY_TARGET_SEGMENTS; i++)
        strncat(text, "/a", sizeof text - strlen(text) - 1);
    assert_int_equal(parse(&parsed, text), TY_OK);
    release(&parsed);
    strncat(text, "/a", sizeof text - strlen(text) - 1);
    assert_int_equal(parse(&parsed, text), TY_INVALID);
    release(&parsed);

    strncpy(text, "/?a", sizeof text);
    for (int i = 1; i < TY_TARGET_PARAMETERS; i++)
        strncat(text, "&a", sizeof text - strlen(text) - 1);
    assert_int_equal(parse(&parsed, text), TY_OK);
    assert_int_equal(parsed.target.parameter_count, TY_TARGET_PARAMETERS);
    release(&parsed);
    strncat(text, "&a", sizeof text - strlen(text) - 1);
    assert_int_equal(parse(&parsed, text), TY_INVALID);
    release(&parsed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_split_before_they_are_decoded),
        cmocka_unit_test(encoded_slashes_are_noted),
        cmocka_unit_test(queries_are_decoded_as_forms),
        cmocka_unit_test(what_two_readers_could_see_differently_is_refused_and_leaves_the_output),
        cmocka_unit_test(the_asterisk_stands_alone),
        cmocka_unit_test(segments_and_parameters_have_a_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
