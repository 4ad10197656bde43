/* The writer: one thread, one transaction for all that waited.
 *
 * Happy path: take what queued while the last commit ran, BEGIN IMMEDIATE, apply each write inside
 * a savepoint that is opened at its first change, COMMIT (durable: synchronous=FULL), then tell
 * each write. A write that fails is undone alone. When the disk fails within a write or at the
 * COMMIT, the whole group is rolled back and every write of it hears so: nobody is told TY_OK
 * before his commit is durable. */
#include "inside.h"

#include "trainyard/base/failpoint.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

struct ty_outcome {
    ty_status status;
    struct ty_error err;
};

struct ty_outcome *ty_writer_results(size_t count)
{
    return calloc(count, sizeof(struct ty_outcome));
}

enum { IDLE_MS = 50, CALM_MS = 1000, CROWD = 8 };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

ty_status ty_writer_begin(struct ty_writer *writer, struct ty_error *err)
{
    if (writer->wrote)
        return TY_OK;
    ty_status status = TY_OK;
    if (writer->guarded)
        status = ty_conn_run(&writer->conn, TY_SQL_SAVEPOINT, "start a write", err);
    if (status == TY_OK)
        writer->wrote = true;
    return status;
}

/* End the write's savepoint: keep its changes or take them back. */
static ty_status end_savepoint(struct ty_writer *writer, bool keep, struct ty_error *err)
{
    if (!writer->wrote)
        return TY_OK;
    writer->wrote = false;
    ty_status status = TY_OK;
    if (!writer->guarded)
        return TY_OK;
    if (!keep)
        status = ty_conn_run(&writer->conn, TY_SQL_SAVEPOINT_BACK, "undo a write", err);
    if (status == TY_OK)
        status = ty_conn_run(&writer->conn, TY_SQL_SAVEPOINT_END, "end a write", err);
    return status;
}

/* What became of the transaction. */
typedef enum { GOES_ON, MUST_REPEAT, LOST } fate;

static fate apply_one(struct ty_writer *writer, struct ty_write *write, struct ty_outcome *outcome)
{
    struct ty_writer_memory before = writer->memory;
    outcome->err.status = TY_OK;
    outcome->err.code[0] = outcome->err.text[0] = '\0';
    outcome->status = write->apply(writer, write, &outcome->err);
    outcome->err.status = outcome->status;
    ty_failpoint("store.after_apply");
    bool keep = outcome->status == TY_OK;
    if (!keep)
        writer->memory = before;
    bool lost = writer->conn.disk_rc != SQLITE_OK || sqlite3_get_autocommit(writer->conn.db) != 0;
    if (lost) {
        writer->wrote = false;
        if (keep)
            outcome->status = ty_fail(&outcome->err, TY_UNAVAILABLE, "the write was rolled back");
        return LOST;
    }
    if (!keep && writer->wrote && !writer->guarded)
        return MUST_REPEAT;
    struct ty_error err = {0};
    if (end_savepoint(writer, keep, &err) == TY_OK)
        return GOES_ON;
    outcome->status = err.status;
    outcome->err = err;
    return LOST;
}

static void roll_back(struct ty_writer *writer)
{
    struct ty_error ignored;
    if (!sqlite3_get_autocommit(writer->conn.db))
        (void)!ty_conn_run(&writer->conn, TY_SQL_ROLLBACK, "roll back", &ignored);
    writer->wrote = false;
}

/* Back to what was before the transaction; the counters are read again. */
static void take_back(struct ty_writer *writer, const struct ty_writer_memory *before)
{
    roll_back(writer);
    writer->memory = *before;
    writer->memory.counters = (struct ty_writer_counters){0};
}

/* Everything of the group that had succeeded or had not run yet fails with `why`. */
static void fail_group(struct ty_store *store, size_t ran, size_t count, const struct ty_error *why)
{
    for (size_t i = 0; i < count; i++) {
        struct ty_outcome *outcome = &store->results[i];
        if (i < ran && outcome->status != TY_OK)
            continue;
        outcome->status = why->status;
        outcome->err = *why;
    }
}

/* Judge a failure inside or at the end of a transaction, and give the words for all who were in it.
 */
static void judge(struct ty_store *store, struct ty_error *err)
{
    int rc = store->writer.conn.disk_rc;
    store->writer.conn.disk_rc = SQLITE_OK;
    if (rc == SQLITE_OK)
        return;
    ty_health_judge(store, rc, err);
    struct ty_error why = {0};
    if (ty_health_check(&store->health, &why) != TY_OK)
        *err = why;
}

