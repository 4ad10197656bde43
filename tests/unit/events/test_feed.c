#include "oom.h"
#include "unit.h"

#include "trainyard/events/feed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const uint8_t key[TY_SHA256] = {1};
static const struct ty_event_owner owner = {"default", key};
static const char job_a[] = "job_01j9z3k4m5n6p7q8r9s0t1v2wa";
static const char job_b[] = "job_01j9z3k4m5n6p7q8r9s0t1v2wb";

static struct ty_feeds *make_feeds(void)
{
    struct ty_feeds *feeds = NULL;
    struct ty_error err = {0};
    assert_int_equal(ty_feeds_create(&feeds, &err), TY_OK);
    return feeds;
}

static struct ty_event_text *make_text(int64_t sequence, const char *job_id, ty_event_type type)
{
    const struct ty_event event = {
        .tenant = 1, .sequence = sequence, .type = type, .at = 1, .job = 1, .job_id = job_id};
    struct ty_event_text *text = NULL;
    struct ty_error err = {0};
    assert_int_equal(ty_event_text_make(&event, &owner, &text, &err), TY_OK);
    return text;
}

static void count_wake(void *context)
{
    ++*(int *)context;
}

struct seat {
    struct ty_feed_reader reader;
    struct ty_event_filter filter;
    int woken;
};

static void sit_down(struct ty_feeds *feeds, struct seat *seat, int64_t position, const char *job)
{
    struct ty_error err = {0};
    *seat = (struct seat){0};
    if (job)
        snprintf(seat->filter.job_id, sizeof seat->filter.job_id, "%s", job);
    seat->reader = (struct ty_feed_reader){.filter = job ? &seat->filter : NULL,
                                           .position = position,
                                           .wake = count_wake,
                                           .context = &seat->woken};
    assert_int_equal(ty_feed_join(feeds, 1, "default", position, &seat->reader, &err), TY_OK);
}

/* Publish one event of a job, as the pump does. */
static void publish(struct ty_feeds *feeds, const char *job_id, ty_event_type type)
{
    const int64_t tenant = 1;
    ty_feeds_note(feeds, &tenant, 1);
    struct ty_feed *feed = ty_feeds_await(feeds);
    struct ty_event_text *text = make_text(ty_feed_head(feed) + 1, job_id, type);
    ty_feed_publish(feed, &text, 1);
    ty_feeds_give_back(feeds, feed, false);
}

static int64_t next(struct seat *seat)
{
    struct ty_event_text *text = NULL;
    ty_feed_answer answer = ty_feed_next(&seat->reader, &text);
    if (answer == TY_FEED_BEHIND)
        return -1;
    if (answer == TY_FEED_NOTHING)
        return 0;
    int64_t sequence = text->sequence;
    ty_event_text_unref(text);
    return sequence;
}

static void each_reader_is_given_each_event_once_and_in_order(void **state)
{
    (void)state;
    struct ty_feeds *feeds = make_feeds();
    struct seat first;
    struct seat second;
    sit_down(feeds, &first, 10, NULL);
    sit_down(feeds, &second, 10, NULL);
    assert_true(ty_feed_go_live(&first.reader));
    publish(feeds, job_a, TY_EVENT_JOB_UPDATED);
    assert_true(ty_feed_go_live(&second.reader));
    publish(feeds, job_a, TY_EVENT_JOB_UPDATED);
    assert_int_equal(first.woken, 2);
    assert_int_equal(second.woken, 1); /* it was not live for the first, but has it */
    for (int64_t i = 11; i <= 12; i++) {
        assert_int_equal(next(&first), i);
        assert_int_equal(next(&second), i);
    }
    assert_int_equal(next(&first), 0);
    assert_int_equal(ty_feed_position(&first.reader), 12);
    ty_feed_leave(feeds, &first.reader);
    ty_feed_leave(feeds, &second.reader);
    ty_feeds_destroy(feeds);
}

