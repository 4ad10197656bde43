/* The HTTP/1.1 server: listens, reads strictly, dispatches, answers, drains. The only place with
 * libmicrohttpd.
 *
 * Life of a request: the head is read under its deadline and limits -> route -> `authenticate` ->
 * content checks (length, media type, coding, Expect) -> 100 Continue -> the body -> `check` -> the
 * row's handler. Everything up to and including the body happens on an HTTP thread; `check` and the
 * handler run where the row says. */
#ifndef TRAINYARD_HTTP_SERVER_H
#define TRAINYARD_HTTP_SERVER_H

#include "trainyard/base/clock.h"
#include "trainyard/base/faults.h"
#include "trainyard/base/log.h"
#include "trainyard/base/random.h"
#include "trainyard/base/thread.h"
#include "trainyard/http/route.h"

struct ty_http_server;

/* 0 stands for the default in each. */
struct ty_http_limits {
    size_t header_bytes;    /* 32 KiB: request line and fields; beyond: 431 */
    unsigned header_fields; /* 100; beyond: 431 */
    size_t target_bytes;    /* 8 KiB; beyond: 414 */
    unsigned header_ms;     /* 10 s from the first byte to the end of the head; then 408 */
    unsigned body_ms;     /* 30 s, and a second more for each body_rate bytes received; then 408 */
    unsigned body_rate;   /* 1 KiB */
    unsigned idle_ms;     /* 75 s without a byte in either direction */
    unsigned requests;    /* 1,000 per connection */
    unsigned connections; /* 4,096 in all; beyond: 503 and close */
    unsigned connections_per_address; /* 1,024; beyond: 503 and close */
    size_t inflated_bytes; /* 16 MiB and 100 times the received size: gzip request bodies */
    size_t body_memory;    /* 256 MiB: all request bodies being read at a time; beyond: 503 */
};

/* What happened to one request, told when its answer is out (or the client gone). */
struct ty_http_observation {
    const struct ty_route *route; /* NULL: none matched or the head was refused */
    ty_method method;             /* TY_METHOD_COUNT: none that we know */
    int status;          /* of the answer; 499 when the client left before it was complete */
    int64_t duration_us; /* from the complete head */
    const char *request_id;
    const char *remote;
    const char *path; /* still encoded, without the query; "" for refused heads */
    void *principal;  /* as `authenticate` set it, or NULL */
    bool stream;
};

struct ty_http_hooks {
    void *context;

    /* Who asks, and may they use this route (ty_request_route(request)->scopes)? Called before the
     * body is read, on the HTTP thread: memory only. On success it may call
     * ty_request_set_principal. NULL: every route is open (tests). Errors become the answer:
     *   TY_UNAUTHENTICATED  401 with a challenge; code "invalid_token" says that a credential was
     *                       sent and is bad
     *   TY_FORBIDDEN        403; with code "insufficient_scope" the challenge names `scope_text`
     *   TY_INVALID          400 (two credentials)
     *   TY_LIMITED          429
     *   TY_UNAVAILABLE      503 */
    ty_status (*authenticate)(void *context, struct ty_request *request, struct ty_error *err);

    /* The space-separated scope names of a row, for the challenge of a 403; NULL for none. Writes
     * at most `size` bytes. */
    void (*scope_text)(void *context, const struct ty_route *route, char *out, size_t size);

    /* Judge path, query, header parameters and the body at once, before the handler and on its
     * thread. Faults found or an error returned become the answer (faults with TY_OK: 422; with
     * TY_INVALID: 400). NULL: no checks. */
    ty_status (*check)(void *context, struct ty_request *request, struct ty_faults *faults,
                       struct ty_error *err);

    /* Access log and metrics; any HTTP thread, must not wait. NULL: nobody cares. */
    void (*observe)(void *context, const struct ty_http_observation *seen);

    /* Draining begins: answer what only waits (long polls). Streams are told by their own `drain`.
     * NULL: nothing to do. */
    void (*drain)(void *context);
};

struct ty_http_options {
    const char *const *listen; /* NULL-ended: "127.0.0.1:8080", "[::1]:0" (0: any free port) */
    unsigned threads;          /* HTTP threads per address; 0: one a core, 2 at least */
    struct ty_http_limits limits;
    const char *const *cors_origins; /* NULL-ended exact origins; NULL: CORS is off */
    const struct ty_route *routes;
    size_t route_count;
    void *handler_context;
    struct ty_pool *pool;           /* for TY_RUN_POOL; must outlive the server */
    const struct ty_clock *clock;   /* NULL: the machine's */
    const struct ty_random *random; /* NULL: the kernel's */
    const struct ty_log *log;
    struct ty_http_hooks hooks;
    unsigned heartbeat_ms; /* 15 s; tests shorten it */
};

/* Bind every address and compile the routes; nothing is accepted yet. The lists in `options` must
 * outlive the server. When the system allows fewer open files than the connection limit needs
 * (RLIMIT_NOFILE is raised as far as it goes), the limit is lowered and the log says so.
 * On failure *server_out is untouched:
 *   TY_INVALID      a listen text or a route cannot be read
 *   TY_UNAVAILABLE  an address cannot be bound
 *   TY_NO_MEMORY */
ty_status ty_http_server_create(const struct ty_http_options *options,
                                struct ty_http_server **server_out,
                                struct ty_error *err) TY_MUST_CHECK;

/* Accept connections. TY_UNAVAILABLE, TY_NO_MEMORY. */
ty_status ty_http_server_start(struct ty_http_server *server, struct ty_error *err) TY_MUST_CHECK;

/* The bound port of listen address `index` (0-based); 0 past the end. Known after create. */
unsigned ty_http_server_port(const struct ty_http_server *server, size_t index);

/* Stop accepting, tell streams and long polls, close idle connections, let requests under way end.
 * Returns true when all have ended, false when `seconds` ran out first. Answers given meanwhile
 * carry `Connection: close`. */
bool ty_http_server_drain(struct ty_http_server *server, unsigned seconds);

/* Break off what is still open, wait for handlers that have not answered, end the threads. After
 * drain or alone. */
void ty_http_server_stop(struct ty_http_server *server);

/* Stop if need be, and free; takes NULL. */
void ty_http_server_destroy(struct ty_http_server *server);

struct ty_http_stats {
    uint64_t accepted;    /* connections since start */
    uint64_t refused;     /* of these, over a limit (503) */
    uint64_t bad_heads;   /* requests refused by the reader: 400, 414, 431, 408, 501, 505 */
    uint64_t requests;    /* dispatched */
    unsigned connections; /* open now */
    unsigned in_flight;   /* requests not yet answered */
    unsigned streams;     /* open now */
    unsigned stuck_ms;    /* the longest time an HTTP thread has been inside its present handler */
    size_t body_memory;   /* request bodies being read */
};
void ty_http_server_stats(struct ty_http_server *server, struct ty_http_stats *stats_out);

#endif