static fate apply_all(struct ty_store *store, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fate after = apply_one(&store->writer, store->items[i], &store->results[i]);
        if (after == GOES_ON)
            continue;
        if (after == MUST_REPEAT)
            return after;
        struct ty_error err = store->results[i].err;
        roll_back(&store->writer);
        judge(store, &err);
        store->results[i].status = TY_OK; /* so that it gets the group's words too */
        fail_group(store, i + 1, count, &err);
        return LOST;
    }
    return GOES_ON;
}

/* One try at a group: BEGIN and all writes. On anything but GOES_ON the transaction is over. */
static fate try_group(struct ty_store *store, size_t count, bool guarded)
{
    struct ty_writer *writer = &store->writer;
    struct ty_writer_memory before = writer->memory;
    struct ty_error err = {0};
    writer->guarded = guarded;
    ty_failpoint("store.before_begin");
    if (ty_conn_run(&writer->conn, TY_SQL_BEGIN_WRITE, "start a transaction", &err) != TY_OK) {
        judge(store, &err);
        fail_group(store, 0, count, &err);
        return LOST;
    }
    fate after = apply_all(store, count);
    if (after == GOES_ON)
        return after;
    take_back(writer, &before);
    return after;
}

static void commit_group(struct ty_store *store, size_t count)
{
    struct ty_writer *writer = &store->writer;
    struct ty_error err = {0};
    struct ty_writer_memory before = writer->memory;
    writer->conn.disk_rc = SQLITE_OK;
    if (ty_health_check(&store->health, &err) != TY_OK) {
        fail_group(store, 0, count, &err);
        return;
    }
    /* A single write is undone by the transaction itself. */
    fate after = try_group(store, count, false);
    if (after == MUST_REPEAT && count == 1)
        return;
    if (after == MUST_REPEAT)
        after = try_group(store, count, true);
    if (after != GOES_ON)
        return;
    ty_failpoint("store.before_commit");
    if (ty_counters_settle(writer, &err) == TY_OK &&
        ty_conn_run(&writer->conn, TY_SQL_COMMIT, "commit", &err) == TY_OK)
        return;
    take_back(writer, &before);
    judge(store, &err);
    fail_group(store, count, count, &err);
    pthread_mutex_lock(&store->figures_lock);
    store->figures.failed_commits++;
    pthread_mutex_unlock(&store->figures_lock);
}

static void note_commit(struct ty_store *store, size_t count, double seconds)
{
    size_t bucket = 0;
    const int64_t microseconds = (int64_t)(seconds * 1e6);
    while (bucket < 15 && microseconds > INT64_C(500) << bucket)
        bucket++;
    pthread_mutex_lock(&store->figures_lock);
    store->figures.commits++;
    store->figures.writes += (int64_t)count;
    store->figures.commit_seconds_sum += seconds;
    store->figures.commit_seconds_bucket[bucket]++;
    pthread_mutex_unlock(&store->figures_lock);
}

static void run_group(struct ty_store *store, size_t count)
{
    double start = seconds_now();
    commit_group(store, count);
    ty_failpoint("store.after_commit");
    note_commit(store, count, seconds_now() - start);
    ty_events_tell(store);
    for (size_t i = 0; i < count; i++) {
        struct ty_write *write = store->items[i];
        struct ty_outcome *outcome = &store->results[i];
        /* `done` may free the write: nothing of it is touched afterwards. */
        if (write->done)
            write->done(write, outcome->status, outcome->status == TY_OK ? NULL : &outcome->err);
        ty_failpoint("store.between_done");
    }
    ty_checkpoint_busy(store);
}

ty_status ty_writer_alone(struct ty_store *store, ty_writer_work *work, void *context,
                          struct ty_error *err)
{
    struct ty_writer *writer = &store->writer;
    struct ty_writer_memory before = writer->memory;
    writer->conn.disk_rc = SQLITE_OK;
    ty_status status = ty_conn_run(&writer->conn, TY_SQL_BEGIN_WRITE, "start a transaction", err);
    if (status == TY_OK) {
        writer->wrote = true; /* the transaction itself is the savepoint */
        status = work(writer, context, err);
        writer->wrote = false;
        if (status == TY_OK)
            status = ty_counters_settle(writer, err);
        if (status == TY_OK)
            status = ty_conn_run(&writer->conn, TY_SQL_COMMIT, "commit", err);
    }
    if (status == TY_OK)
        return TY_OK;
    take_back(writer, &before);
    judge(store, err);
    return status;
}