static void a_reader_of_one_job_is_not_touched_by_the_others(void **state)
{
    (void)state;
    struct ty_feeds *feeds = make_feeds();
    struct seat seat;
    sit_down(feeds, &seat, 0, job_a);
    assert_true(ty_feed_go_live(&seat.reader));
    for (int i = 0; i < 3 * TY_FEED_EVENTS; i++)
        publish(feeds, job_b, TY_EVENT_JOB_UPDATED);
    assert_int_equal(seat.woken, 0);
    assert_int_equal(next(&seat), 0); /* it has missed nothing */
    publish(feeds, job_a, TY_EVENT_JOB_UPDATED);
    assert_int_equal(seat.woken, 1);
    assert_int_equal(next(&seat), 3 * TY_FEED_EVENTS + 1);
    for (int i = 0; i < 2 * TY_FEED_EVENTS; i++)
        publish(feeds, i == 0 ? job_a : job_b, TY_EVENT_JOB_UPDATED);
    assert_int_equal(next(&seat), -1); /* one of its own was pushed out */
    ty_feed_leave(feeds, &seat.reader);
    ty_feeds_destroy(feeds);
}

static void a_filtered_reader_at_the_head_does_not_fall_behind(void **state)
{
    (void)state;
    struct ty_feeds *feeds = make_feeds();
    struct seat seat;
    sit_down(feeds, &seat, 0, NULL);
    seat.filter.types = ty_event_type_bit(TY_EVENT_JOB_DELETED);
    seat.reader.filter = &seat.filter;
    assert_true(ty_feed_go_live(&seat.reader));
    for (int i = 0; i < 2 * TY_FEED_EVENTS; i++)
        publish(feeds, job_b, TY_EVENT_JOB_UPDATED);
    assert_int_equal(seat.woken, 0);
    publish(feeds, job_b, TY_EVENT_JOB_DELETED);
    assert_int_equal(seat.woken, 1);
    assert_int_equal(next(&seat), 2 * TY_FEED_EVENTS + 1);
    ty_feed_leave(feeds, &seat.reader);
    ty_feeds_destroy(feeds);
}

static void who_falls_behind_is_told_and_comes_back(void **state)
{
    (void)state;
    struct ty_feeds *feeds = make_feeds();
    struct seat slow;
    sit_down(feeds, &slow, 0, NULL);
    assert_true(ty_feed_go_live(&slow.reader));
    for (int i = 0; i < TY_FEED_EVENTS + 1; i++)
        publish(feeds, job_a, TY_EVENT_JOB_UPDATED);
    assert_int_equal(next(&slow), -1);
    assert_false(ty_feed_go_live(&slow.reader));
    slow.reader.position = TY_FEED_EVENTS;
    assert_true(ty_feed_go_live(&slow.reader));
    assert_int_equal(next(&slow), TY_FEED_EVENTS + 1);
    ty_feed_leave(feeds, &slow.reader);
    ty_feeds_destroy(feeds);
}

static void a_feed_that_is_made_looks_at_the_log_once_by_itself(void **state)
{
    (void)state;
    struct ty_feeds *feeds = make_feeds();
    const int64_t tenants[] = {1, 2};
    struct seat seat;
    ty_feeds_note(feeds, tenants, 2); /* nobody reads: nothing is noted */
    sit_down(feeds, &seat, 5, NULL);
    struct ty_feed *feed = ty_feeds_await(feeds);
    assert_int_equal(ty_feed_tenant(feed), 1);
    assert_int_equal(ty_feed_head(feed), 5);
    assert_string_equal(ty_feed_tenant_name(feed), "default");
    ty_feeds_give_back(feeds, feed, true); /* the log could not be read */
    feed = ty_feeds_await(feeds);
    assert_non_null(feed);
    ty_feed_leave(feeds, &seat.reader); /* it stays until it is given back */
    struct ty_event_text *text = make_text(6, job_a, TY_EVENT_JOB_UPDATED);
    ty_feed_publish(feed, &text, 1);
    ty_feeds_give_back(feeds, feed, false);
    ty_feeds_close(feeds);
    assert_null(ty_feeds_await(feeds));
    ty_feeds_destroy(feeds);
}

static void a_hole_in_the_log_sends_everyone_there(void **state)
{
    (void)state;
    struct ty_feeds *feeds = make_feeds();
    const int64_t all = 0;
    struct seat whole;
    struct seat alone;
    sit_down(feeds, &whole, 0, NULL);
    sit_down(feeds, &alone, 0, job_a);
    assert_true(ty_feed_go_live(&whole.reader));
    assert_true(ty_feed_go_live(&alone.reader));
    ty_feeds_note(feeds, &all, 1);
    struct ty_feed *feed = ty_feeds_await(feeds);
    struct ty_event_text *text = make_text(100, job_b, TY_EVENT_JOB_UPDATED);
    ty_feed_publish(feed, &text, 1);
    ty_feeds_give_back(feeds, feed, false);
    assert_int_equal(next(&whole), -1);
    assert_int_equal(next(&alone), -1);
    ty_feed_leave(feeds, &whole.reader);
    ty_feed_leave(feeds, &alone.reader);
    ty_feeds_destroy(feeds);
}

