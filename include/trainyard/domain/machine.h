/* The job state machine: a pure function from a status and one observation to the next status. It is a table of
 * (state, observation) rows; everything a job goes through passes here, inside the store's transaction. */
#ifndef TRAINYARD_DOMAIN_MACHINE_H
#define TRAINYARD_DOMAIN_MACHINE_H

#include "trainyard/domain/job.h"

typedef enum {
    /* the engine */
    TY_SEEN_WAITING = 0,  /* not admitted: cause waiting_for_quota or waiting_for_capacity */
    TY_SEEN_ADMITTED,     /* quota and capacity were taken: attempt + 1, run_active from here on */
    TY_SEEN_DEADLINE,     /* timeout_seconds have passed */
    TY_SEEN_START_FAILED, /* the executor refuses the objects for good: cause says why */
    /* the executor */
    TY_SEEN_STARTING,    /* accepted, nothing runs yet: cause volume_not_found, image_pull_failed, … or none */
    TY_SEEN_RUNNING,     /* the Master (or, without one, a Worker) runs */
    TY_SEEN_RESTARTING,  /* a replica failed and is being started again */
    TY_SEEN_SUCCEEDED,   /* every process is gone, result good */
    TY_SEEN_FAILED,      /* every process is gone, result bad: cause and exit say why */
    TY_SEEN_STOPPED,     /* every process is gone because we asked */
    TY_SEEN_GONE,        /* the run does not exist (any more) and left no result */
    /* the user */
    TY_SEEN_CANCEL,
    TY_SEEN_SUSPEND,
    TY_SEEN_RESUME,
    TY_SEEN_KIND_COUNT
} ty_seen_kind;

struct ty_observation {
    ty_seen_kind kind;
    int32_t attempt;              /* executor and deadline kinds: of which attempt; others 0 */
    ty_job_cause cause;           /* TY_CAUSE_NONE lets the table choose */
    char message[TY_JOB_MESSAGE]; /* "" lets the table choose */
    int32_t restarts;             /* executor kinds: replica restarts seen in this attempt so far */
    struct ty_job_exit exit;
    int64_t at; /* wall-clock microseconds; earlier than what is stored counts as "now" there */
};

/* What the machine needs of the spec. */
struct ty_job_rules {
    int64_t timeout_us; /* 0 = none */
};

typedef enum {
    TY_STEP_CHANGED,  /* *next_out has sequence + 1: store it with one transition row */
    TY_STEP_TOUCHED,  /* only observed_at, restarts, run_active or requests moved: store, no transition */
    TY_STEP_IGNORED,  /* late, repeated or without meaning here: store nothing */
    TY_STEP_FORBIDDEN /* a user's action the state does not allow (409) */
} ty_step_result;

/* Decide. Terminal never changes (only run_active may fall); sequence grows by exactly one with TY_STEP_CHANGED;
 * an observation of another attempt than the current one is ignored. *next_out is written for CHANGED and TOUCHED. */
ty_step_result ty_job_step(const struct ty_job_status *now, const struct ty_observation *seen,
                           const struct ty_job_rules *rules, struct ty_job_status *next_out);

/* What must happen next to a job in this status (level-triggered: asked again after every commit and at start). */
typedef enum {
    TY_PLAN_NOTHING, /* wait for an observation or for `wake_at` */
    TY_PLAN_ADMIT,   /* put it in the queue for admission */
    TY_PLAN_APPLY,   /* executor->apply for this attempt (repeat is harmless) */
    TY_PLAN_STOP,    /* executor->stop */
    TY_PLAN_CLEAN    /* terminal and no run: executor->remove by rule, retention timers */
} ty_plan_action;

struct ty_job_plan {
    ty_plan_action action;
    int64_t wake_at; /* wall-clock microseconds of the next timer (deadline), 0 = none */
};

struct ty_job_plan ty_job_plan(const struct ty_job_status *status);

#endif
