/* A tenant's counters change with every job, so that quotas cost O(1). Within a transaction they
 * are kept in the writer's memory, which is taken back with the write that changed it, and stored
 * once: before COMMIT, or when another tenant's are wanted. */
#include "inside.h"
#include "jobs_inside.h"

ty_status ty_counters_get(struct ty_conn *conn, int64_t tenant, struct ty_counters *counters_out,
                          struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    ty_status status = ty_conn_stmt(conn, TY_SQL_COUNTERS_GET, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant);
    status = ty_bind_step(conn, &bind, &row, "read the counters", err);
    if (status != TY_OK)
        return status;
    if (!row)
        return ty_fail_code(err, TY_NOT_FOUND, "tenant_not_found", "no such tenant");
    *counters_out = (struct ty_counters){.jobs = sqlite3_column_int64(stmt, 0),
                                         .queued = sqlite3_column_int64(stmt, 1),
                                         .live = sqlite3_column_int64(stmt, 2),
                                         .last_event = sqlite3_column_int64(stmt, 3)};
    return TY_OK;
}

static ty_status store(struct ty_writer *writer, struct ty_error *err)
{
    struct ty_writer_counters *held = &writer->memory.counters;
    const struct ty_counters *now = &held->now;
    const int64_t values[] = {held->tenant, now->jobs, now->queued, now->live, now->last_event};
    if (!held->changed)
        return TY_OK;
    ty_status status =
        ty_run_ints(&writer->conn, TY_SQL_COUNTERS_SAVE, values, 5, "store the counters", err);
    if (status == TY_OK)
        held->changed = false;
    return status;
}

/* Hold this tenant's. A write that fails has stored others' as they were before it: no harm. */
static ty_status hold(struct ty_writer *writer, int64_t tenant, struct ty_error *err)
{
    struct ty_writer_counters *held = &writer->memory.counters;
    struct ty_counters counters;
    if (held->tenant == tenant)
        return TY_OK;
    ty_status status = store(writer, err);
    if (status == TY_OK)
        status = ty_counters_get(&writer->conn, tenant, &counters, err);
    if (status == TY_OK)
        *held = (struct ty_writer_counters){.tenant = tenant, .now = counters};
    return status;
}

ty_status ty_counters_find(struct ty_writer *writer, int64_t tenant,
                           struct ty_counters *counters_out, struct ty_error *err)
{
    ty_status status = hold(writer, tenant, err);
    if (status == TY_OK)
        *counters_out = writer->memory.counters.now;
    return status;
}

ty_status ty_counters_save(struct ty_writer *writer, int64_t tenant,
                           const struct ty_counters *counters, struct ty_error *err)
{
    ty_status status = hold(writer, tenant, err);
    if (status != TY_OK)
        return status;
    writer->memory.counters.now = *counters;
    writer->memory.counters.changed = true;
    return TY_OK;
}

ty_status ty_counters_settle(struct ty_writer *writer, struct ty_error *err)
{
    return store(writer, err);
}

ty_status ty_counters_forget(struct ty_writer *writer, struct ty_error *err)
{
    ty_status status = store(writer, err);
    if (status == TY_OK)
        writer->memory.counters = (struct ty_writer_counters){0};
    return status;
}
