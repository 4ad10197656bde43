/* From a response to what the library sends. Here everything that depends on the request is
 * decided: problem documents get their instance, preconditions turn 200 into 304 or 412, ranges cut
 * files, bodies are compressed, and the fields every answer has are added. Runs on the thread that
 * answers, so that HTTP threads do not compress. */
#include "common_fields.h"
#include "cors.h"
#include "etag.h"
#include "gzip.h"
#include "media.h"
#include "request_state.h"
#include "server_state.h"
#include "stream_state.h"
#include "trainyard/base/str.h"
#include "trainyard/http/accept.h"
#include "trainyard/http/range.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    COMPRESS_FROM = 1024,
    STREAM_BLOCK = 1024,
    PROBLEM_MAX = 256 * 1024,
    HEAD_MAX = 10 * 1024,
    HEAD_USUAL = 1000
};

/* What is being made. */
struct draft {
    struct ty_request *request;
    struct ty_response *response;
    struct MHD_Response *reply;
    int status;
    const char *etag; /* as sent, NULL for none */
    char etag_room[TY_ETAG_TEXT];
    uint64_t first; /* of a file's part */
    uint64_t length;
    char content_range[64];
    void *made; /* what `bytes` are when they were made for this answer alone; freed with it */
    const void *bytes;
    size_t len;
    bool gzip;
    struct ty_buf head; /* the fields, as they go out */
    bool negotiable;    /* would have been compressed for another client */
    bool failed;
    bool too_long;
};

/* ---- what to send ---- */

/* Put another response in the place of one that cannot be sent. */
static void replace(struct draft *draft, struct ty_response *other)
{
    ty_response_destroy(draft->response);
    draft->response = other;
}

static void write_document(struct draft *draft)
{
    struct ty_request *request = draft->request;
    struct ty_response *response = draft->response;
    ty_auto_buf buf = {0};
    size_t len;

    ty_buf_init(&buf, PROBLEM_MAX);
    ty_problem_write(&buf, response->problem, response->detail, request->target.path, request->id,
                     response->faults);
    response->bytes = ty_buf_take(&buf, &len);
    response->len = response->bytes ? len : 0;
    response->release = free;
    response->release_context = (void *)(uintptr_t)response->bytes;
    response->content = TY_CONTENT_BYTES;
    draft->failed = !response->bytes;
}

/* If-Match and If-None-Match of a GET (RFC 9110 13.2.2); writes were judged by their handlers. */
static void judge_conditions(struct draft *draft)
{
    struct ty_request *request = draft->request;
    const char *etag = draft->response->etag;
    const char *if_none_match;
    const char *if_match;
    bool matches;

    if (request->method != TY_METHOD_GET || draft->response->status != 200 || !etag[0])
        return;
    if_none_match = ty_request_header(request, "If-None-Match");
    if_match = ty_request_header(request, "If-Match");
    if (if_match && (ty_etag_list_matches(if_match, etag, true, &matches) || !matches))
        replace(draft, ty_response_problem("precondition_failed", NULL, NULL));
    else if (if_none_match && !ty_etag_list_matches(if_none_match, etag, false, &matches) &&
             matches)
        draft->status = 304;
}

/* Whether If-Range, when there is one, names this very version. A date never does: with
 * whole seconds Last-Modified is no strong validator (RFC 9110 8.8.2.2). */
static bool range_holds(struct ty_request *request, const char *etag)
{
    const char *if_range = ty_request_known(request, TY_FIELD_IF_RANGE);
    bool matches = false;

    if (!if_range)
        return true;
    return if_range[0] == '"' && etag[0] && !ty_etag_list_matches(if_range, etag, true, &matches) &&
           matches;
}

