/* Streams between a producer and the library.
 *
 * The HTTP thread reads until there is nothing; then, under the stream's lock, it looks once more
 * whether a wake came and else suspends the connection. A wake sets `ready` first and then hands
 * the stream to the tender, which resumes whatever is suspended: so no wake is lost whichever side
 * is first, and a resume costs the producer nothing. */
#include "trainyard/http/stream.h"

#include "connection.h"
#include "server_state.h"
#include "stream_state.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

ty_status ty_stream_create(const struct ty_stream_ops *ops, void *context,
                           struct ty_stream **stream_out)
{
    struct ty_stream *stream = calloc(1, sizeof *stream);

    if (!stream)
        return TY_NO_MEMORY;
    atomic_init(&stream->refs, 1);
    pthread_mutex_init(&stream->lock, NULL);
    stream->ops = ops;
    stream->context = context;
    *stream_out = stream;
    return TY_OK;
}

struct ty_stream *ty_stream_ref(struct ty_stream *stream)
{
    atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
    return stream;
}

/* No read will follow. Once; only then is the stream finished, so that who sees that may free. The
 * lock waits for a drain that is in the producer on another thread. */
static void release_context(struct ty_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool before = atomic_exchange(&stream->released, true);
    pthread_mutex_unlock(&stream->lock);
    if (before)
        return;
    if (stream->ops->release)
        stream->ops->release(stream->context);
    atomic_store(&stream->finished, true);
}

void ty_stream_unref(struct ty_stream *stream)
{
    if (!stream || atomic_fetch_sub_explicit(&stream->refs, 1, memory_order_acq_rel) != 1)
        return;
    release_context(stream);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

bool ty_stream_finished(const struct ty_stream *stream)
{
    return atomic_load(&stream->finished);
}

/* ---- binding ---- */

void ty_stream_bind(struct ty_stream *stream, struct ty_http_server *server,
                    struct ty_connection *connection)
{
    struct ty_tender *tender = &server->tender;

    atomic_store(&stream->sent_ms, ty_server_now_ms(server));
    pthread_mutex_lock(&tender->lock);
    stream->next = tender->streams;
    if (stream->next)
        stream->next->prev = stream;
    tender->streams = stream;
    tender->stream_count++;
    pthread_mutex_unlock(&tender->lock);

    pthread_mutex_lock(&stream->lock);
    stream->server = server;
    stream->library = connection->library;
    stream->fd = connection->fd;
    pthread_mutex_unlock(&stream->lock);
    if (atomic_load(&server->draining))
        ty_stream_drain(stream);
}

void ty_stream_drain(struct ty_stream *stream)
{
    if (atomic_exchange(&stream->draining, true) || !stream->ops->drain)
        return;
    pthread_mutex_lock(&stream->lock);
    if (!atomic_load(&stream->released))
        stream->ops->drain(stream->context);
    pthread_mutex_unlock(&stream->lock);
}

void ty_stream_finish(void *context)
{
    struct ty_stream *stream = context;
    struct ty_http_server *server;

    pthread_mutex_lock(&stream->lock);
    server = stream->server;
    stream->server = NULL;
    stream->library = NULL;
    stream->suspended = false;
    pthread_mutex_unlock(&stream->lock);
    if (server) {
        struct ty_tender *tender = &server->tender;

        pthread_mutex_lock(&tender->lock);
        if (stream->prev)
            stream->prev->next = stream->next;
        else
            tender->streams = stream->next;
        if (stream->next)
            stream->next->prev = stream->prev;
        tender->stream_count--;
        pthread_mutex_unlock(&tender->lock);
    }
    release_context(stream);
    ty_stream_unref(stream);
}

/* ---- waking ---- */

void ty_stream_resume(struct ty_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->suspended) {
        stream->suspended = false;
        MHD_resume_connection(stream->library);
    }
    pthread_mutex_unlock(&stream->lock);
}

