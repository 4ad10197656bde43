/* What the files of the jobs family share. */
#ifndef STORE_JOBS_INSIDE_H
#define STORE_JOBS_INSIDE_H

#include "inside.h"
#include "trainyard/store/events.h"
#include "trainyard/store/jobs.h"

/* Read the row a job statement stands on. Texts point into the statement. TY_NO_MEMORY, TY_CORRUPT.
 */
ty_status ty_job_decode(sqlite3_stmt *stmt, struct ty_job_record *record_out,
                        struct ty_error *err) TY_MUST_CHECK;

/* Whether a job still needs the engine. */
static inline bool ty_job_live(const struct ty_job_status *status)
{
    return !ty_job_terminal(status->state) || status->run_active;
}

/* Walk the rows of a bound job statement: *more_out is false when the visitor had enough. */
struct ty_job_walk {
    ty_job_visitor *visit;
    void *context;
    const char *tenant_name; /* of every row, for statements that do not read it; else NULL */
    size_t visited;
    bool stopped;
};
ty_status ty_job_walk_rows(struct ty_conn *conn, struct ty_bind *bind, struct ty_job_walk *walk,
                           struct ty_error *err) TY_MUST_CHECK;

/* Append a transition row and its event; `counters` gets the event's sequence. */
struct ty_job_change {
    const struct ty_job_record *record;
    ty_job_state from;
    ty_event_type type;
    int64_t at;
};
ty_status ty_job_tell(struct ty_writer *writer, const struct ty_job_change *change,
                      struct ty_counters *counters, struct ty_error *err) TY_MUST_CHECK;
/* The same for a change of a job that is over or stays as it was: of the counters only the number
 * of jobs moves, by `more`. */
ty_status ty_job_tell_alone(struct ty_writer *writer, const struct ty_job_change *change,
                            int64_t more, struct ty_error *err) TY_MUST_CHECK;

/* Store the labels of a job that has none in the table yet. */
ty_status ty_job_labels_insert(struct ty_writer *writer, const struct ty_job_record *record,
                               struct ty_error *err) TY_MUST_CHECK;

/* Store one event row whose sequence is chosen already. */
ty_status ty_event_store(struct ty_writer *writer, const struct ty_event *event,
                         struct ty_error *err) TY_MUST_CHECK;

/* Remove at most `limit` rows of histories whose jobs are gone. */
ty_status ty_jobs_sweep(struct ty_writer *writer, size_t limit, size_t *removed_out,
                        struct ty_error *err) TY_MUST_CHECK;

/* Run a statement with one or two integer parameters. */
ty_status ty_run_ints(struct ty_conn *conn, ty_sql sql, const int64_t *values, size_t count,
                      const char *what, struct ty_error *err) TY_MUST_CHECK;

#endif
