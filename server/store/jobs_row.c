#include "jobs_inside.h"
#include "trainyard/base/str.h"

/* The order of JOB_COLUMNS in statements.c, then the replica list. */
enum job_column {
    COLUMN_ROW,
    COLUMN_TENANT,
    COLUMN_TENANT_NAME,
    COLUMN_ID,
    COLUMN_NAME,
    COLUMN_OBJECT_NAME,
    COLUMN_NAMESPACE,
    COLUMN_STATE,
    COLUMN_CAUSE,
    COLUMN_RUN_ACTIVE,
    COLUMN_CANCEL_REQUESTED,
    COLUMN_SUSPEND_REQUESTED,
    COLUMN_SEQUENCE,
    COLUMN_REVISION,
    COLUMN_ATTEMPT,
    COLUMN_RESTARTS,
    COLUMN_ATTEMPT_RESTARTS,
    COLUMN_REPLICAS,
    COLUMN_GPUS,
    COLUMN_EPOCHS,
    COLUMN_PRIORITY,
    COLUMN_MAX_RETRIES,
    COLUMN_TIMEOUT_SECONDS,
    COLUMN_KEEP_SECONDS,
    COLUMN_CREATED_AT,
    COLUMN_UPDATED_AT,
    COLUMN_STARTED_AT,
    COLUMN_FINISHED_AT,
    COLUMN_DEADLINE_AT,
    COLUMN_RETRY_AT,
    COLUMN_OBSERVED_AT,
    COLUMN_EXIT_CODE,
    COLUMN_EXIT_SIGNAL,
    COLUMN_EXIT_REPLICA,
    COLUMN_EXECUTOR,
    COLUMN_ORIGIN_ID,
    COLUMN_ORIGIN_KIND,
    COLUMN_IMAGE,
    COLUMN_MESSAGE,
    COLUMN_LABELS,
    COLUMN_DESCRIPTION,
    COLUMN_WARNINGS,
    COLUMN_ELASTIC_MIN,
    COLUMN_ELASTIC_MAX,
    COLUMN_FIRST_REPLICAS,
    COLUMN_REPLICA_LIST
};

static void decode_status(sqlite3_stmt *stmt, struct ty_job_status *status, bool *ok)
{
    const char *message = ty_column_text(stmt, COLUMN_MESSAGE, ok);
    const char *replica = ty_column_text(stmt, COLUMN_EXIT_REPLICA, ok);
    status->state = (ty_job_state)sqlite3_column_int(stmt, COLUMN_STATE);
    status->cause = (ty_job_cause)sqlite3_column_int(stmt, COLUMN_CAUSE);
    status->sequence = sqlite3_column_int64(stmt, COLUMN_SEQUENCE);
    status->attempt = sqlite3_column_int(stmt, COLUMN_ATTEMPT);
    status->restarts = sqlite3_column_int(stmt, COLUMN_RESTARTS);
    status->attempt_restarts = sqlite3_column_int(stmt, COLUMN_ATTEMPT_RESTARTS);
    status->run_active = sqlite3_column_int(stmt, COLUMN_RUN_ACTIVE) != 0;
    status->cancel_requested = sqlite3_column_int(stmt, COLUMN_CANCEL_REQUESTED) != 0;
    status->suspend_requested = sqlite3_column_int(stmt, COLUMN_SUSPEND_REQUESTED) != 0;
    status->started_at = sqlite3_column_int64(stmt, COLUMN_STARTED_AT);
    status->finished_at = sqlite3_column_int64(stmt, COLUMN_FINISHED_AT);
    status->deadline_at = sqlite3_column_int64(stmt, COLUMN_DEADLINE_AT);
    status->retry_at = sqlite3_column_int64(stmt, COLUMN_RETRY_AT);
    status->observed_at = sqlite3_column_int64(stmt, COLUMN_OBSERVED_AT);
    status->exit.known = sqlite3_column_type(stmt, COLUMN_EXIT_CODE) != SQLITE_NULL;
    status->exit.code = sqlite3_column_int(stmt, COLUMN_EXIT_CODE);
    status->exit.signal = sqlite3_column_int(stmt, COLUMN_EXIT_SIGNAL);
    ty_str_copy(status->message, sizeof(status->message), message ? message : "");
    ty_str_copy(status->exit.replica, sizeof(status->exit.replica), replica ? replica : "");
}

