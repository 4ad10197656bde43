/* The server's life: bind, start, drain, stop. */
#include "trainyard/http/server.h"

#include "dispatch.h"
#include "listen.h"
#include "request_state.h"
#include "server_state.h"
#include "stream_state.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    /* The library's memory per connection: half to read into, the other half for the answer's head.
       Client heads never get there (reader.h). */
    POOL_BYTES = 16 * 1024,
    CONNECTION_MARGIN = 256, /* connections over our limit that can be told so at a time */
    OTHER_FILES = 256,       /* descriptors that are no connections */
    STOP_STEP_MS = 10,
    STOP_COMPLAIN = 500 /* steps */
};

static const struct ty_http_limits default_limits = {
    .header_bytes = 32 * 1024,
    .header_fields = 100,
    .target_bytes = 8 * 1024,
    .header_ms = 10 * 1000,
    .body_ms = 30 * 1000,
    .body_rate = 1024,
    .idle_ms = 75 * 1000,
    .requests = 1000,
    .connections = 4096,
    .connections_per_address = 1024,
    .inflated_bytes = 16 * 1024 * 1024,
    .body_memory = 256 * 1024 * 1024,
};

/* ---- create ---- */

static void fill_limits(struct ty_http_limits *limits)
{
    const struct ty_http_limits *defaults = &default_limits;

#define FILL(name)                                                                                 \
    if (!limits->name)                                                                             \
    limits->name = defaults->name
    FILL(header_bytes);
    FILL(header_fields);
    FILL(target_bytes);
    FILL(header_ms);
    FILL(body_ms);
    FILL(body_rate);
    FILL(idle_ms);
    FILL(requests);
    FILL(connections);
    FILL(connections_per_address);
    FILL(inflated_bytes);
    FILL(body_memory);
#undef FILL
}

/* Have descriptors for all connections; what the system does not give lowers the limit. */
static void fit_descriptors(struct ty_http_server *server)
{
    rlim_t wanted = server->limits.connections + CONNECTION_MARGIN + OTHER_FILES;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= wanted)
        return;
    getrlimit(RLIMIT_NOFILE, &limit);
    server->limits.connections = limit.rlim_cur > 2 * OTHER_FILES + CONNECTION_MARGIN
                                     ? (unsigned)limit.rlim_cur - CONNECTION_MARGIN - OTHER_FILES
                                     : OTHER_FILES;
    ty_log(server->options.log, TY_LOG_WARNING, "http_connections_lowered",
           "only %llu open files are allowed: at most %u connections",
           (unsigned long long)limit.rlim_cur, server->limits.connections);
}

