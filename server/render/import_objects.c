/* What the job brings along: ConfigMaps, whose keys become parameters, variables and files, and
 * claims that are made with the job. */
#include "import.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

struct import_object *import_find(struct import *im, const char *kind, const char *name)
{
    for (size_t i = 0; i < im->object_count; i++) {
        struct import_object *object = &im->objects[i];

        if (object->name && ty_str_equal(object->name, name) &&
            ty_str_equal(import_get_text(object->json, "kind"), kind)) {
            object->used = true;
            return object;
        }
    }
    return NULL;
}

void import_use_key(struct import *im, struct import_object *map, const char *key)
{
    import_set(im, map->keys, key, json_true());
}

bool import_map_entry(struct import *im, struct import_object *map, const char *key,
                      const char **text_out, bool *binary_out)
{
    const char *text = import_get_text(import_get(map->json, "data"), key);
    const char *binary = import_get_text(import_get(map->json, "binaryData"), key);

    if (!text && !binary)
        return false;
    import_use_key(im, map, key);
    *text_out = text ? text : binary;
    *binary_out = !text;
    return true;
}

/* --- ConfigMap --- */

static void read_word(struct import *im, const json_t *value)
{
    (void)im;
    (void)value; /* judged when the stream was sorted */
}

static void read_texts(struct import *im, const json_t *value)
{
    const char *key;
    json_t *item;

    if (!import_is_object(im, value))
        return;
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        size_t mark = import_enter(im, key);

        (void)import_text(im, item);
        import_leave(im, mark);
    }
}

/* clang-format off */
static const struct import_rule map_rules[] = {
    FIELD_READ("apiVersion", read_word, NULL),
    FIELD_READ("kind", read_word, NULL),
    FIELD_READ("metadata", import_object_metadata, NULL),
    FIELD_READ("data", read_texts, NULL),
    FIELD_READ("binaryData", read_texts, NULL),
    FIELD_REFUSED("immutable", "false", "the gateway has no such setting"),
};
/* clang-format on */

/* --- PersistentVolumeClaim --- */

static const struct import_choice modes[] = {
    {"ReadWriteOnce", "read_write_once"},
    {"ReadWriteMany", "read_write_many"},
    {"ReadOnlyMany",  "read_only_many" },
    {NULL,            NULL             }
};

static void read_modes(struct import *im, const json_t *value)
{
    if (!import_is_array(im, value))
        return;
    if (json_array_size(value) != 1) {
        import_fault(im, "not_supported", "must be one mode: %s",
                     json_array_size(value) == 0 ? "there is none" : "a claim has one here");
        return;
    }
    size_t mark = import_enter_index(im, 0);
    const char *mode = import_choose(im, json_array_get(value, 0), modes);

    if (mode && !ty_str_equal(mode, "read_write_once"))
        import_set(im, im->target, "access_mode", json_string(mode));
    import_leave(im, mark);
}

static void read_storage(struct import *im, const json_t *value)
{
    json_t *text = import_quantity(im, value);

    if (text)
        import_set(im, im->target, "size", text);
}

static void read_class(struct import *im, const json_t *value)
{
    if (import_text(im, value))
        import_set(im, im->target, "storage_class", import_copy(im, value));
}

/* clang-format off */
static const struct import_rule storage_rules[] = {
    FIELD_READ("storage", read_storage, NULL),
};
/* clang-format on */

static void read_requests(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, storage_rules);
    if (json_is_object(value) && !import_get(value, "storage"))
        import_fault_in(im, "storage", "required", "is missing");
}

/* clang-format off */
static const struct import_rule claim_resources_rules[] = {
    FIELD_READ("requests", read_requests, NULL),
    FIELD_REFUSED("limits", "{}", "a claim is as large as what it requests"),
};
/* clang-format on */

static void read_claim_resources(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, claim_resources_rules);
    if (json_is_object(value) && !import_get(value, "requests"))
        import_fault_in(im, "requests", "required", "is missing");
}

static const char no_member[] = "the gateway has no such setting";

/* clang-format off */
static const struct import_rule claim_rules[] = {
    FIELD_READ("accessModes", read_modes, NULL),
    FIELD_READ("resources", read_claim_resources, NULL),
    FIELD_READ("storageClassName", read_class, NULL),
    FIELD_REFUSED("volumeMode", "\"Filesystem\"", "jobs mount file systems"),
    FIELD_REFUSED("volumeName", "\"\"", "is not for jobs of a tenant"),
    FIELD_REFUSED("selector", "{}", "is not for jobs of a tenant"),
    FIELD_REFUSED("dataSource", NULL, no_member),
    FIELD_REFUSED("dataSourceRef", NULL, no_member),
    FIELD_REFUSED("volumeAttributesClassName", "\"\"", no_member),
};
/* clang-format on */

static void read_claim_spec(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, claim_rules);
    if (!json_is_object(value))
        return;
    if (!import_get(value, "accessModes"))
        import_fault_in(im, "accessModes", "required", "is missing");
    if (!import_get(value, "resources"))
        import_fault_in(im, "resources", "required", "is missing");
}

/* clang-format off */
static const struct import_rule claim_object_rules[] = {
    FIELD_READ("apiVersion", read_word, NULL),
    FIELD_READ("kind", read_word, NULL),
    FIELD_READ("metadata", import_object_metadata, NULL),
    FIELD_READ("spec", read_claim_spec, NULL),
    FIELD_REFUSED("status", "{}", "is written by the cluster: remove it"),
};
/* clang-format on */

/* --- both --- */

static void check_keys(struct import *im, const struct import_object *map)
{
    static const char *const sections[] = {"data", "binaryData"};
    const char *key;
    json_t *value;

    for (size_t i = 0; i < 2; i++)
        json_object_foreach((json_t *)(uintptr_t)import_get(map->json, sections[i]), key, value)
        {
            size_t mark = import_enter(im, sections[i]);

            if (json_is_string(value) && !json_object_get(map->keys, key))
                import_fault_in(im, key, "not_supported", "nothing uses this key: remove it");
            import_leave(im, mark);
        }
}

void import_check_used(struct import *im)
{
    for (size_t i = 0; i < im->object_count; i++) {
        import_go(im, &im->objects[i]);
        if (!im->objects[i].used)
            import_fault(im, "not_supported", "the job does not use this object: remove it");
        else
            check_keys(im, &im->objects[i]);
    }
}

/* Once an object, before the job: its faults do not depend on who uses it. */
void import_object_fields(struct import *im, struct import_object *object)
{
    bool claim = ty_str_equal(import_get_text(object->json, "kind"), "PersistentVolumeClaim");
    ty_auto_json create = import_made(im, json_object());

    object->keys = import_made(im, json_object());
    import_go(im, object);
    if (!object->name)
        import_fault_in(im, "metadata", "required", "must have a name");
    im->target = create;
    if (claim && create)
        IMPORT_BY(im, object->json, claim_object_rules);
    else if (create)
        IMPORT_BY(im, object->json, map_rules);
    if (claim && !import_get(object->json, "spec"))
        import_fault_in(im, "spec", "required", "is missing");
    object->create = claim ? json_incref(create) : NULL;
    import_aim(im, NULL);
}

/* The claim's object makes the volume one that is created; which one tells where faults are. */
void import_claim(struct import *im, const struct import_object *object, json_t *volume)
{
    import_set(im, volume, "create", import_copy(im, object->create));
    import_set(im, volume, "_object", json_integer(object - im->objects));
}
