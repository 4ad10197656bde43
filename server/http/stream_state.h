/* A stream's insides, for the reply that sends it and the tender that wakes it. */
#ifndef TRAINYARD_HTTP_STREAM_STATE_H
#define TRAINYARD_HTTP_STREAM_STATE_H

#include "trainyard/http/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct ty_connection;
struct ty_http_server;
struct MHD_Connection;

struct ty_stream {
    atomic_uint refs;
    const struct ty_stream_ops *ops;
    void *context;
    atomic_bool ready;    /* woken since `read` was last asked */
    atomic_bool released; /* the producer was told, or is being told */
    atomic_bool finished;
    atomic_bool beat; /* a heartbeat is due */
    atomic_bool gone; /* the client has hung up */
    atomic_bool draining;
    _Atomic int64_t sent_ms; /* when something was last written */

    pthread_mutex_t lock;          /* guards the next four */
    struct ty_http_server *server; /* NULL before it is bound and after it finished */
    struct MHD_Connection *library;
    int fd;
    bool suspended;

    size_t beat_left; /* bytes of the heartbeat still to write; the HTTP thread's */

    struct ty_stream *prev; /* the tender's lists, under its lock */
    struct ty_stream *next;
    struct ty_stream *next_woken;
    bool woken;
};

/* The reply was made: from now on wakes reach the connection. */
void ty_stream_bind(struct ty_stream *stream, struct ty_http_server *server,
                    struct ty_connection *connection);

/* Tell the producer that the server drains; once, however often it is called. The caller wakes the
 * stream. */
void ty_stream_drain(struct ty_stream *stream);

/* The library's content reader and its end. */
ssize_t ty_stream_reader(void *stream, uint64_t position, char *out, size_t max);
void ty_stream_finish(void *stream);

/* Resume the connection if it sleeps. Any thread; the tender's lock must not be held. */
void ty_stream_resume(struct ty_stream *stream);

#endif
