/* A response's insides, for the files that make and send them. */
#ifndef TRAINYARD_HTTP_RESPONSE_STATE_H
#define TRAINYARD_HTTP_RESPONSE_STATE_H

#include "arena.h"
#include "trainyard/http/conditional.h"
#include "trainyard/http/problem.h"
#include "trainyard/http/response.h"

#include <stdatomic.h>

typedef enum {
    TY_CONTENT_NONE,
    TY_CONTENT_BYTES, /* released by `release(release_context)` */
    TY_CONTENT_FILE,
    TY_CONTENT_STREAM,
    TY_CONTENT_PROBLEM
} ty_content;

struct ty_field_node {
    struct ty_field_node *next;
    const char *name;
    const char *value;
};

struct ty_field_list {
    struct ty_field_node *first;
    struct ty_field_node *last;
};

struct ty_response {
    int status;
    ty_content content;
    const char *media_type;

    const void *bytes;
    size_t len;
    void (*release)(void *context);
    void *release_context;
    struct ty_body *shared; /* set when `bytes` are its own, for its gzip form */
    const void *packed;     /* set when there is a gzip form alone: `bytes` are NULL */
    size_t packed_len;

    int fd;
    uint64_t size;

    struct ty_stream *stream;

    const struct ty_problem_kind *problem;
    const char *detail;
    struct ty_faults *faults;

    struct ty_field_list fields;
    char etag[TY_ETAG_TEXT];
    bool compress;
    bool no_memory;
    bool bad_field; /* a header field could not be sent */
    struct ty_arena arena;
    _Alignas(max_align_t) char text[512];
};

/* A field in `list`, copied into `arena`. False: no memory. */
bool ty_field_list_add(struct ty_field_list *list, struct ty_arena *arena, const char *name,
                       const char *value);
const char *ty_field_list_get(const struct ty_field_list *list, const char *name);

/* Whether name and value may be sent. */
bool ty_field_sendable(const char *name, const char *value);

/* The gzip form of a shared body, made once; NULL when nothing would be saved or no memory is left.
 */
const void *ty_body_gzip(struct ty_body *body, size_t *len_out);

#endif
