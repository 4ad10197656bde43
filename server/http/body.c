/* Ready-made bodies that many answers share. */
#include "gzip.h"
#include "response_state.h"

#include <stdlib.h>
#include <string.h>

/* The compressed form; len 0 says that there is none worth having. */
struct packed {
    size_t len;
    void *bytes;
};

struct ty_body {
    atomic_uint refs;
    _Atomic(struct packed *) packed; /* NULL until first wanted */
    const char *media_type;
    const char *etag; /* or NULL */
    size_t len;
    char data[]; /* the bytes, then the two texts */
};

struct ty_body *ty_body_create(const char *media_type, const char *etag, const void *bytes,
                               size_t len)
{
    size_t type_size = strlen(media_type) + 1;
    size_t etag_size = etag ? strlen(etag) + 1 : 0;
    struct ty_body *body = malloc(sizeof *body + len + type_size + etag_size);

    if (!body)
        return NULL;
    atomic_init(&body->refs, 1);
    atomic_init(&body->packed, NULL);
    body->len = len;
    if (len)
        memcpy(body->data, bytes, len);
    body->media_type = memcpy(body->data + len, media_type, type_size);
    body->etag = etag ? memcpy(body->data + len + type_size, etag, etag_size) : NULL;
    return body;
}

struct ty_body *ty_body_ref(struct ty_body *body)
{
    atomic_fetch_add_explicit(&body->refs, 1, memory_order_relaxed);
    return body;
}

void ty_body_unref(struct ty_body *body)
{
    struct packed *packed;

    if (!body || atomic_fetch_sub_explicit(&body->refs, 1, memory_order_acq_rel) != 1)
        return;
    packed = atomic_load(&body->packed);
    if (packed)
        free(packed->bytes);
    free(packed);
    free(body);
}

const char *ty_body_etag(const struct ty_body *body)
{
    return body->etag;
}

const void *ty_body_bytes(const struct ty_body *body, size_t *len_out)
{
    *len_out = body->len;
    return body->data;
}

static struct packed *pack(const struct ty_body *body)
{
    struct packed *packed = calloc(1, sizeof *packed);

    if (packed)
        packed->bytes = ty_gzip_deflate(body->data, body->len, &packed->len);
    if (packed && !packed->bytes)
        packed->len = 0;
    return packed;
}

const void *ty_body_gzip(struct ty_body *body, size_t *len_out)
{
    struct packed *packed = atomic_load(&body->packed);
    struct packed *none = NULL;

    if (!packed) {
        packed = pack(body);
        if (!packed)
            return NULL;
        if (!atomic_compare_exchange_strong(&body->packed, &none, packed)) {
            free(packed->bytes); /* another thread was first */
            free(packed);
            packed = none;
        }
    }
    *len_out = packed->len;
    return packed->bytes;
}

static void release_body(void *body)
{
    ty_body_unref(body);
}

struct ty_response *ty_response_body(int status, struct ty_body *body)
{
    struct ty_response *response =
        ty_response_borrowed(status, body->media_type, body->etag, body->data, body->len,
                             release_body, ty_body_ref(body));

    if (response)
        response->shared = body;
    return response;
}
