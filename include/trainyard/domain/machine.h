/* The job state machine: a pure function from a status and one observation to the next status. It
 * is a table of (state, observation) rows; everything a job goes through passes here, inside the
 * store's transaction. */
#ifndef TRAINYARD_DOMAIN_MACHINE_H
#define TRAINYARD_DOMAIN_MACHINE_H

#include "trainyard/domain/job.h"

typedef enum {
    /* the engine */
    TY_SEEN_WAITING = 0, /* not admitted: cause waiting_for_quota or waiting_for_capacity */
    TY_SEEN_ADMITTED,    /* quota and capacity were taken: attempt + 1, run_active from here on */
    TY_SEEN_START_DEADLINE, /* what keeps the attempt from starting has lasted too long */
    TY_SEEN_DEADLINE,       /* timeout_seconds have passed */
    TY_SEEN_START_FAILED,   /* the executor refuses the objects for good: cause says why */
    /* the executor */
    TY_SEEN_STARTING, /* accepted, nothing runs yet: cause volume_not_found, image_pull_failed, … or
                         none */
    TY_SEEN_RUNNING,    /* the Master (or, without one, a Worker) runs */
    TY_SEEN_RESTARTING, /* a replica failed and is being started again */
    TY_SEEN_SUCCEEDED,  /* every process is gone, result good */
    TY_SEEN_FAILED,     /* every process is gone, result bad: cause and exit say why */
    TY_SEEN_STOPPED,    /* every process is gone because we asked */
    TY_SEEN_GONE,       /* the run does not exist (any more) and left no result */
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
    int64_t retry_at;             /* RESTARTING: when the next start is due, 0 = unknown */
    struct ty_job_exit exit;
    int64_t at; /* wall-clock microseconds; earlier than what is stored counts as "now" there */
};

/* What the machine needs of the spec. */
struct ty_job_rules {
    int64_t timeout_us; /* 0 = none */
    /* The gateway itself stops a run with this many replica restarts in one attempt
     * (retry_limit_exceeded); 0 = the executor keeps the limit. For runs whose restarts the
     * operator does not count: `exit_code`, max_retries + 1. */
    int32_t restart_limit;
};

/* The status of a job that has just been submitted: queued, or suspended when it asks to be.
 * Sequence 1. */
void ty_job_begin(bool suspended, struct ty_job_status *status_out);

typedef enum {
    TY_STEP_CHANGED,  /* *next_out has sequence + 1: store it with one transition row */
    TY_STEP_TOUCHED,  /* only observed_at, restarts, run_active or requests moved: store, no
                         transition */
    TY_STEP_IGNORED,  /* late, repeated or without meaning here: store nothing */
    TY_STEP_FORBIDDEN /* a user's action the state does not allow (409) */
} ty_step_result;

/* Decide. What the table says beyond DESIGN 4:
 *   - DEADLINE on a live run gives `cancelling` with cause deadline_exceeded (the run is being
 * stopped); the word that it has stopped gives `failed` with that cause. In `cancelling` the cause
 * is always the reason of the stop.
 *   - START_DEADLINE does the same to a run that is kept from starting by a cause that
 * ty_job_cause_hinders, and to no other; the message given says what it was.
 *   - A result that came first wins: SUCCEEDED or FAILED while cancelling, suspended or queued
 * again (a run that had not stopped yet) ends the job with that result.
 *   - GONE or STOPPED that nobody asked for gives `lost` (object_deleted): never started again by
 * itself.
 *   - SUSPEND of a suspended job, RESUME of a job that is queued or runs, CANCEL of a cancelling or
 * cancelled one are IGNORED (the job is where the user wants it); against `cancelling` or a
 * terminal state they are FORBIDDEN.
 *   - START_FAILED ends the job but keeps run_active, so that ty_job_plan asks the executor to stop
 * what may be there. Terminal never changes (only run_active may fall); sequence grows by exactly
 * one with TY_STEP_CHANGED; an observation of another attempt than the current one is ignored.
 * *next_out is written for CHANGED and TOUCHED. */
ty_step_result ty_job_step(const struct ty_job_status *now, const struct ty_observation *seen,
                           const struct ty_job_rules *rules, struct ty_job_status *next_out);

/* What must happen next to a job in this status (level-triggered: asked again after every commit
 * and at start). */
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
