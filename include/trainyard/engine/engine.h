/* What must happen next: admission in order under quotas and capacity, applying, stopping,
 * deadlines, retries and retention. It reacts to committed jobs; decisions are made by the pure
 * machine inside the store's transactions. */
#ifndef TRAINYARD_ENGINE_ENGINE_H
#define TRAINYARD_ENGINE_ENGINE_H

#include "trainyard/base/clock.h"
#include "trainyard/base/random.h"
#include "trainyard/events/hub.h"
#include "trainyard/executor/executor.h"
#include "trainyard/store/jobs.h"
#include "trainyard/store/volumes.h"

struct ty_engine;
struct commit_letter;

/* All borrowed for the engine's life. Time, randomness and I/O are arguments, so the simulation can
 * drive it. */
struct ty_engine_options {
    struct ty_store *store;
    struct ty_executor *executor;
    const struct ty_renderer *renderer;
    struct ty_hub *hub;
    const struct ty_clock *clock;
    const struct ty_random *random;
    const struct ty_log *log;
    int64_t default_keep_us;   /* retention of finished jobs, 0 = for ever */
    int64_t start_deadline_us; /* how long a fault may keep a run from starting, 0 = for ever */
    const char *data_folder;   /* logs of removed jobs are deleted below it; NULL = none */
};

/* Order of shutting down: stop the engine, destroy the executor, close the store (which finishes
 * what is queued), destroy the engine. */

/* Load the live jobs. */
ty_status ty_engine_create(const struct ty_engine_options *options, struct ty_engine **engine_out,
                           struct ty_error *err) TY_MUST_CHECK;

/* Run ty_engine_step on a thread of its own, woken by pokes and timers, until stopped. */
ty_status ty_engine_start(struct ty_engine *engine, struct ty_error *err) TY_MUST_CHECK;
void ty_engine_stop(
    struct ty_engine *engine); /* joins, gives back its reader, takes no more work; runs go on */
void ty_engine_destroy(
    struct ty_engine *engine); /* stops first; waits for its writes; takes NULL */

/* One turn at wall time `now`: take in what was committed, admit, apply, stop, fire timers. Returns
 * the wall time of the next timer (0 = none). Called by the thread, or directly in the simulation.
 */
int64_t ty_engine_step(struct ty_engine *engine, int64_t now);

/* --- submitting --- */
struct ty_submit {
    struct ty_write write; /* the engine's; do not touch */
    struct ty_engine *engine;
    struct commit_letter *letter;
    struct ty_job_insert insert;                /* record and spec; texts live until `answered` */
    const struct ty_volume_record *made_claims; /* that it makes by name; name and size are read */
    size_t made_count;
    bool suspended; /* wait for resume before the first start */
    struct ty_quota quota;
    /* Idempotency (H6): NULL key = none. */
    const char *idempotency_key;
    const char *idempotency_route;
    unsigned char fingerprint[32]; /* SHA-256 of the canonical body */
    /* Results. */
    bool replayed; /* an earlier request with this key made the job */
    char replayed_id[TY_ID_TEXT];
    /* Called once on the writer thread after COMMIT or with the failure:
     *   TY_CONFLICT object_name_taken | idempotency_key_reused (other body: 422 by its code) ·
     * TY_LIMITED quota_exceeded TY_UNAVAILABLE, TY_STORAGE_FULL */
    void (*answered)(struct ty_submit *submit, ty_status status, const struct ty_error *err);
    void *context;
};
/* Fill the first status of the record (queued or suspended) and hand it to the store. On failure
 * `answered` is not called. TY_UNAVAILABLE (codes "overloaded", "write_queue_full"),
 * TY_STORAGE_FULL, TY_NO_MEMORY. */
ty_status ty_engine_submit(struct ty_engine *engine, struct ty_submit *submit,
                           struct ty_error *err) TY_MUST_CHECK;

/* The same for many jobs in one commit: each is judged alone; `answered` is called for each. */
ty_status ty_engine_submit_batch(struct ty_engine *engine, struct ty_submit **submits, size_t count,
                                 struct ty_error *err) TY_MUST_CHECK;

/* --- a user's actions: wait for the commit (never on an HTTP or the writer thread) --- */
/* `kind` is TY_SEEN_CANCEL, _SUSPEND or _RESUME. `if_revision` > 0 must equal the job's revision.
 *   TY_NOT_FOUND · TY_CONFLICT code job_finished | invalid_transition · TY_PRECONDITION */
ty_status ty_engine_act(struct ty_engine *engine, int64_t tenant, const char *job_id,
                        ty_seen_kind kind, const char *message, int64_t if_revision,
                        struct ty_error *err) TY_MUST_CHECK;

/* Another number of workers for an elastic job; the caller waits for the commit. `quota` is the
 * tenant's. A live run is told afterwards; one that is queued or suspended has it at its start.
 * *changed_out: whether it had another size.
 *   TY_NOT_FOUND · TY_PRECONDITION · TY_CONFLICT code job_not_elastic | job_finished |
 *   invalid_transition | capacity_exceeded · TY_LIMITED code quota_exceeded · TY_REFUSED code
 *   replicas_out_of_range */
struct ty_scale {
    int64_t tenant;
    const char *job_id;
    int32_t replicas;
    int64_t if_revision; /* 0 = any */
    struct ty_quota quota;
};
ty_status ty_engine_scale(struct ty_engine *engine, const struct ty_scale *asked, bool *changed_out,
                          struct ty_error *err) TY_MUST_CHECK;

/* Remove a finished job with its logs and run. TY_NOT_FOUND · TY_CONFLICT code job_active ·
 * TY_PRECONDITION. With `force` a live job is cancelled and removed when it has ended: *pending_out
 * is true then. */
ty_status ty_engine_delete(struct ty_engine *engine, int64_t tenant, const char *job_id, bool force,
                           int64_t if_revision, bool *pending_out,
                           struct ty_error *err) TY_MUST_CHECK;

/* 1 = next to be admitted; 0 = not queued. */
int64_t ty_engine_queue_position(struct ty_engine *engine, const char *job_id);

/* A change of quota, capacity or claims: plan again soon. Any thread. */
void ty_engine_poke(struct ty_engine *engine);

struct ty_engine_figures {
    int64_t live_jobs[TY_JOB_STATE_COUNT];
    int64_t admitted_replicas;
    int64_t admitted_gpus;
    int64_t turned_ms; /* monotonic time of the last step: for /livez */
};
void ty_engine_figures(struct ty_engine *engine, struct ty_engine_figures *out);

#endif