static void judge_range(struct draft *draft)
{
    struct ty_request *request = draft->request;
    struct ty_response *response = draft->response;
    const char *range = ty_request_known(request, TY_FIELD_RANGE);
    uint64_t size = response->size;
    struct ty_response *problem;

    draft->length = size;
    if (draft->status != 200 || request->is_head || !range || !range_holds(request, response->etag))
        return;
    switch (ty_range_judge(range, size, &draft->first, &draft->length)) {
    case TY_RANGE_WHOLE:
        break;
    case TY_RANGE_PART:
        draft->status = 206;
        snprintf(draft->content_range, sizeof draft->content_range, "bytes %llu-%llu/%llu",
                 (unsigned long long)draft->first,
                 (unsigned long long)(draft->first + draft->length - 1), (unsigned long long)size);
        break;
    case TY_RANGE_UNSATISFIABLE:
        problem = ty_response_problem("range_not_satisfiable", NULL, NULL);
        snprintf(draft->content_range, sizeof draft->content_range, "bytes */%llu",
                 (unsigned long long)size);
        ty_response_header(problem, "Content-Range", draft->content_range);
        draft->content_range[0] = '\0';
        replace(draft, problem);
        break;
    }
}

/* What is there as gzip alone goes out so, or is inflated for a client that does not take it. */
static void judge_packed(struct draft *draft)
{
    struct ty_response *response = draft->response;
    struct ty_error err;
    ty_auto_buf whole = {0};

    draft->negotiable = true;
    draft->gzip = ty_accept_gzip(ty_request_header(draft->request, "Accept-Encoding")) &&
                  (!response->etag[0] || ty_etag_with_gzip(response->etag, draft->etag_room));
    if (draft->gzip || draft->status == 304) {
        draft->bytes = response->packed;
        draft->len = response->packed_len;
        return;
    }
    ty_buf_init(&whole, response->len + 1); /* one more than it has, to see where it ends */
    if (!ty_gzip_inflate(response->packed, response->packed_len, &whole, &err))
        draft->made = ty_buf_take(&whole, &draft->len);
    draft->bytes = draft->made;
    if (!draft->made)
        replace(draft, ty_response_problem("out_of_memory", NULL, NULL));
}

/* H20: JSON and the like from 1 KiB on, when the client takes it. */
static void judge_coding(struct draft *draft)
{
    struct ty_request *request = draft->request;
    struct ty_response *response = draft->response;

    draft->bytes = response->bytes;
    draft->len = response->len;
    draft->negotiable = response->compress && response->len >= COMPRESS_FROM &&
                        response->media_type && ty_media_compressible(response->media_type);
    if (!draft->negotiable || !ty_accept_gzip(ty_request_header(request, "Accept-Encoding")))
        return;
    if (response->etag[0] && !ty_etag_with_gzip(response->etag, draft->etag_room))
        return;
    if (response->shared) {
        draft->bytes = ty_body_gzip(response->shared, &draft->len);
    } else {
        draft->made = ty_gzip_deflate(response->bytes, response->len, &draft->len);
        draft->bytes = draft->made;
    }
    draft->gzip = draft->bytes != NULL;
    if (!draft->gzip) {
        draft->bytes = response->bytes;
        draft->len = response->len;
    } else if (response->etag[0]) {
        draft->etag = draft->etag_room;
    }
}

/* ---- bodies for the library ---- */

static struct MHD_Response *make_empty(void)
{
    return MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *make_bytes(struct draft *draft)
{
    struct ty_response *response = draft->response;
    void *bytes = (void *)(uintptr_t)draft->bytes;
    struct MHD_Response *reply;

    if (draft->made) {
        reply = MHD_create_response_from_buffer(draft->len, bytes, MHD_RESPMEM_MUST_FREE);
        if (reply)
            draft->made = NULL;
        return reply;
    }
    if (!response->release)
        return MHD_create_response_from_buffer(draft->len, bytes, MHD_RESPMEM_PERSISTENT);
    reply = MHD_create_response_from_buffer_with_free_callback_cls(
        draft->len, bytes, response->release, response->release_context);
    if (reply)
        response->release = NULL; /* the library calls it */
    return reply;
}

static struct MHD_Response *make_file(struct draft *draft)
{
    struct ty_response *response = draft->response;
    struct MHD_Response *reply;

