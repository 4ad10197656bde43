/* Events: what the gateway tells of, and what it says. Pure values. */
#ifndef TRAINYARD_DOMAIN_EVENT_H
#define TRAINYARD_DOMAIN_EVENT_H

#include "trainyard/domain/job.h"

/* Stored as these numbers: append only, below 64. A change of a job's state, its first one too, has
 * the number of the state reached. */
typedef enum {
    TY_EVENT_JOB_UPDATED = 3, /* labels or description */
    TY_EVENT_JOB_DELETED = 4,
    TY_EVENT_VOLUME_CREATED = 5,
    TY_EVENT_VOLUME_DELETED = 6,
    TY_EVENT_ARTIFACT_READY = 7,     /* a run ended and left files in its output */
    TY_EVENT_CHECKPOINT_CREATED = 8, /* a checkpoint was noticed */
    TY_EVENT_WARNING = 9,   /* something that its owner should know and that ends nothing */
    TY_EVENT_JOB_STATE = 16 /* + ty_job_state */
} ty_event_type;

static inline ty_event_type ty_event_of_state(ty_job_state state)
{
    return (ty_event_type)((unsigned)TY_EVENT_JOB_STATE + (unsigned)state);
}

/* "job.running"…; a static string, "unknown" for a number of a newer version. */
const char *ty_event_type_name(ty_event_type type);

/* The reverse; TY_INVALID for an unknown name, output untouched. */
ty_status ty_event_type_parse(const char *name, ty_event_type *type_out) TY_MUST_CHECK;

/* A set of types has one bit each. */
static inline uint64_t ty_event_type_bit(ty_event_type type)
{
    return UINT64_C(1) << ((unsigned)type & 63U);
}

/* One event; texts are borrowed. It stands for itself: it stays readable when its job is gone. */
struct ty_event {
    int64_t tenant;
    int64_t sequence; /* within the tenant: 1, 2, 3… */
    ty_event_type type;
    int64_t at;
    int64_t job;          /* row, 0 = not about a job */
    const char *job_id;   /* NULL = not about a job; of a volume: the job that made it */
    const char *name;     /* of the job or the volume; NULL = "" */
    const char *labels;   /* of the job, JSON object text; NULL = "{}" */
    int64_t job_sequence; /* of the job's newest transition, 0 = not about a job */
    bool has_from;        /* a change of state: from this one */
    ty_job_state from;
    ty_job_state state; /* of the job after the event */
    ty_job_cause cause;
    int32_t attempt;
    bool has_exit;
    int32_t exit_code;
    int32_t exit_signal;
    const char *exit_replica; /* NULL = "" */
    const char *message;      /* NULL = "" */
    const char *extra;        /* JSON object text with what this type has more; NULL = "{}" */
};

#endif
