/* Time as an argument: the wall clock for records, a monotonic clock for waiting. Tests and the
 * simulation pass their own. */
#ifndef TRAINYARD_BASE_CLOCK_H
#define TRAINYARD_BASE_CLOCK_H

#include "trainyard/base/error.h"

#include <stdint.h>

struct ty_clock {
    int64_t (*wall_us)(void *context);      /* microseconds since 1970-01-01 UTC */
    int64_t (*monotonic_ms)(void *context); /* milliseconds since some start; never goes back */
    void *context;
};

/* The machine's own clocks. */
const struct ty_clock *ty_clock_system(void);

static inline int64_t ty_now_us(const struct ty_clock *clock)
{
    return clock->wall_us(clock->context);
}

static inline int64_t ty_monotonic_ms(const struct ty_clock *clock)
{
    return clock->monotonic_ms(clock->context);
}

/* "2026-01-02T03:04:05.000006Z": 27 bytes and a NUL. Years 0001 to 9999. */
enum { TY_TIME_TEXT = 28 };
void ty_time_format(int64_t wall_us, char out[TY_TIME_TEXT]);

/* Read RFC 3339 with any offset and any number of fraction digits (cut to microseconds) into UTC
 * microseconds. A leap second, where one can be, is the second after it. TY_INVALID when `text` is
 * something else; *wall_us_out untouched then. */
ty_status ty_time_parse(const char *text, int64_t *wall_us_out) TY_MUST_CHECK;

/* "Fri, 02 Jan 2026 03:04:05 GMT" (RFC 9110 5.6.7): 29 bytes and a NUL. Reading takes the two
 * obsolete forms too. TY_INVALID otherwise; *wall_us_out untouched then. */
enum { TY_HTTP_DATE_TEXT = 30 };
void ty_http_date_format(int64_t wall_us, char out[TY_HTTP_DATE_TEXT]);
ty_status ty_http_date_parse(const char *text, int64_t *wall_us_out) TY_MUST_CHECK;

#endif
