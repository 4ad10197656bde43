/* Jobs in the store: the row that lists and answers are made of, its spec body, its history. */
#ifndef TRAINYARD_STORE_JOBS_H
#define TRAINYARD_STORE_JOBS_H

#include "trainyard/base/buf.h"
#include "trainyard/domain/access.h"
#include "trainyard/domain/job.h"
#include "trainyard/domain/machine.h"
#include "trainyard/store/store.h"

/* One job as stored. Text members point into the record's own memory or the statement's row: see
 * each function. */
struct ty_job_record {
    int64_t row;    /* rowid: grows with submission, the key of pages */
    int64_t tenant; /* rowid */
    const char *id;
    const char *name;
    const char *object_name; /* unique within the namespace */
    const char *namespace;
    const char *tenant_name;
    const char *image;
    const char *description;    /* NULL = none */
    const char *labels;         /* JSON object text, "{}" when empty */
    const char *warnings;       /* JSON array text */
    const char *replica_list;   /* JSON array text of the replicas as last observed, "[]" before;
                                 * lists and live walks do not read it and give "[]" */
    const char *executor;       /* "local" or "kubernetes" */
    const char *origin_id;      /* NULL unless restarted or cloned */
    const char *origin_kind;    /* "restart" or "clone" */
    const char *origin_changes; /* JSON array text: how its spec differs from the origin's. Stored
                                 * with a new job; never read with the row, see ty_jobs_changes */
    int32_t replicas;
    int32_t gpus;        /* of the whole job */
    int32_t elastic_min; /* how far an elastic job may be scaled; both 0 = its size is fixed */
    int32_t elastic_max;
    int32_t first_replicas; /* before the first scale; 0 = never scaled */
    int32_t epochs;
    int32_t priority;
    int32_t max_retries;
    int64_t timeout_seconds;
    int64_t keep_seconds;
    int64_t created_at;
    int64_t updated_at; /* of the last transition or PATCH */
    int64_t revision;   /* +1 with each change that a client can see: the source of the ETag */
    struct ty_job_status status;
};

/* A new job with its spec, labels, claims, first transition and event, all or nothing. An
 * idempotency row is written beside it by the same write (idempotency.h). created_at may be written
 * back a little later than given, when the clock has gone back since the last job: rows and times
 * of creation grow together. */
struct ty_job_insert {
    struct ty_job_record record; /* row, revision and updated_at are written back */
    const char *spec;            /* canonical JSON text */
    size_t spec_len;
    const char *const
        *claims; /* every claim the job names, registered or not; kept while the job is live */
    size_t claims_count;
};
/* TY_CONFLICT (code "object_name_taken") when the object name exists in the namespace: make another
 * id. TY_LIMITED (code "quota_exceeded") when `quota->max_queued` would be passed. */
ty_status ty_jobs_insert(struct ty_writer *writer, struct ty_job_insert *insert,
                         const struct ty_quota *quota, struct ty_error *err) TY_MUST_CHECK;

/* Read a job inside a write. `tenant` 0 = any (the engine's own look-ups). The record's texts live
 * until the writer's next call of this function. TY_NOT_FOUND. */
ty_status ty_jobs_find(struct ty_writer *writer, int64_t tenant, const char *id,
                       struct ty_job_record *record_out, struct ty_error *err) TY_MUST_CHECK;

/* Store a step's result: status columns, revision + 1 when `result` is CHANGED (then also the
 * transition row and the event), and the replica list when `replica_list` is not NULL. *record is
 * updated to what was stored. */
ty_status ty_jobs_save_step(struct ty_writer *writer, struct ty_job_record *record,
                            ty_step_result result, const struct ty_job_status *next,
                            const char *replica_list, struct ty_error *err) TY_MUST_CHECK;

/* PATCH: NULL leaves a member as it is. */
ty_status ty_jobs_save_metadata(struct ty_writer *writer, struct ty_job_record *record,
                                const char *labels, const char *description, bool clear_description,
                                struct ty_error *err) TY_MUST_CHECK;

/* Give an elastic job `replicas` workers (within its bounds): the row, the member `replicas` of its
 * spec, its GPUs, which are the same for each, and revision + 1. */
