/* Log lines: one JSON object a line on a file descriptor, bounded, never blocking the caller for
 * long. */
#ifndef TRAINYARD_BASE_LOG_H
#define TRAINYARD_BASE_LOG_H

#include "trainyard/base/clock.h"

typedef enum { TY_LOG_DEBUG, TY_LOG_INFO, TY_LOG_WARNING, TY_LOG_ERROR } ty_log_level;

/* Immutable after init, so any thread may log; each line is one write(2). */
struct ty_log {
    const struct ty_clock *clock;
    int fd; /* -1 drops everything */
    ty_log_level level;
    const char *format; /* "json" or "text" */
};

/* Write one line: time, level, `event` (snake_case) and a message. Control bytes and tokens
 * (anything of the form ty_[usaj]_…) in the message are masked. A message is cut at 2047 bytes.
 * `log` may be NULL. */
void ty_log(const struct ty_log *log, ty_log_level level, const char *event, const char *format,
            ...) TY_PRINTF(4, 5);

#endif
