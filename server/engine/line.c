/* The waiting line. A round is held only after a change (a job came, another gave back what it
 * held, quotas or capacity changed). It looks at the jobs that could start at all, so that what it
 * costs depends on what there is to give and not on how many wait; positions and the words on why
 * a job waits need everyone, and come from rounds over the whole line, which are the rarer the
 * longer it is: neither takes more than a small part of the time. */
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
    WHOLE_PER_PAUSE_MS = 50, /* the same of a round that nobody's start depends on */
    TENANTS_PAGE = 500
};

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

/* --- entering and leaving --- */
void line_enter(struct ty_engine *engine, struct live_job *job)
{
    size_t known;
    if (job->place.queued)
        return;
    job->tell_due_ms = engine->now_ms + TELL_AFTER_MS;
    job->place = (struct queue_item){.tenant = job->facts.tenant,
                                     .priority = job->facts.priority,
                                     .age = job->facts.row,
                                     .owner = job};
    queue_add(&engine->queue, &job->place);
    engine->round_wanted = true;
    if (!tenant_index(engine, job->facts.tenant, &known))
        want_quotas(engine); /* a new tenant: judged in a later round */
}

void line_leave(struct ty_engine *engine, struct live_job *job)
{
    if (!job->place.queued)
        return;
    queue_take(&engine->queue, &job->place);
    engine->round_wanted = true;
    atomic_store(&job->position, 0);
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

static const struct admit_job *add_candidate(struct admit_round *round, struct live_job *job,
                                             size_t tenant)
{
    struct admit_job *candidate = &round->jobs[round->jobs_count++];
    *candidate = (struct admit_job){.tenant = tenant,
                                    .age = job->facts.row,
                                    .priority = job->facts.priority,
                                    .replicas = job->facts.replicas,
                                    .gpus = job->facts.gpus,
                                    .owner = job};
    return candidate;
}

static void add_everyone(struct ty_engine *engine, struct admit_round *round)
{
    for (struct queue_item *item = engine->queue.first; item; item = item->next) {
        size_t tenant;
        if (tenant_index(engine, item->tenant, &tenant))
            (void)add_candidate(round, item->owner, tenant);
        else
            want_quotas(engine);
    }
}

/* Who could start at all. */
static void add_reachable(struct ty_engine *engine, struct admit_round *round)
{
    for (size_t i = 0; i < engine->tenants_count; i++) {
        const int64_t tenant = engine->tenants[i].row;
        struct queue_item *item = queue_first_of(&engine->queue, tenant);
        struct admit_reach reach;
        admit_reach_init(&reach, round, &round->tenants[i]);
        for (; item && item->tenant == tenant && admit_reach_open(&reach); item = item->next)
            admit_reach_take(&reach, add_candidate(round, item->owner, i));
    }
}

/* When to look again without any change at a job that waits; 0 = never. */
static int64_t follow_wait(struct ty_engine *engine, struct live_job *job, admit_verdict verdict,
                           size_t *told)
{
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

static void note_earlier(int64_t *earliest_ms, int64_t due_ms)
{
    if (due_ms != 0 && (*earliest_ms == 0 || due_ms < *earliest_ms))
        *earliest_ms = due_ms;
}

static void follow_verdicts(struct ty_engine *engine, const struct admit_round *round, bool whole)
{
    size_t told = 0;
    for (size_t i = 0; i < round->jobs_count; i++) {
        const struct admit_job *judged = &round->jobs[i];
        struct live_job *job = judged->owner;
        if (whole)
            atomic_store(&job->position, judged->position);
        if (judged->verdict != ADMIT_NOW && whole)
            note_earlier(&engine->whole_again_ms, follow_wait(engine, job, judged->verdict, &told));
        else if (judged->verdict == ADMIT_NOW && !start_job(engine, job))
            note_earlier(&engine->round_again_ms, engine->now_ms + BUSY_PAUSE_MS);
    }
}

static void set_pause(struct ty_engine *engine, size_t looked_at, bool whole)
{
    if (whole)
        engine->whole_pause_ms = engine->now_ms + (int64_t)looked_at / WHOLE_PER_PAUSE_MS;
    else
        engine->round_pause_ms = engine->now_ms + (int64_t)looked_at / JOBS_PER_PAUSE_MS;
}

/* Room for the whole line, kept from round to round. */
static ty_status reserve_jobs(struct ty_engine *engine)
{
    size_t wanted = engine->queue.count;
    if (wanted <= engine->round_room)
        return TY_OK;
    wanted += wanted / 2;
    struct admit_job *jobs = reallocarray(engine->round_jobs, wanted, sizeof(*jobs));
    if (!jobs)
        return TY_NO_MEMORY;
    engine->round_jobs = jobs;
    engine->round_room = wanted;
    return TY_OK;
}

static ty_status judge_line(struct ty_engine *engine, bool whole)
{
    ty_auto_free struct admit_tenant *tenants = calloc(engine->tenants_count + 1, sizeof(*tenants));
    if (!tenants || reserve_jobs(engine) != TY_OK)
        return TY_NO_MEMORY;
    for (size_t i = 0; i < engine->tenants_count; i++)
        tenants[i].quota = engine->tenants[i].quota;
    add_use(engine, tenants);
    struct ty_executor *executor = engine->options.executor;
    struct admit_round round = {.tenants = tenants,
                                .tenants_count = engine->tenants_count,
                                .jobs = engine->round_jobs,
                                .capacity = executor->ops->capacity(executor),
                                .use = engine->use};
    if (whole)
        add_everyone(engine, &round);
    else
        add_reachable(engine, &round);
    set_pause(engine, round.jobs_count + engine->tenants_count + (size_t)engine->use.jobs, whole);
    ty_status status = admit_judge(&round);
    if (status == TY_OK)
        follow_verdicts(engine, &round, whole);
    return status;
}

/* A round is due after a change, or because it is time to look again; not within its pause. */
static bool is_due(const struct ty_engine *engine, bool wanted, int64_t again_ms, int64_t pause_ms)
{
    bool again = again_ms != 0 && again_ms <= engine->now_ms;
    return (wanted || again) && pause_ms <= engine->now_ms;
}

/* A whole round does what the other does, too. */
void line_round(struct ty_engine *engine)
{
    engine->whole_wanted = engine->whole_wanted || engine->round_wanted;
    if (!engine->executor_started)
        return;
    bool whole =
        is_due(engine, engine->whole_wanted, engine->whole_again_ms, engine->whole_pause_ms);
    if (!whole &&
        !is_due(engine, engine->round_wanted, engine->round_again_ms, engine->round_pause_ms))
        return;
    engine->round_wanted = false;
    engine->round_again_ms = 0;
    if (whole) {
        engine->whole_wanted = false;
        engine->whole_again_ms = 0;
    }
    if (engine->queue.count == 0 || judge_line(engine, whole) == TY_OK)
        return;
    engine->round_again_ms = engine->now_ms + BACKOFF_BASE_MS;
    engine->whole_wanted = true;
}

/* When a kind of round is due; 0 = not before something changes. */
static int64_t round_due_ms(const struct ty_engine *engine, bool wanted, int64_t again_ms,
                            int64_t pause_ms)
{
    int64_t due_ms = wanted ? engine->now_ms : again_ms;
    if (due_ms == 0)
        return 0;
    return due_ms > pause_ms ? due_ms : pause_ms;
}

int64_t line_due_ms(const struct ty_engine *engine)
{
    int64_t next_ms =
        round_due_ms(engine, engine->round_wanted, engine->round_again_ms, engine->round_pause_ms);
    if (engine->queue.count == 0 || !engine->executor_started)
        return 0;
    note_earlier(&next_ms, round_due_ms(engine, engine->whole_wanted || engine->round_wanted,
                                        engine->whole_again_ms, engine->whole_pause_ms));
    return next_ms;
}
