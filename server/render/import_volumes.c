/* A pod's volumes, each as what it would be in volumes[] of the spec, by its name: the mounts of
 * the container decide what becomes of it. Names with '_' are ours, on the way. */
#include "annotations.h"
#include "import.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

/* --- claims --- */

/* An object of the job's own, "<object name>-<suffix>" as our renderer calls it. What outlives the
 * job has no mark of it. */
static const char *own_suffix(const struct import *im, const struct import_object *object)
{
    size_t len = im->job.name ? strlen(im->job.name) : 0;
    const json_t *labels = import_get(import_get(object->json, "metadata"), "labels");

    if (!im->ours || len == 0 || !import_get_text(labels, TY_OWN_PREFIX "job-id") ||
        !ty_str_starts(object->name, im->job.name) || object->name[len] != '-')
        return NULL;
    return object->name + len + 1;
}

static void read_claim(struct import *im, const json_t *value)
{
    json_t *volume = im->target;
    const json_t *name = import_get(value, "claimName");
    const json_t *read_only = import_get(value, "readOnly");
    const char *key;
    json_t *member;

    if (!import_is_object(im, value))
        return;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (!ty_str_equal(key, "claimName") && !ty_str_equal(key, "readOnly"))
            import_fault_in(im, key, "unknown_member", "there is no such field here");
    }
    if (read_only && !json_is_boolean(read_only))
        import_fault_in(im, "readOnly", "wrong_type", "must be true or false");
    if (!json_is_string(name)) {
        import_fault_in(im, "claimName", "required", "must be the name of a claim");
        return;
    }
    struct import_object *claim = import_find(im, "PersistentVolumeClaim", json_string_value(name));
    const char *suffix = claim ? own_suffix(im, claim) : NULL;

    if (suffix)
        import_set(im, volume, "_own", json_string(suffix));
    else
        import_set(im, volume, "claim", import_copy(im, name));
    if (claim)
        import_claim(im, claim, volume);
    if (json_is_true(read_only))
        import_set(im, volume, "read_only", json_true());
}

/* --- scratch --- */

static const struct import_choice media[] = {
    {"",       ""      },
    {"Memory", "Memory"},
    {NULL,     NULL    }
};

static void read_medium(struct import *im, const json_t *value)
{
    const char *text = import_choose(im, value, media);

    if (text && text[0] != '\0')
        import_set(im, im->target, "memory", json_true());
}

static void read_size(struct import *im, const json_t *value)
{
    json_t *text = import_quantity(im, value);

    if (text)
        import_set(im, im->target, "size", text);
}

/* clang-format off */
static const struct import_rule scratch_rules[] = {
    FIELD_READ("medium", read_medium, NULL),
    FIELD_READ("sizeLimit", read_size, NULL),
};
/* clang-format on */

static void read_scratch(struct import *im, const json_t *value)
{
    json_t *volume = im->target;

    import_set(im, volume, "scratch", json_object());
    im->target = json_object_get(volume, "scratch");
    if (im->target)
        IMPORT_BY(im, value, scratch_rules);
    im->target = volume;
}

/* --- keys of ConfigMaps and Secrets as files --- */

enum { MODE_FILES = 0644, MODE_READ = 0444, MODE_SCRIPTS = 0555 };

static void check_mode(struct import *im, const json_t *value, const char *member)
{
    const json_t *mode = import_get(value, member);

    int64_t number = json_integer_value(mode);

    if (mode && !json_is_integer(mode))
        import_fault_in(im, member, "wrong_type", "must be a whole number, such as 0o644");
    else if (mode && number != MODE_FILES && number != MODE_READ && number != MODE_SCRIPTS)
        import_fault_in(im, member, "not_supported",
                        "files are for reading, by everyone: remove it");
    else if (number == MODE_SCRIPTS)
        import_set(im, im->target, "_executable", json_true());
}

