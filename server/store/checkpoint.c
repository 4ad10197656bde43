/* The write-ahead log is copied back by the writer's own connection and by nobody else.
 *
 * Happy path: while writes pause, small PASSIVE steps empty it. Under load a step runs after a
 * commit once the log has grown by BUSY_FRAMES; it never waits for readers. Readers that overlap
 * without end could keep the log growing: at LARGE_FRAMES one RESTART waits a moment for them. */
#include "inside.h"

#include "trainyard/base/failpoint.h"

#include <errno.h>

enum { BUSY_FRAMES = 1000, IDLE_FRAMES = 256, LARGE_FRAMES = 16000, READERS_WAIT_MS = 250 };

static int note_frames(void *context, sqlite3 *db, const char *name, int frames)
{
    struct ty_store *store = context;
    (void)db;
    (void)name;
    if (frames < store->wal_frames) /* the log was started anew */
        store->checkpoint_after = BUSY_FRAMES;
    store->wal_frames = frames;
    return SQLITE_OK;
}

void ty_checkpoint_watch(struct ty_store *store)
{
    store->checkpoint_after = BUSY_FRAMES;
    (void)sqlite3_wal_hook(store->writer.conn.db, note_frames, store);
}

static int run(struct ty_store *store, int mode, struct ty_error *err)
{
    struct ty_conn *conn = &store->writer.conn;
    int in_log = 0;
    int copied = 0;
    if (mode != SQLITE_CHECKPOINT_PASSIVE)
        sqlite3_busy_timeout(conn->db, READERS_WAIT_MS);
    errno = 0;
    ty_failpoint("store.before_checkpoint");
    int rc = sqlite3_wal_checkpoint_v2(conn->db, NULL, mode, &in_log, &copied);
    ty_failpoint("store.after_checkpoint");
    if (mode != SQLITE_CHECKPOINT_PASSIVE)
        sqlite3_busy_timeout(conn->db, 5000);
    if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        rc = SQLITE_OK; /* readers are in the way: later */
    if (rc != SQLITE_OK)
        (void)ty_conn_fail(conn, rc, "checkpoint", err);
    else if (in_log >= 0)
        store->checkpoint_after = in_log + BUSY_FRAMES;
    return rc;
}

static void run_judged(struct ty_store *store, int mode)
{
    struct ty_error err = {0};
    int rc = run(store, mode, &err);
    /* A full disk does not lose anything here: the log keeps what could not be copied. The writes
     * that need room will notice by themselves. */
    if (rc != SQLITE_OK && err.status != TY_STORAGE_FULL && err.status != TY_NO_MEMORY)
        ty_health_judge(store, rc, &err);
    store->writer.conn.disk_rc = SQLITE_OK;
}

void ty_checkpoint_busy(struct ty_store *store)
{
    if (store->wal_frames < store->checkpoint_after)
        return;
    run_judged(store, store->wal_frames >= LARGE_FRAMES ? SQLITE_CHECKPOINT_RESTART
                                                        : SQLITE_CHECKPOINT_PASSIVE);
}

bool ty_checkpoint_idle(struct ty_store *store)
{
    /* checkpoint_after stands BUSY_FRAMES beyond what was copied last. */
    if (store->wal_frames == 0 || ty_health_get(&store->health) == TY_HEALTH_BROKEN ||
        store->wal_frames <= store->checkpoint_after - BUSY_FRAMES)
        return false;
    run_judged(store, SQLITE_CHECKPOINT_PASSIVE);
    return true;
}

bool ty_checkpoint_wanted(const struct ty_store *store)
{
    return store->wal_frames > store->checkpoint_after - BUSY_FRAMES + IDLE_FRAMES;
}

ty_status ty_checkpoint_all(struct ty_store *store, struct ty_error *err)
{
    int rc = run(store, SQLITE_CHECKPOINT_TRUNCATE, err);
    store->writer.conn.disk_rc = SQLITE_OK;
    store->wal_frames = 0;
    store->checkpoint_after = BUSY_FRAMES;
    return rc == SQLITE_OK ? TY_OK : err->status;
}
