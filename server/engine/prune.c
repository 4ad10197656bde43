/* What a run leaves, told (results.c), and what it keeps no longer by keep_last. Once a minute
 * while it runs, and at its end before the end is told: so a job that is over has told all and has
 * no surplus, and a crash in between brings the end up again, and this with it. The work is done by
 * a thread of its own, since it walks and removes what may be large; without that thread (the
 * simulation) at once.
 *
 * Nothing here keeps a job from ending: what goes wrong is logged. */
#include "results.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/logs/files.h"

#include <stdlib.h>

enum { EVERY_MS = 60000, AGAIN_MS = 1000, QUEUE = 1024 };

/* While a run goes on or when it broke off, what was written within the last minute may be half of
 * a checkpoint. */
static const int64_t unfinished_ns = INT64_C(60000000000);

/* For telling of it, a few seconds do: nothing is lost by a word that came early. Files may bear
 * times of a coarser clock than the job's. */
static const int64_t settled_us = INT64_C(5000000);
static const int64_t coarse_us = INT64_C(2000000);

struct prune {
    struct letter letter; /* how it comes back */
    struct ty_engine *engine;
    char namespace[TY_OBJECT_NAME];
    struct results_look look;
    size_t keep_last; /* 0 = nothing is removed */
    int64_t before_ns;
    bool unsaid; /* the store did not take what was to be told */
};

struct prune *prune_of(struct letter *letter)
{
    return (struct prune *)((char *)letter - offsetof(struct prune, letter));
}

void prune_destroy(struct prune *prune)
{
    free(prune);
}

/* --- the work, on its thread --- */

static ty_status remove_surplus(struct prune *prune, size_t *removed_out, struct ty_error *err)
{
    struct ty_engine *engine = prune->engine;
    struct ty_executor *executor = engine->options.executor;
    ty_auto_fd root = -1;
    ty_status status = executor->ops->open_claim(executor, prune->namespace,
                                                 prune->look.checkpoints.claim, &root, err);
    if (status == TY_NOT_FOUND || status == TY_UNSUPPORTED)
        return TY_OK;
    if (status != TY_OK)
        return status;
    return ty_checkpoints_prune(root, prune->look.checkpoints.path, prune->keep_last,
                                prune->before_ns, &engine->pruner_stop, removed_out, err);
}

static void prune_now(struct prune *prune)
{
    const struct ty_log *log = prune->engine->options.log;
    struct ty_error err = {0};
    size_t removed = 0;
    /* Told before they are removed. */
    prune->unsaid = results_tell(&prune->look, &err) != TY_OK;
    if (prune->keep_last == 0)
        return;
    if (remove_surplus(prune, &removed, &err) != TY_OK) {
        ty_log(log, TY_LOG_WARNING, "checkpoints_not_removed", "keep_last of %s: %s",
               prune->letter.id, err.text);
        (void)!results_warn(prune->engine, prune->letter.id, "checkpoints_not_removed",
                            "Older checkpoints could not be removed as keep_last asks.", &err);
    } else if (removed > 0)
        ty_log(log, TY_LOG_INFO, "checkpoints_removed", "%zu surplus checkpoints of %s", removed,
               prune->letter.id);
}

static void run_prune(void *context, size_t worker)
{
    struct prune *prune = context;
    (void)worker;
    prune_now(prune);
    inbox_post(&prune->engine->inbox, &prune->letter);
}

ty_status prune_open(struct ty_engine *engine, struct ty_error *err)
{
    return ty_pool_create("ty-prune", 1, QUEUE, &engine->pruner, err);
}

void prune_close(struct ty_engine *engine)
{
    atomic_store(&engine->pruner_stop, true);
    ty_pool_destroy(engine->pruner);
    engine->pruner = NULL;
}

/* --- what for --- */

