#include "unit.h"

#include "http.h"

static void statuses_have_their_exit_codes(void **state)
{
    static const struct {
        long status;
        int code;
        bool passing;
    } cases[] = {
        {200, EXIT_DONE,        true },
        {204, EXIT_DONE,        true },
        {304, EXIT_DONE,        false},
        {301, EXIT_UNAVAILABLE, false},
        {400, EXIT_REFUSED,     false},
        {401, EXIT_AUTH,        false},
        {403, EXIT_AUTH,        false},
        {404, EXIT_NOT_FOUND,   false},
        {408, EXIT_UNAVAILABLE, true },
        {409, EXIT_REFUSED,     false},
        {410, EXIT_NOT_FOUND,   false},
        {422, EXIT_REFUSED,     false},
        {429, EXIT_UNAVAILABLE, true },
        {500, EXIT_UNAVAILABLE, false},
        {502, EXIT_UNAVAILABLE, true },
        {503, EXIT_UNAVAILABLE, true },
        {504, EXIT_UNAVAILABLE, true },
        {0,   EXIT_UNAVAILABLE, true },
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        assert_int_equal(http_exit_code(cases[i].status), cases[i].code);
        assert_int_equal(http_is_passing(cases[i].status), cases[i].passing);
    }
}

/* H27: max(Retry-After, rand(0, min(30 s, 0.5 s * 2^n))). */
static void pauses_stay_within_their_bounds_and_use_them(void **state)
{
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 1);
    static const int64_t most_ms[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    (void)state;
    for (unsigned try = 0; try < UNIT_COUNT(most_ms); try++) {
        int64_t longest = 0;
        int64_t shortest = INT64_MAX;
        for (int i = 0; i < 1000; i++) {
            int64_t pause = http_pause_ms(&random, try, 0);
            longest = pause > longest ? pause : longest;
            shortest = pause < shortest ? pause : shortest;
        }
        assert_in_range(longest, most_ms[try] * 9 / 10, most_ms[try]);
        assert_in_range(shortest, 0, most_ms[try] / 10);
    }
    assert_int_equal(http_pause_ms(&random, 0, 7), 7000);
    assert_in_range(http_pause_ms(&random, 40, 0), 0, 30000);
}

static void paths_and_queries_are_encoded(void **state)
{
    ty_auto_buf out = {0};
    (void)state;
    ty_buf_init(&out, 1024);
    http_encode(&out, "aZ9-._~ /?&=+%ü");
    assert_string_equal(out.data, "aZ9-._~%20%2F%3F%26%3D%2B%25%C3%BC");
    ty_buf_clear(&out);
    http_encode_path(&out, "a b/c?d");
    assert_string_equal(out.data, "a%20b/c%3Fd");
    ty_buf_clear(&out);
    ty_buf_adds(&out, "/v1/jobs");
    http_add_query(&out, "name", "mni*");
    http_add_query(&out, "created_after", "2026-01-02T03:04:05+01:00");
    http_add_query_int(&out, "limit", 50);
    assert_string_equal(
        out.data, "/v1/jobs?name=mni%2A&created_after=2026-01-02T03%3A04%3A05%2B01%3A00&limit=50");
}

static void heads_are_read_whatever_their_case(void **state)
{
    struct http_answer answer = {.log_offset = -1, .length = -1, .range_start = -1, .total = -1};
    static const char *const lines[] = {
        "HTTP/1.1 206 Partial Content",
        "etag: \"abc\"",
        "Repr-Digest:sha-256=:AAAA:",
        "LOG-OFFSET:   12",
        "Content-Length: 5",
        "content-range: bytes 5-9/10",
        "Retry-After: 3",
        "X-ETag: no",
        "ETag2: no",
        "no colon",
        "",
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(lines); i++)
        http_read_head(&answer, lines[i]);
    assert_string_equal(answer.etag, "\"abc\"");
    assert_string_equal(answer.digest, "sha-256=:AAAA:");
    assert_int_equal(answer.log_offset, 12);
    assert_int_equal(answer.length, 5);
    assert_int_equal(answer.range_start, 5);
    assert_int_equal(answer.total, 10);
    assert_int_equal(answer.retry_after, 3);
}

static void heads_that_are_nonsense_change_nothing(void **state)
{
    struct http_answer answer = {.log_offset = -1, .length = -1, .range_start = -1, .total = -1};
    static const char *const lines[] = {
        "Log-Offset: -5",           "Log-Offset: 99999999999999999999", "Content-Length: x",
        "Content-Range: lines 5-9", "Content-Range: bytes x-9/y",       "Retry-After: soon",
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(lines); i++)
        http_read_head(&answer, lines[i]);
    assert_int_equal(answer.log_offset, -1);
    assert_int_equal(answer.length, -1);
    assert_int_equal(answer.range_start, -1);
    assert_int_equal(answer.total, -1);
    assert_int_equal(answer.retry_after, 0);
    http_read_head(&answer, "Content-Range: bytes */10");
    assert_int_equal(answer.range_start, -1);
    assert_int_equal(answer.total, 10);
}

static void every_key_is_new(void **state)
{
    char first[HTTP_KEY];
    char second[HTTP_KEY];
    (void)state;
    http_key(first);
    http_key(second);
    assert_true(ty_str_starts(first, "cli_"));
    assert_string_not_equal(first, second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_have_their_exit_codes),
        cmocka_unit_test(pauses_stay_within_their_bounds_and_use_them),
        cmocka_unit_test(paths_and_queries_are_encoded),
        cmocka_unit_test(heads_are_read_whatever_their_case),
        cmocka_unit_test(heads_that_are_nonsense_change_nothing),
        cmocka_unit_test(every_key_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
