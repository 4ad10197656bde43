/* The hub under many threads at once; worth most under ThreadSanitizer. */
#include "trainyard/events/hub.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { JOBS = 40, CHANGES = 3000, READERS = 3, READS = 6000 };

struct job {
    char id[16];
    int64_t stored;    /* the "row": what a reader would find, written before the hub is told */
    int64_t announced; /* ty_hub_changed of it has returned */
};

struct world {
    struct ty_hub *hub;
    struct job jobs[JOBS];
    int stale; /* bodies older than what had been announced before the read */
    int64_t waits;
    int64_t woken;
    int64_t taken_back;
    int done;
};

static void *run_writer(void *context)
{
    struct world *world = context;
    for (int i = 0; i < CHANGES; i++) {
        struct job *job = &world->jobs[i % JOBS];
        int64_t revision = __atomic_add_fetch(&job->stored, 1, __ATOMIC_SEQ_CST);
        ty_hub_changed(world->hub, job->id, revision, false);
        __atomic_store_n(&job->announced, revision, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&world->done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void count_wake(void *context)
{
    struct world *world = context;
    __atomic_add_fetch(&world->woken, 1, __ATOMIC_SEQ_CST);
}

static void fill(struct world *world, struct job *job)
{
    struct ty_job_body *body = NULL;
    int64_t revision = __atomic_load_n(&job->stored, __ATOMIC_SEQ_CST);
    if (ty_job_body_create(job->id, 4, &body) != TY_OK)
        return;
    body->revision = revision;
    ty_hub_put(world->hub, job->id, body);
    ty_job_body_unref(body);
}

static void wait_a_little(struct world *world, struct job *job, int64_t revision, bool take_back)
{
    struct ty_hub_wait *wait = NULL;
    struct ty_error err = {0};
    if (ty_hub_wait(world->hub, job->id, revision, 1000, count_wake, world, &wait, &err) != TY_OK)
        return;
    __atomic_add_fetch(&world->waits, 1, __ATOMIC_SEQ_CST);
    if (take_back && ty_hub_cancel(world->hub, wait))
        __atomic_add_fetch(&world->taken_back, 1, __ATOMIC_SEQ_CST);
}

static void *run_reader(void *context)
{
    struct world *world = context;
    for (int i = 0; i < READS; i++) {
        struct job *job = &world->jobs[(i * 7) % JOBS];
        int64_t announced = __atomic_load_n(&job->announced, __ATOMIC_SEQ_CST);
        struct ty_job_body *body = ty_hub_get(world->hub, job->id);
        if (body && body->revision < announced)
            __atomic_add_fetch(&world->stale, 1, __ATOMIC_SEQ_CST);
        if (!body)
            fill(world, job);
        else if (i % 3 == 0)
            wait_a_little(world, job, body->revision, i % 2 == 0);
        ty_job_body_unref(body);
    }
    return NULL;
}

static void *run_timer(void *context)
{
    struct world *world = context;
    while (!__atomic_load_n(&world->done, __ATOMIC_SEQ_CST))
        ty_hub_expire(world->hub, 2000, false);
    return NULL;
}

static void no_stale_body_is_read_and_every_waiter_ends_once(void **state)
{
    (void)state;
    struct world world = {0};
    struct ty_error err = {0};
    pthread_t threads[READERS + 2];
    /* Small, so that ids are pushed out all the time. */
    assert_int_equal(ty_hub_create(JOBS / 2, &world.hub, &err), TY_OK);
    for (int i = 0; i < JOBS; i++)
        snprintf(world.jobs[i].id, sizeof(world.jobs[i].id), "job_%d", i);

    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_reader, &world), 0);
    assert_int_equal(pthread_create(&threads[READERS], NULL, run_writer, &world), 0);
    assert_int_equal(pthread_create(&threads[READERS + 1], NULL, run_timer, &world), 0);
    for (size_t i = 0; i < READERS + 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    ty_hub_expire(world.hub, 0, true);

    assert_int_equal(world.stale, 0);
    assert_true(world.waits > 0);
    assert_int_equal(world.waits, world.woken + world.taken_back);
    ty_hub_destroy(world.hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_stale_body_is_read_and_every_waiter_ends_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
