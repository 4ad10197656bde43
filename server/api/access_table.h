/* Tokens and tenants in memory: what authentication reads on HTTP threads. A snapshot under a
 * read-write lock; every change in the database is followed by a reload before the change is
 * answered. */
#ifndef TRAINYARD_API_ACCESS_TABLE_H
#define TRAINYARD_API_ACCESS_TABLE_H

#include "trainyard/domain/access.h"
#include "trainyard/domain/policy.h"
#include "trainyard/store/tenants.h"
#include "trainyard/store/tokens.h"

struct ty_access_table;

/* What a request needs of its tenant. */
struct ty_access_tenant {
    int64_t row;
    char name[64];
    char namespace[64];
    struct ty_quota quota;
    int64_t default_keep_seconds;
    int64_t default_timeout_seconds;
};

ty_status ty_access_table_create(struct ty_access_table **table_out) TY_MUST_CHECK;
void ty_access_table_destroy(struct ty_access_table *table); /* takes NULL */

/* Read all live tokens and tenants anew. One caller at a time is let through. TY_UNAVAILABLE,
 * TY_NO_MEMORY: the old snapshot stays. */
ty_status ty_access_table_reload(struct ty_access_table *table, struct ty_reader *reader,
                                 int64_t now, struct ty_error *err) TY_MUST_CHECK;

/* Who holds the token of this digest at `now`; false when nobody does. Notes the use. */
bool ty_access_table_find(struct ty_access_table *table, const uint8_t digest[TY_SHA256],
                          int64_t now, struct ty_principal *principal_out);

/* Whether the token is still good at `now`, for streams that are open. */
bool ty_access_table_alive(struct ty_access_table *table, int64_t token_row, int64_t now);

bool ty_access_table_tenant(struct ty_access_table *table, const char *name,
                            struct ty_access_tenant *tenant_out);

/* The policy of a tenant, a new reference; NULL when there is no such tenant. */
struct ty_policy *ty_access_table_policy(struct ty_access_table *table, const char *name);

/* Whether a live token with system:admin exists. */
bool ty_access_table_has_admin(struct ty_access_table *table);

/* Uses since the last call, at most `max`; for writing last_used_at in batches. */
size_t ty_access_table_take_uses(struct ty_access_table *table, struct ty_token_use *out,
                                 size_t max);

#endif
