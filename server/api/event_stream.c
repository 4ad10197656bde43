/* The happy path: the stream joins the tenant's feed and replays the durable log from where the
 * client stands, a batch at a time on the pool, until the feed has all that follows; then it goes
 * live and is given the feed's events as they come. One that falls behind the feed replays again.
 * So a slow client is served at its own pace from memory that is bounded, and one that takes
 * nothing at all while more than the feed holds waits for it is told so (`overflow`) and let go:
 * its last id resumes it.
 *
 * `read` runs on an HTTP thread and never touches the disk. Who holds a stream: the HTTP server
 * (until `release`) and, while a batch is loaded, the pool. The batch and the reader's position
 * belong to the pool while `loading`, else to the HTTP thread. */
#include "api/event_stream.h"

#include "api/event_pump.h"
#include "api/streams.h"
#include "trainyard/store/events.h"

#include <inttypes.h>

enum { STALL_MS = 10000, WORDS_MAX = 1024 };
enum { SCAN_ROWS = 500, SCANS = 10, BATCH_EVENTS = 64, BATCH_BYTES = 64 * 1024 };

/* What a replay has found. */
struct batch {
    struct ty_event_text *texts[BATCH_EVENTS];
    size_t count;
    size_t next; /* to be sent */
    size_t bytes;
    int64_t gap_from; /* events from here were no longer kept; 0 = all were */
    int64_t gap_to;
    bool at_end; /* of the log, as it was read */
    bool failed;
};

struct event_stream {
    struct api_stream entry; /* first */
    struct ty_api *api;
    struct event_request wanted;
    _Atomic int refs;
    struct ty_feed_reader reader;
    struct batch *batch; /* NULL: nothing was replayed since it went live */
    bool live;
    bool over;                     /* the job's last event was seen */
    bool ended;                    /* nothing follows what is pending */
    struct ty_event_text *current; /* being sent, `sent` bytes of it are out */
    struct ty_buf words;           /* what is no event, before `current` */
    size_t sent;
    _Atomic bool loading;
    _Atomic bool draining;
    _Atomic int64_t woken_ms; /* first wake since the client last took something; 0 = none */
};

/* --- life cycle --- */

static void drop_batch(struct event_stream *stream)
{
    struct batch *batch = stream->batch;
    for (size_t i = batch ? batch->next : 0; batch && i < batch->count; i++)
        ty_event_text_unref(batch->texts[i]);
    free(batch);
    stream->batch = NULL;
}

static void unref(struct event_stream *stream)
{
    if (atomic_fetch_sub(&stream->refs, 1) > 1)
        return;
    ty_feed_leave(event_pump_feeds(stream->api->events), &stream->reader);
    drop_batch(stream);
    ty_event_text_unref(stream->current);
    ty_buf_done(&stream->words);
    free(stream->wanted.filter);
    free(stream);
}

/* --- replaying, on the pool --- */

struct visit {
    struct event_stream *stream;
    struct ty_event_owner owner;
};

static bool keep_event(void *context, const struct ty_event *event)
{
    struct visit *visit = context;
    struct event_stream *stream = visit->stream;
    struct batch *batch = stream->batch;
    struct ty_error err;
    if (!stream->wanted.follow && event->sequence > stream->wanted.head)
        return false;
    if (!ty_event_filter_takes(stream->wanted.filter, event))
        return true;
    batch->failed =
        ty_event_text_make(event, &visit->owner, &batch->texts[batch->count], &err) != TY_OK;
    if (batch->failed)
        return false;
    batch->bytes += batch->texts[batch->count++]->len;
    return batch->count < BATCH_EVENTS && batch->bytes < BATCH_BYTES;
}

/* Step over events that are gone, and say so. */
static ty_status note_gap(struct event_stream *stream, struct ty_reader *reader)
{
    struct ty_error err;
    int64_t first = 0;
    int64_t last = 0;
    ty_status status = ty_events_range(reader, stream->wanted.tenant, &first, &last, &err);
    if (status != TY_OK)
        return status;
    stream->batch->gap_from = stream->reader.position + 1;
    stream->batch->gap_to = first - 1;
    stream->reader.position = first - 1;
    return TY_OK;
}

/* Whether the batch is complete: full, at the end, or with something to say. */
static bool load_rows(struct event_stream *stream, struct ty_reader *reader)
{
    struct visit visit = {
        stream, {stream->wanted.tenant_name, ty_store_key(stream->api->options.store)}
    };
    const struct ty_event_query query = {.tenant = stream->wanted.tenant,
                                         .job = stream->wanted.job,
                                         .after = stream->reader.position,
                                         .limit = SCAN_ROWS};
    struct batch *batch = stream->batch;
    struct ty_error err;
    int64_t seen = query.after;
    ty_status status = ty_events_list(reader, &query, keep_event, &visit, &seen, &err);
    if (status == TY_GONE)
        status = note_gap(stream, reader);
    else if (status == TY_OK) {
        batch->at_end =
            seen == query.after || (!stream->wanted.follow && seen >= stream->wanted.head);
        stream->reader.position = seen;
    }
    batch->failed = batch->failed || status != TY_OK;
    return batch->failed || batch->at_end || batch->gap_from || batch->count > 0;
}

