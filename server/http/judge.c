/* The steps between a parsed head and its handler, in the order in which their answers win. */
#include "judge.h"

#include "cors.h"
#include "media.h"
#include "request_state.h"
#include "server_state.h"
#include "trainyard/base/str.h"
#include "trainyard/http/accept.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const json_only[] = {"application/json", NULL};

static const char *const *consumes(const struct ty_route *route)
{
    return route->consumes ? route->consumes : json_only;
}

static const char *const *produces(const struct ty_route *route)
{
    return route->produces ? route->produces : json_only;
}

/* "a, b, c" for a detail. */
static void join(char *out, size_t size, const char *const *names)
{
    size_t len = 0;

    out[0] = '\0';
    for (; *names && len < size; names++)
        len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", *names);
}

static struct ty_response *judge_method(struct ty_request *request)
{
    return request->method == TY_METHOD_COUNT ? ty_response_problem("method_unknown", NULL, NULL)
                                              : NULL;
}

static struct ty_response *judge_target(struct ty_request *request)
{
    const char *target = request->head->target;
    size_t bound = ty_target_parameter_bound(target);
    char *work = ty_arena_alloc(&request->arena, ty_target_work(strlen(target)));
    struct ty_parameter *parameters =
        bound ? ty_arena_alloc(&request->arena, bound * sizeof *parameters) : NULL;
    struct ty_error err;

    if (!work || (bound && !parameters))
        return ty_response_problem("out_of_memory", NULL, NULL);
    if (ty_target_parse(target, work, parameters, &request->target, &err))
        return ty_response_error(&err, NULL);
    return NULL;
}

/* 204 with Allow; the preflight's fields too where it is one. */
static struct ty_response *answer_options(struct ty_request *request, const char *allow)
{
    struct ty_response *response = ty_cors_preflight(
        request->server->options.cors_origins, ty_request_known(request, TY_FIELD_ORIGIN),
        ty_request_known(request, TY_FIELD_CORS_METHOD), allow);

    if (!response) {
        response = ty_response_empty(204);
        ty_response_header(response, "Allow", allow);
    }
    return response;
}

/* Whether a rest variable would join a segment in which a slash was encoded: two URLs must never
 * mean one file. */
static bool rest_is_ambiguous(const struct ty_request *request)
{
    const struct ty_route_match *match = &request->match;
    size_t at = match->has_rest ? match->first_segment[match->variable_count - 1]
                                : request->target.segment_count;

    for (; at < request->target.segment_count; at++)
        if (request->target.encoded_slash[at])
            return true;
    return false;
}

static struct ty_response *judge_route(struct ty_request *request)
{
    const struct ty_target *target = &request->target;
    struct ty_response *response;
    ty_status status;

    if (target->asterisk)
        return request->method == TY_METHOD_OPTIONS
                   ? answer_options(request, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
                   : ty_response_problem("bad_target", NULL, NULL);
    status = ty_router_find(request->server->router, request->method, target->segments,
                            target->segment_count, &request->match);
    if (status == TY_NOT_FOUND || rest_is_ambiguous(request)) {
        request->match.route = NULL;
        return ty_response_problem("not_found", NULL, NULL);
    }
    if (request->method == TY_METHOD_OPTIONS)
        return answer_options(request, request->match.allow);
    if (status == TY_OK)
        return NULL;
    response = ty_response_problem("method_not_allowed", NULL, NULL);
    ty_response_header(response, "Allow", request->match.allow);
    return response;
}

/* RFC 6750 3: the challenge says what was wrong with the credential, if one was sent. */
static void add_challenge(struct ty_request *request, const struct ty_error *err,
                          struct ty_response *response)
{
    const struct ty_http_hooks *hooks = &request->server->options.hooks;
    char scopes[256] = "";
    char text[384];

