/* Live fan-out of committed changes: a cache of ready-made job bodies and wake-ups for whoever
 * waits on a job. */
#ifndef TRAINYARD_EVENTS_HUB_H
#define TRAINYARD_EVENTS_HUB_H

#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A ready answer of GET /v1/jobs/{id}: immutable, counted. */
struct ty_job_body {
    int refs; /* use ref and unref only */
    int64_t tenant;
    int64_t revision;
    bool terminal;
    bool transient; /* says something that changes without a commit (a place in the queue): it marks
                       the revision for waiters, but is not to be served again */
    char etag[72];  /* strong, with its quotes */
    size_t len;
    char bytes[];
};
/* *body_out has one reference. */
ty_status ty_job_body_create(const char *bytes, size_t len,
                             struct ty_job_body **body_out) TY_MUST_CHECK;
struct ty_job_body *ty_job_body_ref(struct ty_job_body *body);
void ty_job_body_unref(struct ty_job_body *body); /* takes NULL */

struct ty_hub;
/* Keep at most `capacity` bodies (least recently used go first). Thread-safe; read-mostly and
 * sharded, so that HTTP threads do not wait for one another. */
ty_status ty_hub_create(size_t capacity, struct ty_hub **hub_out,
                        struct ty_error *err) TY_MUST_CHECK;
void ty_hub_destroy(struct ty_hub *hub); /* takes NULL */

/* A new reference, or NULL when the job is not cached. A miss makes the id known to the hub, so
 * that a put may follow. */
struct ty_job_body *ty_hub_get(struct ty_hub *hub, const char *job_id);

/* Put a freshly rendered body unless one of a newer revision (or a mark by ty_hub_changed of a
 * newer one) is there. It is taken only while the hub knows the id, from a miss of ty_hub_get or
 * from ty_hub_changed before the row was read: so a body that was overtaken by a commit in between
 * can never stay. */
void ty_hub_put(struct ty_hub *hub, const char *job_id, struct ty_job_body *body);

/* A change of the job was committed: drop its cached body (and refuse older ones), wake all who
 * wait on it. Called on the writer thread after COMMIT. `removed` means the row is gone. */
void ty_hub_changed(struct ty_hub *hub, const char *job_id, int64_t revision, bool removed);

/* Wait for a change beyond `revision`, without a thread: `wake(context)` is called once, from the
 * thread that commits or from ty_hub_expire, then the waiter is gone. `deadline_ms` is monotonic.
 * If the job has moved on already (or was never cached as that revision: get, put, then wait) it is
 * called before the function returns, and *wait_out is NULL. What *wait_out points at is never
 * looked into: taking back a waiter that was woken already is safe. TY_UNAVAILABLE too many
 * waiters, TY_NO_MEMORY: `wake` is not called */
struct ty_hub_wait;
ty_status ty_hub_wait(struct ty_hub *hub, const char *job_id, int64_t revision, int64_t deadline_ms,
                      void (*wake)(void *context), void *context, struct ty_hub_wait **wait_out,
                      struct ty_error *err) TY_MUST_CHECK;
/* Take a waiter back: true when `wake` was not called and never will be. */
bool ty_hub_cancel(struct ty_hub *hub, struct ty_hub_wait *wait);
/* Wake all whose deadline has passed (and everyone when `all`, for draining). Called by a timer
 * thread of the app. */
void ty_hub_expire(struct ty_hub *hub, int64_t now_ms, bool all);

#endif
