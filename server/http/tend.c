/* The tender: one thread that keeps time for all connections and gathers the wakes of streams.
 *
 * The library walks all suspended connections of a thread for each wake-up it is given, so wakes
 * are passed on together: the first of a quiet time at once, what follows within PASS_MS of it in
 * the next pass. */
#include "server_state.h"
#include "stream_state.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

enum { TICK_MS = 100, PASS_MS = 3, POLL_MS = 1000, POLL_MAX = 512 };

static void add_ms(struct timespec *time, long ms)
{
    time->tv_sec += ms / 1000;
    time->tv_nsec += ms % 1000 * 1000000L;
    if (time->tv_nsec >= 1000000000L) {
        time->tv_sec++;
        time->tv_nsec -= 1000000000L;
    }
}

/* ---- wakes ---- */

/* Resume all streams of a woken list, given up by the tender's lock. */
static void resume_all(struct ty_tender *tender, struct ty_stream *woken)
{
    while (woken) {
        struct ty_stream *stream = woken;

        pthread_mutex_lock(&tender->lock);
        woken = stream->next_woken;
        stream->woken = false; /* a wake from here on enters the next list */
        pthread_mutex_unlock(&tender->lock);
        ty_stream_resume(stream);
        ty_stream_unref(stream);
    }
}

/* ---- heartbeats and hung-up clients ---- */

/* References to up to `max` bound streams, starting behind the `skip` first. */
static size_t collect_streams(struct ty_tender *tender, struct ty_stream **out, size_t max,
                              size_t skip)
{
    size_t count = 0;

    pthread_mutex_lock(&tender->lock);
    for (struct ty_stream *stream = tender->streams; stream && count < max; stream = stream->next) {
        if (skip)
            skip--;
        else
            out[count++] = ty_stream_ref(stream);
    }
    pthread_mutex_unlock(&tender->lock);
    return count;
}

/* The descriptor of a sleeping stream's connection, -1 while it is awake. It stays open as long as
 * the stream sleeps, and only we end its sleep... or a wake does: then a poll of a closed
 * descriptor is harmless, and the verdict is taken under the lock. */
static int sleeping_fd(struct ty_stream *stream)
{
    int fd;

    pthread_mutex_lock(&stream->lock);
    fd = stream->suspended ? stream->fd : -1;
    pthread_mutex_unlock(&stream->lock);
    return fd;
}

/* Mark a stream whose client hung up, if it still sleeps on that descriptor, and resume it. */
static void end_stream(struct ty_stream *stream, int fd)
{
    struct pollfd check = {.fd = fd, .events = POLLRDHUP};

    pthread_mutex_lock(&stream->lock);
    if (stream->suspended && stream->fd == fd && poll(&check, 1, 0) == 1)
        atomic_store(&stream->gone, true);
    pthread_mutex_unlock(&stream->lock);
    if (atomic_load(&stream->gone))
        ty_stream_resume(stream);
}

static void tend_streams(struct ty_http_server *server, struct ty_stream **streams, size_t count,
                         int64_t now_ms)
{
    struct pollfd polls[POLL_MAX];

    for (size_t i = 0; i < count; i++)
        polls[i] = (struct pollfd){.fd = sleeping_fd(streams[i]), .events = POLLRDHUP};
    (void)poll(polls, count, 0);
    for (size_t i = 0; i < count; i++) {
        int64_t silent_ms = now_ms - atomic_load(&streams[i]->sent_ms);

        if (polls[i].fd >= 0 && polls[i].revents) {
            end_stream(streams[i], polls[i].fd);
        } else if (polls[i].fd >= 0 && streams[i]->ops->heartbeat &&
                   silent_ms >= (int64_t)server->heartbeat_ms) {
            atomic_store(&streams[i]->beat, true);
            ty_stream_resume(streams[i]);
        }
    }
}

