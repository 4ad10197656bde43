/* A job as it stands: its state, why it is there, and the counters that order its history. Pure
 * values. */
#ifndef TRAINYARD_DOMAIN_JOB_H
#define TRAINYARD_DOMAIN_JOB_H

#include "trainyard/base/error.h"
#include "trainyard/base/id.h"

#include <stdbool.h>
#include <stdint.h>

/* Stored as these numbers: append only, never renumber. */
typedef enum {
    TY_JOB_QUEUED = 0,
    TY_JOB_STARTING = 1,
    TY_JOB_RUNNING = 2,
    TY_JOB_RESTARTING = 3,
    TY_JOB_SUSPENDED = 4,
    TY_JOB_CANCELLING = 5,
    TY_JOB_SUCCEEDED = 6, /* the first terminal state */
    TY_JOB_FAILED = 7,
    TY_JOB_CANCELLED = 8,
    TY_JOB_LOST = 9,
    TY_JOB_STATE_COUNT = 10
} ty_job_state;

/* Why a job is in its state (DESIGN 4). Stored as these numbers: append only. */
typedef enum {
    TY_CAUSE_NONE = 0,
    TY_CAUSE_SUBMITTED = 1,
    TY_CAUSE_WAITING_FOR_QUOTA = 2,
    TY_CAUSE_WAITING_FOR_CAPACITY = 3,
    TY_CAUSE_ADMITTED = 4,
    TY_CAUSE_REPLICAS_STARTED = 5,
    TY_CAUSE_COMPLETED = 6,
    TY_CAUSE_UNSCHEDULABLE = 7,
    TY_CAUSE_IMAGE_PULL_FAILED = 8,
    TY_CAUSE_IMAGE_NAME_INVALID = 9,
    TY_CAUSE_VOLUME_NOT_FOUND = 10,
    TY_CAUSE_MOUNT_FAILED = 11,
    TY_CAUSE_CRASH_LOOPING = 12,
    TY_CAUSE_CONTAINER_ERROR = 13,
    TY_CAUSE_OUT_OF_MEMORY = 14,
    TY_CAUSE_EVICTED = 15,
    TY_CAUSE_NODE_LOST = 16,
    TY_CAUSE_PREEMPTED = 17,
    TY_CAUSE_DEADLINE_EXCEEDED = 18,
    TY_CAUSE_RETRY_LIMIT_EXCEEDED = 19,
    TY_CAUSE_CANCELLED_BY_USER = 20,
    TY_CAUSE_SUSPENDED_BY_USER = 21,
    TY_CAUSE_RESUMED_BY_USER = 22,
    TY_CAUSE_OBJECT_DELETED = 23,
    TY_CAUSE_OBJECT_CONFLICT = 24,
    TY_CAUSE_OPERATOR_NOT_RESPONDING = 25,
    TY_CAUSE_SPEC_REJECTED = 26,
    TY_CAUSE_GATEWAY_ERROR = 27,
    TY_CAUSE_REPLICA_RESTARTED = 28,
    TY_CAUSE_SECRET_NOT_FOUND = 29,
    TY_CAUSE_COUNT = 30
} ty_job_cause;

enum { TY_JOB_MESSAGE = 512, TY_REPLICA_NAME = 32, TY_OBJECT_NAME = 64 };

/* How a container ended; all zero while none has failed. */
struct ty_job_exit {
    bool known;
    int32_t code;                  /* 0..255; 128 + signal when a signal ended it */
    int32_t signal;                /* 0 when it exited by itself */
    char replica[TY_REPLICA_NAME]; /* "worker-1" */
};

/* The part of a job that the state machine reads and writes. Times are wall-clock microseconds, 0 =
 * not yet. */
struct ty_job_status {
    ty_job_state state;
    ty_job_cause cause;
    char message[TY_JOB_MESSAGE]; /* for people; "" allowed */
    int64_t sequence;             /* +1 with every stored transition, starts at 1 */
    int32_t attempt;              /* which run of the whole job: 0 before the first start */
    int32_t restarts;             /* replica restarts seen in all attempts */
    int32_t attempt_restarts;     /* of them, those of the current attempt */
    bool run_active;              /* an executor run may exist; only its own word ends it */
    bool cancel_requested;
    bool suspend_requested;
    int64_t started_at;  /* first time running */
    int64_t finished_at; /* entered a terminal state */
    int64_t deadline_at; /* timeout_seconds after the start of the attempt, 0 = none */
    int64_t retry_at;    /* restarting: not before this time */
    int64_t observed_at; /* last word from the executor */
    struct ty_job_exit exit;
};

static inline bool ty_job_terminal(ty_job_state state)
{
    return state >= TY_JOB_SUCCEEDED;
}

/* "queued", "waiting_for_quota"…; static strings. */
const char *ty_job_state_name(ty_job_state state);
const char *ty_job_cause_name(ty_job_cause cause);

/* The cause in words for people, used where an observation brings no message; a static string. */
const char *ty_job_cause_text(ty_job_cause cause);

/* Whether a job that is starting with this cause meets a fault that somebody has to mend, which the
 * start deadline bounds: as against waiting for what is yet to come (a claim, room, a word). */
bool ty_job_cause_hinders(ty_job_cause cause);

/* The reverse; TY_INVALID for an unknown name, output untouched. */
ty_status ty_job_state_parse(const char *name, ty_job_state *state_out) TY_MUST_CHECK;
ty_status ty_job_cause_parse(const char *name, ty_job_cause *cause_out) TY_MUST_CHECK;

/* The name of the PyTorchJob and the prefix of everything that belongs to the job: "<name>-<8
 * base32 digits of the id>" (ty_id_short). `name` is a spec's (its length was judged
 * there); a longer one is cut. */
void ty_object_name_make(const char *name, const char *job_id, char out[TY_OBJECT_NAME]);

#endif
