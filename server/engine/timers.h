/* Who is to be looked at again, and when: a heap of slots that lie in their owners. */
#ifndef TRAINYARD_ENGINE_TIMERS_H
#define TRAINYARD_ENGINE_TIMERS_H

#include "trainyard/base/error.h"

#include <stdint.h>

struct timer {
    int64_t due_ms; /* monotonic; 0 = not armed */
    size_t index;   /* in the heap, while armed */
    void *owner;
};

struct timers {
    struct timer **heap; /* owned; the earliest first */
    size_t count;
    size_t capacity;
};

void timers_done(struct timers *timers);

/* Make room for `count` armed timers at once, so that arming never fails. */
ty_status timers_reserve(struct timers *timers, size_t count) TY_MUST_CHECK;

/* Arm, move or (due_ms 0) disarm. */
void timers_set(struct timers *timers, struct timer *timer, int64_t due_ms);

/* The earliest armed timer if it is due, disarmed; else NULL. */
struct timer *timers_pop(struct timers *timers, int64_t now_ms);

/* When the earliest is due; 0 = none is armed. */
int64_t timers_next(const struct timers *timers);

#endif
