#include "unit.h"

#include "trainyard/base/str.h"

static void copies_are_bounded_ended_and_say_when_they_were_cut(void **state)
{
    char out[4] = "zzz";

    (void)state;
    assert_true(ty_str_copy(out, sizeof(out), "abc"));
    assert_string_equal(out, "abc");
    assert_false(ty_str_copy(out, sizeof(out), "abcd"));
    assert_string_equal(out, "abc");
    assert_true(ty_str_copy(out, sizeof(out), ""));
    assert_string_equal(out, "");
    assert_false(ty_str_copy(out, 1, "x"));
    assert_string_equal(out, "");
    out[0] = 'k';
    assert_false(ty_str_copy(out, 0, "x"));
    assert_int_equal(out[0], 'k');
}

static void starts_and_ends_are_compared_whole(void **state)
{
    (void)state;
    assert_true(ty_str_ends("train.py", ".py"));
    assert_true(ty_str_ends(".py", ".py"));
    assert_false(ty_str_ends("py", ".py"));
    assert_true(ty_str_ends("x", ""));
    assert_false(ty_str_ends("a.pyc", ".py"));
    assert_true(ty_str_starts("train.py", "train"));
    assert_false(ty_str_starts("tr", "train"));
    assert_true(ty_str_equal("a", "a"));
    assert_false(ty_str_equal("a", "ab"));
}

static void integers_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        int64_t min, max;
        ty_status status;
        int64_t value;
    } cases[] = {
        {"0",                    -10,       10,        TY_OK,      0        },
        {"10",                   -10,       10,        TY_OK,      10       },
        {"-10",                  -10,       10,        TY_OK,      -10      },
        {"11",                   -10,       10,        TY_INVALID, 77       },
        {"-11",                  -10,       10,        TY_INVALID, 77       },
        {"9223372036854775807",  INT64_MIN, INT64_MAX, TY_OK,      INT64_MAX},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, TY_OK,      INT64_MIN},
        {"9223372036854775808",  INT64_MIN, INT64_MAX, TY_INVALID, 77       },
        {"-9223372036854775809", INT64_MIN, INT64_MAX, TY_INVALID, 77       },
        {"18446744073709551617", INT64_MIN, INT64_MAX, TY_INVALID, 77       },
        {"",                     -10,       10,        TY_INVALID, 77       },
        {"-",                    -10,       10,        TY_INVALID, 77       },
        {"+1",                   -10,       10,        TY_INVALID, 77       },
        {"01",                   -10,       10,        TY_INVALID, 77       },
        {"-01",                  -10,       10,        TY_INVALID, 77       },
        {"-0",                   -10,       10,        TY_INVALID, 77       },
        {"00",                   -10,       10,        TY_INVALID, 77       },
        {" 1",                   -10,       10,        TY_INVALID, 77       },
        {"1 ",                   -10,       10,        TY_INVALID, 77       },
        {"1.0",                  -10,       10,        TY_INVALID, 77       },
        {"1e1",                  -10,       10,        TY_INVALID, 77       },
        {"0x1",                  -10,       10,        TY_INVALID, 77       },
        {"--1",                  -10,       10,        TY_INVALID, 77       },
        {"\xd9\xa1",             -10,       10,        TY_INVALID, 77       },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        int64_t value = 77;

        assert_int_equal(ty_str_to_int(cases[i].text, cases[i].min, cases[i].max, &value),
                         cases[i].status);
        assert_true(value == cases[i].value);
    }
}

