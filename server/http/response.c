/* Making answers; sending them is answer.c's. */
#include "trainyard/http/response.h"

#include "etag.h"
#include "fields.h"
#include "response_state.h"
#include "trainyard/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Fields that belong to the server or the library (RFC 9110 7.6.1, 8.6, 6.6). */
static const char *const own_fields[] = {"Connection", "Content-Length", "Date", "Trailer",
                                         "Transfer-Encoding"};

static struct ty_response *create(int status, ty_content content, const char *media_type)
{
    struct ty_response *response = malloc(sizeof *response);

    if (!response)
        return NULL;
    memset(response, 0, offsetof(struct ty_response, text));
    response->status = status;
    response->content = content;
    response->media_type = media_type;
    response->compress = true;
    response->fd = -1;
    ty_arena_init(&response->arena, response->text, sizeof response->text);
    return response;
}

void ty_response_destroy(struct ty_response *response)
{
    if (!response)
        return;
    if (response->release)
        response->release(response->release_context);
    if (response->fd >= 0)
        close(response->fd);
    ty_stream_unref(response->stream);
    free(response->faults);
    ty_arena_reset(&response->arena);
    free(response);
}

struct ty_response *ty_response_empty(int status)
{
    return create(status, TY_CONTENT_NONE, NULL);
}

struct ty_response *ty_response_borrowed(int status, const char *media_type, const char *etag,
                                         const void *bytes, size_t len,
                                         void (*release)(void *context), void *context)
{
    struct ty_response *response = create(status, TY_CONTENT_BYTES, media_type);

    if (!response) {
        if (release)
            release(context);
        return NULL;
    }
    response->bytes = bytes;
    response->len = len;
    response->release = release;
    response->release_context = context;
    if (etag)
        ty_response_etag(response, etag);
    return response;
}

struct ty_response *ty_response_bytes(int status, const char *media_type, void *bytes, size_t len,
                                      void (*release)(void *bytes))
{
    return ty_response_borrowed(status, media_type, NULL, bytes, len, release, bytes);
}

struct ty_response *ty_response_packed(int status, const char *media_type, const void *packed,
                                       size_t packed_len, size_t len)
{
    struct ty_response *response = create(status, TY_CONTENT_BYTES, media_type);

    if (!response)
        return NULL;
    response->packed = packed;
    response->packed_len = packed_len;
    response->len = len;
    return response;
}

struct ty_response *ty_response_buf(int status, const char *media_type, struct ty_buf *buf)
{
    size_t len;
    char *bytes = ty_buf_take(buf, &len);

    return bytes ? ty_response_bytes(status, media_type, bytes, len, free) : NULL;
}

struct ty_response *ty_response_file(const char *media_type, int fd, uint64_t size)
{
    struct ty_response *response = create(200, TY_CONTENT_FILE, media_type);

    if (!response) {
        close(fd);
        return NULL;
    }
    response->fd = fd;
    response->size = size;
    return response;
}

struct ty_response *ty_response_stream(int status, const char *media_type, struct ty_stream *stream)
{
    struct ty_response *response = create(status, TY_CONTENT_STREAM, media_type);

    if (!response) {
        ty_stream_unref(stream);
        return NULL;
    }
    response->stream = stream;
    ty_response_header(response, "X-Accel-Buffering", "no");
    return response;
}

struct ty_response *ty_response_problem(const char *code, const char *detail,
                                        const struct ty_faults *faults)
{
    const struct ty_problem_kind *kind = ty_problem_find(code);
    struct ty_response *response;

    if (!kind) {
        kind = ty_problem_of_status(TY_INTERNAL);
        detail = NULL;
    }
    response = create(kind->status, TY_CONTENT_PROBLEM, "application/problem+json");
    if (!response)
        return NULL;
    response->problem = kind;
    if (detail) {
        response->detail = ty_arena_dup(&response->arena, detail);
        response->no_memory = !response->detail;
    }
    if (faults && ty_faults_any(faults)) {
        response->faults = malloc(sizeof *faults);
        if (response->faults)
            *response->faults = *faults;
        else
            response->no_memory = true;
    }
    if (kind->status == 429 || kind->status == 503)
        ty_response_retry_after(response, 1);
    return response;
}

struct ty_response *ty_response_error(const struct ty_error *err, const struct ty_faults *faults)
{
    return ty_response_problem(ty_problem_of_error(err)->code, ty_problem_detail(err), faults);
}

