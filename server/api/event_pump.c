/* The pump: one thread that reads what was committed, once for each tenant whose events somebody
 * reads, and publishes it. The writer thread only says whose there are. */
#include "api/event_pump.h"

#include "trainyard/store/events.h"

#include <time.h>

enum { BATCH = 256, RETRY_MS = 100 };

struct event_pump {
    struct ty_api *api;
    struct ty_feeds *feeds;
    struct ty_reader *reader;
    struct ty_event_listener listener;
    pthread_t thread;
    bool running;
};

struct ty_feeds *event_pump_feeds(const struct event_pump *pump)
{
    return pump->feeds;
}

static void note_commit(void *context, const int64_t *tenants, size_t count)
{
    const struct event_pump *pump = context;
    ty_feeds_note(pump->feeds, tenants, count);
}

struct batch {
    struct ty_event_owner owner;
    struct ty_event_text *texts[BATCH];
    size_t count;
    bool failed;
};

static bool make_text(void *context, const struct ty_event *event)
{
    struct batch *batch = context;
    struct ty_error err;
    batch->failed =
        ty_event_text_make(event, &batch->owner, &batch->texts[batch->count], &err) != TY_OK;
    batch->count += !batch->failed;
    return !batch->failed;
}

/* After a hole in the log the feed begins behind it; its readers find that out there. */
static ty_status skip_hole(struct event_pump *pump, struct ty_event_query *query)
{
    struct ty_error err;
    int64_t first = 0;
    int64_t last = 0;
    ty_status status = ty_events_range(pump->reader, query->tenant, &first, &last, &err);
    if (status == TY_OK)
        query->after = first - 1;
    return status;
}

/* Publish one batch. TY_OK: there may be more when *count_out is a whole one. */
static ty_status pump_batch(struct event_pump *pump, struct ty_feed *feed, size_t *count_out)
{
    struct batch batch = {
        .owner = {.tenant_name = ty_feed_tenant_name(feed),
                  .key = ty_store_key(pump->api->options.store)}
    };
    struct ty_event_query query = {
        .tenant = ty_feed_tenant(feed), .after = ty_feed_head(feed), .limit = BATCH};
    struct ty_error err;
    int64_t seen = 0;
    ty_status status = ty_events_list(pump->reader, &query, make_text, &batch, &seen, &err);
    if (status == TY_GONE && skip_hole(pump, &query) == TY_OK)
        status = ty_events_list(pump->reader, &query, make_text, &batch, &seen, &err);
    ty_feed_publish(feed, batch.texts, batch.count);
    *count_out = batch.count;
    return batch.failed ? TY_NO_MEMORY : status;
}

/* Whether the feed must be looked at again, because the log could not be read. */
static bool refresh(struct event_pump *pump, struct ty_feed *feed)
{
    static const struct timespec pause = {.tv_nsec = RETRY_MS * 1000000L};
    size_t count = BATCH;
    ty_status status = TY_OK;
    while (status == TY_OK && count == BATCH)
        status = pump_batch(pump, feed, &count);
    if (status == TY_OK || status == TY_NOT_FOUND)
        return false; /* a tenant that was removed has no events any more */
    nanosleep(&pause, NULL);
    return true;
}

static void *run(void *context)
{
    struct event_pump *pump = context;
    struct ty_feed *feed;
    while ((feed = ty_feeds_await(pump->feeds)))
        ty_feeds_give_back(pump->feeds, feed, refresh(pump, feed));
    return NULL;
}

ty_status event_pump_create(struct ty_api *api, struct event_pump **pump_out, struct ty_error *err)
{
    struct event_pump *pump = calloc(1, sizeof *pump);
    if (!pump)
        return ty_fail(err, TY_NO_MEMORY, "event pump");
    pump->api = api;
    pump->listener = (struct ty_event_listener){note_commit, pump};
    if (ty_feeds_create(&pump->feeds, err) != TY_OK ||
        ty_reader_open(api->options.store, &pump->reader, err) != TY_OK) {
        event_pump_destroy(pump);
        return err->status;
    }
    *pump_out = pump;
    return TY_OK;
}

ty_status event_pump_start(struct event_pump *pump, struct ty_error *err)
{
    ty_status status = ty_thread_start(&pump->thread, "event-pump", run, pump, err);
    pump->running = status == TY_OK;
    if (pump->running)
        ty_events_listen(pump->api->options.store, &pump->listener);
    return status;
}

void event_pump_stop(struct event_pump *pump)
{
    if (!pump || !pump->running)
        return;
    ty_events_listen(pump->api->options.store, NULL);
    ty_feeds_close(pump->feeds);
    pthread_join(pump->thread, NULL);
    pump->running = false;
}

void event_pump_destroy(struct event_pump *pump)
{
    if (!pump)
        return;
    ty_reader_close(pump->reader);
    ty_feeds_destroy(pump->feeds);
    free(pump);
}
