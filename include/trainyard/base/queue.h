/* A bounded queue of pointers between threads: many senders, many receivers, first in first out. */
#ifndef TRAINYARD_BASE_QUEUE_H
#define TRAINYARD_BASE_QUEUE_H

#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct ty_queue;

/* Room for `capacity` items. TY_NO_MEMORY, also for a capacity of 0. */
ty_status ty_queue_create(size_t capacity, struct ty_queue **queue_out) TY_MUST_CHECK;

/* The queue must be empty or its items not owned by it; takes NULL. */
void ty_queue_destroy(struct ty_queue *queue);

/* Add one item without waiting. TY_UNAVAILABLE when full or closed. */
ty_status ty_queue_push(struct ty_queue *queue, void *item) TY_MUST_CHECK;

/* Take up to `max` items. Waits at most `timeout_ms` (-1: for ever, 0: not at all) for the first.
 * Returns how many; 0 means time-out, or closed and empty (ty_queue_closed tells). */
size_t ty_queue_pop(struct ty_queue *queue, void **items_out, size_t max, int timeout_ms);

/* Refuse further pushes and wake all receivers; what is queued can still be taken. */
void ty_queue_close(struct ty_queue *queue);
bool ty_queue_closed(struct ty_queue *queue);
size_t ty_queue_length(struct ty_queue *queue);

#endif