static void init_sync(struct ty_http_server *server)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->closed, &attributes);
    pthread_mutex_init(&server->tender.lock, NULL);
    pthread_cond_init(&server->tender.changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static ty_status bind_all(struct ty_http_server *server, struct ty_error *err)
{
    const char *const *listen = server->options.listen;
    ty_status status = TY_OK;

    for (; *listen && !status; listen++) {
        struct ty_listener *listener = &server->listeners[server->listener_count];

        if (server->listener_count == TY_LISTENERS)
            return ty_fail(err, TY_INVALID, "more than %d listen addresses", TY_LISTENERS);
        status = ty_listen(*listen, &listener->fd, &listener->port, err);
        if (!status)
            server->listener_count++;
    }
    return status;
}

static struct ty_http_server *allocate(const struct ty_http_options *options)
{
    struct ty_http_server *server = calloc(1, sizeof *server);

    if (!server)
        return NULL;
    server->options = *options;
    server->limits = options->limits;
    fill_limits(&server->limits);
    server->clock = options->clock ? options->clock : ty_clock_system();
    server->random = options->random ? options->random : ty_random_system();
    server->heartbeat_ms = options->heartbeat_ms ? options->heartbeat_ms : 15 * 1000;
    init_sync(server);
    ty_linger_init(&server->linger);
    fit_descriptors(server);
    server->reader_limits = (struct ty_reader_limits){
        .head_bytes = server->limits.header_bytes,
        .target_bytes = server->limits.target_bytes,
        .fields = server->limits.header_fields,
        .requests = server->limits.requests,
    };
    return server;
}

ty_status ty_http_server_create(const struct ty_http_options *options,
                                struct ty_http_server **server_out, struct ty_error *err)
{
    struct ty_http_server *server = allocate(options);
    ty_status status;

    if (!server)
        return ty_fail(err, TY_NO_MEMORY, "HTTP server");
    status = ty_router_create(options->routes, options->route_count, &server->router, err);
    if (!status && ty_map_create(free, &server->addresses))
        status = ty_fail(err, TY_NO_MEMORY, "HTTP server");
    if (!status)
        status = bind_all(server, err);
    if (status) {
        ty_http_server_destroy(server);
        return status;
    }
    *server_out = server;
    return TY_OK;
}

unsigned ty_http_server_port(const struct ty_http_server *server, size_t index)
{
    return index < server->listener_count ? server->listeners[index].port : 0;
}

/* ---- start ---- */

static void log_library(void *context, const char *format, va_list arguments) TY_PRINTF(2, 0);
static void log_library(void *context, const char *format, va_list arguments)
{
    const struct ty_http_server *server = context;
    char text[256];

    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    ty_log(server->options.log, TY_LOG_DEBUG, "http_library", "%s", text);
}

static unsigned thread_count(const struct ty_http_server *server)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned wanted = server->options.threads;

    if (!wanted)
        wanted = cores > 0 ? (unsigned)cores : 2;
    return wanted < 2 ? 2 : wanted; /* with one the library has no pool at all */
}

/* The library divides its connection limit among its threads, which take connections as they come:
 * each gets the whole limit, and ours is the one that counts (connection.c). */
static struct MHD_Daemon *start_library(struct ty_http_server *server, int listen_fd)
{
    unsigned threads = thread_count(server);
    unsigned limit = (server->limits.connections + CONNECTION_MARGIN) * threads;
    unsigned idle_seconds = (server->limits.idle_ms + 999) / 1000;

    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        ty_dispatch, server,
        /* the logger comes first, so that it hears what the other options say */
        MHD_OPTION_EXTERNAL_LOGGER, log_library, server, MHD_OPTION_LISTEN_SOCKET, listen_fd,
        MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_CONNECTION_LIMIT, limit,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)POOL_BYTES, MHD_OPTION_NOTIFY_COMPLETED, ty_dispatch_completed, server,
        MHD_OPTION_NOTIFY_CONNECTION, ty_dispatch_connection, server, MHD_OPTION_END);
}

ty_status ty_http_server_start(struct ty_http_server *server, struct ty_error *err)
{
    ty_status status = ty_tender_start(server, err);

    if (status)
        return status;
    server->started = true;
    for (size_t i = 0; i < server->listener_count; i++) {
        struct ty_listener *listener = &server->listeners[i];

        listener->daemon = start_library(server, listener->fd);
        if (!listener->daemon) {
            ty_http_server_stop(server);
            return ty_fail(err, TY_UNAVAILABLE, "the HTTP threads could not be started");
        }
    }
    return TY_OK;
}

/* ---- drain and stop ---- */

/* The library lets go of the listening socket, but its threads may be about to accept from it: it
 * is shut now and closed when they are gone. */
static void stop_accepting(struct ty_http_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        struct ty_listener *listener = &server->listeners[i];

        if (!listener->daemon || listener->quiet)
            continue;
        MHD_quiesce_daemon(listener->daemon);
        shutdown(listener->fd, SHUT_RDWR);
        listener->quiet = true;
    }
}

