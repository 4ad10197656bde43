/* The steps every handler takes: parameters in, answers and pages out. */
#include "api/api.h"

size_t api_limit(const struct ty_request *request)
{
    int64_t limit = ty_argument_integer(api_arguments(request), "limit");
    return limit > LIST_MAX ? LIST_MAX : (size_t)limit;
}

struct ty_reader *api_reader(const struct ty_api *api, const struct ty_request *request)
{
    const struct api_session *session = ty_request_principal(request);
    return api->readers[session && session->moved ? session->worker : ty_request_worker(request)];
}

struct second_half {
    struct ty_api *api;
    struct ty_request *request;
    ty_handler *run;
};

static void run_second_half(void *context, size_t worker)
{
    struct second_half *half = context;
    struct api_session *session = ty_request_principal(half->request);
    session->moved = true;
    session->worker = worker;
    half->run(half->api, half->request);
}

bool api_to_pool(struct ty_api *api, struct ty_request *request, ty_handler *second_half)
{
    struct ty_error err;
    struct second_half *half = ty_request_alloc(request, sizeof *half);
    if (!half) {
        ty_request_answer(request, NULL);
        return false;
    }
    *half = (struct second_half){api, request, second_half};
    if (ty_pool_submit(api->options.pool, run_second_half, half) == TY_OK)
        return true;
    (void)ty_fail_code(&err, TY_UNAVAILABLE, "overloaded", "too many requests are waiting");
    api_answer_error(request, &err);
    return false;
}

ty_status api_cursor(const struct ty_api *api, struct ty_request *request, const char *query,
                     struct ty_cursor *cursor_out, struct ty_error *err)
{
    const char *text = ty_request_parameter(request, "cursor");
    *cursor_out = (struct ty_cursor){0};
    if (!text)
        return TY_OK;
    struct ty_cursor_scope scope = {api_caller(request)->tenant, query, strlen(query)};
    return ty_cursor_read(api->options.store, &scope, text, api_now(api), cursor_out, err);
}

/* The request's own target with another cursor: `Link: <…>; rel="next"` (RFC 8288). */
static void add_link(struct ty_request *request, struct ty_response *response, const char *cursor)
{
    ty_auto_buf link = {0};
    ty_buf_init(&link, 16 * 1024);
    ty_buf_addf(&link, "<%s?", ty_request_path(request));
    const char *query = strchr(ty_request_target(request), '?');
    for (const char *part = query ? query + 1 : ""; *part;) {
        size_t len = strcspn(part, "&");
        if (len > 0 && strncmp(part, "cursor=", 7) != 0) {
            ty_buf_add(&link, part, len);
            ty_buf_addc(&link, '&');
        }
        part += len + (part[len] == '&');
    }
    ty_buf_addf(&link, "cursor=%s>; rel=\"next\"", cursor);
    if (link.failed == TY_OK)
        ty_response_header(response, "Link", link.data);
}

void api_begin_page(struct ty_json_writer *writer, struct ty_buf *body)
{
    ty_buf_init(body, ANSWER_MAX);
    ty_json_writer_init(writer, body);
    ty_json_object(writer);
    ty_json_key(writer, "items");
    ty_json_array(writer);
}

void api_answer_page(struct ty_api *api, struct ty_request *request, struct ty_json_writer *writer,
                     const char *query, const struct ty_cursor *next)
{
    ty_auto_buf text = {0};
    struct ty_error err;
    ty_buf_init(&text, 4096);
    if (next) {
        struct ty_cursor_scope scope = {api_caller(request)->tenant, query, strlen(query)};
        if (ty_cursor_write(api->options.store, &scope, next, api_now(api), &text, &err) != TY_OK ||
            ty_buf_check(&text, "cursor", &err) != TY_OK) {
            api_answer_error(request, &err);
            return;
        }
    }
    ty_json_end(writer);
    ty_json_put_string(writer, "next_cursor", next ? text.data : NULL);
    ty_json_end(writer);
    struct ty_response *response = ty_response_buf(200, "application/json", writer->buf);
    if (next)
        add_link(request, response, text.data);
    ty_request_answer(request, response);
}

void api_answer_error(struct ty_request *request, const struct ty_error *err)
{
    ty_request_answer(request, ty_response_error(err, NULL));
}

void api_answer_faults(struct ty_request *request, const struct ty_error *err,
                       const struct ty_faults *faults)
{
    ty_request_answer(request, ty_response_error(err, faults));
}

struct ty_response *api_object(int status, struct ty_buf *buf, const char *etag, const char *path)
{
    struct ty_response *response = ty_response_buf(status, "application/json", buf);
    if (etag)
        ty_response_etag(response, etag);
    if (path)
        ty_response_location(response, path);
    return response;
}

void api_answer_json(struct ty_request *request, int status, struct ty_buf *buf, const char *etag)
{
    ty_request_answer(request, api_object(status, buf, etag, NULL));
}

void api_end_object(struct ty_json_writer *writer, const char *etag, const char *path)
{
    ty_json_put_string(writer, "etag", etag);
    ty_json_key(writer, "links");
    ty_json_object(writer);
    ty_json_put_string(writer, "self", path);
    ty_json_end(writer);
    ty_json_end(writer);
}

void api_answer_empty(struct ty_request *request, int status)
{
    ty_request_answer(request, ty_response_empty(status));
}

void api_answer_deletion(struct ty_request *request, ty_status status, const struct ty_error *err)
{
    if (status == TY_OK || (status == TY_NOT_FOUND && api_flag(request, "allow_missing")))
        api_answer_empty(request, 204);
    else
        api_answer_error(request, err);
}
