#include "unit.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/queue.h"
#include "trainyard/base/thread.h"

static int marks[64];

static void items_come_out_in_the_order_they_went_in(void **state)
{
    struct ty_queue *queue;
    void *items[8];

    (void)state;
    assert_int_equal(ty_queue_create(3, &queue), TY_OK);
    for (int round = 0; round < 5; round++) {
        assert_int_equal(ty_queue_push(queue, &marks[0]), TY_OK);
        assert_int_equal(ty_queue_push(queue, &marks[1]), TY_OK);
        assert_int_equal(ty_queue_length(queue), 2);
        assert_int_equal(ty_queue_pop(queue, items, 8, -1), 2);
        assert_ptr_equal(items[0], &marks[0]);
        assert_ptr_equal(items[1], &marks[1]);
    }
    ty_queue_destroy(queue);
    ty_queue_destroy(NULL);
}

static void a_full_queue_refuses_and_a_pop_makes_room(void **state)
{
    struct ty_queue *queue;
    void *item;

    (void)state;
    assert_int_equal(ty_queue_create(2, &queue), TY_OK);
    assert_int_equal(ty_queue_push(queue, &marks[0]), TY_OK);
    assert_int_equal(ty_queue_push(queue, &marks[1]), TY_OK);
    assert_int_equal(ty_queue_push(queue, &marks[2]), TY_UNAVAILABLE);
    assert_int_equal(ty_queue_pop(queue, &item, 1, 0), 1);
    assert_ptr_equal(item, &marks[0]);
    assert_int_equal(ty_queue_push(queue, &marks[2]), TY_OK);
    assert_int_equal(ty_queue_length(queue), 2);
    ty_queue_destroy(queue);
}

static void a_queue_of_no_or_impossible_size_is_refused(void **state)
{
    struct ty_queue *queue = (struct ty_queue *)&marks;

    (void)state;
    assert_int_equal(ty_queue_create(0, &queue), TY_NO_MEMORY);
    assert_int_equal(ty_queue_create(SIZE_MAX, &queue), TY_NO_MEMORY);
    assert_int_equal(ty_queue_create(SIZE_MAX / sizeof(void *), &queue), TY_NO_MEMORY);
    assert_ptr_equal(queue, &marks);
}

static void an_empty_queue_waits_as_long_as_it_was_told(void **state)
{
    const struct ty_clock *clock = ty_clock_system();
    struct ty_queue *queue;
    int64_t start;
    void *item;

    (void)state;
    assert_int_equal(ty_queue_create(2, &queue), TY_OK);
    start = ty_monotonic_ms(clock);
    assert_int_equal(ty_queue_pop(queue, &item, 1, 0), 0);
    assert_true(ty_monotonic_ms(clock) - start < 2000);
    start = ty_monotonic_ms(clock);
    assert_int_equal(ty_queue_pop(queue, &item, 1, 50), 0);
    assert_true(ty_monotonic_ms(clock) - start >= 49);
    assert_false(ty_queue_closed(queue));
    ty_queue_destroy(queue);
}

static void a_closed_queue_refuses_pushes_but_gives_what_it_holds(void **state)
{
    struct ty_queue *queue;
    void *item;

    (void)state;
    assert_int_equal(ty_queue_create(2, &queue), TY_OK);
    assert_int_equal(ty_queue_push(queue, &marks[0]), TY_OK);
    ty_queue_close(queue);
    assert_true(ty_queue_closed(queue));
    assert_int_equal(ty_queue_push(queue, &marks[1]), TY_UNAVAILABLE);
    assert_int_equal(ty_queue_pop(queue, &item, 1, -1), 1);
    assert_int_equal(ty_queue_pop(queue, &item, 1, -1), 0);
    ty_queue_destroy(queue);
}

static void *pop_one(void *queue)
{
    void *item = NULL;

    return ty_queue_pop(queue, &item, 1, -1) ? item : NULL;
}

static void closing_wakes_all_that_wait(void **state)
{
    struct ty_queue *queue;
    pthread_t threads[4];

    (void)state;
    assert_int_equal(ty_queue_create(2, &queue), TY_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ty_thread_start(&threads[i], "waiter", pop_one, queue, NULL), TY_OK);
    ty_queue_close(queue);
    for (int i = 0; i < 4; i++) {
        void *result = &marks;

        pthread_join(threads[i], &result);
        assert_null(result);
    }
    ty_queue_destroy(queue);
}

enum { SENDERS = 4, RECEIVERS = 3, EACH = 5000 };

struct crowd {
    struct ty_queue *queue;
    unsigned char taken[SENDERS][EACH]; /* written by whoever popped that item */
    int next_sender;
};

static struct crowd crowd;

static void *send_all(void *argument)
{
    unsigned char *row = argument;

    for (int i = 0; i < EACH;) {
        if (ty_queue_push(crowd.queue, &row[i]) == TY_OK)
            i++;
    }
    return NULL;
}

static void *receive_all(void *argument)
{
    void *items[7];
    size_t count;

    (void)argument;
    while ((count = ty_queue_pop(crowd.queue, items, 7, -1)) > 0) {
        for (size_t i = 0; i < count; i++)
            (*(unsigned char *)items[i])++;
    }
    return NULL;
}

static void many_senders_and_receivers_lose_and_double_nothing(void **state)
{
    pthread_t senders[SENDERS];
    pthread_t receivers[RECEIVERS];

    (void)state;
    assert_int_equal(ty_queue_create(64, &crowd.queue), TY_OK);
    for (int i = 0; i < RECEIVERS; i++)
        assert_int_equal(ty_thread_start(&receivers[i], "receiver", receive_all, NULL, NULL),
                         TY_OK);
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(ty_thread_start(&senders[i], "sender", send_all, crowd.taken[i], NULL),
                         TY_OK);
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i], NULL);
    ty_queue_close(crowd.queue);
    for (int i = 0; i < RECEIVERS; i++)
        pthread_join(receivers[i], NULL);
    for (int i = 0; i < SENDERS; i++) {
        for (int j = 0; j < EACH; j++)
            assert_int_equal(crowd.taken[i][j], 1);
    }
    ty_queue_destroy(crowd.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_out_in_the_order_they_went_in),
        cmocka_unit_test(a_full_queue_refuses_and_a_pop_makes_room),
        cmocka_unit_test(a_queue_of_no_or_impossible_size_is_refused),
        cmocka_unit_test(an_empty_queue_waits_as_long_as_it_was_told),
        cmocka_unit_test(a_closed_queue_refuses_pushes_but_gives_what_it_holds),
        cmocka_unit_test(closing_wakes_all_that_wait),
        cmocka_unit_test(many_senders_and_receivers_lose_and_double_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
