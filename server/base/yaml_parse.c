#include "trainyard/base/yaml.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "yaml_reader.h"
#include "yaml_scalar.h"

#include <errno.h>
#include <math.h>

/* libyaml's events become a tree of JSON values, one function for each kind of node. */

#define TAG "tag:yaml.org,2002:"

static ty_status read_node(struct yaml_reader *reader, json_t **json_out);

/* Scalars. */

static ty_status make_text(struct yaml_reader *reader, const char *text, size_t len,
                           json_t **json_out)
{
    if (memchr(text, '\0', len))
        return ty_yaml_fail(reader, "a text holds the character U+0000");
    if (!ty_utf8_valid(text, len))
        return ty_yaml_fail(reader, "not well-formed UTF-8");
    *json_out = json_stringn_nocheck(text, len);
    return *json_out ? TY_OK : ty_yaml_no_memory(reader);
}

static ty_status make_integer(struct yaml_reader *reader, const char *text, int base,
                              json_t **json_out)
{
    long long value;
    char *end;

    errno = 0;
    value = strtoll(text, &end, base);
    if (errno == ERANGE || *end != '\0')
        return ty_yaml_fail(reader, "a number is out of range");
    *json_out = json_integer(value);
    return *json_out ? TY_OK : ty_yaml_no_memory(reader);
}

static ty_status make_real(struct yaml_reader *reader, const char *text, json_t **json_out)
{
    double value = strtod(text, NULL);

    if (!isfinite(value))
        return ty_yaml_fail(reader, "a number is out of range");
    *json_out = json_real(value);
    return *json_out ? TY_OK : ty_yaml_no_memory(reader);
}

static ty_status make_scalar(struct yaml_reader *reader, yaml_kind kind, json_t **json_out)
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
        return ty_yaml_fail(reader, "a number that is not finite");
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

static ty_status scalar_kind(const struct yaml_reader *reader, yaml_kind *kind_out)
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
            return ty_yaml_fail(reader, "the text does not fit its tag");
        *kind_out = kind;
        return TY_OK;
    }
    return ty_yaml_fail(reader, "a tag that is not supported");
}

static ty_status read_scalar(struct yaml_reader *reader, json_t **json_out)
{
    struct yaml_anchor *anchor = NULL;
    ty_auto_json json = NULL;
    yaml_kind kind = YAML_TEXT;
    ty_status status = ty_yaml_count(reader, reader->event.data.scalar.length);

    if (!status)
        status = ty_yaml_anchor_add(reader, reader->event.data.scalar.anchor, &anchor);
    if (!status)
        status = scalar_kind(reader, &kind);
    if (!status)
        status = make_scalar(reader, kind, &json);
    if (status)
        return status;
    ty_yaml_anchor_set(anchor, json);
    *json_out = ty_steal(&json);
    return TY_OK;
}

/* Collections. */

static ty_status enter_tagged(struct yaml_reader *reader, const yaml_char_t *tag,
                              const char *expected)
{
    if (tag && !ty_str_equal((const char *)tag, "!") && !ty_str_equal((const char *)tag, expected))
        return ty_yaml_fail(reader, "a tag that is not supported");
    return ty_yaml_enter(reader);
}

static ty_status read_items(struct yaml_reader *reader, json_t *array)
{
    for (;;) {
        json_t *item = NULL;
        ty_status status = ty_yaml_next(reader);

        if (status)
            return status;
        if (reader->event.type == YAML_SEQUENCE_END_EVENT)
            return TY_OK;
        status = read_node(reader, &item);
        if (status)
            return status;
        if (json_array_append_new(array, item))
            return ty_yaml_no_memory(reader);
    }
}

static ty_status read_sequence(struct yaml_reader *reader, json_t **json_out)
{
    struct yaml_anchor *anchor = NULL;
    ty_auto_json array = NULL;
    ty_status status = enter_tagged(reader, reader->event.data.sequence_start.tag, TAG "seq");

    if (!status)
        status = ty_yaml_anchor_add(reader, reader->event.data.sequence_start.anchor, &anchor);
    if (status)
        return status;
    array = json_array();
    status = array ? read_items(reader, array) : ty_yaml_no_memory(reader);
    if (status)
        return status;
    reader->depth--;
    ty_yaml_anchor_set(anchor, array);
    *json_out = ty_steal(&array);
    return TY_OK;
}

/* YAML 1.1's merge of mappings: left as a member it would hide what it was to bring in. */
static bool is_merge(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT && event->data.scalar.plain_implicit &&
           ty_str_equal((const char *)event->data.scalar.value, "<<");
}

