#include "trainyard/base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND_US INT64_C(1000000)

enum { DAY_SECONDS = 86400 };

/* 0001-01-01T00:00:00Z and the last second of 9999. */
static const int64_t first_second = INT64_C(-62135596800);
static const int64_t last_second = INT64_C(253402300799);

static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char day_names[] = "ThuFriSatSunMonTueWed"; /* 1970-01-01 was a Thursday */

struct civil {
    int year, month, day, hour, minute, second;
    int weekday; /* index into day_names */
    int microsecond;
};

static int64_t read_clock(clockid_t id, int64_t units_per_second)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * units_per_second + now.tv_nsec / (1000000000 / units_per_second);
}

static int64_t system_wall_us(void *context)
{
    (void)context;
    return read_clock(CLOCK_REALTIME, 1000000);
}

static int64_t system_monotonic_ms(void *context)
{
    (void)context;
    return read_clock(CLOCK_MONOTONIC, 1000);
}

const struct ty_clock *ty_clock_system(void)
{
    static const struct ty_clock machine = {
        .wall_us = system_wall_us,
        .monotonic_ms = system_monotonic_ms,
    };

    return &machine;
}

/* Howard Hinnant's days_from_civil: years start in March, so that the leap day is the last of its
 * year. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

static void date_of(int64_t days, struct civil *out)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * day_of_year + 2) / 153;

    out->day = (int)(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    out->month = (int)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    out->year = (int)(year_of_era + era * 400 + (out->month <= 2));
}

static int64_t floor_divide(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

/* Times outside the years 0001 to 9999 have no text: they are moved to the nearest that has. */
static struct civil civil_of(int64_t wall_us)
{
    struct civil civil;
    int64_t seconds = floor_divide(wall_us, SECOND_US);
    int64_t micros = (wall_us % SECOND_US + SECOND_US) % SECOND_US;
    int64_t days;
    int rest;

