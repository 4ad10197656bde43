/* A ring of events a tenant, indexed by sequence: the log has no holes, so neither has the ring.
 *
 * The happy path: a commit notes its tenant; the pump takes the stale feed, reads the log beyond
 * its head, publishes, and wakes the readers of the tenant and those of the jobs that changed. Each
 * takes references one by one until there is nothing.
 *
 * A reader of one job is not touched by other jobs' events, so its position lags behind without
 * meaning anything; what counts is the last event of its job that was pushed out.
 *
 * Locks: feeds before feed. */
#include "trainyard/events/feed.h"

#include "trainyard/base/map.h"
#include "trainyard/base/str.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 64 };

/* A job that somebody reads alone. */
struct feed_job {
    struct ty_feed_reader *readers;
    int64_t dropped; /* the last of its events that is no longer in the ring */
};

struct ty_feed {
    struct ty_feed *chain;      /* same bucket; under the feeds' lock, as the next three */
    struct ty_feed *stale_next; /* in line for the pump */
    unsigned refs;              /* readers and the pump */
    bool stale;
    int64_t tenant;
    char tenant_name[64];
    pthread_mutex_t lock; /* guards what follows */
    int64_t first;        /* of the ring; head + 1 when it is empty */
    int64_t head;
    size_t bytes;
    struct ty_feed_reader *readers; /* of the whole tenant */
    struct ty_map *jobs;
    struct ty_event_text *ring[TY_FEED_EVENTS];
};

struct ty_feeds {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct ty_feed *buckets[BUCKETS];
    _Atomic size_t count;
    struct ty_feed *stale;
    struct ty_feed **stale_last;
    bool closed;
};

/* --- life cycle --- */

ty_status ty_feeds_create(struct ty_feeds **feeds_out, struct ty_error *err)
{
    struct ty_feeds *feeds = calloc(1, sizeof *feeds);
    if (!feeds)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the event feeds");
    pthread_mutex_init(&feeds->lock, NULL);
    pthread_cond_init(&feeds->changed, NULL);
    feeds->stale_last = &feeds->stale;
    *feeds_out = feeds;
    return TY_OK;
}

static void destroy_feed(struct ty_feed *feed)
{
    for (; feed->first <= feed->head; feed->first++)
        ty_event_text_unref(feed->ring[(size_t)feed->first % TY_FEED_EVENTS]);
    ty_map_destroy(feed->jobs);
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

void ty_feeds_destroy(struct ty_feeds *feeds)
{
    if (!feeds)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        while (feeds->buckets[i]) {
            struct ty_feed *feed = feeds->buckets[i];
            feeds->buckets[i] = feed->chain;
            destroy_feed(feed);
        }
    }
    pthread_cond_destroy(&feeds->changed);
    pthread_mutex_destroy(&feeds->lock);
    free(feeds);
}

static struct ty_feed **bucket_of(struct ty_feeds *feeds, int64_t tenant)
{
    return &feeds->buckets[(uint64_t)tenant % BUCKETS];
}

static struct ty_feed *find_feed(struct ty_feeds *feeds, int64_t tenant)
{
    struct ty_feed *feed = *bucket_of(feeds, tenant);
    while (feed && feed->tenant != tenant)
        feed = feed->chain;
    return feed;
}

static struct ty_feed *make_feed(struct ty_feeds *feeds, int64_t tenant, const char *tenant_name,
                                 int64_t head)
{
    struct ty_feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return NULL;
    if (ty_map_create(free, &feed->jobs) != TY_OK) {
        free(feed);
        return NULL;
    }
    pthread_mutex_init(&feed->lock, NULL);
    feed->tenant = tenant;
    (void)ty_str_copy(feed->tenant_name, sizeof feed->tenant_name, tenant_name);
    feed->head = head;
    feed->first = head + 1;
    feed->chain = *bucket_of(feeds, tenant);
    *bucket_of(feeds, tenant) = feed;
    atomic_fetch_add(&feeds->count, 1);
    return feed;
}

/* Under the feeds' lock. */
static void unref_feed(struct ty_feeds *feeds, struct ty_feed *feed)
{
    if (--feed->refs > 0 || feed->stale)
        return;
    struct ty_feed **slot = bucket_of(feeds, feed->tenant);
    while (*slot != feed)
        slot = &(*slot)->chain;
    *slot = feed->chain;
    atomic_fetch_sub(&feeds->count, 1);
    destroy_feed(feed);
}

/* Put a feed in line for the pump; under the feeds' lock. */
static void mark_stale(struct ty_feeds *feeds, struct ty_feed *feed)
{
    if (feed->stale)
        return;
    feed->stale = true;
    feed->stale_next = NULL;
    *feeds->stale_last = feed;
    feeds->stale_last = &feed->stale_next;
    pthread_cond_signal(&feeds->changed);
}

/* --- readers --- */

static void link_reader(struct ty_feed_reader **list, struct ty_feed_reader *reader)
{
    reader->next = *list;
    reader->back = list;
    if (reader->next)
        reader->next->back = &reader->next;
    *list = reader;
}