    if (ty_str_equal(err->code, "insufficient_scope")) {
        if (hooks->scope_text)
            hooks->scope_text(hooks->context, request->match.route, scopes, sizeof scopes);
        snprintf(text, sizeof text,
                 "Bearer realm=\"trainyard\", error=\"insufficient_scope\", scope=\"%s\"", scopes);
    } else {
        snprintf(text, sizeof text, "Bearer realm=\"trainyard\"%s",
                 ty_str_equal(err->code, "invalid_token") ? ", error=\"invalid_token\"" : "");
    }
    ty_response_header(response, "WWW-Authenticate", text);
}

static struct ty_response *judge_caller(struct ty_request *request)
{
    const struct ty_http_hooks *hooks = &request->server->options.hooks;
    const struct ty_route *route = request->match.route;
    struct ty_error err = {0};
    struct ty_response *response;
    ty_status status;

    if (!route) /* judge_route lets none pass without */
        return ty_response_problem("internal_error", NULL, NULL);
    if (!hooks->authenticate || (route->flags & TY_ROUTE_PUBLIC))
        return NULL;
    status = hooks->authenticate(hooks->context, request, &err);
    if (!status)
        return NULL;
    err.status = status;
    response = ty_response_error(&err, NULL);
    if (status == TY_UNAUTHENTICATED || status == TY_FORBIDDEN)
        add_challenge(request, &err, response);
    return response;
}

static struct ty_response *judge_expectation(struct ty_request *request)
{
    return request->head->expect_unknown ? ty_response_problem("expectation_failed", NULL, NULL)
                                         : NULL;
}

static struct ty_response *refuse_media(struct ty_request *request)
{
    struct ty_response *response;
    char types[256];
    char detail[320];

    join(types, sizeof types, consumes(request->match.route));
    snprintf(detail, sizeof detail, "this operation reads %s", types);
    response = ty_response_problem("unsupported_media_type", detail, NULL);
    ty_response_header(response, request->method == TY_METHOD_PATCH ? "Accept-Patch" : "Accept",
                       types);
    return response;
}

static struct ty_response *judge_coding(struct ty_request *request)
{
    const char *coding = ty_request_known(request, TY_FIELD_CONTENT_ENCODING);
    struct ty_response *response;

    if (!coding || strcasecmp(coding, "identity") == 0)
        return NULL;
    request->gzipped_body = strcasecmp(coding, "gzip") == 0 || strcasecmp(coding, "x-gzip") == 0;
    if (request->gzipped_body)
        return NULL;
    response = ty_response_problem("unsupported_encoding", NULL, NULL);
    ty_response_header(response, "Accept-Encoding", "gzip");
    return response;
}

static struct ty_response *refuse_size(size_t limit)
{
    char detail[80];

    snprintf(detail, sizeof detail, "this operation takes bodies of up to %zu bytes", limit);
    return ty_response_problem("body_too_large", detail, NULL);
}

static struct ty_response *judge_content(struct ty_request *request)
{
    const struct ty_route *route = request->match.route;
    const struct ty_head *head = request->head;
    const char *type = head->known[TY_FIELD_CONTENT_TYPE];

    if (!head->chunked && head->content_length == 0)
        return NULL;
    if (route->body_limit == 0)
        return ty_response_problem("unexpected_body", NULL, NULL);
    if (head->content_length > route->body_limit)
        return refuse_size(route->body_limit);
    request->body_type = type ? ty_media_match(type, consumes(route)) : NULL;
    if (!request->body_type)
        return refuse_media(request);
    return judge_coding(request);
}

static struct ty_response *judge_accept(struct ty_request *request)
{
    const char *const *offers = produces(request->match.route);
    int chosen = ty_accept_choose(ty_request_header(request, "Accept"), offers);
    char types[256];
    char detail[320];

    if (chosen >= 0) {
        request->answer_type = offers[chosen];
        return NULL;
    }
    join(types, sizeof types, offers);
    snprintf(detail, sizeof detail, "this operation gives %s", types);
    return ty_response_problem("not_acceptable", detail, NULL);
}

struct ty_response *ty_judge_head(struct ty_request *request)
{
    static struct ty_response *(*const steps[])(struct ty_request * request) = {
        judge_method,      judge_target,  judge_route,  judge_caller,
        judge_expectation, judge_content, judge_accept,
    };
    struct ty_response *refusal = NULL;

    for (size_t i = 0; i < sizeof steps / sizeof *steps && !refusal; i++)
        refusal = steps[i](request);
    return refusal;
}