void ty_stream_wake(struct ty_stream *stream)
{
    struct ty_http_server *server;

    if (atomic_exchange(&stream->ready, true))
        return; /* nobody has read since the last wake: it is on its way */
    pthread_mutex_lock(&stream->lock);
    server = stream->suspended ? stream->server : NULL;
    if (server) {
        struct ty_tender *tender = &server->tender;

        pthread_mutex_lock(&tender->lock);
        if (!stream->woken) {
            stream->woken = true;
            stream->next_woken = tender->woken;
            if (!tender->woken)
                pthread_cond_signal(&tender->changed);
            tender->woken = ty_stream_ref(stream);
        }
        pthread_mutex_unlock(&tender->lock);
    }
    pthread_mutex_unlock(&stream->lock);
}

/* ---- reading (the HTTP thread) ---- */

static ssize_t write_beat(struct ty_stream *stream, char *out, size_t max)
{
    const char *beat = stream->ops->heartbeat;
    size_t len = strlen(beat);
    size_t take;

    if (stream->beat_left == 0)
        stream->beat_left = len;
    take = stream->beat_left < max ? stream->beat_left : max;
    memcpy(out, beat + len - stream->beat_left, take);
    stream->beat_left -= take;
    return (ssize_t)take;
}

/* Sleep unless a wake came in between: true when asleep. */
static bool suspend(struct ty_stream *stream)
{
    bool sleeps = false;

    pthread_mutex_lock(&stream->lock);
    if (stream->library && !atomic_load(&stream->ready) &&
        !atomic_load(&stream->server->aborting)) {
        MHD_suspend_connection(stream->library);
        stream->suspended = true;
        sleeps = true;
    }
    pthread_mutex_unlock(&stream->lock);
    return sleeps;
}

/* `read` had nothing: write a heartbeat, end, or sleep. False when a wake came in between, so that
 * it must be asked again. */
static bool settle(struct ty_stream *stream, char *out, size_t max, ssize_t *got_out)
{
    if (atomic_load(&stream->draining) && !stream->ops->drain) {
        *got_out = MHD_CONTENT_READER_END_OF_STREAM;
        return true;
    }
    if (atomic_exchange(&stream->beat, false) && stream->ops->heartbeat) {
        *got_out = write_beat(stream, out, max);
        return true;
    }
    *got_out = 0;
    return suspend(stream);
}

/* Break the connection off: shut the socket, so that the client sees no end of the body, and let
 * the library fail to write one byte more. Its own way, END_WITH_ERROR, leaves a connection that
 * was just resumed outside of epoll with its last step undone until the idle timeout (0.9.75). */
static ssize_t break_off(struct ty_stream *stream, char *out)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(stream->library, MHD_CONNECTION_INFO_CONNECTION_FD);

    if (!info || shutdown(info->connect_fd, SHUT_RDWR) != 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    *out = '\n';
    return 1;
}

/* Ask the producer. False: ask again. */
static bool ask(struct ty_stream *stream, char *out, size_t max, ssize_t *got_out)
{
    ssize_t got;

    atomic_store(&stream->ready, false);
    got = stream->ops->read(stream->context, out, max);
    if (got == 0)
        return settle(stream, out, max, got_out);
    if (got == TY_STREAM_END)
        *got_out = MHD_CONTENT_READER_END_OF_STREAM;
    else if (got < 0 || (size_t)got > max)
        *got_out = break_off(stream, out);
    else
        *got_out = got;
    return true;
}

ssize_t ty_stream_reader(void *context, uint64_t position, char *out, size_t max)
{
    struct ty_stream *stream = context;
    struct ty_http_server *server =
        stream->server; /* set before the first read, kept until the last */
    ssize_t got = 0;

    (void)position;
    if (stream->beat_left) {
        got = write_beat(stream, out, max);
    } else {
        do {
            if (atomic_load(&stream->gone) || atomic_load(&server->aborting))
                return break_off(stream, out);
        } while (!ask(stream, out, max, &got));
    }
    if (got > 0)
        atomic_store(&stream->sent_ms, ty_server_now_ms(server));
    return got;
}
