/* YAML 1.2 (core schema) to JSON values and back; the only place with libyaml. */
#ifndef TRAINYARD_BASE_YAML_H
#define TRAINYARD_BASE_YAML_H

#include "trainyard/base/buf.h"
#include "trainyard/base/faults.h"

#include <jansson.h>

/* Parse one document. Plain scalars follow the core schema of YAML 1.2 (`no` and `0755` stay text,
 * `0o755`, `1e3`,
 * `~` and `true` do not); aliases are expanded within limits (100,000 nodes and keys, 16 MiB of
 * text, depth 64); duplicate keys and non-string keys are refused. TY_INVALID with "line L, column
 * C: …" otherwise; *json_out untouched then. */
ty_status ty_yaml_parse(const char *bytes, size_t len, json_t **json_out,
                        struct ty_error *err) TY_MUST_CHECK;

/* The same for a stream of at most `max` documents: *array_out is a JSON array of them, empty for
 * an empty stream. The limits count over the whole stream. */
ty_status ty_yaml_parse_stream(const char *bytes, size_t len, size_t max, json_t **array_out,
                               struct ty_error *err) TY_MUST_CHECK;

/* Where a value stands in a stream: `line` and `column` count from 1. */
struct ty_yaml_place {
    size_t document;     /* in: which document of the stream, from 0 */
    const char *pointer; /* in: RFC 6901, into that document */
    size_t line;         /* out: 0 when the stream has no such document */
    size_t column;
};

/* Find places in a text that ty_yaml_parse_stream took: where the key of a member or an item of a
 * list begins. A place that is not there has that of the innermost value around it (a value behind
 * an alias: that of the alias). One walk for all of them, to be done once there are faults. */
ty_status ty_yaml_locate(const char *bytes, size_t len, struct ty_yaml_place *places, size_t count,
                         struct ty_error *err) TY_MUST_CHECK;

/* Give every fault at a pointer the line and column of its place, and put all in their order. */
ty_status ty_yaml_place_faults(const char *bytes, size_t len, struct ty_faults *faults,
                               struct ty_error *err) TY_MUST_CHECK;

/* Where a text that was refused is wrong: what the words of ty_yaml_parse begin with, as numbers.
 * False (and both 0) when they do not begin so. */
bool ty_yaml_error_place(const struct ty_error *err, size_t *line_out, size_t *column_out);

/* Append `value` as one block-style document; every string that a YAML 1.1 or 1.2 reader could take
 * for something else is quoted. The sticky failure of `buf` tells the rest. */
void ty_yaml_write(struct ty_buf *buf, const json_t *value);

#endif
