/* One job, level-triggered: whatever was committed last says what must happen next, and asking for
 * it twice does no harm. The happy path: its plan says ADMIT (it stands in the line), APPLY (the
 * executor makes the run), NOTHING while the run goes on, CLEAN when it is over.
 *
 * Failure modes: the executor cannot be reached (tried again with back-off), it refuses for good
 * (START_FAILED), the store takes nothing (the observations stay pending), an asked stop brings no
 * answer (asked again). */
#include "state.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/str.h"

#include <stdio.h>

enum { STOP_AGAIN_MS = 30000 };

/* Monotonic time of a wall-clock moment, as the clocks stand to each other now. */
static int64_t to_monotonic(const struct ty_engine *engine, int64_t wall_us)
{
    int64_t later_us = wall_us - engine->now;
    return engine->now_ms + (later_us > 0 ? later_us / 1000 + 1 : 0);
}

static void tell(struct ty_engine *engine, struct live_job *job,
                 const struct ty_observation *observation)
{
    if (observe_add(job, observation) == TY_OK) {
        observe_flush(engine, job);
        return;
    }
    backoff_fail(&job->call_backoff, engine->options.random, engine->now_ms);
    live_wake_at(engine, job, job->call_backoff.due_ms);
}

static void call_failed(struct ty_engine *engine, struct live_job *job, const char *what,
                        const struct ty_error *err)
{
    backoff_fail(&job->call_backoff, engine->options.random, engine->now_ms);
    live_wake_at(engine, job, job->call_backoff.due_ms);
    ty_log(engine->options.log, TY_LOG_WARNING, "executor_call_failed",
           "%s of %s, attempt %d: %s; trying again", what, job->facts.id,
           (int)job->facts.status.attempt, err->text);
}

/* The executor's word on why is the job's cause when it is one of ours. */
static void start_refused(struct ty_engine *engine, struct live_job *job,
                          const struct ty_error *err)
{
    struct ty_observation seen = {.kind = TY_SEEN_START_FAILED,
                                  .attempt = job->facts.status.attempt,
                                  .cause = TY_CAUSE_SPEC_REJECTED,
                                  .at = engine->now};
    ty_job_cause cause;
    if (ty_job_cause_parse(err->code, &cause) == TY_OK && cause != TY_CAUSE_NONE)
        seen.cause = cause;
    ty_str_copy(seen.message, sizeof(seen.message), err->text);
    tell(engine, job, &seen);
}

/* A run goes on with the size that was asked for last. */
static void keep_size(struct ty_engine *engine, struct live_job *job)
{
    struct ty_error err = {0};
    if (scale_run(engine, job, &err) != TY_OK)
        call_failed(engine, job, "scale", &err);
}

static void plan_nothing(struct ty_engine *engine, struct live_job *job)
{
    const struct ty_executor *executor = engine->options.executor;
    struct ty_error err = {0};
    prune_while_running(engine, job);
    keep_size(engine, job);
    if (!job->check_due || !executor->ops->check)
        return;
    struct ty_run_ref ref = live_run_ref(&job->facts);
    ty_status status = executor->ops->check(engine->options.executor, &ref, &err);
    job->check_due = status != TY_OK;
    if (status != TY_OK)
        call_failed(engine, job, "check", &err);
}

static void plan_admit(struct ty_engine *engine, struct live_job *job)
{
    if (!job->admitting)
        line_enter(engine, job);
}

static void plan_apply(struct ty_engine *engine, struct live_job *job)
{
    if (job->applied_attempt == job->facts.status.attempt) {
        keep_size(engine, job);
        return;
    }
    struct ty_error err = {0};
    switch (launch_job(engine, job, &err)) {
    case TY_OK:
        job->applied_attempt = job->facts.status.attempt;
        backoff_reset(&job->call_backoff);
        keep_size(engine, job); /* what was applied before a crash may be of another size */
        break;
    case TY_REFUSED:
        start_refused(engine, job, &err);
        break;
    default:
        call_failed(engine, job, "apply", &err);
    }
}