/* --- threads --- */

enum { EVENTS = 3000, READERS = 3 };

struct watcher {
    struct ty_feeds *feeds;
    struct seat seat;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool news;
    int64_t got;
};

static void wake_watcher(void *context)
{
    struct watcher *watcher = context;
    pthread_mutex_lock(&watcher->lock);
    watcher->news = true;
    pthread_cond_signal(&watcher->woken);
    pthread_mutex_unlock(&watcher->lock);
}

static void *watch(void *context)
{
    struct watcher *watcher = context;
    while (watcher->got < EVENTS) {
        int64_t sequence = next(&watcher->seat);
        if (sequence > 0 && sequence != watcher->got + 1)
            return NULL;
        if (sequence < 0) /* behind: the log would have had them */
            watcher->seat.reader.position = watcher->got = EVENTS;
        if (sequence > 0)
            watcher->got = sequence;
        pthread_mutex_lock(&watcher->lock);
        while (sequence == 0 && !watcher->news)
            pthread_cond_wait(&watcher->woken, &watcher->lock);
        watcher->news = false;
        pthread_mutex_unlock(&watcher->lock);
    }
    ty_feed_leave(watcher->feeds, &watcher->seat.reader);
    return NULL;
}

static void no_wake_is_lost_among_threads(void **state)
{
    (void)state;
    struct ty_feeds *feeds = make_feeds();
    struct seat keeper;
    struct watcher watchers[READERS];
    pthread_t threads[READERS];
    sit_down(feeds, &keeper, 0, NULL);
    for (int i = 0; i < READERS; i++) {
        watchers[i] = (struct watcher){.feeds = feeds};
        pthread_mutex_init(&watchers[i].lock, NULL);
        pthread_cond_init(&watchers[i].woken, NULL);
        sit_down(feeds, &watchers[i].seat, 0, NULL);
        watchers[i].seat.reader.wake = wake_watcher;
        watchers[i].seat.reader.context = &watchers[i];
        assert_true(ty_feed_go_live(&watchers[i].seat.reader));
        assert_int_equal(pthread_create(&threads[i], NULL, watch, &watchers[i]), 0);
    }
    for (int i = 0; i < EVENTS; i++)
        publish(feeds, job_a, TY_EVENT_JOB_UPDATED);
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(watchers[i].got, EVENTS);
        pthread_mutex_destroy(&watchers[i].lock);
        pthread_cond_destroy(&watchers[i].woken);
    }
    ty_feed_leave(feeds, &keeper.reader);
    ty_feeds_destroy(feeds);
}

static void join_without_memory(void *context)
{
    struct ty_feeds *feeds = context;
    struct seat seat = {0};
    struct ty_error err = {0};
    snprintf(seat.filter.job_id, sizeof seat.filter.job_id, "%s", job_a);
    seat.reader = (struct ty_feed_reader){.filter = &seat.filter, .wake = count_wake};
    ty_status status = ty_feed_join(feeds, 1, "default", 0, &seat.reader, &err);
    ty_oom_expect(status);
    assert_int_equal(seat.reader.feed != NULL, status == TY_OK);
    ty_feed_leave(feeds, &seat.reader);
    if (status == TY_OK)
        ty_feeds_give_back(feeds, ty_feeds_await(feeds), false);
}

static void a_reader_without_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    struct ty_feeds *feeds = make_feeds();
    assert_true(ty_oom_sweep(join_without_memory, feeds) > 1);
    ty_feeds_destroy(feeds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reader_is_given_each_event_once_and_in_order),
        cmocka_unit_test(a_reader_of_one_job_is_not_touched_by_the_others),
        cmocka_unit_test(a_filtered_reader_at_the_head_does_not_fall_behind),
        cmocka_unit_test(who_falls_behind_is_told_and_comes_back),
        cmocka_unit_test(a_feed_that_is_made_looks_at_the_log_once_by_itself),
        cmocka_unit_test(a_hole_in_the_log_sends_everyone_there),
        cmocka_unit_test(no_wake_is_lost_among_threads),
        cmocka_unit_test(a_reader_without_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
