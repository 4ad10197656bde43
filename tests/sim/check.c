/* The promises, held against what the database says:
 *   P1 what was acknowledged is there, with everything that was ever seen of it
 *   P2 a run that is alive is the one its job's record knows; what was admitted fits
 *   P3 sequence + 1 with every transition, a cause for each, terminal for ever, as many rows as the
 * sequence says */
#include "fake.h"
#include "journal.h"

#include "trainyard/base/str.h"

#include <stdio.h>

enum { LOOK_NOW_AND_THEN = 12 };

#define DEADLINE_SLACK_US INT64_C(120000000)

struct look {
    struct world *world;
    struct job *job;
    struct ty_job_record record; /* its texts are gone after the visit */
    int64_t at;                  /* of the last transition */
    int64_t expected;            /* the next sequence in the history */
};

static bool take_record(void *context, const struct ty_job_record *record)
{
    struct look *look = context;
    look->record = *record;
    return true;
}

static void check_known(struct look *look, const struct ty_transition *transition)
{
    const struct fact *fact = &look->job->history[transition->sequence - 1];
    if (fact->to != transition->to || fact->cause != transition->cause ||
        fact->attempt != transition->attempt)
        world_fail(look->world, "P3: transition %lld of %s was %s/%s and is %s/%s now",
                   (long long)transition->sequence, look->job->id, ty_job_state_name(fact->to),
                   ty_job_cause_name(fact->cause), ty_job_state_name(transition->to),
                   ty_job_cause_name(transition->cause));
}

static void check_new(struct look *look, const struct ty_transition *transition)
{
    struct job *job = look->job;
    if (job->sequence > 0) {
        const struct fact *last = &job->history[job->sequence - 1];
        if (ty_job_terminal(last->to))
            world_fail(look->world, "P3: %s left %s for %s", job->id, ty_job_state_name(last->to),
                       ty_job_state_name(transition->to));
        if (transition->from != last->to)
            world_fail(look->world, "P3: transition %lld of %s comes from %s, not from %s",
                       (long long)transition->sequence, job->id,
                       ty_job_state_name(transition->from), ty_job_state_name(last->to));
        if (transition->attempt < last->attempt || transition->attempt > last->attempt + 1)
            world_fail(look->world, "P3: the attempt of %s went from %d to %d", job->id,
                       last->attempt, transition->attempt);
    }
    if (transition->cause == TY_CAUSE_NONE)
        world_fail(look->world, "P3: transition %lld of %s has no cause",
                   (long long)transition->sequence, job->id);
    look->world->reached[transition->to][transition->cause]++;
    job->history[job->sequence++] = (struct fact){
        .to = transition->to, .cause = transition->cause, .attempt = transition->attempt};
}

static bool visit_transition(void *context, const struct ty_transition *transition)
{
    struct look *look = context;
    if (transition->sequence != look->expected)
        world_fail(look->world, "P3: the history of %s goes from %lld to %lld", look->job->id,
                   (long long)look->expected - 1, (long long)transition->sequence);
    if (transition->sequence < 1 || transition->sequence > JOURNAL_HISTORY || look->world->failed)
        return false;
    if (transition->at < look->at)
        world_fail(look->world, "P3: transition %lld of %s lies before the one before it",
                   (long long)transition->sequence, look->job->id);
    look->at = transition->at;
    look->expected++;
    if (transition->sequence <= look->job->sequence)
        check_known(look, transition);
    else
        check_new(look, transition);
    return true;
}

static void check_history(struct look *look)
{
    struct world *world = look->world;
    struct ty_error err = {0};
    int64_t from = world->journal->recheck ? 0 : look->job->sequence;
    look->expected = from + 1;
    if (ty_transitions_list(world->reader, look->record.row, from, JOURNAL_HISTORY,
                            visit_transition, look, &err) != TY_OK) {
        world_fail(world, "the history of %s cannot be read: %s", look->job->id, err.text);
        return;
    }
    if (look->expected - 1 != look->record.status.sequence)
        world_fail(world, "P3: %s has sequence %lld and %lld transitions", look->job->id,
                   (long long)look->record.status.sequence, (long long)look->expected - 1);
}

/* Without faults nobody runs on for long beyond his deadline. */
static void check_deadline(const struct look *look)
{
    struct world *world = look->world;
    const struct ty_job_status *now = &look->record.status;
    int64_t since =
        now->deadline_at > world->rest_since_us ? now->deadline_at : world->rest_since_us;
    bool runs = now->state == TY_JOB_STARTING || now->state == TY_JOB_RUNNING ||
                now->state == TY_JOB_RESTARTING;
    if (runs && now->deadline_at != 0 && world->rest_since_us != 0 &&
        world->wall_us - since > DEADLINE_SLACK_US)
        world_fail(world, "the deadline of %s passed without effect", look->job->id);
}

