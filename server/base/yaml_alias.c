#include "trainyard/base/scope.h"
#include "yaml_reader.h"

#include <stdbool.h>
#include <stdint.h>

ty_status ty_yaml_anchor_add(struct yaml_reader *reader, const yaml_char_t *name,
                             struct yaml_anchor **anchor_out)
{
    struct yaml_anchor *anchor;

    if (!name)
        return TY_OK;
    anchor = calloc(1, sizeof(*anchor));
    if (!anchor)
        return ty_yaml_no_memory(reader);
    anchor->next = reader->anchor_list;
    reader->anchor_list = anchor;
    if (ty_map_put(reader->anchors, (const char *)name, anchor))
        return ty_yaml_no_memory(reader);
    *anchor_out = anchor;
    return TY_OK;
}

void ty_yaml_anchor_set(struct yaml_anchor *anchor, json_t *json)
{
    if (anchor)
        anchor->json = json_incref(json);
}

static ty_status copy_node(struct yaml_reader *reader, const json_t *node, json_t **json_out);

static ty_status copy_object(struct yaml_reader *reader, const json_t *node, json_t *copy)
{
    json_t *original = (json_t *)(uintptr_t)node; /* iterators only read it */

    for (void *at = json_object_iter(original); at; at = json_object_iter_next(original, at)) {
        json_t *value = NULL;
        ty_status status = ty_yaml_count_text(reader, json_object_iter_key_len(at));

        if (!status)
            status = copy_node(reader, json_object_iter_value(at), &value);
        if (status)
            return status;
        if (json_object_set_new_nocheck(copy, json_object_iter_key(at), value))
            return ty_yaml_no_memory(reader);
    }
    return TY_OK;
}

static ty_status copy_array(struct yaml_reader *reader, const json_t *node, json_t *copy)
{
    for (size_t i = 0; i < json_array_size(node); i++) {
        json_t *value = NULL;
        ty_status status = copy_node(reader, json_array_get(node, i), &value);

        if (status)
            return status;
        if (json_array_append_new(copy, value))
            return ty_yaml_no_memory(reader);
    }
    return TY_OK;
}

/* A copy, so that no two places of the result share a value. */
static ty_status copy_node(struct yaml_reader *reader, const json_t *node, json_t **json_out)
{
    bool scalar = !json_is_object(node) && !json_is_array(node);
    ty_status status =
        scalar ? ty_yaml_count(reader, json_string_length(node)) : ty_yaml_enter(reader);
    ty_auto_json copy = NULL;

    if (status)
        return status;
    if (scalar)
        copy = json_copy((json_t *)(uintptr_t)node);
    else
        copy = json_is_object(node) ? json_object() : json_array();
    if (!copy)
        return ty_yaml_no_memory(reader);
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

static ty_status find_anchor(struct yaml_reader *reader, const json_t **json_out)
{
    const char *name = (const char *)reader->event.data.alias.anchor;
    const struct yaml_anchor *anchor = ty_map_get(reader->anchors, name);

    if (!anchor)
        return ty_yaml_fail(reader, "an alias of an anchor that was not set before");
    if (!anchor->json)
        return ty_yaml_fail(reader, "an alias of the value that it is a part of");
    *json_out = anchor->json;
    return TY_OK;
}

ty_status ty_yaml_alias(struct yaml_reader *reader, json_t **json_out)
{
    const json_t *original = NULL;
    ty_status status = find_anchor(reader, &original);

    return status ? status : copy_node(reader, original, json_out);
}

void ty_yaml_anchors_forget(struct yaml_reader *reader)
{
    while (reader->anchor_list) {
        struct yaml_anchor *anchor = reader->anchor_list;

        reader->anchor_list = anchor->next;
        json_decref(anchor->json);
        free(anchor);
    }
    ty_map_destroy(reader->anchors);
    reader->anchors = NULL;
}
