/* Timers, back-off, the queue and the inbox. */
#include "engine/backoff.h"
#include "engine/inbox.h"
#include "engine/queue.h"
#include "engine/timers.h"

#include "trainyard/base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* --- timers --- */
static void timers_fire_in_the_order_of_their_times(void **state)
{
    (void)state;
    struct timers timers = {0};
    struct timer items[200] = {0};
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 3);
    assert_int_equal(timers_reserve(&timers, 200), TY_OK);
    for (int round = 0; round < 5; round++)
        for (size_t i = 0; i < 200; i++) /* set, moved, and some taken off */
            timers_set(&timers, &items[i],
                       ty_random_below(&random, 10) == 0
                           ? 0
                           : 1 + (int64_t)ty_random_below(&random, 1000));
    size_t armed = 0;
    for (size_t i = 0; i < 200; i++)
        armed += items[i].due_ms != 0 ? 1 : 0;
    int64_t last = 0;
    for (size_t fired = 0; fired < armed; fired++) {
        int64_t next = timers_next(&timers);
        assert_true(next >= last);
        last = next;
        assert_null(timers_pop(&timers, next - 1));
        struct timer *timer = timers_pop(&timers, next);
        assert_non_null(timer);
        assert_int_equal(timer->due_ms, 0);
    }
    assert_null(timers_pop(&timers, INT64_MAX));
    assert_int_equal(timers_next(&timers), 0);
    timers_done(&timers);
}

/* --- the queue --- */
static bool in_order(const struct queue_item *a, const struct queue_item *b)
{
    if (a->tenant != b->tenant)
        return a->tenant < b->tenant;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->age < b->age;
}

/* The list holds who is queued, in order, and each tenant's first is found. */
static void check_queue(const struct queue *queue, const struct queue_item *items, size_t count)
{
    size_t queued = 0;
    size_t listed = 0;
    for (size_t i = 0; i < count; i++)
        queued += items[i].queued ? 1 : 0;
    const struct queue_item *first_of[4] = {0};
    for (const struct queue_item *item = queue->first; item; item = item->next) {
        assert_true(item->queued);
        assert_true(item->next == NULL || item->next->previous == item);
        assert_true(item->next == NULL || in_order(item, item->next));
        if (!first_of[item->tenant])
            first_of[item->tenant] = item;
        listed++;
    }
    assert_int_equal(listed, queued);
    assert_int_equal(queue->count, queued);
    for (int64_t tenant = 0; tenant < 4; tenant++)
        assert_ptr_equal(queue_first_of(queue, tenant), first_of[tenant]);
}

static void the_queue_stays_in_order_however_jobs_come_and_go(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    static struct queue_item items[COUNT];
    struct queue queue = {0};
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 11);
    memset(items, 0, sizeof(items));
    for (int round = 0; round < 6000; round++) {
        size_t i = (size_t)ty_random_below(&random, COUNT);
        if (items[i].queued) {
            queue_take(&queue, &items[i]);
        } else {
            items[i] = (struct queue_item){.tenant = (int64_t)ty_random_below(&random, 4),
                                           .priority = (int32_t)ty_random_below(&random, 3) - 1,
                                           .age = (int64_t)i + 1};
            queue_add(&queue, &items[i]);
        }
        if (round % 10 == 0)
            check_queue(&queue, items, COUNT);
    }
    while (queue.first)
        queue_take(&queue, queue.first);
    check_queue(&queue, items, COUNT);
    assert_null(queue.root);
}

/* --- back-off --- */
static void backoff_doubles_its_window_up_to_a_minute_and_uses_all_of_it(void **state)
{
    (void)state;
    static const int64_t windows[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000};
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 5);
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        int64_t shortest = INT64_MAX;
        int64_t longest = 0;
        for (int sample = 0; sample < 2000; sample++) {
            struct backoff backoff = {.failures = (int32_t)i};
            backoff_fail(&backoff, &random, 5000);
            int64_t wait = backoff.due_ms - 5000;
            assert_in_range(wait, 1, windows[i]);
            shortest = wait < shortest ? wait : shortest;
            longest = wait > longest ? wait : longest;
        }
        assert_true(shortest < windows[i] / 20);
        assert_true(longest > windows[i] - windows[i] / 20);
    }
}

static void backoff_counts_without_end(void **state)
{
    (void)state;
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 5);
    struct backoff backoff = {.failures = INT32_MAX};
    backoff_fail(&backoff, &random, 0);
    assert_in_range(backoff.due_ms, 1, BACKOFF_MAX_MS);
    assert_int_equal(backoff.failures, INT32_MAX);
    backoff_reset(&backoff);
    assert_int_equal(backoff.failures, 0);
    assert_int_equal(backoff.due_ms, 0);
}

/* --- inbox --- */
static struct seen *make_seen(const char *id, ty_seen_kind kind, int32_t attempt, int32_t mark)
{
    struct seen *seen = calloc(1, sizeof(*seen));
    assert_non_null(seen);
    seen->letter.kind = LETTER_SEEN;
    ty_str_copy(seen->letter.id, sizeof(seen->letter.id), id);
    seen->observation.kind = kind;
    seen->observation.attempt = attempt;
    seen->observation.restarts = mark;
    return seen;
}

