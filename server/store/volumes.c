#include "trainyard/store/volumes.h"

#include "inside.h"
#include "jobs_inside.h"
#include "trainyard/store/events.h"

/* The order of VOLUME_COLUMNS in statements.c. */
enum volume_column {
    COLUMN_ROW,
    COLUMN_TENANT,
    COLUMN_NAMESPACE,
    COLUMN_NAME,
    COLUMN_SIZE,
    COLUMN_SIZE_BYTES,
    COLUMN_ACCESS_MODE,
    COLUMN_STORAGE_CLASS,
    COLUMN_CREATED_BY_JOB,
    COLUMN_CREATED_AT
};

static ty_status decode(sqlite3_stmt *stmt, struct ty_volume_record *out, struct ty_error *err)
{
    bool ok = true;
    struct ty_volume_record volume = {
        .row = sqlite3_column_int64(stmt, COLUMN_ROW),
        .tenant = sqlite3_column_int64(stmt, COLUMN_TENANT),
        .namespace = ty_column_text(stmt, COLUMN_NAMESPACE, &ok),
        .name = ty_column_text(stmt, COLUMN_NAME, &ok),
        .size = ty_column_text(stmt, COLUMN_SIZE, &ok),
        .size_bytes = sqlite3_column_int64(stmt, COLUMN_SIZE_BYTES),
        .access_mode = (ty_access_mode)sqlite3_column_int(stmt, COLUMN_ACCESS_MODE),
        .storage_class = ty_column_text(stmt, COLUMN_STORAGE_CLASS, &ok),
        .created_by_job = ty_column_text(stmt, COLUMN_CREATED_BY_JOB, &ok),
        .created_at = sqlite3_column_int64(stmt, COLUMN_CREATED_AT),
    };
    if (!ok)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a volume");
    *out = volume;
    return TY_OK;
}

/* --- writing --- */

static ty_status tell(struct ty_writer *writer, const struct ty_volume_record *volume,
                      ty_event_type type, int64_t at, struct ty_error *err)
{
    struct ty_event event = {.tenant = volume->tenant,
                             .type = type,
                             .at = at,
                             .job_id =
                                 type == TY_EVENT_VOLUME_CREATED ? volume->created_by_job : NULL,
                             .name = volume->name};
    return ty_events_append(writer, &event, err);
}

static ty_status insert_row(struct ty_writer *writer, struct ty_volume_record *volume,
                            struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_VOLUME_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, volume->tenant);
    ty_bind_text(&bind, volume->namespace);
    ty_bind_text(&bind, volume->name);
    ty_bind_text(&bind, volume->size);
    ty_bind_int(&bind, volume->size_bytes);
    ty_bind_int(&bind, volume->access_mode);
    ty_bind_text(&bind, volume->storage_class);
    ty_bind_text(&bind, volume->created_by_job);
    ty_bind_int(&bind, volume->created_at);
    status = ty_bind_step(&writer->conn, &bind, NULL, "store the volume", err);
    if (status != TY_OK) {
        int rc = sqlite3_extended_errcode(writer->conn.db);
        if (rc == SQLITE_CONSTRAINT_UNIQUE)
            return ty_fail_code(err, TY_CONFLICT, "volume_exists", "a volume of that name exists");
        if (rc == SQLITE_CONSTRAINT_FOREIGNKEY)
            return ty_fail_code(err, TY_NOT_FOUND, "tenant_not_found", "no such tenant");
        return status;
    }
    volume->row = sqlite3_last_insert_rowid(writer->conn.db);
    return TY_OK;
}

ty_status ty_volumes_insert(struct ty_writer *writer, struct ty_volume_record *volume,
                            struct ty_error *err)
{
    struct ty_volume_record made = *volume;
    ty_status status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = insert_row(writer, &made, err);
    if (status == TY_OK)
        status = tell(writer, &made, TY_EVENT_VOLUME_CREATED, made.created_at, err);
    if (status == TY_OK)
        volume->row = made.row;
    return status;
}

