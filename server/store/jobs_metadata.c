#include "jobs_inside.h"
#include "trainyard/base/str.h"

static ty_status save_row(struct ty_writer *writer, const struct ty_job_record *record,
                          struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_JOB_METADATA_SAVE, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, record->row);
    ty_bind_text(&bind, record->labels);
    ty_bind_text(&bind, record->description);
    ty_bind_int(&bind, record->updated_at);
    ty_bind_int(&bind, record->revision);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the job", err);
}

static ty_status replace_labels(struct ty_writer *writer, const struct ty_job_record *record,
                                struct ty_error *err)
{
    /* The old ones are found through the stored row: this comes before the row is changed. */
    const int64_t old[] = {record->tenant, record->row};
    ty_status status =
        ty_run_ints(&writer->conn, TY_SQL_JOB_LABELS_DELETE, old, 2, "remove the labels", err);
    return status == TY_OK ? ty_job_labels_insert(writer, record, err) : status;
}

ty_status ty_job_tell_alone(struct ty_writer *writer, const struct ty_job_change *change,
                            int64_t more, struct ty_error *err)
{
    struct ty_counters counters;
    int64_t tenant = change->record->tenant;
    ty_status status = ty_counters_find(writer, tenant, &counters, err);
    if (status == TY_OK)
        status = ty_job_tell(writer, change, &counters, err);
    if (status != TY_OK)
        return status;
    counters.jobs += more;
    return ty_counters_save(writer, tenant, &counters, err);
}

static ty_status tell(struct ty_writer *writer, const struct ty_job_record *record,
                      struct ty_error *err)
{
    struct ty_job_change change = {.record = record,
                                   .from = record->status.state,
                                   .type = TY_EVENT_JOB_UPDATED,
                                   .at = record->updated_at};
    return ty_job_tell_alone(writer, &change, 0, err);
}

ty_status ty_jobs_save_metadata(struct ty_writer *writer, struct ty_job_record *record,
                                const char *labels, const char *description, bool clear_description,
                                struct ty_error *err)
{
    if (!labels && !description && !clear_description)
        return TY_OK;
    struct ty_job_record after = *record;
    int64_t now = ty_now_us(&writer->store->clock);
    after.revision++;
    after.updated_at = now > record->updated_at ? now : record->updated_at;
    if (labels)
        after.labels = labels;
    if (description || clear_description)
        after.description = description;
    ty_status status = ty_writer_begin(writer, err);
    if (status == TY_OK && labels)
        status = replace_labels(writer, &after, err);
    if (status == TY_OK)
        status = save_row(writer, &after, err);
    if (status == TY_OK)
        status = tell(writer, &after, err);
    if (status == TY_OK)
        *record = after;
    return status;
}
