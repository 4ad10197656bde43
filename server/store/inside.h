/* What the store's own files share: its structs and the calls between them. */
#ifndef STORE_INSIDE_H
#define STORE_INSIDE_H

#include "conn.h"
#include "texts.h"
#include "trainyard/base/digest.h"
#include "trainyard/base/queue.h"
#include "trainyard/store/store.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TY_STORE_KEY = 32, TY_GROUP_LIMIT = 1024 };

struct ty_counters {
    int64_t jobs;
    int64_t queued;
    int64_t live;
    int64_t last_event;
};

/* One tenant's, as they are in the running transaction (counters.c). */
struct ty_writer_counters {
    int64_t tenant; /* 0 = none */
    struct ty_counters now;
    bool changed; /* not stored yet */
};

/* What a write has changed beside the database; taken back when its savepoint is. */
struct ty_writer_memory {
    struct ty_writer_counters counters;
    int64_t last_created_at; /* of the newest job */
    bool disordered;         /* creation times of stored jobs do not grow with their rows */
};

/* The tenants that the running group has events for; a 0 in first place stands for all. */
enum { TY_TOLD_MAX = 16 };
struct ty_told {
    int64_t tenants[TY_TOLD_MAX];
    size_t count;
};

/* The writing connection. Touched only by the thread that runs writes. */
struct ty_writer {
    struct ty_conn conn;
    struct ty_store *store;
    struct ty_writer_memory memory;
    struct ty_told told;
    struct ty_texts found_job;
    struct ty_texts found; /* of every other find */
    bool wrote;            /* the running write has changed something */
    bool guarded;          /* each write of this group gets a savepoint of its own */
};

struct ty_reader {
    struct ty_conn conn;
    struct ty_store *store;
    struct ty_reader *next; /* in the pool, under store->readers_lock */
    int depth;              /* nested snapshots */
};

/* Whether the disk takes writes. */
typedef enum {
    TY_HEALTH_GOOD,
    TY_HEALTH_FULL,    /* no room: probed until there is */
    TY_HEALTH_FAILING, /* the last commit failed otherwise: probed too */
    TY_HEALTH_BROKEN   /* a failed fsync or damage was found: no more writes until the next start */
} ty_health;

struct ty_store_health {
    pthread_mutex_t lock;  /* `why` and changes of `state` */
    _Atomic int state;     /* ty_health */
    struct ty_error why;   /* what refused writes are answered with */
    int64_t next_probe_ms; /* writer thread only */
};

struct ty_event_listener;

struct ty_store {
    struct ty_clock clock;
    const struct ty_log *log;
    char *path;
    char *vfs; /* NULL = default */
    size_t group_max;
    bool threaded;
    bool ours; /* the database was recognised: it may be written and tidied */
    int lock_fd;
    unsigned char key[TY_STORE_KEY];
    unsigned char token_key[TY_SHA256];
    unsigned char cursor_key[TY_SHA256];

    struct ty_queue *queue;
    pthread_t thread;
    bool thread_started;
    pthread_t check_thread;
    bool check_started;
    _Atomic bool closing;
    struct ty_writer writer;
    struct ty_write **items;    /* group_max, writer thread only */
    struct ty_outcome *results; /* group_max, writer thread only */
    int64_t wal_frames;         /* of the log after the last commit, writer thread only */
    int64_t checkpoint_after;   /* no checkpoint before so many frames, writer thread only */
    int64_t next_housekeeping;  /* wall clock, writer thread only */

    _Atomic(const struct ty_event_listener *) listener;
    struct ty_store_health health;
    pthread_mutex_t readers_lock;
    struct ty_reader *free_readers;
    pthread_mutex_t figures_lock;
    struct ty_store_figures figures;
};

/* --- folder.c --- */
/* Take the folder's lock file and the key. TY_CONFLICT, TY_CORRUPT (key), TY_UNAVAILABLE,
 * TY_STORAGE_FULL. */
ty_status ty_folder_claim(struct ty_store *store, const char *folder,
                          struct ty_error *err) TY_MUST_CHECK;

/* --- relog.c --- */
/* Make a log that an earlier run left behind durable for certain, before anything reads it. */
ty_status ty_relog(struct ty_store *store, struct ty_error *err) TY_MUST_CHECK;

