#include "trainyard/events/hub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct ty_hub *make_hub(size_t capacity)
{
    struct ty_hub *hub = NULL;
    struct ty_error err = {0};
    assert_int_equal(ty_hub_create(capacity, &hub, &err), TY_OK);
    return hub;
}

static void put_revision(struct ty_hub *hub, const char *id, int64_t revision)
{
    struct ty_job_body *body = NULL;
    char text[32];
    int len = snprintf(text, sizeof(text), "%s@%lld", id, (long long)revision);
    assert_int_equal(ty_job_body_create(text, (size_t)len, &body), TY_OK);
    body->revision = revision;
    ty_hub_put(hub, id, body);
    ty_job_body_unref(body);
}

/* The revision cached for an id; 0 = none. */
static int64_t cached(struct ty_hub *hub, const char *id)
{
    struct ty_job_body *body = ty_hub_get(hub, id);
    int64_t revision = body ? body->revision : 0;
    ty_job_body_unref(body);
    return revision;
}

static void count_wake(void *context)
{
    (*(int *)context)++;
}

static struct ty_hub_wait *wait_for(struct ty_hub *hub, const char *id, int64_t revision,
                                    int *woken)
{
    struct ty_hub_wait *wait = NULL;
    struct ty_error err = {0};
    assert_int_equal(ty_hub_wait(hub, id, revision, 1000, count_wake, woken, &wait, &err), TY_OK);
    return wait;
}

static void a_body_keeps_its_bytes_until_the_last_holder_lets_go(void **state)
{
    (void)state;
    struct ty_job_body *body = NULL;
    assert_int_equal(ty_job_body_create("ab\0c", 4, &body), TY_OK);
    assert_ptr_equal(ty_job_body_ref(body), body);
    ty_job_body_unref(body);
    assert_int_equal(body->len, 4);
    assert_memory_equal(body->bytes, "ab\0c", 4);
    ty_job_body_unref(body);
    ty_job_body_unref(NULL);
}

static void a_put_after_a_miss_is_found(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(100);
    assert_int_equal(cached(hub, "job_a"), 0);
    put_revision(hub, "job_a", 1);
    struct ty_job_body *body = ty_hub_get(hub, "job_a");
    assert_non_null(body);
    assert_string_equal(body->bytes, "job_a@1");
    ty_hub_destroy(hub); /* a body outlives the hub while it is held */
    assert_string_equal(body->bytes, "job_a@1");
    ty_job_body_unref(body);
}

static void a_put_of_an_id_the_hub_does_not_know_is_dropped(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(100);
    put_revision(hub, "job_a", 1);
    assert_int_equal(cached(hub, "job_a"), 0);
    ty_hub_destroy(hub);
}

static void a_body_older_than_a_commit_is_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t committed, put, expected;
    } cases[] = {
        {2, 1, 0},
        {2, 2, 2},
        {2, 3, 3}
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ty_hub *hub = make_hub(100);
        assert_int_equal(cached(hub, "job_a"), 0);
        ty_hub_changed(hub, "job_a", cases[i].committed, false);
        put_revision(hub, "job_a", cases[i].put);
        assert_int_equal(cached(hub, "job_a"), cases[i].expected);
        ty_hub_destroy(hub);
    }
}

static void a_commit_drops_the_body_it_overtakes_and_no_newer_one(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(100);
    assert_int_equal(cached(hub, "job_a"), 0);
    put_revision(hub, "job_a", 5);
    ty_hub_changed(hub, "job_a", 5, false);
    assert_int_equal(cached(hub, "job_a"), 5);
    ty_hub_changed(hub, "job_a", 6, false);
    assert_int_equal(cached(hub, "job_a"), 0);
    ty_hub_destroy(hub);
}

static void a_removed_job_takes_no_body_any_more(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(100);
    assert_int_equal(cached(hub, "job_a"), 0);
    put_revision(hub, "job_a", 5);
    ty_hub_changed(hub, "job_a", 5, true);
    assert_int_equal(cached(hub, "job_a"), 0);
    put_revision(hub, "job_a", 9);
    assert_int_equal(cached(hub, "job_a"), 0);
    ty_hub_destroy(hub);
}

static void the_least_recently_used_goes_first_and_the_size_stays_bounded(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(640);
    char id[32];
    for (int i = 0; i < 20000; i++) {
        snprintf(id, sizeof(id), "job_%d", i);
        (void)cached(hub, id);
        put_revision(hub, id, 1);
        assert_int_equal(cached(hub, id), 1);
        assert_true(cached(hub, "job_0") == 1 || i < 1); /* touched each time: stays */
    }
    int kept = 0;
    for (int i = 19999; i >= 10000; i--) {
        snprintf(id, sizeof(id), "job_%d", i);
        kept += cached(hub, id) != 0 ? 1 : 0;
    }
    assert_in_range(kept, 1, 640);
    ty_hub_destroy(hub);
}

