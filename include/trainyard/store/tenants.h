/* Tenants: who shares the gateway, each with a Kubernetes namespace, a quota and defaults of its
 * own. */
#ifndef TRAINYARD_STORE_TENANTS_H
#define TRAINYARD_STORE_TENANTS_H

#include "trainyard/domain/access.h"
#include "trainyard/store/store.h"

/* The tenant that the first start makes (namespace "default", no limits, an open policy); it cannot
 * be deleted. */
#define TY_TENANT_DEFAULT "default"

/* One tenant as stored. Texts live until the next call on the same writer or reader, or for the
 * visit. */
struct ty_tenant_record {
    int64_t row; /* never given to another tenant again */
    const char *name;
    const char *namespace;
    const char *description; /* NULL = none */
    struct ty_quota quota;
    int64_t default_keep_seconds;    /* for jobs that do not say; -1 = the server's default */
    int64_t default_timeout_seconds; /* for jobs that do not say; 0 = none */
    const char *policy; /* what its jobs may ask for, as JSON; NULL for a new one = nothing */
    int64_t created_at;
    int64_t updated_at;
    int64_t revision; /* +1 with each change: the source of the ETag */
};
typedef bool ty_tenant_visitor(void *context, const struct ty_tenant_record *tenant);

/* Store a new tenant; row and revision are written back.
 * TY_CONFLICT (code "tenant_exists" or "namespace_taken"). */
ty_status ty_tenants_insert(struct ty_writer *writer, struct ty_tenant_record *tenant,
                            struct ty_error *err) TY_MUST_CHECK;

/* Read inside a write. TY_NOT_FOUND. */
ty_status ty_tenants_find(struct ty_writer *writer, const char *name,
                          struct ty_tenant_record *tenant_out, struct ty_error *err) TY_MUST_CHECK;

/* Store description, quota, defaults, policy and updated_at of the tenant of that row; name and
 * namespace never change. `revision` is raised and written back. TY_NOT_FOUND. */
ty_status ty_tenants_save(struct ty_writer *writer, struct ty_tenant_record *tenant,
                          struct ty_error *err) TY_MUST_CHECK;

/* Remove an empty tenant with its revoked or expired tokens. TY_NOT_FOUND; TY_CONFLICT code
 * "tenant_not_empty" (jobs, volumes or live tokens are left) or "tenant_default". */
ty_status ty_tenants_delete(struct ty_writer *writer, const char *name, int64_t now,
                            struct ty_error *err) TY_MUST_CHECK;

/* TY_NOT_FOUND. */
ty_status ty_tenants_get(struct ty_reader *reader, const char *name, ty_tenant_visitor *visit,
                         void *context, struct ty_error *err) TY_MUST_CHECK;

/* In order of creation, beyond `after_row`. */
ty_status ty_tenants_list(struct ty_reader *reader, int64_t after_row, size_t limit,
                          ty_tenant_visitor *visit, void *context,
                          struct ty_error *err) TY_MUST_CHECK;

/* What the tenant has at this time, from counters kept in the same transactions: O(1).
 * TY_NOT_FOUND. */
struct ty_tenant_counts {
    int64_t jobs;       /* records kept, finished ones included */
    int64_t queued;     /* in state queued */
    int64_t live;       /* not terminal, or a run may still exist */
    int64_t last_event; /* the newest sequence of its event log, 0 = none yet */
};
ty_status ty_tenants_count(struct ty_reader *reader, int64_t tenant,
                           struct ty_tenant_counts *counts_out, struct ty_error *err) TY_MUST_CHECK;

#endif
