/* A replica's log on its way to one client: pulled from the archive at the client's pace, so a slow
 * reader costs no memory and loses nothing. */
#ifndef TRAINYARD_API_LOG_STREAM_H
#define TRAINYARD_API_LOG_STREAM_H

#include "api/api.h"

/* What one GET …/logs asks for. */
struct log_request {
    char job_id[TY_ID_TEXT];
    char replica[TY_REPLICA_NAME];
    int64_t tenant;
    int64_t token;   /* row; the stream ends when it is revoked or expires */
    int32_t attempt; /* 0 = the whole log */
    int64_t offset;  /* where to begin */
    int64_t end;     /* where to stop without `follow` */
    bool follow;
    bool events;   /* SSE instead of raw bytes */
    bool terminal; /* the job has ended already */
};

/* Start to stream. On success *stream_out has one reference for the response. TY_NO_MEMORY,
 * TY_UNAVAILABLE, TY_LIMITED. */
ty_status log_stream_create(struct ty_api *api, const struct log_request *wanted,
                            struct ty_stream **stream_out, struct ty_error *err) TY_MUST_CHECK;

/* Open the archive of a job; TY_NOT_FOUND while nothing was written. */
ty_status log_open(const struct ty_api *api, const char *job_id, const char *replica,
                   struct ty_log_reader **reader_out, struct ty_error *err) TY_MUST_CHECK;

#endif
