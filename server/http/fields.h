/* The small grammars that header field values share (RFC 9110 5.6): tokens, lists, quoted strings,
 * qualities. Pure. */
#ifndef TRAINYARD_HTTP_FIELDS_H
#define TRAINYARD_HTTP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of a field value; not NUL-ended. */
struct ty_slice {
    const char *data;
    size_t len;
};

/* What a byte may be part of. */
enum {
    TY_BYTE_TOKEN = 1,  /* tchar (RFC 9110 5.6.2) */
    TY_BYTE_TARGET = 2, /* a request target as we read it: RFC 3986 without what it forbids, '[' and
                           ']' allowed */
    TY_BYTE_HOST = 4    /* reg-name or IPv4 (RFC 3986 3.2.2) */
};
extern const unsigned char ty_byte_classes[256];

static inline bool ty_is_tchar(unsigned char c)
{
    return ty_byte_classes[c] & TY_BYTE_TOKEN;
}

/* What may stand in a field value or a chunk's extension that we read (RFC 9110 5.5): no control
 * byte but the tab. */
static inline bool ty_is_value_byte(unsigned char c)
{
    return (c >= ' ' && c != 0x7f) || c == '\t';
}

/* -1: no hexadecimal digit. */
static inline int ty_hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

/* Whether all bytes are visible ASCII, blanks or tabs: what may stand in a field value we
 * send. */
bool ty_field_value_sendable(const char *value);

/* The next non-empty element of a comma-separated list, blanks trimmed; commas inside quoted
 * strings do not split. Moves *cursor; false at the end. */
bool ty_list_next(const char **cursor, struct ty_slice *element_out);

/* Whether a list such as Connection's names `token` (any case). */
bool ty_list_has(const char *list, const char *token);

/* Split "text/html;q=0.5;v=1" at its first ';': the name goes to *name_out (trimmed), parameters
 * stay in *rest_out. */
void ty_slice_split(struct ty_slice element, struct ty_slice *name_out, struct ty_slice *rest_out);

/* The value of parameter `name` in ";a=1;b=\"x\"", quotes removed (no escapes); false when absent.
 */
bool ty_slice_parameter(struct ty_slice rest, const char *name, struct ty_slice *value_out);

bool ty_slice_equal(struct ty_slice slice, const char *text); /* any case */

/* The quality 0..1000 of an element's parameters: 1000 without q, -1 when it cannot be read. */
int ty_slice_quality(struct ty_slice rest);

#endif