static void check_status(struct look *look)
{
    struct world *world = look->world;
    const struct ty_job_status *now = &look->record.status;
    const struct job *job = look->job;
    if (now->sequence < job->sequence)
        world_fail(world, "P1: %s had sequence %lld and has %lld now", job->id,
                   (long long)job->sequence, (long long)now->sequence);
    if (job->cancel_acknowledged && now->state != TY_JOB_CANCELLING && !ty_job_terminal(now->state))
        world_fail(world, "P1: the cancellation of %s was acknowledged, but it is %s", job->id,
                   ty_job_state_name(now->state));
    check_deadline(look);
    if (ty_job_terminal(now->state) && now->finished_at < now->started_at)
        world_fail(world, "%s finished before it started", job->id);
    if (now->restarts > fake_restarts(world->fake, job->id))
        world_fail(world, "%s has %d restarts, its runs had %d", job->id, now->restarts,
                   fake_restarts(world->fake, job->id));
}

static void check_gone(struct look *look)
{
    struct job *job = look->job;
    bool expires = job->seen && job->keep_seconds >= 0 && ty_job_terminal(job->status.state);
    if (job->seen || job->acknowledged) {
        if (!job->may_be_gone && !expires)
            world_fail(look->world, "P1: %s (%s) is lost", job->id, job->name);
        job->may_be_gone = true;
        job->must_be_gone = true;
    }
}

/* A job without an answer may be there by one of its tries; never by two. */
static void find_unanswered(struct look *look)
{
    struct job *job = look->job;
    struct ty_error err = {0};
    for (size_t i = 0; i < job->tries_count; i++) {
        const struct try *try = &job->tries[i];
        if (try->state == ASK_OPEN ||
            ty_jobs_get(look->world->reader, 0, try->id, take_record, look, &err) != TY_OK)
            continue;
        if (try->state == ASK_REFUSED)
            world_fail(look->world, "the refused submit %s of %s is there", try->id, job->name);
        if (job->id[0] != '\0' && !ty_str_equal(job->id, try->id))
            world_fail(look->world, "H6: %s is there as %s and as %s", job->name, job->id, try->id);
        ty_str_copy(job->id, sizeof(job->id), try->id);
    }
}

/* A size that was acknowledged stays until another one is asked for. */
static void check_size(struct look *look)
{
    struct job *job = look->job;
    if (job->size_acknowledged != 0 && job->size_acknowledged != look->record.replicas)
        world_fail(look->world, "P1: %s was scaled to %d and has %d replicas", job->id,
                   job->size_acknowledged, look->record.replicas);
    /* A run that is being stopped has the size that it had. */
    ty_job_state state = look->record.status.state;
    if (look->record.status.run_active && (state == TY_JOB_SUSPENDED || state == TY_JOB_QUEUED))
        return;
    job->replicas = look->record.replicas;
    job->gpus = look->record.gpus;
}

static void check_found(struct look *look)
{
    struct job *job = look->job;
    if (job->must_be_gone)
        world_fail(look->world, "P1: %s was removed and is there again", job->id);
    job->seen = true;
    job->looked_at = look->world->looks;
    check_status(look);
    if (look->record.status.sequence > job->sequence || look->world->journal->recheck)
        check_history(look);
    check_size(look);
    job->status = look->record.status;
}

static void check_job(struct world *world, struct job *job)
{
    struct look look = {.world = world, .job = job};
    struct ty_error err = {0};
    if (job->id[0] == '\0' || world->journal->recheck)
        find_unanswered(&look);
    if (job->id[0] == '\0' || job->looked_at == world->looks)
        return;
    switch (ty_jobs_get(world->reader, 0, job->id, take_record, &look, &err)) {
    case TY_OK:
        check_found(&look);
        break;
    case TY_NOT_FOUND:
        check_gone(&look);
        break;
    default:
        world_fail(world, "%s cannot be read: %s", job->id, err.text);
    }
}

/* --- over all jobs --- */
static struct job *find_by_id(struct journal *journal, const char *id)
{
    for (size_t i = 0; i < journal->count; i++)
        if (ty_str_equal(journal->jobs[i].id, id))
            return &journal->jobs[i];
    return NULL;
}