ty_status ty_jobs_save_size(struct ty_writer *writer, struct ty_job_record *record,
                            int32_t replicas, struct ty_error *err) TY_MUST_CHECK;

/* What the runs of all other jobs hold, and those of the job's tenant among them. */
struct ty_jobs_use {
    int64_t replicas;
    int64_t gpus;
    int64_t tenant_replicas;
    int64_t tenant_gpus;
};
ty_status ty_jobs_use(struct ty_writer *writer, const struct ty_job_record *record,
                      struct ty_jobs_use *use_out, struct ty_error *err) TY_MUST_CHECK;

/* Remove a terminal job with all that hangs on it; it is gone for every reader at the commit. A
 * long history is removed in bounded pieces by the writer afterwards. TY_NOT_FOUND; TY_CONFLICT
 * (code "job_active": not terminal, or its run may still exist). */
ty_status ty_jobs_delete(struct ty_writer *writer, int64_t tenant, const char *id,
                         struct ty_error *err) TY_MUST_CHECK;

/* --- reading: a visitor gets each record; its texts live only for the call. Returning false ends
 * the walk. --- */
typedef bool ty_job_visitor(void *context, const struct ty_job_record *record);

/* TY_NOT_FOUND for an unknown id and for another tenant's, at the same cost. */
ty_status ty_jobs_get(struct ty_reader *reader, int64_t tenant, const char *id,
                      ty_job_visitor *visit, void *context, struct ty_error *err) TY_MUST_CHECK;

/* Append the stored spec text of a job. */
ty_status ty_jobs_spec(struct ty_reader *reader, int64_t row, struct ty_buf *buf,
                       struct ty_error *err) TY_MUST_CHECK;

/* Append the stored origin_changes of a job; nothing when it has none. */
ty_status ty_jobs_changes(struct ty_reader *reader, int64_t row, struct ty_buf *buf,
                          struct ty_error *err) TY_MUST_CHECK;

struct ty_job_query {
    int64_t tenant;
    uint32_t states;  /* bit per ty_job_state, 0 = all */
    const char *name; /* NULL = any; exact unless name_prefix */
    bool name_prefix;
    struct {
        const char *key;
        const char *value;
    } labels[8]; /* all must hold */
    size_t labels_count;
    int64_t created_after;  /* exclusive, 0 = none */
    int64_t created_before; /* exclusive, 0 = none */
    bool oldest_first;      /* default newest first */
    int64_t after_row; /* keyset: beyond this row in the chosen direction; 0 = from the start */
    size_t limit;      /* at most this many are visited */
};
/* Keyset on an index: the cost of a page does not depend on how far it is. */
ty_status ty_jobs_list(struct ty_reader *reader, const struct ty_job_query *query,
                       ty_job_visitor *visit, void *context, struct ty_error *err) TY_MUST_CHECK;

/* Every job that is not terminal or still has run_active, of all tenants, by row beyond
 * `after_row`. */
ty_status ty_jobs_live(struct ty_reader *reader, int64_t after_row, size_t limit,
                       ty_job_visitor *visit, void *context, struct ty_error *err) TY_MUST_CHECK;

/* Terminal jobs without a run whose keeping time (finished_at + keep_seconds, or `default_keep_us`
 * where that is -1) lies before `now`: candidates for retention, the longest finished first.
 * `default_keep_us` 0 = for ever. */
ty_status ty_jobs_expired(struct ty_reader *reader, int64_t now, int64_t default_keep_us,
                          size_t limit, ty_job_visitor *visit, void *context,
                          struct ty_error *err) TY_MUST_CHECK;

struct ty_transition {
    int64_t sequence;
    ty_job_state from; /* equal to `to` for the first */
    ty_job_state to;
    ty_job_cause cause;
    const char *message;
    int32_t attempt;
    int64_t at;
};
typedef bool ty_transition_visitor(void *context, const struct ty_transition *transition);
ty_status ty_transitions_list(struct ty_reader *reader, int64_t job_row, int64_t after_sequence,
                              size_t limit, ty_transition_visitor *visit, void *context,
                              struct ty_error *err) TY_MUST_CHECK;

#endif