static void check_keyed(struct import *im, const json_t *value, const char *name_field)
{
    const char *key;
    json_t *member;

    const json_t *items = import_get(value, "items");

    check_mode(im, value, "defaultMode");
    if (items && !json_is_array(items))
        import_fault_in(im, "items", "wrong_type", "must be a list");
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (json_is_null(member) || ty_str_equal(key, name_field) ||
            ty_str_equal(key, "defaultMode") || ty_str_equal(key, "items"))
            continue;
        if (!ty_str_equal(key, "optional"))
            import_fault_in(im, key, "unknown_member", "there is no such field here");
        else if (!json_is_boolean(member))
            import_fault_in(im, key, "wrong_type", "must be true or false");
        else if (json_is_true(member))
            import_fault_in(im, key, "not_supported", "a job waits for what it mounts");
    }
}

/* One of `items`: a key and where its file goes. */
static bool read_item(struct import *im, const json_t *item, const char **key_out,
                      const char **path_out)
{
    const char *name;
    json_t *member;

    *key_out = import_get_text(item, "key");
    *path_out = import_get_text(item, "path");
    if (!*key_out || !*path_out) {
        import_fault(im, "required", "must have a key and a path");
        return false;
    }
    json_object_foreach((json_t *)(uintptr_t)item, name, member)
    {
        if (ty_str_equal(name, "mode"))
            check_mode(im, item, "mode");
        else if (!ty_str_equal(name, "key") && !ty_str_equal(name, "path"))
            import_fault_in(im, name, "unknown_member", "there is no such field here");
    }
    return true;
}

static void add_file(struct import *im, json_t *files, struct import_object *map, const char *key,
                     const char *path)
{
    const char *text = NULL;
    bool binary = false;

    if (!import_map_entry(im, map, key, &text, &binary)) {
        import_fault(im, "not_found", "the ConfigMap %s has no key %s", map->name, key);
        return;
    }
    if (!import_spend(im, strlen(text)))
        return;
    json_t *file = json_pack("{s:s,s:s}", "path", path, "content", text);

    if (binary && file)
        import_set(im, file, "encoding", json_string("base64"));
    import_set(im, file, "_key", json_string(key));
    if (json_array_append_new(files, file) != 0)
        im->no_memory = true;
}

static void add_all(struct import *im, json_t *files, struct import_object *map)
{
    static const char *const sections[] = {"data", "binaryData"};
    const char *key;
    json_t *value;

    for (size_t i = 0; i < 2; i++)
        json_object_foreach((json_t *)(uintptr_t)import_get(map->json, sections[i]), key, value)
        {
            if (json_is_string(value))
                add_file(im, files, map, key, key);
        }
}

static void add_items(struct import *im, json_t *files, struct import_object *map,
                      const json_t *items)
{
    size_t list = import_enter(im, "items");
    size_t index;
    json_t *item;
    const char *key;
    const char *path;

    if (import_is_array(im, items))
        json_array_foreach(items, index, item)
        {
            size_t mark = import_enter_index(im, index);

            if (read_item(im, item, &key, &path))
                add_file(im, files, map, key, path);
            import_leave(im, mark);
        }
    import_leave(im, list);
}

static void read_map(struct import *im, const json_t *value)
{
    const json_t *items = import_get(value, "items");
    const char *name = import_get_text(value, "name");
    struct import_object *map = name ? import_find(im, "ConfigMap", name) : NULL;

    if (!import_is_object(im, value))
        return;
    check_keyed(im, value, "name");
    if (!name)
        import_fault_in(im, "name", "required", "must be the name of a ConfigMap");
    else if (!map)
        import_fault_in(im, "name", "not_found", "the ConfigMap %s is not in this stream", name);
    if (!map)
        return;
    const char *suffix = own_suffix(im, map);

    if (suffix)
        import_set(im, im->target, "_own", json_string(suffix));
    import_set(im, im->target, "files", json_array());
    json_t *files = json_object_get(im->target, "files");

    if (files && items && json_array_size(items) > 0)
        add_items(im, files, map, items);
    else if (files)
        add_all(im, files, map);
}

