/* Observations on their way into the store. Of each job one write at a time carries all that is
 * pending, in order; the machine decides inside the transaction on the row as it stands there, so
 * it does not matter how old the engine's own copy is. The executor's words stay pending until a
 * commit has taken them in; the engine's own are dropped when a write fails, because the plan
 * brings them up again. */
#include "state.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/json.h"
#include "trainyard/base/str.h"

#include <stdlib.h>
#include <time.h>

enum { PENDING_MAX = 32, REPLICAS_TEXT_MAX = 4 * 1024 * 1024 };

struct observe_write {
    struct ty_write write;
    struct letter letter; /* how it comes back */
    struct ty_engine *engine;
    struct seen *seen; /* oldest first; owned */
    int32_t restart_limit;
    unsigned growths; /* that an admission among these knew of */
    /* Results, good when status is TY_OK. */
    ty_status status;
    bool found;
    bool changed; /* `facts` are to be taken in */
    struct job_facts facts;
};

struct observe_write *observe_write_of(struct letter *letter)
{
    return (struct observe_write *)((char *)letter - offsetof(struct observe_write, letter));
}

/* --- inside the transaction --- */

/* An admission that was judged before some job grew: its room may be gone, so it is none, and the
 * next round judges the job again. */
static bool is_overtaken(const struct seen *seen, const struct observe_write *self)
{
    return seen->observation.kind == TY_SEEN_ADMITTED &&
           self->growths != atomic_load(&self->engine->growths);
}

/* One step of the machine, stored if it is one. */
static ty_status apply_seen(struct ty_writer *writer, struct ty_job_record *record,
                            const struct seen *seen, struct observe_write *self,
                            struct ty_error *err)
{
    if (is_overtaken(seen, self))
        return TY_OK;
    const struct ty_job_rules rules = {.timeout_us = record->timeout_seconds * 1000000,
                                       .restart_limit = self->restart_limit};
    struct ty_job_status next;
    ty_step_result result = ty_job_step(&record->status, &seen->observation, &rules, &next);
    if (result != TY_STEP_CHANGED && result != TY_STEP_TOUCHED)
        return TY_OK;
    self->changed = true;
    return ty_jobs_save_step(writer, record, result, &next, seen->replicas, err);
}

static ty_status apply_observations(struct ty_writer *writer, struct ty_write *write,
                                    struct ty_error *err)
{
    struct observe_write *self = (struct observe_write *)write;
    struct ty_job_record record;
    self->found = false;
    self->changed = false;
    ty_status status = ty_jobs_find(writer, 0, self->letter.id, &record, err);
    if (status == TY_NOT_FOUND)
        return TY_OK; /* removed meanwhile: nothing to say any more */
    if (status != TY_OK)
        return status;
    self->found = true;
    ty_failpoint("observe.before_save");
    for (const struct seen *seen = self->seen; seen && status == TY_OK;
         seen = (const struct seen *)seen->letter.next)
        status = apply_seen(writer, &record, seen, self, err);
    ty_failpoint("observe.after_save");
    job_facts_take(&self->facts, &record);
    return status;
}

static void observations_done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    struct observe_write *self = (struct observe_write *)write;
    struct ty_engine *engine = self->engine;
    (void)err;
    self->status = status;
    ty_failpoint("observe.after_commit");
    if (status == TY_OK && self->changed)
        ty_hub_changed(engine->options.hub, self->letter.id, self->facts.revision, false);
    inbox_post(&engine->inbox, &self->letter);
    atomic_fetch_sub(&engine->writes_in_flight, 1);
}

/* --- pending --- */
static void append_pending(struct live_job *job, struct seen *seen)
{
    seen->letter.next = NULL;
    *job->pending_last = seen;
    job->pending_last = (struct seen **)&seen->letter.next;
    job->pending_count++;
}

