/* A request's way through the library's callbacks, all on one HTTP thread.
 *
 * First call: the head is judged. Then the body arrives in pieces and is kept. Last call: the
 * handler runs here, or the connection is suspended and the pool runs it. When the answer is there
 * the library calls once more and takes it. The answer is never given in the first call of a
 * request that will be read to its end: the library would close the connection. */
#include "dispatch.h"

#include "gzip.h"
#include "judge.h"
#include "request_state.h"
#include "server_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    READ_AND_DROP = 64 * 1024
}; /* a refused body up to here is read, so that the connection lives on */

static struct ty_connection *connection_of(struct MHD_Connection *library)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(library, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* Without a connection of ours the library would read the client's bytes itself. */
static void hang_up(struct MHD_Connection *library)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(library, MHD_CONNECTION_INFO_CONNECTION_FD);

    if (info)
        shutdown(info->connect_fd, SHUT_RDWR);
}

/* ---- replying ---- */

/* Give the library what was prepared. Without a reply (no memory at all) the connection is closed.
 */
static enum MHD_Result send_reply(struct ty_request *request)
{
    enum MHD_Result queued;

    if (!request->reply)
        return MHD_NO;
    queued = MHD_queue_response(request->connection->library, (unsigned)request->reply_status,
                                request->reply);
    ty_reply_discard(request); /* the library has its own reference */
    request->stage = TY_STAGE_REPLIED;
    return queued;
}

static enum MHD_Result send_refusal(struct ty_request *request)
{
    struct ty_response *refusal = request->refusal;

    request->refusal = NULL;
    if (request->connection->doom.code) { /* the body's end was there already */
        request->connection->doom.code = NULL;
        request->close = true;
    }
    ty_reply_prepare(request, refusal);
    return send_reply(request);
}

/* ---- the head ---- */

/* Whether what is left of a refused request is small enough to be read and dropped. */
static bool worth_reading(const struct ty_head *head)
{
    return !head->chunked && !head->expect_continue && head->content_length <= READ_AND_DROP;
}

static enum MHD_Result begin(struct ty_connection *connection, void **request_slot)
{
    struct ty_head *head = ty_reader_take(&connection->reader);
    struct ty_request *request = head ? ty_request_begin(connection, head) : NULL;

    if (!request)
        return MHD_NO;
    *request_slot = request;
    request->refusal = ty_judge_head(request);
    if (request->refusal && !worth_reading(head)) {
        connection->answered_early = true;
        return send_refusal(request);
    }
    if (!request->refusal && request->match.route)
        ty_buf_init(&request->body, request->match.route->body_limit);
    return MHD_YES;
}

/* ---- the body ---- */

/* The body cannot be read to its end: the connection is refused at the next receive, or, when the
 * end is here already, the answer is given in the last call. */
static void refuse_body(struct ty_request *request, const char *code)
{
    request->refusal = ty_response_problem(code, NULL, NULL);
    request->connection->doom = (struct ty_wire_fault){code, NULL};
    ty_buf_done(&request->body);
}

static void take_body(struct ty_request *request, const char *bytes, size_t len)
{
    struct ty_http_server *server = request->server;
    size_t charged;

    if (request->refusal)
        return;
    charged = atomic_fetch_add(&server->body_memory, len) + len;
    request->charged += len;
    if (charged > server->limits.body_memory) {
        refuse_body(request, "overloaded");
        return;
    }
    ty_buf_add(&request->body, bytes, len);
    if (request->body.failed)
        refuse_body(request,
                    request->body.failed == TY_TOO_LARGE ? "body_too_large" : "out_of_memory");
}

/* Replace a gzip-coded body by what it holds. NULL, or the answer. */
static struct ty_response *inflate_body(struct ty_request *request)
{
    const struct ty_http_limits *limits = &request->server->limits;
    size_t limit = request->match.route->body_limit;
    struct ty_buf plain;
    struct ty_error err;
    ty_status status;

    if (!request->gzipped_body || request->body.len == 0)
        return NULL;
    if (limit > limits->inflated_bytes)
        limit = limits->inflated_bytes;
    ty_buf_init(&plain, limit + 1); /* one more, so that exactly the limit is told from beyond it */
    status = ty_gzip_inflate(request->body.data, request->body.len, &plain, &err);
    if (!status && plain.len > limit)
        status = ty_fail_code(&err, TY_TOO_LARGE, "body_too_large",
                              "the body is larger than allowed once inflated");
    if (status) {
        ty_buf_done(&plain);
        return ty_response_error(&err, NULL);
    }
    ty_buf_done(&request->body);
    request->body = plain;
    return NULL;
}

/* ---- the handler ---- */

/* What the checks found, as an answer; NULL when nothing was. */
static struct ty_response *check(struct ty_request *request)
{
    const struct ty_http_hooks *hooks = &request->server->options.hooks;
    struct ty_faults faults;
    struct ty_error err = {0};
    bool body_only = true;

