#include "trainyard/store/tenants.h"

#include "inside.h"
#include "jobs_inside.h"
#include "trainyard/base/str.h"
#include "trainyard/domain/policy.h"

/* The order of TENANT_COLUMNS in statements.c. */
enum tenant_column {
    COLUMN_ROW,
    COLUMN_NAME,
    COLUMN_NAMESPACE,
    COLUMN_DESCRIPTION,
    COLUMN_MAX_JOBS,
    COLUMN_MAX_QUEUED,
    COLUMN_MAX_REPLICAS,
    COLUMN_MAX_GPUS,
    COLUMN_KEEP,
    COLUMN_TIMEOUT,
    COLUMN_CREATED_AT,
    COLUMN_UPDATED_AT,
    COLUMN_REVISION,
    COLUMN_POLICY
};

static ty_status decode(sqlite3_stmt *stmt, struct ty_tenant_record *out, struct ty_error *err)
{
    bool ok = true;
    struct ty_tenant_record tenant = {
        .row = sqlite3_column_int64(stmt, COLUMN_ROW),
        .name = ty_column_text(stmt, COLUMN_NAME, &ok),
        .namespace = ty_column_text(stmt, COLUMN_NAMESPACE, &ok),
        .description = ty_column_text(stmt, COLUMN_DESCRIPTION, &ok),
        .quota = {.max_jobs = sqlite3_column_int(stmt, COLUMN_MAX_JOBS),
                  .max_queued = sqlite3_column_int(stmt, COLUMN_MAX_QUEUED),
                  .max_replicas = sqlite3_column_int(stmt, COLUMN_MAX_REPLICAS),
                  .max_gpus = sqlite3_column_int(stmt, COLUMN_MAX_GPUS)},
        .default_keep_seconds = sqlite3_column_int64(stmt, COLUMN_KEEP),
        .default_timeout_seconds = sqlite3_column_int64(stmt, COLUMN_TIMEOUT),
        .created_at = sqlite3_column_int64(stmt, COLUMN_CREATED_AT),
        .updated_at = sqlite3_column_int64(stmt, COLUMN_UPDATED_AT),
        .revision = sqlite3_column_int64(stmt, COLUMN_REVISION),
        .policy = ty_column_text(stmt, COLUMN_POLICY, &ok),
    };
    if (!ok)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a tenant");
    *out = tenant;
    return TY_OK;
}

/* --- writing --- */

static ty_status insert_row(struct ty_writer *writer, struct ty_tenant_record *tenant,
                            struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_TENANT_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    const int64_t numbers[] = {
        tenant->quota.max_jobs, tenant->quota.max_queued,     tenant->quota.max_replicas,
        tenant->quota.max_gpus, tenant->default_keep_seconds, tenant->default_timeout_seconds,
        tenant->created_at,     tenant->created_at,
    };
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_text(&bind, tenant->name);
    ty_bind_text(&bind, tenant->namespace);
    ty_bind_text(&bind, tenant->description);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ty_bind_int(&bind, numbers[i]);
    ty_bind_text(&bind, tenant->policy ? tenant->policy : TY_POLICY_CLOSED);
    status = ty_bind_step(&writer->conn, &bind, NULL, "store the tenant", err);
    if (status == TY_OK)
        tenant->row = sqlite3_last_insert_rowid(writer->conn.db);
    return status;
}

ty_status ty_tenants_insert(struct ty_writer *writer, struct ty_tenant_record *tenant,
                            struct ty_error *err)
{
    struct ty_tenant_record made = *tenant;
    struct ty_tenant_record other;
    ty_status status = ty_tenants_find(writer, tenant->name, &other, NULL);
    if (status == TY_OK)
        return ty_fail_code(err, TY_CONFLICT, "tenant_exists", "a tenant of that name exists");
    if (status == TY_NOT_FOUND)
        status = ty_writer_begin(writer, err);
    if (status != TY_OK)
        return status;
    status = insert_row(writer, &made, err);
    if (status != TY_OK && sqlite3_extended_errcode(writer->conn.db) == SQLITE_CONSTRAINT_UNIQUE)
        return ty_fail_code(err, TY_CONFLICT, "namespace_taken",
                            "another tenant has that namespace");
    if (status == TY_OK)
        status = ty_run_ints(&writer->conn, TY_SQL_TENANT_COUNTERS_INSERT, &made.row, 1,
                             "store the tenant", err);
    if (status != TY_OK)
        return status;
    made.updated_at = made.created_at;
    made.revision = 1;
    *tenant = made;
    return TY_OK;
}

ty_status ty_tenants_seed(struct ty_writer *writer, int64_t now, struct ty_error *err)
{
    int64_t any = 0;
    ty_status status =
        ty_conn_int(&writer->conn, "SELECT EXISTS (SELECT 1 FROM tenants)", 0, &any, err);
    struct ty_tenant_record tenant = {
        .name = TY_TENANT_DEFAULT,
        .namespace = "default",
        .quota = {-1, -1, -1, -1},
        .default_keep_seconds = -1,
        .policy = TY_POLICY_OPEN,
        .created_at = now
    };
    if (status == TY_OK && !any)
        status = ty_tenants_insert(writer, &tenant, err);
    return status;
}

