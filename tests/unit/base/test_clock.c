#include "unit.h"

#include "trainyard/base/clock.h"

#include <time.h>

#define US INT64_C(1000000)

static void times_are_written_as_rfc_3339_in_utc_with_microseconds(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0,                                   "1970-01-01T00:00:00.000000Z"},
        {INT64_C(1767323045000006),           "2026-01-02T03:04:05.000006Z"},
        {-1,                                  "1969-12-31T23:59:59.999999Z"},
        {INT64_C(951782400) * US,             "2000-02-29T00:00:00.000000Z"},
        {INT64_C(4107542400) * US,            "2100-03-01T00:00:00.000000Z"},
        {INT64_C(-62135596800) * US,          "0001-01-01T00:00:00.000000Z"},
        {INT64_C(253402300799) * US + 999999, "9999-12-31T23:59:59.999999Z"},
        {INT64_MIN,                           "0001-01-01T00:00:00.000000Z"},
        {INT64_MAX,                           "9999-12-31T23:59:59.999999Z"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char text[TY_TIME_TEXT];

        ty_time_format(cases[i].us, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void rfc_3339_is_read_with_any_offset_and_fraction(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"1970-01-01T00:00:00Z",                        0                                  },
        {"1970-01-01t00:00:00z",                        0                                  },
        {"2026-01-02T03:04:05.000006Z",                 INT64_C(1767323045000006)          },
        {"2026-01-02T03:04:05.0000069999999999999999Z", INT64_C(1767323045000006)          },
        {"2026-01-02T03:04:05.5Z",                      INT64_C(1767323045500000)          },
        {"2026-01-02T05:34:05+02:30",                   INT64_C(1767323045) * US           },
        {"2026-01-01T19:04:05-08:00",                   INT64_C(1767323045) * US           },
        {"1970-01-01T00:00:00-00:00",                   0                                  },
        {"2000-02-29T00:00:00Z",                        INT64_C(951782400) * US            },
        {"1969-12-31T23:59:59.25Z",                     -750000                            },
        {"2016-12-31T23:59:60Z",                        INT64_C(1483228800) * US           },
        {"2016-12-31T15:59:60-08:00",                   INT64_C(1483228800) * US           },
        {"0001-01-01T00:00:00Z",                        INT64_C(-62135596800) * US         },
        {"9999-12-31T23:59:59.999999Z",                 INT64_C(253402300799) * US + 999999},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        int64_t us = 7;

        assert_int_equal(ty_time_parse(cases[i].text, &us), TY_OK);
        assert_int_equal(us, cases[i].us);
    }
}

static void anything_else_is_refused_and_the_output_untouched(void **state)
{
    static const char *const cases[] = {
        "",
        "2026",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04Z",
        "2026-1-02T03:04:05Z",
        "26-01-02T03:04:05Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05,5Z",
        "2026-01-02T03:04:05Z ",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05+2:00",
        "2026-01-02T03:04:05+0200",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+01:60",
        "2026-13-02T03:04:05Z",
        "2026-00-02T03:04:05Z",
        "2026-02-29T03:04:05Z",
        "1900-02-29T03:04:05Z",
        "2026-04-31T03:04:05Z",
        "2026-01-00T03:04:05Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:60:05Z",
        "2026-01-02T03:04:61Z",
        "2026-01-02T03:04:60Z",
        "2016-12-31T23:59:60-08:00",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "9999-12-31T23:59:60Z",
        "+026-01-02T03:04:05Z",
        "2026-01-02T03:04:05ZZ",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        int64_t us = 7;

        assert_int_equal(ty_time_parse(cases[i], &us), TY_INVALID);
        assert_int_equal(us, 7);
    }
}

static void every_day_of_eight_centuries_reads_back(void **state)
{
    (void)state;
    for (int64_t day = -146097; day < 146097; day++) {
        int64_t us = day * 86400 * US + 86399999999;
        time_t seconds = (time_t)(day * 86400 + 86399);
        char text[TY_TIME_TEXT];
        char expected[32];
        struct tm tm;
        int64_t back;

        ty_time_format(us, text);
        gmtime_r(&seconds, &tm);
        strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.999999Z", &tm);
        assert_string_equal(text, expected);
        assert_int_equal(ty_time_parse(text, &back), TY_OK);
        assert_int_equal(back, us);
    }
}

static void http_dates_are_written_as_imf_fixdate(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0,                                "Thu, 01 Jan 1970 00:00:00 GMT"},
        {INT64_C(784111777) * US + 999999, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {INT64_C(1767323045) * US,         "Fri, 02 Jan 2026 03:04:05 GMT"},
        {-1,                               "Wed, 31 Dec 1969 23:59:59 GMT"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char text[TY_HTTP_DATE_TEXT];

        ty_http_date_format(cases[i].us, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void all_three_forms_of_http_dates_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT",     784111777 },
        {"Sunday, 06-Nov-94 08:49:37 GMT",    784111777 },
        {"Sun Nov  6 08:49:37 1994",          784111777 },
        {"Wed Nov 16 08:49:37 1994",          784975777 },
        {"Wednesday, 16-Nov-94 08:49:37 GMT", 784975777 },
        {"Friday, 02-Jan-26 03:04:05 GMT",    1767323045},
        {"Thu, 01 Jan 1970 00:00:00 GMT",     0         },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        int64_t us = 7;

        assert_int_equal(ty_http_date_parse(cases[i].text, &us), TY_OK);
        assert_int_equal(us, cases[i].seconds * US);
    }
}

static void other_http_dates_are_refused_and_the_output_untouched(void **state)
{
    static const char *const cases[] = {
        "",
        "Sun",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Foo, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Mosday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 94",
        "1994-11-06T08:49:37Z",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        int64_t us = 7;

        assert_int_equal(ty_http_date_parse(cases[i], &us), TY_INVALID);
        assert_int_equal(us, 7);
    }
}

static void the_systems_clocks_move_forward(void **state)
{
    const struct ty_clock *clock = ty_clock_system();
    int64_t ms = ty_monotonic_ms(clock);
    struct timespec pause = {.tv_nsec = 5000000};

    (void)state;
    assert_true(ty_now_us(clock) / US - time(NULL) <= 1);
    assert_true(ty_now_us(clock) > INT64_C(1700000000) * US);
    nanosleep(&pause, NULL);
    assert_true(ty_monotonic_ms(clock) >= ms + 4);
    assert_true(ty_monotonic_ms(clock) < ms + 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_written_as_rfc_3339_in_utc_with_microseconds),
        cmocka_unit_test(rfc_3339_is_read_with_any_offset_and_fraction),
        cmocka_unit_test(anything_else_is_refused_and_the_output_untouched),
        cmocka_unit_test(every_day_of_eight_centuries_reads_back),
        cmocka_unit_test(http_dates_are_written_as_imf_fixdate),
        cmocka_unit_test(all_three_forms_of_http_dates_are_read),
        cmocka_unit_test(other_http_dates_are_refused_and_the_output_untouched),
        cmocka_unit_test(the_systems_clocks_move_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
