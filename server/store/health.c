/* Whether writes are taken.
 *
 * Happy path: GOOD. A full disk makes it FULL and any other refusal FAILING: writes are refused at
 * once, and the writer tries a small write of its own about once a second; when that commits, it is
 * GOOD again without anybody's help. A failed fsync makes it BROKEN for good: the kernel may have
 * dropped the dirty pages and would report the next fsync as a success, so nothing this process
 * writes can be promised any more. The next start copies the whole log again. */
#include "inside.h"

enum { PROBE_EVERY_MS = 1000 };

ty_status ty_health_init(struct ty_store_health *health, struct ty_error *err)
{
    if (pthread_mutex_init(&health->lock, NULL) != 0)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a lock");
    atomic_init(&health->state, TY_HEALTH_GOOD);
    return TY_OK;
}

void ty_health_done(struct ty_store_health *health)
{
    pthread_mutex_destroy(&health->lock);
}

ty_health ty_health_get(struct ty_store_health *health)
{
    return (ty_health)atomic_load_explicit(&health->state, memory_order_acquire);
}

ty_status ty_health_check(struct ty_store_health *health, struct ty_error *err)
{
    if (ty_health_get(health) == TY_HEALTH_GOOD)
        return TY_OK;
    pthread_mutex_lock(&health->lock);
    ty_status status = TY_OK;
    if (ty_health_get(health) != TY_HEALTH_GOOD) {
        status = health->why.status;
        if (err)
            *err = health->why;
    }
    pthread_mutex_unlock(&health->lock);
    return status;
}

void ty_health_set(struct ty_store *store, ty_health state, const struct ty_error *why)
{
    struct ty_store_health *health = &store->health;
    pthread_mutex_lock(&health->lock);
    ty_health before = ty_health_get(health);
    bool change = before != state && before != TY_HEALTH_BROKEN;
    if (change) {
        if (why)
            health->why = *why;
        atomic_store_explicit(&health->state, (int)state, memory_order_release);
    }
    pthread_mutex_unlock(&health->lock);
    if (!change)
        return;
    if (state == TY_HEALTH_GOOD)
        ty_log(store->log, TY_LOG_INFO, "store_writes_resumed", "the database takes writes again");
    else
        ty_log(store->log, TY_LOG_ERROR, "store_writes_refused", "%s", why ? why->text : "");
}

void ty_health_judge(struct ty_store *store, int rc, const struct ty_error *why)
{
    struct ty_error words = *why;
    ty_health state = TY_HEALTH_FAILING;
    if (rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC) {
        state = TY_HEALTH_BROKEN;
        pthread_mutex_lock(&store->figures_lock);
        store->figures.fsync_errors++;
        pthread_mutex_unlock(&store->figures_lock);
        (void)ty_fail_code(&words, TY_UNAVAILABLE, "storage_broken",
                           "the disk failed to make written data durable; writes stay refused "
                           "until the service is started again");
    } else if (why->status == TY_CORRUPT) {
        state = TY_HEALTH_BROKEN;
        (void)ty_fail_code(&words, TY_CORRUPT, "storage_corrupt",
                           "the database is damaged; writes stay refused: %s", why->text);
    } else if (why->status == TY_STORAGE_FULL) {
        state = TY_HEALTH_FULL;
        (void)ty_fail_code(&words, TY_STORAGE_FULL, "storage_full",
                           "no room on the disk of the database");
    } else {
        (void)ty_fail_code(&words, TY_UNAVAILABLE, "storage_failing",
                           "the database cannot be written: %s", sqlite3_errstr(rc));
    }
    store->health.next_probe_ms = ty_monotonic_ms(&store->clock) + PROBE_EVERY_MS;
    ty_health_set(store, state, &words);
}

static ty_status write_meta(struct ty_writer *writer, void *context, struct ty_error *err)
{
    const int *size = context;
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_META_SET, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_text(&bind, "probe");
    if (*size > 0)
        bind.rc = sqlite3_bind_zeroblob(stmt, bind.index, *size);
    return ty_bind_step(&writer->conn, &bind, NULL, "probe the database", err);
}

void ty_health_probe(struct ty_store *store, bool now)
{
    ty_health state = ty_health_get(&store->health);
    if (state != TY_HEALTH_FULL && state != TY_HEALTH_FAILING)
        return;
    if (!now && ty_monotonic_ms(&store->clock) < store->health.next_probe_ms)
        return;
    store->health.next_probe_ms = ty_monotonic_ms(&store->clock) + PROBE_EVERY_MS;
    /* Emptying the log first may be all the room that is needed. */
    (void)ty_checkpoint_idle(store);
    /* Large enough that a success means room for a few groups; then given back. */
    static const int sizes[] = {128 * 1024, 0};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct ty_error err = {0};
        int size = sizes[i];
        if (ty_writer_alone(store, write_meta, &size, &err) != TY_OK)
            return;
    }
    ty_health_set(store, TY_HEALTH_GOOD, NULL);
}