    if (seconds < first_second || seconds > last_second) {
        micros = seconds < first_second ? 0 : SECOND_US - 1;
        seconds = seconds < first_second ? first_second : last_second;
    }
    days = floor_divide(seconds, DAY_SECONDS);
    rest = (int)(seconds - days * DAY_SECONDS);
    date_of(days, &civil);
    civil.hour = rest / 3600;
    civil.minute = rest / 60 % 60;
    civil.second = rest % 60;
    civil.weekday = (int)(days - floor_divide(days, 7) * 7);
    civil.microsecond = (int)micros;
    return civil;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

static bool is_real_date(const struct civil *civil)
{
    return civil->year >= 1 && civil->year <= 9999 && civil->month >= 1 && civil->month <= 12 &&
           civil->day >= 1 && civil->day <= days_in_month(civil->year, civil->month) &&
           civil->hour <= 23 && civil->minute <= 59 && civil->second <= 60;
}

static int64_t seconds_of(const struct civil *civil)
{
    return days_of(civil->year, civil->month, civil->day) * DAY_SECONDS + civil->hour * 3600 +
           civil->minute * 60 + civil->second;
}

/* A second 60 is only read where a leap second can be: as the last of a UTC day. It counts as the
 * first of the next, as POSIX time does. */
static ty_status finish_time(const struct civil *civil, int offset_seconds, int64_t *wall_us_out)
{
    int64_t seconds = seconds_of(civil) - offset_seconds;

    if (civil->second == 60 && floor_divide(seconds, DAY_SECONDS) * DAY_SECONDS != seconds)
        return TY_INVALID;
    if (seconds < first_second || seconds > last_second)
        return TY_INVALID;
    *wall_us_out = seconds * SECOND_US + civil->microsecond;
    return TY_OK;
}

/* Reading: each step moves *text past what it took, or leaves it and says false. */

static bool take_char(const char **text, const char *choices)
{
    if (**text == '\0' || !strchr(choices, **text))
        return false;
    (*text)++;
    return true;
}

static bool take_digits(const char **text, int count, int *value_out)
{
    int value = 0;

    for (int i = 0; i < count; i++) {
        char c = (*text)[i];

        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
    }
    *text += count;
    *value_out = value;
    return true;
}

static bool take_fraction(const char **text, int *microsecond_out)
{
    int value = 0;
    int scale = 100000;
    const char *start = *text;

    for (; **text >= '0' && **text <= '9'; (*text)++) {
        value += (**text - '0') * scale;
        scale /= 10;
    }
    *microsecond_out = value;
    return *text > start;
}

static bool take_offset(const char **text, int *seconds_out)
{
    char sign = **text;
    int hours;
    int minutes;

    *seconds_out = 0;
    if (take_char(text, "Zz"))
        return true;
    if (!take_char(text, "+-") || !take_digits(text, 2, &hours) || !take_char(text, ":") ||
        !take_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *seconds_out = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
    return true;
}

static bool take_clock(const char **text, struct civil *civil)
{
    return take_digits(text, 2, &civil->hour) && take_char(text, ":") &&
           take_digits(text, 2, &civil->minute) && take_char(text, ":") &&
           take_digits(text, 2, &civil->second);
}

ty_status ty_time_parse(const char *text, int64_t *wall_us_out)
{
    struct civil civil = {0};
    int offset;

    if (!take_digits(&text, 4, &civil.year) || !take_char(&text, "-") ||
        !take_digits(&text, 2, &civil.month) || !take_char(&text, "-") ||
        !take_digits(&text, 2, &civil.day) || !take_char(&text, "Tt") || !take_clock(&text, &civil))
        return TY_INVALID;
    if (take_char(&text, ".") && !take_fraction(&text, &civil.microsecond))
        return TY_INVALID;
    if (!take_offset(&text, &offset) || *text != '\0' || !is_real_date(&civil))
        return TY_INVALID;
    return finish_time(&civil, offset, wall_us_out);
}

/* The last `count` decimal digits of a number that is not negative. */
static void put_digits(char *out, int count, int number)
{
    for (; count > 0; number /= 10)
        out[--count] = (char)('0' + number % 10);
}

void ty_time_format(int64_t wall_us, char out[TY_TIME_TEXT])
{
    struct civil civil = civil_of(wall_us);

    memcpy(out, "0000-00-00T00:00:00.000000Z", TY_TIME_TEXT);
    put_digits(out, 4, civil.year);
    put_digits(out + 5, 2, civil.month);
    put_digits(out + 8, 2, civil.day);
    put_digits(out + 11, 2, civil.hour);
    put_digits(out + 14, 2, civil.minute);
    put_digits(out + 17, 2, civil.second);
    put_digits(out + 20, 6, civil.microsecond);
}

void ty_http_date_format(int64_t wall_us, char out[TY_HTTP_DATE_TEXT])
{
    struct civil civil = civil_of(wall_us);
    char text[96];

    snprintf(text, sizeof(text), "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
             day_names + 3 * civil.weekday, civil.day, month_names + 3 * (civil.month - 1),
             civil.year, civil.hour, civil.minute, civil.second);
    memcpy(out, text, TY_HTTP_DATE_TEXT);
}

/* The index of the three letters in front of *text in a row of such names. */
static bool take_name(const char **text, const char *names, int *index_out)
{
    for (int i = 0; names[3 * i]; i++) {
        if (strncmp(*text, names + (size_t)3 * (size_t)i, 3) == 0) {
            *text += 3;
            *index_out = i;
            return true;
        }
    }
    return false;
}

static bool take_text(const char **text, const char *expected)
{
    size_t len = strlen(expected);

    if (strncmp(*text, expected, len) != 0)
        return false;
    *text += len;
    return true;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", after the comma. */
static bool take_imf_fixdate(const char **text, struct civil *civil)
{
    return take_text(text, " ") && take_digits(text, 2, &civil->day) && take_text(text, " ") &&
           take_name(text, month_names, &civil->month) && take_text(text, " ") &&
           take_digits(text, 4, &civil->year) && take_text(text, " ") && take_clock(text, civil) &&
           take_text(text, " GMT");
}

/* "Sunday, 06-Nov-94 08:49:37 GMT", after the comma. Of two digits, 70 to 99 are the 1900s: nothing
 * that speaks HTTP means a year before Unix time. */
static bool take_rfc850(const char **text, struct civil *civil)
{
    bool taken = take_text(text, " ") && take_digits(text, 2, &civil->day) &&
                 take_text(text, "-") && take_name(text, month_names, &civil->month) &&
                 take_text(text, "-") && take_digits(text, 2, &civil->year) &&
                 take_text(text, " ") && take_clock(text, civil) && take_text(text, " GMT");

    civil->year += civil->year >= 70 ? 1900 : 2000;
    return taken;
}

/* "Sun Nov  6 08:49:37 1994", after the day's name. */
static bool take_asctime(const char **text, struct civil *civil)
{
    return take_text(text, " ") && take_name(text, month_names, &civil->month) &&
           take_text(text, " ") &&
           (take_text(text, " ") ? take_digits(text, 1, &civil->day)
                                 : take_digits(text, 2, &civil->day)) &&
           take_text(text, " ") && take_clock(text, civil) && take_text(text, " ") &&
           take_digits(text, 4, &civil->year);
}

static bool take_rest_of_day_name(const char **text, int weekday)
{
    static const char *const rests[] = {"rsday", "day", "urday", "day", "day", "sday", "nesday"};

    return take_text(text, rests[weekday]);
}

ty_status ty_http_date_parse(const char *text, int64_t *wall_us_out)
{
    struct civil civil = {0};
    bool taken;

    if (!take_name(&text, day_names, &civil.weekday))
        return TY_INVALID;
    if (take_text(&text, ","))
        taken = take_imf_fixdate(&text, &civil);
    else if (take_rest_of_day_name(&text, civil.weekday))
        taken = take_text(&text, ",") && take_rfc850(&text, &civil);
    else
        taken = take_asctime(&text, &civil);
    civil.month++;
    if (!taken || *text != '\0' || !is_real_date(&civil))
        return TY_INVALID;
    return finish_time(&civil, 0, wall_us_out);
}