static void tend_all_streams(struct ty_http_server *server, int64_t now_ms)
{
    struct ty_stream *streams[POLL_MAX];
    size_t done = 0;
    size_t count;

    do { /* streams come and go meanwhile: one that is missed now is seen in a second */
        count = collect_streams(&server->tender, streams, POLL_MAX, done);
        tend_streams(server, streams, count, now_ms);
        for (size_t i = 0; i < count; i++)
            ty_stream_unref(streams[i]);
        done += count;
    } while (count == POLL_MAX);
}

/* ---- connections ---- */

/* How long the connection's HTTP thread has been inside the handler it was in at the last look: no
 * clock is read for each request, at the price of a tick's precision. */
static int64_t inside_ms(struct ty_connection *connection, int64_t now_ms)
{
    unsigned entered = atomic_load_explicit(&connection->entered, memory_order_relaxed);

    if (entered == 0 || entered != connection->seen_entered) {
        connection->seen_entered = entered;
        connection->seen_ms = now_ms;
    }
    return now_ms - connection->seen_ms;
}

static void tend_connections(struct ty_http_server *server, int64_t now_ms)
{
    int64_t stuck_ms = 0;

    pthread_mutex_lock(&server->lock);
    for (struct ty_connection *at = server->connections; at; at = at->next) {
        int64_t inside = inside_ms(at, now_ms);

        if (inside > stuck_ms)
            stuck_ms = inside;
        ty_connection_tend(at, now_ms);
    }
    pthread_mutex_unlock(&server->lock);
    atomic_store(&server->stuck_ms, (unsigned)stuck_ms);
}

/* ---- the thread ---- */

/* Wait for a wake, the end or `ms`. Takes the woken list. */
static struct ty_stream *await(struct ty_tender *tender, long ms, bool *stopping_out)
{
    struct ty_stream *woken;
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    add_ms(&until, ms);
    pthread_mutex_lock(&tender->lock);
    while (!tender->woken && !tender->stopping)
        if (pthread_cond_timedwait(&tender->changed, &tender->lock, &until) == ETIMEDOUT)
            break;
    woken = tender->woken;
    tender->woken = NULL;
    *stopping_out = tender->stopping;
    pthread_mutex_unlock(&tender->lock);
    return woken;
}

static void *run(void *context)
{
    static const struct timespec pass = {.tv_nsec = PASS_MS * 1000000L};
    struct ty_http_server *server = context;
    int64_t ticked_ms = 0;
    int64_t polled_ms = 0;
    bool stopping = false;

    while (!stopping) {
        struct ty_stream *woken = await(&server->tender, TICK_MS, &stopping);
        int64_t now_ms = ty_server_now_ms(server);
        bool gathered = woken != NULL;

        resume_all(&server->tender, woken);
        if (now_ms - ticked_ms >= TICK_MS) {
            tend_connections(server, now_ms);
            ty_linger_tend(&server->linger, now_ms);
            ticked_ms = now_ms;
        }
        if (now_ms - polled_ms >= POLL_MS || server->heartbeat_ms < POLL_MS) {
            tend_all_streams(server, now_ms);
            polled_ms = now_ms;
        }
        if (gathered)
            nanosleep(&pass, NULL);
    }
    return NULL;
}

ty_status ty_tender_start(struct ty_http_server *server, struct ty_error *err)
{
    ty_status status = ty_thread_start(&server->tender.thread, "http-tend", run, server, err);

    server->tender.started = !status;
    return status;
}

void ty_tender_stop(struct ty_http_server *server)
{
    struct ty_tender *tender = &server->tender;

    if (!tender->started)
        return;
    pthread_mutex_lock(&tender->lock);
    tender->stopping = true;
    pthread_cond_signal(&tender->changed);
    pthread_mutex_unlock(&tender->lock);
    pthread_join(tender->thread, NULL);
    tender->started = false;
    resume_all(tender, tender->woken);
    tender->woken = NULL;
}
