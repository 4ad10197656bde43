/* The waiting jobs in the order of their lines: by tenant, then higher priority, then age. A list
 * to walk, and a treap over the same jobs to find the place of one: entering and leaving cost the
 * logarithm of the length, and no memory. */
#ifndef TRAINYARD_ENGINE_QUEUE_H
#define TRAINYARD_ENGINE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lies in its owner. The key must not change while it is queued. */
struct queue_item {
    int64_t tenant;
    int64_t age; /* smaller is older; no two items have the same */
    int32_t priority;
    bool queued;
    void *owner;
    struct queue_item *next;
    struct queue_item *previous;
    struct queue_item *left;
    struct queue_item *right;
};

struct queue {
    struct queue_item *first;
    struct queue_item *root;
    size_t count;
};

void queue_add(struct queue *queue, struct queue_item *item);
void queue_take(struct queue *queue, struct queue_item *item);

/* The first of a tenant's line; NULL when none waits. */
struct queue_item *queue_first_of(const struct queue *queue, int64_t tenant);

#endif
