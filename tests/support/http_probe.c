/* A small server on the HTTP room alone, for the raw-socket suite (tests/api/raw): routes that
 * echo, sleep, stream and serve a file, with every limit on the command line.
 *
 *     http_probe --file PATH [--header-ms N] [--connections N] ...
 *
 * It prints its port, serves until SIGTERM, drains for --drain seconds and prints whether all
 * ended. */
#include "trainyard/base/digest.h"
#include "trainyard/base/file.h"
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/http/conditional.h"
#include "trainyard/http/response.h"
#include "trainyard/http/server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char json[] = "application/json";

struct probe {
    struct ty_http_server *server;
    struct ty_pool *pool;
    struct ty_pool *answerers;
    struct ty_body *cached;
    struct ty_body *large;
    const char *file;
    char file_etag[TY_ETAG_TEXT];
    atomic_uint observed;
    atomic_uint observed_499;
    atomic_uint released;
};

static void sleep_ms(int64_t ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&time, NULL);
}

static int64_t number_of(const struct ty_request *request, const char *name, int64_t otherwise)
{
    const char *text = ty_request_parameter(request, name);
    int64_t value = otherwise;

    if (text && ty_str_to_int(text, 0, 1000000000, &value))
        return otherwise;
    return value;
}

static void answer_buf(struct ty_request *request, int status, struct ty_buf *buf)
{
    ty_request_answer(request, ty_response_buf(status, json, buf));
    ty_buf_done(buf);
}

/* ---- echo ---- */

static void write_pairs(struct ty_json_writer *w, const char *key, const struct ty_request *request,
                        size_t count,
                        const struct ty_parameter *(*at)(const struct ty_request *, size_t))
{
    ty_json_key(w, key);
    ty_json_array(w);
    for (size_t i = 0; i < count; i++) {
        ty_json_array(w);
        ty_json_string(w, at(request, i)->name);
        ty_json_string(w, at(request, i)->value);
        ty_json_end(w);
    }
    ty_json_end(w);
}

static void write_body(struct ty_json_writer *w, const struct ty_request *request)
{
    size_t len;
    const char *bytes = ty_request_body(request, &len);
    uint8_t digest[TY_SHA256];
    char hex[TY_SHA256_HEX];

    ty_json_put_int(w, "body_length", (int64_t)len);
    if (!ty_sha256(bytes, len, digest)) {
        ty_hex(digest, sizeof digest, hex);
        ty_json_put_string(w, "body_sha256", hex);
    }
    ty_json_put_string(w, "body_type", ty_request_body_type(request));
}

static void echo(void *context, struct ty_request *request)
{
    static const char *const variables[] = {"id", "path"};
    static const char *const labels[] = {"variable_id", "variable_path"};
    struct ty_json_writer w;
    struct ty_buf buf;

    (void)context;
    ty_buf_init(&buf, 1024 * 1024);
    ty_json_writer_init(&w, &buf);
    ty_json_object(&w);
    ty_json_put_string(&w, "method", ty_method_name(ty_request_method(request)));
    ty_json_put_string(&w, "target", ty_request_target(request));
    ty_json_put_string(&w, "path", ty_request_path(request));
    ty_json_put_string(&w, "remote", ty_request_remote(request));
    ty_json_put_string(&w, "answer_type", ty_request_answer_type(request));
    ty_json_put_string(&w, "traceparent", ty_request_traceparent(request));
    ty_json_put_string(&w, "tracestate", ty_request_tracestate(request));
    ty_json_key(&w, "segments");
    ty_json_array(&w);
    for (size_t i = 0; i < ty_request_segment_count(request); i++)
        ty_json_string(&w, ty_request_segment(request, i));
    ty_json_end(&w);
    for (size_t i = 0; i < 2; i++)
        ty_json_put_string(&w, labels[i], ty_request_variable(request, variables[i]));
    write_pairs(&w, "parameters", request, ty_request_parameter_count(request),
                ty_request_parameter_at);
    write_pairs(&w, "headers", request, ty_request_header_count(request), ty_request_header_at);
    write_body(&w, request);
    ty_json_end(&w);
    answer_buf(request, 200, &buf);
}

