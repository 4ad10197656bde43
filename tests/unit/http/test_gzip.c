#include "unit.h"

#include "http/gzip.h"

#include <stdlib.h>

static char *text_of(size_t len)
{
    char *text = malloc(len + 1);
    uint32_t seed = 1;

    assert_non_null(text);
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1103515245u + 12345u;
        text[i] = (char)('a' + (seed >> 16) % 26);
    }
    text[len] = '\0';
    return text;
}

static void what_was_deflated_inflates_to_itself(void **state)
{
    static const size_t sizes[] = {1000, 1024, 16384, 16385, 100000, 1000000};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
        char *text = text_of(sizes[i]);
        size_t packed_len;
        void *packed = ty_gzip_deflate(text, sizes[i], &packed_len);
        ty_auto_buf out = {0};

        assert_non_null(packed);
        assert_true(packed_len < sizes[i]);
        ty_buf_init(&out, sizes[i] + 1);
        assert_int_equal(ty_gzip_inflate(packed, packed_len, &out, NULL), TY_OK);
        assert_int_equal(out.len, sizes[i]);
        assert_memory_equal(out.data, text, sizes[i]);
        free(packed);
        free(text);
    }
}

static void what_would_grow_is_not_deflated(void **state)
{
    size_t len;

    (void)state;
    assert_null(ty_gzip_deflate("ab", 2, &len));
}

static void a_cut_spoiled_or_prolonged_stream_is_refused(void **state)
{
    char *text = text_of(5000);
    size_t len;
    unsigned char *packed = ty_gzip_deflate(text, 5000, &len);
    struct ty_error err;

    (void)state;
    for (size_t cut = 0; cut < len; cut++) {
        ty_auto_buf out = {0};

        ty_buf_init(&out, 10000);
        assert_int_equal(ty_gzip_inflate(packed, cut, &out, &err), TY_INVALID);
        assert_string_equal(err.code, "bad_encoding");
    }
    for (size_t at = 0; at < len; at++) {
        ty_auto_buf out = {0};

        if (at >= 4 && at < 10)
            continue; /* time, flags of no effect, system */
        packed[at] ^= 0x55;
        ty_buf_init(&out, 10000);
        assert_int_not_equal(ty_gzip_inflate(packed, len, &out, &err), TY_OK);
        packed[at] ^= 0x55;
    }
    {
        ty_auto_buf longer = {0};
        ty_auto_buf out = {0};

        ty_buf_init(&longer, len + 1);
        ty_buf_add(&longer, packed, len);
        ty_buf_addc(&longer, '\0');
        ty_buf_init(&out, 10000);
        assert_int_equal(ty_gzip_inflate(longer.data, longer.len, &out, &err), TY_INVALID);
    }
    free(packed);
    free(text);
}

static void the_buffers_maximum_bounds_what_comes_out(void **state)
{
    char *text = text_of(20000);
    size_t len;
    void *packed = ty_gzip_deflate(text, 20000, &len);
    struct ty_error err;
    ty_auto_buf out = {0};

    (void)state;
    ty_buf_init(&out, 19999);
    assert_int_equal(ty_gzip_inflate(packed, len, &out, &err), TY_TOO_LARGE);
    assert_string_equal(err.code, "body_too_large");
    assert_true(out.len <= 19999);
    free(packed);
    free(text);
}

static void a_ratio_over_a_hundred_is_a_bomb(void **state)
{
    enum { SIZE = 4 * 1024 * 1024 };
    char *zeros = calloc(1, SIZE);
    size_t len;
    void *packed = ty_gzip_deflate(zeros, SIZE, &len);
    struct ty_error err;
    ty_auto_buf out = {0};

    (void)state;
    assert_true(SIZE / len > TY_GZIP_RATIO);
    ty_buf_init(&out, SIZE + 1);
    assert_int_equal(ty_gzip_inflate(packed, len, &out, &err), TY_TOO_LARGE);
    assert_true(out.len < SIZE);
    free(packed);
    free(zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_deflated_inflates_to_itself),
        cmocka_unit_test(what_would_grow_is_not_deflated),
        cmocka_unit_test(a_cut_spoiled_or_prolonged_stream_is_refused),
        cmocka_unit_test(the_buffers_maximum_bounds_what_comes_out),
        cmocka_unit_test(a_ratio_over_a_hundred_is_a_bomb),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
