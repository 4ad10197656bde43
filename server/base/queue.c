#include "trainyard/base/queue.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct ty_queue {
    pthread_mutex_t mutex;   /* guards everything below */
    pthread_cond_t not_idle; /* an item came or the queue was closed; on the monotonic clock */
    bool closed;
    size_t first;
    size_t length;
    size_t capacity;
    _Atomic size_t signalling; /* pushes that have left the mutex but still wake a waiter */
    void *items[];             /* a ring */
};

static bool init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    bool done;

    if (pthread_condattr_init(&attributes))
        return false;
    done = !pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) &&
           !pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return done;
}

ty_status ty_queue_create(size_t capacity, struct ty_queue **queue_out)
{
    struct ty_queue *queue;

    if (capacity == 0 || capacity > (SIZE_MAX - sizeof(*queue)) / sizeof(void *))
        return TY_NO_MEMORY;
    queue = calloc(1, sizeof(*queue) + capacity * sizeof(void *));
    if (!queue)
        return TY_NO_MEMORY;
    queue->capacity = capacity;
    if (pthread_mutex_init(&queue->mutex, NULL)) {
        free(queue);
        return TY_NO_MEMORY;
    }
    if (!init_condition(&queue->not_idle)) {
        pthread_mutex_destroy(&queue->mutex);
        free(queue);
        return TY_NO_MEMORY;
    }
    *queue_out = queue;
    return TY_OK;
}

void ty_queue_destroy(struct ty_queue *queue)
{
    if (!queue)
        return;
    while (atomic_load(&queue->signalling) > 0)
        sched_yield();
    pthread_cond_destroy(&queue->not_idle);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

ty_status ty_queue_push(struct ty_queue *queue, void *item)
{
    ty_status status = TY_UNAVAILABLE;

    pthread_mutex_lock(&queue->mutex);
    if (!queue->closed && queue->length < queue->capacity) {
        queue->items[(queue->first + queue->length) % queue->capacity] = item;
        queue->length++;
        atomic_fetch_add(&queue->signalling, 1);
        status = TY_OK;
    }
    pthread_mutex_unlock(&queue->mutex);
    if (status == TY_OK) { /* who is woken within the mutex only runs into it */
        pthread_cond_signal(&queue->not_idle);
        atomic_fetch_sub(&queue->signalling, 1);
    }
    return status;
}

static struct timespec deadline_after(int timeout_ms)
{
    struct timespec deadline;

    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += timeout_ms / 1000;
    deadline.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_sec++;
        deadline.tv_nsec -= 1000000000;
    }
    return deadline;
}

/* With the mutex held: wait until there is something to take or to hear. */
static void wait_for_item(struct ty_queue *queue, int timeout_ms)
{
    struct timespec deadline;

    if (timeout_ms == 0)
        return;
    if (timeout_ms > 0)
        deadline = deadline_after(timeout_ms);
    while (queue->length == 0 && !queue->closed) {
        if (timeout_ms < 0)
            pthread_cond_wait(&queue->not_idle, &queue->mutex);
        else if (pthread_cond_timedwait(&queue->not_idle, &queue->mutex, &deadline) == ETIMEDOUT)
            return;
    }
}

size_t ty_queue_pop(struct ty_queue *queue, void **items_out, size_t max, int timeout_ms)
{
    size_t count = 0;

    pthread_mutex_lock(&queue->mutex);
    wait_for_item(queue, timeout_ms);
    while (count < max && queue->length > 0) {
        items_out[count++] = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->length--;
    }
    pthread_mutex_unlock(&queue->mutex);
    return count;
}

void ty_queue_close(struct ty_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->closed = true;
    pthread_cond_broadcast(&queue->not_idle);
    pthread_mutex_unlock(&queue->mutex);
}

bool ty_queue_closed(struct ty_queue *queue)
{
    bool closed;

    pthread_mutex_lock(&queue->mutex);
    closed = queue->closed;
    pthread_mutex_unlock(&queue->mutex);
    return closed;
}

size_t ty_queue_length(struct ty_queue *queue)
{
    size_t length;

    pthread_mutex_lock(&queue->mutex);
    length = queue->length;
    pthread_mutex_unlock(&queue->mutex);
    return length;
}
