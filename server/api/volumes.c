/* /v1/volumes: claims a tenant has made, with their folders or PersistentVolumeClaims behind the
 * executor. */
#include "api/keys.h"
#include "api/policy.h"

#include "trainyard/store/volumes.h"

#include <inttypes.h>

enum { USERS_MAX = 50, VOLUME_PATH = 300 };

static const char *const mode_names[] = {
    [TY_READ_WRITE_ONCE] = "read_write_once",
    [TY_READ_WRITE_MANY] = "read_write_many",
    [TY_READ_ONLY_MANY] = "read_only_many",
    [TY_READ_WRITE_ONCE_POD] = "read_write_once_pod",
};

static ty_access_mode parse_mode(const char *name)
{
    for (size_t i = 0; name && i < sizeof mode_names / sizeof mode_names[0]; i++)
        if (ty_str_equal(mode_names[i], name))
            return (ty_access_mode)i;
    return TY_READ_WRITE_ONCE;
}

static void volume_etag(const struct ty_volume_record *volume, char out[API_ETAG])
{
    /* Of what a client can set nothing ever changes; its use is a measurement. */
    snprintf(out, API_ETAG, "\"v%" PRId64 "-%s\"", volume->row, TRAINYARD_VERSION);
}

static void volume_path(const char *name, char out[VOLUME_PATH])
{
    snprintf(out, VOLUME_PATH, "/v1/volumes/%s", name);
}

/* --- writing one --- */

struct users {
    struct ty_json_writer *writer;
    size_t count;
};

static bool write_user(void *context, const char *job_id)
{
    struct users *users = context;
    if (users->count == 0) {
        ty_json_key(users->writer, "used_by");
        ty_json_array(users->writer);
    }
    ty_json_string(users->writer, job_id);
    users->count++;
    return true;
}

static void write_use(struct ty_api *api, struct ty_reader *reader, struct ty_json_writer *writer,
                      const struct ty_volume_record *volume)
{
    struct ty_executor *executor = api->options.executor;
    struct users users = {.writer = writer};
    struct ty_error err;
    int64_t used = 0;
    ty_status status =
        executor->ops->measure_claim(executor, volume->namespace, volume->name, &used, &err);
    ty_json_put_int_or_null(writer, "used_bytes", status == TY_OK, used);
    status =
        ty_volumes_users(reader, volume->tenant, volume->name, USERS_MAX, write_user, &users, &err);
    if (users.count > 0)
        ty_json_end(writer);
    ty_json_put_bool(writer, "in_use", status != TY_OK || users.count > 0);
}

static void write_volume(struct ty_api *api, struct ty_reader *reader,
                         struct ty_json_writer *writer, const struct ty_volume_record *volume)
{
    char etag[API_ETAG];
    char path[VOLUME_PATH];
    volume_etag(volume, etag);
    volume_path(volume->name, path);
    ty_json_object(writer);
    ty_json_put_string(writer, "name", volume->name);
    ty_json_put_string(writer, "size", volume->size);
    ty_json_put_int(writer, "size_bytes", volume->size_bytes);
    ty_json_put_string(writer, "access_mode", mode_names[volume->access_mode]);
    ty_json_put_string(writer, "storage_class", volume->storage_class);
    write_use(api, reader, writer, volume);
    ty_json_put_time(writer, "created_at", volume->created_at);
    api_end_object(writer, etag, path);
}

/* --- GET one --- */

struct one_volume {
    struct ty_api *api;
    struct ty_reader *reader;
    struct ty_buf body;
    char etag[API_ETAG];
};

static bool visit_one(void *context, const struct ty_volume_record *volume)
{
    struct one_volume *one = context;
    struct ty_json_writer writer;
    ty_json_writer_init(&writer, &one->body);
    write_volume(one->api, one->reader, &writer, volume);
    volume_etag(volume, one->etag);
    return false;
}