static size_t destroy_all(struct letter *letter)
{
    size_t count = 0;
    while (letter) {
        struct letter *next = letter->next;
        seen_destroy((struct seen *)letter);
        letter = next;
        count++;
    }
    return count;
}

static void letters_come_out_in_the_order_they_went_in(void **state)
{
    (void)state;
    struct inbox inbox = {0};
    bool poked = true;
    inbox_init(&inbox);
    for (int32_t i = 0; i < 5; i++)
        inbox_post_seen(&inbox, make_seen("job_a", TY_SEEN_RUNNING, 1, i));
    struct letter *first = inbox_take(&inbox, &poked);
    assert_false(poked);
    int32_t expected = 0;
    for (struct letter *letter = first; letter; letter = letter->next)
        assert_int_equal(((struct seen *)letter)->observation.restarts, expected++);
    assert_int_equal(destroy_all(first), 5);
    inbox_poke(&inbox);
    assert_null(inbox_take(&inbox, &poked));
    assert_true(poked);
    assert_null(inbox_take(&inbox, &poked));
    assert_false(poked);
    inbox_done(&inbox);
}

static void a_full_inbox_lets_go_only_what_a_later_word_makes_pointless(void **state)
{
    (void)state;
    struct inbox inbox = {0};
    struct ty_error err = {0};
    bool poked;
    inbox_init(&inbox);
    inbox_post_seen(&inbox, make_seen("job_a", TY_SEEN_SUCCEEDED, 1, 1));
    inbox_post_seen(&inbox, make_seen("job_a", TY_SEEN_RUNNING, 2, 2));
    inbox_post_seen(&inbox, make_seen("job_a", TY_SEEN_RUNNING, 1, 3));
    for (int i = 3; i < INBOX_FULL; i++)
        inbox_post_seen(&inbox, make_seen("job_b", TY_SEEN_FAILED, 1, 0));
    assert_int_equal(inbox_check(&inbox, &err), TY_UNAVAILABLE);
    assert_string_equal(err.code, "overloaded");

    inbox_post_seen(&inbox, make_seen("job_a", TY_SEEN_RUNNING, 1, 4)); /* for the third */
    assert_int_equal(inbox.count, INBOX_FULL);
    inbox_post_seen(&inbox, make_seen("job_b", TY_SEEN_RUNNING, 1, 5)); /* for none */
    assert_int_equal(inbox.count, INBOX_FULL + 1);

    struct letter *first = inbox_take(&inbox, &poked);
    assert_int_equal(((struct seen *)first)->observation.restarts, 1);
    assert_int_equal(((struct seen *)first->next)->observation.restarts, 2);
    int32_t last_of_a = 0;
    for (struct letter *letter = first; letter; letter = letter->next)
        if (ty_str_equal(letter->id, "job_a"))
            last_of_a = ((struct seen *)letter)->observation.restarts;
    assert_int_equal(last_of_a, 4);
    assert_int_equal(destroy_all(first), INBOX_FULL + 1);
    assert_int_equal(inbox_check(&inbox, &err), TY_OK);
    inbox_done(&inbox);
}

static void the_last_letter_can_be_the_one_let_go(void **state)
{
    (void)state;
    struct inbox inbox = {0};
    bool poked;
    inbox_init(&inbox);
    for (int i = 1; i < INBOX_FULL; i++)
        inbox_post_seen(&inbox, make_seen("job_b", TY_SEEN_FAILED, 1, 0));
    for (int32_t i = 0; i < 4; i++)
        inbox_post_seen(&inbox, make_seen("job_a", TY_SEEN_RESTARTING, 1, i));
    assert_int_equal(inbox.count, INBOX_FULL);
    assert_int_equal(destroy_all(inbox_take(&inbox, &poked)), INBOX_FULL);
    inbox_done(&inbox);
}

static void a_stopping_inbox_takes_no_new_work_but_wakes_its_reader(void **state)
{
    (void)state;
    struct inbox inbox = {0};
    struct ty_error err = {0};
    inbox_init(&inbox);
    assert_true(inbox_wait(&inbox, 1));
    inbox_stop(&inbox);
    assert_false(inbox_wait(&inbox, 60000));
    assert_int_equal(inbox_check(&inbox, &err), TY_UNAVAILABLE);
    inbox_done(&inbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_queue_stays_in_order_however_jobs_come_and_go),
        cmocka_unit_test(timers_fire_in_the_order_of_their_times),
        cmocka_unit_test(backoff_doubles_its_window_up_to_a_minute_and_uses_all_of_it),
        cmocka_unit_test(backoff_counts_without_end),
        cmocka_unit_test(letters_come_out_in_the_order_they_went_in),
        cmocka_unit_test(a_full_inbox_lets_go_only_what_a_later_word_makes_pointless),
        cmocka_unit_test(the_last_letter_can_be_the_one_let_go),
        cmocka_unit_test(a_stopping_inbox_takes_no_new_work_but_wakes_its_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
