/* /v1/tenants: who shares the gateway; and /v1/whoami. */
#include "api/access.h"

#include "api/keys.h"
#include "api/policy.h"

#include <inttypes.h>

enum { TENANT_PATH = 128 };

static void tenant_etag(const struct ty_tenant_record *tenant, char out[API_ETAG])
{
    snprintf(out, API_ETAG, "\"n%" PRId64 "-%" PRId64 "-%s\"", tenant->row, tenant->revision,
             TRAINYARD_VERSION);
}

static void tenant_path(const char *name, char out[TENANT_PATH])
{
    snprintf(out, TENANT_PATH, "/v1/tenants/%s", name);
}

/* A negative limit is none. */
static void put_limit(struct ty_json_writer *writer, const char *key, int32_t limit)
{
    ty_json_put_int_or_null(writer, key, limit >= 0, limit);
}

static void write_tenant(struct ty_json_writer *writer, const struct ty_tenant_record *tenant,
                         const struct ty_tenant_counts *counts)
{
    char etag[API_ETAG];
    char path[TENANT_PATH];
    tenant_etag(tenant, etag);
    tenant_path(tenant->name, path);
    ty_json_object(writer);
    ty_json_put_string(writer, "name", tenant->name);
    ty_json_put_string(writer, "namespace", tenant->namespace);
    ty_json_put_string(writer, "description", tenant->description ? tenant->description : "");
    ty_json_key(writer, "quota");
    ty_json_object(writer);
    put_limit(writer, "max_jobs", tenant->quota.max_jobs);
    put_limit(writer, "max_queued", tenant->quota.max_queued);
    put_limit(writer, "max_replicas", tenant->quota.max_replicas);
    put_limit(writer, "max_gpus", tenant->quota.max_gpus);
    ty_json_end(writer);
    ty_json_put_int_or_null(writer, "default_keep_seconds", tenant->default_keep_seconds >= 0,
                            tenant->default_keep_seconds);
    ty_json_put_int_or_null(writer, "default_timeout_seconds", tenant->default_timeout_seconds > 0,
                            tenant->default_timeout_seconds);
    ty_json_key(writer, "policy");
    ty_json_raw(writer, tenant->policy, strlen(tenant->policy));
    ty_json_key(writer, "usage");
    ty_json_object(writer);
    ty_json_put_int(writer, "jobs", counts->jobs);
    ty_json_put_int(writer, "queued", counts->queued);
    ty_json_put_int(writer, "live", counts->live);
    ty_json_end(writer);
    ty_json_put_time(writer, "created_at", tenant->created_at);
    ty_json_put_time(writer, "updated_at", tenant->updated_at);
    api_end_object(writer, etag, path);
}

/* --- GET --- */

struct tenant_list {
    struct api_page page;
    struct ty_reader *reader;
    char etag[API_ETAG]; /* of the last one */
};

static bool visit_tenant(void *context, const struct ty_tenant_record *tenant)
{
    struct tenant_list *list = context;
    struct api_page *page = &list->page;
    struct ty_tenant_counts counts = {0};
    struct ty_error err;
    if (api_page_full(page))
        return false;
    if (ty_tenants_count(list->reader, tenant->row, &counts, &err) != TY_OK)
        counts = (struct ty_tenant_counts){0};
    write_tenant(&page->writer, tenant, &counts);
    tenant_etag(tenant, list->etag);
    page->next.row = tenant->row;
    page->count++;
    return true;
}

