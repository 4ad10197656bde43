/* YAML 1.2 (core schema) to JSON values and back; the only place with libyaml. */
#ifndef TRAINYARD_BASE_YAML_H
#define TRAINYARD_BASE_YAML_H

#include "trainyard/base/buf.h"

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

/* Append `value` as one block-style document; every string that a YAML 1.1 or 1.2 reader could take
 * for something else is quoted. The sticky failure of `buf` tells the rest. */
void ty_yaml_write(struct ty_buf *buf, const json_t *value);

#endif