static void load_batch(void *context, size_t worker)
{
    struct event_stream *stream = context;
    for (int i = 0; i < SCANS; i++)
        if (load_rows(stream, stream->api->readers[worker]))
            break;
    struct ty_stream *server_side = stream->entry.stream;
    atomic_store(&stream->loading, false);
    ty_stream_wake(server_side);
    unref(stream);
    ty_stream_unref(server_side);
}

/* --- on the HTTP thread: what comes next --- */

static void say(struct event_stream *stream, const char *type, const char *more)
{
    char id[TY_EVENT_ID] = "0";
    int64_t position = stream->live ? ty_feed_position(&stream->reader) : stream->reader.position;
    (void)!ty_event_id_make(ty_store_key(stream->api->options.store), stream->wanted.tenant,
                            position, id);
    ty_buf_clear(&stream->words);
    if (stream->wanted.frames)
        ty_buf_addf(&stream->words, "id: %s\nevent: %s\ndata: ", id, type);
    ty_buf_addf(&stream->words, "{\"type\":\"%s\",\"id\":\"%s\"%s}\n", type, id, more);
    if (stream->wanted.frames)
        ty_buf_addc(&stream->words, '\n');
    stream->sent = 0;
}

/* Say the last thing. */
static bool finish(struct event_stream *stream, const char *type)
{
    say(stream, type, "");
    stream->ended = true;
    return true;
}

static bool begin_load(struct event_stream *stream)
{
    drop_batch(stream);
    stream->live = false;
    stream->batch = calloc(1, sizeof *stream->batch);
    if (!stream->batch)
        return finish(stream, "reconnect");
    atomic_store(&stream->loading, true);
    atomic_fetch_add(&stream->refs, 1);
    (void)ty_stream_ref(stream->entry.stream);
    if (ty_pool_submit(stream->api->options.pool, load_batch, stream) == TY_OK)
        return false;
    atomic_store(&stream->loading, false);
    ty_stream_unref(stream->entry.stream); /* the server has its own */
    unref(stream);
    return finish(stream, "reconnect");
}

static void send_event(struct event_stream *stream, struct ty_event_text *text)
{
    stream->current = text;
    stream->sent = stream->wanted.frames ? 0 : text->head_len;
    stream->over = stream->over || (stream->wanted.with_job && text->ends_job);
}

/* What was replayed is out: go live where the feed has all that follows, else replay on. */
static bool leave_batch(struct event_stream *stream)
{
    bool last = !stream->wanted.follow || stream->over;
    if (last && stream->batch && stream->batch->at_end)
        return finish(stream, "end");
    if (last || !ty_feed_go_live(&stream->reader))
        return begin_load(stream);
    stream->live = true;
    drop_batch(stream);
    return true;
}

static bool next_replayed(struct event_stream *stream)
{
    struct batch *batch = stream->batch;
    if (atomic_load(&stream->loading))
        return false;
    if (batch && batch->gap_from > 0) {
        char more[96];
        snprintf(more, sizeof more, ",\"from\":%" PRId64 ",\"to\":%" PRId64, batch->gap_from,
                 batch->gap_to);
        batch->gap_from = 0;
        say(stream, "gap", more);
        return true;
    }
    if (batch && batch->next < batch->count) {
        send_event(stream, batch->texts[batch->next++]);
        return true;
    }
    if (batch && batch->failed)
        return finish(stream, "reconnect");
    return leave_batch(stream);
}

/* Nothing was taken for long, and now something is out of memory. */
static bool has_stalled(const struct event_stream *stream)
{
    int64_t since = atomic_load(&stream->woken_ms);
    return since != 0 && ty_monotonic_ms(stream->api->options.clock) - since > STALL_MS;
}

static bool next_live(struct event_stream *stream)
{
    struct ty_event_text *text = NULL;
    if (stream->over)
        return finish(stream, "end");
    switch (ty_feed_next(&stream->reader, &text)) {
    case TY_FEED_EVENT:
        send_event(stream, text);
        return true;
    case TY_FEED_BEHIND:
        return has_stalled(stream) ? finish(stream, "overflow") : begin_load(stream);
    default:
        return false;
    }
}

/* Find what is to be sent next: false when there is nothing now. A break-off must not look like the
 * end: whoever drains says where to go on. */
