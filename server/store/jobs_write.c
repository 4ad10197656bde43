#include "jobs_inside.h"
#include "trainyard/base/str.h"

#include <string.h>

/* A clock that is set back a little (NTP) is smoothed over, so that times of creation grow with the
 * rows and a filter by time is a range of rows. After a larger step the true time is kept, and such
 * filters look at every row instead. */
#define CLOCK_SLACK_US INT64_C(300000000)
static const char disordered_name[] = "jobs_disordered";

ty_status ty_jobs_remember(struct ty_writer *writer, struct ty_error *err)
{
    int64_t disordered = 0;
    ty_status status =
        ty_conn_int(&writer->conn, "SELECT created_at FROM jobs ORDER BY row DESC LIMIT 1", 0,
                    &writer->memory.last_created_at, err);
    if (status == TY_OK)
        status = ty_conn_int(&writer->conn, "SELECT value FROM meta WHERE name = 'jobs_disordered'",
                             0, &disordered, err);
    writer->memory.disordered = disordered != 0;
    return status;
}

static ty_status mark_disordered(struct ty_writer *writer, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_META_SET, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_text(&bind, disordered_name);
    ty_bind_int(&bind, 1);
    writer->memory.disordered = true;
    return ty_bind_step(&writer->conn, &bind, NULL, "note the clock", err);
}

/* Choose created_at so that it does not lie before the newest job's. */
static ty_status order_creation(struct ty_writer *writer, struct ty_job_record *record,
                                struct ty_error *err)
{
    struct ty_writer_memory *memory = &writer->memory;
    ty_status status = TY_OK;
    if (record->created_at < memory->last_created_at - CLOCK_SLACK_US && !memory->disordered)
        status = mark_disordered(writer, err);
    else if (record->created_at < memory->last_created_at &&
             record->created_at >= memory->last_created_at - CLOCK_SLACK_US)
        record->created_at = memory->last_created_at;
    memory->last_created_at = record->created_at;
    return status;
}

static void bind_exit(struct ty_bind *bind, const struct ty_job_exit *ended)
{
    if (ended->known)
        ty_bind_int(bind, ended->code);
    else
        ty_bind_text(bind, NULL);
    ty_bind_int(bind, ended->known ? ended->signal : 0);
    ty_bind_text(bind, ended->known ? ended->replica : "");
}

static void bind_job(struct ty_bind *bind, const struct ty_job_record *record)
{
    const struct ty_job_status *status = &record->status;
    ty_bind_int(bind, record->tenant);
    ty_bind_text(bind, record->id);
    ty_bind_text(bind, record->name);
    ty_bind_text(bind, record->object_name);
    ty_bind_text(bind, record->namespace);
    const int64_t numbers[] = {
        status->state,
        status->cause,
        ty_job_live(status),
        status->run_active,
        status->cancel_requested,
        status->suspend_requested,
        status->sequence,
        record->revision,
        status->attempt,
        status->restarts,
        record->replicas,
        record->gpus,
        record->epochs,
        record->priority,
        record->max_retries,
        record->timeout_seconds,
        record->keep_seconds,
        record->created_at,
        record->updated_at,
        status->started_at,
        status->finished_at,
        status->deadline_at,
        status->retry_at,
        status->observed_at,
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ty_bind_int(bind, numbers[i]);
    bind_exit(bind, &status->exit);
    const char *const texts[] = {
        record->executor,    record->origin_id,
        record->origin_kind, record->image,
        status->message,     record->labels ? record->labels : "{}",
        record->description, record->warnings ? record->warnings : "[]",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        ty_bind_text(bind, texts[i]);
    ty_bind_int(bind, status->attempt_restarts);
    ty_bind_int(bind, record->elastic_min);
    ty_bind_int(bind, record->elastic_max);
}

static ty_status insert_row(struct ty_writer *writer, struct ty_job_record *record,
                            struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_JOB_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    bind_job(&bind, record);
    status = ty_bind_step(&writer->conn, &bind, NULL, "store the job", err);
    if (status != TY_OK && sqlite3_extended_errcode(writer->conn.db) == SQLITE_CONSTRAINT_UNIQUE)
        return ty_fail_code(err, TY_CONFLICT, "object_name_taken",
                            "an object of that name exists in the namespace");
    if (status == TY_OK)
        record->row = sqlite3_last_insert_rowid(writer->conn.db);
    return status;
}

static ty_status insert_spec(struct ty_writer *writer, const struct ty_job_insert *insert,
                             struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_JOB_SPEC_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, insert->record.row);
    ty_bind_text_len(&bind, insert->spec, insert->spec_len);
    ty_bind_text(&bind, insert->record.origin_changes);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the spec", err);
}

ty_status ty_job_labels_insert(struct ty_writer *writer, const struct ty_job_record *record,
                               struct ty_error *err)
{
    if (!record->labels || ty_str_equal(record->labels, "{}"))
        return TY_OK;
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_JOB_LABELS_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, record->tenant);
    ty_bind_int(&bind, record->row);
    ty_bind_text(&bind, record->labels);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the labels", err);
}

