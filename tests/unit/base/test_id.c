#include "unit.h"

#include "trainyard/base/id.h"
#include "trainyard/base/str.h"

static void fill_with_ff(void *context, void *bytes, size_t len)
{
    (void)context;
    memset(bytes, 0xff, len);
}

static const struct ty_random all_ones = {.fill = fill_with_ff};

static void an_id_is_its_prefix_then_time_and_random_digits(void **state)
{
    char id[TY_ID_TEXT];

    (void)state;
    /* The ULID of time 1469918176385 ms starts with 01ARYZ6S41 (the example of its specification).
     */
    ty_id_make(&all_ones, INT64_C(1469918176385000), "job_", id);
    assert_string_equal(id, "job_01aryz6s41zzzzzzzzzzzzzzzz");
    ty_id_make(&all_ones, 0, "", id);
    assert_string_equal(id, "0000000000zzzzzzzzzzzzzzzz");
    ty_id_make(&all_ones, -5, "x_", id);
    assert_string_equal(id, "x_0000000000zzzzzzzzzzzzzzzz");
    ty_id_make(&all_ones, INT64_MAX, "x_", id);
    assert_true(ty_id_valid("x_", id));
}

static void a_prefix_that_is_too_long_is_cut(void **state)
{
    char id[TY_ID_TEXT];

    (void)state;
    ty_id_make(&all_ones, 0, "0123456789abcdef", id);
    assert_string_equal(id, "0123456789ab0000000000zzzzzzzzzzzzzzzz");
}

static void ids_sort_by_time_and_differ_within_a_millisecond(void **state)
{
    const struct ty_random *random = ty_random_system();
    char before[TY_ID_TEXT] = "";

    (void)state;
    for (int64_t ms = 1; ms < 100000; ms = ms * 3 + 1) {
        char a[TY_ID_TEXT];
        char b[TY_ID_TEXT];

        ty_id_make(random, ms * 1000, "job_", a);
        ty_id_make(random, ms * 1000 + 999, "job_", b);
        assert_true(ty_id_valid("job_", a));
        assert_memory_equal(a, b, 14);
        assert_string_not_equal(a, b);
        assert_true(strcmp(before, a) < 0);
        assert_true(ty_str_copy(before, sizeof(before), a));
    }
}

static void only_a_prefix_and_26_digits_are_valid(void **state)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        {"job_01aryz6s41zzzzzzzzzzzzzzzz",  true },
        {"job_7zzzzzzzzzzzzzzzzzzzzzzzzz",  true },
        {"job_8zzzzzzzzzzzzzzzzzzzzzzzzz",  false},
        {"job_01ARYZ6S41zzzzzzzzzzzzzzzz",  false},
        {"job_01aryz6s41zzzzzzzzzzzzzzzi",  false},
        {"job_01aryz6s41zzzzzzzzzzzzzzzu",  false},
        {"job_01aryz6s41zzzzzzzzzzzzzzz",   false},
        {"job_01aryz6s41zzzzzzzzzzzzzzzzz", false},
        {"run_01aryz6s41zzzzzzzzzzzzzzzz",  false},
        {"01aryz6s41zzzzzzzzzzzzzzzz",      false},
        {"job_",                            false},
        {"",                                false},
        {"jo",                              false},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(ty_id_valid("job_", cases[i].text), cases[i].valid);
}

static void a_short_name_has_digits_of_the_time_and_random_ones(void **state)
{
    char name[TY_ID_SHORT];

    (void)state;
    ty_id_short("job_01aryz6s410123456789abcdef", name);
    assert_string_equal(name, "6s4bcdef");
}

static void short_names_of_one_moment_begin_alike(void **state)
{
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 7);
    char id[TY_ID_TEXT];
    char first[TY_ID_SHORT];
    char next[TY_ID_SHORT];

    (void)state;
    ty_id_make(&random, INT64_C(1767225600000) * 1000, "job_", id);
    ty_id_short(id, first);
    for (int64_t ms = 1; ms < 32; ms++) {
        ty_id_make(&random, (INT64_C(1767225600000) + ms) * 1000, "job_", id);
        ty_id_short(id, next);
        assert_memory_equal(next, first, 3);
        assert_string_not_equal(next, first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_its_prefix_then_time_and_random_digits),
        cmocka_unit_test(a_prefix_that_is_too_long_is_cut),
        cmocka_unit_test(ids_sort_by_time_and_differ_within_a_millisecond),
        cmocka_unit_test(only_a_prefix_and_26_digits_are_valid),
        cmocka_unit_test(a_short_name_has_digits_of_the_time_and_random_ones),
        cmocka_unit_test(short_names_of_one_moment_begin_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
