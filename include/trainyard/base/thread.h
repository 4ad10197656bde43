/* Threads with names, and a pool of workers fed by one bounded queue. */
#ifndef TRAINYARD_BASE_THREAD_H
#define TRAINYARD_BASE_THREAD_H

#include "trainyard/base/error.h"

#include <pthread.h>

/* Start a joinable thread called `name` (cut to 15 bytes) with all signals blocked. TY_UNAVAILABLE.
 */
ty_status ty_thread_start(pthread_t *thread_out, const char *name, void *(*run)(void *),
                          void *context, struct ty_error *err) TY_MUST_CHECK;

/* A pool runs `work(context, worker)` items. Threads are named after `name` (cut to 10 bytes) and
 * their number; `worker` is 0..count-1, so that each worker can have resources of its own (a
 * database connection). */
struct ty_pool;
typedef void ty_work(void *context, size_t worker);

/* TY_NO_MEMORY, TY_UNAVAILABLE (no thread), TY_INTERNAL (no workers asked for). */
ty_status ty_pool_create(const char *name, size_t worker_count, size_t queue_capacity,
                         struct ty_pool **pool_out, struct ty_error *err) TY_MUST_CHECK;

/* Queue one piece of work. TY_UNAVAILABLE when the queue is full or the pool is stopping: then
 * nothing runs. */
ty_status ty_pool_submit(struct ty_pool *pool, ty_work *work, void *context) TY_MUST_CHECK;

size_t ty_pool_worker_count(const struct ty_pool *pool);

/* Finish what is queued, join the workers and free; takes NULL. */
void ty_pool_destroy(struct ty_pool *pool);

#endif
