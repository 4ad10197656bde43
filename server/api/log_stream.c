/* The happy path: `read` copies what the archive has from `offset` on; at its end the connection
 * sleeps until the archive's watcher, or the end of the job, wakes it; when the log is sealed (or
 * the job ended without one) the body ends. An unfinished line is held back for a moment, because
 * programs often write a line and its end apart.
 *
 * Who holds a stream: the HTTP server (until `release`) and, while the job lives, one waiter on the
 * job. */
#include "api/log_stream.h"

#include "api/streams.h"
#include "trainyard/base/file.h"
#include "trainyard/logs/frame.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

enum { PARTIAL_AFTER_MS = 200, JOB_WAIT_MS = 60000, EVENTS_MAX = 1024 * 1024 };

struct log_stream {
    struct api_stream entry; /* first */
    struct ty_api *api;
    struct log_request wanted;
    _Atomic int refs;
    struct ty_log_reader *reader;
    struct ty_log_watch *watch;
    struct ty_buf events; /* SSE: made but not yet sent */
    size_t events_sent;
    char *chunk;                      /* SSE: TY_FRAME_CHUNK bytes */
    bool ended;                       /* the last event was made */
    _Atomic int64_t partial_since_ms; /* an unfinished line is held back since then; 0 = none */
    _Atomic bool terminal;
    _Atomic bool draining;
    pthread_mutex_t lock; /* guards what follows */
    bool released;
    int64_t revision;
};

/* An unfinished line was held for long enough. */
static bool holds_for_long(const struct api_stream *entry, int64_t now_ms)
{
    const struct log_stream *stream = (const struct log_stream *)entry;
    int64_t since = atomic_load(&stream->partial_since_ms);
    return since != 0 && now_ms - since >= PARTIAL_AFTER_MS;
}

static struct log_stream *ref(struct log_stream *stream)
{
    atomic_fetch_add(&stream->refs, 1);
    return stream;
}

/* What only `read` uses. */
static void close_source(struct log_stream *stream)
{
    ty_log_reader_close(stream->reader);
    stream->reader = NULL;
    ty_buf_done(&stream->events);
    free(stream->chunk);
    stream->chunk = NULL;
}

