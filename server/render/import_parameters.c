/* Whole ConfigMaps in the environment are parameters of the style `environment`; where the first
 * arguments say the same as flags, of both styles. Keys that no parameter may have are variables.
 */
#include "import.h"
#include "parts.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <ctype.h>
#include <stdio.h>

enum { NAME_MAX_BYTES = 63, VALUE_MAX = 4096, EPOCHS_MAX = 1000000000 };

/* What the contract's ParameterName keeps for the launcher and the gateway. */
static bool is_reserved(const char *variable)
{
    static const char *const prefixes[] = {"MASTER_", "PET_", "TRAINYARD_"};
    static const char *const names[] = {"WORLD_SIZE", "RANK", "LOCAL_RANK", "PYTHONUNBUFFERED",
                                        "PATH",       "HOME", "HOSTNAME",   "EPOCHS"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (ty_str_starts(variable, prefixes[i]))
            return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (ty_str_equal(variable, names[i]))
            return true;
    return false;
}

static bool is_epochs(const char *key, const char *value)
{
    int64_t number;

    return ty_str_equal(key, "EPOCHS") && ty_str_to_int(value, 1, EPOCHS_MAX, &number) == TY_OK;
}

/* The name that gives this variable, all in lower case. */
static bool parameter_name(const char *key, const char *value, char out[TY_PARAMETER_VARIABLE])
{
    char again[TY_PARAMETER_VARIABLE];
    size_t len = strlen(key);

    if (len == 0 || len > NAME_MAX_BYTES || !isupper((unsigned char)key[0]) || is_reserved(key) ||
        strlen(value) > VALUE_MAX)
        return false;
    for (size_t i = 0; i <= len; i++)
        out[i] = (char)tolower((unsigned char)key[i]);
    ty_parameter_variable(out, again);
    return ty_str_equal(again, key);
}

/* --- flags that say the same --- */

/* "--name=value" as Kubernetes has it; the name is put out and the value, in the spec's form. */
static bool read_flag(struct import *im, const json_t *arg, char name_out[TY_PARAMETER_VARIABLE],
                      char **value_out)
{
    const char *text = json_string_value(arg);
    const char *equals = text && ty_str_starts(text, "--") ? strchr(text, '=') : NULL;
    size_t len = equals ? (size_t)(equals - text) - 2 : 0;

    if (len == 0 || len > NAME_MAX_BYTES)
        return false;
    memcpy(name_out, text + 2, len);
    name_out[len] = '\0';
    *value_out = import_unescape(im, equals + 1, false);
    return *value_out != NULL;
}

/* Whether all of `values` (variable -> text) stand as the first flags, epochs first and the rest
 * by name, in every role. The names go out. */
static bool flags_say_it(struct import *im, const struct import_role *role, const json_t *values,
                         json_t *names)
{
    size_t count = json_object_size(values);
    char last[TY_PARAMETER_VARIABLE] = "";

    for (size_t i = 0; i < count; i++) {
        char name[TY_PARAMETER_VARIABLE];
        char variable[TY_PARAMETER_VARIABLE];
        ty_auto_free char *value = NULL;

        if (!read_flag(im, json_array_get(role->args, i), name, &value))
            return false;
        ty_parameter_variable(name, variable);
        const char *wanted = import_get_text(values, variable);
        bool epochs = ty_str_equal(name, "epochs");

        if (!wanted || !ty_str_equal(wanted, value) || (epochs && i > 0) ||
            (!epochs && strcmp(last, name) >= 0))
            return false;
        if (!epochs)
            ty_str_copy(last, sizeof(last), name);
        import_set(im, names, variable, json_string(name));
    }
    return true;
}

/* --- our own style `flags`, by its annotation --- */

static void put_parameter(struct import *im, const char *name, const char *value)
{
    int64_t epochs = 0;

    if (ty_str_equal(name, "epochs") && ty_str_to_int(value, 1, EPOCHS_MAX, &epochs) == TY_OK) {
        import_put(im, "epochs", json_integer(epochs));
        return;
    }
    struct import_target before = import_into(im, "parameters", false);

    import_put(im, name, json_string(value));
    import_back(im, before);
}

/* The first `count` args of a role as flags in the renderer's order: epochs, the rest by name. */
static bool are_flags(struct import *im, const struct import_role *role, size_t count)
{
    char last[TY_PARAMETER_VARIABLE] = "";

    for (size_t i = 0; i < count; i++) {
        char name[TY_PARAMETER_VARIABLE];
        ty_auto_free char *value = NULL;
        bool good = read_flag(im, json_array_get(role->args, i), name, &value);
        bool epochs = good && ty_str_equal(name, "epochs");

        if (!good || (epochs && i > 0) || (!epochs && strcmp(last, name) >= 0))
            return false;
        if (!epochs)
            ty_str_copy(last, sizeof(last), name);
    }
    return true;
}

static bool begin_alike(const struct import_role *a, const struct import_role *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!json_equal(json_array_get(a->args, i), json_array_get(b->args, i)))
            return false;
    return true;
}

