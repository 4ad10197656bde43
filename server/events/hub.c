/* A sharded map id -> {body, newest revision known, waiters}.
 *
 * The happy path: ty_hub_get misses and makes the id known; its caller reads the row, renders and
 * puts; the next get hits. A commit calls ty_hub_changed, which drops the body and leaves the newer
 * revision as a mark.
 *
 * What can go wrong is a body rendered before a commit and put after it. A put is therefore taken
 * only while the hub still knows the id: either nothing was committed since the miss, or the mark
 * is there and refuses it. An id that was pushed out in between is unknown, so the put is dropped
 * and the next get starts over. */
#include "trainyard/events/hub.h"

#include "trainyard/base/id.h"
#include "trainyard/base/str.h"
#include "waiters.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SHARD_COUNT = 64, WAITERS_MAX = 1024 /* in one shard */ };

struct hub_entry {
    struct hub_entry *chain; /* same bucket */
    struct hub_entry *newer; /* recency list of the shard */
    struct hub_entry *older;
    uint64_t hash;
    struct ty_job_body *body; /* NULL: only known */
    int64_t revision;         /* newest revision known: of the body or of a commit; 0 = none */
    size_t waiters;           /* how many wait on it; it stays while they do */
    bool removed;             /* the row is gone: no body is taken any more */
    char id[TY_ID_TEXT];
};

/* Everything in a shard is guarded by its lock, which is never held across a callback. */
struct shard {
    pthread_mutex_t lock;
    struct hub_entry **buckets;
    size_t bucket_count;
    size_t count;
    size_t capacity;
    struct hub_entry *newest;
    struct hub_entry *oldest;
    struct hub_waiters waiters;
    uintptr_t tickets; /* the last one given */
} __attribute__((aligned(64)));

struct ty_hub {
    struct shard shards[SHARD_COUNT];
};

static uint64_t hash_id(const char *id)
{
    uint64_t hash =
        0xcbf29ce484222325U; /* FNV-1a, then mixed: ids differ in their last characters */
    for (; *id; id++)
        hash = (hash ^ (unsigned char)*id) * 0x100000001b3U;
    hash ^= hash >> 32;
    return hash * 0x9e3779b97f4a7c15U;
}

static struct shard *shard_of(struct ty_hub *hub, uint64_t hash)
{
    return &hub->shards[hash >> 58];
}

static struct hub_entry **bucket_of(struct shard *shard, uint64_t hash)
{
    return &shard->buckets[hash % shard->bucket_count];
}

static struct hub_entry *find_entry(struct shard *shard, uint64_t hash, const char *id)
{
    struct hub_entry *entry = *bucket_of(shard, hash);
    while (entry && (entry->hash != hash || !ty_str_equal(entry->id, id)))
        entry = entry->chain;
    return entry;
}

static void unlink_recency(struct shard *shard, struct hub_entry *entry)
{
    *(entry->newer ? &entry->newer->older : &shard->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &shard->oldest) = entry->newer;
}

static void link_newest(struct shard *shard, struct hub_entry *entry)
{
    entry->newer = NULL;
    entry->older = shard->newest;
    *(shard->newest ? &shard->newest->newer : &shard->oldest) = entry;
    shard->newest = entry;
}

static void touch_entry(struct shard *shard, struct hub_entry *entry)
{
    if (shard->newest == entry)
        return;
    unlink_recency(shard, entry);
    link_newest(shard, entry);
}

static void forget_entry(struct shard *shard, struct hub_entry *entry)
{
    struct hub_entry **slot = bucket_of(shard, entry->hash);
    while (*slot != entry)
        slot = &(*slot)->chain;
    *slot = entry->chain;
    unlink_recency(shard, entry);
    shard->count--;
    ty_job_body_unref(entry->body);
    free(entry);
}

/* Make room for one more, passing over what is waited on. */
static void push_out(struct shard *shard)
{
    struct hub_entry *entry = shard->oldest;
    while (entry && shard->count >= shard->capacity) {
        struct hub_entry *newer = entry->newer;
        if (entry->waiters == 0)
            forget_entry(shard, entry);
        entry = newer;
    }
}

