#include "jobs_inside.h"

/* Every text of a record, for copying it out of its statement. */
static ty_status keep_texts(struct ty_texts *texts, struct ty_job_record *record,
                            struct ty_error *err)
{
    const char **const slots[] = {
        &record->id,          &record->name,         &record->object_name, &record->namespace,
        &record->tenant_name, &record->image,        &record->description, &record->labels,
        &record->warnings,    &record->replica_list, &record->executor,    &record->origin_id,
        &record->origin_kind,
    };
    return ty_texts_keep(texts, slots, sizeof(slots) / sizeof(slots[0]), err);
}

/* Position on one job; the caller resets the statement. */
static ty_status seek_job(struct ty_conn *conn, int64_t tenant, const char *id,
                          sqlite3_stmt **stmt_out, struct ty_error *err)
{
    bool row = false;
    ty_status status =
        ty_conn_stmt(conn, tenant ? TY_SQL_JOB_GET : TY_SQL_JOB_GET_ANY, stmt_out, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(*stmt_out);
    ty_bind_text(&bind, id);
    if (tenant)
        ty_bind_int(&bind, tenant);
    status = ty_bind_step(conn, &bind, &row, "read the job", err);
    if (status == TY_OK && !row)
        return ty_fail_code(err, TY_NOT_FOUND, "job_not_found", "no such job");
    return status;
}

ty_status ty_jobs_find(struct ty_writer *writer, int64_t tenant, const char *id,
                       struct ty_job_record *record_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_job_record record;
    ty_status status = seek_job(&writer->conn, tenant, id, &stmt, err);
    if (status == TY_OK)
        status = ty_job_decode(stmt, &record, err);
    if (status == TY_OK)
        status = keep_texts(&writer->found_job, &record, err);
    if (status == TY_OK)
        *record_out = record;
    return status;
}

ty_status ty_jobs_get(struct ty_reader *reader, int64_t tenant, const char *id,
                      ty_job_visitor *visit, void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_job_record record;
    ty_status status = seek_job(&reader->conn, tenant, id, &stmt, err);
    if (status == TY_OK)
        status = ty_job_decode(stmt, &record, err);
    if (status == TY_OK)
        (void)visit(context, &record);
    return status;
}

/* One text of the row that has a job's spec; nothing is appended where it is NULL. */
static ty_status read_spec_text(struct ty_reader *reader, ty_sql sql, int64_t row,
                                struct ty_buf *buf, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool found = false;
    ty_status status = ty_conn_stmt(&reader->conn, sql, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, row);
    status = ty_bind_step(&reader->conn, &bind, &found, "read the spec", err);
    if (status != TY_OK)
        return status;
    if (!found)
        return ty_fail_code(err, TY_NOT_FOUND, "job_not_found", "no such job");
    if (sqlite3_column_type(stmt, 0) == SQLITE_NULL)
        return TY_OK;
    const void *text = sqlite3_column_text(stmt, 0);
    if (!text)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a spec");
    ty_buf_add(buf, text, (size_t)sqlite3_column_bytes(stmt, 0));
    return ty_buf_check(buf, "spec", err);
}

ty_status ty_jobs_spec(struct ty_reader *reader, int64_t row, struct ty_buf *buf,
                       struct ty_error *err)
{
    return read_spec_text(reader, TY_SQL_JOB_SPEC_GET, row, buf, err);
}

ty_status ty_jobs_changes(struct ty_reader *reader, int64_t row, struct ty_buf *buf,
                          struct ty_error *err)
{
    return read_spec_text(reader, TY_SQL_JOB_CHANGES_GET, row, buf, err);
}

/* Two integers and the rows. */
static ty_status walk_two(struct ty_reader *reader, ty_sql sql, const int64_t values[2],
                          struct ty_job_walk *walk, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&reader->conn, sql, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, values[0]);
    ty_bind_int(&bind, values[1]);
    return ty_job_walk_rows(&reader->conn, &bind, walk, err);
}

ty_status ty_jobs_live(struct ty_reader *reader, int64_t after_row, size_t limit,
                       ty_job_visitor *visit, void *context, struct ty_error *err)
{
    struct ty_job_walk walk = {.visit = visit, .context = context};
    const int64_t values[2] = {after_row, (int64_t)limit};
    return walk_two(reader, TY_SQL_JOB_LIVE, values, &walk, err);
}

ty_status ty_jobs_expired(struct ty_reader *reader, int64_t now, int64_t default_keep_us,
                          size_t limit, ty_job_visitor *visit, void *context, struct ty_error *err)
{
    struct ty_job_walk walk = {.visit = visit, .context = context};
    const int64_t own[2] = {now, (int64_t)limit};
    ty_status status = walk_two(reader, TY_SQL_JOB_EXPIRED_OWN, own, &walk, err);
    if (status != TY_OK || walk.stopped || walk.visited >= limit || default_keep_us <= 0)
        return status;
    const int64_t by_default[2] = {now - default_keep_us, (int64_t)(limit - walk.visited)};
    return walk_two(reader, TY_SQL_JOB_EXPIRED_DEFAULT, by_default, &walk, err);
}

static ty_status decode_transition(sqlite3_stmt *stmt, struct ty_transition *out,
                                   struct ty_error *err)
{
    bool ok = true;
    out->sequence = sqlite3_column_int64(stmt, 0);
    out->from = (ty_job_state)sqlite3_column_int(stmt, 1);
    out->to = (ty_job_state)sqlite3_column_int(stmt, 2);
    out->cause = (ty_job_cause)sqlite3_column_int(stmt, 3);
    out->attempt = sqlite3_column_int(stmt, 4);
    out->at = sqlite3_column_int64(stmt, 5);
    out->message = ty_column_text(stmt, 6, &ok);
    return ok ? TY_OK : ty_fail(err, TY_NO_MEMORY, "no memory for a transition");
}

ty_status ty_transitions_list(struct ty_reader *reader, int64_t job_row, int64_t after_sequence,
                              size_t limit, ty_transition_visitor *visit, void *context,
                              struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_TRANSITION_LIST, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, job_row);
    ty_bind_int(&bind, after_sequence);
    ty_bind_int(&bind, (int64_t)limit);
    for (;;) {
        bool row = false;
        struct ty_transition transition;
        status = ty_bind_step(&reader->conn, &bind, &row, "read the transitions", err);
        if (status != TY_OK || !row)
            return status;
        status = decode_transition(stmt, &transition, err);
        if (status != TY_OK || !visit(context, &transition))
            return status;
    }
}
