#include "state.h"

#include <stdlib.h>

#define MENDED_US INT64_C(60000000)

struct live_job *live_find(struct ty_engine *engine, const char *id)
{
    return ty_map_get(engine->jobs, id);
}

void live_mark(struct ty_engine *engine, struct live_job *job)
{
    if (job->dirty)
        return;
    job->dirty = true;
    job->dirty_next = NULL;
    *engine->dirty_last = job;
    engine->dirty_last = &job->dirty_next;
}

struct ty_run_ref live_run_ref(const struct job_facts *facts)
{
    return (struct ty_run_ref){.job_id = facts->id,
                               .namespace = facts->namespace,
                               .object_name = facts->object_name,
                               .attempt = facts->status.attempt};
}

void live_wake_at(struct ty_engine *engine, struct live_job *job, int64_t due_ms)
{
    if (job->timer.due_ms == 0 || due_ms < job->timer.due_ms)
        timers_set(&engine->timers, &job->timer, due_ms);
}

static void hold(struct ty_engine *engine, struct live_job *job)
{
    if (job->holds)
        return;
    job->holds = true;
    job->hold_previous = NULL;
    job->hold_next = engine->holders;
    if (engine->holders)
        engine->holders->hold_previous = job;
    engine->holders = job;
    engine->use.jobs++;
    engine->use.replicas += job->facts.replicas;
    engine->use.gpus += job->facts.gpus;
}

static void release(struct ty_engine *engine, struct live_job *job)
{
    if (!job->holds)
        return;
    job->holds = false;
    *(job->hold_previous ? &job->hold_previous->hold_next : &engine->holders) = job->hold_next;
    if (job->hold_next)
        job->hold_next->hold_previous = job->hold_previous;
    engine->use.jobs--;
    engine->use.replicas -= job->facts.replicas;
    engine->use.gpus -= job->facts.gpus;
    engine->round_wanted = true; /* someone may fit now */
}

/* Whoever has a run, or is about to get one, holds what it needs. */
void live_settle(struct ty_engine *engine, struct live_job *job)
{
    if (job->facts.status.run_active || job->admitting)
        hold(engine, job);
    else
        release(engine, job);
}

static void count_move(struct ty_engine *engine, ty_job_state from, ty_job_state to)
{
    pthread_mutex_lock(&engine->view_lock);
    engine->figures.live_jobs[from]--;
    engine->figures.live_jobs[to]++;
    pthread_mutex_unlock(&engine->view_lock);
}

struct live_job *live_add(struct ty_engine *engine, const struct job_facts *facts)
{
    if (timers_reserve(&engine->timers, ty_map_count(engine->jobs) + 1) != TY_OK)
        return NULL;
    struct live_job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->facts = *facts;
    job->pending_last = &job->pending;
    job->timer.owner = job;

    pthread_mutex_lock(&engine->view_lock);
    ty_status status = ty_map_put(engine->jobs, facts->id, job);
    if (status == TY_OK)
        engine->figures.live_jobs[facts->status.state]++;
    pthread_mutex_unlock(&engine->view_lock);
    if (status != TY_OK) {
        free(job);
        return NULL;
    }
    job->all_next = engine->all;
    if (engine->all)
        engine->all->all_previous = job;
    engine->all = job;
    return job;
}

void live_remove(struct ty_engine *engine, struct live_job *job)
{
    line_leave(engine, job);
    release(engine, job);
    timers_set(&engine->timers, &job->timer, 0);
    observe_drop_pending(job);
    pthread_mutex_lock(&engine->view_lock);
    engine->figures.live_jobs[job->facts.status.state]--;
    ty_map_take(engine->jobs, job->facts.id);
    pthread_mutex_unlock(&engine->view_lock);
    *(job->all_previous ? &job->all_previous->all_next : &engine->all) = job->all_next;
    if (job->all_next)
        job->all_next->all_previous = job->all_previous;
    free(job);
}

/* Another size of a job: what it holds or waits for changes with it. */
static void resize(struct ty_engine *engine, const struct live_job *job,
                   const struct job_facts *next)
{
    int64_t replicas = next->replicas - job->facts.replicas;
    int64_t gpus = next->gpus - job->facts.gpus;
    if (replicas == 0 && gpus == 0)
        return;
    engine->round_wanted = true;
    if (!job->holds)
        return;
    engine->use.replicas += replicas;
    engine->use.gpus += gpus;
}

/* What was asked of the executor concerns one attempt and one wish of the user. */
static void forget_calls(struct live_job *job, const struct ty_job_status *next)
{
    const struct ty_job_status *last = &job->facts.status;
    if (next->attempt == last->attempt && next->state == last->state)
        return;
    backoff_reset(&job->call_backoff);
}

/* Since when a fault keeps the run from starting. A new gateway leaves the executor a while to say
 * that it is mended. */
static void note_hindrance(const struct ty_engine *engine, struct live_job *job)
{
    const struct ty_job_status *status = &job->facts.status;
    if (status->state != TY_JOB_STARTING || !ty_job_cause_hinders(status->cause)) {
        job->hindered_since = 0;
        return;
    }
    if (job->hindered_since != 0)
        return;
    int64_t earliest = engine->now - engine->options.start_deadline_us + MENDED_US;
    if (earliest > engine->now)
        earliest = engine->now;
    job->hindered_since = job->facts.updated_at > earliest ? job->facts.updated_at : earliest;
}

ty_status live_take(struct ty_engine *engine, const struct job_facts *facts)
{
    struct live_job *job = live_find(engine, facts->id);
    if (!job) {
        if (live_is_over(facts))
            return TY_OK;
        job = live_add(engine, facts);
        if (!job)
            return TY_NO_MEMORY;
    } else {
        if (facts->status.state != job->facts.status.state)
            count_move(engine, job->facts.status.state, facts->status.state);
        forget_calls(job, &facts->status);
        resize(engine, job, facts);
        job->facts = *facts;
    }
    note_hindrance(engine, job);
    if (facts->status.run_active)
        job->admitting = false;
    live_settle(engine, job);
    live_mark(engine, job);
    return TY_OK;
}
