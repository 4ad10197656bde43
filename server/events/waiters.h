/* Who waits for a change of a job: plain lists, to be used under their shard's lock. */
#ifndef TRAINYARD_EVENTS_WAITERS_H
#define TRAINYARD_EVENTS_WAITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub_entry;

struct hub_waiter {
    struct hub_waiter *next;
    struct hub_waiter *previous;
    struct hub_entry *entry; /* what it waits on; pins it */
    uintptr_t ticket;        /* what its owner knows it by */
    int64_t deadline_ms;
    void (*wake)(void *context);
    void *context;
};

/* All waiters of one shard, in no order. */
struct hub_waiters {
    struct hub_waiter *first;
    size_t count;
    int64_t earliest_ms; /* no deadline lies before it; INT64_MAX when there is none */
};

void hub_waiters_init(struct hub_waiters *waiters);
void hub_waiters_add(struct hub_waiters *waiters, struct hub_waiter *waiter);
void hub_waiters_remove(struct hub_waiters *waiters, struct hub_waiter *waiter);
struct hub_waiter *hub_waiters_find(const struct hub_waiters *waiters, uintptr_t ticket);

/* Take out all that wait on `entry`, as a list linked by `next`. */
struct hub_waiter *hub_waiters_take_entry(struct hub_waiters *waiters,
                                          const struct hub_entry *entry);

/* Take out all whose deadline is at or before `now_ms`, or every one when `all`. */
struct hub_waiter *hub_waiters_take_due(struct hub_waiters *waiters, int64_t now_ms, bool all);

/* Call and free each of a taken list; no lock may be held. */
void hub_waiters_wake(struct hub_waiter *taken);

#endif