/* Drop the oldest word of a run that goes on: what follows says more. */
static void drop_one(struct live_job *job)
{
    struct seen **slot = &job->pending;
    while (*slot && !seen_goes_on(*slot))
        slot = (struct seen **)&(*slot)->letter.next;
    struct seen *dropped = *slot;
    if (!dropped)
        return;
    *slot = (struct seen *)dropped->letter.next;
    if (job->pending_last == (struct seen **)&dropped->letter.next)
        job->pending_last = slot;
    job->pending_count--;
    seen_destroy(dropped);
}

void observe_take(struct live_job *job, struct seen *seen)
{
    if (job->pending_count >= PENDING_MAX)
        drop_one(job);
    append_pending(job, seen);
}

ty_status observe_add(struct live_job *job, const struct ty_observation *observation)
{
    struct seen *seen = calloc(1, sizeof(*seen));
    if (!seen)
        return TY_NO_MEMORY;
    seen->observation = *observation;
    append_pending(job, seen);
    return TY_OK;
}

static void destroy_list(struct seen *seen)
{
    while (seen) {
        struct seen *next = (struct seen *)seen->letter.next;
        seen_destroy(seen);
        seen = next;
    }
}

static struct seen *take_pending(struct live_job *job)
{
    struct seen *taken = job->pending;
    job->pending = NULL;
    job->pending_last = &job->pending;
    job->pending_count = 0;
    return taken;
}

void observe_drop_pending(struct live_job *job)
{
    destroy_list(take_pending(job));
}

const struct ty_observation *observe_find_end(const struct live_job *job)
{
    for (const struct seen *seen = job->pending; seen; seen = (struct seen *)seen->letter.next) {
        const struct ty_observation *word = &seen->observation;
        if (word->kind >= TY_SEEN_SUCCEEDED && word->kind <= TY_SEEN_GONE &&
            word->attempt == job->facts.status.attempt)
            return word;
    }
    return NULL;
}

void observe_write_destroy(struct observe_write *written)
{
    if (!written)
        return;
    destroy_list(written->seen);
    free(written);
}

/* Whether any of these tells of restarts, which may have a limit that only the spec knows. */
static bool needs_rules(const struct live_job *job)
{
    for (const struct seen *seen = job->pending; seen; seen = (struct seen *)seen->letter.next)
        if (seen->observation.restarts > 0 && !job->rules_known)
            return true;
    return false;
}

static ty_status send_pending(struct ty_engine *engine, struct live_job *job, struct ty_error *err)
{
    if (needs_rules(job)) {
        ty_status status = launch_read_rules(engine, job, err);
        if (status == TY_UNAVAILABLE || status == TY_NO_MEMORY)
            return status;
    }
    struct observe_write *write = calloc(1, sizeof(*write));
    if (!write)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a write");
    write->write = (struct ty_write){.apply = apply_observations, .done = observations_done};
    write->letter.kind = LETTER_WRITTEN;
    ty_str_copy(write->letter.id, sizeof(write->letter.id), job->facts.id);
    write->engine = engine;
    write->restart_limit = job->restart_limit;
    write->growths = engine->growths_taken;
    write->seen = job->pending;
    /* From here on the other thread may have it: set our side first, take it back if it was
     * refused. */
    job->writing = write;
    ty_status status = engine_write(engine, &write->write, err);
    if (status == TY_OK) {
        (void)take_pending(job); /* the write's now */
        return TY_OK;
    }
    job->writing = NULL;
    free(write);
    return status;
}

static void write_failed(struct ty_engine *engine, struct live_job *job)
{
    backoff_fail(&job->write_backoff, engine->options.random, engine->now_ms);
    live_wake_at(engine, job, job->write_backoff.due_ms);
}

/* The engine's own words, which the plan brings up again. */
static bool brought_up_again(const struct seen *seen)
{
    return seen->observation.kind <= TY_SEEN_DEADLINE;
}

/* Put the words of a failed write back in front of what came meanwhile. */
static void take_back(struct live_job *job, struct observe_write *written)
{
    struct seen *later = take_pending(job);
    struct seen *first = written->seen;
    written->seen = NULL;
    for (int list = 0; list < 2; list++, first = later) {
        while (first) {
            struct seen *next = (struct seen *)first->letter.next;
            if (list == 0 && brought_up_again(first))
                seen_destroy(first);
            else
                append_pending(job, first);
            first = next;
        }
    }
}

