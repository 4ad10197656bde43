/* GET /v1/jobs/{job_id}: from the cache of ready bodies on the HTTP thread, else from the database
 * on the pool; with `wait` parked until the job changes. */
#include "api/api.h"

#include <stdatomic.h>
#include <stddef.h>

/* A cached body gives its bytes to an answer without a copy; the answer's end gives the reference
 * back. */
static void release_body_bytes(void *bytes)
{
    ty_job_body_unref(
        (struct ty_job_body *)(void *)((char *)bytes - offsetof(struct ty_job_body, bytes)));
}

static struct ty_response *respond(int status, struct ty_job_body *body)
{
    struct ty_response *response =
        ty_response_bytes(status, "application/json", body->bytes, body->len, release_body_bytes);
    ty_response_etag(response, body->etag);
    return response;
}

static void answer_body(struct ty_request *request, struct ty_job_body *body)
{
    ty_request_answer(request, respond(200, body));
}

/* --- the database's answer --- */

struct rendering {
    struct ty_api *api;
    struct ty_reader *reader;
    struct ty_job_body *body;
    int64_t queue_position;
    ty_status status;
    struct ty_error *err;
};

static ty_status render(struct rendering *rendering, const struct ty_job_record *stored)
{
    struct ty_job_record copy = *stored;
    const struct ty_job_record *record = &copy;
    ty_auto_buf spec = {0};
    ty_auto_buf changes = {0};
    ty_auto_buf text = {0};
    struct ty_json_writer writer;
    ty_buf_init(&spec, ANSWER_MAX);
    ty_buf_init(&text, ANSWER_MAX);
    if (ty_jobs_spec(rendering->reader, record->row, &spec, rendering->err) != TY_OK ||
        api_job_changes(rendering->reader, &copy, &changes, rendering->err) != TY_OK)
        return rendering->err->status;
    if (record->status.state == TY_JOB_QUEUED)
        rendering->queue_position =
            ty_engine_queue_position(rendering->api->options.engine, record->id);
    ty_json_writer_init(&writer, &text);
    api_write_job(&writer, record, &spec, rendering->queue_position);
    if (ty_buf_check(&text, "job", rendering->err) != TY_OK ||
        ty_job_body_create(text.data, text.len, &rendering->body) != TY_OK)
        return ty_fail(rendering->err, TY_NO_MEMORY, "job");
    rendering->body->tenant = record->tenant;
    rendering->body->revision = record->revision;
    rendering->body->terminal = ty_job_terminal(record->status.state);
    rendering->body->transient = record->status.state == TY_JOB_QUEUED;
    api_job_etag(record->revision, rendering->queue_position, rendering->body->etag);
    return TY_OK;
}

static bool render_visited(void *context, const struct ty_job_record *record)
{
    struct rendering *rendering = context;
    rendering->status = render(rendering, record);
    return false;
}

/* NULL when the cache has none, or none that this tenant may be served. The hub takes a body only
 * of an id it was asked for before the row was read. */
static struct ty_job_body *cached_body(struct ty_api *api, int64_t tenant, const char *job_id)
{
    struct ty_job_body *body = ty_hub_get(api->options.hub, job_id);
    if (body && body->tenant == tenant && !body->transient)
        return body;
    ty_job_body_unref(body);
    return NULL;
}

ty_status api_load_body(struct ty_api *api, struct ty_reader *reader, int64_t tenant,
                        const char *job_id, struct ty_job_body **body_out, struct ty_error *err)
{
    struct ty_job_body *cached = cached_body(api, tenant, job_id);
    if (cached) {
        *body_out = cached;
        return TY_OK;
    }
    struct rendering rendering = {.api = api, .reader = reader, .err = err};
    ty_status status = ty_jobs_get(reader, tenant, job_id, render_visited, &rendering, err);
    if (status == TY_OK)
        status = rendering.status;
    if (status != TY_OK)
        return status;
    ty_hub_put(api->options.hub, job_id, rendering.body);
    *body_out = rendering.body;
    return TY_OK;
}

static ty_status load_body(struct ty_api *api, struct ty_request *request,
                           struct ty_job_body **body_out, struct ty_error *err)
{
    return api_load_body(api, api_reader(api, request), api_caller(request)->tenant,
                         ty_request_variable(request, "job_id"), body_out, err);
}

static void get_from_store(void *context, struct ty_request *request)
{
    struct ty_job_body *body = NULL;
    struct ty_error err;
    if (load_body(context, request, &body, &err) == TY_OK)
        answer_body(request, body);
    else
        api_answer_error(request, &err);
}

/* --- waiting --- */

struct parked {
    struct ty_api *api;
    struct ty_request *request;
    struct ty_hub_wait *wait;
};

static void wake_parked(void *context)
{
    struct parked *parked = context;
    api_to_pool(parked->api, parked->request, get_from_store);
}

/* Whether there is nothing to wait for: the client's copy is old already, or the job can never
 * change again. */
static bool settled(struct ty_request *request, const struct ty_job_body *body)
{
    const char *list = ty_request_header(request, "If-None-Match");
    bool same = true;
    if (list && ty_etag_list_matches(list, body->etag, false, &same) != TY_OK)
        return true;
    return !same || body->terminal;
}

static void get_or_wait(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_job_body *body = NULL;
    struct ty_error err;
    if (load_body(api, request, &body, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    struct parked *parked = ty_request_alloc(request, sizeof *parked);
    if (!parked || atomic_load(&api->draining) || settled(request, body)) {
        answer_body(request, body);
        return;
    }
    *parked = (struct parked){api, request, NULL};
    int64_t deadline = ty_monotonic_ms(api->options.clock) +
                       ty_argument_integer(api_arguments(request), "wait") * 1000;
    int64_t revision = body->revision;
    ty_job_body_unref(body);
    /* Once parked the request may be answered at any moment, so nothing of it is touched after a
     * success. */
    if (ty_hub_wait(api->options.hub, ty_request_variable(request, "job_id"), revision, deadline,
                    wake_parked, parked, &parked->wait, &err) != TY_OK)
        api_answer_error(request, &err);
}

void jobs_get(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    if (ty_argument_integer(api_arguments(request), "wait") > 0) {
        api_to_pool(api, request, get_or_wait);
        return;
    }
    struct ty_job_body *body =
        cached_body(api, api_caller(request)->tenant, ty_request_variable(request, "job_id"));
    if (body)
        answer_body(request, body);
    else
        api_to_pool(api, request, get_from_store);
}

void api_answer_job_body(struct ty_request *request, int status, const char *job_id,
                         struct ty_job_body *body)
{
    char path[API_JOB_PATH];
    struct ty_response *response = respond(status, body);
    if (status == 202) {
        api_job_path(job_id, path);
        ty_response_location(response, path);
    }
    ty_request_answer(request, response);
}

void api_answer_job(struct ty_api *api, struct ty_request *request, int status, const char *job_id)
{
    struct ty_job_body *body = NULL;
    struct ty_error err;
    if (load_body(api, request, &body, &err) == TY_OK)
        api_answer_job_body(request, status, job_id, body);
    else
        api_answer_error(request, &err);
}