static bool find_next(struct event_stream *stream)
{
    if (stream->ended)
        return false;
    if (atomic_load(&stream->entry.revoked)) {
        stream->ended = true;
        return false;
    }
    if (atomic_load(&stream->draining) && !atomic_load(&stream->loading))
        return finish(stream, "reconnect");
    return stream->live ? next_live(stream) : next_replayed(stream);
}

/* --- on the HTTP thread: sending --- */

static size_t copy_part(const char *bytes, size_t len, size_t *sent, char *out, size_t max)
{
    size_t part = len - *sent < max ? len - *sent : max;
    memcpy(out, bytes + *sent, part);
    *sent += part;
    return part;
}

/* Copy of what is pending; 0 when nothing is. */
static size_t copy_pending(struct event_stream *stream, char *out, size_t max)
{
    size_t got;
    if (stream->words.len > 0) {
        got = copy_part(stream->words.data, stream->words.len, &stream->sent, out, max);
        if (stream->sent == stream->words.len)
            ty_buf_done(&stream->words);
        return got;
    }
    if (!stream->current)
        return 0;
    /* A line of NDJSON ends before the blank line of the frame. */
    size_t len = stream->current->len - (stream->wanted.frames ? 0 : 1);
    got = copy_part(stream->current->bytes, len, &stream->sent, out, max);
    if (stream->sent == len) {
        ty_event_text_unref(stream->current);
        stream->current = NULL;
    }
    return got;
}

static ssize_t read_stream(void *context, char *out, size_t max)
{
    struct event_stream *stream = context;
    size_t got = 0;
    for (;;) {
        size_t part = copy_pending(stream, out + got, max - got);
        got += part;
        if (got == max || (part == 0 && !find_next(stream)))
            break;
    }
    if (got == 0)
        return stream->ended ? TY_STREAM_END : TY_STREAM_NOTHING;
    atomic_store(&stream->woken_ms, 0);
    return (ssize_t)got;
}

static void drain_stream(void *context)
{
    struct event_stream *stream = context;
    if (stream->wanted.follow)
        atomic_store(&stream->draining, true);
}

static void release_stream(void *context)
{
    struct event_stream *stream = context;
    api_stream_delist(stream->api, &stream->entry);
    unref(stream);
}

static const struct ty_stream_ops frame_ops = {read_stream, drain_stream, release_stream,
                                               ": hb\n\n"};
static const struct ty_stream_ops line_ops = {read_stream, drain_stream, release_stream, "\n"};

/* Under the feed's lock. */
static void wake(void *context)
{
    struct event_stream *stream = context;
    if (atomic_load(&stream->woken_ms) == 0)
        atomic_store(&stream->woken_ms, ty_monotonic_ms(stream->api->options.clock));
    ty_stream_wake(stream->entry.stream);
}

/* --- beginning --- */

/* A client that breaks off before its first event has a place to resume from. */
static void greet(struct event_stream *stream)
{
    char id[TY_EVENT_ID];
    if (!stream->wanted.frames ||
        ty_event_id_make(ty_store_key(stream->api->options.store), stream->wanted.tenant,
                         stream->wanted.after, id) != TY_OK)
        return;
    ty_buf_addf(&stream->words, "retry: 2000\nid: %s\n\n", id);
}

static struct event_stream *allocate(struct ty_api *api, const struct event_request *wanted)
{
    struct event_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        free(wanted->filter);
        return NULL;
    }
    stream->api = api;
    stream->wanted = *wanted;
    stream->refs = 1;
    stream->over = wanted->job_over;
    stream->entry = (struct api_stream){
        .tenant = wanted->tenant, .token = wanted->token, .counted = wanted->follow};
    stream->reader = (struct ty_feed_reader){
        .filter = wanted->filter, .position = wanted->after, .wake = wake, .context = stream};
    ty_buf_init(&stream->words, WORDS_MAX);
    greet(stream);
    return stream;
}

ty_status event_stream_create(struct ty_api *api, const struct event_request *wanted,
                              struct ty_stream **stream_out, struct ty_error *err)
{
    struct event_stream *stream = allocate(api, wanted);
    if (!stream)
        return ty_fail(err, TY_NO_MEMORY, "event stream");
    if (ty_stream_create(wanted->frames ? &frame_ops : &line_ops, stream, &stream->entry.stream) !=
        TY_OK) {
        unref(stream);
        return ty_fail(err, TY_NO_MEMORY, "event stream");
    }
    if (ty_feed_join(event_pump_feeds(api->events), wanted->tenant, wanted->tenant_name,
                     wanted->head, &stream->reader, err) != TY_OK ||
        api_stream_enlist(api, &stream->entry, err) != TY_OK) {
        ty_stream_unref(stream->entry.stream);
        return err->status;
    }
    *stream_out = stream->entry.stream;
    return TY_OK;
}
