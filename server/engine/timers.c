#include "timers.h"

#include <stdlib.h>

void timers_done(struct timers *timers)
{
    free(timers->heap);
    *timers = (struct timers){0};
}

ty_status timers_reserve(struct timers *timers, size_t count)
{
    if (count <= timers->capacity)
        return TY_OK;
    size_t capacity = timers->capacity < 64 ? 64 : timers->capacity * 2;
    if (capacity < count)
        capacity = count;
    struct timer **heap = reallocarray(timers->heap, capacity, sizeof(struct timer *));
    if (!heap)
        return TY_NO_MEMORY;
    timers->heap = heap;
    timers->capacity = capacity;
    return TY_OK;
}

static void place(struct timers *timers, size_t index, struct timer *timer)
{
    timers->heap[index] = timer;
    timer->index = index;
}

static void sift_up(struct timers *timers, struct timer *timer)
{
    size_t at = timer->index;
    while (at > 0) {
        struct timer *parent = timers->heap[(at - 1) / 2];
        if (parent->due_ms <= timer->due_ms)
            break;
        place(timers, at, parent);
        at = (at - 1) / 2;
    }
    place(timers, at, timer);
}

static void sift_down(struct timers *timers, struct timer *timer)
{
    size_t at = timer->index;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= timers->count)
            break;
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->due_ms < timers->heap[child]->due_ms)
            child++;
        if (timers->heap[child]->due_ms >= timer->due_ms)
            break;
        place(timers, at, timers->heap[child]);
        at = child;
    }
    place(timers, at, timer);
}

static void disarm(struct timers *timers, struct timer *timer)
{
    struct timer *last = timers->heap[--timers->count];
    timer->due_ms = 0;
    if (last == timer)
        return;
    place(timers, timer->index, last);
    sift_up(timers, last);
    sift_down(timers, last);
}

void timers_set(struct timers *timers, struct timer *timer, int64_t due_ms)
{
    if (due_ms == timer->due_ms)
        return;
    if (timer->due_ms != 0)
        disarm(timers, timer);
    if (due_ms == 0)
        return;
    timer->due_ms = due_ms;
    place(timers, timers->count++, timer);
    sift_up(timers, timer);
}

struct timer *timers_pop(struct timers *timers, int64_t now_ms)
{
    if (timers->count == 0 || timers->heap[0]->due_ms > now_ms)
        return NULL;
    struct timer *timer = timers->heap[0];
    disarm(timers, timer);
    return timer;
}

int64_t timers_next(const struct timers *timers)
{
    return timers->count == 0 ? 0 : timers->heap[0]->due_ms;
}