static void read_secret(struct import *im, const json_t *value)
{
    const json_t *items = import_get(value, "items");
    const json_t *name = import_get(value, "secretName");

    if (!import_is_object(im, value))
        return;
    check_keyed(im, value, "secretName");
    if (!json_is_string(name)) {
        import_fault_in(im, "secretName", "required", "must be the name of a Secret");
        return;
    }
    import_set(im, im->target, "_secret", import_copy(im, name));
    import_set(im, im->target, "_items", json_array());
    size_t list = import_enter(im, "items");
    size_t index;
    json_t *item;
    const char *key;
    const char *path;

    if (json_is_array(items))
        json_array_foreach(items, index, item)
        {
            size_t mark = import_enter_index(im, index);

            if (read_item(im, item, &key, &path) &&
                json_array_append(json_object_get(im->target, "_items"), item) != 0)
                im->no_memory = true;
            import_leave(im, mark);
        }
    import_leave(im, list);
}

/* --- all --- */

static const struct {
    const char *field;
    import_reader *read;
} sources[] = {
    {"persistentVolumeClaim", read_claim  },
    {"emptyDir",              read_scratch},
    {"configMap",             read_map    },
    {"secret",                read_secret },
};

static void read_source(struct import *im, const char *field, const json_t *value)
{
    size_t mark = import_enter(im, field);

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        if (ty_str_equal(sources[i].field, field)) {
            sources[i].read(im, value);
            import_leave(im, mark);
            return;
        }
    import_fault(im, "not_supported",
                 "volumes are persistentVolumeClaim, emptyDir, configMap and secret");
    import_leave(im, mark);
}

static bool has_source(const json_t *volume)
{
    return json_object_get(volume, "claim") || json_object_get(volume, "_own") ||
           json_object_get(volume, "scratch") || json_object_get(volume, "files") ||
           json_object_get(volume, "_secret");
}

static void read_volume(struct import *im, const json_t *value)
{
    const char *name = import_get_text(value, "name");
    const char *key;
    json_t *source;
    size_t found = 0;

    if (!import_is_object(im, value))
        return;
    if (!name)
        import_fault_in(im, "name", "required", "must be a name");
    else if (json_object_get(im->role->volumes, name))
        import_fault_in(im, "name", "conflict", "another volume is called so");
    json_t *volume = import_made(im, json_object());

    im->target = volume;
    json_object_foreach((json_t *)(uintptr_t)value, key, source)
    {
        if (json_is_null(source) || ty_str_equal(key, "name"))
            continue;
        if (found++ == 0 && volume)
            read_source(im, key, source);
        else
            import_fault_in(im, key, "conflict", "a volume has one source");
    }
    if (found == 0)
        import_fault(im, "required", "must have a source, such as persistentVolumeClaim");
    if (volume && !has_source(volume))
        import_set(im, volume, "_refused", json_true());
    import_set(im, volume, "_at", json_string(im->at));
    import_set(im, im->role->volumes, name ? name : "", volume);
    im->target = im->role->values;
}

void import_volumes(struct import *im, const json_t *value)
{
    size_t index;
    json_t *volume;

    if (!import_is_short(im, value))
        return;
    json_array_foreach(value, index, volume)
    {
        size_t mark = import_enter_index(im, index);

        read_volume(im, volume);
        import_leave(im, mark);
    }
}

/* A volume that nothing mounts has no place in the spec. */
void import_check_volumes(struct import *im)
{
    const char *name;
    json_t *volume;

    json_object_foreach(im->role->volumes, name, volume)
    {
        char kept[IMPORT_AT];
        size_t kept_len = im->at_len;

        if (json_object_get(volume, "_used"))
            continue;
        memcpy(kept, im->at, sizeof(kept));
        ty_str_copy(im->at, sizeof(im->at), json_string_value(json_object_get(volume, "_at")));
        im->at_len = strlen(im->at);
        import_fault(im, "not_supported", "nothing mounts the volume %s: remove it", name);
        memcpy(im->at, kept, sizeof(kept));
        im->at_len = kept_len;
    }
}
