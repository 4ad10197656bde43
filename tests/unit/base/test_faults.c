#include "unit.h"

#include "trainyard/base/faults.h"
#include "trainyard/base/str.h"

static void a_fault_keeps_its_place_code_and_words(void **state)
{
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    assert_false(ty_faults_any(&faults));
    ty_faults_add(&faults, TY_AT_PARAMETER, "limit", "out_of_range", "at most %d", 500);
    ty_faults_add(&faults, TY_AT_POINTER, "/a~1b", "required", "missing");
    assert_true(ty_faults_any(&faults));
    assert_int_equal(faults.count, 2);
    assert_int_equal(faults.dropped, 0);
    assert_int_equal(faults.items[0].place, TY_AT_PARAMETER);
    assert_string_equal(faults.items[0].where, "limit");
    assert_string_equal(faults.items[0].code, "out_of_range");
    assert_string_equal(faults.items[0].detail, "at most 500");
    assert_string_equal(faults.items[1].where, "/a~1b");
}

static void faults_beyond_the_limit_are_counted_not_kept(void **state)
{
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    for (int i = 0; i < TY_FAULTS_MAX + 3; i++)
        ty_faults_add(&faults, TY_AT_POINTER, "", "bad", "%d", i);
    assert_int_equal(faults.count, TY_FAULTS_MAX);
    assert_int_equal(faults.dropped, 3);
    assert_string_equal(faults.items[TY_FAULTS_MAX - 1].detail, "49");
}

static void long_places_and_words_are_cut_with_an_ellipsis_at_a_character(void **state)
{
    struct ty_faults faults;
    char big[1024];

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        memset(big, 'x', sizeof(big));
        for (size_t i = shift; i + 4 < sizeof(big); i += 4)
            memcpy(big + i, "\xf0\x9f\x9a\x82", 4);
        big[sizeof(big) - 5] = '\0';
        ty_faults_init(&faults);
        ty_faults_add(&faults, TY_AT_POINTER, big, "bad", "%s", big);
        assert_true(ty_str_ends(faults.items[0].where, "\xe2\x80\xa6"));
        assert_true(ty_str_ends(faults.items[0].detail, "\xe2\x80\xa6"));
        assert_true(ty_utf8_valid(faults.items[0].where, strlen(faults.items[0].where)));
        assert_true(ty_utf8_valid(faults.items[0].detail, strlen(faults.items[0].detail)));
        assert_true(strlen(faults.items[0].where) > sizeof(faults.items[0].where) - 6);
    }
}

static void a_place_that_just_fits_is_not_cut(void **state)
{
    struct ty_faults faults;
    char exact[256];

    (void)state;
    memset(exact, 'x', sizeof(exact) - 1);
    exact[sizeof(exact) - 1] = '\0';
    ty_faults_init(&faults);
    ty_faults_add(&faults, TY_AT_POINTER, exact, "bad", "%s", exact);
    assert_string_equal(faults.items[0].where, exact);
    assert_string_equal(faults.items[0].detail, exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_keeps_its_place_code_and_words),
        cmocka_unit_test(faults_beyond_the_limit_are_counted_not_kept),
        cmocka_unit_test(long_places_and_words_are_cut_with_an_ellipsis_at_a_character),
        cmocka_unit_test(a_place_that_just_fits_is_not_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
