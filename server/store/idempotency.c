#include "trainyard/store/idempotency.h"

#include "inside.h"
#include "jobs_inside.h"

#include <string.h>

/* What every statement about one key begins with. */
static struct ty_bind bind_key(sqlite3_stmt *stmt, const struct ty_idempotency *key)
{
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, key->tenant);
    ty_bind_text(&bind, key->key);
    ty_bind_text(&bind, key->route);
    return bind;
}

/* Position on a valid key; the caller resets the statement. */
static ty_status seek_key(struct ty_conn *conn, const struct ty_idempotency *key, int64_t now,
                          sqlite3_stmt **stmt_out, struct ty_error *err)
{
    bool row = false;
    ty_status status = ty_conn_stmt(conn, TY_SQL_IDEMPOTENCY_GET, stmt_out, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = bind_key(*stmt_out, key);
    ty_bind_int(&bind, now - TY_IDEMPOTENCY_KEEP_US);
    status = ty_bind_step(conn, &bind, &row, "read the idempotency key", err);
    if (status == TY_OK && !row)
        return ty_fail(err, TY_NOT_FOUND, "no such idempotency key");
    return status;
}

/* Texts point into the statement. */
static ty_status decode(sqlite3_stmt *stmt, struct ty_idempotency *entry, struct ty_error *err)
{
    bool ok = true;
    const void *fingerprint = sqlite3_column_blob(stmt, 0);
    entry->job_id = ty_column_text(stmt, 1, &ok);
    entry->status = sqlite3_column_int(stmt, 2);
    entry->body = sqlite3_column_blob(stmt, 3);
    entry->body_len = (size_t)sqlite3_column_bytes(stmt, 3);
    entry->created_at = sqlite3_column_int64(stmt, 4);
    if (!ok || !fingerprint)
        return ty_fail(err, TY_NO_MEMORY, "no memory for an idempotency key");
    memcpy(entry->fingerprint, fingerprint, TY_SHA256);
    return TY_OK;
}

ty_status ty_idempotency_find(struct ty_writer *writer, int64_t tenant, const char *route,
                              const char *key, int64_t now, struct ty_idempotency *entry_out,
                              struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_idempotency entry = {.tenant = tenant, .route = route, .key = key};
    ty_status status = seek_key(&writer->conn, &entry, now, &stmt, err);
    if (status == TY_OK)
        status = decode(stmt, &entry, err);
    if (status != TY_OK)
        return status;
    /* Bodies are text (JSON) and stored without their NUL; SQLite ends every blob column it has
     * converted from text, but not a blob: the length counts. */
    status = ty_texts_keep_block(&writer->found, &entry.job_id, &entry.body, entry.body_len, err);
    if (status == TY_OK)
        *entry_out = entry;
    return status;
}

static ty_status delete_expired(struct ty_writer *writer, const struct ty_idempotency *entry,
                                struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_IDEMPOTENCY_DELETE_KEY, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = bind_key(stmt, entry);
    ty_bind_int(&bind, entry->created_at - TY_IDEMPOTENCY_KEEP_US);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the idempotency key", err);
}

static ty_status insert_row(struct ty_writer *writer, const struct ty_idempotency *entry,
                            struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_IDEMPOTENCY_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = bind_key(stmt, entry);
    ty_bind_blob(&bind, entry->fingerprint, TY_SHA256);
    ty_bind_text(&bind, entry->job_id);
    ty_bind_int(&bind, entry->status);
    ty_bind_blob(&bind, entry->body, entry->body_len);
    ty_bind_int(&bind, entry->created_at);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the idempotency key", err);
}

ty_status ty_idempotency_insert(struct ty_writer *writer, const struct ty_idempotency *entry,
                                struct ty_error *err)
{
    ty_status status = ty_writer_begin(writer, err);
    if (status != TY_OK)
        return status;
    status = insert_row(writer, entry, err);
    if (status == TY_OK || sqlite3_extended_errcode(writer->conn.db) != SQLITE_CONSTRAINT_UNIQUE)
        return status;
    /* The key is there: it may have had its time without being pruned yet. */
    status = delete_expired(writer, entry, err);
    if (status == TY_OK && sqlite3_changes(writer->conn.db) == 1)
        return insert_row(writer, entry, err);
    if (status == TY_OK)
        return ty_fail_code(err, TY_CONFLICT, "idempotency_key_exists",
                            "the idempotency key is in use");
    return status;
}

ty_status ty_idempotency_get(struct ty_reader *reader, int64_t tenant, const char *route,
                             const char *key, int64_t now, ty_idempotency_visitor *visit,
                             void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_idempotency entry = {.tenant = tenant, .route = route, .key = key};
    ty_status status = seek_key(&reader->conn, &entry, now, &stmt, err);
    if (status == TY_OK)
        status = decode(stmt, &entry, err);
    if (status == TY_OK)
        visit(context, &entry);
    return status;
}

/* Rows stand in the order of arrival: the expired ones are the first, and the first valid one ends
 * the look. */
static ty_status find_expired(struct ty_writer *writer, int64_t before, int64_t *rows, size_t limit,
                              size_t *count_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    size_t count = 0;
    bool row = false;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_IDEMPOTENCY_OLDEST, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, (int64_t)limit);
    while ((status = ty_bind_step(&writer->conn, &bind, &row, "find old keys", err)) == TY_OK &&
           row && sqlite3_column_int64(stmt, 1) <= before)
        rows[count++] = sqlite3_column_int64(stmt, 0);
    if (status == TY_OK)
        *count_out = count;
    return status;
}

ty_status ty_idempotency_prune(struct ty_writer *writer, int64_t now, size_t limit,
                               size_t *removed_out, struct ty_error *err)
{
    int64_t rows[500];
    size_t count = 0;
    size_t most = sizeof(rows) / sizeof(rows[0]);
    ty_status status = find_expired(writer, now - TY_IDEMPOTENCY_KEEP_US, rows,
                                    limit < most ? limit : most, &count, err);
    if (status == TY_OK && count > 0)
        status = ty_writer_begin(writer, err);
    for (size_t i = 0; i < count && status == TY_OK; i++)
        status = ty_run_ints(&writer->conn, TY_SQL_IDEMPOTENCY_DELETE, &rows[i], 1,
                             "remove old keys", err);
    if (status == TY_OK)
        *removed_out = count;
    return status;
}