void observe_flush(struct ty_engine *engine, struct live_job *job)
{
    struct ty_error err = {0};
    if (job->writing || !job->pending)
        return;
    if (send_pending(engine, job, &err) == TY_OK)
        return;
    /* Nothing was sent; keep the executor's words, drop our own. */
    struct observe_write unsent = {.seen = take_pending(job)};
    take_back(job, &unsent);
    job->admitting = false;
    live_settle(engine, job);
    write_failed(engine, job);
}

void observe_written(struct ty_engine *engine, struct observe_write *written)
{
    struct live_job *job = live_find(engine, written->letter.id);
    if (job) {
        job->writing = NULL;
        job->admitting = false;
        if (written->status == TY_OK)
            backoff_reset(&job->write_backoff);
        else
            take_back(job, written);
        if (written->status != TY_OK)
            write_failed(engine, job);
        else if (!written->found)
            job->gone = true;
        struct job_facts facts =
            written->status == TY_OK && written->found ? written->facts : job->facts;
        if (live_take(engine, &facts) != TY_OK)
            ty_log(engine->options.log, TY_LOG_ERROR, "no_memory", "take in %s", facts.id);
    }
    observe_write_destroy(written);
}

/* --- from the executor's thread --- */
static const char *const phases[] = {[TY_REPLICA_PENDING] = "pending",
                                     [TY_REPLICA_RUNNING] = "running",
                                     [TY_REPLICA_SUCCEEDED] = "succeeded",
                                     [TY_REPLICA_FAILED] = "failed"};

static void write_replica(struct ty_json_writer *json, const struct ty_replica *replica)
{
    ty_json_object(json);
    ty_json_put_string(json, "name", replica->name);
    ty_json_put_string(json, "state", phases[replica->phase]);
    ty_json_put_string(json, "reason", replica->reason[0] ? replica->reason : NULL);
    ty_json_put_int(json, "restarts", replica->restarts);
    ty_json_put_int_or_null(json, "exit_code", replica->has_exit, replica->exit_code);
    ty_json_put_int_or_null(json, "exit_signal", replica->has_exit && replica->exit_signal != 0,
                            replica->exit_signal);
    ty_json_put_time(json, "started_at", replica->started_at);
    ty_json_put_time(json, "finished_at", replica->finished_at);
    ty_json_end(json);
}

/* NULL when there is nothing to say or no memory to say it. */
static char *write_replicas(const struct ty_replica *replicas, size_t count)
{
    if (count == 0)
        return NULL;
    struct ty_buf text;
    struct ty_json_writer json;
    ty_buf_init(&text, REPLICAS_TEXT_MAX);
    ty_json_writer_init(&json, &text);
    ty_json_array(&json);
    for (size_t i = 0; i < count; i++)
        write_replica(&json, &replicas[i]);
    ty_json_end(&json);
    char *taken = ty_buf_take(&text, NULL);
    ty_buf_done(&text);
    return taken;
}

/* An observation must not be lost: with no memory left the executor's thread waits for some. */
static struct seen *make_seen(void)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    struct seen *seen;
    while (!(seen = calloc(1, sizeof(*seen))))
        nanosleep(&pause, NULL);
    return seen;
}

void observe_from_executor(void *context, const char *job_id,
                           const struct ty_observation *observation,
                           const struct ty_replica *replicas, size_t replica_count)
{
    struct ty_engine *engine = context;
    struct seen *seen = make_seen();
    seen->letter.kind = LETTER_SEEN;
    if (!ty_str_copy(seen->letter.id, sizeof(seen->letter.id), job_id)) {
        seen_destroy(seen); /* no id of ours is that long */
        return;
    }
    seen->observation = *observation;
    seen->replicas = write_replicas(replicas, replica_count);
    ty_failpoint("observe.before_post");
    inbox_post_seen(&engine->inbox, seen);
}