/* The entry of an id, made when it is not known. NULL when there is no memory. */
static struct hub_entry *know_entry(struct shard *shard, uint64_t hash, const char *id)
{
    struct hub_entry *entry = find_entry(shard, hash, id);
    if (entry) {
        touch_entry(shard, entry);
        return entry;
    }
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    if (!ty_str_copy(entry->id, sizeof(entry->id), id)) {
        free(entry); /* longer than any id of ours: never cached */
        return NULL;
    }
    push_out(shard);
    entry->hash = hash;
    struct hub_entry **bucket = bucket_of(shard, hash);
    entry->chain = *bucket;
    *bucket = entry;
    link_newest(shard, entry);
    shard->count++;
    return entry;
}

static ty_status init_shard(struct shard *shard, size_t capacity)
{
    pthread_mutex_init(&shard->lock, NULL);
    hub_waiters_init(&shard->waiters);
    shard->capacity = capacity;
    shard->bucket_count = capacity | 1;
    shard->buckets = calloc(shard->bucket_count, sizeof(struct hub_entry *));
    return shard->buckets ? TY_OK : TY_NO_MEMORY;
}

ty_status ty_hub_create(size_t capacity, struct ty_hub **hub_out, struct ty_error *err)
{
    struct ty_hub *hub = aligned_alloc(64, sizeof(*hub));
    if (!hub)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the event hub");
    memset(hub, 0, sizeof(*hub));
    size_t share = (capacity + SHARD_COUNT - 1) / SHARD_COUNT;
    ty_status status = TY_OK;
    for (size_t i = 0; i < SHARD_COUNT; i++)
        if (init_shard(&hub->shards[i], share < 4 ? 4 : share) != TY_OK)
            status = TY_NO_MEMORY;
    if (status != TY_OK) {
        ty_hub_destroy(hub);
        return ty_fail(err, TY_NO_MEMORY, "no memory for the event hub");
    }
    *hub_out = hub;
    return TY_OK;
}

void ty_hub_destroy(struct ty_hub *hub)
{
    if (!hub)
        return;
    for (size_t i = 0; i < SHARD_COUNT; i++) {
        struct shard *shard = &hub->shards[i];
        hub_waiters_wake(hub_waiters_take_due(&shard->waiters, 0, true));
        while (shard->newest)
            forget_entry(shard, shard->newest);
        free(shard->buckets);
        pthread_mutex_destroy(&shard->lock);
    }
    free(hub);
}

struct ty_job_body *ty_hub_get(struct ty_hub *hub, const char *job_id)
{
    uint64_t hash = hash_id(job_id);
    struct shard *shard = shard_of(hub, hash);
    struct ty_job_body *body = NULL;

    pthread_mutex_lock(&shard->lock);
    struct hub_entry *entry = know_entry(shard, hash, job_id);
    if (entry && entry->body)
        body = ty_job_body_ref(entry->body);
    pthread_mutex_unlock(&shard->lock);
    return body;
}

void ty_hub_put(struct ty_hub *hub, const char *job_id, struct ty_job_body *body)
{
    uint64_t hash = hash_id(job_id);
    struct shard *shard = shard_of(hub, hash);
    struct ty_job_body *replaced = NULL;

    pthread_mutex_lock(&shard->lock);
    struct hub_entry *entry = find_entry(shard, hash, job_id);
    if (entry && !entry->removed && body->revision >= entry->revision) {
        replaced = entry->body;
        entry->body = ty_job_body_ref(body);
        entry->revision = body->revision;
        touch_entry(shard, entry);
    }
    pthread_mutex_unlock(&shard->lock);
    ty_job_body_unref(replaced);
}

