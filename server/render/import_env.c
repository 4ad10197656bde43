/* Variables: plain ones, keys of Secrets, and those of the stream's ConfigMaps. */
#include "import.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

/* --- variables that the gateway's renderer adds --- */

/* They say where results go, by which backend replicas talk and where training reports to; the rest
 * of them is made anew. MLflow's are ours only behind the first of ours. */
static const struct {
    const char *variable;
    bool kept;
} own_variables[] = {
    {"TRAINYARD_JOB_ID",          true },
    {"TRAINYARD_JOB_NAME",        false},
    {"TRAINYARD_RESUME_FROM",     false},
    {"TRAINYARD_BACKEND",         true },
    {"TRAINYARD_OUTPUT_DIR",      true },
    {"TRAINYARD_CHECKPOINT_DIR",  true },
    {"TRAINYARD_TENSORBOARD_DIR", true },
    {"MLFLOW_TRACKING_URI",       true },
    {"MLFLOW_EXPERIMENT_NAME",    true },
    {"MLFLOW_RUN_NAME",           true },
};

static bool read_own(struct import *im, const char *name, const char *text)
{
    bool began = json_object_get(im->role->own, "TRAINYARD_JOB_ID") != NULL;

    if (!im->ours || (!began && !ty_str_equal(name, "TRAINYARD_JOB_ID")))
        return false;
    for (size_t i = 0; i < sizeof(own_variables) / sizeof(own_variables[0]); i++) {
        if (!ty_str_equal(own_variables[i].variable, name))
            continue;
        if (own_variables[i].kept)
            import_set(im, im->role->own, name, json_string(text));
        return true;
    }
    return false;
}

/* --- one variable --- */

static void put_variable(struct import *im, const char *name, const char *text)
{
    import_set(im, im->role->variables, name, json_string(text));
    if (read_own(im, name, text))
        return;
    struct import_target before = import_into(im, "env", false);

    import_put(im, name, json_string(text));
    import_back(im, before);
}

/* A source is one of several kinds: none is a mistake, as is a second one. */
static bool has_one(struct import *im, const json_t *source)
{
    size_t given = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)source, key, value)
    {
        given += json_is_null(value) ? 0 : 1;
    }
    if (given != 1)
        import_fault(im, given == 0 ? "required" : "conflict", "must have one source");
    return given == 1;
}

/* A reference to a key of an object, or (without `keyed`) to the whole of it. */
static bool check_reference(struct import *im, const json_t *reference, bool keyed)
{
    size_t before = im->faults->count + im->faults->dropped;
    const char *field;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)reference, field, value)
    {
        bool text = ty_str_equal(field, "name") || (keyed && ty_str_equal(field, "key"));

        if (json_is_null(value) || (text && json_is_string(value)))
            continue;
        if (text)
            import_fault_in(im, field, "wrong_type", "must be text");
        else if (!ty_str_equal(field, "optional"))
            import_fault_in(im, field, "unknown_member", "there is no such field here");
        else if (!json_is_boolean(value))
            import_fault_in(im, field, "wrong_type", "must be true or false");
        else if (json_is_true(value))
            import_fault_in(im, field, "not_supported", "a job waits for what it refers to");
    }
    return im->faults->count + im->faults->dropped == before;
}

static void read_secret(struct import *im, const char *name, const json_t *reference)
{
    const char *secret = import_get_text(reference, "name");
    const char *key = import_get_text(reference, "key");

    if (!secret || !key) {
        import_fault(im, "required", "must have the name and the key of a Secret");
        return;
    }
    import_set(im, im->role->variables, name, json_null());
    struct import_target list = import_into(im, "secrets", true);
    struct import_target before = import_into_last(im);

    import_put(im, "name", json_string(secret));
    import_put(im, "key", json_string(key));
    import_put(im, "env", json_string(name));
    import_back(im, before);
    import_back(im, list);
}

static void read_map_key(struct import *im, const char *name, const json_t *reference)
{
    const char *map_name = import_get_text(reference, "name");
    const char *key = import_get_text(reference, "key");
    struct import_object *map = map_name ? import_find(im, "ConfigMap", map_name) : NULL;
    const char *text = NULL;
    bool binary = false;

    if (!map_name || !key)
        import_fault(im, "required", "must have the name and the key of a ConfigMap");
    else if (!map)
        import_fault(im, "not_found", "the ConfigMap %s is not in this stream", map_name);
    else if (!import_map_entry(im, map, key, &text, &binary) || binary)
        import_fault(im, "not_found", "the ConfigMap %s has no text under that key", map_name);
    if (!text || binary || !import_spend(im, strlen(text)))
        return;
    struct import_target before = import_into(im, "env", false);

    import_set(im, im->role->variables, name, json_string(text));
    import_put(im, name, json_string(text));
    import_back(im, before);
}