static ty_status seek_volume(struct ty_conn *conn, int64_t tenant, const char *name,
                             sqlite3_stmt **stmt_out, struct ty_error *err)
{
    bool row = false;
    ty_status status = ty_conn_stmt(conn, TY_SQL_VOLUME_GET, stmt_out, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(*stmt_out);
    ty_bind_int(&bind, tenant);
    ty_bind_text(&bind, name);
    status = ty_bind_step(conn, &bind, &row, "read the volume", err);
    if (status == TY_OK && !row)
        return ty_fail_code(err, TY_NOT_FOUND, "volume_not_found", "no such volume");
    return status;
}

ty_status ty_volumes_find(struct ty_writer *writer, int64_t tenant, const char *name,
                          struct ty_volume_record *volume_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_volume_record volume;
    ty_status status = seek_volume(&writer->conn, tenant, name, &stmt, err);
    if (status == TY_OK)
        status = decode(stmt, &volume, err);
    if (status != TY_OK)
        return status;
    const char **const slots[] = {&volume.namespace, &volume.name, &volume.size,
                                  &volume.storage_class, &volume.created_by_job};
    status = ty_texts_keep(&writer->found, slots, sizeof(slots) / sizeof(slots[0]), err);
    if (status == TY_OK)
        *volume_out = volume;
    return status;
}

/* --- who names a claim --- */

static bool note_user(void *context, const char *job_id)
{
    (void)job_id;
    *(bool *)context = true;
    return false;
}

static ty_status walk_users(struct ty_conn *conn, int64_t tenant, const char *name, size_t limit,
                            ty_volume_user_visitor *visit, void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(conn, TY_SQL_VOLUME_USERS, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant);
    ty_bind_text(&bind, name);
    ty_bind_int(&bind, (int64_t)limit);
    for (;;) {
        bool row = false;
        bool ok = true;
        status = ty_bind_step(conn, &bind, &row, "read the volume's jobs", err);
        if (status != TY_OK || !row)
            return status;
        const char *id = ty_column_text(stmt, 0, &ok);
        if (!ok)
            return ty_fail(err, TY_NO_MEMORY, "no memory for a job id");
        if (!visit(context, id))
            return TY_OK;
    }
}

ty_status ty_volumes_delete(struct ty_writer *writer, int64_t tenant, const char *name,
                            struct ty_error *err)
{
    struct ty_volume_record volume;
    bool used = false;
    ty_status status = ty_volumes_find(writer, tenant, name, &volume, err);
    if (status == TY_OK)
        status = walk_users(&writer->conn, tenant, name, 1, note_user, &used, err);
    if (status != TY_OK)
        return status;
    if (used)
        return ty_fail_code(err, TY_CONFLICT, "volume_in_use",
                            "jobs that have not ended use the volume");
    status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = ty_run_ints(&writer->conn, TY_SQL_VOLUME_DELETE, &volume.row, 1,
                             "remove the volume", err);
    if (status == TY_OK)
        status =
            tell(writer, &volume, TY_EVENT_VOLUME_DELETED, ty_now_us(&writer->store->clock), err);
    return status;
}

/* --- reading --- */

ty_status ty_volumes_get(struct ty_reader *reader, int64_t tenant, const char *name,
                         ty_volume_visitor *visit, void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_volume_record volume;
    ty_status status = seek_volume(&reader->conn, tenant, name, &stmt, err);
    if (status == TY_OK)
        status = decode(stmt, &volume, err);
    if (status == TY_OK)
        (void)visit(context, &volume);
    return status;
}

ty_status ty_volumes_list(struct ty_reader *reader, int64_t tenant, const char *after_name,
                          size_t limit, ty_volume_visitor *visit, void *context,
                          struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_VOLUME_LIST, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant);
    ty_bind_text(&bind, after_name ? after_name : "");
    ty_bind_int(&bind, (int64_t)limit);
    for (;;) {
        bool row = false;
        struct ty_volume_record volume;
        status = ty_bind_step(&reader->conn, &bind, &row, "read the volumes", err);
        if (status != TY_OK || !row)
            return status;
        status = decode(stmt, &volume, err);
        if (status != TY_OK || !visit(context, &volume))
            return status;
    }
}

ty_status ty_volumes_users(struct ty_reader *reader, int64_t tenant, const char *name, size_t limit,
                           ty_volume_user_visitor *visit, void *context, struct ty_error *err)
{
    return walk_users(&reader->conn, tenant, name, limit, visit, context, err);
}

ty_status ty_volumes_waiters(struct ty_reader *reader, const char *namespace, const char *name,
                             ty_volume_waiter_visitor *visit, void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_VOLUME_WAITERS, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_text(&bind, namespace);
    ty_bind_text(&bind, name);
    for (;;) {
        bool row = false;
        bool ok = true;
        status = ty_bind_step(&reader->conn, &bind, &row, "read the volume's jobs", err);
        if (status != TY_OK || !row)
            return status;
        const char *id = ty_column_text(stmt, 1, &ok);
        if (!ok)
            return ty_fail(err, TY_NO_MEMORY, "no memory for a job id");
        if (!visit(context, sqlite3_column_int64(stmt, 0), id))
            return TY_OK;
    }
}