/* The live ones at once: one statement instead of one for each. */
static bool visit_live(void *context, const struct ty_job_record *record)
{
    struct world *world = context;
    struct look look = {.world = world, .job = find_by_id(world->journal, record->id)};
    look.record = *record;
    if (look.job)
        check_found(&look);
    return !world->failed;
}

static void check_alive(void *context, const char *job_id, int32_t attempt)
{
    struct world *world = context;
    const struct job *job = find_by_id(world->journal, job_id);
    if (!job || !job->seen)
        world_fail(world, "P2: a run of the unknown job %s is alive", job_id);
    else if (!job->status.run_active || job->status.attempt != attempt)
        world_fail(world, "P2: attempt %d of %s is alive, its record says attempt %d, %s, %s",
                   attempt, job_id, job->status.attempt, ty_job_state_name(job->status.state),
                   job->status.run_active ? "run active" : "no run");
}

static void check_room(struct world *world)
{
    int64_t replicas = 0;
    int64_t gpus = 0;
    int64_t of_tenant[SIM_TENANTS] = {0};
    for (size_t i = 0; i < world->journal->count; i++) {
        const struct job *job = &world->journal->jobs[i];
        if (!job->seen || job->must_be_gone || !job->status.run_active)
            continue;
        replicas += job->replicas;
        gpus += job->gpus;
        of_tenant[job->tenant] += job->replicas;
    }
    if (replicas > SIM_CAPACITY_REPLICAS || gpus > SIM_CAPACITY_GPUS)
        world_fail(world, "admitted %lld replicas and %lld GPUs, more than there are",
                   (long long)replicas, (long long)gpus);
    for (size_t i = 0; i < SIM_TENANTS; i++)
        if (world->quotas[i].max_replicas >= 0 && of_tenant[i] > world->quotas[i].max_replicas)
            world_fail(world, "tenant %zu has %lld replicas, its quota is %d", i,
                       (long long)of_tenant[i], world->quotas[i].max_replicas);
}

/* What cannot change by itself is looked at now and then only, and after every crash. */
static bool is_due(const struct world *world, const struct job *job)
{
    bool over = job->seen && ty_job_terminal(job->status.state) && !job->status.run_active;
    bool quiet = over || job->must_be_gone || job->id[0] == '\0';
    size_t turn = (size_t)(job - world->journal->jobs) + (size_t)world->step;
    return !quiet || world->journal->recheck || turn % LOOK_NOW_AND_THEN == 0;
}

void check_promises(struct world *world)
{
    struct ty_error err = {0};
    world->looks++;
    if (ty_jobs_live(world->reader, 0, JOURNAL_JOBS * JOURNAL_TRIES, visit_live, world, &err) !=
        TY_OK)
        world_fail(world, "the live jobs cannot be read: %s", err.text);
    for (size_t i = 0; i < world->journal->count && !world->failed; i++)
        if (is_due(world, &world->journal->jobs[i]))
            check_job(world, &world->journal->jobs[i]);
    if (!world->failed)
        check_followers(world);
    world->journal->recheck = false;
    if (world->failed)
        return;
    fake_visit_alive(world->fake, check_alive, world);
    check_room(world);
}

/* --- at the end --- */
static bool waits_for_ever(const struct world *world, const struct job *job)
{
    const struct ty_quota *quota = &world->quotas[job->tenant];
    return job->replicas > SIM_CAPACITY_REPLICAS || job->gpus > SIM_CAPACITY_GPUS ||
           (quota->max_replicas >= 0 && job->replicas > quota->max_replicas);
}

static bool rests(const struct world *world, const struct job *job)
{
    if (job->must_be_gone || !job->seen)
        return true;
    bool told = job->status.cause == TY_CAUSE_WAITING_FOR_QUOTA ||
                job->status.cause == TY_CAUSE_WAITING_FOR_CAPACITY;
    if (job->status.run_active)
        return false;
    if (ty_job_terminal(job->status.state))
        return job->removal_epoch != world->crashes && job->keep_seconds < 0;
    return job->status.state == TY_JOB_SUSPENDED ||
           (job->status.state == TY_JOB_QUEUED && told && waits_for_ever(world, job));
}

bool check_rest(struct world *world, char *why, size_t size)
{
    for (size_t i = 0; i < world->journal->count; i++) {
        const struct job *job = &world->journal->jobs[i];
        if (rests(world, job))
            continue;
        snprintf(why, size, "%s (%s) is %s/%s, attempt %d, %s", job->id, job->name,
                 ty_job_state_name(job->status.state), ty_job_cause_name(job->status.cause),
                 job->status.attempt, job->status.run_active ? "run active" : "no run");
        return false;
    }
    return true;
}
