/* PATCH and DELETE of a job. */
#include "api/api.h"

enum { LABELS_MAX = 32 }; /* as in a new job */

/* --- PATCH: labels and description (RFC 7396) --- */

struct patch {
    struct ty_write write; /* first */
    struct ty_request *request;
    int64_t tenant;
    const char *job_id;
    const json_t *body;
    int64_t revision; /* after the change */
};

/* The stored labels with the patch applied; null removes a label, a null in place of the object
 * removes all. */
static ty_status merge_labels(const char *stored, const json_t *patch, char **labels_out,
                              struct ty_error *err)
{
    ty_auto_json labels = NULL;
    if (ty_json_parse(stored, strlen(stored), &labels, err) != TY_OK)
        return err->status;
    if (json_is_null(patch))
        json_object_clear(labels);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)patch, key, value)
    {
        int result = json_is_null(value) ? (json_object_del(labels, key), 0)
                                         : json_object_set(labels, key, value);
        if (result != 0)
            return ty_fail(err, TY_NO_MEMORY, "labels");
    }
    if (json_object_size(labels) > LABELS_MAX)
        return ty_fail_code(err, TY_REFUSED, "too_many_labels", "a job has at most %d labels",
                            LABELS_MAX);
    char *text = json_dumps(labels, JSON_COMPACT);
    if (!text)
        return ty_fail(err, TY_NO_MEMORY, "labels");
    *labels_out = text;
    return TY_OK;
}

static ty_status apply_patch(struct ty_writer *writer, struct ty_write *write, struct ty_error *err)
{
    struct patch *patch = (struct patch *)write;
    struct ty_job_record record;
    char etag[API_ETAG];
    ty_auto_free char *labels = NULL;
    if (ty_jobs_find(writer, patch->tenant, patch->job_id, &record, err) != TY_OK)
        return err->status;
    api_job_etag(record.revision, 0, etag);
    if (ty_precondition_check(patch->request, etag, err) != TY_OK)
        return err->status;
    const json_t *change = json_object_get(patch->body, "labels");
    if (change && merge_labels(record.labels, change, &labels, err) != TY_OK)
        return err->status;
    const json_t *description = json_object_get(patch->body, "description");
    if (ty_jobs_save_metadata(writer, &record, labels, json_string_value(description),
                              json_is_null(description), err) != TY_OK)
        return err->status;
    patch->revision = record.revision;
    return TY_OK;
}

void jobs_update(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_error err;
    struct patch patch = {.write = {.apply = apply_patch},
                          .request = request,
                          .tenant = api_caller(request)->tenant,
                          .job_id = ty_request_variable(request, "job_id"),
                          .body = ty_request_json(request)};
    if (ty_store_write_wait(api->options.store, &patch.write, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    ty_hub_changed(api->options.hub, patch.job_id, patch.revision, false);
    api_answer_job(api, request, 200, patch.job_id);
}

/* --- DELETE --- */

/* The job that goes away once it has stopped; it may have gone already, or do so at any moment: it
 * is looked at once. */
static void answer_pending(struct ty_api *api, struct ty_request *request, const char *job_id)
{
    struct ty_job_body *body = NULL;
    struct ty_error err;
    ty_status status = api_load_body(api, api_reader(api, request), api_caller(request)->tenant,
                                     job_id, &body, &err);
    if (status == TY_OK)
        api_answer_job_body(request, 202, job_id, body);
    else if (status == TY_NOT_FOUND)
        api_answer_empty(request, 204);
    else
        api_answer_error(request, &err);
}

static ty_status delete_job(struct ty_api *api, struct ty_request *request, bool *pending_out,
                            struct ty_error *err)
{
    struct ty_job_record record;
    int64_t if_revision = 0;
    if (api_find_job(api, request, &record, err) != TY_OK ||
        api_if_match(request, &record, &if_revision, err) != TY_OK)
        return err->status;
    return ty_engine_delete(api->options.engine, record.tenant, record.id,
                            api_flag(request, "force"), if_revision, pending_out, err);
}

void jobs_delete(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_error err;
    bool pending = false;
    ty_status status = delete_job(api, request, &pending, &err);
    if (status == TY_OK && pending)
        answer_pending(api, request, ty_request_variable(request, "job_id"));
    else
        api_answer_deletion(request, status, &err);
}
