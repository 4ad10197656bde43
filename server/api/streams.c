#include "api/streams.h"

#include <pthread.h>

struct api_streams {
    pthread_mutex_t lock;
    struct api_stream *first;
};

struct api_streams *api_streams_create(void)
{
    struct api_streams *streams = calloc(1, sizeof *streams);
    if (streams)
        pthread_mutex_init(&streams->lock, NULL);
    return streams;
}

void api_streams_destroy(struct api_streams *streams)
{
    if (!streams)
        return;
    pthread_mutex_destroy(&streams->lock);
    free(streams);
}

/* Whether one more is allowed; under the lock. */
static ty_status judge(const struct ty_api *api, const struct api_stream *wanted,
                       struct ty_error *err)
{
    int64_t of_token = 0;
    int64_t of_tenant = 0;
    for (const struct api_stream *other = api->streams->first; other; other = other->next) {
        of_token += other->counted && other->token == wanted->token;
        of_tenant += other->counted && other->tenant == wanted->tenant;
    }
    if (of_token >= api->options.streams_per_token)
        return ty_fail_code(err, TY_LIMITED, "too_many_streams",
                            "this token has %lld streams open; close one first",
                            (long long)of_token);
    if (of_tenant >= api->options.streams_per_tenant)
        return ty_fail_code(err, TY_LIMITED, "too_many_streams",
                            "the tenant has %lld streams open; close one first",
                            (long long)of_tenant);
    return TY_OK;
}

ty_status api_stream_enlist(struct ty_api *api, struct api_stream *stream, struct ty_error *err)
{
    struct api_streams *streams = api->streams;
    pthread_mutex_lock(&streams->lock);
    ty_status status = stream->counted ? judge(api, stream, err) : TY_OK;
    if (status == TY_OK) {
        stream->next = streams->first;
        stream->back = &streams->first;
        if (stream->next)
            stream->next->back = &stream->next;
        streams->first = stream;
    }
    pthread_mutex_unlock(&streams->lock);
    return status;
}

void api_stream_delist(struct ty_api *api, struct api_stream *stream)
{
    pthread_mutex_lock(&api->streams->lock);
    if (stream->back)
        *stream->back = stream->next;
    if (stream->back && stream->next)
        stream->next->back = stream->back;
    stream->back = NULL;
    pthread_mutex_unlock(&api->streams->lock);
}

void api_streams_tick(struct ty_api *api, bool look_at_tokens)
{
    int64_t now = api_now(api);
    int64_t now_ms = ty_monotonic_ms(api->options.clock);
    pthread_mutex_lock(&api->streams->lock);
    for (struct api_stream *stream = api->streams->first; stream; stream = stream->next) {
        bool over = look_at_tokens && !ty_access_table_alive(api->access, stream->token, now);
        if (over)
            atomic_store(&stream->revoked, true);
        if (over || (stream->due && stream->due(stream, now_ms)))
            ty_stream_wake(stream->stream);
    }
    pthread_mutex_unlock(&api->streams->lock);
}
