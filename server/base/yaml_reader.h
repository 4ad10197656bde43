/* The state of reading one YAML stream: libyaml's parser, the limits that count, and the anchors of
 * the document. */
#ifndef TRAINYARD_SERVER_BASE_YAML_READER_H
#define TRAINYARD_SERVER_BASE_YAML_READER_H

#include "trainyard/base/error.h"
#include "trainyard/base/map.h"

#include <jansson.h>
#include <stdbool.h>
#include <yaml.h>

struct yaml_anchor {
    struct yaml_anchor *next;
    json_t *json; /* NULL while its node is still being read */
};

struct yaml_reader {
    const char *bytes;
    size_t len;
    yaml_parser_t parser;
    yaml_event_t event;     /* the current one; deleted by the next read */
    struct ty_map *anchors; /* the latest of each name; borrowed from the list */
    struct yaml_anchor *anchor_list;
    size_t nodes;
    size_t text;
    int depth;
    struct ty_error *err;
};

/* Begin to read a text in UTF-8; false when there is no memory. A byte order mark before it is
 * stepped over: libyaml takes it for a column of the first line. */
bool ty_yaml_open(yaml_parser_t *parser, const char **bytes, size_t *len) TY_MUST_CHECK;

/* Fail at the start of the current event, as "line L, column C: words". */
ty_status ty_yaml_fail(const struct yaml_reader *reader, const char *words);
ty_status ty_yaml_no_memory(const struct yaml_reader *reader);

/* Go on to the next event. */
ty_status ty_yaml_next(struct yaml_reader *reader) TY_MUST_CHECK;

/* Count one value and its bytes of text; those that an alias copies count too. */
ty_status ty_yaml_count(struct yaml_reader *reader, size_t text) TY_MUST_CHECK;
ty_status ty_yaml_count_text(struct yaml_reader *reader, size_t text) TY_MUST_CHECK;

/* Count one collection and step into it; the caller lowers `depth` behind it. */
ty_status ty_yaml_enter(struct yaml_reader *reader) TY_MUST_CHECK;

/* Note the anchor `name` (NULL: none) of a node that starts. *anchor_out is borrowed, untouched
 * without a name. */
ty_status ty_yaml_anchor_add(struct yaml_reader *reader, const yaml_char_t *name,
                             struct yaml_anchor **anchor_out) TY_MUST_CHECK;

/* The node of an anchor (NULL: of none) is complete. */
void ty_yaml_anchor_set(struct yaml_anchor *anchor, json_t *json);

/* The current event is an alias: copy what it stands for. */
ty_status ty_yaml_alias(struct yaml_reader *reader, json_t **json_out) TY_MUST_CHECK;

/* Anchors live as long as their document. */
void ty_yaml_anchors_forget(struct yaml_reader *reader);

#endif