/* ---- waiting ---- */

static void sleep_in_pool(void *context, struct ty_request *request)
{
    (void)context;
    sleep_ms(number_of(request, "ms", 10));
    ty_request_answer(
        request, ty_response_bytes(200, json, (void *)(uintptr_t) "{\"slept\":true}", 14, NULL));
}

static void answer_later(void *context, size_t worker)
{
    struct ty_request *request = context;

    (void)worker;
    sleep_ms(number_of(request, "ms", 0));
    ty_request_answer(
        request, ty_response_bytes(200, json, (void *)(uintptr_t) "{\"later\":true}", 14, NULL));
}

/* The handler returns on the HTTP thread; another thread answers, before or after. */
static void later(void *context, struct ty_request *request)
{
    struct probe *probe = context;

    if (ty_pool_submit(probe->answerers, answer_later, request))
        ty_request_answer(request, ty_response_problem("overloaded", NULL, NULL));
}

/* ---- bodies ---- */

static void cached(void *context, struct ty_request *request)
{
    struct probe *probe = context;

    ty_request_answer(request, ty_response_body(200, probe->cached));
}

static void large(void *context, struct ty_request *request)
{
    struct probe *probe = context;

    ty_request_answer(request, ty_response_body(200, probe->large));
}

/* The same bytes without a shared body, and without compression on demand. */
static void plain_large(void *context, struct ty_request *request)
{
    struct probe *probe = context;
    struct ty_response *response;
    size_t len;
    const void *bytes = ty_body_bytes(probe->large, &len);

    response = ty_response_borrowed(200, json, ty_body_etag(probe->large), bytes, len, NULL, NULL);
    if (ty_request_parameter(request, "secret"))
        ty_response_compress(response, false);
    ty_request_answer(request, response);
}

static void serve_file(void *context, struct ty_request *request)
{
    struct probe *probe = context;
    struct ty_response *response;
    struct stat stat;
    int fd = open(probe->file, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &stat) != 0) {
        ty_request_answer(request, ty_response_problem("not_found", NULL, NULL));
        return;
    }
    response = ty_response_file("application/octet-stream", fd, (uint64_t)stat.st_size);
    ty_response_etag(response, probe->file_etag);
    ty_response_attachment(response, "mod\xc3\xa9l \"1\".pt");
    ty_response_header(response, "Cache-Control", "private, no-cache");
    ty_request_answer(request, response);
}

static void change(void *context, struct ty_request *request)
{
    struct probe *probe = context;
    struct ty_error err;
    ty_status status = ty_request_parameter(request, "must")
                           ? ty_precondition_require(request, ty_body_etag(probe->cached), &err)
                           : ty_precondition_check(request, ty_body_etag(probe->cached), &err);

    ty_request_answer(request, status ? ty_response_error(&err, NULL) : ty_response_empty(204));
}

static void created(void *context, struct ty_request *request)
{
    struct ty_response *response = ty_response_empty(201);

    (void)context;
    ty_response_location(response, "/items/1");
    ty_response_etag(response, "\"v1\"");
    ty_request_answer(request, response);
}

static void split(void *context, struct ty_request *request)
{
    struct ty_response *response = ty_response_empty(200);

    (void)context;
    ty_response_header(response, "X-Evil", "a\r\nSet-Cookie: b=c");
    ty_request_answer(request, response);
}

/* ?bytes=N of header fields. */
static void wordy(void *context, struct ty_request *request)
{
    struct ty_response *response = ty_response_empty(200);
    int64_t left = number_of(request, "bytes", 0);
    char value[1001];

    (void)context;
    memset(value, 'v', sizeof value);
    for (; left > 0; left -= 1000) {
        value[left < 1000 ? left : 1000] = '\0';
        ty_response_header(response, "X-Wordy", value);
    }
    ty_request_answer(request, response);
}

