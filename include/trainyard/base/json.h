/* JSON in: strict parsing within limits. JSON out: written straight into a buffer, without a tree.
 */
#ifndef TRAINYARD_BASE_JSON_H
#define TRAINYARD_BASE_JSON_H

#include "trainyard/base/buf.h"

#include <jansson.h>

enum { TY_JSON_DEPTH = 32, TY_JSON_MEMBERS = 100000 };

/* Parse one JSON value. Refused with TY_INVALID, code and position in the text:
 *   json_syntax, json_duplicate_key, json_depth (over TY_JSON_DEPTH), json_members (over
 * TY_JSON_MEMBERS values), json_number_range, json_nul (\u0000), json_utf8, json_trailing (bytes
 * after the value), json_empty On success *json_out is a new reference; on failure it is untouched.
 */
ty_status ty_json_parse(const char *bytes, size_t len, json_t **json_out,
                        struct ty_error *err) TY_MUST_CHECK;

/* Apply a merge patch (RFC 7396) to the object `target`, which must be the caller's alone: members
 * of `patch` replace, objects are merged, null removes. Values are copied. TY_NO_MEMORY: `target`
 * may be half changed. */
ty_status ty_json_merge(json_t *target, const json_t *patch, struct ty_error *err) TY_MUST_CHECK;

/* The same with a patch of one member. */
ty_status ty_json_merge_member(json_t *target, const char *key, const json_t *value,
                               struct ty_error *err) TY_MUST_CHECK;

/* Append a text that ty_json_parse has accepted, without the blanks between its values. */
void ty_json_compact(struct ty_buf *buf, const char *json, size_t len);

/* Append to `out` (made empty before), as an array, where the object `to` differs from `from`:
 * objects of {pointer, from, to}, `from` left out where nothing was, `to` where nothing is any
 * more. A value of more than 512 bytes is told as from_bytes or to_bytes; more than 200 places as
 * the members of the whole that differ. */
ty_status ty_json_changes(const json_t *from, const json_t *to, struct ty_buf *out,
                          struct ty_error *err) TY_MUST_CHECK;

/* Append the RFC 6901 form of one reference token (~ and / escaped) after a '/'. */
void ty_json_pointer_add(struct ty_buf *pointer, const char *token);

/* Append `len` bytes as a JSON string with its quotes; control bytes and quotes escaped, ill-formed
 * UTF-8 replaced by U+FFFD. */
void ty_json_quote(struct ty_buf *buf, const char *bytes, size_t len);

/* A writer with comma handling: begin/end, then key and value calls in order. Errors stick in the
 * buffer; more than 64 levels are TY_TOO_LARGE. An example:
 *
 *     ty_json_object(&w);
 *     ty_json_put_string(&w, "id", id);
 *     ty_json_end(&w);
 */
struct ty_json_writer {
    struct ty_buf *buf;
    int depth;
    uint64_t has_items; /* one bit a level */
    uint64_t is_array;
    bool after_key;
};

void ty_json_writer_init(struct ty_json_writer *writer, struct ty_buf *buf);
void ty_json_object(struct ty_json_writer *writer);
void ty_json_array(struct ty_json_writer *writer);
void ty_json_end(struct ty_json_writer *writer); /* the innermost object or array */
void ty_json_key(struct ty_json_writer *writer, const char *key);
void ty_json_string(struct ty_json_writer *writer, const char *text); /* NULL writes null */
void ty_json_string_len(struct ty_json_writer *writer, const char *bytes, size_t len);
void ty_json_int(struct ty_json_writer *writer, int64_t value); /* as a string beyond 2^53, H14 */
void ty_json_bool(struct ty_json_writer *writer, bool value);
void ty_json_null(struct ty_json_writer *writer);
void ty_json_time(struct ty_json_writer *writer, int64_t wall_us);             /* 0 writes null */
void ty_json_raw(struct ty_json_writer *writer, const char *json, size_t len); /* a ready value */
/* A tree with its numbers as they are: real numbers as short as reads back exactly, integers of any
 * size as numbers. */
void ty_json_value(struct ty_json_writer *writer, const json_t *value);

/* Shorthands: key and value. */
void ty_json_put_string(struct ty_json_writer *writer, const char *key, const char *text);
void ty_json_put_int(struct ty_json_writer *writer, const char *key, int64_t value);
void ty_json_put_int_or_null(struct ty_json_writer *writer, const char *key, bool known,
                             int64_t value);
void ty_json_put_bool(struct ty_json_writer *writer, const char *key, bool value);
void ty_json_put_time(struct ty_json_writer *writer, const char *key, int64_t wall_us);

#endif
