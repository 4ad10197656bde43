#include "trainyard/store/tokens.h"

#include "inside.h"
#include "jobs_inside.h"
#include "trainyard/base/str.h"

#include <string.h>

/* The order of TOKEN_COLUMNS in statements.c. */
enum token_column {
    COLUMN_ROW,
    COLUMN_TENANT,
    COLUMN_TENANT_NAME,
    COLUMN_NAMESPACE,
    COLUMN_ID,
    COLUMN_NAME,
    COLUMN_KIND,
    COLUMN_HINT,
    COLUMN_ROLE,
    COLUMN_SCOPES,
    COLUMN_CREATED_AT,
    COLUMN_CREATED_BY,
    COLUMN_EXPIRES_AT,
    COLUMN_REVOKED_AT,
    COLUMN_LAST_USED_AT,
    COLUMN_DIGEST, /* TY_SQL_TOKEN_LOAD only */
    COLUMN_VALID_UNTIL
};

static ty_status decode(sqlite3_stmt *stmt, struct ty_token_record *out, struct ty_error *err)
{
    bool ok = true;
    const char *kind = ty_column_text(stmt, COLUMN_KIND, &ok);
    const char *hint = ty_column_text(stmt, COLUMN_HINT, &ok);
    struct ty_token_record token = {
        .row = sqlite3_column_int64(stmt, COLUMN_ROW),
        .tenant = sqlite3_column_int64(stmt, COLUMN_TENANT),
        .tenant_name = ty_column_text(stmt, COLUMN_TENANT_NAME, &ok),
        .namespace = ty_column_text(stmt, COLUMN_NAMESPACE, &ok),
        .id = ty_column_text(stmt, COLUMN_ID, &ok),
        .name = ty_column_text(stmt, COLUMN_NAME, &ok),
        .kind = kind ? kind[0] : '\0',
        .role = (ty_role)sqlite3_column_int(stmt, COLUMN_ROLE),
        .scopes = (uint64_t)sqlite3_column_int64(stmt, COLUMN_SCOPES),
        .created_at = sqlite3_column_int64(stmt, COLUMN_CREATED_AT),
        .created_by = ty_column_text(stmt, COLUMN_CREATED_BY, &ok),
        .expires_at = sqlite3_column_int64(stmt, COLUMN_EXPIRES_AT),
        .revoked_at = sqlite3_column_int64(stmt, COLUMN_REVOKED_AT),
        .last_used_at = sqlite3_column_int64(stmt, COLUMN_LAST_USED_AT),
    };
    if (!ok)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a token record");
    ty_str_copy(token.hint, sizeof(token.hint), hint ? hint : "");
    *out = token;
    return TY_OK;
}

ty_status ty_tokens_digest(const struct ty_store *store, const char *text,
                           uint8_t digest_out[TY_SHA256])
{
    return ty_hmac_sha256(store->token_key, sizeof(store->token_key), text, strlen(text),
                          digest_out);
}

/* --- writing --- */

static ty_status insert_digest(struct ty_writer *writer, int64_t token,
                               const uint8_t digest[TY_SHA256], struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_TOKEN_DIGEST_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_blob(&bind, digest, TY_SHA256);
    ty_bind_int(&bind, token);
    status = ty_bind_step(&writer->conn, &bind, NULL, "store the token", err);
    if (status != TY_OK &&
        sqlite3_extended_errcode(writer->conn.db) == SQLITE_CONSTRAINT_PRIMARYKEY)
        return ty_fail_code(err, TY_CONFLICT, "token_exists", "that token exists already");
    return status;
}

static ty_status fail_insert(struct ty_writer *writer, ty_status status, struct ty_error *err)
{
    switch (sqlite3_extended_errcode(writer->conn.db)) {
    case SQLITE_CONSTRAINT_UNIQUE:
        return ty_fail_code(err, TY_CONFLICT, "token_exists", "a token of that id exists");
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return ty_fail_code(err, TY_NOT_FOUND, "tenant_not_found", "no such tenant");
    default:
        return status;
    }
}

ty_status ty_tokens_insert(struct ty_writer *writer, struct ty_token_record *token,
                           const uint8_t digest[TY_SHA256], struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    const char kind[2] = {token->kind, '\0'};
    ty_status status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = ty_conn_stmt(&writer->conn, TY_SQL_TOKEN_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, token->tenant);
    ty_bind_text(&bind, token->id);
    ty_bind_text(&bind, token->name);
    ty_bind_text(&bind, kind);
    ty_bind_text(&bind, token->hint);
    ty_bind_int(&bind, token->role);
    ty_bind_int(&bind, (int64_t)token->scopes);
    ty_bind_int(&bind, token->created_at);
    ty_bind_text(&bind, token->created_by);
    ty_bind_int(&bind, token->expires_at);
    status = ty_bind_step(&writer->conn, &bind, NULL, "store the token", err);
    if (status != TY_OK)
        return fail_insert(writer, status, err);
    int64_t row = sqlite3_last_insert_rowid(writer->conn.db);
    status = insert_digest(writer, row, digest, err);
    if (status == TY_OK)
        token->row = row;
    return status;
}