    if (!hooks->check)
        return NULL;
    ty_faults_init(&faults);
    err.status = hooks->check(hooks->context, request, &faults, &err);
    if (err.status)
        return ty_response_error(&err, &faults);
    if (!ty_faults_any(&faults))
        return NULL;
    for (size_t i = 0; i < faults.count; i++)
        body_only = body_only && faults.items[i].place == TY_AT_POINTER;
    return ty_response_problem(body_only ? "validation_failed" : "invalid_parameter", NULL,
                               &faults);
}

static void run_handler(struct ty_request *request)
{
    struct ty_response *refusal = inflate_body(request);

    if (!refusal)
        refusal = check(request);
    if (refusal)
        ty_request_answer(request, refusal);
    else
        request->match.route->handler(request->server->options.handler_context, request);
}

static void run_on_pool(void *context, size_t worker)
{
    struct ty_request *request = context;

    request->worker = worker;
    run_handler(request);
}

/* Suspended first: the pool may answer before this returns. */
static enum MHD_Result start_on_pool(struct ty_request *request)
{
    struct ty_http_server *server = request->server;

    atomic_store(&request->answer, TY_ANSWER_SUSPENDED);
    MHD_suspend_connection(request->connection->library);
    if (!server->options.pool || ty_pool_submit(server->options.pool, run_on_pool, request))
        ty_request_answer(request, ty_response_problem("overloaded", NULL, NULL));
    return MHD_YES;
}

/* Sleep until the answer is given, unless it was meanwhile. */
static enum MHD_Result await_answer(struct ty_request *request)
{
    struct MHD_Connection *library = request->connection->library;
    ty_answer_state running = TY_ANSWER_RUNNING;

    MHD_suspend_connection(library);
    if (!atomic_compare_exchange_strong(&request->answer, &running, TY_ANSWER_SUSPENDED))
        MHD_resume_connection(library);
    return MHD_YES;
}

static enum MHD_Result start_inline(struct ty_request *request)
{
    struct ty_connection *connection = request->connection;

    atomic_store(&request->answer, TY_ANSWER_RUNNING);
    atomic_store_explicit(&connection->entered, connection->reader.requests, memory_order_relaxed);
    run_handler(request);
    atomic_store_explicit(&connection->entered, 0, memory_order_relaxed);
    if (atomic_load(&request->answer) == TY_ANSWER_GIVEN)
        return send_reply(request);
    return await_answer(request);
}

static bool runs_inline(const struct ty_request *request)
{
    unsigned flags = request->match.route->flags;

    if (!(flags & TY_RUN_POOL))
        return true;
    return (flags & TY_RUN_SMALL_INLINE) && request->body.len <= TY_SMALL_BODY &&
           !request->gzipped_body;
}

/* The request is complete, or its answer is there. */
static enum MHD_Result proceed(struct ty_request *request)
{
    if (request->stage == TY_STAGE_HANDLER)
        return atomic_load(&request->answer) == TY_ANSWER_GIVEN ? send_reply(request) : MHD_YES;
    if (request->refusal)
        return send_refusal(request);
    atomic_fetch_add(&request->server->handling, 1);
    if (atomic_load(
            &request->server->aborting)) { /* from here on nothing may be suspended (server.c) */
        atomic_fetch_sub(&request->server->handling, 1);
        request->refusal = ty_response_problem("draining", NULL, NULL);
        return send_refusal(request);
    }
    request->stage = TY_STAGE_HANDLER;
    return runs_inline(request) ? start_inline(request) : start_on_pool(request);
}

/* ---- callbacks ---- */

enum MHD_Result ty_dispatch(void *server, struct MHD_Connection *library, const char *url,
                            const char *method, const char *version, const char *upload,
                            size_t *upload_len, void **request_slot)
{
    struct ty_request *request = *request_slot;

    (void)server;
    (void)url; /* the normal form's, not the client's */
    (void)method;
    (void)version;
    if (!request) {
        struct ty_connection *connection = connection_of(library);

        return connection ? begin(connection, request_slot) : MHD_NO;
    }
    if (*upload_len) {
        take_body(request, upload, *upload_len);
        *upload_len = 0;
        return MHD_YES;
    }
    return proceed(request);
}

void ty_dispatch_completed(void *server, struct MHD_Connection *library, void **request_slot,
                           enum MHD_RequestTerminationCode how)
{
    struct ty_request *request = *request_slot;

    (void)server;
    (void)library;
    if (!request)
        return;
    *request_slot = NULL;
    ty_connection_completed(request->connection);
    ty_request_end(request, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
}

void ty_dispatch_connection(void *server, struct MHD_Connection *library, void **connection_slot,
                            enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *connection_slot = ty_connection_open(server, library);
        if (!*connection_slot)
            hang_up(library);
    } else if (*connection_slot) {
        ty_connection_close(*connection_slot);
        *connection_slot = NULL;
    }
}
