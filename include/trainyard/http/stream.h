/* A body that is made while it is sent: event streams, followed logs, long exports.
 *
 * The producer keeps one reference and calls ty_stream_wake whenever `read` would have something
 * new to say. The server asks `read` on an HTTP thread whenever the client can take more; between
 * "nothing yet" and the next wake the connection sleeps and costs nothing. Wakes are gathered: a
 * lone one acts at once, a storm is coalesced to one pass every few milliseconds over all streams
 * that were woken, so waking 1,000 streams in a loop is cheap.
 *
 * A client that hangs up while its stream sleeps is noticed within a second or two, and one that
 * vanished without a word by writing: a stream that stays silent gets `heartbeat` written for it
 * every 15 seconds, which also keeps proxies from closing it. A client that only closes its sending
 * side is taken to have left. Bounding what waits for a slow reader (1 MiB, then `event: overflow`
 * and the end) is the producer's. */
#ifndef TRAINYARD_HTTP_STREAM_H
#define TRAINYARD_HTTP_STREAM_H

#include "trainyard/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct ty_stream;

enum {
    TY_STREAM_NOTHING = 0, /* nothing now; ty_stream_wake will come */
    TY_STREAM_END = -1,    /* a clean end */
    TY_STREAM_ERROR = -2   /* the connection is broken off: nobody takes the body for complete */
};

struct ty_stream_ops {
    /* Put at most `max` bytes into `out`: their number, or one of the above. `max` is at least 1
     * and may be smaller than one event: a producer keeps its place in between. On an HTTP thread:
     * memory only (pread of a page-cached log file is allowed; waiting is not). Never called twice
     * at a time. */
    ssize_t (*read)(void *context, char *out, size_t max);

    /* The server is draining: say goodbye (`event: reconnect`) with the next reads and then end.
     * May be NULL: then the stream is ended where `read` next has nothing. Any thread,
     * never after `release`; must not wait and must not call ty_stream_wake (the server wakes it
     * itself). */
    void (*drain)(void *context);

    /* No read will follow: completed, client gone or server stopped. Called once, on an HTTP thread
     * or where the last reference was dropped. */
    void (*release)(void *context);

    /* Written after 15 silent seconds, between two reads where the last one ended at a record's end
     * (`read` returned TY_STREAM_NOTHING): ": hb\n\n" for SSE, "\n" for NDJSON; NULL for none (text
     * logs). */
    const char *heartbeat;
};

/* One reference for the caller. `ops` is static. TY_NO_MEMORY: `context` is not released. */
ty_status ty_stream_create(const struct ty_stream_ops *ops, void *context,
                           struct ty_stream **stream_out) TY_MUST_CHECK;
struct ty_stream *ty_stream_ref(struct ty_stream *stream);
void ty_stream_unref(struct ty_stream *stream); /* takes NULL */

/* There is something to read, or to end. Any thread, any number of times, also before the answer
 * was given and after the client left. Never waits and never calls back into the producer. */
void ty_stream_wake(struct ty_stream *stream);

/* Whether the client is gone or the body ended, and `release` has returned: the producer can drop
 * its reference and all it kept for the stream. */
bool ty_stream_finished(const struct ty_stream *stream);

#endif
