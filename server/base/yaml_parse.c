#include "trainyard/base/yaml.h"

#include "trainyard/base/map.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "yaml_scalar.h"

#include <errno.h>
#include <math.h>
#include <yaml.h>

/* libyaml's events become a tree of JSON values, one function for each kind of node. Every node and
 * every byte of text counts against a limit, those that an alias copies too: a few lines of aliases
 * can stand for gigabytes. */

enum { NODES_MAX = 100000, DEPTH_MAX = 64, TEXT_MAX = 16 * 1024 * 1024 };

#define TAG "tag:yaml.org,2002:"

struct anchor {
    struct anchor *next;
    json_t *json; /* NULL while its node is still being read */
};

struct reader {
    const char *bytes;
    size_t len;
    yaml_parser_t parser;
    yaml_event_t event;     /* the current one; deleted by the next read */
    struct ty_map *anchors; /* the latest of each name; borrowed from the list */
    struct anchor *anchor_list;
    size_t nodes;
    size_t text;
    int depth;
    struct ty_error *err;
};

static ty_status read_node(struct reader *reader, json_t **json_out);

static ty_status fail_at(const struct reader *reader, yaml_mark_t mark, const char *words)
{
    return ty_fail(reader->err, TY_INVALID, "line %zu, column %zu: %s", mark.line + 1,
                   mark.column + 1, words);
}

static ty_status fail_here(const struct reader *reader, const char *words)
{
    return fail_at(reader, reader->event.start_mark, words);
}

static ty_status fail_no_memory(const struct reader *reader)
{
    return ty_fail(reader->err, TY_NO_MEMORY, "no memory to parse YAML");
}

