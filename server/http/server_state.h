/* The server's insides, shared by this room's files. */
#ifndef TRAINYARD_HTTP_SERVER_STATE_H
#define TRAINYARD_HTTP_SERVER_STATE_H

#include "connection.h"
#include "linger.h"
#include "trainyard/base/map.h"
#include "trainyard/http/server.h"

#include <pthread.h>
#include <stdatomic.h>

struct MHD_Daemon;

enum { TY_LISTENERS = 8 };

struct ty_listener {
    int fd;
    unsigned port;
    struct MHD_Daemon *daemon;
    bool quiet; /* no longer accepts */
};

/* The thread that keeps time: deadlines, heartbeats, and the gathering of wakes (tend.c). */
struct ty_tender {
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    bool stopping;
    struct ty_stream *woken;   /* linked by next_woken */
    struct ty_stream *streams; /* all bound ones, linked by prev and next */
    unsigned stream_count;
};

struct ty_http_server {
    struct ty_http_options options;
    struct ty_http_limits limits; /* every default filled in */
    struct ty_reader_limits reader_limits;
    const struct ty_clock *clock;
    const struct ty_random *random;
    struct ty_router *router;
    struct ty_listener listeners[TY_LISTENERS];
    size_t listener_count;
    bool started;
    bool stopped;
    unsigned heartbeat_ms;

    pthread_mutex_t lock;  /* guards the list and the counts by address */
    pthread_cond_t closed; /* signalled when a connection leaves */
    struct ty_connection *connections;
    unsigned connection_count;
    struct ty_map *addresses;

    struct ty_tender tender;
    struct ty_linger linger;

    atomic_bool draining;
    atomic_bool aborting; /* stop: streams break off */
    _Atomic int64_t drain_began_ms;
    atomic_uint in_flight; /* requests begun and not completed */
    atomic_uint handling;  /* handlers started whose ty_request_answer has not returned */
    atomic_size_t body_memory;
    atomic_ulong accepted;
    atomic_ulong refused;
    atomic_ulong bad_heads;
    atomic_ulong requests;
    atomic_uint stuck_ms;
};

static inline int64_t ty_server_now_ms(const struct ty_http_server *server)
{
    return ty_monotonic_ms(server->clock);
}

/* tend.c */
ty_status ty_tender_start(struct ty_http_server *server, struct ty_error *err) TY_MUST_CHECK;
void ty_tender_stop(struct ty_http_server *server);

#endif
