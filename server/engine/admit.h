/* Who may start now: a pure decision over values. All replicas of a job start or none.
 *
 * Order. Jobs are considered one after another: higher priority first; among equals the tenant with
 * the smaller share of the machine (the larger of its parts of GPUs and of replicas, what it has
 * admitted and what was considered before it in this order together); then the older job. A job's
 * place in this order is its queue position.
 *
 * Head of the line. A job that does not fit keeps what it needs of what is free, as far as it is
 * there, and those after it share only the rest: so a large job is never overtaken for ever by
 * small ones that use what it waits for, while those that use something else go on. A job waiting
 * for its tenant's quota keeps of that quota only; one waiting for the machine keeps of both. A job
 * that could not start even alone keeps nothing. */
#ifndef TRAINYARD_ENGINE_ADMIT_H
#define TRAINYARD_ENGINE_ADMIT_H

#include "trainyard/domain/access.h"
#include "trainyard/executor/executor.h"

typedef enum {
    ADMIT_NOW,
    ADMIT_WAITS_FOR_QUOTA,
    ADMIT_WAITS_FOR_CAPACITY,
    ADMIT_ABOVE_QUOTA,   /* more than the tenant's whole quota */
    ADMIT_ABOVE_CAPACITY /* more than the whole machine */
} admit_verdict;

struct admit_use {
    int64_t jobs;
    int64_t replicas;
    int64_t gpus;
};

struct admit_tenant {
    struct ty_quota quota;
    struct admit_use use; /* admitted already */
};

struct admit_job {
    size_t tenant; /* index */
    int64_t age;   /* smaller is older */
    int32_t priority;
    int32_t replicas;
    int32_t gpus;
    void *owner; /* the caller's */
    /* Results. */
    admit_verdict verdict;
    int64_t position; /* from 1 */
};

struct admit_round {
    const struct admit_tenant *tenants;
    size_t tenants_count;
    struct admit_job *jobs; /* sorted into the order of consideration */
    size_t jobs_count;
    struct ty_capacity capacity;
    struct admit_use use; /* of all tenants */
};

/* Judge every job of the round. TY_NO_MEMORY: nothing was judged. */
ty_status admit_judge(struct admit_round *round) TY_MUST_CHECK;

/* What is left to give in each dimension; INT64_MAX = no limit. */
struct admit_room {
    int64_t jobs;
    int64_t replicas;
    int64_t gpus;
};

/* How far down its line a tenant's jobs can start at all. A round that is given of each line only
 * the jobs up to where it closes admits the very jobs that a round of all would admit; what it
 * costs depends on what there is to give, not on how many wait. Positions then mean nothing. */
struct admit_reach {
    struct admit_room quota;
    struct admit_room quota_left;
    struct admit_room machine;
    struct admit_room machine_left; /* by this tenant alone */
};

void admit_reach_init(struct admit_reach *reach, const struct admit_round *round,
                      const struct admit_tenant *tenant);
/* Whether a further job may start. */
bool admit_reach_open(const struct admit_reach *reach);
/* Take in the next job of the line, best first. */
void admit_reach_take(struct admit_reach *reach, const struct admit_job *job);

#endif