static ty_status read_key(struct yaml_reader *reader, const json_t *object, json_t **key_out)
{
    ty_auto_json key = NULL;
    ty_status status = TY_OK;

    if (is_merge(&reader->event))
        return ty_yaml_fail(reader, "merge keys are not of YAML 1.2: write the members out");
    if (reader->event.type == YAML_SCALAR_EVENT)
        status = read_scalar(reader, &key);
    else if (reader->event.type == YAML_ALIAS_EVENT)
        status = ty_yaml_alias(reader, &key);
    if (status)
        return status;
    if (!json_is_string(key))
        return ty_yaml_fail(reader, "a key is not text");
    if (json_object_get(object, json_string_value(key)))
        return ty_yaml_fail(reader, "a mapping has the same key twice");
    *key_out = ty_steal(&key);
    return TY_OK;
}

static ty_status read_members(struct yaml_reader *reader, json_t *object)
{
    for (;;) {
        ty_auto_json key = NULL;
        json_t *value = NULL;
        ty_status status = ty_yaml_next(reader);

        if (status)
            return status;
        if (reader->event.type == YAML_MAPPING_END_EVENT)
            return TY_OK;
        status = read_key(reader, object, &key);
        if (!status)
            status = ty_yaml_next(reader);
        if (!status)
            status = read_node(reader, &value);
        if (status)
            return status;
        if (json_object_set_new_nocheck(object, json_string_value(key), value))
            return ty_yaml_no_memory(reader);
    }
}

static ty_status read_mapping(struct yaml_reader *reader, json_t **json_out)
{
    struct yaml_anchor *anchor = NULL;
    ty_auto_json object = NULL;
    ty_status status = enter_tagged(reader, reader->event.data.mapping_start.tag, TAG "map");

    if (!status)
        status = ty_yaml_anchor_add(reader, reader->event.data.mapping_start.anchor, &anchor);
    if (status)
        return status;
    object = json_object();
    status = object ? read_members(reader, object) : ty_yaml_no_memory(reader);
    if (status)
        return status;
    reader->depth--;
    ty_yaml_anchor_set(anchor, object);
    *json_out = ty_steal(&object);
    return TY_OK;
}

/* Read the node that the current event starts; the last event of the node is then the current one.
 */
static ty_status read_node(struct yaml_reader *reader, json_t **json_out)
{
    switch (reader->event.type) {
    case YAML_ALIAS_EVENT:
        return ty_yaml_alias(reader, json_out);
    case YAML_SCALAR_EVENT:
        return read_scalar(reader, json_out);
    case YAML_SEQUENCE_START_EVENT:
        return read_sequence(reader, json_out);
    case YAML_MAPPING_START_EVENT:
        return read_mapping(reader, json_out);
    default:
        return ty_yaml_fail(reader, "not YAML");
    }
}

/* Documents. */

/* Anchors live as long as their document. The current event is its start, then its end. */
static ty_status read_document(struct yaml_reader *reader, json_t **json_out)
{
    ty_auto_json json = NULL;
    ty_status status;

    if (ty_map_create(NULL, &reader->anchors))
        return ty_yaml_no_memory(reader);
    status = ty_yaml_next(reader);
    if (!status)
        status = read_node(reader, &json);
    if (!status)
        status = ty_yaml_next(reader);
    ty_yaml_anchors_forget(reader);
    if (status)
        return status;
    *json_out = ty_steal(&json);
    return TY_OK;
}

static ty_status read_stream(struct yaml_reader *reader, size_t max, json_t *documents)
{
    ty_status status = ty_yaml_next(reader);

    while (!status) {
        json_t *document = NULL;

        status = ty_yaml_next(reader);
        if (status || reader->event.type == YAML_STREAM_END_EVENT)
            break;
        if (json_array_size(documents) == max)
            return ty_yaml_fail(reader, max == 1 ? "more than one document" : "too many documents");
        status = read_document(reader, &document);
        if (!status && json_array_append_new(documents, document))
            status = ty_yaml_no_memory(reader);
    }
    return status;
}

ty_status ty_yaml_parse_stream(const char *bytes, size_t len, size_t max, json_t **array_out,
                               struct ty_error *err)
{
    struct yaml_reader reader = {.bytes = bytes, .len = len, .err = err};
    ty_auto_json documents = json_array();
    ty_status status;

    if (!documents || !ty_yaml_open(&reader.parser, &reader.bytes, &reader.len))
        return ty_yaml_no_memory(&reader);
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
