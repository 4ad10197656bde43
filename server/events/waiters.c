#include "waiters.h"

#include <stdlib.h>

void hub_waiters_init(struct hub_waiters *waiters)
{
    waiters->first = NULL;
    waiters->count = 0;
    waiters->earliest_ms = INT64_MAX;
}

void hub_waiters_add(struct hub_waiters *waiters, struct hub_waiter *waiter)
{
    waiter->previous = NULL;
    waiter->next = waiters->first;
    if (waiters->first)
        waiters->first->previous = waiter;
    waiters->first = waiter;
    waiters->count++;
    if (waiter->deadline_ms < waiters->earliest_ms)
        waiters->earliest_ms = waiter->deadline_ms;
}

void hub_waiters_remove(struct hub_waiters *waiters, struct hub_waiter *waiter)
{
    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        waiters->first = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    waiters->count--;
}

struct hub_waiter *hub_waiters_find(const struct hub_waiters *waiters, uintptr_t ticket)
{
    for (struct hub_waiter *waiter = waiters->first; waiter; waiter = waiter->next)
        if (waiter->ticket == ticket)
            return waiter;
    return NULL;
}

struct hub_waiter *hub_waiters_take_entry(struct hub_waiters *waiters,
                                          const struct hub_entry *entry)
{
    struct hub_waiter *taken = NULL;
    for (struct hub_waiter *waiter = waiters->first, *next; waiter; waiter = next) {
        next = waiter->next;
        if (waiter->entry != entry)
            continue;
        hub_waiters_remove(waiters, waiter);
        waiter->next = taken;
        taken = waiter;
    }
    return taken;
}

struct hub_waiter *hub_waiters_take_due(struct hub_waiters *waiters, int64_t now_ms, bool all)
{
    if (!all && now_ms < waiters->earliest_ms)
        return NULL;

    struct hub_waiter *taken = NULL;
    int64_t earliest = INT64_MAX;
    for (struct hub_waiter *waiter = waiters->first, *next; waiter; waiter = next) {
        next = waiter->next;
        if (!all && waiter->deadline_ms > now_ms) {
            if (waiter->deadline_ms < earliest)
                earliest = waiter->deadline_ms;
            continue;
        }
        hub_waiters_remove(waiters, waiter);
        waiter->next = taken;
        taken = waiter;
    }
    waiters->earliest_ms = earliest;
    return taken;
}

void hub_waiters_wake(struct hub_waiter *taken)
{
    while (taken) {
        struct hub_waiter *next = taken->next;
        taken->wake(taken->context);
        free(taken);
        taken = next;
    }
}