static void no_memory(void *context, struct ty_request *request)
{
    (void)context;
    ty_request_answer(request, NULL);
}

static void faulty(void *context, struct ty_request *request)
{
    struct ty_faults faults;
    struct ty_error err;

    (void)context;
    ty_faults_init(&faults);
    ty_faults_add(&faults, TY_AT_POINTER, "/image", "required", "image is missing");
    ty_faults_add(&faults, TY_AT_PARAMETER, "limit", "out_of_range", "limit is at most %d", 500);
    (void)ty_fail_code(&err, TY_REFUSED, "spec_rejected", "the spec breaks %d rules", 2);
    ty_request_answer(request, ty_response_error(&err, &faults));
}

/* ---- streams ---- */

struct ticker {
    struct probe *probe;
    atomic_int available; /* events made */
    int sent;
    int total;
    int ms;
    int size; /* bytes of padding an event */
    atomic_bool draining;
    bool said_goodbye;
    char pending[2048];
    size_t at;
    size_t len;
    struct ty_stream *stream; /* the maker's reference */
};

static void format_event(struct ticker *ticker)
{
    int len = snprintf(
        ticker->pending, sizeof ticker->pending, "id: %d\ndata: {\"n\":%d,\"pad\":\"%.*s\"}\n\n",
        ticker->sent, ticker->sent, ticker->size,
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");

    ticker->len = (size_t)len;
    ticker->at = 0;
    ticker->sent++;
}

static ssize_t read_ticks(void *context, char *out, size_t max)
{
    struct ticker *ticker = context;
    size_t take;

    if (ticker->at == ticker->len) {
        if (ticker->sent < atomic_load(&ticker->available)) {
            format_event(ticker);
        } else if (atomic_load(&ticker->draining) && !ticker->said_goodbye) {
            ticker->len = (size_t)snprintf(ticker->pending, sizeof ticker->pending,
                                           "event: reconnect\ndata: {}\n\n");
            ticker->at = 0;
            ticker->said_goodbye = true;
        } else {
            return ticker->said_goodbye || (ticker->total && ticker->sent == ticker->total)
                       ? TY_STREAM_END
                       : TY_STREAM_NOTHING;
        }
    }
    take = ticker->len - ticker->at < max ? ticker->len - ticker->at : max;
    memcpy(out, ticker->pending + ticker->at, take);
    ticker->at += take;
    return (ssize_t)take;
}

static void drain_ticks(void *context)
{
    struct ticker *ticker = context;

    atomic_store(&ticker->draining, true);
}

/* The maker may still hold the ticker: whoever is last frees it. */
static void release_ticks(void *context)
{
    struct ticker *ticker = context;

    atomic_fetch_add(&ticker->probe->released, 1);
}

static const struct ty_stream_ops tick_ops = {read_ticks, drain_ticks, release_ticks, ": hb\n\n"};

/* A thread per stream, detached: the probe counts on its end by `finished`. */
static void *make_ticks(void *context)
{
    struct ticker *ticker = context;

    for (int i = 0; i < ticker->total && !ty_stream_finished(ticker->stream); i++) {
        if (ticker->ms)
            sleep_ms(ticker->ms);
        atomic_fetch_add(&ticker->available, 1);
        ty_stream_wake(ticker->stream);
    }
    while (!ty_stream_finished(ticker->stream))
        sleep_ms(5);
    ty_stream_unref(ticker->stream);
    free(ticker);
    return NULL;
}

static void stream(void *context, struct ty_request *request)
{
    struct ticker *ticker = calloc(1, sizeof *ticker);
    pthread_t thread;
    struct ty_error err;

    if (!ticker || ty_stream_create(&tick_ops, ticker, &ticker->stream)) {
        free(ticker);
        ty_request_answer(request, NULL);
        return;
    }
    ticker->probe = context;
    ticker->total = (int)number_of(request, "count", 0);
    ticker->ms = (int)number_of(request, "ms", 0);
    ticker->size = (int)number_of(request, "size", 0);
    ty_stream_ref(ticker->stream);
    if (ty_thread_start(&thread, "ticks", make_ticks, ticker, &err))
        abort();
    pthread_detach(thread);
    ty_request_answer(request, ty_response_stream(200, "text/event-stream", ticker->stream));
}

/* ---- one producer, many streams ---- */

enum { SUBSCRIBERS = 4096 };

/* Everybody who reads /feed; /feed/push makes one event for all. */
static struct {
    pthread_mutex_t lock;
    struct ty_stream *streams[SUBSCRIBERS];
    size_t count;
    atomic_int pushed;
} feed = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct subscriber {
    int sent;
    char text[64];
    size_t at;
    size_t len;
};

static ssize_t read_feed(void *context, char *out, size_t max)
{
    struct subscriber *subscriber = context;
    size_t take;

    if (subscriber->at == subscriber->len) {
        if (subscriber->sent == atomic_load(&feed.pushed))
            return TY_STREAM_NOTHING;
        subscriber->len = (size_t)snprintf(subscriber->text, sizeof subscriber->text,
                                           "data: %d\n\n", ++subscriber->sent);
        subscriber->at = 0;
    }
    take = subscriber->len - subscriber->at < max ? subscriber->len - subscriber->at : max;
    memcpy(out, subscriber->text + subscriber->at, take);
    subscriber->at += take;
    return (ssize_t)take;
}

static const struct ty_stream_ops feed_ops = {read_feed, NULL, free, ": hb\n\n"};

static void subscribe(void *context, struct ty_request *request)
{
    struct subscriber *subscriber = calloc(1, sizeof *subscriber);
    struct ty_stream *stream = NULL;

    (void)context;
    if (!subscriber || ty_stream_create(&feed_ops, subscriber, &stream)) {
        free(subscriber);
        ty_request_answer(request, NULL);
        return;
    }
    subscriber->sent = atomic_load(&feed.pushed);
    pthread_mutex_lock(&feed.lock);
    if (feed.count < SUBSCRIBERS)
        feed.streams[feed.count++] = ty_stream_ref(stream);
    pthread_mutex_unlock(&feed.lock);
    ty_request_answer(request, ty_response_stream(200, "text/event-stream", stream));
}

static void push(void *context, struct ty_request *request)
{
    size_t kept = 0;

    (void)context;
    atomic_fetch_add(&feed.pushed, 1);
    pthread_mutex_lock(&feed.lock);
    for (size_t i = 0; i < feed.count; i++) {
        if (ty_stream_finished(feed.streams[i])) {
            ty_stream_unref(feed.streams[i]);
            continue;
        }
        ty_stream_wake(feed.streams[i]);
        feed.streams[kept++] = feed.streams[i];
    }
    feed.count = kept;
    pthread_mutex_unlock(&feed.lock);
    ty_request_answer(request, ty_response_empty(204));
}

static void forget_feed(void)
{
    for (size_t i = 0; i < feed.count; i++)
        ty_stream_unref(feed.streams[i]);
    feed.count = 0;
}

static ssize_t read_broken(void *context, char *out, size_t max)
{
    int *calls = context;

    if ((*calls)++ > 0)
        return TY_STREAM_ERROR;
    memset(out, 'x', max < 10 ? max : 10);
    return (ssize_t)(max < 10 ? max : 10);
}

static const struct ty_stream_ops broken_ops = {read_broken, NULL, free, NULL};

static void broken_stream(void *context, struct ty_request *request)
{
    int *calls = calloc(1, sizeof *calls);
    struct ty_stream *broken;

    (void)context;
    if (!calls || ty_stream_create(&broken_ops, calls, &broken)) {
        free(calls);
        ty_request_answer(request, NULL);
        return;
    }
    ty_request_answer(request, ty_response_stream(200, "text/plain", broken));
}

/* ---- what the probe itself saw ---- */

static void stats(void *context, struct ty_request *request)
{
    struct probe *probe = context;
    struct ty_http_stats s;
    struct ty_json_writer w;
    struct ty_buf buf;

    ty_http_server_stats(probe->server, &s);
    ty_buf_init(&buf, 4096);
    ty_json_writer_init(&w, &buf);
    ty_json_object(&w);
    ty_json_put_int(&w, "accepted", (int64_t)s.accepted);
    ty_json_put_int(&w, "refused", (int64_t)s.refused);
    ty_json_put_int(&w, "bad_heads", (int64_t)s.bad_heads);
    ty_json_put_int(&w, "requests", (int64_t)s.requests);
    ty_json_put_int(&w, "connections", s.connections);
    ty_json_put_int(&w, "in_flight", s.in_flight);
    ty_json_put_int(&w, "streams", s.streams);
    ty_json_put_int(&w, "body_memory", (int64_t)s.body_memory);
    ty_json_put_int(&w, "observed", atomic_load(&probe->observed));
    ty_json_put_int(&w, "observed_499", atomic_load(&probe->observed_499));
    ty_json_put_int(&w, "released", atomic_load(&probe->released));
    ty_json_end(&w);
    answer_buf(request, 200, &buf);
}

static ty_status authenticate(void *context, struct ty_request *request, struct ty_error *err)
{
    const char *authorization = ty_request_header(request, "Authorization");

    (void)context;
    if (!authorization)
        return ty_fail(err, TY_UNAUTHENTICATED, "a token is needed");
    if (ty_str_equal(authorization, "Bearer viewer") && ty_request_route(request)->scopes)
        return ty_fail_code(err, TY_FORBIDDEN, "insufficient_scope", "the token lacks a scope");
    if (!ty_str_equal(authorization, "Bearer secret") &&
        !ty_str_equal(authorization, "Bearer viewer"))
        return ty_fail_code(err, TY_UNAUTHENTICATED, "invalid_token", "no such token");
    ty_request_answer_header(request, "RateLimit", "\"default\";r=9;t=1");
    ty_request_set_principal(request, strdup("someone"), free);
    return TY_OK;
}

static void scope_text(void *context, const struct ty_route *route, char *out, size_t size)
{
    (void)context;
    (void)route;
    ty_str_copy(out, size, "items:write");
}

static ty_status check(void *context, struct ty_request *request, struct ty_faults *faults,
                       struct ty_error *err)
{
    (void)context;
    (void)err;
    if (ty_request_parameter(request, "unknown"))
        ty_faults_add(faults, TY_AT_PARAMETER, "unknown", "unknown_parameter", "no such parameter");
    return TY_OK;
}

static void observe(void *context, const struct ty_http_observation *seen)
{
    struct probe *probe = context;

    atomic_fetch_add(&probe->observed, 1);
    if (seen->status == 499)
        atomic_fetch_add(&probe->observed_499, 1);
}

static const char *const any_text[] = {"application/json", "application/yaml", "text/plain", NULL};
static const char *const bytes[] = {"application/octet-stream", NULL};
static const char *const events[] = {"text/event-stream", NULL};

enum { PUBLIC = TY_ROUTE_PUBLIC, BODY = 64 * 1024, UPLOAD = 4 * 1024 * 1024 };

static const struct ty_route routes[] = {
    {TY_METHOD_GET,    "/echo",                       0, 0,      PUBLIC,               NULL,     NULL,     echo         },
    {TY_METHOD_POST,   "/echo",                       0, BODY,   PUBLIC,               NULL,     NULL,     echo         },
    {TY_METHOD_POST,   "/pool/echo",                  0, BODY,   PUBLIC | TY_RUN_POOL, NULL,     NULL,     echo         },
    {TY_METHOD_PUT,    "/bytes",                      0, UPLOAD, PUBLIC,               bytes,    NULL,     echo         },
    {TY_METHOD_POST,   "/text",                       0, BODY,   PUBLIC,               any_text, any_text, echo         },
    {TY_METHOD_GET,    "/text",                       0, 0,      PUBLIC,               NULL,     any_text, echo         },
    {TY_METHOD_GET,    "/pool",                       0, 0,      PUBLIC | TY_RUN_POOL, NULL,     NULL,     sleep_in_pool},
    {TY_METHOD_GET,    "/later",                      0, 0,      PUBLIC,               NULL,     NULL,     later        },
    {TY_METHOD_GET,    "/cached",                     0, 0,      PUBLIC,               NULL,     NULL,     cached       },
    {TY_METHOD_PUT,    "/cached",                     0, 0,      PUBLIC,               NULL,     NULL,     change       },
    {TY_METHOD_GET,    "/large",                      0, 0,      PUBLIC,               NULL,     NULL,     large        },
    {TY_METHOD_GET,    "/large/plain",                0, 0,      PUBLIC,               NULL,     NULL,     plain_large  },
    {TY_METHOD_GET,    "/file",                       0, 0,      PUBLIC,               NULL,     bytes,    serve_file   },
    {TY_METHOD_GET,    "/stream",                     0, 0,      PUBLIC,               NULL,     events,   stream       },
    {TY_METHOD_GET,    "/feed",                       0, 0,      PUBLIC,               NULL,     events,   subscribe    },
    {TY_METHOD_POST,   "/feed/push",                  0, 0,      PUBLIC,               NULL,     NULL,     push         },
    {TY_METHOD_GET,    "/stream/broken",              0, 0,      PUBLIC,               NULL,     any_text, broken_stream},
    {TY_METHOD_GET,    "/stats",                      0, 0,      PUBLIC,               NULL,     NULL,     stats        },
    {TY_METHOD_GET,    "/split",                      0, 0,      PUBLIC,               NULL,     NULL,     split        },
    {TY_METHOD_GET,    "/no-memory",                  0, 0,      PUBLIC,               NULL,     NULL,     no_memory    },
    {TY_METHOD_GET,    "/wordy",                      0, 0,      PUBLIC,               NULL,     NULL,     wordy        },
    {TY_METHOD_GET,    "/faulty",                     0, 0,      PUBLIC,               NULL,     NULL,     faulty       },
    {TY_METHOD_GET,    "/private",                    0, 0,      0,                    NULL,     NULL,     cached       },
    {TY_METHOD_POST,   "/private",                    1, BODY,   0,                    NULL,     NULL,     echo         },
    {TY_METHOD_GET,    "/items/{id}",                 0, 0,      PUBLIC,               NULL,     NULL,     echo         },
    {TY_METHOD_DELETE, "/items/{id}",                 0, 0,      PUBLIC,               NULL,     NULL,     echo         },
    {TY_METHOD_PATCH,  "/items/{id}",                 0, BODY,   PUBLIC,               NULL,     NULL,     echo         },
    {TY_METHOD_POST,   "/items",                      0, BODY,   PUBLIC,               NULL,     NULL,     created      },
    {TY_METHOD_POST,   "/items:batch",                0, BODY,   PUBLIC,               NULL,     NULL,     echo         },
    {TY_METHOD_GET,    "/items/{id}/files/{path...}", 0, 0,      PUBLIC,               NULL,     NULL,     echo         },
};

/* ---- start ---- */

static struct ty_body *make_body(size_t len)
{
    ty_auto_free char *text = malloc(len + 1);
    char etag[TY_ETAG_TEXT];

    if (!text)
        return NULL;
    snprintf(text, len + 1, "{\"state\":\"running\",\"pad\":\"%0*d\"}", (int)len - 28, 0);
    if (ty_etag_of(text, len, etag))
        return NULL;
    return ty_body_create(json, etag, text, len);
}

static const char *option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (ty_str_equal(argv[i], name))
            return argv[i + 1];
    return NULL;
}

