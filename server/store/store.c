/* Opening and closing.
 *
 * Happy path: claim the folder, open the writer's connection, migrate, copy an old log back and
 * empty it (so that nothing this run builds on rests in a log whose fsync an earlier run may have
 * seen fail), check, start the writer. */
#include "inside.h"
#include "migrate.h"
#include "trainyard/base/buf.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/thread.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUE_DEFAULT = 4096, GROUP_DEFAULT = 128 };

static ty_status derive_key(const struct ty_store *store, const char *use,
                            unsigned char out[TY_SHA256], struct ty_error *err)
{
    if (ty_hmac_sha256(store->key, TY_STORE_KEY, use, strlen(use), out) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a key");
    return TY_OK;
}

static char *database_path(const struct ty_store_options *options)
{
    ty_auto_buf path = {0};
    ty_buf_init(&path, 4096);
    ty_buf_addf(&path, "%s/trainyard.db", options->folder);
    return ty_buf_take(&path, NULL);
}

static ty_status make_parts(struct ty_store *store, const struct ty_store_options *options,
                            struct ty_error *err)
{
    size_t capacity = options->queue_capacity ? options->queue_capacity : QUEUE_DEFAULT;
    store->group_max = options->group_max ? options->group_max : GROUP_DEFAULT;
    if (store->group_max > TY_GROUP_LIMIT)
        store->group_max = TY_GROUP_LIMIT;
    store->clock = *options->clock;
    store->log = options->log;
    store->threaded = options->threaded;
    store->path = database_path(options);
    store->vfs = options->vfs ? strdup(options->vfs) : NULL;
    store->items = calloc(store->group_max, sizeof(*store->items));
    store->results = ty_writer_results(store->group_max);
    if (!store->path || (options->vfs && !store->vfs) || !store->items || !store->results ||
        ty_queue_create(capacity, &store->queue) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the store");
    return TY_OK;
}

static ty_status derive_keys(struct ty_store *store, struct ty_error *err)
{
    ty_status status = derive_key(store, "trainyard token digest v1", store->token_key, err);
    if (status == TY_OK)
        status = derive_key(store, "trainyard cursor v1", store->cursor_key, err);
    return status;
}

/* BEGIN IMMEDIATE fails when a foreign program holds the database for writing. */
static ty_status check_alone(struct ty_conn *conn, struct ty_error *err)
{
    ty_status status = ty_conn_run(conn, TY_SQL_BEGIN_WRITE, "start a transaction", err);
    if (status == TY_OK)
        return ty_conn_run(conn, TY_SQL_ROLLBACK, "end a transaction", err);
    if ((sqlite3_extended_errcode(conn->db) & 0xff) == SQLITE_BUSY)
        return ty_fail_code(err, TY_CONFLICT, "folder_in_use",
                            "another program is writing to the database");
    return status;
}

static ty_status seed(struct ty_writer *writer, void *context, struct ty_error *err)
{
    (void)context;
    ty_status status = ty_tenants_seed(writer, ty_now_us(&writer->store->clock), err);
    return status == TY_OK ? ty_jobs_remember(writer, err) : status;
}

static ty_status open_database(struct ty_store *store, struct ty_error *err)
{
    struct ty_conn *conn = &store->writer.conn;
    store->writer.store = store;
    ty_status status = ty_relog(store, err);
    if (status == TY_OK)
        status = ty_conn_open(conn, store->path, store->vfs, true, err);
    if (status != TY_OK)
        return status;
    int64_t version = 0;
    status = ty_migrate_check(conn, ty_migrations, ty_migrations_count, &version, err);
    if (status == TY_OK)
        status = check_alone(conn, err);
    if (status == TY_OK)
        status = ty_conn_exec(conn, "PRAGMA journal_mode=WAL", "switch the log on", err);
    if (status != TY_OK)
        return status;
    store->ours = true;
    ty_checkpoint_watch(store);
    status = ty_migrate(conn, ty_migrations, ty_migrations_count, err);
    if (status == TY_OK)
        status = ty_checkpoint_all(store, err);
    if (status == TY_OK)
        status = ty_check_start(store, err);
    if (status == TY_OK)
        status = ty_writer_alone(store, seed, NULL, err);
    return status;
}

static ty_status start_writer(struct ty_store *store, struct ty_error *err)
{
    if (!store->threaded)
        return TY_OK;
    ty_status status =
        ty_thread_start(&store->thread, "store-writer", ty_writer_thread, store, err);
    store->thread_started = status == TY_OK;
    return status;
}

ty_status ty_store_open(const struct ty_store_options *options, struct ty_store **store_out,
                        struct ty_error *err)
{
    struct ty_store *store = calloc(1, sizeof(*store));
    if (!store)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the store");
    store->lock_fd = -1;
    /* Nobody reads SQLite's figures of its memory, and they cost a lock an allocation. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    pthread_mutex_init(&store->readers_lock, NULL);
    pthread_mutex_init(&store->figures_lock, NULL);
    ty_status status = ty_health_init(&store->health, err);
    if (status == TY_OK)
        status = make_parts(store, options, err);
    if (status == TY_OK)
        status = ty_folder_claim(store, options->folder, err);
    if (status == TY_OK)
        status = derive_keys(store, err);
    if (status == TY_OK)
        status = open_database(store, err);
    if (status == TY_OK)
        status = start_writer(store, err);
    if (status != TY_OK) {
        ty_store_close(store);
        return status;
    }
    *store_out = store;
    return TY_OK;
}

static void stop_writer(struct ty_store *store)
{
    if (store->queue)
        ty_queue_close(store->queue);
    if (store->thread_started)
        pthread_join(store->thread, NULL);
    else if (store->queue && store->writer.conn.db)
        (void)ty_store_drain(store);
}

static void close_database(struct ty_store *store)
{
    struct ty_error ignored;
    if (!store->writer.conn.db)
        return;
    /* No ANALYZE here or anywhere: every statement is written for one index, and a planner that has
     * seen today's numbers might choose another tomorrow. */
    if (store->ours && ty_health_get(&store->health) == TY_HEALTH_GOOD)
        (void)!ty_checkpoint_all(store, &ignored);
    ty_conn_close(&store->writer.conn);
}

void ty_store_close(struct ty_store *store)
{
    if (!store)
        return;
    atomic_store(&store->closing, true);
    stop_writer(store);
    ty_check_stop(store);
    ty_readers_close(store);
    close_database(store);
    ty_row_texts_done(&store->writer.found);
    ty_row_texts_done(&store->writer.found_job);
    ty_queue_destroy(store->queue);
    ty_health_done(&store->health);
    pthread_mutex_destroy(&store->readers_lock);
    pthread_mutex_destroy(&store->figures_lock);
    ty_scope_close(&store->lock_fd);
    ty_wipe(store->key, sizeof(store->key));
    ty_wipe(store->token_key, sizeof(store->token_key));
    ty_wipe(store->cursor_key, sizeof(store->cursor_key));
    free(store->items);
    free(store->results);
    free(store->path);
    free(store->vfs);
    free(store);
}

ty_status ty_store_health(struct ty_store *store, struct ty_error *err)
{
    return ty_health_check(&store->health, err);
}

void ty_store_figures(struct ty_store *store, struct ty_store_figures *out)
{
    pthread_mutex_lock(&store->figures_lock);
    *out = store->figures;
    pthread_mutex_unlock(&store->figures_lock);
    out->queue_depth = ty_queue_length(store->queue);
}

const unsigned char *ty_store_key(const struct ty_store *store)
{
    return store->key;
}