    if (draft->length == 0)
        return make_empty();
    reply = MHD_create_response_from_fd_at_offset64(draft->length, response->fd, draft->first);
    if (reply)
        response->fd = -1; /* the library closes it */
    return reply;
}

static struct MHD_Response *make_stream(struct draft *draft)
{
    struct ty_stream *stream = draft->response->stream;
    struct MHD_Response *reply = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK, ty_stream_reader, stream, ty_stream_finish);

    if (!reply)
        return NULL;
    draft->response->stream = NULL; /* ty_stream_finish drops the reference */
    ty_stream_bind(stream, draft->request->server, draft->request->connection);
    draft->request->reply_stream = true;
    if (draft->request->is_head) /* the library would end a chunked body that HEAD does not have */
        MHD_set_response_options(reply, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    return reply;
}

static struct MHD_Response *make_reply(struct draft *draft)
{
    if (draft->status == 204)
        return make_empty();
    switch (draft->response->content) {
    case TY_CONTENT_BYTES:
        return make_bytes(draft);
    case TY_CONTENT_FILE:
        return make_file(draft);
    case TY_CONTENT_STREAM:
        return make_stream(draft);
    default:
        return make_empty();
    }
}

/* ---- header fields ---- */

static void add(struct draft *draft, const char *name, const char *value)
{
    ty_buf_adds(&draft->head, "\r\n");
    ty_buf_adds(&draft->head, name);
    ty_buf_add(&draft->head, ": ", 2);
    ty_buf_adds(&draft->head, value);
}

static void add_list(struct draft *draft, const struct ty_field_list *list)
{
    for (const struct ty_field_node *node = list->first; node; node = node->next)
        add(draft, node->name, node->value);
}

static void add_representation(struct draft *draft)
{
    const struct ty_response *response = draft->response;

    if (draft->status != 304 && draft->status != 204 && response->media_type)
        add(draft, "Content-Type", response->media_type);
    if (draft->etag)
        add(draft, "ETag", draft->etag);
    if (draft->gzip && draft->status != 304)
        add(draft, "Content-Encoding", "gzip");
    if (draft->negotiable)
        add(draft, "Vary", "Accept-Encoding");
    if (response->content == TY_CONTENT_FILE)
        add(draft, "Accept-Ranges", "bytes");
    if (draft->content_range[0])
        add(draft, "Content-Range", draft->content_range);
}

static void add_cors(struct draft *draft)
{
    const char *const *origins = draft->request->server->options.cors_origins;
    const char *origin = ty_request_known(draft->request, TY_FIELD_ORIGIN);

    if (!origins)
        return;
    add(draft, "Vary", "Origin");
    if (ty_cors_allows(origins, origin)) {
        add(draft, "Access-Control-Allow-Origin", origin);
        add(draft, "Access-Control-Expose-Headers", ty_cors_exposed);
    }
}

/* All fields but Request-Id, each with a line end before it. */
static void write_fields(struct draft *draft)
{
    struct ty_response *response = draft->response;

    add_representation(draft);
    for (size_t i = 0; i < ty_common_field_count; i++)
        if (!ty_field_list_get(&response->fields, ty_common_fields[i].name))
            add(draft, ty_common_fields[i].name, ty_common_fields[i].value);
    add_list(draft, &response->fields);
    add_list(draft, &draft->request->answer_fields);
    add_cors(draft);
}

/* Give all fields to the library as one. It takes three allocations for each field, a third of what
 * an answer costs; so it is given Request-Id with a value of the right length, and its own copy of
 * that value is then overwritten by the value wanted and the lines that follow. Every name and
 * value was checked when it was set (ty_field_sendable): no line ends but ours get in. */
static bool give_fields(struct draft *draft)
{
    size_t len = draft->head.len;
    char *filler = ty_arena_alloc(&draft->request->arena, len + 1);
    char *copy;

    if (!filler)
        return false;
    memset(filler, 'x', len);
    filler[len] = '\0';
    if (MHD_add_response_header(draft->reply, "Request-Id", filler) == MHD_NO)
        return false;
    copy = (char *)(uintptr_t)MHD_get_response_header(draft->reply, "Request-Id");
    if (!copy || strlen(copy) != len)
        return false;
    memcpy(copy, draft->head.data, len);
    return true;
}

static void add_fields(struct draft *draft)
{
    bool close = draft->request->close ||
                 atomic_load_explicit(&draft->request->server->draining, memory_order_relaxed);

    ty_buf_init(&draft->head, HEAD_MAX);
    (void)ty_buf_reserve(&draft->head, HEAD_USUAL); /* in one step */
    ty_buf_adds(&draft->head, draft->request->id);
    write_fields(draft);
    draft->too_long = draft->head.failed == TY_TOO_LARGE;
    if (draft->head.failed || !give_fields(draft))
        draft->failed = true;
    if (close && MHD_add_response_header(draft->reply, "Connection", "close") == MHD_NO)
        draft->failed = true;
    ty_buf_done(&draft->head);
}

/* ---- the whole ---- */

/* Whether the response can be sent as it is; else a problem takes its place. */
static void check_sound(struct draft *draft)
{
    if (!draft->response || draft->response->no_memory)
        replace(draft, ty_response_problem("out_of_memory", NULL, NULL));
    else if (draft->response->bad_field)
        replace(draft, ty_response_problem("internal_error", NULL, NULL));
}

static void draft_reply(struct draft *draft)
{
    check_sound(draft);
    if (!draft->response) {
        draft->failed = true;
        return;
    }
    draft->status = draft->response->status;
    judge_conditions(draft);
    if (draft->response && draft->response->content == TY_CONTENT_FILE)
        judge_range(draft);
    if (draft->response && draft->response->packed)
        judge_packed(draft);
    if (!draft->response) {
        draft->failed = true;
        return;
    }
    if (draft->response->content == TY_CONTENT_PROBLEM) {
        draft->status = draft->response->status;
        write_document(draft);
    }
    draft->etag = !draft->response->etag[0] ? NULL
                  : draft->gzip             ? draft->etag_room
                                            : draft->response->etag;
    if (draft->response->content == TY_CONTENT_BYTES && !draft->response->packed)
        judge_coding(draft);
    draft->reply = draft->failed ? NULL : make_reply(draft);
    if (draft->reply)
        add_fields(draft);
    else
        draft->failed = true;
}

void ty_reply_prepare(struct ty_request *request, struct ty_response *response)
{
    struct draft draft = {.request = request, .response = response};

    draft_reply(&draft);
    free(draft.made);
    ty_response_destroy(draft.response);
    if (draft.failed && draft.reply) {
        MHD_destroy_response(draft.reply);
        draft.reply = NULL;
    }
    if (draft.too_long &&
        !request->reply_too_long) { /* more fields than the library has room for */
        request->reply_too_long = true;
        ty_reply_prepare(request, ty_response_problem("internal_error", NULL, NULL));
        return;
    }
    request->reply = draft.reply; /* NULL: not even a 503 could be made; the connection is closed */
    request->reply_status = draft.status;
}

void ty_reply_discard(struct ty_request *request)
{
    if (request->reply)
        MHD_destroy_response(request->reply);
    request->reply = NULL;
}

void ty_request_answer(struct ty_request *request, struct ty_response *response)
{
    struct ty_http_server *server = request->server;
    struct MHD_Connection *library = request->connection->library;
    ty_answer_state before;

    ty_reply_prepare(request, response);
    before = atomic_exchange(&request->answer,
                             TY_ANSWER_GIVEN); /* from here on the request may be gone */
    if (before == TY_ANSWER_SUSPENDED)
        MHD_resume_connection(library);
    atomic_fetch_sub(&server->handling, 1); /* last: stopping waits for it */
}