static ty_status seek_token(struct ty_conn *conn, int64_t tenant, const char *id,
                            sqlite3_stmt **stmt_out, struct ty_error *err)
{
    bool row = false;
    ty_status status = ty_conn_stmt(conn, TY_SQL_TOKEN_GET, stmt_out, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(*stmt_out);
    ty_bind_text(&bind, id);
    ty_bind_int(&bind, tenant);
    status = ty_bind_step(conn, &bind, &row, "read the token", err);
    if (status == TY_OK && !row)
        return ty_fail_code(err, TY_NOT_FOUND, "token_not_found", "no such token");
    return status;
}

ty_status ty_tokens_find(struct ty_writer *writer, int64_t tenant, const char *id,
                         struct ty_token_record *token_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_token_record token;
    ty_status status = seek_token(&writer->conn, tenant, id, &stmt, err);
    if (status == TY_OK)
        status = decode(stmt, &token, err);
    if (status != TY_OK)
        return status;
    const char **const slots[] = {&token.tenant_name, &token.namespace, &token.id, &token.name,
                                  &token.created_by};
    status = ty_texts_keep(&writer->found, slots, sizeof(slots) / sizeof(slots[0]), err);
    if (status == TY_OK)
        *token_out = token;
    return status;
}

ty_status ty_tokens_revoke(struct ty_writer *writer, int64_t tenant, const char *id, int64_t now,
                           struct ty_error *err)
{
    struct ty_token_record token;
    ty_status status = ty_tokens_find(writer, tenant, id, &token, err);
    if (status != TY_OK || token.revoked_at != 0)
        return status;
    const int64_t values[] = {token.row, now};
    status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status =
            ty_run_ints(&writer->conn, TY_SQL_TOKEN_REVOKE, values, 2, "revoke the token", err);
    if (status == TY_OK)
        status = ty_run_ints(&writer->conn, TY_SQL_TOKEN_DIGESTS_DELETE, values, 1,
                             "revoke the token", err);
    return status;
}

static ty_status save_hint(struct ty_writer *writer, int64_t row, const char *hint,
                           struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_TOKEN_HINT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, row);
    ty_bind_text(&bind, hint);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the token", err);
}

static ty_status end_old_texts(struct ty_writer *writer, int64_t row,
                               const struct ty_token_rotation *rotation, struct ty_error *err)
{
    const int64_t values[] = {row, rotation->now + rotation->grace_us};
    if (rotation->grace_us <= 0)
        return ty_run_ints(&writer->conn, TY_SQL_TOKEN_DIGESTS_DELETE, values, 1,
                           "rotate the token", err);
    return ty_run_ints(&writer->conn, TY_SQL_TOKEN_DIGESTS_END, values, 2, "rotate the token", err);
}

ty_status ty_tokens_rotate(struct ty_writer *writer, const struct ty_token_rotation *rotation,
                           struct ty_error *err)
{
    struct ty_token_record token;
    ty_status status = ty_tokens_find(writer, rotation->tenant, rotation->id, &token, err);
    if (status != TY_OK)
        return status;
    if (token.revoked_at != 0)
        return ty_fail_code(err, TY_CONFLICT, "token_revoked", "the token is revoked");
    if (token.expires_at != 0 && token.expires_at <= rotation->now)
        return ty_fail_code(err, TY_CONFLICT, "token_expired", "the token has expired");
    status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = end_old_texts(writer, token.row, rotation, err);
    if (status == TY_OK)
        status = insert_digest(writer, token.row, rotation->digest, err);
    if (status == TY_OK)
        status = save_hint(writer, token.row, rotation->hint, err);
    return status;
}

ty_status ty_tokens_used(struct ty_writer *writer, const struct ty_token_use *uses, size_t count,
                         struct ty_error *err)
{
    ty_status status = count > 0 ? ty_writer_begin(writer, err) : TY_OK;
    for (size_t i = 0; i < count && status == TY_OK; i++) {
        const int64_t values[] = {uses[i].row, uses[i].at};
        status =
            ty_run_ints(&writer->conn, TY_SQL_TOKEN_USED, values, 2, "note the use of tokens", err);
    }
    return status;
}

/* --- reading --- */

ty_status ty_tokens_get(struct ty_reader *reader, int64_t tenant, const char *id,
                        ty_token_visitor *visit, void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    struct ty_token_record token;
    ty_status status = seek_token(&reader->conn, tenant, id, &stmt, err);
    if (status == TY_OK)
        status = decode(stmt, &token, err);
    if (status == TY_OK)
        (void)visit(context, &token);
    return status;
}

ty_status ty_tokens_list(struct ty_reader *reader, int64_t tenant, int64_t after_row, size_t limit,
                         ty_token_visitor *visit, void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_TOKEN_LIST, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant);
    ty_bind_int(&bind, after_row > 0 ? after_row : INT64_MAX);
    ty_bind_int(&bind, (int64_t)limit);
    for (;;) {
        bool row = false;
        struct ty_token_record token;
        status = ty_bind_step(&reader->conn, &bind, &row, "read the tokens", err);
        if (status != TY_OK || !row)
            return status;
        status = decode(stmt, &token, err);
        if (status != TY_OK || !visit(context, &token))
            return status;
    }
}

/* The sooner of two ends, where 0 means never. */
static int64_t sooner(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return a > b ? a : b;
    return a < b ? a : b;
}

ty_status ty_tokens_load(struct ty_reader *reader, int64_t now, ty_token_digest_visitor *visit,
                         void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_TOKEN_LOAD, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, now);
    for (;;) {
        bool row = false;
        struct ty_token_record token;
        status = ty_bind_step(&reader->conn, &bind, &row, "read the tokens", err);
        if (status != TY_OK || !row)
            return status;
        status = decode(stmt, &token, err);
        const uint8_t *digest = sqlite3_column_blob(stmt, COLUMN_DIGEST);
        if (status == TY_OK && !digest)
            status = ty_fail(err, TY_NO_MEMORY, "no memory for a token record");
        if (status != TY_OK)
            return status;
        int64_t end = sooner(token.expires_at, sqlite3_column_int64(stmt, COLUMN_VALID_UNTIL));
        if (!visit(context, digest, end, &token))
            return TY_OK;
    }
}