static struct prune *make_prune(struct ty_engine *engine, const struct live_job *job,
                                const struct ty_job_spec *spec, bool ended, bool whole)
{
    struct prune *prune = calloc(1, sizeof(*prune));
    if (!prune)
        return NULL;
    prune->letter.kind = LETTER_PRUNED;
    ty_str_copy(prune->letter.id, sizeof(prune->letter.id), job->facts.id);
    prune->engine = engine;
    ty_str_copy(prune->namespace, sizeof(prune->namespace), job->facts.namespace);
    prune->look = (struct results_look){
        .engine = engine,
        .job_id = prune->letter.id,
        .namespace = prune->namespace,
        .since_us = job->facts.status.started_at - coarse_us,
        .before_us = ended ? INT64_MAX : engine->now - settled_us,
        .ended = ended,
        .seen = job->results_seen,
    };
    ty_job_spec_checkpoints(spec, job->facts.object_name, &prune->look.checkpoints);
    ty_job_spec_output(spec, job->facts.object_name, &prune->look.output);
    prune->keep_last = job->prunes ? (size_t)spec->checkpoint_keep_last : 0;
    prune->before_ns = whole ? INT64_MAX : engine->now * 1000 - unfinished_ns;
    return prune;
}

/* Begin one. TY_OK: done, or under way (job->pruning); TY_UNAVAILABLE, TY_NO_MEMORY: not now. */
static ty_status begin(struct ty_engine *engine, struct live_job *job, bool ended, bool whole,
                       struct ty_error *err)
{
    auto_spec spec = NULL;
    ty_status status = launch_read_spec(engine->reader, job->facts.row, &spec, err);
    if (status != TY_OK)
        return status;
    struct prune *prune = make_prune(engine, job, spec, ended, whole);
    if (!prune)
        return ty_fail(err, TY_NO_MEMORY, "no memory to remove checkpoints");
    if (!engine->pruner) {
        prune_now(prune);
        status = prune->unsaid ? ty_fail(err, TY_UNAVAILABLE, "the store takes no events") : TY_OK;
        job->results_seen = prune->look.seen;
        prune_destroy(prune);
        return status;
    }
    status = ty_pool_submit(engine->pruner, run_prune, prune);
    if (status != TY_OK) {
        prune_destroy(prune);
        return ty_fail(err, status, "too much is being removed");
    }
    job->pruning = true;
    return TY_OK;
}

/* Whether there is something to look at. A spec that no repeat can read has nothing. */
static ty_status read_wish(struct ty_engine *engine, struct live_job *job, bool *wanted_out,
                           struct ty_error *err)
{
    ty_status status = job->rules_known ? TY_OK : launch_read_rules(engine, job, err);
    if (status == TY_UNAVAILABLE || status == TY_NO_MEMORY)
        return status;
    *wanted_out = status == TY_OK;
    return TY_OK;
}

void prune_while_running(struct ty_engine *engine, struct live_job *job)
{
    struct ty_error err = {0};
    bool wanted = false;
    if (job->pruning || read_wish(engine, job, &wanted, &err) != TY_OK || !wanted)
        return; /* one under way brings us back */
    if (job->prune_due_ms == 0)
        job->prune_due_ms = engine->now_ms + EVERY_MS;
    if (job->prune_due_ms <= engine->now_ms) {
        job->prune_due_ms = engine->now_ms + EVERY_MS;
        (void)begin(engine, job, false, false, &err); /* else a minute later */
    }
    live_wake_at(engine, job, job->prune_due_ms);
}

bool prune_before_end(struct ty_engine *engine, struct live_job *job)
{
    struct ty_error err = {0};
    bool wanted = false;
    const struct ty_observation *end = observe_find_end(job);
    if (!end)
        return false;
    if (job->pruning)
        return true;
    if (job->pruned_attempt == job->facts.status.attempt)
        return false;
    ty_status status = read_wish(engine, job, &wanted, &err);
    if (status == TY_OK && wanted)
        status = begin(engine, job, true, end->kind == TY_SEEN_SUCCEEDED, &err);
    if (status == TY_UNAVAILABLE || status == TY_NO_MEMORY) {
        live_wake_at(engine, job, engine->now_ms + AGAIN_MS);
        return true;
    }
    if (status != TY_OK)
        ty_log(engine->options.log, TY_LOG_WARNING, "checkpoints_not_removed",
               "keep_last of %s: %s", job->facts.id, err.text);
    job->pruned_attempt = job->facts.status.attempt;
    return job->pruning;
}

void prune_ended(struct ty_engine *engine, struct prune *prune)
{
    struct live_job *job = live_find(engine, prune->letter.id);
    if (job) {
        job->pruning = false;
        job->results_seen = prune->look.seen;
        if (prune->unsaid && prune->look.ended) { /* the end waits until all is told */
            job->pruned_attempt = 0;
            backoff_fail(&job->write_backoff, engine->options.random, engine->now_ms);
        }
        live_mark(engine, job);
    }
    prune_destroy(prune);
}
