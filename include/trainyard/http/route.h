/* Routes as rows. From one table come dispatch, HEAD (from GET), OPTIONS, 404, 405 with `Allow`,
 * 406, 415, the body limit and the scopes. */
#ifndef TRAINYARD_HTTP_ROUTE_H
#define TRAINYARD_HTTP_ROUTE_H

#include "trainyard/http/request.h"

/* Where a handler runs, and what else is special. */
enum {
    TY_RUN_INLINE = 0,         /* on the HTTP thread: memory only, must never wait */
    TY_RUN_POOL = 1u << 0,     /* on a thread of the pool: may read files and the database */
    TY_ROUTE_PUBLIC = 1u << 1, /* no authentication */
    /* With TY_RUN_POOL: inline all the same when the body has at most TY_SMALL_BODY bytes and no
     * coding. What a hop to the pool costs is as much as such a body's judgement. */
    TY_RUN_SMALL_INLINE = 1u << 2
};

enum { TY_SMALL_BODY = 8 * 1024 };

/* Called with the server's `handler_context`; must end in one ty_request_answer, now or later. */
typedef void ty_handler(void *context, struct ty_request *request);

struct ty_route {
    ty_method method;
    /* "/v1/jobs/{job_id}/artifacts/{path...}": a segment is a literal ("jobs:batch") or a variable;
     * only the last may take the rest of the path. */
    const char *path;
    uint64_t scopes;   /* for the `authenticate` callback: bits that the caller must hold */
    size_t body_limit; /* bytes after decoding; 0: a body is refused */
    unsigned flags;
    const char *const *consumes; /* NULL-ended list of media types; NULL: application/json */
    const char *const *produces; /* the same; the first is what a client gets that does not care */
    ty_handler *handler;
};

/* The compiled table: immutable, any thread. */
struct ty_router;

/* Compile `count` rows, which must outlive the router. TY_INVALID names the row: a path that does
 * not start with '/', an empty or repeated variable name, a rest variable that is not last, two
 * rows of one method and shape; TY_NO_MEMORY. */
ty_status ty_router_create(const struct ty_route *routes, size_t count,
                           struct ty_router **router_out, struct ty_error *err) TY_MUST_CHECK;
void ty_router_destroy(struct ty_router *router);

enum { TY_ROUTE_VARIABLES = 8 };

struct ty_route_match {
    const struct ty_route *route; /* NULL unless TY_OK */
    const char *allow;            /* of the path that matched: "GET, HEAD, OPTIONS"; NULL on 404 */
    const char *names[TY_ROUTE_VARIABLES];           /* variables of the route, in order */
    unsigned char first_segment[TY_ROUTE_VARIABLES]; /* where each starts in the segments */
    size_t variable_count;
    bool has_rest; /* the last variable takes all segments from its first */
};

/* Find the row for decoded `segments`. A literal wins over a variable, a variable over a rest. HEAD
 * finds GET. TY_NOT_FOUND: no such path. TY_REFUSED: the path is there, not with this method
 * (`allow` is set). */
ty_status ty_router_find(const struct ty_router *router, ty_method method,
                         const char *const *segments, size_t count,
                         struct ty_route_match *match_out) TY_MUST_CHECK;

#endif
