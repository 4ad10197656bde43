#include "store_fixture.h"
#include "trainyard/base/str.h"
#include "trainyard/store/cursor.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

static const struct ty_cursor_scope scope = {.tenant = 7, .query = "jobs state=1", .query_len = 12};
static const int64_t issued = INT64_C(1767225600000000);

static void write_cursor(struct store_fixture *fixture, const struct ty_cursor *cursor,
                         char out[2048])
{
    struct ty_error err = {0};
    ty_auto_buf buf = {0};
    ty_buf_init(&buf, 2000);
    assert_int_equal(ty_cursor_write(fixture->store, &scope, cursor, issued, &buf, &err), TY_OK);
    ty_str_copy(out, 2048, buf.data);
}

static void a_cursor_comes_back_as_it_was(void **state)
{
    static const struct {
        int64_t row;
        const char *text;
    } cases[] = {
        {1,         ""                          },
        {INT64_MAX, ""                          },
        {0,         "a"                         },
        {0,         "epoch-1/model \xc3\xa9.pth"},
        {5,         "both"                      },
    };
    struct store_fixture *fixture = *state;
    for (size_t i = 0; i <= UNIT_COUNT(cases); i++) {
        struct ty_cursor cursor = {.row = 3};
        if (i < UNIT_COUNT(cases)) {
            cursor.row = cases[i].row;
            ty_str_copy(cursor.text, sizeof(cursor.text), cases[i].text);
        } else {
            memset(cursor.text, 'p', sizeof(cursor.text) - 1); /* the longest */
        }
        struct ty_cursor back = {.row = -1};
        struct ty_error err = {0};
        char text[2048];
        write_cursor(fixture, &cursor, text);
        assert_int_equal(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789-_"),
                         strlen(text));
        assert_int_equal(ty_cursor_read(fixture->store, &scope, text, issued, &back, &err), TY_OK);
        assert_int_equal(back.row, cursor.row);
        assert_string_equal(back.text, cursor.text);
    }
}

static void expect_refused(struct store_fixture *fixture, const struct ty_cursor_scope *other,
                           const char *text, ty_status status, const char *code)
{
    struct ty_cursor back = {.row = -1, .text = "kept"};
    struct ty_error err = {0};
    assert_int_equal(ty_cursor_read(fixture->store, other, text, issued, &back, &err), status);
    if (code)
        assert_string_equal(err.code, code);
    assert_int_equal(back.row, -1);
    assert_string_equal(back.text, "kept");
}

static void every_changed_character_is_a_forgery(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_cursor cursor = {.row = 12345, .text = "path"};
    char text[2048];
    write_cursor(fixture, &cursor, text);
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        char kept = text[i];
        text[i] = kept == 'A' ? 'B' : 'A';
        expect_refused(fixture, &scope, text, TY_INVALID, NULL);
        text[i] = kept;
    }
    for (size_t i = 0; i < len; i++) {
        char kept = text[i];
        text[i] = '\0';
        expect_refused(fixture, &scope, text, TY_INVALID, NULL);
        text[i] = kept;
    }
    expect_refused(fixture, &scope, "", TY_INVALID, "cursor_invalid");
    expect_refused(fixture, &scope, "abc", TY_INVALID, "cursor_invalid");
    expect_refused(fixture, &scope, "!!!!", TY_INVALID, "cursor_invalid");
    expect_refused(fixture, &scope, "\xff\xfe", TY_INVALID, "cursor_invalid");
    static char endless[100000];
    memset(endless, 'A', sizeof(endless) - 1);
    expect_refused(fixture, &scope, endless, TY_INVALID, "cursor_invalid");
}

static void a_cursor_of_another_query_is_told_as_such(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_cursor cursor = {.row = 1};
    char text[2048];
    write_cursor(fixture, &cursor, text);
    static const struct ty_cursor_scope others[] = {
        {.tenant = 8, .query = "jobs state=1",  .query_len = 12},
        {.tenant = 7, .query = "jobs state=2",  .query_len = 12},
        {.tenant = 7, .query = "jobs state=1 ", .query_len = 13},
        {.tenant = 7, .query = "",              .query_len = 0 },
    };
    for (size_t i = 0; i < UNIT_COUNT(others); i++)
        expect_refused(fixture, &others[i], text, TY_INVALID, "cursor_mismatch");
}

static void a_cursor_of_another_server_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_fixture other;
    struct ty_cursor cursor = {.row = 1};
    char text[2048];
    store_fixture_start(&other, false);
    write_cursor(&other, &cursor, text);
    expect_refused(fixture, &scope, text, TY_INVALID, "cursor_invalid");
    store_fixture_stop(&other);
}

static void a_cursor_has_its_time_and_outlives_a_restart(void **state)
{
    static const struct {
        int64_t later;
        ty_status status;
    } cases[] = {
        {-TY_CURSOR_KEEP_US,    TY_OK  }, /* a clock that was set back */
        {0,                     TY_OK  },
        {TY_CURSOR_KEEP_US,     TY_OK  },
        {TY_CURSOR_KEEP_US + 1, TY_GONE},
    };
    struct store_fixture *fixture = *state;
    struct ty_cursor cursor = {.row = 1};
    char text[2048];
    write_cursor(fixture, &cursor, text);
    store_fixture_close(fixture);
    store_fixture_open(fixture);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_cursor back = {.row = -1};
        struct ty_error err = {0};
        assert_int_equal(
            ty_cursor_read(fixture->store, &scope, text, issued + cases[i].later, &back, &err),
            cases[i].status);
        assert_int_equal(back.row, cases[i].status == TY_OK ? 1 : -1);
        assert_string_equal(err.code, cases[i].status == TY_OK ? "" : "cursor_expired");
    }
}

static void no_room_for_the_cursor_is_told(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_cursor cursor = {.row = 1};
    struct ty_error err = {0};
    ty_auto_buf buf = {0};
    ty_buf_init(&buf, 20);
    assert_int_equal(ty_cursor_write(fixture->store, &scope, &cursor, issued, &buf, &err),
                     TY_TOO_LARGE);
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, store_fixture_setup, store_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cursor_comes_back_as_it_was),
        TEST(every_changed_character_is_a_forgery),
        TEST(a_cursor_of_another_query_is_told_as_such),
        TEST(a_cursor_of_another_server_is_refused),
        TEST(a_cursor_has_its_time_and_outlives_a_restart),
        TEST(no_room_for_the_cursor_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