static void unref(struct log_stream *stream)
{
    if (atomic_fetch_sub(&stream->refs, 1) > 1)
        return;
    close_source(stream);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* --- the job's end --- */

static void job_changed(void *context);

/* Wait for the job's next change; the waiter holds one reference. */
static void await_job(struct log_stream *stream)
{
    struct ty_error err;
    pthread_mutex_lock(&stream->lock);
    bool wanted = !stream->released && !atomic_load(&stream->api->draining);
    int64_t revision = stream->revision;
    pthread_mutex_unlock(&stream->lock);
    if (!wanted)
        return;
    struct ty_hub_wait *wait = NULL;
    (void)ref(stream);
    /* Bounded, so that a stream whose client left does not wait for the end of a long job. */
    int64_t deadline = ty_monotonic_ms(stream->api->options.clock) + JOB_WAIT_MS;
    if (ty_hub_wait(stream->api->options.hub, stream->wanted.job_id, revision, deadline,
                    job_changed, stream, &wait, &err) != TY_OK)
        unref(stream);
}

/* On the pool, with the waiter's reference: has the job ended? */
static void check_job(void *context, size_t worker)
{
    struct log_stream *stream = context;
    struct ty_job_body *body = NULL;
    struct ty_error err;
    ty_status status = api_load_body(stream->api, stream->api->readers[worker],
                                     stream->wanted.tenant, stream->wanted.job_id, &body, &err);
    bool over = status == TY_NOT_FOUND || (body && body->terminal);
    if (over)
        atomic_store(&stream->terminal, true);
    /* The connection is woken under the lock that `release` takes, so it cannot be gone. */
    pthread_mutex_lock(&stream->lock);
    if (body)
        stream->revision = body->revision;
    if (!stream->released)
        ty_stream_wake(stream->entry.stream);
    pthread_mutex_unlock(&stream->lock);
    ty_job_body_unref(body);
    /* When the database could not be read, the sealed log alone tells of the end. */
    if (status == TY_OK && !over)
        await_job(stream);
    unref(stream);
}

/* On the thread that commits. A full pool is not the end of the stream: the sealed log tells of the
 * end too. */
static void job_changed(void *context)
{
    struct log_stream *stream = context;
    if (ty_pool_submit(stream->api->options.pool, check_job, stream) != TY_OK)
        unref(stream);
}

/* --- making the body --- */

/* A log that was not there when the stream began may have come into being. */
static bool has_reader(struct log_stream *stream)
{
    struct ty_error err;
    if (!stream->reader)
        (void)!log_open(stream->api, stream->wanted.job_id, stream->wanted.replica, &stream->reader,
                        &err);
    return stream->reader != NULL;
}

struct span {
    int64_t end; /* of what may be sent now */
    bool final;  /* nothing will follow */
};

/* How far the log goes. The end of the job is read before the extent, so that bytes written before
 * it are seen. */
static struct span measure(struct log_stream *stream)
{
    struct ty_error err;
    struct ty_log_extent extent = {0};
    struct span span = {stream->wanted.offset, atomic_load(&stream->terminal)};
    if (!stream->wanted.follow)
        span = (struct span){stream->wanted.end, true};
    else if (has_reader(stream) &&
             ty_log_extent(stream->reader, stream->wanted.attempt, &extent, &err) == TY_OK) {
        span.end = extent.end > span.end ? extent.end : span.end;
        span.final = span.final || extent.sealed;
    }
    return span;
}

/* A follower far from the end needs not ask where that is. */
static size_t read_ahead(struct log_stream *stream, char *out, size_t max)
{
    struct ty_error err;
    size_t got = 0;
    bool bounded = !stream->wanted.follow || stream->wanted.attempt != 0;
    if (bounded || !stream->reader ||
        ty_log_read(stream->reader, stream->wanted.offset, out, max, &got, &err) != TY_OK)
        return 0;
    stream->wanted.offset += (int64_t)got;
    return got;
}

static ssize_t read_raw(struct log_stream *stream, char *out, size_t max)
{
    struct ty_error err;
    size_t got = read_ahead(stream, out, max);
    if (got > 0)
        return (ssize_t)got;
    struct span span = measure(stream);
    int64_t left = span.end - stream->wanted.offset;
    if (left <= 0 || !has_reader(stream))
        return span.final ? TY_STREAM_END : TY_STREAM_NOTHING;
    if (ty_log_read(stream->reader, stream->wanted.offset, out,
                    (int64_t)max < left ? max : (size_t)left, &got, &err) != TY_OK)
        return TY_STREAM_ERROR;
    stream->wanted.offset += (int64_t)got;
    if (got == 0)
        return span.final ? TY_STREAM_ERROR : TY_STREAM_NOTHING;
    return (ssize_t)got;
}

/* Which frames to take of bytes that have no line end yet. */
static ty_frames frames_wanted(struct log_stream *stream, bool final)
{
    int64_t since = atomic_load(&stream->partial_since_ms);
    if (final)
        return TY_FRAMES_FINAL;
    if (since != 0 && ty_monotonic_ms(stream->api->options.clock) - since >= PARTIAL_AFTER_MS)
        return TY_FRAMES_OPEN;
    return TY_FRAMES_ENDED;
}

/* Turn one chunk of the log into events. */
static ty_status make_events(struct log_stream *stream, const struct span *span)
{
    struct ty_error err;
    struct ty_frame frame;
    size_t len = 0;
    int64_t left = span->end - stream->wanted.offset;
    if (left <= 0 || !has_reader(stream))
        return TY_OK;
    size_t max = left < TY_FRAME_CHUNK ? (size_t)left : TY_FRAME_CHUNK;
    if (ty_log_read(stream->reader, stream->wanted.offset, stream->chunk, max, &len, &err) != TY_OK)
        return err.status;
    bool final = span->final && (int64_t)len == left;
    size_t used = 0;
    while (stream->events.len < EVENTS_MAX / 2 &&
           ty_frame_next(stream->chunk + used, len - used, stream->wanted.offset,
                         frames_wanted(stream, final), &frame)) {
        ty_frame_event(&frame, stream->wanted.replica, &stream->events);
        used += (size_t)(frame.next - frame.offset);
        stream->wanted.offset = frame.next;
    }
    bool held = used == 0 && len > 0;
    if (!held)
        atomic_store(&stream->partial_since_ms, 0);
    else if (atomic_load(&stream->partial_since_ms) == 0)
        atomic_store(&stream->partial_since_ms, ty_monotonic_ms(stream->api->options.clock));
    return ty_buf_check(&stream->events, "events", &err);
}

static ssize_t take_events(struct log_stream *stream, char *out, size_t max)
{
    size_t len = stream->events.len - stream->events_sent;
    if (len > max)
        len = max;
    memcpy(out, stream->events.data + stream->events_sent, len);
    stream->events_sent += len;
    if (stream->events_sent == stream->events.len) {
        ty_buf_clear(&stream->events);
        stream->events_sent = 0;
    }
    return (ssize_t)len;
}

static ssize_t read_events(struct log_stream *stream, char *out, size_t max)
{
    if (stream->events.len > 0)
        return take_events(stream, out, max);
    if (stream->ended)
        return TY_STREAM_END;
    struct span span = measure(stream);
    if (make_events(stream, &span) != TY_OK)
        return TY_STREAM_ERROR;
    if (stream->events.len == 0 && span.final && stream->wanted.offset >= span.end) {
        ty_buf_addf(&stream->events, "id: %lld\nevent: end\ndata: {}\n\n",
                    (long long)stream->wanted.offset);
        stream->ended = true;
    }
    return stream->events.len > 0 ? take_events(stream, out, max) : TY_STREAM_NOTHING;
}

/* A stream that is broken off must not look complete: raw bodies are aborted, events tell the
 * client to come back. */
static ssize_t read_stopped(struct log_stream *stream, char *out, size_t max)
{
    if (!stream->wanted.events)
        return TY_STREAM_ERROR;
    if (stream->events.len > 0)
        return take_events(stream, out, max);
    if (stream->ended || atomic_load(&stream->entry.revoked))
        return TY_STREAM_END;
    ty_buf_adds(&stream->events, "event: reconnect\ndata: {}\n\n");
    stream->ended = true;
    return take_events(stream, out, max);
}

static ssize_t read_stream(void *context, char *out, size_t max)
{
    struct log_stream *stream = context;
    if (atomic_load(&stream->entry.revoked) || atomic_load(&stream->draining))
        return read_stopped(stream, out, max);
    return stream->wanted.events ? read_events(stream, out, max) : read_raw(stream, out, max);
}

static void drain_stream(void *context)
{
    struct log_stream *stream = context;
    if (stream->wanted.follow)
        atomic_store(&stream->draining, true);
}

static void release_stream(void *context)
{
    struct log_stream *stream = context;
    api_stream_delist(stream->api, &stream->entry);
    ty_log_watch_remove(stream->watch);
    close_source(stream); /* the waiter may hold the rest for a minute */
    pthread_mutex_lock(&stream->lock);
    stream->released = true;
    pthread_mutex_unlock(&stream->lock);
    unref(stream);
}

static const struct ty_stream_ops raw_ops = {read_stream, drain_stream, release_stream, NULL};
static const struct ty_stream_ops event_ops = {read_stream, drain_stream, release_stream,
                                               ": hb\n\n"};

static void log_grew(void *context)
{
    struct log_stream *stream = context;
    ty_stream_wake(stream->entry.stream);
}

static void log_folder(const struct ty_api *api, const char *job_id, char *out, size_t size)
{
    snprintf(out, size, "%s/logs/%s", api->options.data_folder, job_id);
}

ty_status log_open(const struct ty_api *api, const char *job_id, const char *replica,
                   struct ty_log_reader **reader_out, struct ty_error *err)
{
    char path[4096];
    log_folder(api, job_id, path, sizeof path);
    ty_auto_fd folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return ty_fail(err, TY_NOT_FOUND, "no log yet");
    return ty_log_reader_open(folder, replica, reader_out, err);
}

static struct log_stream *allocate(struct ty_api *api, const struct log_request *wanted)
{
    struct log_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->api = api;
    stream->wanted = *wanted;
    stream->entry = (struct api_stream){.tenant = wanted->tenant,
                                        .token = wanted->token,
                                        .counted = wanted->follow,
                                        .due = holds_for_long};
    stream->refs = 1;
    stream->terminal = wanted->terminal;
    pthread_mutex_init(&stream->lock, NULL);
    ty_buf_init(&stream->events, EVENTS_MAX);
    if (wanted->events) {
        stream->chunk = malloc(TY_FRAME_CHUNK);
        ty_buf_adds(&stream->events, "retry: 2000\n\n");
        if (!stream->chunk || stream->events.failed != TY_OK) {
            unref(stream);
            return NULL;
        }
    }
    return stream;
}

ty_status log_stream_create(struct ty_api *api, const struct log_request *wanted,
                            struct ty_stream **stream_out, struct ty_error *err)
{
    struct log_stream *stream = allocate(api, wanted);
    if (!stream)
        return ty_fail(err, TY_NO_MEMORY, "log stream");
    if (ty_stream_create(wanted->events ? &event_ops : &raw_ops, stream, &stream->entry.stream) !=
        TY_OK) {
        unref(stream);
        return ty_fail(err, TY_NO_MEMORY, "log stream");
    }
    if (api_stream_enlist(api, &stream->entry, err) != TY_OK) {
        ty_stream_unref(stream->entry.stream);
        return err->status;
    }
    if (wanted->follow) {
        char path[4096];
        log_folder(api, wanted->job_id, path, sizeof path);
        if (ty_log_watch_add(api->options.watcher, path, wanted->replica, log_grew, stream,
                             &stream->watch, err) != TY_OK) {
            ty_stream_unref(stream->entry.stream);
            return err->status;
        }
        if (!wanted->terminal)
            job_changed(ref(stream));
    }
    *stream_out = stream->entry.stream;
    return TY_OK;
}
