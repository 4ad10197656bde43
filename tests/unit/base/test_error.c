#include "unit.h"

#include "trainyard/base/error.h"

#include <errno.h>

static void a_failure_returns_its_status_and_fills_status_code_and_text(void **state)
{
    struct ty_error err = {.status = TY_INTERNAL, .code = "old", .text = "old"};

    (void)state;
    assert_int_equal(ty_fail(&err, TY_NOT_FOUND, "no job %s", "j1"), TY_NOT_FOUND);
    assert_int_equal(err.status, TY_NOT_FOUND);
    assert_string_equal(err.code, "");
    assert_string_equal(err.text, "no job j1");
    assert_int_equal(ty_fail_code(&err, TY_REFUSED, "too_big", "%d", 7), TY_REFUSED);
    assert_string_equal(err.code, "too_big");
    assert_string_equal(err.text, "7");
}

static void a_failure_without_an_error_object_only_returns_its_status(void **state)
{
    (void)state;
    assert_int_equal(ty_fail(NULL, TY_GONE, "x"), TY_GONE);
    assert_int_equal(ty_fail_code(NULL, TY_GONE, "c", "x"), TY_GONE);
    assert_int_equal(ty_fail_errno(NULL, ENOENT, "x"), TY_NOT_FOUND);
    assert_int_equal(ty_wrap(NULL, "x"), TY_INTERNAL);
}

static void a_failure_is_never_ok(void **state)
{
    struct ty_error err;

    (void)state;
    assert_int_equal(ty_fail(&err, TY_OK, "forgot the status"), TY_INTERNAL);
}

static void wrapping_puts_context_in_front_and_keeps_status_and_code(void **state)
{
    struct ty_error err;

    (void)state;
    (void)ty_fail_code(&err, TY_REFUSED, "image", "no such image");
    assert_int_equal(ty_wrap(&err, "start job %s", "j1"), TY_REFUSED);
    assert_string_equal(err.text, "start job j1: no such image");
    assert_string_equal(err.code, "image");
}

static void arguments_may_point_into_the_error_itself(void **state)
{
    struct ty_error err;

    (void)state;
    (void)ty_fail_code(&err, TY_REFUSED, "image", "inner");
    (void)ty_fail_code(&err, err.status, err.code, "outer <%s>", err.text);
    assert_string_equal(err.text, "outer <inner>");
    assert_string_equal(err.code, "image");
    assert_int_equal(err.status, TY_REFUSED);
}

static void long_words_are_cut_and_still_ended(void **state)
{
    struct ty_error err;
    char big[2000];

    (void)state;
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    (void)ty_fail_code(&err, TY_INVALID, big, "%s", big);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_int_equal(strlen(err.code), sizeof(err.code) - 1);
    (void)ty_wrap(&err, "%s", "context");
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_memory_equal(err.text, "context: xxx", 12);
    (void)ty_wrap(&err, "%s", big);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void errno_values_become_statuses_with_the_systems_words(void **state)
{
    static const struct {
        int errnum;
        ty_status status;
        const char *text;
    } cases[] = {
        {ENOSPC, TY_STORAGE_FULL, "write x: No space left on device"  },
        {EDQUOT, TY_STORAGE_FULL, "write x: Disk quota exceeded"      },
        {ENOENT, TY_NOT_FOUND,    "write x: No such file or directory"},
        {ENOMEM, TY_NO_MEMORY,    "write x: Cannot allocate memory"   },
        {EACCES, TY_UNAVAILABLE,  "write x: Permission denied"        },
        {EPERM,  TY_UNAVAILABLE,  "write x: Operation not permitted"  },
        {EROFS,  TY_UNAVAILABLE,  "write x: Read-only file system"    },
        {EIO,    TY_INTERNAL,     "write x: Input/output error"       },
        {99999,  TY_INTERNAL,     "write x: unknown error"            },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_error err;

        assert_int_equal(ty_fail_errno(&err, cases[i].errnum, "write %s", "x"), cases[i].status);
        assert_int_equal(err.status, cases[i].status);
        assert_string_equal(err.text, cases[i].text);
        assert_string_equal(err.code, "");
    }
}

static void every_status_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int a = TY_OK; a <= TY_INTERNAL; a++) {
        for (int b = a + 1; b <= TY_INTERNAL; b++)
            assert_string_not_equal(ty_status_name((ty_status)a), ty_status_name((ty_status)b));
    }
    assert_string_equal(ty_status_name(TY_NOT_FOUND), "not_found");
    assert_string_equal(ty_status_name(TY_STORAGE_FULL), "storage_full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_returns_its_status_and_fills_status_code_and_text),
        cmocka_unit_test(a_failure_without_an_error_object_only_returns_its_status),
        cmocka_unit_test(a_failure_is_never_ok),
        cmocka_unit_test(wrapping_puts_context_in_front_and_keeps_status_and_code),
        cmocka_unit_test(arguments_may_point_into_the_error_itself),
        cmocka_unit_test(long_words_are_cut_and_still_ended),
        cmocka_unit_test(errno_values_become_statuses_with_the_systems_words),
        cmocka_unit_test(every_status_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