static void a_waiter_is_woken_once_by_a_newer_commit(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(100);
    int woken = 0;
    (void)cached(hub, "job_a");
    put_revision(hub, "job_a", 3);
    struct ty_hub_wait *wait = wait_for(hub, "job_a", 3, &woken);
    assert_non_null(wait);
    ty_hub_changed(hub, "job_a", 3, false);
    ty_hub_changed(hub, "job_b", 9, false);
    assert_int_equal(woken, 0);
    ty_hub_changed(hub, "job_a", 4, false);
    ty_hub_changed(hub, "job_a", 5, false);
    assert_int_equal(woken, 1);
    assert_false(ty_hub_cancel(hub, wait));
    ty_hub_expire(hub, 5000, true);
    assert_int_equal(woken, 1);
    ty_hub_destroy(hub);
}

static void who_comes_too_late_is_woken_at_once(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(100);
    int woken = 0;
    assert_null(wait_for(hub, "job_unknown", 3, &woken));
    assert_int_equal(woken, 1);
    (void)cached(hub, "job_a");
    assert_null(wait_for(hub, "job_a", 3, &woken)); /* known, but not as any revision */
    assert_int_equal(woken, 2);
    ty_hub_changed(hub, "job_a", 4, false);
    assert_null(wait_for(hub, "job_a", 3, &woken));
    assert_int_equal(woken, 3);
    assert_false(ty_hub_cancel(hub, NULL));
    ty_hub_destroy(hub);
}

static void a_waiter_taken_back_is_never_woken(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(100);
    int woken = 0;
    int other = 0;
    ty_hub_changed(hub, "job_a", 3, false);
    struct ty_hub_wait *wait = wait_for(hub, "job_a", 3, &woken);
    (void)wait_for(hub, "job_a", 3, &other);
    assert_true(ty_hub_cancel(hub, wait));
    assert_false(ty_hub_cancel(hub, wait));
    ty_hub_changed(hub, "job_a", 4, false);
    assert_int_equal(woken, 0);
    assert_int_equal(other, 1);
    ty_hub_destroy(hub);
}

static void deadlines_and_draining_wake(void **state)
{
    (void)state;
    static const struct {
        int64_t now_ms;
        bool all;
        int woken;
    } cases[] = {
        {999,  false, 0},
        {1000, false, 1},
        {0,    true,  1}
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ty_hub *hub = make_hub(100);
        int woken = 0;
        ty_hub_changed(hub, "job_a", 3, false);
        (void)wait_for(hub, "job_a", 3, &woken);
        ty_hub_expire(hub, cases[i].now_ms, cases[i].all);
        assert_int_equal(woken, cases[i].woken);
        ty_hub_destroy(hub); /* wakes who is left */
        assert_int_equal(woken, 1);
    }
}

static void what_is_waited_on_is_not_pushed_out(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(64);
    int woken = 0;
    char id[32];
    ty_hub_changed(hub, "job_a", 3, false);
    (void)wait_for(hub, "job_a", 3, &woken);
    for (int i = 0; i < 5000; i++) {
        snprintf(id, sizeof(id), "job_%d", i);
        (void)cached(hub, id);
    }
    assert_int_equal(woken, 0);
    ty_hub_changed(hub, "job_a", 4, false);
    assert_int_equal(woken, 1);
    ty_hub_destroy(hub);
}

static void too_many_waiters_are_refused_without_a_call(void **state)
{
    (void)state;
    struct ty_hub *hub = make_hub(64);
    struct ty_error err = {0};
    int woken = 0;
    ty_hub_changed(hub, "job_a", 3, false);
    for (int i = 0; i < 1024; i++)
        (void)wait_for(hub, "job_a", 3, &woken);
    struct ty_hub_wait *untouched = (struct ty_hub_wait *)&woken;
    assert_int_equal(ty_hub_wait(hub, "job_a", 3, 1000, count_wake, &woken, &untouched, &err),
                     TY_UNAVAILABLE);
    assert_ptr_equal(untouched, &woken);
    assert_int_equal(woken, 0);
    ty_hub_destroy(hub);
    assert_int_equal(woken, 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_keeps_its_bytes_until_the_last_holder_lets_go),
        cmocka_unit_test(a_put_after_a_miss_is_found),
        cmocka_unit_test(a_put_of_an_id_the_hub_does_not_know_is_dropped),
        cmocka_unit_test(a_body_older_than_a_commit_is_refused),
        cmocka_unit_test(a_commit_drops_the_body_it_overtakes_and_no_newer_one),
        cmocka_unit_test(a_removed_job_takes_no_body_any_more),
        cmocka_unit_test(the_least_recently_used_goes_first_and_the_size_stays_bounded),
        cmocka_unit_test(a_waiter_is_woken_once_by_a_newer_commit),
        cmocka_unit_test(who_comes_too_late_is_woken_at_once),
        cmocka_unit_test(a_waiter_taken_back_is_never_woken),
        cmocka_unit_test(deadlines_and_draining_wake),
        cmocka_unit_test(what_is_waited_on_is_not_pushed_out),
        cmocka_unit_test(too_many_waiters_are_refused_without_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
