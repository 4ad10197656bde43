/* The durable event log: for each tenant a sequence without gaps, appended in the transaction of
 * the change that it tells of, kept 75 hours and trimmed by the writer when it is idle. The live
 * streams are built on top of it. */
#ifndef TRAINYARD_STORE_EVENTS_H
#define TRAINYARD_STORE_EVENTS_H

#include "trainyard/domain/event.h"
#include "trainyard/store/store.h"

#define TY_EVENTS_KEEP_US (INT64_C(75) * 3600 * 1000000)

/* Texts live for the visit; false ends the walk. */
typedef bool ty_event_visitor(void *context, const struct ty_event *event);

/* Append inside a write; `sequence` is chosen and written back. The functions of jobs.h and
 * volumes.h append their own events: call this only for others. */
ty_status ty_events_append(struct ty_writer *writer, struct ty_event *event,
                           struct ty_error *err) TY_MUST_CHECK;

/* What was noticed about a job and may be noticed again: each is appended unless it is told
 * already. A checkpoint is one by its `extra`, the artefacts of a run by its attempt, a warning by
 * both. */
struct ty_event_notice {
    ty_event_type type;
    const char *message; /* NULL = the job's own */
    const char *extra;   /* JSON object text */
};
struct ty_job_record;
ty_status ty_events_notice(struct ty_writer *writer, const struct ty_job_record *record,
                           const struct ty_event_notice *notices, size_t count,
                           struct ty_error *err) TY_MUST_CHECK;

/* Events of a tenant beyond `after`, in order; of one job alone by its row, 0 = of all. *seen_out
 * is up to where nothing more is to be found: the newest sequence of all when the walk came to its
 * end, else that of the last event visited. TY_GONE (code "event_expired") when events just beyond
 * `after` have been trimmed: there would be a gap. */
struct ty_event_query {
    int64_t tenant;
    int64_t job;
    int64_t after;
    size_t limit;
};
ty_status ty_events_list(struct ty_reader *reader, const struct ty_event_query *query,
                         ty_event_visitor *visit, void *context, int64_t *seen_out,
                         struct ty_error *err) TY_MUST_CHECK;

/* The oldest kept and the newest sequence; an empty log gives first = last + 1. */
ty_status ty_events_range(struct ty_reader *reader, int64_t tenant, int64_t *first_out,
                          int64_t *last_out, struct ty_error *err) TY_MUST_CHECK;

/* Hear of events that were committed: called on the writer thread after the COMMIT, once a group,
 * with the tenants that have new ones. Must not wait. A group that was undone may be told of too.
 * NULL: nobody listens. The listener lives until the store is closed. */
struct ty_event_listener {
    void (*committed)(void *context, const int64_t *tenants, size_t count);
    void *context;
};
void ty_events_listen(struct ty_store *store, const struct ty_event_listener *listener);

/* Remove at most `limit` events older than `before` (wall clock), oldest first, of all tenants. */
ty_status ty_events_trim(struct ty_writer *writer, int64_t before, size_t limit,
                         size_t *removed_out, struct ty_error *err) TY_MUST_CHECK;

#endif