static void plan_stop(struct ty_engine *engine, struct live_job *job)
{
    struct ty_error err = {0};
    struct ty_run_ref ref = live_run_ref(&job->facts);
    ty_failpoint("stop.before");
    ty_status status = engine->options.executor->ops->stop(engine->options.executor, &ref, &err);
    ty_failpoint("stop.after");
    if (status != TY_OK) {
        call_failed(engine, job, "stop", &err);
        return;
    }
    job->call_backoff.failures = 0;
    job->call_backoff.due_ms = engine->now_ms + STOP_AGAIN_MS;
    live_wake_at(engine, job, job->call_backoff.due_ms);
}

/* Over: the record, its logs and what the executor keeps stay until they are removed by wish or by
 * retention. */
static void plan_clean(struct ty_engine *engine, struct live_job *job)
{
    struct ty_error err = {0};
    ty_failpoint("clean.before");
    if (!job->remove_wanted) {
        live_remove(engine, job);
        ty_failpoint("clean.after");
        return;
    }
    if (job->removing)
        return;
    job->removing = removal_begin(engine, &job->facts, &err) == TY_OK;
    if (!job->removing)
        call_failed(engine, job, "removal", &err);
}

/* In the order of ty_plan_action; whether the action calls the executor. */
static const struct {
    void (*run)(struct ty_engine *engine, struct live_job *job);
    bool calls;
} actions[] = {
    [TY_PLAN_NOTHING] = {plan_nothing, true },
      [TY_PLAN_ADMIT] = {plan_admit,   false},
    [TY_PLAN_APPLY] = {plan_apply,   true },
      [TY_PLAN_STOP] = {plan_stop,    true },
    [TY_PLAN_CLEAN] = {plan_clean,   true },
};

/* True when the deadline has passed and was told. */
static bool deadline_passed(struct ty_engine *engine, struct live_job *job, int64_t deadline)
{
    if (deadline == 0)
        return false;
    if (deadline > engine->now) {
        live_wake_at(engine, job, to_monotonic(engine, deadline));
        return false;
    }
    struct ty_observation seen = {
        .kind = TY_SEEN_DEADLINE, .attempt = job->facts.status.attempt, .at = engine->now};
    tell(engine, job, &seen);
    return true;
}

/* The same for what has kept the run from starting for too long. */
static bool start_deadline_passed(struct ty_engine *engine, struct live_job *job)
{
    const struct ty_job_status *status = &job->facts.status;
    int64_t limit_us = engine->options.start_deadline_us;
    if (limit_us == 0 || job->hindered_since == 0)
        return false;
    int64_t due = job->hindered_since + limit_us;
    if (due > engine->now) {
        live_wake_at(engine, job, to_monotonic(engine, due));
        return false;
    }
    struct ty_observation seen = {
        .kind = TY_SEEN_START_DEADLINE, .attempt = status->attempt, .at = engine->now};
    (void)snprintf(seen.message, sizeof(seen.message), "not started within %lld s: %s: %.*s",
                   (long long)(limit_us / 1000000), ty_job_cause_name(status->cause),
                   (int)sizeof(seen.message) - 128, status->message);
    tell(engine, job, &seen);
    return true;
}

static bool must_wait(struct ty_engine *engine, struct live_job *job, const struct backoff *backoff)
{
    if (backoff->due_ms <= engine->now_ms)
        return false;
    live_wake_at(engine, job, backoff->due_ms);
    return true;
}

void drive_job(struct ty_engine *engine, struct live_job *job)
{
    if (job->writing)
        return; /* its end brings us back */
    if (job->gone) {
        live_remove(engine, job);
        return;
    }
    if (job->pending) {
        if (!must_wait(engine, job, &job->write_backoff) && !prune_before_end(engine, job))
            observe_flush(engine, job);
        return;
    }

    struct ty_job_plan plan = ty_job_plan(&job->facts.status);
    if (plan.action != TY_PLAN_ADMIT)
        line_leave(engine, job);
    if (deadline_passed(engine, job, plan.wake_at) || start_deadline_passed(engine, job))
        return;
    bool calls = actions[plan.action].calls;
    if (calls && (!engine->executor_started || must_wait(engine, job, &job->call_backoff)))
        return;
    actions[plan.action].run(engine, job);
}
