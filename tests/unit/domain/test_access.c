#include "unit.h"

#include "trainyard/base/str.h"
#include "trainyard/domain/access.h"

#include <stdlib.h>

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* The test vector of T1: CRC 0x99820c2e, in base 62 "2oIGly". */
static const char vector[] = "ty_s_0123456789abcdefghijABCDEFGHIJ2oIGly";

static void the_published_vector_is_well_formed(void **state)
{
    (void)state;
    assert_true(ty_token_well_formed(vector));
}

static void a_token_changed_anywhere_is_not_well_formed(void **state)
{
    char text[TY_TOKEN_TEXT];

    (void)state;
    for (size_t i = 0; i < strlen(vector); i++)
        for (size_t k = 0; k < strlen(digits); k++) {
            memcpy(text, vector, sizeof(text));
            text[i] = digits[k];
            assert_int_equal(ty_token_well_formed(text), text[i] == vector[i]);
        }
}

static void other_forms_are_not_well_formed(void **state)
{
    static const char *const texts[] = {
        "",
        "ty_",
        "ty_s_",
        "ty_s_0123456789abcdefghijABCDEFGHIJ2oIGl",
        "ty_s_0123456789abcdefghijABCDEFGHIJ2oIGly0",
        "ty_s_0123456789abcdefghijABCDEFGHIJ2oIGly ",
        "TY_S_0123456789abcdefghijABCDEFGHIJ2oIGly",
        "ty_s-0123456789abcdefghijABCDEFGHIJ2oIGly",
        "ty_x_0123456789abcdefghijABCDEFGHIJ2oIGly",
        "ty_s_0123456789abcdefghij-BCDEFGHIJ2oIGly",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++)
        assert_false(ty_token_well_formed(texts[i]));
    char *long_text = malloc(100001);

    assert_non_null(long_text);
    memset(long_text, 'a', 100000);
    long_text[100000] = '\0';
    assert_false(ty_token_well_formed(long_text));
    free(long_text);
}

static void tokens_of_every_kind_are_well_formed_and_differ(void **state)
{
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 7);
    char before[TY_TOKEN_TEXT] = "";

    (void)state;
    for (const char *kind = "usaj"; *kind; kind++)
        for (int i = 0; i < 100; i++) {
            char text[TY_TOKEN_TEXT];

            ty_token_make(&random, *kind, text);
            assert_int_equal(strlen(text), TY_TOKEN_TEXT - 1);
            assert_int_equal(text[3], *kind);
            assert_true(ty_token_well_formed(text));
            assert_string_not_equal(text, before);
            memcpy(before, text, sizeof(before));
        }
}

static void the_same_seed_gives_the_same_token(void **state)
{
    struct ty_seeded one;
    struct ty_seeded two;
    struct ty_random random_one = ty_random_seeded(&one, 42);
    struct ty_random random_two = ty_random_seeded(&two, 42);
    char a[TY_TOKEN_TEXT];
    char b[TY_TOKEN_TEXT];

    (void)state;
    ty_token_make(&random_one, 'u', a);
    ty_token_make(&random_two, 'u', b);
    assert_string_equal(a, b);
}

static void each_role_is_the_one_before_and_more(void **state)
{
    (void)state;
    for (int role = TY_ROLE_VIEWER + 1; role < TY_ROLE_COUNT; role++) {
        uint64_t less = ty_role_scopes((ty_role)(role - 1));
        uint64_t more = ty_role_scopes((ty_role)role);

        assert_true((more & less) == less && more != less);
    }
    assert_int_equal(ty_role_scopes((ty_role)99), 0);
}

static void roles_hold_what_their_names_promise(void **state)
{
    (void)state;
    assert_false(ty_role_scopes(TY_ROLE_VIEWER) & (TY_SCOPE_JOBS_WRITE | TY_SCOPE_JOBS_CANCEL));
    assert_true(ty_role_scopes(TY_ROLE_SUBMITTER) & TY_SCOPE_JOBS_WRITE);
    assert_true(ty_role_scopes(TY_ROLE_SUBMITTER) & TY_SCOPE_JOBS_CANCEL);
    assert_false(ty_role_scopes(TY_ROLE_OPERATOR) & TY_SCOPE_TOKENS_MANAGE);
    assert_true(ty_role_scopes(TY_ROLE_OPERATOR) & TY_SCOPE_VOLUMES_WRITE);
    assert_true(ty_role_scopes(TY_ROLE_TENANT_ADMIN) & TY_SCOPE_TOKENS_MANAGE);
    assert_false(ty_role_scopes(TY_ROLE_TENANT_ADMIN) & TY_SCOPE_SYSTEM_ADMIN);
    assert_true(ty_role_scopes(TY_ROLE_SYSTEM_ADMIN) & TY_SCOPE_SYSTEM_ADMIN);
}

static void names_of_scopes_and_roles_read_back(void **state)
{
    (void)state;
    for (uint64_t bit = 1; bit <= TY_SCOPE_SYSTEM_ADMIN; bit <<= 1) {
        uint64_t parsed = 0;

        assert_int_equal(ty_scope_parse(ty_scope_name(bit), &parsed), TY_OK);
        assert_int_equal(parsed, bit);
    }
    for (int i = 0; i < TY_ROLE_COUNT; i++) {
        ty_role parsed = TY_ROLE_COUNT;

        assert_int_equal(ty_role_parse(ty_role_name((ty_role)i), &parsed), TY_OK);
        assert_int_equal(parsed, i);
    }
}

static void unknown_names_leave_the_output_alone(void **state)
{
    uint64_t bit = 123;
    ty_role role = TY_ROLE_OPERATOR;

    (void)state;
    assert_int_equal(ty_scope_parse("jobs:*", &bit), TY_INVALID);
    assert_int_equal(ty_scope_parse("", &bit), TY_INVALID);
    assert_int_equal(bit, 123);
    assert_int_equal(ty_role_parse("root", &role), TY_INVALID);
    assert_int_equal(role, TY_ROLE_OPERATOR);
    assert_string_equal(ty_scope_name(TY_SCOPE_JOBS_READ | TY_SCOPE_JOBS_WRITE), "unknown");
    assert_string_equal(ty_role_name((ty_role)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_vector_is_well_formed),
        cmocka_unit_test(a_token_changed_anywhere_is_not_well_formed),
        cmocka_unit_test(other_forms_are_not_well_formed),
        cmocka_unit_test(tokens_of_every_kind_are_well_formed_and_differ),
        cmocka_unit_test(the_same_seed_gives_the_same_token),
        cmocka_unit_test(each_role_is_the_one_before_and_more),
        cmocka_unit_test(roles_hold_what_their_names_promise),
        cmocka_unit_test(names_of_scopes_and_roles_read_back),
        cmocka_unit_test(unknown_names_leave_the_output_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
