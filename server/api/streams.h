/* The open streams: who holds how many, and the end of those whose token is over. Logs that are
 * followed and events alike. */
#ifndef TRAINYARD_API_STREAMS_H
#define TRAINYARD_API_STREAMS_H

#include "api/api.h"

#include <stdatomic.h>

/* First member of a stream's own struct. */
struct api_stream {
    struct ty_stream *stream; /* borrowed: the server's own reference outlives `release` */
    int64_t tenant;
    int64_t token;        /* row; the stream ends when it is revoked or expires */
    _Atomic bool revoked; /* set, then the stream is woken */
    bool counted;         /* among those of its token and tenant */
    /* Whether the stream is to be woken at this time without news; NULL: never. Must not wait. */
    bool (*due)(const struct api_stream *stream, int64_t now_ms);
    /* In the registry, under its lock. */
    struct api_stream *next;
    struct api_stream **back;
};

/* From here on the timer looks after it; its members are set. TY_LIMITED (code "too_many_streams"):
 * token or tenant have their number open; it is not listed then. */
ty_status api_stream_enlist(struct ty_api *api, struct api_stream *stream,
                            struct ty_error *err) TY_MUST_CHECK;
void api_stream_delist(struct ty_api *api, struct api_stream *stream); /* not listed: nothing */

#endif
