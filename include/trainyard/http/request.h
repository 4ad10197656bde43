/* One HTTP request as a handler sees it: typed, decoded, within every limit.
 *
 * A request belongs to the HTTP server. A handler may use it on one thread at a time, from the call
 * of the handler until it calls ty_request_answer, which it must do exactly once, from any thread;
 * after that the request is gone. All text a reader returns is NUL-ended, free of NUL inside, and
 * lives as long as the request. */
#ifndef TRAINYARD_HTTP_REQUEST_H
#define TRAINYARD_HTTP_REQUEST_H

#include "trainyard/base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ty_request;
struct ty_response;
struct ty_route;

typedef enum {
    TY_METHOD_GET,
    TY_METHOD_HEAD, /* handlers see HEAD requests as TY_METHOD_GET */
    TY_METHOD_POST,
    TY_METHOD_PUT,
    TY_METHOD_PATCH,
    TY_METHOD_DELETE,
    TY_METHOD_OPTIONS, /* answered by the server itself */
    TY_METHOD_TRACE,   /* known, so 405 rather than 501; never routed */
    TY_METHOD_CONNECT, /* the same */
    TY_METHOD_QUERY,   /* the same */
    TY_METHOD_COUNT
} ty_method;

/* "GET" and so on; a static string. */
const char *ty_method_name(ty_method method);

ty_method ty_request_method(const struct ty_request *request);

/* The request target as it was sent ("/v1/jobs?limit=5"), still encoded. Never forward it anywhere.
 */
const char *ty_request_target(const struct ty_request *request);

/* The path alone, still encoded: what `instance` of a problem document shows. */
const char *ty_request_path(const struct ty_request *request);

/* The decoded path segments. "/v1/jobs/a%2Fb" has three: "v1", "jobs", "a/b". A trailing slash is
 * an empty last one. */
size_t ty_request_segment_count(const struct ty_request *request);
const char *ty_request_segment(const struct ty_request *request,
                               size_t index); /* NULL past the end */

/* The value of `{name}` of the matched route, decoded; of `{name...}` the segments joined by '/' (a
 * segment that holds an encoded slash never matches a rest variable: 404). NULL when the route has
 * no such variable. */
const char *ty_request_variable(struct ty_request *request, const char *name);

/* Query parameters in the order sent, decoded as a form: %XX strictly, '+' is a blank. A name
 * without '=' has the value "". */
struct ty_parameter {
    const char *name;
    const char *value;
};
size_t ty_request_parameter_count(const struct ty_request *request);
const struct ty_parameter *ty_request_parameter_at(const struct ty_request *request, size_t index);

/* The first value of that name, or NULL. The contract refuses repeats where only one is meant. */
const char *ty_request_parameter(const struct ty_request *request, const char *name);

/* Header fields in the order sent. ty_request_header: the value of that name (any case), NULL when
 * absent; several fields of one name are joined by ", " (RFC 9110 5.3). Host, Content-Length,
 * Content-Type, Authorization, If-Range, Range, Idempotency-Key and Trainyard-Tenant are never
 * joined: the server refuses a request that repeats one. */
size_t ty_request_header_count(const struct ty_request *request);
const struct ty_parameter *ty_request_header_at(const struct ty_request *request, size_t index);
const char *ty_request_header(struct ty_request *request, const char *name);

/* The whole body, content coding removed, NUL-ended behind `len`; "" and 0 without one. */
const char *ty_request_body(const struct ty_request *request, size_t *len_out);

/* The media type of the body without parameters, lower case, one of the route's `consumes`; NULL
 * without a body. */
const char *ty_request_body_type(const struct ty_request *request);

/* Which of the route's `produces` the client likes best; never NULL in a handler. */
const char *ty_request_answer_type(const struct ty_request *request);

const char *ty_request_id(const struct ty_request *request); /* "req_…", ours, also in the answer */
const char *
ty_request_remote(const struct ty_request *request); /* the peer's address as text, no port */

/* W3C Trace Context to pass on: the client's trace id (or a new one) with a new parent id; always
 * valid. ty_request_tracestate is NULL unless a valid traceparent came with one. */
const char *ty_request_traceparent(struct ty_request *request);
const char *ty_request_tracestate(struct ty_request *request);

const struct ty_route *ty_request_route(const struct ty_request *request);

/* Index of the pool worker that runs this handler (TY_RUN_POOL), for its own database reader; 0 on
 * HTTP threads. */
size_t ty_request_worker(const struct ty_request *request);

/* The authenticated caller. `release` (may be NULL) is called once when the request ends. */
void ty_request_set_principal(struct ty_request *request, void *principal,
                              void (*release)(void *principal));
void *ty_request_principal(const struct ty_request *request);

/* The parsed body, put there by whoever checked it (server options' `check`). Takes the reference.
 */
void ty_request_set_json(struct ty_request *request, json_t *json);
json_t *ty_request_json(const struct ty_request *request); /* borrowed, NULL when none was set */

/* Memory that is freed with the request; aligned for anything; NULL when there is none. */
void *ty_request_alloc(struct ty_request *request, size_t size);
char *ty_request_dup(struct ty_request *request, const char *text);

/* A header field for whatever answer this request will get (RateLimit and the like). Same rules as
 * ty_response_header. */
void ty_request_answer_header(struct ty_request *request, const char *name, const char *value);

/* Give the answer. Exactly once, from any thread; takes the response. NULL means that memory ran
 * out while building it: the client gets a 503 problem. What depends on the request is done here:
 * 304 for If-None-Match, ranges of files, gzip, Content-Length of HEAD, CORS, Request-Id. */
void ty_request_answer(struct ty_request *request, struct ty_response *response);

#endif
