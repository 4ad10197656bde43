#include "conn.h"

#include "trainyard/base/scope.h"

#include <errno.h>
#include <string.h>

/* Lower than SQLite's defaults wherever our own statements leave room (security.html). */
static const struct {
    int limit;
    int value;
} limits[] = {
    {SQLITE_LIMIT_LENGTH,              64 * 1024 * 1024},
    {SQLITE_LIMIT_SQL_LENGTH,          128 * 1024      },
    {SQLITE_LIMIT_COLUMN,              100             },
    {SQLITE_LIMIT_EXPR_DEPTH,          64              },
    {SQLITE_LIMIT_COMPOUND_SELECT,     16              },
    {SQLITE_LIMIT_VDBE_OP,             25000           },
    {SQLITE_LIMIT_FUNCTION_ARG,        32              },
    {SQLITE_LIMIT_ATTACHED,            0               },
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256             },
    {SQLITE_LIMIT_VARIABLE_NUMBER,     64              },
    {SQLITE_LIMIT_TRIGGER_DEPTH,       8               },
    {SQLITE_LIMIT_WORKER_THREADS,      0               },
};

static const struct {
    int option;
    int value;
} switches[] = {
    {SQLITE_DBCONFIG_DEFENSIVE,        1},
    {SQLITE_DBCONFIG_DQS_DML,          0},
    {SQLITE_DBCONFIG_DQS_DDL,          0},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA,   0},
    {SQLITE_DBCONFIG_ENABLE_FKEY,      1},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER,   0},
    {SQLITE_DBCONFIG_ENABLE_VIEW,      0},
 /* The last connection to close must not checkpoint by itself: after a failed fsync that would
  be harm. */
    {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
};

/* temp_store keeps the savepoints' sub-journal in memory. Readers never checkpoint: SQLite
 * before 3.51.3 can corrupt a database when one connection checkpoints while another restarts the
 * log. */
static const char writer_pragmas[] = "PRAGMA synchronous=FULL;"
                                     "PRAGMA wal_autocheckpoint=0;"
                                     "PRAGMA journal_size_limit=67108864;"
                                     "PRAGMA temp_store=MEMORY;"
                                     "PRAGMA cache_size=-65536;"
                                     "PRAGMA cell_size_check=ON;"
                                     "PRAGMA busy_timeout=5000;";
static const char reader_pragmas[] = "PRAGMA query_only=ON;"
                                     "PRAGMA wal_autocheckpoint=0;"
                                     "PRAGMA temp_store=MEMORY;"
                                     "PRAGMA busy_timeout=5000;";
/* Alone of the pragmas it reads the schema, and many readers are opened at start: it waits for the
 * first statement, which reads the schema anyway. */
static const char reader_cache_pragma[] = "PRAGMA cache_size=-8192;";

/* SQLite knows only ENOSPC as a full disk; a quota or a limit on the size of files is one too. At a
 * COMMIT it does not keep the system's error, so that errno is looked at as well: every step starts
 * with 0 there. */
static bool means_full(const struct ty_conn *conn, int system_error)
{
    int kept = conn->db ? sqlite3_system_errno(conn->db) : 0;
    static const int full[] = {ENOSPC, EDQUOT, EFBIG};
    for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++)
        if (kept == full[i] || system_error == full[i])
            return true;
    return false;
}

static ty_status status_of(const struct ty_conn *conn, int rc, int system_error)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return TY_STORAGE_FULL;
    case SQLITE_NOMEM:
        return TY_NO_MEMORY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return TY_CORRUPT;
    case SQLITE_TOOBIG:
        return TY_TOO_LARGE;
    case SQLITE_IOERR:
        if (rc == SQLITE_IOERR_NOMEM)
            return TY_NO_MEMORY;
        if (rc != SQLITE_IOERR_FSYNC && rc != SQLITE_IOERR_DIR_FSYNC &&
            means_full(conn, system_error))
            return TY_STORAGE_FULL;
        return TY_UNAVAILABLE;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_INTERRUPT:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_PROTOCOL:
        return TY_UNAVAILABLE;
    default:
        return TY_INTERNAL;
    }
}

static bool of_disk(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
        return true;
    case SQLITE_IOERR:
        return rc != SQLITE_IOERR_NOMEM;
    default:
        return false;
    }
}

ty_status ty_conn_fail(struct ty_conn *conn, int rc, const char *what, struct ty_error *err)
{
    int system_error = errno;
    if (conn->disk_rc == SQLITE_OK && of_disk(rc))
        conn->disk_rc = rc;
    return ty_fail(err, status_of(conn, rc, system_error), "%s: %s", what, sqlite3_errstr(rc));
}

static ty_status configure(struct ty_conn *conn, bool writer, struct ty_error *err)
{
    sqlite3_extended_result_codes(conn->db, 1);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        sqlite3_limit(conn->db, limits[i].limit, limits[i].value);
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        int rc = sqlite3_db_config(conn->db, switches[i].option, switches[i].value, (int *)NULL);
        if (rc != SQLITE_OK)
            return ty_conn_fail(conn, rc, "configure the database", err);
    }
    return ty_conn_exec(conn, writer ? writer_pragmas : reader_pragmas, "configure the database",
                        err);
}