static void answer_tenant(struct ty_api *api, struct ty_request *request, const char *name,
                          int status)
{
    struct tenant_list one = {.page.limit = 1, .reader = api_reader(api, request)};
    struct ty_error err;
    char path[TENANT_PATH];
    ty_auto_buf body = {0};
    ty_buf_init(&body, 64 * 1024);
    ty_json_writer_init(&one.page.writer, &body);
    if (ty_tenants_get(one.reader, name, visit_tenant, &one, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    tenant_path(name, path);
    ty_request_answer(request, api_object(status, &body, one.etag, status == 201 ? path : NULL));
}

/* A tenant's administrator sees its own tenant; others are unknown to it. */
void tenants_get(void *context, struct ty_request *request)
{
    const struct ty_principal *caller = api_caller(request);
    const char *name = ty_request_variable(request, "tenant");
    struct ty_error err;
    if (!(caller->scopes & TY_SCOPE_SYSTEM_ADMIN) && !ty_str_equal(name, caller->tenant_name)) {
        (void)ty_fail(&err, TY_NOT_FOUND, "no such tenant");
        api_answer_error(request, &err);
        return;
    }
    answer_tenant(context, request, name, 200);
}

void tenants_list(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct tenant_list list = {.page.limit = api_limit(request),
                               .reader = api_reader(api, request)};
    struct api_page *page = &list.page;
    struct ty_cursor cursor;
    struct ty_error err;
    ty_auto_buf body = {0};
    api_begin_page(&page->writer, &body);
    if (api_cursor(api, request, "tenants", &cursor, &err) != TY_OK ||
        ty_tenants_list(list.reader, cursor.row, page->limit + 1, visit_tenant, &list, &err) !=
            TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    api_answer_page(api, request, &page->writer, "tenants", api_page_next(page));
}

/* --- POST and PATCH --- */

static void read_limit(const json_t *quota, const char *key, int32_t *limit)
{
    const json_t *value = json_object_get(quota, key);
    if (value)
        *limit = json_is_null(value) ? -1 : (int32_t)json_integer_value(value);
}

static void read_quota(const json_t *body, struct ty_quota *quota)
{
    const json_t *given = json_object_get(body, "quota");
    read_limit(given, "max_jobs", &quota->max_jobs);
    read_limit(given, "max_queued", &quota->max_queued);
    read_limit(given, "max_replicas", &quota->max_replicas);
    read_limit(given, "max_gpus", &quota->max_gpus);
}

static void read_defaults(const json_t *body, struct ty_tenant_record *tenant)
{
    const json_t *keep = json_object_get(body, "default_keep_seconds");
    const json_t *timeout = json_object_get(body, "default_timeout_seconds");
    if (keep)
        tenant->default_keep_seconds = json_is_null(keep) ? -1 : json_integer_value(keep);
    if (timeout)
        tenant->default_timeout_seconds = json_is_null(timeout) ? 0 : json_integer_value(timeout);
}

struct tenant_write {
    struct ty_write write; /* first */
    const struct ty_api *api;
    struct ty_request *request;
    struct ty_tenant_record tenant;
    const char *name;
    const json_t *body;
    char *policy; /* as it will be stored */
    struct ty_faults faults;
    int64_t now;
    struct api_key key;
};

static ty_status read_policy(struct tenant_write *write, const char *stored, struct ty_error *err)
{
    const json_t *given = json_object_get(write->body, "policy");
    ty_faults_init(&write->faults);
    free(write->policy);
    write->policy = NULL;
    if (!given)
        return TY_OK;
    if (api_policy_merge(write->api, stored, given, &write->policy, &write->faults, err) != TY_OK)
        return err->status;
    write->tenant.policy = write->policy;
    return TY_OK;
}

static ty_status apply_insert(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct tenant_write *insert = (struct tenant_write *)write;
    /* Tenants belong to no tenant: their keys are kept with the caller's. */
    ty_status status = api_key_claim(writer, &insert->key, api_caller(insert->request)->tenant,
                                     insert->name, insert->tenant.created_at, err);
    if (status != TY_OK || insert->key.replayed)
        return status;
    return ty_tenants_insert(writer, &insert->tenant, err);
}

/* Commit, let authentication know, answer with the tenant. */
static void finish(struct ty_api *api, struct tenant_write *write, int status)
{
    struct ty_error err;
    ty_status written = ty_store_write_wait(api->options.store, &write->write, &err);
    free(write->policy);
    if (written != TY_OK || reload_access(api, write->request, &err) != TY_OK) {
        api_answer_faults(write->request, &err, &write->faults);
        return;
    }
    if (write->key.replayed)
        ty_request_answer_header(write->request, "Idempotency-Replayed", "true");
    ty_engine_poke(api->options.engine);
    answer_tenant(api, write->request, write->name, status);
}

void tenants_create(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    const json_t *body = ty_request_json(request);
    const char *name = json_string_value(json_object_get(body, "name"));
    const char *namespace = json_string_value(json_object_get(body, "namespace"));
    char own_namespace[64];
    snprintf(own_namespace, sizeof own_namespace, "trainyard-%.50s", name);
    struct tenant_write insert = {
        .write = {.apply = apply_insert     },
        .api = api,
        .request = request,
        .name = name,
        .body = body,
        .tenant = { .name = name,
                  .namespace = namespace ? namespace : own_namespace,
                  .description = json_string_value(json_object_get(body, "description")),
                  .quota = {.max_jobs = -1, .max_queued = -1, .max_replicas = -1, .max_gpus = -1},
                  .default_keep_seconds = -1,
                  .created_at = api_now(api),
                  .updated_at = api_now(api)}
    };
    struct ty_error err;
    read_quota(body, &insert.tenant.quota);
    read_defaults(body, &insert.tenant);
    if (read_policy(&insert, TY_POLICY_CLOSED, &err) == TY_OK &&
        api_key_read(request, "POST /v1/tenants", &insert.key, &err) == TY_OK) {
        finish(api, &insert, 201);
        return;
    }
    free(insert.policy);
    api_answer_faults(request, &err, &insert.faults);
}

static ty_status apply_update(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct tenant_write *update = (struct tenant_write *)write;
    struct ty_tenant_record *tenant = &update->tenant;
    char etag[API_ETAG];
    if (ty_tenants_find(writer, update->name, tenant, err) != TY_OK)
        return err->status;
    tenant_etag(tenant, etag);
    if (ty_precondition_check(update->request, etag, err) != TY_OK)
        return err->status;
    const json_t *description = json_object_get(update->body, "description");
    if (description)
        tenant->description = json_string_value(description);
    read_quota(update->body, &tenant->quota);
    read_defaults(update->body, tenant);
    if (read_policy(update, tenant->policy, err) != TY_OK)
        return err->status;
    tenant->updated_at = update->now;
    return ty_tenants_save(writer, tenant, err);
}

void tenants_update(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct tenant_write update = {.write = {.apply = apply_update},
                                  .api = api,
                                  .request = request,
                                  .name = ty_request_variable(request, "tenant"),
                                  .body = ty_request_json(request),
                                  .now = api_now(api)};
    finish(api, &update, 200);
}

/* --- DELETE --- */

static ty_status apply_delete(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct tenant_write *removal = (struct tenant_write *)write;
    char etag[API_ETAG];
    if (ty_tenants_find(writer, removal->name, &removal->tenant, err) != TY_OK)
        return err->status;
    tenant_etag(&removal->tenant, etag);
    if (ty_precondition_check(removal->request, etag, err) != TY_OK)
        return err->status;
    return ty_tenants_delete(writer, removal->name, removal->now, err);
}

void tenants_delete(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_error err;
    struct tenant_write removal = {.write = {.apply = apply_delete},
                                   .request = request,
                                   .name = ty_request_variable(request, "tenant"),
                                   .now = api_now(api)};
    ty_status status = ty_store_write_wait(api->options.store, &removal.write, &err);
    if (status == TY_OK)
        status = reload_access(api, request, &err);
    api_answer_deletion(request, status, &err);
}

/* --- whoami --- */

static bool visit_token(void *context, const struct ty_token_record *token)
{
    write_token(context, token, NULL);
    return false;
}

/* The token's own tenant is found by its id alone; the tenant acted in may be another. */
void whoami(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    const struct ty_principal *caller = api_caller(request);
    struct tenant_list list = {.page.limit = 1, .reader = api_reader(api, request)};
    struct ty_json_writer *writer = &list.page.writer;
    struct ty_error err;
    ty_auto_buf body = {0};
    ty_buf_init(&body, 64 * 1024);
    ty_json_writer_init(writer, &body);
    ty_json_object(writer);
    ty_json_key(writer, "token");
    ty_status status = ty_tokens_get(list.reader, 0, caller->token_id, visit_token, writer, &err);
    ty_json_key(writer, "tenant");
    if (status == TY_OK)
        status = ty_tenants_get(list.reader, caller->tenant_name, visit_tenant, &list, &err);
    ty_json_key(writer, "scopes");
    write_scopes(writer, caller->scopes);
    ty_json_end(writer);
    if (status == TY_OK)
        api_answer_json(request, 200, &body, NULL);
    else
        api_answer_error(request, &err);
}
