/* The database: one writer thread that alone commits and checkpoints, and readers, one a thread.
 * The only room that knows SQLite. What was acknowledged survives kill, crash and power loss (WAL,
 * synchronous=FULL). */
#ifndef TRAINYARD_STORE_STORE_H
#define TRAINYARD_STORE_STORE_H

#include "trainyard/base/clock.h"
#include "trainyard/base/log.h"

#include <stdbool.h>

struct ty_store;
struct ty_writer; /* valid only inside `apply` of a write */
struct ty_reader; /* one connection for reading; belongs to one thread at a time */

struct ty_store_options {
    const char *folder; /* the data folder; the database is <folder>/trainyard.db */
    const char
        *vfs; /* NULL = SQLite's default; the simulation names its own, and then nothing outside of
               * it is touched: no lock file, and a key that is the same for every run */
    const struct ty_clock *clock;
    const struct ty_log *log;
    size_t queue_capacity; /* writes that may wait, 0 = 4096 */
    size_t group_max;      /* writes of one commit, 0 = 128 */
    bool threaded;         /* false: writes run in ty_store_drain on the caller's thread */
};

/* Open, lock, check and migrate. Each failure has its own text:
 *   TY_CONFLICT      another process has this folder open
 *   TY_UNSUPPORTED   the database is of a newer version
 *   TY_CORRUPT       quick_check failed, or it is not our database
 *   TY_STORAGE_FULL, TY_UNAVAILABLE (read-only folder, no permission), TY_NO_MEMORY */
ty_status ty_store_open(const struct ty_store_options *options, struct ty_store **store_out,
                        struct ty_error *err) TY_MUST_CHECK;

/* Finish queued writes, close all readers that were given back, checkpoint, close. Takes NULL. */
void ty_store_close(struct ty_store *store);

/* One write. Embed it as the first member of a struct of your own that lives until `done` has been
 * called. */
struct ty_write {
    /* Runs on the writer thread inside the group's transaction: an error undoes this write alone.
     * When another write of the group had to be undone it may run a second time, on the same data
     * as the first: what the first run left in the write must not matter then. */
    ty_status (*apply)(struct ty_writer *writer, struct ty_write *write, struct ty_error *err);
    /* Runs on the writer thread once, after COMMIT (TY_OK), or with what went wrong. Must not block
     * and must not call ty_store_write_wait. */
    void (*done)(struct ty_write *write, ty_status status, const struct ty_error *err);
};

/* Hand a write over. TY_UNAVAILABLE (code "write_queue_full") when the queue is full or the store
 * is closing, then neither function is ever called. TY_STORAGE_FULL or TY_UNAVAILABLE at once while
 * the disk refuses writes. */
ty_status ty_store_write(struct ty_store *store, struct ty_write *write,
                         struct ty_error *err) TY_MUST_CHECK;

/* The same, waiting for the result; `done` of the write is called too when not NULL. Never on the
 * writer thread. */
ty_status ty_store_write_wait(struct ty_store *store, struct ty_write *write,
                              struct ty_error *err) TY_MUST_CHECK;

/* Not threaded: commit everything that is queued. Returns how many writes ran. */
size_t ty_store_drain(struct ty_store *store);

/* A reader of your own, or one borrowed from a pool of open ones; give it back on every path. */
ty_status ty_reader_open(struct ty_store *store, struct ty_reader **reader_out,
                         struct ty_error *err) TY_MUST_CHECK;
void ty_reader_close(struct ty_reader *reader); /* takes NULL */

/* Whether writes go through at this time, for /readyz; *err says why not. */
ty_status ty_store_health(struct ty_store *store, struct ty_error *err) TY_MUST_CHECK;

struct ty_store_figures {
    size_t queue_depth;
    int64_t commits;
    int64_t writes;
    int64_t failed_commits;
    int64_t fsync_errors;
    double commit_seconds_sum;
    int64_t commit_seconds_bucket[16]; /* 0.5 ms doubling */
};
void ty_store_figures(struct ty_store *store, struct ty_store_figures *out);

/* 32 random bytes made at first start and kept in the database's folder apart from the database
 * (0600): the key of cursors and token digests. */
const unsigned char *ty_store_key(const struct ty_store *store);

#endif
