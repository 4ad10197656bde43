#include "unit.h"

#include "contract/pattern.h"

#include <stdlib.h>

static struct ty_pattern *compiled(const char *text)
{
    struct ty_pattern *pattern = NULL;
    struct ty_error err = {0};

    if (ty_pattern_compile(text, &pattern, &err) != TY_OK)
        fail_msg("%s: %s", text, err.text);
    return pattern;
}

static void patterns_match_as_in_ecma_262(void **state)
{
    /* clang-format off */
    static const struct {
        const char *pattern;
        const char *text;
        bool matches;
    } cases[] = {
        {"^[a-z]+$", "abc", true},
        {"^[a-z]+$", "abc\n", false}, /* the dollar is the very end */
        {"^[a-z]+$", "aBc", false},
        {"[0-9]", "a1b", true}, /* not anchored by itself */
        {"^(a|b)*$", "", true},
        {"^[^\\x00-\\x1f]+$", "\xc3\xbc", true},
        {"^[^\\x00-\\x1f]$", "\xc3\xbc", true}, /* one character, two bytes */
        {"^[^\\x00-\\x1f]+$", "a\tb", false},
        {"^a{2,3}$", "aa", true},
        {"^a{2,3}$", "aaaa", false},
        {"^\\.\\*$", ".*", true},
        {"^[!#-\\[\\]-~]$", "\\", false},
        {"^[^\\x00]*$", "any\nthing", true},
        {"^x$|^y$", "y", true},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_pattern *pattern = compiled(cases[i].pattern);
        struct ty_matcher matcher = {0};
        bool matches = !cases[i].matches;

        assert_int_equal(
            ty_pattern_match(pattern, &matcher, cases[i].text, strlen(cases[i].text), &matches),
            TY_OK);
        if (matches != cases[i].matches)
            fail_msg("%s on %s", cases[i].pattern, cases[i].text);
        ty_matcher_done(&matcher);
        ty_pattern_destroy(pattern);
    }
}

static void what_engines_read_differently_is_refused(void **state)
{
    static const char *const patterns[] = {
        "a.b",    "\\d",  "\\w+", "\\bx",   "(?i)a", "(?=a)", "(?:a)", "a{,3}",
        "a{x}",   "{",    "[[a]", "[a&&b]", "[a--]", "[]a]",  "[^]a]", "\\u0041",
        "\\p{L}", "\\x0", "[a",   "(a",     "a)",    "*a",    "\\",    "a{2",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(patterns); i++) {
        struct ty_pattern *untouched = (struct ty_pattern *)&patterns;
        struct ty_pattern *pattern = untouched;
        struct ty_error err = {0};

        if (ty_pattern_compile(patterns[i], &pattern, &err) != TY_INVALID)
            fail_msg("%s was taken", patterns[i]);
        assert_ptr_equal(pattern, untouched);
        assert_non_null(strstr(err.text, "byte "));
    }
}

static void a_nul_is_found_wherever_it_stands(void **state)
{
    struct ty_pattern *pattern = compiled("^[^\\x00]*$");
    struct ty_matcher matcher = {0};
    bool matches = true;

    (void)state;
    assert_int_equal(ty_pattern_match(pattern, &matcher, "ab\0c", 4, &matches), TY_OK);
    assert_false(matches);
    assert_int_equal(ty_pattern_match(pattern, &matcher, "abc", 3, &matches), TY_OK);
    assert_true(matches);
    assert_null(matcher.data);
    ty_matcher_done(&matcher);
    ty_pattern_destroy(pattern);
}

/* Many repeats of a group may not fit the stack that compiled code has; the answer is the same. */
static void long_texts_with_groups_are_still_judged(void **state)
{
    enum { SEGMENTS = 2048 };
    struct ty_pattern *pattern = compiled("^([a-z]+(/[a-z]+)*)$");
    struct ty_matcher matcher = {0};
    char *text = malloc(2 * SEGMENTS);
    bool matches = false;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < SEGMENTS; i++) {
        text[2 * i] = 'a';
        text[2 * i + 1] = '/';
    }
    text[2 * SEGMENTS - 1] = 'b';
    assert_int_equal(ty_pattern_match(pattern, &matcher, text, 2 * SEGMENTS, &matches), TY_OK);
    assert_true(matches);
    text[2 * SEGMENTS - 1] = '/';
    assert_int_equal(ty_pattern_match(pattern, &matcher, text, 2 * SEGMENTS, &matches), TY_OK);
    assert_false(matches);
    free(text);
    ty_matcher_done(&matcher);
    ty_pattern_destroy(pattern);
}

/* (a*)*-like patterns take exponential time without a limit. */
static void a_search_that_would_take_for_ever_is_no_match(void **state)
{
    struct ty_pattern *pattern = compiled("^([a-z]+[a-z]*)*$");
    struct ty_matcher matcher = {0};
    char text[64];
    bool matches = true;

    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '!';
    assert_int_equal(ty_pattern_match(pattern, &matcher, text, sizeof text, &matches), TY_OK);
    assert_false(matches);
    ty_matcher_done(&matcher);
    ty_pattern_destroy(pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_as_in_ecma_262),
        cmocka_unit_test(what_engines_read_differently_is_refused),
        cmocka_unit_test(a_nul_is_found_wherever_it_stands),
        cmocka_unit_test(long_texts_with_groups_are_still_judged),
        cmocka_unit_test(a_search_that_would_take_for_ever_is_no_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
