/* A request's head (RFC 9112 3, 5, 6.3): the request line and header fields, read strictly (H26).
 * Pure. */
#ifndef TRAINYARD_HTTP_HEAD_H
#define TRAINYARD_HTTP_HEAD_H

#include "trainyard/base/buf.h"
#include "trainyard/http/request.h"

/* The fields the server itself looks at. */
typedef enum {
    TY_FIELD_ACCEPT,
    TY_FIELD_ACCEPT_ENCODING,
    TY_FIELD_AUTHORIZATION,
    TY_FIELD_CONNECTION,
    TY_FIELD_CONTENT_ENCODING,
    TY_FIELD_CONTENT_LENGTH,
    TY_FIELD_CONTENT_TYPE,
    TY_FIELD_CORS_METHOD,
    TY_FIELD_EXPECT,
    TY_FIELD_HOST,
    TY_FIELD_IDEMPOTENCY_KEY,
    TY_FIELD_IF_MATCH,
    TY_FIELD_IF_NONE_MATCH,
    TY_FIELD_IF_RANGE,
    TY_FIELD_LAST_EVENT_ID,
    TY_FIELD_ORIGIN,
    TY_FIELD_RANGE,
    TY_FIELD_TENANT,
    TY_FIELD_TRACEPARENT,
    TY_FIELD_TRACESTATE,
    TY_FIELD_TRANSFER_ENCODING,
    TY_FIELD_KNOWN
} ty_field_id;

/* What is wrong with bytes from the wire: a code of the catalogue and words; both static. */
struct ty_wire_fault {
    const char *code; /* NULL: nothing is */
    const char *detail;
};

struct ty_head {
    struct ty_head *next; /* in whichever list holds it */
    struct ty_buf
        raw; /* the bytes, from the method to the empty line; NULs are put in by parsing */

    ty_method method; /* TY_METHOD_COUNT: a token that is none of ours */
    const char *target;
    bool http10;
    bool close; /* the client wants, or HTTP/1.0 implies, that this is the last request */
    bool chunked;
    bool expect_continue;
    bool expect_unknown;
    uint64_t content_length; /* 0 when chunked or absent */

    struct ty_parameter *fields; /* in the order sent */
    unsigned field_count;
    unsigned field_capacity;
    const char *known[TY_FIELD_KNOWN]; /* the first value of each, or NULL */
    uint32_t repeated;                 /* one bit for each known field that came more than once */
};

struct ty_head *ty_head_create(size_t max_bytes); /* NULL: no memory */
void ty_head_destroy(struct ty_head *head);       /* takes NULL */
void ty_head_clear(struct ty_head *head);         /* for the next request; keeps its memory */

/* Parse the complete head in `raw` (lines end with CR LF, the last is empty: the reader saw to
 * that). False with *fault_out when it breaks a rule; the head is then good for nothing but clear
 * and destroy. */
bool ty_head_parse(struct ty_head *head, struct ty_wire_fault *fault_out);

/* The known field of that name (any case), TY_FIELD_KNOWN for any other. */
ty_field_id ty_field_find(const char *name, size_t len);

/* Whether `text` may stand in Host: a name, an IPv4 address or a bracketed IPv6 address, perhaps a
 * port. */
bool ty_host_valid(const char *text);

#endif