ty_status ty_conn_open(struct ty_conn *conn, const char *path, const char *vfs, bool writer,
                       struct ty_error *err)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
    flags |= writer ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    *conn = (struct ty_conn){.cache_due = !writer};
    int rc = sqlite3_open_v2(path, &conn->db, flags, vfs);
    ty_status status = TY_OK;
    if (rc != SQLITE_OK)
        status = ty_conn_fail(conn, rc, "open the database", err);
    else
        status = configure(conn, writer, err);
    if (status != TY_OK)
        ty_conn_close(conn);
    return status;
}

void ty_conn_close(struct ty_conn *conn)
{
    for (size_t i = 0; i < TY_SQL_COUNT; i++) {
        sqlite3_finalize(conn->stmts[i]);
        conn->stmts[i] = NULL;
    }
    sqlite3_close(conn->db);
    conn->db = NULL;
}

ty_status ty_conn_stmt(struct ty_conn *conn, ty_sql sql, sqlite3_stmt **stmt_out,
                       struct ty_error *err)
{
    if (conn->cache_due) {
        ty_status status = ty_conn_exec(conn, reader_cache_pragma, "configure the database", err);
        if (status != TY_OK)
            return status;
        conn->cache_due = false;
    }
    if (!conn->stmts[sql]) {
        int rc = sqlite3_prepare_v3(conn->db, ty_sql_text(sql), -1, SQLITE_PREPARE_PERSISTENT,
                                    &conn->stmts[sql], NULL);
        if (rc != SQLITE_OK)
            return ty_conn_fail(conn, rc, "prepare a statement", err);
    }
    *stmt_out = conn->stmts[sql];
    return TY_OK;
}

ty_status ty_conn_exec(struct ty_conn *conn, const char *sql, const char *what,
                       struct ty_error *err)
{
    errno = 0;
    int rc = sqlite3_exec(conn->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? TY_OK : ty_conn_fail(conn, rc, what, err);
}

ty_status ty_conn_run(struct ty_conn *conn, ty_sql sql, const char *what, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(conn, sql, &stmt, err);
    if (status != TY_OK)
        return status;
    errno = 0;
    int rc = sqlite3_step(stmt);
    return rc == SQLITE_DONE ? TY_OK : ty_conn_fail(conn, rc, what, err);
}

ty_status ty_conn_int(struct ty_conn *conn, const char *sql, int64_t otherwise, int64_t *value_out,
                      struct ty_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(conn->db, sql, -1, &stmt, NULL);
    int64_t value = otherwise;
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            value = sqlite3_column_int64(stmt, 0);
    }
    sqlite3_finalize(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return ty_conn_fail(conn, rc, "read the database", err);
    *value_out = value;
    return TY_OK;
}

void ty_bind_int(struct ty_bind *bind, int64_t value)
{
    int rc = sqlite3_bind_int64(bind->stmt, bind->index++, value);
    if (rc != SQLITE_OK && bind->rc == SQLITE_OK)
        bind->rc = rc;
}

void ty_bind_text_len(struct ty_bind *bind, const char *text, size_t len)
{
    int rc =
        text ? sqlite3_bind_text64(bind->stmt, bind->index, text, len, SQLITE_STATIC, SQLITE_UTF8)
             : sqlite3_bind_null(bind->stmt, bind->index);
    bind->index++;
    if (rc != SQLITE_OK && bind->rc == SQLITE_OK)
        bind->rc = rc;
}

void ty_bind_text(struct ty_bind *bind, const char *text)
{
    ty_bind_text_len(bind, text, text ? strlen(text) : 0);
}

void ty_bind_blob(struct ty_bind *bind, const void *bytes, size_t len)
{
    /* A NULL pointer would bind NULL even with length 0; an empty blob needs an address. */
    int rc = bytes ? sqlite3_bind_blob64(bind->stmt, bind->index, bytes, len, SQLITE_STATIC)
                   : sqlite3_bind_null(bind->stmt, bind->index);
    bind->index++;
    if (rc != SQLITE_OK && bind->rc == SQLITE_OK)
        bind->rc = rc;
}

ty_status ty_bind_step(struct ty_conn *conn, struct ty_bind *bind, bool *row_out, const char *what,
                       struct ty_error *err)
{
    if (bind->rc != SQLITE_OK)
        return ty_conn_fail(conn, bind->rc, what, err);
    errno = 0;
    int rc = sqlite3_step(bind->stmt);
    if (rc == SQLITE_DONE || (rc == SQLITE_ROW && row_out)) {
        if (row_out)
            *row_out = rc == SQLITE_ROW;
        return TY_OK;
    }
    if (rc == SQLITE_ROW)
        return ty_fail(err, TY_INTERNAL, "%s: a row where none belongs", what);
    return ty_conn_fail(conn, rc, what, err);
}

const char *ty_column_text(sqlite3_stmt *stmt, int index, bool *ok)
{
    const char *text = (const char *)sqlite3_column_text(stmt, index);
    if (!text && sqlite3_column_type(stmt, index) != SQLITE_NULL)
        *ok = false;
    return text;
}
