/* A request's insides, for the files that read, dispatch and answer it. */
#ifndef TRAINYARD_HTTP_REQUEST_STATE_H
#define TRAINYARD_HTTP_REQUEST_STATE_H

#include "connection.h"
#include "response_state.h"
#include "target.h"
#include "trace.h"
#include "trainyard/http/route.h"

#include <stdatomic.h>

struct MHD_Response;

/* Where a request is; on the HTTP thread. */
typedef enum {
    TY_STAGE_BODY,    /* its body is being read */
    TY_STAGE_HANDLER, /* a handler has it */
    TY_STAGE_REPLIED  /* the library has the answer */
} ty_stage;

/* Between the handler's thread and the HTTP thread. */
typedef enum {
    TY_ANSWER_RUNNING,   /* the HTTP thread is inside the handler: it looks by itself afterwards */
    TY_ANSWER_SUSPENDED, /* the connection sleeps: whoever answers wakes it */
    TY_ANSWER_GIVEN
} ty_answer_state;

struct ty_request {
    struct ty_http_server *server;
    struct ty_connection *connection;
    struct ty_head *head;
    struct ty_target target;
    struct ty_route_match match;
    ty_method method; /* GET for HEAD */
    bool is_head;
    char id[TY_ID_TEXT];
    char traceparent[TY_TRACEPARENT_TEXT];
    bool traced; /* traceparent is made: only when somebody asks */
    const char *body_type;
    const char *answer_type;
    bool gzipped_body;
    int64_t received_us;
    size_t worker;

    struct ty_buf body;
    size_t charged; /* bytes counted in the server's body_memory */

    void *principal;
    void (*release_principal)(void *principal);
    json_t *json;

    ty_stage stage;
    struct ty_response *refusal; /* decided before any handler ran */
    _Atomic ty_answer_state answer;
    struct MHD_Response *reply;
    int reply_status;
    bool reply_stream;
    bool reply_too_long; /* its fields did not fit: a problem takes its place */
    bool close;          /* the answer is the connection's last */
    int refused_status;  /* the connection was refused in the middle of this request */
    struct ty_field_list answer_fields;

    struct ty_arena arena;
    _Alignas(max_align_t) char memory[3072];
};

/* Begin with `head`, which is the request's from now on. NULL: no memory; `head` is given back. */
struct ty_request *ty_request_begin(struct ty_connection *connection, struct ty_head *head);

/* The library is done with it: tell the observer, give everything back, keep the memory for the
 * connection's next. */
void ty_request_end(struct ty_request *request, bool completed);

/* Free the memory itself; takes NULL. */
void ty_request_free(struct ty_request *request);

/* The connection was refused while this request was being read; `status` is what the client got. */
void ty_request_refused(struct ty_request *request, int status);

/* The first value of a field the server knows, or NULL. */
static inline const char *ty_request_known(const struct ty_request *request, ty_field_id id)
{
    return request->head->known[id];
}

/* Turn `response` (taken; NULL: out of memory) into request->reply. Any thread (answer.c). */
void ty_reply_prepare(struct ty_request *request, struct ty_response *response);

/* Drop a reply the library was not given. */
void ty_reply_discard(struct ty_request *request);

#endif
