/* One SQLite connection with its prepared statements, and the few calls everything in this room is
 * made of. */
#ifndef STORE_CONN_H
#define STORE_CONN_H

#include "statements.h"
#include "trainyard/base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct ty_conn {
    sqlite3 *db; /* NULL when closed */
    sqlite3_stmt *stmts[TY_SQL_COUNT];
    bool cache_due; /* a reader's cache gets its size with the first statement */
    int disk_rc; /* the first result code that speaks of the disk or of damage; the owner clears it
                  */
};

/* Open `path` as the writer (it may create the file) or as a reader that can neither write nor
 * checkpoint, and set the limits and pragmas of the stack notes. On failure *conn holds nothing. */
ty_status ty_conn_open(struct ty_conn *conn, const char *path, const char *vfs, bool writer,
                       struct ty_error *err) TY_MUST_CHECK;
void ty_conn_close(struct ty_conn *conn);

/* The prepared statement of a row of the table, prepared on first use, reset and unbound. */
ty_status ty_conn_stmt(struct ty_conn *conn, ty_sql sql, sqlite3_stmt **stmt_out,
                       struct ty_error *err) TY_MUST_CHECK;

/* Run text without results: pragmas, migrations. */
ty_status ty_conn_exec(struct ty_conn *conn, const char *sql, const char *what,
                       struct ty_error *err) TY_MUST_CHECK;

/* Run a prepared statement without results to its end. */
ty_status ty_conn_run(struct ty_conn *conn, ty_sql sql, const char *what,
                      struct ty_error *err) TY_MUST_CHECK;

/* One integer from a query without parameters; `otherwise` when there is no row. */
ty_status ty_conn_int(struct ty_conn *conn, const char *sql, int64_t otherwise, int64_t *value_out,
                      struct ty_error *err) TY_MUST_CHECK;

/* Fill *err from a result code and note it in disk_rc when it is of that kind. The words are
 * SQLite's general ones for that code: never SQL, never a path. */
ty_status ty_conn_fail(struct ty_conn *conn, int rc, const char *what, struct ty_error *err);

/* Values in binding order, kept apart from SQLite's many result codes: the first failure sticks.
 * Texts and blobs are not copied: they must live until the statement is reset. */
struct ty_bind {
    sqlite3_stmt *stmt;
    int index;
    int rc;
};
static inline struct ty_bind ty_bind_start(sqlite3_stmt *stmt)
{
    return (struct ty_bind){.stmt = stmt, .index = 1, .rc = SQLITE_OK};
}
void ty_bind_int(struct ty_bind *bind, int64_t value);
void ty_bind_text(struct ty_bind *bind, const char *text); /* NULL binds NULL */
void ty_bind_text_len(struct ty_bind *bind, const char *text, size_t len);
void ty_bind_blob(struct ty_bind *bind, const void *bytes, size_t len); /* NULL binds NULL */

/* Step once after binding. *row_out: whether there is a row. With `row_out` NULL the statement must
 * end. */
ty_status ty_bind_step(struct ty_conn *conn, struct ty_bind *bind, bool *row_out, const char *what,
                       struct ty_error *err) TY_MUST_CHECK;

/* A text column, or NULL for SQL NULL. Running out of memory makes *ok false; it is never set to
 * true. */
const char *ty_column_text(sqlite3_stmt *stmt, int index, bool *ok);

static inline void ty_scope_stmt(sqlite3_stmt **stmt)
{
    if (*stmt) {
        sqlite3_reset(*stmt);
        sqlite3_clear_bindings(*stmt);
    }
}
/* Reset and unbound on every path, so that no unfinished SELECT holds a snapshot. */
#define ty_auto_stmt __attribute__((cleanup(ty_scope_stmt))) sqlite3_stmt *

#endif
