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

#endif
