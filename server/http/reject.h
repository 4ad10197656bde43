/* Answers to what never became a request: broken heads, time-outs, connections over the limit. */
#ifndef TRAINYARD_HTTP_REJECT_H
#define TRAINYARD_HTTP_REJECT_H

#include "trainyard/http/problem.h"

#include <stdbool.h>
#include <stdint.h>

/* Append the whole answer, status line to body, with `Connection: close`. `head_only`: the request
 * was a HEAD. */
void ty_reject_write(struct ty_buf *buf, const struct ty_problem_kind *kind, const char *detail,
                     const char *request_id, int64_t wall_us, bool head_only);

#endif
