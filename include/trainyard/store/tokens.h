/* Tokens as stored (T2, T3): digests and rights, never the text. Authentication works on a table in
 * memory that is loaded from here and kept in step by whoever writes. */
#ifndef TRAINYARD_STORE_TOKENS_H
#define TRAINYARD_STORE_TOKENS_H

#include "trainyard/base/digest.h"
#include "trainyard/domain/access.h"
#include "trainyard/store/store.h"

enum { TY_TOKEN_HINT = 9 }; /* 8 characters and a NUL */

/* Texts live until the next call on the same writer or reader, or for the visit. */
struct ty_token_record {
    int64_t row;
    int64_t tenant;           /* rowid */
    const char *tenant_name;  /* filled by reads */
    const char *namespace;    /* filled by reads */
    const char *id;           /* "tok_…" */
    const char *name;         /* what it is for; "" allowed */
    char kind;                /* 'u', 's', 'a' or 'j' */
    char hint[TY_TOKEN_HINT]; /* the text's last digits, for people */
    ty_role role;
    uint64_t scopes;
    int64_t created_at;
    const char *created_by; /* id of the token that made it; NULL = the first start */
    int64_t expires_at;     /* microseconds, 0 = never */
    int64_t revoked_at;     /* 0 = not */
    int64_t last_used_at;   /* 0 = never, or not yet flushed */
};
typedef bool ty_token_visitor(void *context, const struct ty_token_record *token);

/* HMAC-SHA-256 of a token's text under a key derived from ty_store_key: what is stored and looked
 * up. */
ty_status ty_tokens_digest(const struct ty_store *store, const char *text,
                           uint8_t digest_out[TY_SHA256]) TY_MUST_CHECK;

/* Store a new token under its digest; row is written back. TY_CONFLICT when the id or digest exists
 * (make another); TY_NOT_FOUND (code "tenant_not_found") without such a tenant. */
ty_status ty_tokens_insert(struct ty_writer *writer, struct ty_token_record *token,
                           const uint8_t digest[TY_SHA256], struct ty_error *err) TY_MUST_CHECK;

/* Read inside a write. `tenant` 0 = any. Revoked ones are found too. TY_NOT_FOUND. */
ty_status ty_tokens_find(struct ty_writer *writer, int64_t tenant, const char *id,
                         struct ty_token_record *token_out, struct ty_error *err) TY_MUST_CHECK;

/* Revoke at `now`; a second time changes nothing. All its digests are removed. TY_NOT_FOUND. */
ty_status ty_tokens_revoke(struct ty_writer *writer, int64_t tenant, const char *id, int64_t now,
                           struct ty_error *err) TY_MUST_CHECK;

/* Give the token a new text: id, rights and expiry stay. Texts valid so far end at now + grace_us
 * (0 = at once). TY_NOT_FOUND; TY_CONFLICT (code "token_revoked" or "token_expired"). */
struct ty_token_rotation {
    int64_t tenant; /* 0 = any */
    const char *id;
    const char *hint; /* of the new text */
    const uint8_t *digest;
    int64_t now;
    int64_t grace_us;
};
ty_status ty_tokens_rotate(struct ty_writer *writer, const struct ty_token_rotation *rotation,
                           struct ty_error *err) TY_MUST_CHECK;

/* Note uses of many tokens in one write: rows and wall-clock times; older times than stored are
 * ignored. */
struct ty_token_use {
    int64_t row;
    int64_t at;
};
ty_status ty_tokens_used(struct ty_writer *writer, const struct ty_token_use *uses, size_t count,
                         struct ty_error *err) TY_MUST_CHECK;

/* TY_NOT_FOUND, for another tenant's too. */
ty_status ty_tokens_get(struct ty_reader *reader, int64_t tenant, const char *id,
                        ty_token_visitor *visit, void *context, struct ty_error *err) TY_MUST_CHECK;

/* Newest first, before row `after_row` (0 = from the start); revoked and expired ones are listed as
 * such. */
ty_status ty_tokens_list(struct ty_reader *reader, int64_t tenant, int64_t after_row, size_t limit,
                         ty_token_visitor *visit, void *context,
                         struct ty_error *err) TY_MUST_CHECK;

/* Every digest that opens something at `now`, with its token. A token in its grace time comes once
 * for each digest. `valid_until` is the sooner of the text's and the token's end, 0 = never. */
typedef bool ty_token_digest_visitor(void *context, const uint8_t digest[TY_SHA256],
                                     int64_t valid_until, const struct ty_token_record *token);
ty_status ty_tokens_load(struct ty_reader *reader, int64_t now, ty_token_digest_visitor *visit,
                         void *context, struct ty_error *err) TY_MUST_CHECK;

#endif