static ty_status insert_claims(struct ty_writer *writer, const struct ty_job_insert *insert,
                               struct ty_error *err)
{
    for (size_t i = 0; i < insert->claims_count; i++) {
        ty_auto_stmt stmt = NULL;
        ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_JOB_CLAIM_INSERT, &stmt, err);
        if (status != TY_OK)
            return status;
        struct ty_bind bind = ty_bind_start(stmt);
        ty_bind_int(&bind, insert->record.row);
        ty_bind_text(&bind, insert->claims[i]);
        ty_bind_text(&bind, insert->record.namespace);
        ty_bind_int(&bind, insert->record.tenant);
        status = ty_bind_step(&writer->conn, &bind, NULL, "store a claim", err);
        if (status != TY_OK)
            return status;
    }
    return TY_OK;
}

ty_status ty_job_tell(struct ty_writer *writer, const struct ty_job_change *change,
                      struct ty_counters *counters, struct ty_error *err)
{
    const struct ty_job_record *record = change->record;
    const struct ty_job_status *now = &record->status;
    struct ty_event event = {
        .tenant = record->tenant,
        .sequence = ++counters->last_event,
        .type = change->type,
        .at = change->at,
        .job = record->row,
        .job_id = record->id,
        .name = record->name,
        .labels = record->labels,
        .job_sequence = now->sequence,
        .has_from = change->type >= TY_EVENT_JOB_STATE && now->sequence > 1,
        .from = change->from,
        .state = now->state,
        .cause = now->cause,
        .attempt = now->attempt,
        .has_exit = now->exit.known,
        .exit_code = now->exit.code,
        .exit_signal = now->exit.signal,
        .exit_replica = now->exit.replica,
        .message = now->message,
    };
    ty_status status = ty_event_store(writer, &event, err);
    if (status != TY_OK || change->type == TY_EVENT_JOB_UPDATED ||
        change->type == TY_EVENT_JOB_DELETED)
        return status;
    ty_auto_stmt stmt = NULL;
    status = ty_conn_stmt(&writer->conn, TY_SQL_TRANSITION_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    const int64_t numbers[] = {record->row, now->sequence, change->from, now->state,
                               now->cause,  now->attempt,  change->at};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ty_bind_int(&bind, numbers[i]);
    ty_bind_text(&bind, now->message);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the transition", err);
}

/* Read-only judgement before anything is written. */
static ty_status judge_insert(struct ty_writer *writer, const struct ty_job_insert *insert,
                              const struct ty_quota *quota, struct ty_counters *counters,
                              struct ty_error *err)
{
    ty_status status = ty_counters_find(writer, insert->record.tenant, counters, err);
    if (status != TY_OK)
        return status;
    if (insert->record.status.state == TY_JOB_QUEUED && quota && quota->max_queued >= 0 &&
        counters->queued >= quota->max_queued)
        return ty_fail_code(err, TY_LIMITED, "quota_exceeded",
                            "%lld jobs are queued already, the tenant may have %d",
                            (long long)counters->queued, quota->max_queued);
    return TY_OK;
}

static void count_in(struct ty_counters *counters, const struct ty_job_status *status, int sign)
{
    counters->queued += status->state == TY_JOB_QUEUED ? sign : 0;
    counters->live += ty_job_live(status) ? sign : 0;
}

ty_status ty_jobs_insert(struct ty_writer *writer, struct ty_job_insert *insert,
                         const struct ty_quota *quota, struct ty_error *err)
{
    struct ty_job_insert made = *insert;
    struct ty_counters counters;
    ty_status status = judge_insert(writer, &made, quota, &counters, err);
    if (status == TY_OK)
        status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = order_creation(writer, &made.record, err);
    if (status != TY_OK)
        return status;
    made.record.revision = 1;
    made.record.updated_at = made.record.created_at;
    if (made.record.status.sequence < 1)
        made.record.status.sequence = 1;
    status = insert_row(writer, &made.record, err);
    if (status == TY_OK)
        status = insert_spec(writer, &made, err);
    if (status == TY_OK)
        status = ty_job_labels_insert(writer, &made.record, err);
    if (status == TY_OK)
        status = insert_claims(writer, &made, err);
    struct ty_job_change change = {.record = &made.record,
                                   .from = made.record.status.state,
                                   .type = ty_event_of_state(made.record.status.state),
                                   .at = made.record.created_at};
    if (status == TY_OK)
        status = ty_job_tell(writer, &change, &counters, err);
    counters.jobs++;
    count_in(&counters, &made.record.status, 1);
    if (status == TY_OK)
        status = ty_counters_save(writer, made.record.tenant, &counters, err);
    if (status == TY_OK)
        *insert = made;
    return status;
}

static ty_status save_changed(struct ty_writer *writer, const struct ty_job_record *record,
                              struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_JOB_STEP, &stmt, err);
    if (status != TY_OK)
        return status;
    const struct ty_job_status *now = &record->status;
    const int64_t numbers[] = {
        record->row,
        now->state,
        now->cause,
        ty_job_live(now),
        now->run_active,
        now->cancel_requested,
        now->suspend_requested,
        now->sequence,
        record->revision,
        now->attempt,
        now->restarts,
        record->updated_at,
        now->started_at,
        now->finished_at,
        now->deadline_at,
        now->retry_at,
        now->observed_at,
    };
    struct ty_bind bind = ty_bind_start(stmt);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ty_bind_int(&bind, numbers[i]);
    bind_exit(&bind, &now->exit);
    ty_bind_text(&bind, now->message);
    ty_bind_int(&bind, now->attempt_restarts);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the step", err);
}