/* --- check.c --- */
/* Check now when the file is small, else on a thread beside the service. */
ty_status ty_check_start(struct ty_store *store, struct ty_error *err) TY_MUST_CHECK;
void ty_check_stop(struct ty_store *store);

/* --- health.c --- */
ty_status ty_health_init(struct ty_store_health *health, struct ty_error *err) TY_MUST_CHECK;
void ty_health_done(struct ty_store_health *health);
ty_health ty_health_get(struct ty_store_health *health);
/* TY_OK, or what writes are refused with. */
ty_status ty_health_check(struct ty_store_health *health, struct ty_error *err) TY_MUST_CHECK;
/* Judge a failed commit or checkpoint by its result code. */
void ty_health_judge(struct ty_store *store, int rc, const struct ty_error *why);
void ty_health_set(struct ty_store *store, ty_health state, const struct ty_error *why);
/* When it is time: one small real write; success makes the store good again. */
void ty_health_probe(struct ty_store *store, bool now);

/* --- checkpoint.c --- */
void ty_checkpoint_watch(struct ty_store *store); /* installs the WAL hook */
/* After a commit: only when the log has grown large. */
void ty_checkpoint_busy(struct ty_store *store);
/* Nothing is queued. True when there was something to do. */
bool ty_checkpoint_idle(struct ty_store *store);
/* Whether the log has grown enough to be worth a step at a short pause. */
bool ty_checkpoint_wanted(const struct ty_store *store);
/* Copy everything and empty the log: at start and at the end. */
ty_status ty_checkpoint_all(struct ty_store *store, struct ty_error *err) TY_MUST_CHECK;

/* --- writer.c --- */
void *ty_writer_thread(void *store);
/* Room for the outcomes of one group; freed by free(). NULL without memory. */
struct ty_outcome *ty_writer_results(size_t count);
/* Before the first change of a write: open its savepoint. */
ty_status ty_writer_begin(struct ty_writer *writer, struct ty_error *err) TY_MUST_CHECK;
/* Run internal work in a transaction of its own. */
typedef ty_status ty_writer_work(struct ty_writer *writer, void *context, struct ty_error *err);
ty_status ty_writer_alone(struct ty_store *store, ty_writer_work *work, void *context,
                          struct ty_error *err) TY_MUST_CHECK;

/* --- housekeep.c --- */
/* Prune what has expired, a bounded piece at a time. True when more is left. */
bool ty_housekeep(struct ty_store *store);

/* --- reader.c --- */
/* One snapshot for several statements; nests. */
ty_status ty_reader_begin(struct ty_reader *reader, struct ty_error *err) TY_MUST_CHECK;
void ty_reader_end(struct ty_reader *reader);
void ty_readers_close(struct ty_store *store);

/* --- events.c --- */
/* After a commit: tell who listens of the group's events. */
void ty_events_tell(struct ty_store *store);

/* --- jobs_write.c --- */
/* Read what the writer must remember of the jobs table. */
ty_status ty_jobs_remember(struct ty_writer *writer, struct ty_error *err) TY_MUST_CHECK;

/* --- tenants.c --- */
/* Make the default tenant in a new database. */
ty_status ty_tenants_seed(struct ty_writer *writer, int64_t now,
                          struct ty_error *err) TY_MUST_CHECK;

/* --- counters.c --- */
/* As they are stored. TY_NOT_FOUND. */
ty_status ty_counters_get(struct ty_conn *conn, int64_t tenant, struct ty_counters *counters_out,
                          struct ty_error *err) TY_MUST_CHECK;
/* As they are within a write. TY_NOT_FOUND. */
ty_status ty_counters_find(struct ty_writer *writer, int64_t tenant,
                           struct ty_counters *counters_out, struct ty_error *err) TY_MUST_CHECK;
/* After ty_writer_begin. */
ty_status ty_counters_save(struct ty_writer *writer, int64_t tenant,
                           const struct ty_counters *counters, struct ty_error *err) TY_MUST_CHECK;
/* Store what was saved: before every COMMIT. */
ty_status ty_counters_settle(struct ty_writer *writer, struct ty_error *err) TY_MUST_CHECK;
/* The same, and read them again when they are wanted next: before a tenant is removed. */
ty_status ty_counters_forget(struct ty_writer *writer, struct ty_error *err) TY_MUST_CHECK;

#endif
