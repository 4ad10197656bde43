#include "unit.h"

#include "http/etag.h"

static void a_list_is_held_against_the_present_tag(void **state)
{
    enum { NO, YES, BAD };
    static const struct {
        const char *list;
        const char *etag;
        int weak;   /* If-None-Match */
        int strong; /* If-Match */
    } cases[] = {
        {"\"a\"",                "\"a\"",      YES, YES},
        {"\"b\"",                "\"a\"",      NO,  NO },
        {"W/\"a\"",              "\"a\"",      YES, NO },
        {"\"a\"",                "W/\"a\"",    YES, NO },
        {"W/\"a\"",              "W/\"a\"",    YES, NO },
        {"w/\"a\"",              "\"a\"",      BAD, BAD},
        {"*",                    "\"a\"",      YES, YES},
        {" * ",                  "\"a\"",      YES, YES},
        {"*",                    NULL,         NO,  NO },
        {"\"a\"",                NULL,         NO,  NO },
        {"\"b\", \"a\"",         "\"a\"",      YES, YES},
        {"\"b\",\"c\" ,W/\"a\"", "\"a\"",      YES, NO },
        {",, \"a\",,",           "\"a\"",      YES, YES},
        {"\"a,b\"",              "\"a,b\"",    YES, YES},
        {"\"\"",                 "\"\"",       YES, YES},
        {"\"a-gzip\"",           "\"a\"",      YES, YES},
        {"\"a\"",                "\"a-gzip\"", YES, YES},
        {"\"-gzip\"",            "\"\"",       NO,  NO }, /* nothing before the suffix: a tag like any */
        {"\"A\"",                "\"a\"",      NO,  NO },
        {"",                     "\"a\"",      BAD, BAD},
        {",",                    "\"a\"",      BAD, BAD},
        {"a",                    "\"a\"",      BAD, BAD},
        {"\"a",                  "\"a\"",      BAD, BAD},
        {"\"a\" \"b\"",          "\"a\"",      BAD, BAD},
        {"\"a\", *",             "\"a\"",      BAD, BAD},
        {"* , \"a\"",            "\"a\"",      BAD, BAD},
        {"\"a b\"",              "\"a b\"",    BAD, BAD},
        {"\"a\"x",               "\"a\"",      BAD, BAD},
        {"W/a",                  "\"a\"",      BAD, BAD},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        for (int strong = 0; strong < 2; strong++) {
            int expected = strong ? cases[i].strong : cases[i].weak;
            bool matches = expected != YES; /* must be set, or left when the list is bad */
            bool before = matches;
            ty_status status = ty_etag_list_matches(cases[i].list, cases[i].etag, strong, &matches);

            if (status != (expected == BAD ? TY_INVALID : TY_OK) ||
                matches != (expected == BAD ? before : expected == YES))
                fail_msg("%s against %s", cases[i].list, cases[i].etag);
        }
}

static void a_tag_of_content_is_strong_stable_and_its_own(void **state)
{
    char a[TY_ETAG_TEXT];
    char b[TY_ETAG_TEXT];

    (void)state;
    assert_int_equal(ty_etag_of("abc", 3, a), TY_OK);
    assert_string_equal(
        a,
        "\"ungWv48Bz-pBQUDeXa4iI7AD\""); /* SHA-256 of "abc" starts ba7816bf 8f01cfea 414140de… */
    assert_int_equal(ty_etag_of("abd", 3, b), TY_OK);
    assert_string_not_equal(a, b);
    assert_true(ty_etag_valid(a));
    assert_int_equal(ty_etag_of("", 0, b), TY_OK);
    assert_true(ty_etag_valid(b));
}

static void the_gzip_form_has_a_tag_of_its_own_that_names_the_same(void **state)
{
    char out[TY_ETAG_TEXT];
    char longest[TY_ETAG_TEXT];
    bool matches = false;

    (void)state;
    assert_true(ty_etag_with_gzip("\"a\"", out));
    assert_string_equal(out, "\"a-gzip\"");
    assert_int_equal(ty_etag_list_matches(out, "\"a\"", true, &matches), TY_OK);
    assert_true(matches);
    assert_true(ty_etag_with_gzip("W/\"a\"", out));
    assert_string_equal(out, "W/\"a-gzip\"");
    memset(longest, 'x', sizeof longest);
    longest[0] = '"';
    longest[TY_ETAG_TEXT - 2] = '"';
    longest[TY_ETAG_TEXT - 1] = '\0';
    assert_false(ty_etag_with_gzip(longest, out));
    assert_string_equal(out, "W/\"a-gzip\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_held_against_the_present_tag),
        cmocka_unit_test(a_tag_of_content_is_strong_stable_and_its_own),
        cmocka_unit_test(the_gzip_form_has_a_tag_of_its_own_that_names_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