/* Columns that no page is sorted by, in a statement that touches no index but when the run ends. */
static ty_status save_touched(struct ty_writer *writer, const struct ty_job_record *record,
                              bool run_moved, struct ty_error *err)
{
    const struct ty_job_status *now = &record->status;
    const int64_t touch[] = {record->row,      now->cancel_requested, now->suspend_requested,
                             now->restarts,    now->observed_at,      record->revision,
                             now->deadline_at, now->retry_at,         now->attempt_restarts};
    ty_status status = ty_run_ints(&writer->conn, TY_SQL_JOB_TOUCH, touch,
                                   sizeof(touch) / sizeof(touch[0]), "store the step", err);
    if (status != TY_OK || !run_moved)
        return status;
    const int64_t settle[] = {record->row, ty_job_live(now), now->run_active};
    return ty_run_ints(&writer->conn, TY_SQL_JOB_SETTLE, settle, 3, "store the step", err);
}

static ty_status save_replicas(struct ty_writer *writer, int64_t row, const char *list,
                               struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_JOB_REPLICAS_SAVE, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, row);
    ty_bind_text(&bind, list);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the replicas", err);
}

/* Counters, the event and the transition, and the claims of a job that is no longer live. */
static ty_status follow_step(struct ty_writer *writer, const struct ty_job_record *before,
                             const struct ty_job_record *after, bool changed, struct ty_error *err)
{
    bool was_live = ty_job_live(&before->status);
    bool live = ty_job_live(&after->status);
    if (!changed && was_live == live)
        return TY_OK;
    struct ty_counters counters;
    ty_status status = ty_counters_find(writer, after->tenant, &counters, err);
    if (status != TY_OK)
        return status;
    count_in(&counters, &before->status, -1);
    count_in(&counters, &after->status, 1);
    struct ty_job_change change = {.record = after,
                                   .from = before->status.state,
                                   .type = ty_event_of_state(after->status.state),
                                   .at = after->updated_at};
    if (changed)
        status = ty_job_tell(writer, &change, &counters, err);
    if (status == TY_OK)
        status = ty_counters_save(writer, after->tenant, &counters, err);
    if (status == TY_OK && was_live && !live)
        status = ty_run_ints(&writer->conn, TY_SQL_JOB_CLAIMS_DELETE, &after->row, 1,
                             "forget the claims", err);
    return status;
}

static int64_t time_of_step(struct ty_writer *writer, const struct ty_job_record *before,
                            const struct ty_job_status *next)
{
    int64_t at = ty_now_us(&writer->store->clock);
    if (next->finished_at > 0 && ty_job_terminal(next->state) &&
        !ty_job_terminal(before->status.state))
        at = next->finished_at; /* the history ends when the job does */
    return at > before->updated_at ? at : before->updated_at;
}

ty_status ty_jobs_save_step(struct ty_writer *writer, struct ty_job_record *record,
                            ty_step_result result, const struct ty_job_status *next,
                            const char *replica_list, struct ty_error *err)
{
    bool changed = result == TY_STEP_CHANGED;
    if (!changed && result != TY_STEP_TOUCHED && !replica_list)
        return TY_OK;
    struct ty_job_record after = *record;
    ty_status status = ty_writer_begin(writer, err);
    if (status != TY_OK)
        return status;
    if (changed || result == TY_STEP_TOUCHED)
        after.status = *next;
    bool visible = changed || replica_list || after.status.restarts != record->status.restarts ||
                   after.status.cancel_requested != record->status.cancel_requested ||
                   after.status.suspend_requested != record->status.suspend_requested;
    after.revision += visible;
    if (changed) {
        after.updated_at = time_of_step(writer, record, next);
        status = save_changed(writer, &after, err);
    } else {
        status =
            save_touched(writer, &after, after.status.run_active != record->status.run_active, err);
    }
    if (status == TY_OK && replica_list)
        status = save_replicas(writer, after.row, replica_list, err);
    if (status == TY_OK)
        status = follow_step(writer, record, &after, changed, err);
    if (status != TY_OK)
        return status;
    if (replica_list)
        after.replica_list = replica_list;
    *record = after;
    return TY_OK;
}
