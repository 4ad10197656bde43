/* Pruning of what has had its time: idempotency keys, old events, the rest of long histories. Done
 * by the writer when nothing is queued, in pieces small enough that a write arriving meanwhile
 * hardly notices. */
#include "inside.h"
#include "jobs_inside.h"
#include "trainyard/store/events.h"
#include "trainyard/store/idempotency.h"

enum { PIECE = 200 };
#define EVERY_US INT64_C(60000000)

struct piece {
    int64_t now;
    size_t removed;
};

static ty_status prune_keys(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct piece *piece = context;
    return ty_idempotency_prune(writer, piece->now, PIECE, &piece->removed, err);
}

static ty_status trim_events(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct piece *piece = context;
    return ty_events_trim(writer, piece->now - TY_EVENTS_KEEP_US, PIECE, &piece->removed, err);
}

static ty_status sweep_leftovers(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct piece *piece = context;
    return ty_jobs_sweep(writer, PIECE, &piece->removed, err);
}

bool ty_housekeep(struct ty_store *store)
{
    static ty_writer_work *const works[] = {prune_keys, trim_events, sweep_leftovers};
    int64_t now = ty_now_us(&store->clock);
    /* A clock that was set back far must not stop it for long. */
    if (now < store->next_housekeeping && now > store->next_housekeeping - 2 * EVERY_US)
        return false;
    if (ty_health_get(&store->health) != TY_HEALTH_GOOD)
        return false;
    bool more = false;
    for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
        struct piece piece = {.now = now};
        struct ty_error err = {0};
        if (ty_writer_alone(store, works[i], &piece, &err) != TY_OK) {
            ty_log(store->log, TY_LOG_WARNING, "store_housekeeping_failed", "%s", err.text);
            break;
        }
        more = more || piece.removed >= PIECE;
    }
    store->next_housekeeping = more ? now : now + EVERY_US;
    return more;
}
