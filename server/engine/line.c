/* The waiting line. A round judges everyone in it at once (admit.h) and starts whoever may; it is
 * held only after a change (a job came, another gave back what it held, quotas or capacity
 * changed), and never takes more than a small part of the time: the longer the line, the longer
 * the pause after a round. */
#include "state.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/scope.h"
#include "trainyard/store/tenants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TELL_AFTER_MS = 1000,  /* who starts sooner than this was never told to wait */
    TELL_AGAIN_MS = 10000, /* the reason may change often, its history should not */
    TELL_AT_ONCE_MAX = 64,
    TELL_PAUSE_MS = 100,
    BUSY_PAUSE_MS = 10,      /* another write of the job is on its way */
    JOBS_PER_PAUSE_MS = 200, /* a round over so many takes a small part of a millisecond */
    TENANTS_PAGE = 500
};

void line_enter(struct ty_engine *engine, struct live_job *job)
{
    if (job->queued)
        return;
    job->queued = true;
    job->tell_due_ms = engine->now_ms + TELL_AFTER_MS;
    job->queue_previous = NULL;
    job->queue_next = engine->queue;
    if (engine->queue)
        engine->queue->queue_previous = job;
    engine->queue = job;
    engine->queue_count++;
    engine->round_wanted = true;
}

void line_leave(struct ty_engine *engine, struct live_job *job)
{
    if (!job->queued)
        return;
    job->queued = false;
    *(job->queue_previous ? &job->queue_previous->queue_next : &engine->queue) = job->queue_next;
    if (job->queue_next)
        job->queue_next->queue_previous = job->queue_previous;
    engine->queue_count--;
    engine->round_wanted = true;
    atomic_store(&job->position, 0);
}

/* --- quotas --- */
struct quota_list {
    struct tenant_quota *items;
    size_t count;
    size_t capacity;
    bool failed;
};

