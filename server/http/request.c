/* What a handler can ask of its request, and the request's life. */
#include "request_state.h"
#include "server_state.h"
#include "trainyard/base/str.h"

#include <stdlib.h>

/* ---- life ---- */

/* The connection's request object, made for its first request and kept for the next. */
static struct ty_request *fresh(struct ty_connection *connection)
{
    struct ty_request *request = connection->request;

    if (!request) {
        request = malloc(sizeof *request);
        if (!request)
            return NULL;
        request->body = (struct ty_buf){0};
        connection->request = request;
    }
    ty_buf_done(&request->body);
    memset(request, 0, offsetof(struct ty_request, memory));
    ty_arena_init(&request->arena, request->memory, sizeof request->memory);
    return request;
}

/* A connection's requests share the first digits of their ids; the last are new for each. */
static void write_id(struct ty_request *request)
{
    static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
    struct ty_connection *connection = request->connection;
    size_t len = strlen(connection->id);
    unsigned char fresh[8];

    connection->random.fill(connection->random.context, fresh, sizeof fresh);
    memcpy(request->id, connection->id, len + 1);
    for (size_t i = 0; i < sizeof fresh; i++)
        request->id[len - sizeof fresh + i] = digits[fresh[i] % 32];
}

struct ty_request *ty_request_begin(struct ty_connection *connection, struct ty_head *head)
{
    struct ty_http_server *server = connection->server;
    struct ty_request *request = fresh(connection);

    if (!request) {
        ty_reader_give(&connection->reader, head);
        return NULL;
    }
    request->server = server;
    request->connection = connection;
    request->head = head;
    request->is_head = head->method == TY_METHOD_HEAD;
    request->method = request->is_head ? TY_METHOD_GET : head->method;
    request->received_us = ty_now_us(server->clock);
    request->target.path = "/";
    write_id(request);
    atomic_fetch_add(&server->in_flight, 1);
    atomic_fetch_add_explicit(&server->requests, 1, memory_order_relaxed);
    return request;
}

static void observe(struct ty_request *request, bool completed)
{
    const struct ty_http_hooks *hooks = &request->server->options.hooks;
    int64_t now_us = ty_now_us(request->server->clock);
    bool left = request->stage != TY_STAGE_REPLIED || (!completed && !request->reply_stream);
    struct ty_http_observation seen = {
        .route = request->match.route,
        .method = request->is_head ? TY_METHOD_HEAD : request->method,
        .status = left ? 499 : request->reply_status,
        .duration_us = now_us > request->received_us ? now_us - request->received_us : 0,
        .request_id = request->id,
        .remote = request->connection->remote,
        .path = request->target.path,
        .principal = request->principal,
        .stream = request->reply_stream,
    };

    if (request->refused_status)
        seen.status = request->refused_status;
    if (hooks->observe)
        hooks->observe(hooks->context, &seen);
}

void ty_request_end(struct ty_request *request, bool completed)
{
    struct ty_http_server *server = request->server;

    observe(request, completed);
    if (request->release_principal)
        request->release_principal(request->principal);
    json_decref(request->json);
    ty_response_destroy(request->refusal);
    ty_reply_discard(request);
    atomic_fetch_sub(&server->body_memory, request->charged);
    ty_buf_done(&request->body);
    ty_arena_reset(&request->arena);
    ty_reader_give(&request->connection->reader, request->head);
    request->head = NULL;
    atomic_fetch_sub(&server->in_flight, 1);
}

void ty_request_free(struct ty_request *request)
{
    if (!request)
        return;
    ty_buf_done(&request->body);
    free(request);
}

void ty_request_refused(struct ty_request *request, int status)
{
    request->refused_status = status;
}

/* ---- reading ---- */

ty_method ty_request_method(const struct ty_request *request)
{
    return request->method;
}

const char *ty_request_target(const struct ty_request *request)
{
    return request->head->target;
}

const char *ty_request_path(const struct ty_request *request)
{
    return request->target.path;
}

size_t ty_request_segment_count(const struct ty_request *request)
{
    return request->target.segment_count;
}

const char *ty_request_segment(const struct ty_request *request, size_t index)
{
    return index < request->target.segment_count ? request->target.segments[index] : NULL;
}

/* Segments from `first` on, joined by '/'; made anew at each call, which is rare. */
static const char *join_rest(struct ty_request *request, size_t first)
{
    const struct ty_target *target = &request->target;
    size_t size = 0;
    char *text;
    char *at;

    for (size_t i = first; i < target->segment_count; i++)
        size += strlen(target->segments[i]) + 1;
    text = ty_arena_alloc(&request->arena, size);
    at = text;
    for (size_t i = first; text && i < target->segment_count; i++) {
        size_t len = strlen(target->segments[i]);

        memcpy(at, target->segments[i], len);
        at += len;
        *at++ = i + 1 < target->segment_count ? '/' : '\0';
    }
    return text;
}

