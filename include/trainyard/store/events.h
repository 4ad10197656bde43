/* The durable event log: for each tenant a sequence without gaps, appended in the transaction of
 * the change that it tells of, kept 75 hours and trimmed by the writer when it is idle. The live
 * streams are built on top of it. */
#ifndef TRAINYARD_STORE_EVENTS_H
#define TRAINYARD_STORE_EVENTS_H

#include "trainyard/domain/job.h"
#include "trainyard/store/store.h"

#define TY_EVENTS_KEEP_US (INT64_C(75) * 3600 * 1000000)

/* Stored as these numbers: append only. */
typedef enum {
    TY_EVENT_JOB_CREATED = 1,
    TY_EVENT_JOB_STATE_CHANGED = 2, /* a transition was stored */
    TY_EVENT_JOB_UPDATED = 3,       /* labels or description */
    TY_EVENT_JOB_DELETED = 4,
    TY_EVENT_VOLUME_CREATED = 5,
    TY_EVENT_VOLUME_DELETED = 6
} ty_event_type;

/* "job.created"…; a static string, "unknown" for a number of a newer version. */
const char *ty_event_type_name(ty_event_type type);

/* One event; texts live for the visit. An event stands for itself: it stays readable when its job
 * is gone. */
struct ty_event {
    int64_t tenant;
    int64_t sequence; /* within the tenant: 1, 2, 3… */
    ty_event_type type;
    int64_t at;
    int64_t job;          /* row, 0 = not about a job */
    const char *job_id;   /* NULL = not about a job */
    int64_t job_sequence; /* of the transition, 0 = not about a transition */
    ty_job_state state;   /* of the job after the event */
    ty_job_cause cause;
    int32_t attempt;
    const char *message; /* "" allowed */
    const char *extra;   /* JSON object text with what this type has more, "{}" = nothing */
};
typedef bool ty_event_visitor(void *context, const struct ty_event *event);

/* Append inside a write; `sequence` is chosen and written back. The functions of jobs.h and
 * volumes.h append their own events: call this only for others. */
ty_status ty_events_append(struct ty_writer *writer, struct ty_event *event,
                           struct ty_error *err) TY_MUST_CHECK;

/* Events of a tenant beyond `after`, in order. TY_GONE (code "events_trimmed") when events just
 * beyond `after` have been trimmed: there would be a gap. */
ty_status ty_events_list(struct ty_reader *reader, int64_t tenant, int64_t after, size_t limit,
                         ty_event_visitor *visit, void *context,
                         struct ty_error *err) TY_MUST_CHECK;

/* The oldest kept and the newest sequence; an empty log gives first = last + 1. */
ty_status ty_events_range(struct ty_reader *reader, int64_t tenant, int64_t *first_out,
                          int64_t *last_out, struct ty_error *err) TY_MUST_CHECK;

/* Remove at most `limit` events older than `before` (wall clock), oldest first, of all tenants. */
ty_status ty_events_trim(struct ty_writer *writer, int64_t before, size_t limit,
                         size_t *removed_out, struct ty_error *err) TY_MUST_CHECK;

#endif