static void decode_texts(sqlite3_stmt *stmt, struct ty_job_record *record, bool *ok)
{
    record->id = ty_column_text(stmt, COLUMN_ID, ok);
    record->name = ty_column_text(stmt, COLUMN_NAME, ok);
    record->object_name = ty_column_text(stmt, COLUMN_OBJECT_NAME, ok);
    record->namespace = ty_column_text(stmt, COLUMN_NAMESPACE, ok);
    record->tenant_name = ty_column_text(stmt, COLUMN_TENANT_NAME, ok);
    record->image = ty_column_text(stmt, COLUMN_IMAGE, ok);
    record->description = ty_column_text(stmt, COLUMN_DESCRIPTION, ok);
    record->labels = ty_column_text(stmt, COLUMN_LABELS, ok);
    record->warnings = ty_column_text(stmt, COLUMN_WARNINGS, ok);
    record->replica_list = ty_column_text(stmt, COLUMN_REPLICA_LIST, ok);
    record->executor = ty_column_text(stmt, COLUMN_EXECUTOR, ok);
    record->origin_id = ty_column_text(stmt, COLUMN_ORIGIN_ID, ok);
    record->origin_kind = ty_column_text(stmt, COLUMN_ORIGIN_KIND, ok);
}

ty_status ty_job_decode(sqlite3_stmt *stmt, struct ty_job_record *record_out, struct ty_error *err)
{
    struct ty_job_record record = {
        .row = sqlite3_column_int64(stmt, COLUMN_ROW),
        .tenant = sqlite3_column_int64(stmt, COLUMN_TENANT),
        .replicas = sqlite3_column_int(stmt, COLUMN_REPLICAS),
        .gpus = sqlite3_column_int(stmt, COLUMN_GPUS),
        .epochs = sqlite3_column_int(stmt, COLUMN_EPOCHS),
        .priority = sqlite3_column_int(stmt, COLUMN_PRIORITY),
        .max_retries = sqlite3_column_int(stmt, COLUMN_MAX_RETRIES),
        .timeout_seconds = sqlite3_column_int64(stmt, COLUMN_TIMEOUT_SECONDS),
        .keep_seconds = sqlite3_column_int64(stmt, COLUMN_KEEP_SECONDS),
        .created_at = sqlite3_column_int64(stmt, COLUMN_CREATED_AT),
        .updated_at = sqlite3_column_int64(stmt, COLUMN_UPDATED_AT),
        .revision = sqlite3_column_int64(stmt, COLUMN_REVISION),
        .elastic_min = sqlite3_column_int(stmt, COLUMN_ELASTIC_MIN),
        .elastic_max = sqlite3_column_int(stmt, COLUMN_ELASTIC_MAX),
        .first_replicas = sqlite3_column_int(stmt, COLUMN_FIRST_REPLICAS),
    };
    bool ok = true;
    decode_texts(stmt, &record, &ok);
    decode_status(stmt, &record.status, &ok);
    if (!ok)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a job record");
    *record_out = record;
    return TY_OK;
}

ty_status ty_job_walk_rows(struct ty_conn *conn, struct ty_bind *bind, struct ty_job_walk *walk,
                           struct ty_error *err)
{
    bool row = false;
    ty_status status = ty_bind_step(conn, bind, &row, "read jobs", err);
    while (status == TY_OK && row && !walk->stopped) {
        struct ty_job_record record;
        status = ty_job_decode(bind->stmt, &record, err);
        if (status != TY_OK)
            break;
        if (walk->tenant_name)
            record.tenant_name = walk->tenant_name;
        walk->visited++;
        walk->stopped = !walk->visit(walk->context, &record);
        if (!walk->stopped)
            status = ty_bind_step(conn, bind, &row, "read jobs", err);
    }
    return status;
}

ty_status ty_run_ints(struct ty_conn *conn, ty_sql sql, const int64_t *values, size_t count,
                      const char *what, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(conn, sql, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    for (size_t i = 0; i < count; i++)
        ty_bind_int(&bind, values[i]);
    return ty_bind_step(conn, &bind, NULL, what, err);
}
