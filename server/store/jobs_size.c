/* The size of an elastic job: its number of workers, and what all runs hold. */
#include "jobs_inside.h"

static ty_status save_row(struct ty_writer *writer, const struct ty_job_record *record,
                          struct ty_error *err)
{
    const int64_t row[] = {record->row,        record->replicas,
                           record->gpus,       record->first_replicas,
                           record->updated_at, record->revision};
    const int64_t spec[] = {record->row, record->replicas};
    ty_status status = ty_run_ints(&writer->conn, TY_SQL_JOB_SIZE_SAVE, row,
                                   sizeof(row) / sizeof(row[0]), "store the size", err);
    return status == TY_OK
               ? ty_run_ints(&writer->conn, TY_SQL_JOB_SPEC_SIZE, spec, 2, "store the size", err)
               : status;
}

ty_status ty_jobs_save_size(struct ty_writer *writer, struct ty_job_record *record,
                            int32_t replicas, struct ty_error *err)
{
    struct ty_job_record after = *record;
    int64_t now = ty_now_us(&writer->store->clock);
    after.revision++;
    after.updated_at = now > record->updated_at ? now : record->updated_at;
    after.gpus = record->gpus / record->replicas * replicas;
    after.replicas = replicas;
    if (after.first_replicas == 0)
        after.first_replicas = record->replicas;
    struct ty_job_change change = {.record = &after,
                                   .from = after.status.state,
                                   .type = TY_EVENT_JOB_UPDATED,
                                   .at = after.updated_at};
    ty_status status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = save_row(writer, &after, err);
    if (status == TY_OK)
        status = ty_job_tell_alone(writer, &change, 0, err);
    if (status == TY_OK)
        *record = after;
    return status;
}

ty_status ty_jobs_use(struct ty_writer *writer, const struct ty_job_record *record,
                      struct ty_jobs_use *use_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_JOBS_USE, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, record->tenant);
    ty_bind_int(&bind, record->row);
    status = ty_bind_step(&writer->conn, &bind, &row, "add up what runs hold", err);
    if (status == TY_OK)
        *use_out = (struct ty_jobs_use){.replicas = sqlite3_column_int64(stmt, 0),
                                        .gpus = sqlite3_column_int64(stmt, 1),
                                        .tenant_replicas = sqlite3_column_int64(stmt, 2),
                                        .tenant_gpus = sqlite3_column_int64(stmt, 3)};
    return status;
}
