/* How long to wait before trying again: full jitter over a window that doubles (the second try
 * within 1 s, then 2 s, 4 s … 60 s). */
#ifndef TRAINYARD_ENGINE_BACKOFF_H
#define TRAINYARD_ENGINE_BACKOFF_H

#include "trainyard/base/random.h"

struct backoff {
    int32_t failures; /* in a row */
    int64_t due_ms;   /* monotonic: not before; 0 = at once */
};

enum { BACKOFF_BASE_MS = 1000, BACKOFF_MAX_MS = 60000 };

/* One more failure at `now_ms`: due_ms lies 1 ms to the whole window later. */
void backoff_fail(struct backoff *backoff, const struct ty_random *random, int64_t now_ms);

static inline void backoff_reset(struct backoff *backoff)
{
    *backoff = (struct backoff){0};
}

#endif
