/* Volumes: the claims a tenant has registered, and which live jobs name a claim (registered or
 * not). */
#ifndef TRAINYARD_STORE_VOLUMES_H
#define TRAINYARD_STORE_VOLUMES_H

#include "trainyard/domain/spec.h"
#include "trainyard/store/store.h"

/* Texts live until the next call on the same writer or reader, or for the visit. */
struct ty_volume_record {
    int64_t row;
    int64_t tenant;
    const char *namespace;
    const char *name; /* claim name, unique within the namespace */
    const char *size; /* quantity as the user wrote it */
    int64_t size_bytes;
    ty_access_mode access_mode;
    const char *storage_class;  /* NULL = the cluster's default */
    const char *created_by_job; /* id; NULL = made by POST /v1/volumes */
    int64_t created_at;
};
typedef bool ty_volume_visitor(void *context, const struct ty_volume_record *volume);

/* row is written back. TY_CONFLICT (code "volume_exists"). */
ty_status ty_volumes_insert(struct ty_writer *writer, struct ty_volume_record *volume,
                            struct ty_error *err) TY_MUST_CHECK;

/* Read inside a write. TY_NOT_FOUND. */
ty_status ty_volumes_find(struct ty_writer *writer, int64_t tenant, const char *name,
                          struct ty_volume_record *volume_out, struct ty_error *err) TY_MUST_CHECK;

/* TY_NOT_FOUND; TY_CONFLICT (code "volume_in_use") while a live job names the claim. */
ty_status ty_volumes_delete(struct ty_writer *writer, int64_t tenant, const char *name,
                            struct ty_error *err) TY_MUST_CHECK;

/* TY_NOT_FOUND, for another tenant's too. */
ty_status ty_volumes_get(struct ty_reader *reader, int64_t tenant, const char *name,
                         ty_volume_visitor *visit, void *context,
                         struct ty_error *err) TY_MUST_CHECK;

/* By name, beyond `after_name` (NULL or "" = from the start). */
ty_status ty_volumes_list(struct ty_reader *reader, int64_t tenant, const char *after_name,
                          size_t limit, ty_volume_visitor *visit, void *context,
                          struct ty_error *err) TY_MUST_CHECK;

/* The ids of live jobs of the tenant that name this claim, oldest first. Claims of a job are given
 * with its insert (ty_job_insert.claims) and forgotten when it is no longer live. */
typedef bool ty_volume_user_visitor(void *context, const char *job_id);
ty_status ty_volumes_users(struct ty_reader *reader, int64_t tenant, const char *name, size_t limit,
                           ty_volume_user_visitor *visit, void *context,
                           struct ty_error *err) TY_MUST_CHECK;

/* The rows of live jobs of all tenants that name this claim: whom to plan again when it appears. */
typedef bool ty_volume_waiter_visitor(void *context, int64_t job_row, const char *job_id);
ty_status ty_volumes_waiters(struct ty_reader *reader, const char *namespace, const char *name,
                             ty_volume_waiter_visitor *visit, void *context,
                             struct ty_error *err) TY_MUST_CHECK;

#endif
