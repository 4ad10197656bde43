/* Idempotency keys (H6): one row for each (tenant, route, key), kept 48 hours, written in the same
 * transaction as what the request made. Expired rows are pruned by the writer when it is idle. */
#ifndef TRAINYARD_STORE_IDEMPOTENCY_H
#define TRAINYARD_STORE_IDEMPOTENCY_H

#include "trainyard/base/buf.h"
#include "trainyard/base/digest.h"
#include "trainyard/store/store.h"

#define TY_IDEMPOTENCY_KEEP_US (INT64_C(48) * 3600 * 1000000)

/* A job id, or an answer kept as it was. Texts live until the next call on the same writer, or for
 * the visit. */
struct ty_idempotency {
    int64_t tenant;
    const char *route; /* method and template: "POST /v1/jobs" */
    const char *key;   /* 1 to 255 bytes */
    uint8_t fingerprint[TY_SHA256];
    const char *job_id; /* NULL when the answer is stored */
    int32_t status;     /* HTTP status of the stored answer, 0 = none */
    const char *body;   /* NULL = none */
    size_t body_len;
    int64_t created_at;
};

/* Look a key up inside a write, before the request's effect. TY_NOT_FOUND when it is unknown or
 * expired at `now`: go on and insert. The caller compares fingerprints (other body: 422
 * idempotency_key_reused). */
ty_status ty_idempotency_find(struct ty_writer *writer, int64_t tenant, const char *route,
                              const char *key, int64_t now, struct ty_idempotency *entry_out,
                              struct ty_error *err) TY_MUST_CHECK;

/* Store a key; an expired row of the same key is replaced. TY_CONFLICT when a valid one exists. */
ty_status ty_idempotency_insert(struct ty_writer *writer, const struct ty_idempotency *entry,
                                struct ty_error *err) TY_MUST_CHECK;

/* The same look-up outside of a write, to replay without one. TY_NOT_FOUND. */
typedef void ty_idempotency_visitor(void *context, const struct ty_idempotency *entry);
ty_status ty_idempotency_get(struct ty_reader *reader, int64_t tenant, const char *route,
                             const char *key, int64_t now, ty_idempotency_visitor *visit,
                             void *context, struct ty_error *err) TY_MUST_CHECK;

/* Remove at most `limit` rows made before `now` - 48 h. */
ty_status ty_idempotency_prune(struct ty_writer *writer, int64_t now, size_t limit,
                               size_t *removed_out, struct ty_error *err) TY_MUST_CHECK;

#endif