const char *ty_request_variable(struct ty_request *request, const char *name)
{
    const struct ty_route_match *match = &request->match;

    for (size_t i = 0; i < match->variable_count; i++) {
        if (!ty_str_equal(match->names[i], name))
            continue;
        if (match->has_rest && i + 1 == match->variable_count)
            return join_rest(request, match->first_segment[i]);
        return request->target.segments[match->first_segment[i]];
    }
    return NULL;
}

size_t ty_request_parameter_count(const struct ty_request *request)
{
    return request->target.parameter_count;
}

const struct ty_parameter *ty_request_parameter_at(const struct ty_request *request, size_t index)
{
    return index < request->target.parameter_count ? &request->target.parameters[index] : NULL;
}

const char *ty_request_parameter(const struct ty_request *request, const char *name)
{
    for (size_t i = 0; i < request->target.parameter_count; i++)
        if (ty_str_equal(request->target.parameters[i].name, name))
            return request->target.parameters[i].value;
    return NULL;
}

size_t ty_request_header_count(const struct ty_request *request)
{
    return request->head->field_count;
}

const struct ty_parameter *ty_request_header_at(const struct ty_request *request, size_t index)
{
    return index < request->head->field_count ? &request->head->fields[index] : NULL;
}

/* All values of `name` joined by ", "; NULL: no memory. */
static const char *join_fields(struct ty_request *request, const char *name, size_t size)
{
    const struct ty_head *head = request->head;
    char *text = ty_arena_alloc(&request->arena, size);
    char *at = text;

    for (unsigned i = 0; text && i < head->field_count; i++) {
        size_t len = strlen(head->fields[i].value);

        if (strcasecmp(head->fields[i].name, name) != 0)
            continue;
        if (at != text) {
            memcpy(at, ", ", 2);
            at += 2;
        }
        memcpy(at, head->fields[i].value, len);
        at += len;
        *at = '\0';
    }
    return text;
}

/* All fields of one name, joined where there are several. */
static const char *gather_fields(struct ty_request *request, const char *name)
{
    const struct ty_head *head = request->head;
    const char *first = NULL;
    unsigned count = 0;
    size_t size = 0;

    for (unsigned i = 0; i < head->field_count; i++) {
        if ((head->fields[i].name[0] | 0x20) != (name[0] | 0x20) ||
            strcasecmp(head->fields[i].name, name) != 0)
            continue;
        if (count++ == 0)
            first = head->fields[i].value;
        size += strlen(head->fields[i].value) + 2;
    }
    return count < 2 ? first : join_fields(request, name, size);
}

const char *ty_request_header(struct ty_request *request, const char *name)
{
    ty_field_id id = ty_field_find(name, strlen(name));

    if (id == TY_FIELD_KNOWN || (request->head->repeated & (1u << id)))
        return gather_fields(request, name);
    return request->head->known[id];
}

const char *ty_request_body(const struct ty_request *request, size_t *len_out)
{
    *len_out = request->body.len;
    return request->body.len ? request->body.data : "";
}

const char *ty_request_body_type(const struct ty_request *request)
{
    return request->body_type;
}

const char *ty_request_answer_type(const struct ty_request *request)
{
    return request->answer_type;
}

const char *ty_request_id(const struct ty_request *request)
{
    return request->id;
}

const char *ty_request_remote(const struct ty_request *request)
{
    return request->connection->remote;
}

/* The client's traceparent, if there is exactly one and it is valid. */
static const char *received_trace(const struct ty_request *request)
{
    const char *received = ty_request_known(request, TY_FIELD_TRACEPARENT);
    bool repeated = request->head->repeated & (1u << TY_FIELD_TRACEPARENT);

    return received && !repeated && ty_trace_valid(received) ? received : NULL;
}

const char *ty_request_traceparent(struct ty_request *request)
{
    if (!request->traced)
        ty_trace_next(received_trace(request), request->server->random, request->traceparent);
    request->traced = true;
    return request->traceparent;
}

const char *ty_request_tracestate(struct ty_request *request)
{
    return received_trace(request) ? ty_request_header(request, "tracestate") : NULL;
}

const struct ty_route *ty_request_route(const struct ty_request *request)
{
    return request->match.route;
}

size_t ty_request_worker(const struct ty_request *request)
{
    return request->worker;
}

/* ---- what others put in ---- */

void ty_request_set_principal(struct ty_request *request, void *principal,
                              void (*release)(void *principal))
{
    if (request->release_principal)
        request->release_principal(request->principal);
    request->principal = principal;
    request->release_principal = release;
}

void *ty_request_principal(const struct ty_request *request)
{
    return request->principal;
}

void ty_request_set_json(struct ty_request *request, json_t *json)
{
    json_decref(request->json);
    request->json = json;
}

json_t *ty_request_json(const struct ty_request *request)
{
    return request->json;
}

void *ty_request_alloc(struct ty_request *request, size_t size)
{
    return ty_arena_alloc(&request->arena, size);
}

char *ty_request_dup(struct ty_request *request, const char *text)
{
    return ty_arena_dup(&request->arena, text);
}

void ty_request_answer_header(struct ty_request *request, const char *name, const char *value)
{
    if (ty_field_sendable(name, value))
        (void)ty_field_list_add(&request->answer_fields, &request->arena, name, value);
}
