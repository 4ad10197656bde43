/* Who may do what: scopes as bits, roles as fixed sets of them (T4), token texts (T1). Pure. */
#ifndef TRAINYARD_DOMAIN_ACCESS_H
#define TRAINYARD_DOMAIN_ACCESS_H

#include "trainyard/base/error.h"
#include "trainyard/base/random.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TY_SCOPE_JOBS_READ = 1 << 0,
    TY_SCOPE_JOBS_WRITE = 1 << 1,
    TY_SCOPE_JOBS_CANCEL = 1 << 2,
    TY_SCOPE_LOGS_READ = 1 << 3,
    TY_SCOPE_ARTIFACTS_READ = 1 << 4,
    TY_SCOPE_VOLUMES_READ = 1 << 5,
    TY_SCOPE_VOLUMES_WRITE = 1 << 6,
    TY_SCOPE_WEBHOOKS_READ = 1 << 7,
    TY_SCOPE_WEBHOOKS_WRITE = 1 << 8,
    TY_SCOPE_TOKENS_MANAGE = 1 << 9,
    TY_SCOPE_TENANT_ADMIN = 1 << 10,
    TY_SCOPE_SYSTEM_ADMIN = 1 << 11
};

typedef enum {
    TY_ROLE_VIEWER = 0,
    TY_ROLE_SUBMITTER = 1,
    TY_ROLE_OPERATOR = 2,
    TY_ROLE_TENANT_ADMIN = 3,
    TY_ROLE_SYSTEM_ADMIN = 4,
    TY_ROLE_COUNT = 5
} ty_role;

/* "jobs:read"… for one bit; "viewer"… for a role. Static strings. */
const char *ty_scope_name(uint64_t bit);
const char *ty_role_name(ty_role role);
ty_status ty_scope_parse(const char *name, uint64_t *bit_out) TY_MUST_CHECK; /* TY_INVALID */
ty_status ty_role_parse(const char *name, ty_role *role_out) TY_MUST_CHECK;  /* TY_INVALID */
uint64_t ty_role_scopes(ty_role role);

/* T1: `ty_<kind>_` + 30 base62 digits + 6 of CRC-32; 41 bytes and a NUL. Kinds u, s, a, j. */
enum { TY_TOKEN_TEXT = 42 };
void ty_token_make(const struct ty_random *random, char kind, char out[TY_TOKEN_TEXT]);

/* Whether form and checksum hold; costs no look-up. */
bool ty_token_well_formed(const char *text);

/* Who is asking; filled by authentication, carried with the request. */
struct ty_principal {
    int64_t tenant; /* rowid of the tenant acted in */
    char tenant_name[64];
    char namespace[64];
    int64_t token; /* rowid of the token */
    char token_id[40];
    ty_role role;
    uint64_t scopes;
    int64_t expires_at; /* microseconds, 0 = never */
};

/* Limits of one tenant; -1 = no limit. */
struct ty_quota {
    int32_t max_jobs;     /* admitted at once */
    int32_t max_queued;   /* waiting at once; over it a submit is refused with 429 */
    int32_t max_replicas; /* admitted at once */
    int32_t max_gpus;     /* admitted at once */
};

#endif