static unsigned option_number(int argc, char **argv, const char *name)
{
    const char *text = option(argc, argv, name);
    int64_t value = 0;

    if (text && ty_str_to_int(text, 0, INT32_MAX, &value)) {
        fprintf(stderr, "%s wants a number\n", name);
        exit(2);
    }
    return (unsigned)value;
}

static void read_limits(int argc, char **argv, struct ty_http_limits *limits)
{
    limits->header_ms = option_number(argc, argv, "--header-ms");
    limits->body_ms = option_number(argc, argv, "--body-ms");
    limits->body_rate = option_number(argc, argv, "--body-rate");
    limits->idle_ms = option_number(argc, argv, "--idle-ms");
    limits->requests = option_number(argc, argv, "--requests");
    limits->connections = option_number(argc, argv, "--connections");
    limits->connections_per_address = option_number(argc, argv, "--per-address");
    limits->inflated_bytes = option_number(argc, argv, "--inflated");
    limits->body_memory = option_number(argc, argv, "--body-memory");
}

static void fail(const struct ty_error *err)
{
    fprintf(stderr, "http_probe: %s\n", err->text);
    exit(1);
}

static void serve(struct probe *probe, int argc, char **argv, const sigset_t *signals)
{
    static const char *const default_listen[] = {"127.0.0.1:0", NULL};
    const char *origins[] = {option(argc, argv, "--origin"), NULL};
    struct ty_log log = {ty_clock_system(), 2, TY_LOG_WARNING, "text"};
    struct ty_http_options options = {
        .listen = default_listen,
        .threads = option_number(argc, argv, "--threads"),
        .cors_origins = origins[0] ? origins : NULL,
        .routes = routes,
        .route_count = sizeof routes / sizeof *routes,
        .handler_context = probe,
        .pool = probe->pool,
        .log = &log,
        .hooks = {probe, authenticate, scope_text, check, observe, NULL},
        .heartbeat_ms = option_number(argc, argv, "--heartbeat-ms"),
    };
    struct ty_error err;
    bool drained;
    int signal;

    read_limits(argc, argv, &options.limits);
    if (ty_http_server_create(&options, &probe->server, &err) ||
        ty_http_server_start(probe->server, &err))
        fail(&err);
    printf("%u\n", ty_http_server_port(probe->server, 0));
    fflush(stdout);
    sigwait(signals, &signal);
    drained = ty_http_server_drain(probe->server, option_number(argc, argv, "--drain"));
    ty_http_server_stop(probe->server);
    ty_http_server_destroy(probe->server);
    forget_feed();
    printf("drained %s\n", drained ? "yes" : "no");
}

int main(int argc, char **argv)
{
    struct probe probe = {.file = option(argc, argv, "--file")};
    struct ty_error err;
    struct ty_buf contents;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    ty_buf_init(&contents, 64 * 1024 * 1024);
    if (!probe.file || ty_file_read(AT_FDCWD, probe.file, &contents, &err) ||
        ty_etag_of(contents.data, contents.len, probe.file_etag)) {
        fprintf(stderr, "http_probe: --file PATH is needed\n");
        return 2;
    }
    ty_buf_done(&contents);
    probe.cached = make_body(700);
    probe.large = make_body(8000);
    if (!probe.cached || !probe.large || ty_pool_create("probe-pool", 4, 256, &probe.pool, &err) ||
        ty_pool_create("probe-later", 2, 1024, &probe.answerers, &err))
        fail(&err);
    serve(&probe, argc, argv, &signals);
    ty_pool_destroy(probe.pool);
    ty_pool_destroy(probe.answerers);
    ty_body_unref(probe.cached);
    ty_body_unref(probe.large);
    sleep_ms(50); /* the stream makers see their streams' end */
    return 0;
}