static size_t take_flags(struct import *im, const struct import_role *lead,
                         const struct import_role *other)
{
    size_t count = (size_t)im->flags;

    if (!are_flags(im, lead, count) || (other && !begin_alike(lead, other, count))) {
        size_t mark = import_enter(im, "metadata");

        import_fault_in(im, "annotations", "not_supported",
                        "trainyard.dev/parameter-flags says that %zu args of every role are "
                        "parameters, which they are not: remove it",
                        count);
        import_leave(im, mark);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        char name[TY_PARAMETER_VARIABLE];
        ty_auto_free char *value = NULL;

        if (read_flag(im, json_array_get(lead->args, i), name, &value))
            put_parameter(im, name, value);
    }
    import_put(im, "parameter_style", json_string("flags"));
    return count;
}

/* --- ConfigMaps --- */

static void put_variable(struct import *im, struct import_role *role, const char *key,
                         const char *value)
{
    if (json_object_get(role->named, key) || !import_spend(im, strlen(value)))
        return; /* env goes before envFrom */
    import_aim(im, role);
    struct import_target before = import_into(im, "env", false);

    import_put(im, key, json_string(value));
    import_back(im, before);
    import_aim(im, NULL);
}

static void put_everywhere(struct import *im, const char *key, const char *value)
{
    for (size_t i = 0; i < 2; i++)
        if (im->roles[i].given)
            put_variable(im, &im->roles[i], key, value);
}

/* One key of a ConfigMap that every role takes whole. */
static void read_shared(struct import *im, const char *key, const json_t *value, json_t *values)
{
    const char *text = import_text(im, value);
    char name[TY_PARAMETER_VARIABLE];

    if (!text)
        return;
    if (!is_epochs(key, text) && !parameter_name(key, text, name)) {
        put_everywhere(im, key, text);
        return;
    }
    import_set(im, values, key, json_string(text));
    import_set(im, im->places, key, json_pack("[I,s]", (json_int_t)im->document, im->at));
}

typedef void key_reader(struct import *im, struct import_role *role, const char *key,
                        const json_t *value, json_t *values);

static void read_for_all(struct import *im, struct import_role *role, const char *key,
                         const json_t *value, json_t *values)
{
    (void)role;
    read_shared(im, key, value, values);
}

static void read_for_one(struct import *im, struct import_role *role, const char *key,
                         const json_t *value, json_t *values)
{
    const char *text = import_text(im, value);

    (void)values;
    if (text)
        put_variable(im, role, key, text);
}

static void each_key(struct import *im, struct import_role *role, key_reader *read, json_t *values)
{
    size_t index;
    json_t *name;

    json_array_foreach(role->maps, index, name)
    {
        const struct import_object *map = import_find(im, "ConfigMap", json_string_value(name));
        const char *key;
        json_t *value;

        import_go(im, map);
        if (json_object_size(import_get(map->json, "binaryData")) > 0)
            import_fault_in(im, "binaryData", "not_supported",
                            "never reaches the environment: put text under data");
        json_object_foreach((json_t *)(uintptr_t)import_get(map->json, "data"), key, value)
        {
            size_t data = import_enter(im, "data");
            (void)import_enter(im, key);

            read(im, role, key, value, values);
            import_leave(im, data);
        }
        import_go(im, &im->job);
    }
}

/* Back to where a ConfigMap has the key. */
static void go_to_key(struct import *im, const char *key)
{
    const json_t *place = json_object_get(im->places, key);
    const char *pointer = json_string_value(json_array_get(place, 1));

    if (!pointer)
        return;
    im->document = (size_t)json_integer_value(json_array_get(place, 0));
    im->at_len = (size_t)snprintf(im->at, sizeof(im->at), "%s", pointer);
}

/* All variables that are parameters, under the names that the flags give or made from them. */
static void put_parameters(struct import *im, const json_t *values, const json_t *names)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)values, key, value)
    {
        const char *flag = import_get_text(names, key);
        char name[TY_PARAMETER_VARIABLE] = "epochs";

        if (!flag && !ty_str_equal(key, "EPOCHS"))
            (void)parameter_name(key, json_string_value(value), name);
        go_to_key(im, key);
        put_parameter(im, flag ? flag : name, json_string_value(value));
        import_go(im, &im->job);
    }
}

static size_t read_maps(struct import *im, struct import_role *lead, struct import_role *other)
{
    ty_auto_json values = import_made(im, json_object());
    ty_auto_json names = import_made(im, json_object());

    each_key(im, lead, read_for_all, values);
    if (json_object_size(values) == 0)
        return 0;
    bool both =
        flags_say_it(im, lead, values, names) && (!other || flags_say_it(im, other, values, names));

    put_parameters(im, values, both ? names : NULL);
    if (!both)
        import_put(im, "parameter_style", json_string("environment"));
    return both ? json_object_size(values) : 0;
}

void import_parameters(struct import *im)
{
    struct import_role *lead = im->roles[0].given ? &im->roles[0] : &im->roles[1];
    struct import_role *other = lead == &im->roles[0] && im->roles[1].given ? &im->roles[1] : NULL;
    bool shared = !other || json_equal(lead->maps, other->maps);
    size_t skip = 0;

    import_go(im, &im->job);
    import_aim(im, NULL);
    if (im->flags > 0)
        skip = take_flags(im, lead, other);
    else if (shared)
        skip = read_maps(im, lead, other);
    if (!shared) {
        each_key(im, lead, read_for_one, NULL);
        each_key(im, other, read_for_one, NULL);
    }
    import_take_arguments(im, lead, skip);
    if (other)
        import_take_arguments(im, other, skip);
}