static void answer_volume(struct ty_api *api, struct ty_request *request, const char *name,
                          int status)
{
    struct one_volume one = {.api = api, .reader = api_reader(api, request)};
    struct ty_error err;
    char path[VOLUME_PATH];
    ty_buf_init(&one.body, ANSWER_MAX);
    if (ty_volumes_get(one.reader, api_caller(request)->tenant, name, visit_one, &one, &err) !=
        TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    volume_path(name, path);
    ty_request_answer(request,
                      api_object(status, &one.body, one.etag, status == 201 ? path : NULL));
}

void volumes_get(void *context, struct ty_request *request)
{
    answer_volume(context, request, ty_request_variable(request, "volume"), 200);
}

/* --- the list --- */

struct volume_list {
    struct api_page page;
    struct ty_api *api;
    struct ty_reader *reader;
};

static bool visit_item(void *context, const struct ty_volume_record *volume)
{
    struct volume_list *list = context;
    struct api_page *page = &list->page;
    if (api_page_full(page))
        return false;
    write_volume(list->api, list->reader, &page->writer, volume);
    ty_str_copy(page->next.text, sizeof page->next.text, volume->name);
    page->count++;
    return true;
}

void volumes_list(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct volume_list list = {
        .page.limit = api_limit(request), .api = api, .reader = api_reader(api, request)};
    struct api_page *page = &list.page;
    struct ty_cursor cursor;
    struct ty_error err;
    ty_auto_buf body = {0};
    api_begin_page(&page->writer, &body);
    if (api_cursor(api, request, "volumes", &cursor, &err) != TY_OK ||
        ty_volumes_list(list.reader, api_caller(request)->tenant, cursor.text, page->limit + 1,
                        visit_item, &list, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    api_answer_page(api, request, &page->writer, "volumes", api_page_next(page));
}

/* --- POST --- */

struct volume_insert {
    struct ty_write write; /* first */
    struct ty_volume_record volume;
    struct api_key key;
};

static ty_status apply_insert(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct volume_insert *insert = (struct volume_insert *)write;
    struct ty_volume_record *volume = &insert->volume;
    ty_status status =
        api_key_claim(writer, &insert->key, volume->tenant, volume->name, volume->created_at, err);
    if (status != TY_OK || insert->key.replayed)
        return status;
    return ty_volumes_insert(writer, volume, err);
}

/* A size as text and in whole bytes. */
static ty_status read_size(const json_t *value, char text[32], int64_t *bytes_out,
                           struct ty_error *err)
{
    int64_t millis = 0;
    if (json_is_integer(value))
        snprintf(text, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        ty_str_copy(text, 32, json_string_value(value));
    if (ty_quantity_parse(text, &millis) != TY_OK || millis < 1000)
        return ty_fail_code(err, TY_REFUSED, "invalid_quantity", "size must be at least one byte");
    *bytes_out = millis / 1000 + (millis % 1000 != 0);
    return TY_OK;
}

/* A claim that is there already becomes the tenant's: where it is empty, as a crash before the
 * commit leaves it, or where the policy lets the tenant mount it in any case. */
static ty_status take_over(struct ty_executor *executor, const struct ty_policy *policy,
                           const struct ty_volume_record *volume, struct ty_error *err)
{
    int64_t used = 0;
    if (ty_policy_lists_volume(policy, volume->name))
        return TY_OK;
    if (executor->ops->measure_claim(executor, volume->namespace, volume->name, &used, err) !=
        TY_OK)
        return err->status;
    if (used == 0)
        return TY_OK;
    return ty_fail_code(err, TY_CONFLICT, "volume_exists",
                        "there is a claim of that name with files in it");
}

/* The folder first, so that an acknowledged volume always has one. */
static ty_status create_volume(struct ty_api *api, const struct ty_policy *policy,
                               struct volume_insert *insert, struct ty_error *err)
{
    struct ty_executor *executor = api->options.executor;
    const struct ty_volume_record *volume = &insert->volume;
    ty_status status = executor->ops->create_claim(executor, volume->namespace, volume->name, err);
    if (status == TY_CONFLICT)
        status = take_over(executor, policy, volume, err);
    if (status != TY_OK)
        return status;
    return ty_store_write_wait(api->options.store, &insert->write, err);
}

static ty_status judge_volume(const struct ty_policy *policy, const struct ty_volume_record *volume,
                              struct ty_faults *faults, struct ty_error *err)
{
    if (!volume->storage_class || ty_policy_lists_storage_class(policy, volume->storage_class))
        return TY_OK;
    ty_faults_add(faults, TY_AT_POINTER, "/storage_class", "storage_class_not_allowed",
                  "is not listed in storage_classes of the tenant's policy");
    return ty_fail_code(err, TY_REFUSED, "policy_violation",
                        "the tenant's policy does not allow this volume");
}

/* Judged by the policy of the caller's tenant, then made. */
static ty_status make_volume(struct ty_api *api, struct ty_request *request,
                             struct volume_insert *insert, struct ty_faults *faults,
                             struct ty_error *err)
{
    struct api_policy policy;
    if (api_policy_open(api, request, &policy, err) != TY_OK)
        return err->status;
    ty_status status = judge_volume(policy.policy, &insert->volume, faults, err);
    if (status == TY_OK)
        status = api_key_read(request, "POST /v1/volumes", &insert->key, err);
    if (status == TY_OK)
        status = create_volume(api, policy.policy, insert, err);
    api_policy_close(&policy);
    return status;
}

void volumes_create(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    const struct ty_principal *caller = api_caller(request);
    const json_t *body = ty_request_json(request);
    struct ty_faults faults;
    struct ty_error err;
    char size[32];
    struct volume_insert insert = {
        .write = {.apply = apply_insert     },
        .volume = { .tenant = caller->tenant,
                  .namespace = caller->namespace,
                  .name = json_string_value(json_object_get(body, "name")),
                  .size = size,
                  .access_mode =
                       parse_mode(json_string_value(json_object_get(body, "access_mode"))),
                  .storage_class = json_string_value(json_object_get(body, "storage_class")),
                  .created_at = api_now(api)}
    };
    ty_faults_init(&faults);
    if (read_size(json_object_get(body, "size"), size, &insert.volume.size_bytes, &err) != TY_OK) {
        ty_faults_add(&faults, TY_AT_POINTER, "/size", "invalid_quantity",
                      "must be a quantity of at least one byte");
        api_answer_faults(request, &err, &faults);
        return;
    }
    if (make_volume(api, request, &insert, &faults, &err) != TY_OK) {
        api_answer_faults(request, &err, &faults);
        return;
    }
    if (insert.key.replayed)
        ty_request_answer_header(request, "Idempotency-Replayed", "true");
    ty_engine_poke(api->options.engine);
    answer_volume(api, request, insert.volume.name, 201);
}

/* --- DELETE --- */

struct volume_delete {
    struct ty_write write; /* first */
    struct ty_request *request;
    int64_t tenant;
    const char *name;
};

static ty_status apply_delete(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct volume_delete *removal = (struct volume_delete *)write;
    struct ty_volume_record volume;
    char etag[API_ETAG];
    if (ty_volumes_find(writer, removal->tenant, removal->name, &volume, err) != TY_OK)
        return err->status;
    volume_etag(&volume, etag);
    if (ty_precondition_check(removal->request, etag, err) != TY_OK)
        return err->status;
    return ty_volumes_delete(writer, removal->tenant, removal->name, err);
}

void volumes_delete(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_executor *executor = api->options.executor;
    const struct ty_principal *caller = api_caller(request);
    struct ty_error err;
    struct volume_delete removal = {.write = {.apply = apply_delete},
                                    .request = request,
                                    .tenant = caller->tenant,
                                    .name = ty_request_variable(request, "volume")};
    ty_status status = ty_store_write_wait(api->options.store, &removal.write, &err);
    if (status == TY_OK)
        status = executor->ops->remove_claim(executor, caller->namespace, removal.name, &err);
    api_answer_deletion(request, status, &err);
}
