#include "unit.h"

#include "text.h"

#include "trainyard/base/json.h"

static json_t *parse(const char *text)
{
    struct ty_error err;
    json_t *value = NULL;
    assert_int_equal(ty_json_parse(text, strlen(text), &value, &err), TY_OK);
    return value;
}

static void members_are_shown_as_people_read_them(void **state)
{
    static const struct {
        const char *member;
        const char *text;
    } cases[] = {
        {"name",       "mnist"              },
        {"empty",      "-"                  },
        {"nothing",    "-"                  },
        {"missing",    "-"                  },
        {"number",     "42"                 },
        {"real",       "0.5"                },
        {"yes",        "yes"                },
        {"no",         "no"                 },
        {"at",         "2026-01-02 03:04:05"},
        {"other_at",   "2026-01-02T03:04:05"},
        {"list",       "a,2,-"              },
        {"labels",     "team=vision,n=1"    },
        {"none",       "-"                  },
        {"warnings",   "no_gpu,…"         },
        {"in.side",    "deep"               },
        {"in.missing", "-"                  },
        {"name.x",     "-"                  },
        {"control",    "a?[31m?b??"         },
    };
    char out[64];
    ty_auto_json object =
        parse("{\"name\":\"mnist\",\"empty\":\"\",\"nothing\":null,\"number\":42,\"real\":0.5,"
              "\"yes\":true,\"no\":false,\"at\":\"2026-01-02T03:04:05.000006Z\","
              "\"other_at\":\"2026-01-02T03:04:05\",\"list\":[\"a\",2,null],"
              "\"warnings\":[{\"code\":\"no_gpu\",\"message\":\"m\"},{}],\"labels\":{\"team\":"
              "\"vision\",\"n\":1},\"none\":[],\"in\":{\"side\":\"deep\"},"
              "\"control\":\"a\\u001b[31m\\nb\\u0085\"}");
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_string_equal(cli_text(object, cases[i].member, out, sizeof out), cases[i].text);
}

static void a_text_that_does_not_fit_ends_with_a_whole_character(void **state)
{
    char out[6];
    ty_auto_json object = parse("{\"a\":\"abcdü\",\"b\":\"ab…d\",\"c\":\"😀😀\",\"d\":\"abcde\"}");
    (void)state;
    assert_string_equal(cli_text(object, "a", out, sizeof out), "abcd");
    assert_string_equal(cli_text(object, "b", out, sizeof out), "ab…");
    assert_string_equal(cli_text(object, "c", out, sizeof out), "😀");
    assert_string_equal(cli_text(object, "d", out, sizeof out), "abcde");
}

static void widths_count_characters(void **state)
{
    (void)state;
    assert_int_equal(cli_width(""), 0);
    assert_int_equal(cli_width("abc"), 3);
    assert_int_equal(cli_width("üß…"), 3);
}

static void long_texts_are_cut_to_a_width_and_say_so(void **state)
{
    static const struct {
        const char *text;
        size_t width;
        const char *cut;
    } cases[] = {
        {"abc",      0, "abc"     },
        {"abc",      3, "abc"     },
        {"abcd",     3, "ab…"   },
        {"abcd",     1, "…"     },
        {"üöäß", 3, "üö…" },
        {"",         5, ""        },
        {"a😀bc",  3, "a😀…"},
    };
    char text[32];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_str_copy(text, sizeof text, cases[i].text);
        cli_shorten(text, sizeof text, cases[i].width);
        assert_string_equal(text, cases[i].cut);
    }
}

static void sizes_have_binary_units(void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0,                "0 B"     },
        {1023,             "1023 B"  },
        {1024,             "1.0 KiB" },
        {1536,             "1.5 KiB" },
        {102400,           "100 KiB" },
        {1048575,          "1.0 MiB" },
        {INT64_C(1) << 30, "1.0 GiB" },
        {INT64_MAX,        "8192 PiB"},
        {3000000,          "2.9 MiB" },
        {INT64_C(1) << 50, "1.0 PiB" },
    };
    char out[SIZE_TEXT];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        cli_size_text(cases[i].bytes, out);
        assert_string_equal(out, cases[i].text);
    }
}

static void durations_have_two_units(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0,         "0s"                 },
        {59,        "59s"                },
        {60,        "1m00s"              },
        {3599,      "59m59s"             },
        {3600,      "1h00m"              },
        {7500,      "2h05m"              },
        {86400,     "1d00h"              },
        {273600,    "3d04h"              },
        {INT64_MAX, "106751991167300d15h"},
    };
    char out[DURATION_TEXT];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        cli_duration_text(cases[i].seconds, out);
        assert_string_equal(out, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_shown_as_people_read_them),
        cmocka_unit_test(a_text_that_does_not_fit_ends_with_a_whole_character),
        cmocka_unit_test(widths_count_characters),
        cmocka_unit_test(long_texts_are_cut_to_a_width_and_say_so),
        cmocka_unit_test(sizes_have_binary_units),
        cmocka_unit_test(durations_have_two_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