/* Expected replacements from Unicode 3.9, tables 3-8 to 3-11, with "R" for U+FFFD. */
static const struct {
    const char *bytes;
    const char *repaired;
    bool valid;
} texts[] = {
    {"",                                                    "",                                     true },
    {"plain ascii, longer than eight bytes",                "plain ascii, longer than eight bytes", true },
    {"\x7f",                                                "\x7f",                                 true },
    {"\xc2\x80 \xdf\xbf",                                   "\xc2\x80 \xdf\xbf",                    true },
    {"\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf",
     "\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf",                                         true },
    {"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",                   "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",    true },
    {"12345678\xff",                                        "12345678R",                            false},
    {"\x80",                                                "R",                                    false},
    {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41",                "RRRRRRRRA",                            false},
    {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41",                "RRRRRRRRA",                            false},
    {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",                "RRRRRARRB",                            false},
    {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41",                "RRRRA",                                false},
    {"a\xc1\xbf",                                           "aRR",                                  false},
    {"\xf5\x80\x80\x80",                                    "RRRR",                                 false},
    {"x\xe2\x82",                                           "xR",                                   false},
    {"x\xf0\x9f\x9a",                                       "xR",                                   false},
    {"x\xc3",                                               "xR",                                   false},
};

static void expand(const char *text, char *out)
{
    for (; *text; text++) {
        if (*text == 'R') {
            memcpy(out, "\xef\xbf\xbd", 3);
            out += 3;
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

static void ill_formed_utf8_is_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++)
        assert_int_equal(ty_utf8_valid(texts[i].bytes, strlen(texts[i].bytes)), texts[i].valid);
    assert_true(ty_utf8_valid("a\0b", 3));
}

static void ill_formed_utf8_is_replaced_by_maximal_subparts(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        char expected[128];
        char out[128];
        size_t used = 99;
        size_t len = ty_utf8_repair(texts[i].bytes, strlen(texts[i].bytes), true, out, &used);

        expand(texts[i].repaired, expected);
        assert_int_equal(used, strlen(texts[i].bytes));
        assert_int_equal(len, strlen(expected));
        assert_memory_equal(out, expected, len);
    }
}

static void a_character_cut_off_by_the_end_waits_for_its_rest(void **state)
{
    static const char text[] = "a\xf0\x9f\x9a\x82";

    (void)state;
    for (size_t len = 1; len <= 5; len++) {
        char out[16];
        size_t used;
        size_t written = ty_utf8_repair(text, len, false, out, &used);

        assert_int_equal(used, len == 5 ? 5 : 1);
        assert_int_equal(written, used);
        assert_memory_equal(out, text, written);
    }
}

static void repair_in_any_pieces_gives_the_same_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        size_t len = strlen(texts[i].bytes);
        char whole[128];
        size_t used;
        size_t whole_len = ty_utf8_repair(texts[i].bytes, len, true, whole, &used);

        for (size_t cut = 0; cut <= len; cut++) {
            char pieces[128];
            size_t first = ty_utf8_repair(texts[i].bytes, cut, false, pieces, &used);
            size_t second =
                ty_utf8_repair(texts[i].bytes + used, len - used, true, pieces + first, &used);

            assert_int_equal(first + second, whole_len);
            assert_memory_equal(pieces, whole, whole_len);
        }
    }
}

#define X63 "a23456789012345678901234567890123456789012345678901234567890123"

static void dns_labels_and_subdomains_are_judged_as_kubernetes_does(void **state)
{
    static const struct {
        const char *text;
        bool label, label1035, subdomain;
    } cases[] = {
        {"a",                                                                                   true,  true,  true },
        {"a-b",                                                                                 true,  true,  true },
        {"1a",                                                                                  true,  false, true },
        {"a1",                                                                                  true,  true,  true },
        {"",                                                                                    false, false, false},
        {"-a",                                                                                  false, false, false},
        {"a-",                                                                                  false, false, false},
        {"A",                                                                                   false, false, false},
        {"a_b",                                                                                 false, false, false},
        {"a.b",                                                                                 false, false, true },
        {"a..b",                                                                                false, false, false},
        {".a",                                                                                  false, false, false},
        {"a.",                                                                                  false, false, false},
        {"a.-b",                                                                                false, false, false},
        {"\xc3\xa9",                                                                            false, false, false},
        {"a b",                                                                                 false, false, false},
        {X63,                                                                                   true,  true,  true },
        {X63 "x",                                                                               false, false, true },
        {X63 "." X63 "." X63 "." X63,                                                           false, false, false},
        {X63 "." X63 "." X63 ".a234567890123456789012345678901234567890123456789012345678901",
         false,                                                                                        false, true },
        {X63 "." X63 "." X63 ".a2345678901234567890123456789012345678901234567890123456789012",
         false,                                                                                        false, false},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        assert_int_equal(ty_dns1123_label(cases[i].text), cases[i].label);
        assert_int_equal(ty_dns1035_label(cases[i].text), cases[i].label1035);
        assert_int_equal(ty_dns1123_subdomain(cases[i].text), cases[i].subdomain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_bounded_ended_and_say_when_they_were_cut),
        cmocka_unit_test(starts_and_ends_are_compared_whole),
        cmocka_unit_test(integers_are_read_strictly),
        cmocka_unit_test(ill_formed_utf8_is_seen),
        cmocka_unit_test(ill_formed_utf8_is_replaced_by_maximal_subparts),
        cmocka_unit_test(a_character_cut_off_by_the_end_waits_for_its_rest),
        cmocka_unit_test(repair_in_any_pieces_gives_the_same_text),
        cmocka_unit_test(dns_labels_and_subdomains_are_judged_as_kubernetes_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
