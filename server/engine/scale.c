/* Another size of an elastic job. The happy path: the number is judged and committed, the caller
 * has its answer, the engine takes in the job and asks the executor for that many replicas.
 *
 * A job without a run gets its number alone; admission judges it later. A run may grow only as far
 * as its tenant's quota and the executor have room beside what the runs of all other jobs hold, as
 * the database has them inside the transaction: two that grow at once cannot both take the last
 * room. Nor can one that grows and one that is admitted meanwhile, by what the engine knew before:
 * `growths` counts the first, and an admission that knows of fewer is judged again (observe.c). A
 * crash forgets what was asked of the executor, which is then asked again.
 *
 * The number goes into the stored spec too, so whatever reads that afterwards - the next attempt, a
 * restart, a clone, the manifest - has the size that was wanted last. */
#include "state.h"

#include "trainyard/base/failpoint.h"

#include <inttypes.h>

struct scale {
    struct act act; /* first */
    int32_t replicas;
    const struct ty_quota *quota;
    struct ty_capacity capacity;
    bool counted; /* among the growths */
};

static ty_status judge_job(const struct ty_job_record *record, int32_t replicas,
                           struct ty_error *err)
{
    ty_job_state state = record->status.state;
    if (record->elastic_max == 0)
        return ty_fail_code(err, TY_CONFLICT, "job_not_elastic",
                            "the job has a fixed size; only one with `elastic` can be scaled");
    if (ty_job_terminal(state) || state == TY_JOB_CANCELLING)
        return act_forbidden(record, err);
    if (replicas < record->elastic_min || replicas > record->elastic_max)
        return ty_fail_code(err, TY_REFUSED, "replicas_out_of_range",
                            "must lie between elastic.min (%" PRId32 ") and elastic.max (%" PRId32
                            ")",
                            record->elastic_min, record->elastic_max);
    return TY_OK;
}

/* What such a run holds is free only when it is over, so nobody may be told so before. */
static ty_status judge_stopping(const struct ty_job_record *record, int32_t replicas,
                                struct ty_error *err)
{
    ty_job_state state = record->status.state;
    bool stopping =
        record->status.run_active && (state == TY_JOB_SUSPENDED || state == TY_JOB_QUEUED);
    if (stopping && replicas < record->replicas)
        return ty_fail_code(err, TY_CONFLICT, "invalid_transition",
                            "its replicas are still being stopped; it can be made smaller when "
                            "they are gone");
    return TY_OK;
}

static bool exceeds(int32_t limit, int64_t held, int64_t more)
{
    return limit >= 0 && held + more > limit;
}

static ty_status judge_room(struct ty_writer *writer, const struct scale *scale,
                            const struct ty_job_record *record, struct ty_error *err)
{
    struct ty_jobs_use use;
    int64_t replicas = scale->replicas;
    int64_t gpus = record->gpus / record->replicas * replicas;
    ty_status status = ty_jobs_use(writer, record, &use, err);
    if (status != TY_OK)
        return status;
    if (exceeds(scale->quota->max_replicas, use.tenant_replicas, replicas))
        return ty_fail_code(err, TY_LIMITED, "quota_exceeded",
                            "the tenant may have %d replicas at once, its other jobs have %" PRId64,
                            scale->quota->max_replicas, use.tenant_replicas);
    if (exceeds(scale->quota->max_gpus, use.tenant_gpus, gpus))
        return ty_fail_code(err, TY_LIMITED, "quota_exceeded",
                            "the tenant may have %d GPUs at once, its other jobs have %" PRId64,
                            scale->quota->max_gpus, use.tenant_gpus);
    if (exceeds(scale->capacity.replicas, use.replicas, replicas) ||
        exceeds(scale->capacity.gpus, use.gpus, gpus))
        return ty_fail_code(err, TY_CONFLICT, "capacity_exceeded",
                            "too little is free at this time for %" PRId64 " replicas with %" PRId64
                            " GPUs in all",
                            replicas, gpus);
    return TY_OK;
}

/* Whether the run that there is would grow; one that is being stopped does not. */
static bool grows(const struct ty_job_record *record, int32_t replicas)
{
    ty_job_state state = record->status.state;
    return replicas > record->replicas && record->status.run_active &&
           (state == TY_JOB_STARTING || state == TY_JOB_RUNNING || state == TY_JOB_RESTARTING);
}

/* Once, however often the store tries the write. */
static void count_growth(struct scale *scale)
{
    if (!scale->counted)
        atomic_fetch_add(&scale->act.engine->growths, 1);
    scale->counted = true;
    scale->act.letter->grew = true;
}

static void scale_done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    struct scale *scale = (struct scale *)write;
    ty_failpoint("scale.after_commit");
    bool told = status == TY_OK && scale->act.changed; /* to the engine, by its letter */
    if (scale->counted && !told)
        atomic_fetch_sub(&scale->act.engine->growths, 1);
    act_done(write, status, err);
}

static ty_status apply_scale(struct ty_writer *writer, struct ty_write *write, struct ty_error *err)
{
    struct scale *scale = (struct scale *)write;
    struct ty_job_record record;
    ty_status status = act_find(writer, &scale->act, &record, err);
    if (status == TY_OK)
        status = judge_job(&record, scale->replicas, err);
    if (status == TY_OK)
        status = judge_stopping(&record, scale->replicas, err);
    if (status == TY_OK && grows(&record, scale->replicas))
        status = judge_room(writer, scale, &record, err);
    if (status != TY_OK)
        return status;
    scale->act.changed = record.replicas != scale->replicas;
    ty_failpoint("scale.before_save");
    if (scale->replicas > record.replicas)
        count_growth(scale);
    if (scale->act.changed)
        status = ty_jobs_save_size(writer, &record, scale->replicas, err);
    ty_failpoint("scale.after_save");
    if (status == TY_OK)
        job_facts_take(&scale->act.letter->facts, &record);
    return status;
}

ty_status ty_engine_scale(struct ty_engine *engine, const struct ty_scale *asked, bool *changed_out,
                          struct ty_error *err)
{
    struct ty_executor *executor = engine->options.executor;
    struct scale scale = {
        .act = {.write = {.apply = apply_scale, .done = scale_done},
                .tenant = asked->tenant,
                .job_id = asked->job_id,
                .if_revision = asked->if_revision},
        .replicas = asked->replicas,
        .quota = &asked->quota,
        .capacity = executor->ops->capacity(executor)
    };
    ty_status status = act_run(engine, &scale.act, err);
    if (status == TY_OK)
        *changed_out = scale.act.changed;
    return status;
}

ty_status scale_run(struct ty_engine *engine, struct live_job *job, struct ty_error *err)
{
    struct ty_executor *executor = engine->options.executor;
    const struct ty_job_status *status = &job->facts.status;
    if (!job->facts.elastic || !status->run_active || !executor->ops->scale)
        return TY_OK;
    if (job->scaled_attempt == status->attempt && job->scaled_replicas == job->facts.replicas)
        return TY_OK;
    struct ty_run_ref ref = live_run_ref(&job->facts);
    ty_failpoint("scale.before_call");
    ty_status done = executor->ops->scale(executor, &ref, job->facts.replicas, err);
    ty_failpoint("scale.after_call");
    if (done != TY_OK)
        return done;
    backoff_reset(&job->call_backoff);
    job->scaled_attempt = status->attempt;
    job->scaled_replicas = job->facts.replicas;
    return TY_OK;
}