bool ty_field_list_add(struct ty_field_list *list, struct ty_arena *arena, const char *name,
                       const char *value)
{
    struct ty_field_node *node = ty_arena_alloc(arena, sizeof *node);

    if (!node)
        return false;
    node->next = NULL;
    node->name = ty_arena_dup(arena, name);
    node->value = ty_arena_dup(arena, value);
    if (!node->name || !node->value)
        return false;
    if (list->last)
        list->last->next = node;
    else
        list->first = node;
    list->last = node;
    return true;
}

const char *ty_field_list_get(const struct ty_field_list *list, const char *name)
{
    for (const struct ty_field_node *node = list->first; node; node = node->next)
        if (strcasecmp(node->name, name) == 0)
            return node->value;
    return NULL;
}

bool ty_field_sendable(const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof own_fields / sizeof *own_fields; i++)
        if (strcasecmp(own_fields[i], name) == 0)
            return false;
    for (const char *at = name; *at; at++)
        if (!ty_is_tchar((unsigned char)*at))
            return false;
    return *name && ty_field_value_sendable(value);
}

void ty_response_header(struct ty_response *response, const char *name, const char *value)
{
    if (!response)
        return;
    if (!ty_field_sendable(name, value))
        response->bad_field = true;
    else if (!ty_field_list_add(&response->fields, &response->arena, name, value))
        response->no_memory = true;
}

void ty_response_etag(struct ty_response *response, const char *etag)
{
    if (!response)
        return;
    if (!ty_etag_valid(etag) || !ty_field_value_sendable(etag) ||
        !ty_str_copy(response->etag, sizeof response->etag, etag))
        response->bad_field = true;
}

void ty_response_location(struct ty_response *response, const char *uri_reference)
{
    ty_response_header(response, "Location", uri_reference);
}

/* Replace the value rather than add a second field: a problem starts with 1. */
void ty_response_retry_after(struct ty_response *response, unsigned seconds)
{
    char text[16];

    if (!response)
        return;
    snprintf(text, sizeof text, "%u", seconds ? seconds : 1);
    for (struct ty_field_node *node = response->fields.first; node; node = node->next) {
        if (!ty_str_equal(node->name, "Retry-After"))
            continue;
        node->value = ty_arena_dup(&response->arena, text);
        response->no_memory = response->no_memory || !node->value;
        return;
    }
    ty_response_header(response, "Retry-After", text);
}

/* Append `name` as an RFC 8187 value: UTF-8, all but attr-char escaped. */
static void add_extended(struct ty_buf *buf, const char *name, size_t len)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&+-.^_`|~";

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i];

        if (c && strchr(plain, c))
            ty_buf_addc(buf, (char)c);
        else
            ty_buf_addf(buf, "%%%02X", c);
    }
}

void ty_response_attachment(struct ty_response *response, const char *name)
{
    size_t len = strlen(name);
    char *repaired = malloc(3 * len + 1);
    size_t used;
    ty_auto_buf value = {0};

    ty_buf_init(&value, 64 + 12 * len);
    if (!response || !repaired) {
        free(repaired);
        if (response)
            response->no_memory = true;
        return;
    }
    ty_buf_adds(&value, "attachment; filename=\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i];
        bool plain = c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '%';

        ty_buf_addc(&value, plain ? (char)c : '_');
    }
    ty_buf_adds(&value, "\"; filename*=UTF-8''");
    len = ty_utf8_repair(name, len, true, repaired, &used);
    add_extended(&value, repaired, len);
    free(repaired);
    if (value.failed)
        response->no_memory = true;
    else
        ty_response_header(response, "Content-Disposition", value.data);
}

void ty_response_compress(struct ty_response *response, bool allowed)
{
    if (response)
        response->compress = allowed;
}

int ty_response_status(const struct ty_response *response)
{
    return response ? response->status : 503;
}

const char *ty_response_media_type(const struct ty_response *response)
{
    return response ? response->media_type : NULL;
}

const char *ty_response_header_value(const struct ty_response *response, const char *name)
{
    if (!response)
        return NULL;
    if (strcasecmp(name, "ETag") == 0)
        return response->etag[0] ? response->etag : NULL;
    return ty_field_list_get(&response->fields, name);
}

const void *ty_response_bytes_of(const struct ty_response *response, size_t *len_out)
{
    *len_out = response ? response->len : 0;
    return response ? response->bytes : NULL;
}
