/* A tenant's events on their way to one client. */
#ifndef TRAINYARD_API_EVENT_STREAM_H
#define TRAINYARD_API_EVENT_STREAM_H

#include "api/api.h"

#include "trainyard/events/text.h"

/* What one GET …/events asks for. */
struct event_request {
    int64_t tenant;
    char tenant_name[64];
    int64_t token;                  /* row; the stream ends when it is revoked or expires */
    struct ty_event_filter *filter; /* owned; NULL = all */
    int64_t job;                    /* row of the one job that the filter names, 0 = look at all */
    bool with_job;                  /* the stream ends with its job */
    int64_t after;                  /* where to begin */
    int64_t head; /* the newest event when it was asked; without `follow` the last */
    bool follow;
    bool frames;   /* SSE instead of NDJSON */
    bool job_over; /* that one has ended already */
};

/* Start to stream. On success *stream_out has one reference for the response. Takes the filter in
 * any case. TY_NO_MEMORY, TY_LIMITED. */
ty_status event_stream_create(struct ty_api *api, const struct event_request *wanted,
                              struct ty_stream **stream_out, struct ty_error *err) TY_MUST_CHECK;

#endif
