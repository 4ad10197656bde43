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

/* A negative limit is none. */
static void put_limit(struct ty_json_writer *writer, const char *key, int32_t limit)
{
    ty_json_put_int_or_null(writer, key, limit >= 0, limit);
}

void write_tenant(struct ty_json_writer *writer, const struct ty_tenant_record *tenant,
                  const struct ty_tenant_counts *counts)
{
    char etag[API_ETAG];
    char path[TENANT_PATH];
    tenant_etag(tenant, etag);
    snprintf(path, sizeof path, "/v1/tenants/%s", tenant->name);
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
    ty_json_put_string(writer, "etag", etag);
    ty_json_key(writer, "links");
    ty_json_object(writer);
    ty_json_put_string(writer, "self", path);
    ty_json_end(writer);
    ty_json_end(writer);
}

/* --- GET --- */

struct tenant_page {
    struct ty_reader *reader;
    struct ty_json_writer writer;
    size_t limit;
    size_t count;
    int64_t last_row;
    bool more;
    char etag[API_ETAG]; /* of the last one */
};

static bool visit_tenant(void *context, const struct ty_tenant_record *tenant)
{
    struct tenant_page *page = context;
    struct ty_tenant_counts counts = {0};
    struct ty_error err;
    if (page->count == page->limit) {
        page->more = true;
        return false;
    }
    if (ty_tenants_count(page->reader, tenant->row, &counts, &err) != TY_OK)
        counts = (struct ty_tenant_counts){0};
    write_tenant(&page->writer, tenant, &counts);
    tenant_etag(tenant, page->etag);
    page->last_row = tenant->row;
    page->count++;
    return true;
}

static void answer_tenant(struct ty_api *api, struct ty_request *request, const char *name,
                          int status)
{
    struct tenant_page page = {.reader = api_reader(api, request), .limit = 1};
    struct ty_error err;
    char path[TENANT_PATH];
    ty_auto_buf body = {0};
    ty_buf_init(&body, 64 * 1024);
    ty_json_writer_init(&page.writer, &body);
    if (ty_tenants_get(page.reader, name, visit_tenant, &page, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    struct ty_response *response = ty_response_buf(status, "application/json", &body);
    ty_response_etag(response, page.etag);
    if (status == 201) {
        snprintf(path, sizeof path, "/v1/tenants/%s", name);
        ty_response_location(response, path);
    }
    ty_request_answer(request, response);
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
    struct tenant_page page = {.reader = api_reader(api, request), .limit = api_limit(request)};
    struct ty_cursor cursor;
    struct ty_error err;
    ty_auto_buf body = {0};
    api_begin_page(&page.writer, &body);
    if (api_cursor(api, request, "tenants", &cursor, &err) != TY_OK ||
        ty_tenants_list(page.reader, cursor.row, page.limit + 1, visit_tenant, &page, &err) !=
            TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    struct ty_cursor next = {.row = page.last_row};
    api_answer_page(api, request, &page.writer, "tenants", page.more ? &next : NULL);
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
    struct tenant_page page = {.reader = api_reader(api, request), .limit = 1};
    struct ty_error err;
    ty_auto_buf body = {0};
    ty_buf_init(&body, 64 * 1024);
    ty_json_writer_init(&page.writer, &body);
    ty_json_object(&page.writer);
    ty_json_key(&page.writer, "token");
    ty_status status =
        ty_tokens_get(page.reader, 0, caller->token_id, visit_token, &page.writer, &err);
    ty_json_key(&page.writer, "tenant");
    if (status == TY_OK)
        status = ty_tenants_get(page.reader, caller->tenant_name, visit_tenant, &page, &err);
    ty_json_key(&page.writer, "scopes");
    write_scopes(&page.writer, caller->scopes);
    ty_json_end(&page.writer);
    if (status == TY_OK)
        api_answer_json(request, 200, &body, NULL);
    else
        api_answer_error(request, &err);
}