/* libyaml's reader runs ahead of its scanner: its errors carry an offset and no mark. */
static yaml_mark_t mark_of(const struct reader *reader, size_t offset)
{
    yaml_mark_t mark = {0};

    for (size_t at = 0; at < offset && at < reader->len; at++) {
        if (reader->bytes[at] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)reader->bytes[at] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

static ty_status next_event(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;

    yaml_event_delete(&reader->event);
    if (yaml_parser_parse(&reader->parser, &reader->event))
        return TY_OK;
    switch (parser->error) {
    case YAML_MEMORY_ERROR:
        return fail_no_memory(reader);
    case YAML_READER_ERROR:
        return fail_at(reader, mark_of(reader, parser->problem_offset),
                       "a character that YAML does not allow");
    default:
        return fail_at(reader, parser->problem_mark,
                       parser->problem ? parser->problem : "not YAML");
    }
}

static ty_status count_text(struct reader *reader, size_t text)
{
    if (text > TEXT_MAX - reader->text)
        return fail_here(reader, "more than 16 MiB of text, aliases counted");
    reader->text += text;
    return TY_OK;
}

static ty_status count_node(struct reader *reader, size_t text)
{
    if (++reader->nodes > NODES_MAX)
        return fail_here(reader, "more than 100000 values, aliases counted");
    return count_text(reader, text);
}

static ty_status enter(struct reader *reader)
{
    if (++reader->depth > DEPTH_MAX)
        return fail_here(reader, "nested deeper than 64 levels");
    return count_node(reader, 0);
}

/* Aliases. */

static ty_status add_anchor(struct reader *reader, const yaml_char_t *name,
                            struct anchor **anchor_out)
{
    struct anchor *anchor;

    if (!name)
        return TY_OK;
    anchor = calloc(1, sizeof(*anchor));
    if (!anchor)
        return fail_no_memory(reader);
    anchor->next = reader->anchor_list;
    reader->anchor_list = anchor;
    if (ty_map_put(reader->anchors, (const char *)name, anchor))
        return fail_no_memory(reader);
    *anchor_out = anchor;
    return TY_OK;
}

static void set_anchor(struct anchor *anchor, json_t *json)
{
    if (anchor)
        anchor->json = json_incref(json);
}

static ty_status copy_node(struct reader *reader, const json_t *node, json_t **json_out);

static ty_status copy_object(struct reader *reader, const json_t *node, json_t *copy)
{
    json_t *original = (json_t *)(uintptr_t)node; /* iterators only read it */

    for (void *at = json_object_iter(original); at; at = json_object_iter_next(original, at)) {
        json_t *value;
        ty_status status = count_text(reader, json_object_iter_key_len(at));

        if (!status)
            status = copy_node(reader, json_object_iter_value(at), &value);
        if (status)
            return status;
        if (json_object_set_new_nocheck(copy, json_object_iter_key(at), value))
            return fail_no_memory(reader);
    }
    return TY_OK;
}

static ty_status copy_array(struct reader *reader, const json_t *node, json_t *copy)
{
    for (size_t i = 0; i < json_array_size(node); i++) {
        json_t *value;
        ty_status status = copy_node(reader, json_array_get(node, i), &value);

        if (status)
            return status;
        if (json_array_append_new(copy, value))
            return fail_no_memory(reader);
    }
    return TY_OK;
}

/* A copy, so that no two places of the result share a value. */
static ty_status copy_node(struct reader *reader, const json_t *node, json_t **json_out)
{
    bool scalar = !json_is_object(node) && !json_is_array(node);
    ty_status status = scalar ? count_node(reader, json_string_length(node)) : enter(reader);
    ty_auto_json copy = NULL;

    if (status)
        return status;
    if (scalar)
        copy = json_copy((json_t *)(uintptr_t)node);
    else
        copy = json_is_object(node) ? json_object() : json_array();
    if (!copy)
        return fail_no_memory(reader);
    if (!scalar) {
        status =
            json_is_object(node) ? copy_object(reader, node, copy) : copy_array(reader, node, copy);
        reader->depth--;
    }
    if (status)
        return status;
    *json_out = ty_steal(&copy);
    return TY_OK;
}

static ty_status find_anchor(struct reader *reader, const json_t **json_out)
{
    const char *name = (const char *)reader->event.data.alias.anchor;
    const struct anchor *anchor = ty_map_get(reader->anchors, name);

    if (!anchor)
        return fail_here(reader, "an alias of an anchor that was not set before");
    if (!anchor->json)
        return fail_here(reader, "an alias of the value that it is a part of");
    *json_out = anchor->json;
    return TY_OK;
}

static ty_status read_alias(struct reader *reader, json_t **json_out)
{
    const json_t *original;
    ty_status status = find_anchor(reader, &original);

    return status ? status : copy_node(reader, original, json_out);
}

/* Scalars. */

static ty_status make_text(struct reader *reader, const char *text, size_t len, json_t **json_out)
{
    if (memchr(text, '\0', len))
        return fail_here(reader, "a text holds the character U+0000");
    if (!ty_utf8_valid(text, len))
        return fail_here(reader, "not well-formed UTF-8");
    *json_out = json_stringn_nocheck(text, len);
    return *json_out ? TY_OK : fail_no_memory(reader);
}

static ty_status make_integer(struct reader *reader, const char *text, int base, json_t **json_out)
{
    long long value;
    char *end;

    errno = 0;
    value = strtoll(text, &end, base);
    if (errno == ERANGE || *end != '\0')
        return fail_here(reader, "a number is out of range");
    *json_out = json_integer(value);
    return *json_out ? TY_OK : fail_no_memory(reader);
}

static ty_status make_real(struct reader *reader, const char *text, json_t **json_out)
{
    double value = strtod(text, NULL);

    if (!isfinite(value))
        return fail_here(reader, "a number is out of range");
    *json_out = json_real(value);
    return *json_out ? TY_OK : fail_no_memory(reader);
}

static ty_status make_scalar(struct reader *reader, yaml_kind kind, json_t **json_out)
{
    const char *text = (const char *)reader->event.data.scalar.value;

    switch (kind) {
    case YAML_NULL:
        *json_out = json_null();
        return TY_OK;
    case YAML_TRUE:
    case YAML_FALSE:
        *json_out = json_boolean(kind == YAML_TRUE);
        return TY_OK;
    case YAML_INTEGER:
        return make_integer(reader, text, 10, json_out);
    case YAML_INTEGER_OCTAL:
        return make_integer(reader, text + 2, 8, json_out);
    case YAML_INTEGER_HEX:
        return make_integer(reader, text + 2, 16, json_out);
    case YAML_REAL:
        return make_real(reader, text, json_out);
    case YAML_NOT_FINITE:
        return fail_here(reader, "a number that is not finite");
    case YAML_TEXT:
        break;
    }
    return make_text(reader, text, reader->event.data.scalar.length, json_out);
}

/* The kinds an explicit tag admits, as a set of bits. */
static const struct {
    const char *tag;
    unsigned kinds;
} scalar_tags[] = {
    {TAG "null",  1u << YAML_NULL                                                       },
    {TAG "bool",  1u << YAML_TRUE | 1u << YAML_FALSE                                    },
    {TAG "int",   1u << YAML_INTEGER | 1u << YAML_INTEGER_OCTAL | 1u << YAML_INTEGER_HEX},
    {TAG "float", 1u << YAML_REAL | 1u << YAML_NOT_FINITE                               },
};

static ty_status scalar_kind(const struct reader *reader, yaml_kind *kind_out)
{
    const char *tag = (const char *)reader->event.data.scalar.tag;
    const char *text = (const char *)reader->event.data.scalar.value;
    yaml_kind kind = ty_yaml_kind(text, reader->event.data.scalar.length);

    if (!tag) {
        *kind_out = reader->event.data.scalar.plain_implicit ? kind : YAML_TEXT;
        return TY_OK;
    }
    if (ty_str_equal(tag, "!") || ty_str_equal(tag, TAG "str")) {
        *kind_out = YAML_TEXT;
        return TY_OK;
    }
    for (size_t i = 0; i < sizeof(scalar_tags) / sizeof(scalar_tags[0]); i++) {
        if (!ty_str_equal(tag, scalar_tags[i].tag))
            continue;
        if (!(scalar_tags[i].kinds >> kind & 1))
            return fail_here(reader, "the text does not fit its tag");
        *kind_out = kind;
        return TY_OK;
    }
    return fail_here(reader, "a tag that is not supported");
}

static ty_status read_scalar(struct reader *reader, json_t **json_out)
{
    struct anchor *anchor = NULL;
    ty_auto_json json = NULL;
    yaml_kind kind;
    ty_status status = count_node(reader, reader->event.data.scalar.length);

    if (!status)
        status = add_anchor(reader, reader->event.data.scalar.anchor, &anchor);
    if (!status)
        status = scalar_kind(reader, &kind);
    if (!status)
        status = make_scalar(reader, kind, &json);
    if (status)
        return status;
    set_anchor(anchor, json);
    *json_out = ty_steal(&json);
    return TY_OK;
}

/* Collections. */

static ty_status enter_tagged(struct reader *reader, const yaml_char_t *tag, const char *expected)
{
    if (tag && !ty_str_equal((const char *)tag, "!") && !ty_str_equal((const char *)tag, expected))
        return fail_here(reader, "a tag that is not supported");
    return enter(reader);
}

static ty_status read_items(struct reader *reader, json_t *array)
{
    for (;;) {
        json_t *item = NULL;
        ty_status status = next_event(reader);

        if (status)
            return status;
        if (reader->event.type == YAML_SEQUENCE_END_EVENT)
            return TY_OK;
        status = read_node(reader, &item);
        if (status)
            return status;
        if (json_array_append_new(array, item))
            return fail_no_memory(reader);
    }
}

static ty_status read_sequence(struct reader *reader, json_t **json_out)
{
    struct anchor *anchor = NULL;
    ty_auto_json array = NULL;
    ty_status status = enter_tagged(reader, reader->event.data.sequence_start.tag, TAG "seq");

    if (!status)
        status = add_anchor(reader, reader->event.data.sequence_start.anchor, &anchor);
    if (status)
        return status;
    array = json_array();
    status = array ? read_items(reader, array) : fail_no_memory(reader);
    if (status)
        return status;
    reader->depth--;
    set_anchor(anchor, array);
    *json_out = ty_steal(&array);
    return TY_OK;
}

static ty_status read_key(struct reader *reader, const json_t *object, json_t **key_out)
{
    ty_auto_json key = NULL;
    ty_status status = TY_OK;

    if (reader->event.type == YAML_SCALAR_EVENT)
        status = read_scalar(reader, &key);
    else if (reader->event.type == YAML_ALIAS_EVENT)
        status = read_alias(reader, &key);
    if (status)
        return status;
    if (!json_is_string(key))
        return fail_here(reader, "a key is not text");
    if (json_object_get(object, json_string_value(key)))
        return fail_here(reader, "a mapping has the same key twice");
    *key_out = ty_steal(&key);
    return TY_OK;
}

static ty_status read_members(struct reader *reader, json_t *object)
{
    for (;;) {
        ty_auto_json key = NULL;
        json_t *value = NULL;
        ty_status status = next_event(reader);

        if (status)
            return status;
        if (reader->event.type == YAML_MAPPING_END_EVENT)
            return TY_OK;
        status = read_key(reader, object, &key);
        if (!status)
            status = next_event(reader);
        if (!status)
            status = read_node(reader, &value);
        if (status)
            return status;
        if (json_object_set_new_nocheck(object, json_string_value(key), value))
            return fail_no_memory(reader);
    }
}

static ty_status read_mapping(struct reader *reader, json_t **json_out)
{
    struct anchor *anchor = NULL;
    ty_auto_json object = NULL;
    ty_status status = enter_tagged(reader, reader->event.data.mapping_start.tag, TAG "map");

    if (!status)
        status = add_anchor(reader, reader->event.data.mapping_start.anchor, &anchor);
    if (status)
        return status;
    object = json_object();
    status = object ? read_members(reader, object) : fail_no_memory(reader);
    if (status)
        return status;
    reader->depth--;
    set_anchor(anchor, object);
    *json_out = ty_steal(&object);
    return TY_OK;
}

/* Read the node that the current event starts; the last event of the node is then the current one.
 */
static ty_status read_node(struct reader *reader, json_t **json_out)
{
    switch (reader->event.type) {
    case YAML_ALIAS_EVENT:
        return read_alias(reader, json_out);
    case YAML_SCALAR_EVENT:
        return read_scalar(reader, json_out);
    case YAML_SEQUENCE_START_EVENT:
        return read_sequence(reader, json_out);
    case YAML_MAPPING_START_EVENT:
        return read_mapping(reader, json_out);
    default:
        return fail_here(reader, "not YAML");
    }
}

/* Documents. */

static void forget_anchors(struct reader *reader)
{
    while (reader->anchor_list) {
        struct anchor *anchor = reader->anchor_list;

        reader->anchor_list = anchor->next;
        json_decref(anchor->json);
        free(anchor);
    }
    ty_map_destroy(reader->anchors);
    reader->anchors = NULL;
}

/* Anchors live as long as their document. The current event is its start, then its end. */
static ty_status read_document(struct reader *reader, json_t **json_out)
{
    ty_auto_json json = NULL;
    ty_status status;

    if (ty_map_create(NULL, &reader->anchors))
        return fail_no_memory(reader);
    status = next_event(reader);
    if (!status)
        status = read_node(reader, &json);
    if (!status)
        status = next_event(reader);
    forget_anchors(reader);
    if (status)
        return status;
    *json_out = ty_steal(&json);
    return TY_OK;
}

static ty_status read_stream(struct reader *reader, size_t max, json_t *documents)
{
    ty_status status = next_event(reader);

    while (!status) {
        json_t *document;

        status = next_event(reader);
        if (status || reader->event.type == YAML_STREAM_END_EVENT)
            break;
        if (json_array_size(documents) == max)
            return fail_here(reader, max == 1 ? "more than one document" : "too many documents");
        status = read_document(reader, &document);
        if (!status && json_array_append_new(documents, document))
            status = fail_no_memory(reader);
    }
    return status;
}

ty_status ty_yaml_parse_stream(const char *bytes, size_t len, size_t max, json_t **array_out,
                               struct ty_error *err)
{
    struct reader reader = {.bytes = bytes, .len = len, .err = err};
    ty_auto_json documents = json_array();
    ty_status status;

    if (!documents || !yaml_parser_initialize(&reader.parser))
        return fail_no_memory(&reader);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)bytes, len);
    status = read_stream(&reader, max, documents);
    yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    if (status)
        return status;
    *array_out = ty_steal(&documents);
    return TY_OK;
}

ty_status ty_yaml_parse(const char *bytes, size_t len, json_t **json_out, struct ty_error *err)
{
    ty_auto_json documents = NULL;
    ty_status status = ty_yaml_parse_stream(bytes, len, 1, &documents, err);

    if (status)
        return status;
    if (json_array_size(documents) == 0)
        return ty_fail(err, TY_INVALID, "line 1, column 1: there is no document");
    *json_out = json_incref(json_array_get(documents, 0));
    return TY_OK;
}
