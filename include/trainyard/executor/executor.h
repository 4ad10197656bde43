/* What an executor does for the engine: make a run exist, tell what happens to it, make it stop.
 * Two stand behind this table, on this machine and on Kubernetes; a client cannot tell them apart.
 */
#ifndef TRAINYARD_EXECUTOR_EXECUTOR_H
#define TRAINYARD_EXECUTOR_EXECUTOR_H

#include "trainyard/base/buf.h"
#include "trainyard/domain/machine.h"
#include "trainyard/render/render.h"

struct ty_executor;

/* One run: one attempt of one job. Borrowed for the call. */
struct ty_run {
    const char *job_id;
    const char *namespace;
    const char *object_name;
    int32_t attempt;
    const struct ty_job_spec *spec;
    const struct ty_manifest *manifest; /* what to apply */
};

/* Names a run later on. */
struct ty_run_ref {
    const char *job_id;
    const char *namespace;
    const char *object_name;
    int32_t attempt;
};

/* One replica as it stands, for GET …/replicas and the job's detail. */
typedef enum {
    TY_REPLICA_PENDING,
    TY_REPLICA_RUNNING,
    TY_REPLICA_SUCCEEDED,
    TY_REPLICA_FAILED
} ty_replica_phase;

struct ty_replica {
    char name[TY_REPLICA_NAME]; /* "master-0" */
    ty_replica_phase phase;
    char reason[48]; /* "CrashLoopBackOff", "OOMKilled", "Error", "Completed", … or "" */
    int32_t restarts;
    bool has_exit;
    int32_t exit_code;
    int32_t exit_signal;
    int64_t started_at;
    int64_t finished_at;
};

/* Told from the executor's own thread, in order for one run, at least once each. The receiver
 * copies and returns at once. `replicas` is the whole list as it stands with this observation. */
typedef void ty_executor_observer(void *context, const char *job_id,
                                  const struct ty_observation *seen,
                                  const struct ty_replica *replicas, size_t replica_count);

/* What the executor can hold at once; -1 = unknown or unlimited. */
struct ty_capacity {
    int32_t replicas;
    int32_t gpus;
    int64_t cpu_millis;
    int64_t memory_bytes;
};

struct ty_executor_ops {
    const char *name; /* "local", "kubernetes" */

    /* One machine and no cluster: no nodes, classes or queues, and images have no entry point; see
     * ty_job_spec_check_machine. */
    bool one_machine;

    /* Begin to observe; runs that exist already are reported. */
    ty_status (*start)(struct ty_executor *executor, ty_executor_observer *observer, void *context,
                       struct ty_error *err);

    /* Make the run exist. Repeating it for the same attempt adopts what is there. It may return
     * before anything runs. TY_REFUSED     the objects can never run here (spec_rejected): the job
     * fails with err's code as its cause TY_UNAVAILABLE try again later */
    ty_status (*apply)(struct ty_executor *executor, const struct ty_run *run,
                       struct ty_error *err);

    /* Ask the run to end: TERM, the grace period, then KILL for the whole tree. Repeating is
     * harmless. The answer is an observation: STOPPED, a result that came first, or GONE when there
     * is no such run. */
    ty_status (*stop)(struct ty_executor *executor, const struct ty_run_ref *run,
                      struct ty_error *err);

    /* Give an elastic run so many replicas. Those of the highest indices come and go; the others
     * and their environment are not touched. Repeating is harmless, and so is asking a run that is
     * over or gone. What comes of it shows in observations; `apply` alone makes a run of the size
     * that is rendered. TY_UNAVAILABLE: asked again later. NULL when runs keep their size here. */
    ty_status (*scale)(struct ty_executor *executor, const struct ty_run_ref *run, int32_t replicas,
                       struct ty_error *err);

    /* Forget a run that is over and remove what it left (claims of the user stay). Repeating is
     * harmless. */
    ty_status (*remove)(struct ty_executor *executor, const struct ty_run_ref *run,
                        struct ty_error *err);

    /* Say by an observation how a run stands: GONE when there is no such run. Asked once for each
     * run that the gateway finds in its records when it starts, because nobody else would tell of
     * one that vanished meanwhile. May say nothing of a run that is there, since `start` tells of
     * it. TY_UNAVAILABLE: asked again later. */
    ty_status (*check)(struct ty_executor *executor, const struct ty_run_ref *run,
                       struct ty_error *err);

    struct ty_capacity (*capacity)(struct ty_executor *executor);

    /* A descriptor of the root of a claim, for reading files beneath it. TY_NOT_FOUND,
     * TY_UNSUPPORTED. */
    ty_status (*open_claim)(struct ty_executor *executor, const char *namespace, const char *claim,
                            int *fd_out, struct ty_error *err);

    /* Claims: make one (TY_CONFLICT when it exists), remove one, measure it (used bytes,
     * TY_NOT_FOUND). */
    ty_status (*create_claim)(struct ty_executor *executor, const char *namespace,
                              const char *claim, struct ty_error *err);
    ty_status (*remove_claim)(struct ty_executor *executor, const char *namespace,
                              const char *claim, struct ty_error *err);
    ty_status (*measure_claim)(struct ty_executor *executor, const char *namespace,
                               const char *claim, int64_t *used_bytes_out, struct ty_error *err);

    /* What a user should know about this executor, for GET /v1/executors and the jobs' warnings: an
     * object with at least
     * {"name", "ready", "warnings": [{"code", "message"}]} as a new reference. */
    ty_status (*describe)(struct ty_executor *executor, json_t **object_out, struct ty_error *err);

    /* Stop observing and free. Runs go on. */
    void (*destroy)(struct ty_executor *executor);
};

/* The first member of every executor's own struct. */
struct ty_executor {
    const struct ty_executor_ops *ops;
};

#endif
