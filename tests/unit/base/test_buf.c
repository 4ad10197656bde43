#include "unit.h"

#include "trainyard/base/buf.h"

#include <stdlib.h>

static void appends_add_up_and_are_always_ended(void **state)
{
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, 1000);
    assert_null(buf.data);
    ty_buf_add(&buf, "ab\0c", 4);
    ty_buf_adds(&buf, "de");
    ty_buf_addc(&buf, 'f');
    ty_buf_addf(&buf, "<%d>", 42);
    assert_int_equal(buf.len, 11);
    assert_memory_equal(buf.data, "ab\0cdef<42>", 12);
    ty_buf_add(&buf, NULL, 0);
    assert_int_equal(buf.len, 11);
    assert_int_equal(ty_buf_check(&buf, "text", NULL), TY_OK);
}

static void the_maximum_itself_fits_and_one_byte_more_does_not(void **state)
{
    ty_auto_buf buf = {0};
    struct ty_error err;

    (void)state;
    ty_buf_init(&buf, 5);
    ty_buf_adds(&buf, "12345");
    assert_int_equal(buf.failed, TY_OK);
    ty_buf_addc(&buf, '6');
    assert_int_equal(buf.failed, TY_TOO_LARGE);
    assert_int_equal(ty_buf_check(&buf, "the answer", &err), TY_TOO_LARGE);
    assert_string_equal(err.text, "the answer is larger than 5 bytes");
    assert_string_equal(buf.data, "12345");
}

static void a_failure_sticks_until_the_buffer_is_cleared(void **state)
{
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, 4);
    ty_buf_adds(&buf, "12345");
    ty_buf_adds(&buf, "1");
    ty_buf_addf(&buf, "%d", 1);
    assert_null(ty_buf_reserve(&buf, 1));
    assert_int_equal(buf.len, 0);
    assert_null(ty_buf_take(&buf, NULL));
    ty_buf_clear(&buf);
    ty_buf_adds(&buf, "1234");
    assert_int_equal(buf.failed, TY_OK);
    assert_string_equal(buf.data, "1234");
}

static void a_buffer_with_maximum_zero_holds_nothing(void **state)
{
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, 0);
    ty_buf_adds(&buf, "");
    assert_int_equal(buf.failed, TY_OK);
    assert_string_equal(buf.data, "");
    ty_buf_addc(&buf, 'x');
    assert_int_equal(buf.failed, TY_TOO_LARGE);
}

static void the_largest_maximum_does_not_overflow(void **state)
{
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, SIZE_MAX);
    ty_buf_adds(&buf, "x");
    assert_null(ty_buf_reserve(&buf, SIZE_MAX - 1));
    assert_int_equal(buf.failed, TY_TOO_LARGE);
    assert_string_equal(buf.data, "x");
}

static void growth_keeps_all_bytes(void **state)
{
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, 100000);
    for (int i = 0; i < 100000; i++)
        ty_buf_addc(&buf, (char)('a' + i % 26));
    assert_int_equal(buf.failed, TY_OK);
    assert_int_equal(buf.len, 100000);
    assert_int_equal(buf.capacity, 100001);
    for (size_t i = 0; i < buf.len; i++)
        assert_int_equal(buf.data[i], 'a' + i % 26);
}

static void a_formatted_text_of_any_length_is_kept_whole(void **state)
{
    (void)state;
    for (int width = 250; width < 260; width++) {
        ty_auto_buf buf = {0};

        ty_buf_init(&buf, 1000);
        ty_buf_addf(&buf, "%*d", width, 7);
        assert_int_equal(buf.len, width);
        assert_int_equal(buf.data[width - 1], '7');
        assert_int_equal(strlen(buf.data), width);
    }
}

static void reserved_room_is_written_in_place(void **state)
{
    ty_auto_buf buf = {0};
    char *room;

    (void)state;
    ty_buf_init(&buf, 10);
    ty_buf_adds(&buf, "ab");
    room = ty_buf_reserve(&buf, 8);
    assert_non_null(room);
    assert_string_equal(buf.data, "ab"); /* ended, although nothing was put there yet */
    memcpy(room, "cde", 3);
    ty_buf_grew(&buf, 3);
    assert_string_equal(buf.data, "abcde");
    assert_null(ty_buf_reserve(&buf, 6));
}

static void consuming_takes_from_the_front(void **state)
{
    ty_auto_buf buf = {0};

    (void)state;
    ty_buf_init(&buf, 10);
    ty_buf_consume(&buf, 3);
    ty_buf_adds(&buf, "abcdef");
    ty_buf_consume(&buf, 2);
    assert_string_equal(buf.data, "cdef");
    ty_buf_consume(&buf, 100);
    assert_int_equal(buf.len, 0);
    assert_string_equal(buf.data, "");
}

static void taking_hands_over_the_memory_and_leaves_an_empty_buffer(void **state)
{
    ty_auto_buf buf = {0};
    size_t len = 99;
    char *taken;

    (void)state;
    ty_buf_init(&buf, 10);
    taken = ty_buf_take(&buf, &len);
    assert_string_equal(taken, "");
    assert_int_equal(len, 0);
    free(taken);
    ty_buf_adds(&buf, "abc");
    taken = ty_buf_take(&buf, &len);
    assert_string_equal(taken, "abc");
    assert_int_equal(len, 3);
    free(taken);
    assert_null(buf.data);
    assert_int_equal(buf.max, 10);
    ty_buf_adds(&buf, "again");
    assert_string_equal(buf.data, "again");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_add_up_and_are_always_ended),
        cmocka_unit_test(the_maximum_itself_fits_and_one_byte_more_does_not),
        cmocka_unit_test(a_failure_sticks_until_the_buffer_is_cleared),
        cmocka_unit_test(a_buffer_with_maximum_zero_holds_nothing),
        cmocka_unit_test(the_largest_maximum_does_not_overflow),
        cmocka_unit_test(growth_keeps_all_bytes),
        cmocka_unit_test(a_formatted_text_of_any_length_is_kept_whole),
        cmocka_unit_test(reserved_room_is_written_in_place),
        cmocka_unit_test(consuming_takes_from_the_front),
        cmocka_unit_test(taking_hands_over_the_memory_and_leaves_an_empty_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
