/* Removal. The job's own row and everything of bounded size go at once; a history that is longer
 * than one piece is left under its row number (which is never used again) and swept by the writer
 * when it is idle. */
#include "jobs_inside.h"

enum { HISTORY_PIECE = 100 };

static ty_status delete_history(struct ty_writer *writer, int64_t job, size_t limit,
                                size_t *removed_out, struct ty_error *err)
{
    const int64_t values[] = {job, (int64_t)limit};
    ty_status status = ty_run_ints(&writer->conn, TY_SQL_TRANSITIONS_DELETE_SOME, values, 2,
                                   "remove the history", err);
    if (status == TY_OK)
        *removed_out = (size_t)sqlite3_changes(writer->conn.db);
    return status;
}

static ty_status delete_parts(struct ty_writer *writer, const struct ty_job_record *record,
                              struct ty_error *err)
{
    /* The labels are found through the job's row, so they go first. */
    const int64_t labels[] = {record->tenant, record->row};
    static const ty_sql parts[] = {TY_SQL_JOB_SPEC_DELETE, TY_SQL_JOB_REPLICAS_DELETE,
                                   TY_SQL_JOB_CLAIMS_DELETE, TY_SQL_JOB_DELETE};
    ty_status status =
        ty_run_ints(&writer->conn, TY_SQL_JOB_LABELS_DELETE, labels, 2, "remove the labels", err);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && status == TY_OK; i++)
        status = ty_run_ints(&writer->conn, parts[i], &record->row, 1, "remove the job", err);
    return status;
}

static ty_status tell_deleted(struct ty_writer *writer, const struct ty_job_record *record,
                              struct ty_error *err)
{
    struct ty_job_change change = {.record = record,
                                   .from = record->status.state,
                                   .type = TY_EVENT_JOB_DELETED,
                                   .at = ty_now_us(&writer->store->clock)};
    return ty_job_tell_alone(writer, &change, -1, err);
}

ty_status ty_jobs_delete(struct ty_writer *writer, int64_t tenant, const char *id,
                         struct ty_error *err)
{
    struct ty_job_record record;
    size_t removed = 0;
    ty_status status = ty_jobs_find(writer, tenant, id, &record, err);
    if (status != TY_OK)
        return status;
    if (ty_job_live(&record.status))
        return ty_fail_code(err, TY_CONFLICT, "job_active", "job %s has not ended", id);
    status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = delete_parts(writer, &record, err);
    if (status == TY_OK)
        status = delete_history(writer, record.row, HISTORY_PIECE, &removed, err);
    if (status == TY_OK && removed == HISTORY_PIECE)
        status = ty_run_ints(&writer->conn, TY_SQL_LEFTOVER_INSERT, &record.row, 1,
                             "remove the history", err);
    if (status == TY_OK)
        status = tell_deleted(writer, &record, err);
    return status;
}

static ty_status first_leftover(struct ty_writer *writer, int64_t *job_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_LEFTOVER_FIRST, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    status = ty_bind_step(&writer->conn, &bind, &row, "find old histories", err);
    if (status == TY_OK)
        *job_out = row ? sqlite3_column_int64(stmt, 0) : 0;
    return status;
}

ty_status ty_jobs_sweep(struct ty_writer *writer, size_t limit, size_t *removed_out,
                        struct ty_error *err)
{
    size_t total = 0;
    ty_status status = TY_OK;
    while (status == TY_OK && total < limit) {
        int64_t job = 0;
        size_t removed = 0;
        size_t want = limit - total;
        status = first_leftover(writer, &job, err);
        if (status != TY_OK || job == 0)
            break;
        status = delete_history(writer, job, want, &removed, err);
        if (status == TY_OK && removed < want)
            status = ty_run_ints(&writer->conn, TY_SQL_LEFTOVER_DELETE, &job, 1,
                                 "remove the history", err);
        total += removed;
    }
    if (status == TY_OK)
        *removed_out = total;
    return status;
}