static size_t take(struct ty_store *store, int timeout_ms)
{
    return ty_queue_pop(store->queue, (void **)store->items, store->group_max, timeout_ms);
}

/* Nothing is queued: empty the log and prune, one bounded piece, or find out how long to wait. */
static int idle_work(struct ty_store *store, int waited_ms)
{
    ty_health_probe(store, false);
    if (ty_health_get(&store->health) != TY_HEALTH_GOOD)
        return CALM_MS / 4;
    if ((waited_ms >= CALM_MS || ty_checkpoint_wanted(store)) && ty_checkpoint_idle(store))
        return IDLE_MS;
    return ty_housekeep(store) ? IDLE_MS : CALM_MS;
}

void *ty_writer_thread(void *context)
{
    struct ty_store *store = context;
    int wait_ms = IDLE_MS;
    for (;;) {
        size_t count = take(store, wait_ms);
        if (count > 0) {
            run_group(store, count);
            /* Where processors are short, those who bring the next writes go first: the next group
             * is the larger. */
            if (count >= CROWD)
                sched_yield();
            wait_ms = IDLE_MS;
        } else if (ty_queue_closed(store->queue)) {
            break;
        } else {
            wait_ms = idle_work(store, wait_ms);
        }
    }
    return NULL;
}

size_t ty_store_drain(struct ty_store *store)
{
    size_t total = 0;
    size_t count;
    if (store->threaded)
        return 0;
    ty_health_probe(store, true);
    while ((count = take(store, 0)) > 0) {
        run_group(store, count);
        total += count;
    }
    if (total == 0 && !atomic_load(&store->closing)) {
        (void)ty_checkpoint_idle(store);
        (void)ty_housekeep(store);
    }
    return total;
}

ty_status ty_store_write(struct ty_store *store, struct ty_write *write, struct ty_error *err)
{
    ty_status status = ty_health_check(&store->health, err);
    if (status != TY_OK)
        return status;
    if (ty_queue_push(store->queue, write) == TY_OK)
        return TY_OK;
    return ty_fail_code(err, TY_UNAVAILABLE, "write_queue_full",
                        ty_queue_closed(store->queue) ? "the store is closing"
                                                      : "too many writes are waiting");
}

/* A write of somebody else's that a thread waits for. */
struct waiting {
    struct ty_write write;
    struct ty_write *inner;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over;
    ty_status status;
    struct ty_error err;
};

static ty_status waiting_apply(struct ty_writer *writer, struct ty_write *write,
                               struct ty_error *err)
{
    struct waiting *waiting = (struct waiting *)write;
    return waiting->inner->apply(writer, waiting->inner, err);
}

static void waiting_done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    struct waiting *waiting = (struct waiting *)write;
    if (waiting->inner->done)
        waiting->inner->done(waiting->inner, status, err);
    pthread_mutex_lock(&waiting->lock);
    waiting->status = status;
    if (err)
        waiting->err = *err;
    waiting->over = true;
    pthread_cond_signal(&waiting->ended);
    pthread_mutex_unlock(&waiting->lock);
}

static void wait_for(struct ty_store *store, struct waiting *waiting)
{
    if (!store->threaded) {
        while (!waiting->over)
            (void)ty_store_drain(store);
        return;
    }
    pthread_mutex_lock(&waiting->lock);
    while (!waiting->over)
        pthread_cond_wait(&waiting->ended, &waiting->lock);
    pthread_mutex_unlock(&waiting->lock);
}

ty_status ty_store_write_wait(struct ty_store *store, struct ty_write *write, struct ty_error *err)
{
    struct waiting waiting = {
        .write = {.apply = waiting_apply, .done = waiting_done},
        .inner = write,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .ended = PTHREAD_COND_INITIALIZER
    };
    ty_status status = ty_store_write(store, &waiting.write, err);
    if (status == TY_OK) {
        wait_for(store, &waiting);
        status = waiting.status;
        if (status != TY_OK && err)
            *err = waiting.err;
    }
    pthread_cond_destroy(&waiting.ended);
    pthread_mutex_destroy(&waiting.lock);
    return status;
}
