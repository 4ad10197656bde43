/* Idempotency keys (H6) of POSTs that make something other than a job: volumes, tenants, tokens.
 * The key is stored in the transaction of what it made, with the name of that; a repeat is answered
 * with the thing as it stands. */
#ifndef TRAINYARD_API_KEYS_H
#define TRAINYARD_API_KEYS_H

#include "api/api.h"

enum { API_KEY_TEXT = 256, API_KEY_RESOURCE = 256 };

struct api_key {
    const char *route; /* "POST /v1/volumes"; NULL: the request has no key */
    char text[API_KEY_TEXT];
    uint8_t fingerprint[TY_SHA256];
    bool replayed; /* an earlier request with this key made `resource` */
    char resource[API_KEY_RESOURCE];
};

/* The Idempotency-Key field as the client means it (quoted or bare is the same key); false without
 * one. */
bool api_key_field(struct ty_request *request, char out[API_KEY_TEXT]);

/* SHA-256 of a body in canonical form; NULL counts as {}. TY_NO_MEMORY. */
ty_status api_fingerprint(const json_t *body, uint8_t out[TY_SHA256],
                          struct ty_error *err) TY_MUST_CHECK;

/* Read key and fingerprint of a request. TY_NO_MEMORY. */
ty_status api_key_read(struct ty_request *request, const char *route, struct api_key *key,
                       struct ty_error *err) TY_MUST_CHECK;

/* Inside a write, before the effect: note that the key makes `resource`, or find what it made
 * before; then `replayed` is set and there must be no effect. TY_CONFLICT (code
 * "idempotency_key_reused"): it came with another body. */
ty_status api_key_claim(struct ty_writer *writer, struct api_key *key, int64_t tenant,
                        const char *resource, int64_t now, struct ty_error *err) TY_MUST_CHECK;

#endif
