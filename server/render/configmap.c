/* The ConfigMaps: script and files, mounted; epochs and parameters, as environment. Bytes arrive
 * as they were sent: text as it is, everything else in binaryData. */
#include "parts.h"

#include "trainyard/base/digest.h"
#include "trainyard/base/str.h"

#include <stdio.h>
#include <stdlib.h>

/* One map on its way: the cluster counts keys and values against 1 MiB. */
struct config_map {
    struct ty_tree *tree;
    json_t *object;
    size_t size;
};

static bool is_text(const char *bytes, size_t len)
{
    return !memchr(bytes, '\0', len) && ty_utf8_valid(bytes, len);
}

/* The map of that name within the object, made when it is first needed. */
static json_t *section(struct config_map *map, const char *name)
{
    json_t *known = json_object_get(map->object, name);

    return known ? known : ty_tree_put_object(map->tree, map->object, name);
}

static void put_binary(struct config_map *map, const char *key, const char *bytes, size_t len)
{
    char *text = malloc(4 * ((len + 2) / 3) + 1);

    if (!text) {
        map->tree->no_memory = true;
        return;
    }
    ty_base64(bytes, len, text);
    ty_tree_put_text(map->tree, section(map, "binaryData"), key, text);
    free(text);
}

static void put_bytes(struct config_map *map, const char *key, const char *bytes, size_t len)
{
    map->size += strlen(key) + len;
    if (is_text(bytes, len))
        ty_tree_put(map->tree, section(map, "data"), key, json_stringn(bytes, len));
    else
        put_binary(map, key, bytes, len);
}

static void finish(struct config_map *map, const char *pointer, json_t *objects,
                   struct ty_faults *faults)
{
    if (map->size > TY_CONFIG_MAP_MAX)
        ty_faults_add(faults, TY_AT_POINTER, pointer, "configmap_too_large",
                      "%zu bytes with their names; at most %d are allowed: put large code into a "
                      "volume or the image",
                      map->size, TY_CONFIG_MAP_MAX);
    ty_render_hash(map->tree, map->object);
    ty_tree_append(map->tree, objects, map->object);
}

static void put_files(struct config_map *map, const struct ty_spec_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        put_bytes(map, files->items[i].key, files->items[i].bytes, files->items[i].len);
}

static void render_files(struct ty_tree *tree, const struct ty_render_input *input, json_t *objects,
                         struct ty_faults *faults)
{
    const struct ty_job_spec *spec = input->spec;
    char name[TY_CHILD_NAME];

    ty_render_files_name(input->object_name, name);
    struct config_map map = {tree, ty_render_object(tree, input, "v1", "ConfigMap", name), 0};

    if (spec->script)
        put_bytes(&map, spec->script_name, spec->script, spec->script_len);
    put_files(&map, &spec->files);
    finish(&map, spec->files.count > 0 ? "/files" : "/script", objects, faults);
}

/* The files of volumes that are made of them; a volume of the job is in both roles. */
static void render_volume_files(struct ty_tree *tree, const struct ty_render_input *input,
                                const struct ty_spec_role *role, json_t *objects,
                                struct ty_faults *faults)
{
    char name[TY_CLAIM_NAME];

    for (size_t i = 0; role->replicas > 0 && i < role->volumes_count; i++) {
        const struct ty_spec_volume *volume = &role->volumes[i];

        if (volume->kind != TY_VOLUME_FILES)
            continue;
        ty_spec_volume_claim(volume, input->object_name, name);
        if (ty_render_has_object(objects, "ConfigMap", name))
            continue;
        struct config_map map = {tree, ty_render_object(tree, input, "v1", "ConfigMap", name), 0};

        put_files(&map, &volume->files);
        finish(&map, "/volumes", objects, faults);
    }
}

static void render_env(struct ty_tree *tree, const struct ty_render_input *input, json_t *objects,
                       struct ty_faults *faults)
{
    const struct ty_job_spec *spec = input->spec;
    char name[TY_CHILD_NAME];
    char variable[TY_PARAMETER_VARIABLE];
    char epochs[16];

    ty_render_env_name(input->object_name, name);
    struct config_map map = {tree, ty_render_object(tree, input, "v1", "ConfigMap", name), 0};

    snprintf(epochs, sizeof(epochs), "%d", spec->epochs);
    if (spec->epochs > 0)
        put_bytes(&map, "EPOCHS", epochs, strlen(epochs));
    for (size_t i = 0; i < spec->parameters.count; i++) {
        const struct ty_pair *pair = &spec->parameters.items[i];

        ty_parameter_variable(pair->name, variable);
        put_bytes(&map, variable, pair->value, strlen(pair->value));
    }
    finish(&map, "/parameters", objects, faults);
}

void ty_render_config_maps(struct ty_tree *tree, const struct ty_render_input *input,
                           json_t *objects, struct ty_faults *faults)
{
    if (ty_render_has_files(input->spec))
        render_files(tree, input, objects, faults);
    if (ty_render_has_env(input->spec))
        render_env(tree, input, objects, faults);
    render_volume_files(tree, input, &input->spec->master, objects, faults);
    render_volume_files(tree, input, &input->spec->worker, objects, faults);
}
