/* Damage is looked for at every start: at once when the database is small, else table by table on a
 * thread of low priority, so that a million jobs do not hold up the service. What is found stops
 * writes and shows in the health. */
#include "inside.h"
#include "trainyard/base/thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SMALL_BYTES = 4 * 1024 * 1024, STEPS_BETWEEN_LOOKS = 20000, DELAY_MS = 2000 };

static const char code_words[] = "error code=";

static ty_status check_with(struct ty_conn *conn, const char *sql, const char *table,
                            struct ty_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(conn->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK && table)
        rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_TRANSIENT);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    ty_status status = TY_OK;
    if (rc == SQLITE_ROW) {
        const char *words = (const char *)sqlite3_column_text(stmt, 0);
        const char *second = words ? strchr(words, '\n') : NULL;
        if (second) /* the first line only names the database */
            words = second + 1;
        const char *unread = words ? strstr(words, code_words) : NULL;
        if (unread) /* not damage: a page could not be read, or there was no memory for it */
            status = ty_conn_fail(conn, (int)strtol(unread + strlen(code_words), NULL, 10),
                                  "check the database", err);
        else if (!words)
            status = ty_fail(err, TY_NO_MEMORY, "no memory to check the database");
        else if (strcmp(words, "ok") != 0)
            status = ty_fail(err, TY_CORRUPT,
                             "the database is damaged (%s): restore a backup, or let a copy be "
                             "repaired",
                             words);
    } else if (rc != SQLITE_DONE) {
        status = ty_conn_fail(conn, rc, "check the database", err);
    }
    sqlite3_finalize(stmt);
    return status;
}

static ty_status check_quick(struct ty_conn *conn, struct ty_error *err)
{
    return check_with(conn, "PRAGMA quick_check(1)", NULL, err);
}

static int closing(void *context)
{
    struct ty_store *store = context;
    return atomic_load(&store->closing) ? 1 : 0;
}

static ty_status check_tables(struct ty_conn *conn, struct ty_store *store, struct ty_error *err)
{
    for (int64_t i = 0; !closing(store); i++) {
        char name[64] = "";
        sqlite3_stmt *stmt = NULL;
        int rc = sqlite3_prepare_v2(conn->db,
                                    "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                    " ORDER BY name LIMIT 1 OFFSET ?1",
                                    -1, &stmt, NULL);
        if (rc == SQLITE_OK)
            rc = sqlite3_bind_int64(stmt, 1, i);
        if (rc == SQLITE_OK)
            rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            sqlite3_snprintf((int)sizeof(name), name, "%s", sqlite3_column_text(stmt, 0));
        sqlite3_finalize(stmt);
        if (rc == SQLITE_DONE)
            return TY_OK;
        if (rc != SQLITE_ROW)
            return ty_conn_fail(conn, rc, "check the database", err);
        ty_status status =
            check_with(conn, "SELECT * FROM pragma_quick_check(?1) LIMIT 1", name, err);
        if (status != TY_OK)
            return status;
    }
    return TY_OK;
}

static void *check_thread(void *context)
{
    struct ty_store *store = context;
    struct ty_conn conn;
    struct ty_error err = {0};
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
    for (int waited = 0; waited < DELAY_MS && !closing(store); waited += 50)
        usleep(50 * 1000);
    if (closing(store) || ty_conn_open(&conn, store->path, store->vfs, false, &err) != TY_OK)
        return NULL;
    sqlite3_progress_handler(conn.db, STEPS_BETWEEN_LOOKS, closing, store);
    ty_status status = check_tables(&conn, store, &err);
    ty_conn_close(&conn);
    if (status == TY_CORRUPT) {
        struct ty_error words = {0};
        (void)ty_fail_code(&words, TY_CORRUPT, "storage_corrupt", "%s", err.text);
        ty_health_set(store, TY_HEALTH_BROKEN, &words);
    } else if (status != TY_OK && !closing(store)) {
        ty_log(store->log, TY_LOG_WARNING, "store_check_failed", "%s", err.text);
    } else if (status == TY_OK) {
        ty_log(store->log, TY_LOG_DEBUG, "store_check_done", "the database is sound");
    }
    return NULL;
}

ty_status ty_check_start(struct ty_store *store, struct ty_error *err)
{
    struct ty_conn *conn = &store->writer.conn;
    int64_t pages = 0;
    int64_t page_size = 0;
    ty_status status = ty_conn_int(conn, "PRAGMA page_count", 0, &pages, err);
    if (status == TY_OK)
        status = ty_conn_int(conn, "PRAGMA page_size", 0, &page_size, err);
    if (status != TY_OK)
        return status;
    if (!store->threaded || pages * page_size <= SMALL_BYTES)
        return check_quick(conn, err);
    status = ty_thread_start(&store->check_thread, "store-check", check_thread, store, err);
    store->check_started = status == TY_OK;
    return status;
}

void ty_check_stop(struct ty_store *store)
{
    if (store->check_started)
        pthread_join(store->check_thread, NULL);
    store->check_started = false;
}
