#include "inbox.h"

#include "trainyard/base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

void job_facts_take(struct job_facts *facts, const struct ty_job_record *record)
{
    facts->row = record->row;
    facts->tenant = record->tenant;
    facts->revision = record->revision;
    facts->created_at = record->created_at;
    facts->updated_at = record->updated_at;
    facts->timeout_seconds = record->timeout_seconds;
    facts->priority = record->priority;
    facts->replicas = record->replicas;
    facts->gpus = record->gpus;
    facts->elastic = record->elastic_max > 0;
    ty_str_copy(facts->id, sizeof(facts->id), record->id);
    ty_str_copy(facts->object_name, sizeof(facts->object_name), record->object_name);
    ty_str_copy(facts->namespace, sizeof(facts->namespace), record->namespace);
    ty_str_copy(facts->tenant_name, sizeof(facts->tenant_name),
                record->tenant_name ? record->tenant_name : "");
    facts->status = record->status;
}

void seen_destroy(struct seen *seen)
{
    if (!seen)
        return;
    free(seen->replicas);
    free(seen);
}

bool seen_goes_on(const struct seen *seen)
{
    ty_seen_kind kind = seen->observation.kind;
    return kind == TY_SEEN_STARTING || kind == TY_SEEN_RUNNING || kind == TY_SEEN_RESTARTING;
}

void inbox_init(struct inbox *inbox)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&inbox->lock, NULL);
    pthread_cond_init(&inbox->filled, &attributes);
    pthread_condattr_destroy(&attributes);
    inbox->first = NULL;
    inbox->last = &inbox->first;
}

void inbox_done(struct inbox *inbox)
{
    pthread_cond_destroy(&inbox->filled);
    pthread_mutex_destroy(&inbox->lock);
}

static void append(struct inbox *inbox, struct letter *letter)
{
    letter->next = NULL;
    *inbox->last = letter;
    inbox->last = &letter->next;
    inbox->count++;
}

void inbox_post(struct inbox *inbox, struct letter *letter)
{
    pthread_mutex_lock(&inbox->lock);
    append(inbox, letter);
    pthread_cond_signal(&inbox->filled);
    pthread_mutex_unlock(&inbox->lock);
}

/* Whether what `older` said is of no use once `newer` is known: only news of a run that goes on. */
static bool overtaken(const struct letter *older, const struct seen *newer)
{
    if (older->kind != LETTER_SEEN || !ty_str_equal(older->id, newer->letter.id))
        return false;
    const struct seen *old = (const struct seen *)older;
    return seen_goes_on(old) && old->observation.attempt == newer->observation.attempt;
}

/* Take out one letter that `newer` makes pointless. */
static struct seen *take_overtaken(struct inbox *inbox, const struct seen *newer)
{
    for (struct letter **slot = &inbox->first; *slot; slot = &(*slot)->next) {
        struct letter *letter = *slot;
        if (!overtaken(letter, newer))
            continue;
        *slot = letter->next;
        if (inbox->last == &letter->next)
            inbox->last = slot;
        inbox->count--;
        return (struct seen *)letter;
    }
    return NULL;
}

void inbox_post_seen(struct inbox *inbox, struct seen *seen)
{
    struct seen *pointless = NULL;
    pthread_mutex_lock(&inbox->lock);
    if (inbox->count >= INBOX_FULL)
        pointless = take_overtaken(inbox, seen);
    append(inbox, &seen->letter);
    pthread_cond_signal(&inbox->filled);
    pthread_mutex_unlock(&inbox->lock);
    seen_destroy(pointless);
}

ty_status inbox_check(struct inbox *inbox, struct ty_error *err)
{
    pthread_mutex_lock(&inbox->lock);
    bool full = inbox->count >= INBOX_FULL;
    bool stopping = inbox->stopping;
    pthread_mutex_unlock(&inbox->lock);
    if (stopping)
        return ty_fail(err, TY_UNAVAILABLE, "the gateway is shutting down");
    if (full)
        return ty_fail_code(err, TY_UNAVAILABLE, "overloaded", "too much work is waiting");
    return TY_OK;
}

void inbox_poke(struct inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    inbox->poked = true;
    pthread_cond_signal(&inbox->filled);
    pthread_mutex_unlock(&inbox->lock);
}

struct letter *inbox_take(struct inbox *inbox, bool *poked_out)
{
    pthread_mutex_lock(&inbox->lock);
    struct letter *first = inbox->first;
    *poked_out = inbox->poked;
    inbox->first = NULL;
    inbox->last = &inbox->first;
    inbox->count = 0;
    inbox->poked = false;
    pthread_mutex_unlock(&inbox->lock);
    return first;
}

bool inbox_wait(struct inbox *inbox, int64_t timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + timeout_ms % 1000 * 1000000;
    until.tv_sec += (time_t)(timeout_ms / 1000 + nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);

    pthread_mutex_lock(&inbox->lock);
    int waited = 0;
    while (!inbox->first && !inbox->poked && !inbox->stopping && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&inbox->filled, &inbox->lock, &until);
    bool stopping = inbox->stopping;
    pthread_mutex_unlock(&inbox->lock);
    return !stopping;
}

void inbox_stop(struct inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    inbox->stopping = true;
    pthread_cond_signal(&inbox->filled);
    pthread_mutex_unlock(&inbox->lock);
}
