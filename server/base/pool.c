#include "trainyard/base/queue.h"
#include "trainyard/base/thread.h"

#include <stdio.h>
#include <stdlib.h>

struct task {
    ty_work *work;
    void *context;
};

struct worker {
    struct ty_pool *pool;
    size_t index;
    pthread_t thread;
};

/* Everything but the queue is written before the first worker starts and after the last has ended.
 */
struct ty_pool {
    struct ty_queue *queue;
    size_t worker_count;
    size_t started_count;
    struct worker workers[];
};

/* Ends when the queue is closed and empty: only then does a pop without a time limit give nothing.
 */
static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    void *item;

    while (ty_queue_pop(worker->pool->queue, &item, 1, -1) == 1) {
        struct task task = *(struct task *)item;

        free(item);
        task.work(task.context, worker->index);
    }
    return NULL;
}

static ty_status start_workers(struct ty_pool *pool, const char *name, struct ty_error *err)
{
    for (size_t i = 0; i < pool->worker_count; i++) {
        struct worker *worker = &pool->workers[i];
        char worker_name[32];
        ty_status status;

        *worker = (struct worker){.pool = pool, .index = i};
        snprintf(worker_name, sizeof(worker_name), "%.10s-%zu", name, i);
        status = ty_thread_start(&worker->thread, worker_name, run_worker, worker, err);
        if (status)
            return status;
        pool->started_count++;
    }
    return TY_OK;
}

ty_status ty_pool_create(const char *name, size_t worker_count, size_t queue_capacity,
                         struct ty_pool **pool_out, struct ty_error *err)
{
    struct ty_pool *pool;
    ty_status status;

    if (worker_count == 0)
        return ty_fail(err, TY_INTERNAL, "the pool %s has no workers", name);
    pool = calloc(1, sizeof(*pool) + worker_count * sizeof(pool->workers[0]));
    if (!pool || ty_queue_create(queue_capacity, &pool->queue)) {
        free(pool);
        return ty_fail(err, TY_NO_MEMORY, "no memory for the pool %s", name);
    }
    pool->worker_count = worker_count;
    status = start_workers(pool, name, err);
    if (status) {
        ty_pool_destroy(pool);
        return status;
    }
    *pool_out = pool;
    return TY_OK;
}

ty_status ty_pool_submit(struct ty_pool *pool, ty_work *work, void *context)
{
    struct task *task = malloc(sizeof(*task));
    ty_status status;

    if (!task)
        return TY_NO_MEMORY;
    *task = (struct task){.work = work, .context = context};
    status = ty_queue_push(pool->queue, task);
    if (status)
        free(task);
    return status;
}

size_t ty_pool_worker_count(const struct ty_pool *pool)
{
    return pool->worker_count;
}

void ty_pool_destroy(struct ty_pool *pool)
{
    if (!pool)
        return;
    ty_queue_close(pool->queue);
    for (size_t i = 0; i < pool->started_count; i++)
        pthread_join(pool->workers[i].thread, NULL);
    ty_queue_destroy(pool->queue);
    free(pool);
}
