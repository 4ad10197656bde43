#include "unit.h"

#include "trainyard/base/queue.h"
#include "trainyard/base/thread.h"

#include <signal.h>
#include <stdatomic.h>

enum { TASKS = 10000, WORKERS = 3 };

static atomic_int runs[TASKS];
static atomic_int bad_worker;

static void count_run(void *context, size_t worker)
{
    atomic_fetch_add((atomic_int *)context, 1);
    if (worker >= WORKERS)
        atomic_store(&bad_worker, 1);
}

static void every_accepted_piece_of_work_runs_exactly_once(void **state)
{
    struct ty_pool *pool;

    (void)state;
    assert_int_equal(ty_pool_create("test", WORKERS, TASKS, &pool, NULL), TY_OK);
    assert_int_equal(ty_pool_worker_count(pool), WORKERS);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(ty_pool_submit(pool, count_run, &runs[i]), TY_OK);
    ty_pool_destroy(pool);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(atomic_load(&runs[i]), 1);
    assert_int_equal(atomic_load(&bad_worker), 0);
    ty_pool_destroy(NULL);
}

/* A gate holds the only worker while the queue fills behind it. */
struct gate {
    struct ty_queue *entered;
    struct ty_queue *open;
};

static void wait_at_gate(void *context, size_t worker)
{
    const struct gate *gate = context;
    void *item;

    (void)worker;
    (void)!ty_queue_push(gate->entered, gate->entered);
    (void)ty_queue_pop(gate->open, &item, 1, -1);
}

static void a_full_queue_refuses_work_which_then_never_runs(void **state)
{
    struct gate gate;
    struct ty_pool *pool;
    atomic_int first = 0;
    atomic_int refused = 0;
    void *item;

    (void)state;
    assert_int_equal(ty_queue_create(1, &gate.entered), TY_OK);
    assert_int_equal(ty_queue_create(1, &gate.open), TY_OK);
    assert_int_equal(ty_pool_create("gate", 1, 1, &pool, NULL), TY_OK);
    assert_int_equal(ty_pool_submit(pool, wait_at_gate, &gate), TY_OK);
    assert_int_equal(ty_queue_pop(gate.entered, &item, 1, -1), 1);
    assert_int_equal(ty_pool_submit(pool, count_run, &first), TY_OK);
    assert_int_equal(ty_pool_submit(pool, count_run, &refused), TY_UNAVAILABLE);
    assert_int_equal(ty_queue_push(gate.open, &gate), TY_OK);
    ty_pool_destroy(pool);
    assert_int_equal(atomic_load(&first), 1);
    assert_int_equal(atomic_load(&refused), 0);
    ty_queue_destroy(gate.entered);
    ty_queue_destroy(gate.open);
}

struct seen {
    char name[16];
    sigset_t blocked;
};

static void *look_around(void *context)
{
    struct seen *seen = context;

    pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
    return seen;
}

static void a_thread_starts_with_all_signals_blocked(void **state)
{
    struct seen seen;
    sigset_t before;
    sigset_t after;
    pthread_t thread;
    void *result;

    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(ty_thread_start(&thread, "a-name-that-is-too-long", look_around, &seen, NULL),
                     TY_OK);
    pthread_join(thread, &result);
    assert_ptr_equal(result, &seen);
    assert_true(sigismember(&seen.blocked, SIGTERM));
    assert_true(sigismember(&seen.blocked, SIGPIPE));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}

static void note_name(void *context, size_t worker)
{
    (void)worker;
    pthread_getname_np(pthread_self(), context, 16);
}

static void workers_are_named_after_their_pool(void **state)
{
    struct ty_pool *pool;
    char name[16] = "";

    (void)state;
    assert_int_equal(ty_pool_create("answers-of-api", 1, 1, &pool, NULL), TY_OK);
    assert_int_equal(ty_pool_submit(pool, note_name, name), TY_OK);
    ty_pool_destroy(pool);
    assert_string_equal(name, "answers-of-0");
}

static void a_pool_without_room_or_workers_is_refused(void **state)
{
    struct ty_pool *pool = (struct ty_pool *)&runs;
    struct ty_error err;

    (void)state;
    assert_int_equal(ty_pool_create("x", 1, 0, &pool, &err), TY_NO_MEMORY);
    assert_int_equal(ty_pool_create("x", 0, 1, &pool, &err), TY_INTERNAL);
    assert_ptr_equal(pool, &runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_accepted_piece_of_work_runs_exactly_once),
        cmocka_unit_test(a_full_queue_refuses_work_which_then_never_runs),
        cmocka_unit_test(a_thread_starts_with_all_signals_blocked),
        cmocka_unit_test(workers_are_named_after_their_pool),
        cmocka_unit_test(a_pool_without_room_or_workers_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