static bool take_tenant(void *context, const struct ty_tenant_record *tenant)
{
    struct quota_list *list = context;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        struct tenant_quota *items = reallocarray(list->items, capacity, sizeof(*items));
        if (!items) {
            list->failed = true;
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = (struct tenant_quota){.row = tenant->row, .quota = tenant->quota};
    return true;
}

static ty_status list_quotas(struct ty_engine *engine, struct quota_list *list,
                             struct ty_error *err)
{
    for (;;) {
        size_t before = list->count;
        int64_t after = before > 0 ? list->items[before - 1].row : 0;
        ty_status status =
            ty_tenants_list(engine->reader, after, TENANTS_PAGE, take_tenant, list, err);
        if (status != TY_OK)
            return status;
        if (list->failed)
            return ty_fail(err, TY_NO_MEMORY, "no memory for the tenants' quotas");
        if (list->count - before < TENANTS_PAGE)
            return TY_OK;
    }
}

void line_read_quotas(struct ty_engine *engine)
{
    if (!engine->tenants_stale || engine->tenants_backoff.due_ms > engine->now_ms)
        return;
    struct quota_list list = {0};
    struct ty_error err = {0};
    if (list_quotas(engine, &list, &err) != TY_OK) {
        free(list.items);
        backoff_fail(&engine->tenants_backoff, engine->options.random, engine->now_ms);
        ty_log(engine->options.log, TY_LOG_WARNING, "quotas_unread", "%s", err.text);
        return;
    }
    free(engine->tenants);
    engine->tenants = list.items;
    engine->tenants_count = list.count;
    engine->tenants_stale = false;
    backoff_reset(&engine->tenants_backoff);
    engine->tenants_read_ms = engine->now_ms;
    engine->round_wanted = true;
}

/* A tenant is missing: read again, but not for ever in a circle. */
static void want_quotas(struct ty_engine *engine)
{
    engine->tenants_stale = true;
    engine->tenants_backoff.due_ms = engine->tenants_read_ms + BACKOFF_BASE_MS;
}

static int compare_row(const void *a, const void *b)
{
    const struct tenant_quota *x = a;
    const struct tenant_quota *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The index of a tenant; false when its quota is not known (yet). */
static bool tenant_index(const struct ty_engine *engine, int64_t row, size_t *index_out)
{
    const struct tenant_quota key = {.row = row};
    if (engine->tenants_count == 0)
        return false;
    const struct tenant_quota *found =
        bsearch(&key, engine->tenants, engine->tenants_count, sizeof(key), compare_row);
    if (!found)
        return false;
    *index_out = (size_t)(found - engine->tenants);
    return true;
}

/* --- telling --- */
static const struct {
    ty_job_cause cause;
    const char *text;
} waits[] = {
    [ADMIT_WAITS_FOR_QUOTA] = {TY_CAUSE_WAITING_FOR_QUOTA,
                               "the tenant's other jobs leave too little of its quota"         },
    [ADMIT_WAITS_FOR_CAPACITY] = {TY_CAUSE_WAITING_FOR_CAPACITY,
                               "too little is free at this time, or it is kept for jobs before"},
    [ADMIT_ABOVE_QUOTA] = {TY_CAUSE_WAITING_FOR_QUOTA,
                               "that is more than the tenant's whole quota"                    },
    [ADMIT_ABOVE_CAPACITY] = {TY_CAUSE_WAITING_FOR_CAPACITY,
                               "that is more than the executor has in all"                     },
};

static bool tell_waiting(struct ty_engine *engine, struct live_job *job, admit_verdict verdict)
{
    struct ty_observation seen = {
        .kind = TY_SEEN_WAITING, .cause = waits[verdict].cause, .at = engine->now};
    snprintf(seen.message, sizeof(seen.message),
             "needs %" PRId32 " replicas and %" PRId32 " GPUs: %s", job->facts.replicas,
             job->facts.gpus, waits[verdict].text);
    if (job->writing || job->pending || observe_add(job, &seen) != TY_OK)
        return false;
    observe_flush(engine, job);
    return true;
}

/* --- the round --- */
static bool start_job(struct ty_engine *engine, struct live_job *job)
{
    struct ty_observation seen = {.kind = TY_SEEN_ADMITTED, .at = engine->now};
    if (job->writing || job->pending || observe_add(job, &seen) != TY_OK)
        return false;
    line_leave(engine, job);
    job->admitting = true;
    live_settle(engine, job);
    ty_failpoint("admit.before_write");
    observe_flush(engine, job);
    ty_failpoint("admit.after_write");
    return true;
}

static void add_use(struct ty_engine *engine, struct admit_tenant *tenants)
{
    size_t index;
    for (const struct live_job *job = engine->holders; job; job = job->hold_next) {
        if (!tenant_index(engine, job->facts.tenant, &index))
            continue;
        tenants[index].use.jobs++;
        tenants[index].use.replicas += job->facts.replicas;
        tenants[index].use.gpus += job->facts.gpus;
    }
}

static void add_candidates(struct ty_engine *engine, struct admit_round *round)
{
    for (struct live_job *job = engine->queue; job; job = job->queue_next) {
        struct admit_job *candidate = &round->jobs[round->jobs_count];
        if (!tenant_index(engine, job->facts.tenant, &candidate->tenant)) {
            want_quotas(engine); /* a new tenant: judged in a later round */
            continue;
        }
        candidate->age = job->facts.row;
        candidate->priority = job->facts.priority;
        candidate->replicas = job->facts.replicas;
        candidate->gpus = job->facts.gpus;
        candidate->owner = job;
        round->jobs_count++;
    }
}

/* When the job is to be looked at again without any change; 0 = never. */
static int64_t follow_verdict(struct ty_engine *engine, struct live_job *job, admit_verdict verdict,
                              size_t *told)
{
    if (verdict == ADMIT_NOW)
        return start_job(engine, job) ? 0 : engine->now_ms + BUSY_PAUSE_MS;
    if (job->facts.status.cause == waits[verdict].cause)
        return 0;
    if (job->tell_due_ms > engine->now_ms)
        return job->tell_due_ms;
    if (*told >= TELL_AT_ONCE_MAX)
        return engine->now_ms + TELL_PAUSE_MS;
    (*told)++;
    if (tell_waiting(engine, job, verdict))
        job->tell_due_ms = engine->now_ms + TELL_AGAIN_MS;
    return engine->now_ms + TELL_PAUSE_MS;
}

static void follow_verdicts(struct ty_engine *engine, const struct admit_round *round)
{
    size_t told = 0;
    for (size_t i = 0; i < round->jobs_count; i++) {
        struct live_job *job = round->jobs[i].owner;
        atomic_store(&job->position, round->jobs[i].position);
        int64_t again_ms = follow_verdict(engine, job, round->jobs[i].verdict, &told);
        if (again_ms != 0 && (engine->round_again_ms == 0 || again_ms < engine->round_again_ms))
            engine->round_again_ms = again_ms;
    }
}

static ty_status judge_line(struct ty_engine *engine)
{
    ty_auto_free struct admit_tenant *tenants = calloc(engine->tenants_count + 1, sizeof(*tenants));
    ty_auto_free struct admit_job *jobs = calloc(engine->queue_count + 1, sizeof(*jobs));
    if (!tenants || !jobs)
        return TY_NO_MEMORY;
    for (size_t i = 0; i < engine->tenants_count; i++)
        tenants[i].quota = engine->tenants[i].quota;
    add_use(engine, tenants);
    struct ty_executor *executor = engine->options.executor;
    struct admit_round round = {.tenants = tenants,
                                .tenants_count = engine->tenants_count,
                                .jobs = jobs,
                                .capacity = executor->ops->capacity(executor),
                                .use = engine->use};
    add_candidates(engine, &round);
    ty_status status = admit_judge(&round);
    if (status == TY_OK)
        follow_verdicts(engine, &round);
    return status;
}

void line_round(struct ty_engine *engine)
{
    bool again = engine->round_again_ms != 0 && engine->round_again_ms <= engine->now_ms;
    if (!engine->round_wanted && !again)
        return;
    if (!engine->executor_started || engine->round_pause_ms > engine->now_ms)
        return;
    engine->round_wanted = false;
    engine->round_again_ms = 0;
    if (engine->queue_count == 0)
        return;
    engine->round_pause_ms = engine->now_ms + (int64_t)engine->queue_count / JOBS_PER_PAUSE_MS;
    if (judge_line(engine) != TY_OK)
        engine->round_again_ms = engine->now_ms + BACKOFF_BASE_MS;
}

int64_t line_due_ms(const struct ty_engine *engine)
{
    int64_t due_ms = engine->round_wanted ? engine->round_pause_ms : engine->round_again_ms;
    if (due_ms == 0 || engine->queue_count == 0 || !engine->executor_started)
        return 0;
    return due_ms > engine->round_pause_ms ? due_ms : engine->round_pause_ms;
}