typedef void reference_reader(struct import *im, const char *name, const json_t *reference);

static void read_source(struct import *im, const char *name, const json_t *source)
{
    static const struct {
        const char *field;
        reference_reader *read;
    } sources[] = {
        {"secretKeyRef",    read_secret },
        {"configMapKeyRef", read_map_key}
    };
    const char *key;
    json_t *value;

    if (!import_is_object(im, source) || !has_one(im, source))
        return;
    json_object_foreach((json_t *)(uintptr_t)source, key, value)
    {
        size_t mark = import_enter(im, key);
        reference_reader *read = NULL;

        for (size_t i = 0; i < 2; i++)
            if (ty_str_equal(sources[i].field, key))
                read = sources[i].read;
        if (read && !json_is_null(value) && import_is_object(im, value) &&
            check_reference(im, value, true))
            read(im, name, value);
        else if (!read && !json_is_null(value))
            import_fault(im, "not_supported",
                         "a variable is text or a key of a Secret or ConfigMap");
        import_leave(im, mark);
    }
}

static void read_value(struct import *im, const char *name, const json_t *variable)
{
    const json_t *value = import_get(variable, "value");
    const json_t *source = import_get(variable, "valueFrom");

    if (source) {
        size_t mark = import_enter(im, "valueFrom");

        if (value)
            import_fault(im, "conflict", "cannot go with value");
        else
            read_source(im, name, source);
        import_leave(im, mark);
        return;
    }
    size_t mark = import_enter(im, "value");
    const char *raw = value ? import_text(im, value) : "";
    ty_auto_free char *text = raw ? import_unescape(im, raw, false) : NULL;

    import_leave(im, mark);
    if (text)
        put_variable(im, name, text);
}

static void read_variable(struct import *im, const json_t *variable)
{
    const json_t *name = import_get(variable, "name");
    const char *key;
    json_t *value;

    if (!import_is_object(im, variable))
        return;
    json_object_foreach((json_t *)(uintptr_t)variable, key, value)
    {
        if (!ty_str_equal(key, "name") && !ty_str_equal(key, "value") &&
            !ty_str_equal(key, "valueFrom"))
            import_fault_in(im, key, "unknown_member", "there is no such field here");
    }
    if (!json_is_string(name)) {
        import_fault_in(im, "name", "required", "must be a variable's name");
        return;
    }
    const char *text = json_string_value(name);

    if (json_object_get(im->role->named, text))
        import_fault_in(im, "name", "conflict", "the variable %s is there twice", text);
    import_set(im, im->role->named, text, json_true());
    read_value(im, text, variable);
}

void import_env(struct import *im, const json_t *value)
{
    size_t index;
    json_t *variable;

    if (!import_is_array(im, value))
        return;
    json_array_foreach(value, index, variable)
    {
        size_t mark = import_enter_index(im, index);

        read_variable(im, variable);
        import_leave(im, mark);
    }
}

/* --- whole ConfigMaps --- */

static void read_map(struct import *im, const json_t *reference)
{
    const char *name = import_get_text(reference, "name");
    struct import_object *map = name ? import_find(im, "ConfigMap", name) : NULL;
    const char *key;
    json_t *value;

    if (!import_is_object(im, reference) || !check_reference(im, reference, false))
        return;
    if (!name) {
        import_fault_in(im, "name", "required", "is missing");
        return;
    }
    if (!map) {
        import_fault(im, "not_found", "the ConfigMap %s is not in this stream", name);
        return;
    }
    if (json_array_append_new(im->role->maps, json_string(name)) != 0)
        im->no_memory = true;
    json_object_foreach((json_t *)(uintptr_t)import_get(map->json, "data"), key, value)
    {
        import_use_key(im, map, key);
        if (json_object_set(im->role->variables, key, value) != 0)
            im->no_memory = true;
    }
}

/* clang-format off */
static const struct import_rule from_rules[] = {
    FIELD_READ("configMapRef", read_map, NULL),
    FIELD_REFUSED("secretRef", NULL, "name the keys of the Secret one by one, with valueFrom.secretKeyRef"),
    FIELD_REFUSED("prefix", "\"\"", "write the variables' whole names into the ConfigMap"),
};
/* clang-format on */

void import_env_from(struct import *im, const json_t *value)
{
    size_t index;
    json_t *source;

    if (!import_is_short(im, value))
        return;
    json_array_foreach(value, index, source)
    {
        size_t mark = import_enter_index(im, index);

        IMPORT_BY(im, source, from_rules);
        if (json_is_object(source) && !import_get(source, "configMapRef") &&
            !import_get(source, "secretRef"))
            import_fault(im, "required", "must have a configMapRef");
        import_leave(im, mark);
    }
}