/* Call `tell` on every bound stream and wake it. */
static void tell_streams(struct ty_http_server *server, void (*tell)(struct ty_stream *stream))
{
    struct ty_tender *tender = &server->tender;
    struct ty_stream **streams;
    size_t count = 0;

    pthread_mutex_lock(&tender->lock);
    streams = malloc((tender->stream_count + 1) * sizeof *streams);
    for (struct ty_stream *at = tender->streams; at && streams; at = at->next)
        streams[count++] = ty_stream_ref(at);
    pthread_mutex_unlock(&tender->lock);
    for (size_t i = 0; i < count; i++) {
        if (tell)
            tell(streams[i]);
        ty_stream_resume(streams[i]);
        ty_stream_unref(streams[i]);
    }
    free(streams);
}

/* Wait until no connection is left, at most `seconds`. */
static bool await_connections(struct ty_http_server *server, unsigned seconds)
{
    struct timespec until;
    bool none;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&server->lock);
    while (server->connection_count > 0)
        if (pthread_cond_timedwait(&server->closed, &server->lock, &until) == ETIMEDOUT)
            break;
    none = server->connection_count == 0;
    pthread_mutex_unlock(&server->lock);
    return none;
}

bool ty_http_server_drain(struct ty_http_server *server, unsigned seconds)
{
    const struct ty_http_hooks *hooks = &server->options.hooks;

    if (!server->started || server->stopped)
        return true;
    atomic_store(&server->drain_began_ms, ty_server_now_ms(server));
    atomic_store(&server->draining, true);
    stop_accepting(server);
    if (hooks->drain)
        hooks->drain(hooks->context);
    tell_streams(server, ty_stream_drain);
    return await_connections(server, seconds);
}

/* Stopping the library while a connection is suspended is forbidden: wait for handlers to answer
 * and streams to break off. None begins any more: `aborting` is set, and who counts himself in
 * `handling` looks at it afterwards. */
static void await_suspended(struct ty_http_server *server)
{
    static const struct timespec step = {.tv_nsec = STOP_STEP_MS * 1000000L};

    for (unsigned steps = 1; atomic_load(&server->handling) > 0; steps++) {
        if (steps % STOP_COMPLAIN == 0)
            ty_log(server->options.log, TY_LOG_WARNING, "http_stop_waits",
                   "%u requests are not answered yet", atomic_load(&server->handling));
        nanosleep(&step, NULL);
    }
    tell_streams(server, NULL);
}

void ty_http_server_stop(struct ty_http_server *server)
{
    if (!server->started || server->stopped)
        return;
    server->stopped = true;
    atomic_store(&server->draining, true);
    atomic_store(&server->aborting, true);
    stop_accepting(server);
    await_suspended(server);
    for (size_t i = 0; i < server->listener_count; i++)
        if (server->listeners[i].daemon)
            MHD_stop_daemon(server->listeners[i].daemon);
    ty_tender_stop(server);
}

void ty_http_server_destroy(struct ty_http_server *server)
{
    if (!server)
        return;
    ty_http_server_stop(server);
    for (size_t i = 0; i < server->listener_count; i++)
        close(server->listeners[i].fd);
    ty_linger_done(&server->linger);
    ty_router_destroy(server->router);
    ty_map_destroy(server->addresses);
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->closed);
    pthread_mutex_destroy(&server->tender.lock);
    pthread_cond_destroy(&server->tender.changed);
    free(server);
}

void ty_http_server_stats(struct ty_http_server *server, struct ty_http_stats *stats_out)
{
    *stats_out = (struct ty_http_stats){
        .accepted = atomic_load(&server->accepted),
        .refused = atomic_load(&server->refused),
        .bad_heads = atomic_load(&server->bad_heads),
        .requests = atomic_load(&server->requests),
        .in_flight = atomic_load(&server->in_flight),
        .stuck_ms = atomic_load(&server->stuck_ms),
        .body_memory = atomic_load(&server->body_memory),
    };
    pthread_mutex_lock(&server->lock);
    stats_out->connections = server->connection_count;
    pthread_mutex_unlock(&server->lock);
    pthread_mutex_lock(&server->tender.lock);
    stats_out->streams = server->tender.stream_count;
    pthread_mutex_unlock(&server->tender.lock);
}