void ty_hub_changed(struct ty_hub *hub, const char *job_id, int64_t revision, bool removed)
{
    uint64_t hash = hash_id(job_id);
    struct shard *shard = shard_of(hub, hash);
    struct ty_job_body *dropped = NULL;
    struct hub_waiter *woken = NULL;

    pthread_mutex_lock(&shard->lock);
    struct hub_entry *entry = know_entry(shard, hash, job_id);
    if (entry && (removed || revision > entry->revision)) {
        dropped = entry->body;
        entry->body = NULL;
        entry->revision = revision > entry->revision ? revision : entry->revision;
        entry->removed = entry->removed || removed;
        if (entry->waiters > 0)
            woken = hub_waiters_take_entry(&shard->waiters, entry);
        entry->waiters = 0;
    }
    pthread_mutex_unlock(&shard->lock);
    ty_job_body_unref(dropped);
    hub_waiters_wake(woken);
}

/* A ticket names its shard in the low bits, so that taking back needs no pointer that may be gone.
 */
static uintptr_t next_ticket(struct ty_hub *hub, struct shard *shard)
{
    return ++shard->tickets * SHARD_COUNT + (uintptr_t)(shard - hub->shards);
}

/* Whether a waiter for what comes after `revision` has something to wait for. */
static bool stands_at(const struct hub_entry *entry, int64_t revision)
{
    return entry && !entry->removed && entry->revision != 0 && entry->revision <= revision;
}

ty_status ty_hub_wait(struct ty_hub *hub, const char *job_id, int64_t revision, int64_t deadline_ms,
                      void (*wake)(void *context), void *context, struct ty_hub_wait **wait_out,
                      struct ty_error *err)
{
    uint64_t hash = hash_id(job_id);
    struct shard *shard = shard_of(hub, hash);
    struct hub_waiter *waiter = calloc(1, sizeof(*waiter));
    if (!waiter)
        return ty_fail(err, TY_NO_MEMORY, "no memory to wait for a job");
    waiter->deadline_ms = deadline_ms;
    waiter->wake = wake;
    waiter->context = context;

    pthread_mutex_lock(&shard->lock);
    struct hub_entry *entry = find_entry(shard, hash, job_id);
    bool full = shard->waiters.count >= WAITERS_MAX;
    bool waits = stands_at(entry, revision);
    if (waits && !full) {
        waiter->entry = entry;
        waiter->ticket = next_ticket(hub, shard);
        entry->waiters++;
        *wait_out = (struct ty_hub_wait *)waiter->ticket;
        hub_waiters_add(&shard->waiters, waiter);
    }
    pthread_mutex_unlock(&shard->lock);

    if (waits && !full)
        return TY_OK;
    free(waiter);
    if (waits)
        return ty_fail(err, TY_UNAVAILABLE, "too many requests wait for jobs");
    *wait_out = NULL;
    wake(context);
    return TY_OK;
}

bool ty_hub_cancel(struct ty_hub *hub, struct ty_hub_wait *wait)
{
    if (!wait)
        return false;
    uintptr_t ticket = (uintptr_t)wait;
    struct shard *shard = &hub->shards[ticket % SHARD_COUNT];

    pthread_mutex_lock(&shard->lock);
    struct hub_waiter *waiter = hub_waiters_find(&shard->waiters, ticket);
    if (waiter) {
        waiter->entry->waiters--;
        hub_waiters_remove(&shard->waiters, waiter);
    }
    pthread_mutex_unlock(&shard->lock);
    bool found = waiter != NULL;
    free(waiter);
    return found;
}

void ty_hub_expire(struct ty_hub *hub, int64_t now_ms, bool all)
{
    for (size_t i = 0; i < SHARD_COUNT; i++) {
        struct shard *shard = &hub->shards[i];
        pthread_mutex_lock(&shard->lock);
        struct hub_waiter *due = hub_waiters_take_due(&shard->waiters, now_ms, all);
        for (struct hub_waiter *waiter = due; waiter; waiter = waiter->next)
            waiter->entry->waiters--;
        pthread_mutex_unlock(&shard->lock);
        hub_waiters_wake(due);
    }
}