static void unlink_reader(struct ty_feed_reader *reader)
{
    *reader->back = reader->next;
    if (reader->next)
        reader->next->back = reader->back;
}

/* The entry of a job, made when nobody reads it yet. NULL: no memory. */
static struct feed_job *know_job(struct ty_feed *feed, const char *job_id)
{
    struct feed_job *job = ty_map_get(feed->jobs, job_id);
    if (job)
        return job;
    job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->dropped = feed->first - 1; /* what went before is not known */
    if (ty_map_put(feed->jobs, job_id, job) == TY_OK)
        return job;
    free(job);
    return NULL;
}

static bool enlist(struct ty_feed *feed, struct ty_feed_reader *reader)
{
    bool alone = reader->filter && reader->filter->job_id[0] != '\0';
    pthread_mutex_lock(&feed->lock);
    reader->live = false;
    reader->job = alone ? know_job(feed, reader->filter->job_id) : NULL;
    bool made = reader->job || !alone;
    reader->feed = made ? feed : NULL;
    if (made)
        link_reader(reader->job ? &reader->job->readers : &feed->readers, reader);
    pthread_mutex_unlock(&feed->lock);
    return made;
}

ty_status ty_feed_join(struct ty_feeds *feeds, int64_t tenant, const char *tenant_name,
                       int64_t head, struct ty_feed_reader *reader, struct ty_error *err)
{
    pthread_mutex_lock(&feeds->lock);
    struct ty_feed *feed = find_feed(feeds, tenant);
    bool made = !feed;
    if (made)
        feed = make_feed(feeds, tenant, tenant_name, head);
    bool joined = false;
    if (feed) {
        feed->refs++;
        joined = enlist(feed, reader);
        if (!joined)
            unref_feed(feeds, feed);
    }
    /* What was committed since `head` was read was told to nobody. */
    if (joined && made)
        mark_stale(feeds, feed);
    pthread_mutex_unlock(&feeds->lock);
    if (!joined)
        return ty_fail(err, TY_NO_MEMORY, "no memory to read events");
    return TY_OK;
}

void ty_feed_leave(struct ty_feeds *feeds, struct ty_feed_reader *reader)
{
    struct ty_feed *feed = reader->feed;
    if (!feed)
        return;
    pthread_mutex_lock(&feeds->lock);
    pthread_mutex_lock(&feed->lock);
    unlink_reader(reader);
    if (reader->job && !reader->job->readers)
        ty_map_remove(feed->jobs, reader->filter->job_id);
    pthread_mutex_unlock(&feed->lock);
    unref_feed(feeds, feed);
    pthread_mutex_unlock(&feeds->lock);
    reader->feed = NULL;
}

static bool is_behind(const struct ty_feed *feed, const struct ty_feed_reader *reader)
{
    int64_t dropped = reader->job ? reader->job->dropped : feed->first - 1;
    return reader->position < dropped;
}

bool ty_feed_go_live(struct ty_feed_reader *reader)
{
    struct ty_feed *feed = reader->feed;
    pthread_mutex_lock(&feed->lock);
    reader->live = !is_behind(feed, reader);
    bool live = reader->live;
    pthread_mutex_unlock(&feed->lock);
    return live;
}

int64_t ty_feed_position(const struct ty_feed_reader *reader)
{
    pthread_mutex_lock(&reader->feed->lock);
    int64_t position = reader->position;
    pthread_mutex_unlock(&reader->feed->lock);
    return position;
}

static struct ty_event_text *find_next(struct ty_feed *feed, struct ty_feed_reader *reader)
{
    int64_t at = reader->position + 1;
    for (at = at > feed->first ? at : feed->first; at <= feed->head; at++) {
        struct ty_event_text *text = feed->ring[(size_t)at % TY_FEED_EVENTS];
        reader->position = at;
        if (ty_event_filter_takes_text(reader->filter, text))
            return ty_event_text_ref(text);
    }
    return NULL;
}

ty_feed_answer ty_feed_next(struct ty_feed_reader *reader, struct ty_event_text **text_out)
{
    struct ty_feed *feed = reader->feed;
    struct ty_event_text *text = NULL;
    pthread_mutex_lock(&feed->lock);
    reader->live = !is_behind(feed, reader);
    bool live = reader->live;
    if (live)
        text = find_next(feed, reader);
    pthread_mutex_unlock(&feed->lock);
    if (!live)
        return TY_FEED_BEHIND;
    if (!text)
        return TY_FEED_NOTHING;
    *text_out = text;
    return TY_FEED_EVENT;
}

/* --- filling --- */

void ty_feeds_note(struct ty_feeds *feeds, const int64_t *tenants, size_t count)
{
    if (atomic_load(&feeds->count) == 0)
        return;
    pthread_mutex_lock(&feeds->lock);
    for (size_t i = 0; i < count; i++) {
        struct ty_feed *feed = find_feed(feeds, tenants[i]);
        if (feed)
            mark_stale(feeds, feed);
        for (size_t b = 0; b < BUCKETS && tenants[i] == 0; b++)
            for (feed = feeds->buckets[b]; feed; feed = feed->chain)
                mark_stale(feeds, feed);
    }
    pthread_mutex_unlock(&feeds->lock);
}

