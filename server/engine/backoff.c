#include "backoff.h"

void backoff_fail(struct backoff *backoff, const struct ty_random *random, int64_t now_ms)
{
    int64_t window = BACKOFF_BASE_MS;
    for (int32_t i = 0; i < backoff->failures && window < BACKOFF_MAX_MS; i++)
        window *= 2;
    if (window > BACKOFF_MAX_MS)
        window = BACKOFF_MAX_MS;
    if (backoff->failures < INT32_MAX)
        backoff->failures++;
    backoff->due_ms = now_ms + 1 + (int64_t)ty_random_below(random, (uint64_t)window);
}
