#include "contract/strip.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *key, const char *const *keys)
{
    while (*keys && strcmp(*keys, key) != 0)
        keys++;
    return *keys != NULL;
}

/* Members of these are called by their owner's choice: "description" may be the name of a property.
 */
static const char *const maps[] = {"properties", "schemas", "paths", "responses", "content", NULL};

/* Words for people, wherever they stand. */
static const char *const words[] = {
    "description", "summary", "title",           "examples",   "example",
    "links",       "tags",    "headers",         "deprecated", "x-extensible-enum",
    "info",        "servers", "securitySchemes", NULL};

static void strip_words(json_t *json, bool is_map)
{
    const char *key;
    json_t *value;
    void *next;
    size_t index;

    json_object_foreach_safe(json, next, key, value)
    {
        if (!is_map && is_one_of(key, words))
            (void)json_object_del(json, key);
        else
            strip_words(value, !is_map && is_one_of(key, maps));
    }
    json_array_foreach(json, index, value)
    {
        strip_words(value, false);
    }
}

/* Of answers only the media types of success stay. */
static void strip_answers(json_t *responses)
{
    const char *status;
    const char *type;
    json_t *response;
    json_t *media;
    void *next;

    json_object_foreach_safe(responses, next, status, response)
    {
        json_t *content = json_object_get(response, "content");

        if (status[0] != '2') {
            (void)json_object_del(responses, status);
            continue;
        }
        json_object_foreach(content, type, media)
        {
            (void)json_object_clear(media);
        }
    }
}

static void strip_bodies(json_t *document)
{
    json_t *paths = json_object_get(document, "paths");
    const char *path;
    const char *method;
    json_t *item;
    json_t *operation;

    json_object_foreach(paths, path, item)
    {
        json_object_foreach(item, method, operation)
        {
            strip_answers(json_object_get(operation, "responses"));
        }
    }
}

static bool refers_to(const json_t *json, const char *reference)
{
    const char *own = json_string_value(json_object_get(json, "$ref"));
    const char *key;
    json_t *value;
    size_t index;

    if (own && strcmp(own, reference) == 0)
        return true;
    json_object_foreach((json_t *)json, key, value)
    {
        if (refers_to(value, reference))
            return true;
    }
    json_array_foreach(json, index, value)
    {
        if (refers_to(value, reference))
            return true;
    }
    return false;
}

static bool strip_unused(json_t *document, const char *kind)
{
    json_t *components = json_object_get(json_object_get(document, "components"), kind);
    const char *name;
    json_t *component;
    void *next;
    bool removed = false;

    json_object_foreach_safe(components, next, name, component)
    {
        char reference[256];

        (void)snprintf(reference, sizeof reference, "#/components/%s/%s", kind, name);
        if (refers_to(document, reference))
            continue;
        (void)json_object_del(components, name);
        removed = true;
    }
    return removed;
}

void ty_contract_strip(json_t *document)
{
    strip_words(document, false);
    strip_bodies(document);
    (void)strip_unused(document, "responses");
    while (strip_unused(document, "schemas"))
        continue;
}