struct ty_feed *ty_feeds_await(struct ty_feeds *feeds)
{
    pthread_mutex_lock(&feeds->lock);
    while (!feeds->stale && !feeds->closed)
        pthread_cond_wait(&feeds->changed, &feeds->lock);
    struct ty_feed *feed = feeds->closed ? NULL : feeds->stale;
    if (feed) {
        feeds->stale = feed->stale_next;
        if (!feeds->stale)
            feeds->stale_last = &feeds->stale;
        feed->stale = false;
        feed->refs++;
    }
    pthread_mutex_unlock(&feeds->lock);
    return feed;
}

void ty_feeds_give_back(struct ty_feeds *feeds, struct ty_feed *feed, bool again)
{
    pthread_mutex_lock(&feeds->lock);
    if (again)
        mark_stale(feeds, feed);
    unref_feed(feeds, feed);
    pthread_mutex_unlock(&feeds->lock);
}

void ty_feeds_close(struct ty_feeds *feeds)
{
    pthread_mutex_lock(&feeds->lock);
    feeds->closed = true;
    pthread_cond_broadcast(&feeds->changed);
    pthread_mutex_unlock(&feeds->lock);
}

int64_t ty_feed_tenant(const struct ty_feed *feed)
{
    return feed->tenant;
}

const char *ty_feed_tenant_name(const struct ty_feed *feed)
{
    return feed->tenant_name;
}

int64_t ty_feed_head(const struct ty_feed *feed)
{
    return feed->head; /* nobody but the asker changes it */
}

static void push_out(struct ty_feed *feed)
{
    struct ty_event_text *text = feed->ring[(size_t)feed->first % TY_FEED_EVENTS];
    struct feed_job *job = text->of_job ? ty_map_get(feed->jobs, text->job_id) : NULL;
    if (job)
        job->dropped = text->sequence;
    feed->bytes -= text->len;
    feed->first++;
    ty_event_text_unref(text);
}

/* After a hole in the log nobody may go on without having looked there. */
static void start_anew(struct ty_feed *feed, int64_t sequence)
{
    size_t cursor = 0;
    struct feed_job *job;
    while (feed->first <= feed->head)
        push_out(feed);
    while ((job = ty_map_next(feed->jobs, &cursor, NULL)))
        job->dropped = sequence - 1;
    feed->first = sequence;
    feed->head = sequence - 1;
}

static void append(struct ty_feed *feed, struct ty_event_text *text)
{
    if (text->sequence != feed->head + 1)
        start_anew(feed, text->sequence);
    while (feed->first <= feed->head && (feed->head + 1 - feed->first == TY_FEED_EVENTS ||
                                         feed->bytes + text->len > TY_FEED_BYTES))
        push_out(feed);
    feed->ring[(size_t)text->sequence % TY_FEED_EVENTS] = text;
    feed->bytes += text->len;
    feed->head = text->sequence;
}

/* Wake a reader that wants one of these; one that stood at the head and wants none stays there. */
static void offer(struct ty_feed *feed, struct ty_feed_reader *reader,
                  struct ty_event_text *const *texts, size_t count)
{
    bool wanted = !reader->filter;
    if (!reader->live)
        return;
    for (size_t i = 0; i < count && !wanted; i++)
        wanted = ty_event_filter_takes_text(reader->filter, texts[i]);
    if (wanted)
        reader->wake(reader->context);
    else if (reader->position >= texts[0]->sequence - 1)
        reader->position = feed->head;
}

static void offer_to_job(struct ty_feed *feed, struct ty_event_text *const *text)
{
    struct feed_job *job = (*text)->of_job ? ty_map_get(feed->jobs, (*text)->job_id) : NULL;
    for (struct ty_feed_reader *reader = job ? job->readers : NULL; reader; reader = reader->next)
        if (reader->live && ty_event_filter_takes_text(reader->filter, *text))
            reader->wake(reader->context);
}

void ty_feed_publish(struct ty_feed *feed, struct ty_event_text *const *texts, size_t count)
{
    pthread_mutex_lock(&feed->lock);
    /* Texts may be pushed out by those that follow: held until all were offered. */
    for (size_t i = 0; i < count; i++)
        append(feed, ty_event_text_ref(texts[i]));
    for (struct ty_feed_reader *reader = count > 0 ? feed->readers : NULL; reader;
         reader = reader->next)
        offer(feed, reader, texts, count);
    for (size_t i = 0; i < count && ty_map_count(feed->jobs) > 0; i++)
        offer_to_job(feed, &texts[i]);
    pthread_mutex_unlock(&feed->lock);
    for (size_t i = 0; i < count; i++)
        ty_event_text_unref(texts[i]);
}
