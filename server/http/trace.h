/* W3C Trace Context: reading a traceparent, making the next one. Pure. */
#ifndef TRAINYARD_HTTP_TRACE_H
#define TRAINYARD_HTTP_TRACE_H

#include "trainyard/base/random.h"

#include <stdbool.h>

enum { TY_TRACEPARENT_TEXT = 56 }; /* 55 bytes and a NUL */

/* Whether `text` is a traceparent we can continue: version 00 in full, or a higher one whose start
 * has its form. */
bool ty_trace_valid(const char *text);

/* What to pass on: the trace id of `received` (NULL or invalid: a new one) with a new parent id.
 * Flags but "sampled" are cleared. */
void ty_trace_next(const char *received, const struct ty_random *random,
                   char out[TY_TRACEPARENT_TEXT]);

#endif
