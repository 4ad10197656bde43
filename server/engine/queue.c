#include "queue.h"

static bool before(const struct queue_item *a, const struct queue_item *b)
{
    if (a->tenant != b->tenant)
        return a->tenant < b->tenant;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->age < b->age;
}

/* A treap's random weight: of the age alone, so that a run can be repeated. */
static uint64_t weight(const struct queue_item *item)
{
    uint64_t mixed = (uint64_t)item->age * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93U;
    return mixed ^ (mixed >> 32);
}

/* Part a tree into what comes before the item and what comes after it. */
static void split(struct queue_item *tree, struct queue_item *item)
{
    struct queue_item **low = &item->left;
    struct queue_item **high = &item->right;
    while (tree) {
        if (before(tree, item)) {
            *low = tree;
            low = &tree->right;
            tree = tree->right;
        } else {
            *high = tree;
            high = &tree->left;
            tree = tree->left;
        }
    }
    *low = NULL;
    *high = NULL;
}

/* Join two trees, all of `low` before all of `high`, at `slot`. */
static void join(struct queue_item **slot, struct queue_item *low, struct queue_item *high)
{
    while (low && high) {
        if (weight(low) > weight(high)) {
            *slot = low;
            slot = &low->right;
            low = low->right;
        } else {
            *slot = high;
            slot = &high->left;
            high = high->left;
        }
    }
    *slot = low ? low : high;
}

static void link_after(struct queue *queue, struct queue_item *previous, struct queue_item *item)
{
    item->previous = previous;
    item->next = previous ? previous->next : queue->first;
    if (item->next)
        item->next->previous = item;
    *(previous ? &previous->next : &queue->first) = item;
}

void queue_add(struct queue *queue, struct queue_item *item)
{
    struct queue_item **slot = &queue->root;
    struct queue_item **place = NULL; /* where the item goes: above all that are lighter */
    struct queue_item *previous = NULL;
    const uint64_t own = weight(item);
    while (*slot) {
        if (!place && weight(*slot) < own)
            place = slot;
        if (before(*slot, item)) {
            previous = *slot;
            slot = &(*slot)->right;
        } else {
            slot = &(*slot)->left;
        }
    }
    if (!place)
        place = slot;
    split(*place, item);
    *place = item;
    link_after(queue, previous, item);
    item->queued = true;
    queue->count++;
}

void queue_take(struct queue *queue, struct queue_item *item)
{
    struct queue_item **slot = &queue->root;
    while (*slot != item)
        slot = before(*slot, item) ? &(*slot)->right : &(*slot)->left;
    join(slot, item->left, item->right);
    *(item->previous ? &item->previous->next : &queue->first) = item->next;
    if (item->next)
        item->next->previous = item->previous;
    item->queued = false;
    queue->count--;
}

struct queue_item *queue_first_of(const struct queue *queue, int64_t tenant)
{
    struct queue_item *found = NULL;
    struct queue_item *at = queue->root;
    while (at) {
        if (at->tenant >= tenant)
            found = at;
        at = at->tenant >= tenant ? at->left : at->right;
    }
    return found && found->tenant == tenant ? found : NULL;
}