static ty_status seek_tenant(struct ty_conn *conn, const char *name, sqlite3_stmt **stmt_out,
                             struct ty_error *err)
{
    bool row = false;
    ty_status status = ty_conn_stmt(conn, TY_SQL_TENANT_GET, stmt_out, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(*stmt_out);
    ty_bind_text(&bind, name);
    status = ty_bind_step(conn, &bind, &row, "read the tenant", err);
    if (status == TY_OK && !row)
        return ty_fail_code(err, TY_NOT_FOUND, "tenant_not_found", "no such tenant");
    return status;
}

ty_status ty_tenants_find(struct ty_writer *writer, const char *name,
                          struct ty_tenant_record *tenant_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_tenant_record tenant;
    ty_status status = seek_tenant(&writer->conn, name, &stmt, err);
    if (status == TY_OK)
        status = decode(stmt, &tenant, err);
    if (status != TY_OK)
        return status;
    const char **const slots[] = {&tenant.name, &tenant.namespace, &tenant.description,
                                  &tenant.policy};
    status = ty_texts_keep(&writer->found, slots, sizeof(slots) / sizeof(slots[0]), err);
    if (status == TY_OK)
        *tenant_out = tenant;
    return status;
}

ty_status ty_tenants_save(struct ty_writer *writer, struct ty_tenant_record *tenant,
                          struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    ty_status status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = ty_conn_stmt(&writer->conn, TY_SQL_TENANT_SAVE, &stmt, err);
    if (status != TY_OK)
        return status;
    const int64_t numbers[] = {
        tenant->quota.max_jobs, tenant->quota.max_queued,     tenant->quota.max_replicas,
        tenant->quota.max_gpus, tenant->default_keep_seconds, tenant->default_timeout_seconds,
        tenant->updated_at,
    };
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant->row);
    ty_bind_text(&bind, tenant->description);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ty_bind_int(&bind, numbers[i]);
    ty_bind_text(&bind, tenant->policy);
    status = ty_bind_step(&writer->conn, &bind, &row, "store the tenant", err);
    if (status == TY_OK && !row)
        return ty_fail_code(err, TY_NOT_FOUND, "tenant_not_found", "no such tenant");
    if (status == TY_OK)
        tenant->revision = sqlite3_column_int64(stmt, 0);
    return status;
}

static ty_status check_empty(struct ty_writer *writer, int64_t tenant, int64_t now,
                             struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_TENANT_IN_USE, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant);
    ty_bind_int(&bind, now);
    status = ty_bind_step(&writer->conn, &bind, &row, "read the tenant", err);
    if (status == TY_OK && row && sqlite3_column_int(stmt, 0))
        return ty_fail_code(err, TY_CONFLICT, "tenant_not_empty",
                            "the tenant still has jobs, volumes or valid tokens");
    return status;
}

ty_status ty_tenants_delete(struct ty_writer *writer, const char *name, int64_t now,
                            struct ty_error *err)
{
    struct ty_tenant_record tenant;
    ty_status status = ty_tenants_find(writer, name, &tenant, err);
    if (status != TY_OK)
        return status;
    if (ty_str_equal(name, TY_TENANT_DEFAULT))
        return ty_fail_code(err, TY_CONFLICT, "tenant_default",
                            "the default tenant cannot be removed");
    status = check_empty(writer, tenant.row, now, err);
    if (status == TY_OK)
        status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = ty_run_ints(&writer->conn, TY_SQL_TENANT_EVENTS_DELETE, &tenant.row, 1,
                             "remove the tenant", err);
    if (status == TY_OK)
        status = ty_counters_forget(writer, err);
    if (status == TY_OK) /* tokens, counters and keys go with it */
        status = ty_run_ints(&writer->conn, TY_SQL_TENANT_DELETE, &tenant.row, 1,
                             "remove the tenant", err);
    return status;
}

/* --- reading --- */

ty_status ty_tenants_get(struct ty_reader *reader, const char *name, ty_tenant_visitor *visit,
                         void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_tenant_record tenant;
    ty_status status = seek_tenant(&reader->conn, name, &stmt, err);
    if (status == TY_OK)
        status = decode(stmt, &tenant, err);
    if (status == TY_OK)
        (void)visit(context, &tenant);
    return status;
}

ty_status ty_tenants_list(struct ty_reader *reader, int64_t after_row, size_t limit,
                          ty_tenant_visitor *visit, void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_TENANT_LIST, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, after_row);
    ty_bind_int(&bind, (int64_t)limit);
    for (;;) {
        bool row = false;
        struct ty_tenant_record tenant;
        status = ty_bind_step(&reader->conn, &bind, &row, "read the tenants", err);
        if (status != TY_OK || !row)
            return status;
        status = decode(stmt, &tenant, err);
        if (status != TY_OK || !visit(context, &tenant))
            return status;
    }
}

/* --- counters --- */

ty_status ty_tenants_count(struct ty_reader *reader, int64_t tenant,
                           struct ty_tenant_counts *counts_out, struct ty_error *err)
{
    struct ty_counters counters;
    ty_status status = ty_counters_get(&reader->conn, tenant, &counters, err);
    if (status == TY_OK)
        *counts_out = (struct ty_tenant_counts){.jobs = counters.jobs,
                                                .queued = counters.queued,
                                                .live = counters.live,
                                                .last_event = counters.last_event};
    return status;
}
