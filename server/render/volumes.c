/* A pod's volumes and where its container mounts them: one volume a claim however often it is
 * mounted, scratch space, ConfigMaps of files, keys of Secrets, the script's ConfigMap, and
 * /dev/shm, whose 64 MiB default breaks PyTorch's loaders. */
#include "parts.h"

#include "trainyard/base/str.h"

#include <stdio.h>

enum { SCRIPT_MODE = 0555, FILE_MODE = 0444, VOLUME_NAME = 32 };

json_t *ty_render_find_volume(const json_t *volumes, const char *source, const char *member,
                              const char *name)
{
    size_t i;
    json_t *volume;

    json_array_foreach(volumes, i, volume)
    {
        const char *known =
            json_string_value(json_object_get(json_object_get(volume, source), member));

        if (known && ty_str_equal(known, name))
            return volume;
    }
    return NULL;
}

json_t *ty_render_new_volume(struct ty_tree *tree, const char *kind, json_t *volumes)
{
    json_t *volume = ty_tree_append_object(tree, volumes);
    char name[VOLUME_NAME];

    snprintf(name, sizeof(name), "%s-%zu", kind, json_array_size(volumes) - 1);
    ty_tree_put_text(tree, volume, "name", name);
    return volume;
}

static bool all_read_only(const struct ty_render_input *input, const struct ty_spec_role *role,
                          const char *claim)
{
    char name[TY_CLAIM_NAME];

    for (size_t i = 0; i < role->volumes_count; i++) {
        if (role->volumes[i].kind != TY_VOLUME_CLAIM)
            continue;
        ty_spec_volume_claim(&role->volumes[i], input->object_name, name);
        if (ty_str_equal(name, claim) && !role->volumes[i].read_only)
            return false;
    }
    return true;
}

/* The volume of a claim, made when it is first mounted. */
static json_t *claim_volume(struct ty_tree *tree, const struct ty_render_input *input,
                            const struct ty_spec_role *role, const char *claim, json_t *volumes)
{
    json_t *volume = ty_render_find_volume(volumes, "persistentVolumeClaim", "claimName", claim);

    if (volume)
        return volume;
    volume = ty_render_new_volume(tree, "claim", volumes);
    json_t *source = ty_tree_put_object(tree, volume, "persistentVolumeClaim");

    ty_tree_put_text(tree, source, "claimName", claim);
    if (all_read_only(input, role, claim))
        ty_tree_put_bool(tree, source, "readOnly", true);
    return volume;
}

void ty_render_put_item(struct ty_tree *tree, json_t *items, const char *key, const char *path)
{
    json_t *item = ty_tree_append_object(tree, items);

    ty_tree_put_text(tree, item, "key", key);
    ty_tree_put_text(tree, item, "path", path);
}

static void put_items(struct ty_tree *tree, json_t *items, const struct ty_spec_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        ty_render_put_item(tree, items, files->items[i].key, files->items[i].name);
}

static json_t *scratch_volume(struct ty_tree *tree, const struct ty_spec_volume *from,
                              json_t *volumes)
{
    json_t *volume = ty_render_new_volume(tree, "scratch", volumes);
    json_t *source = ty_tree_put_object(tree, volume, "emptyDir");

    if (from->memory)
        ty_tree_put_text(tree, source, "medium", "Memory");
    if (from->size)
        ty_tree_put_text(tree, source, "sizeLimit", from->size);
    return volume;
}

static json_t *files_volume(struct ty_tree *tree, const struct ty_render_input *input,
                            const struct ty_spec_volume *from, json_t *volumes)
{
    json_t *volume = ty_render_new_volume(tree, "files", volumes);
    json_t *source = ty_tree_put_object(tree, volume, "configMap");
    char name[TY_CLAIM_NAME];

    ty_spec_volume_claim(from, input->object_name, name);
    ty_tree_put_text(tree, source, "name", name);
    ty_tree_put_int(tree, source, "defaultMode", FILE_MODE);
    put_items(tree, ty_tree_put_array(tree, source, "items"), &from->files);
    return volume;
}

static void mount_volume(struct ty_tree *tree, const struct ty_spec_volume *from,
                         const json_t *volume, json_t *mounts)
{
    json_t *mount = ty_tree_append_object(tree, mounts);

    ty_tree_put_text(tree, mount, "name", json_string_value(json_object_get(volume, "name")));
    ty_tree_put_text(tree, mount, "mountPath", from->mount_path);
    if (from->sub_path)
        ty_tree_put_text(tree, mount, "subPath", from->sub_path);
    if (from->read_only)
        ty_tree_put_bool(tree, mount, "readOnly", true);
}

/* Keys become paths again, so that a file arrives under the name its user gave it. */
static void mount_files(struct ty_tree *tree, const struct ty_render_input *input, json_t *volumes,
                        json_t *mounts)
{
    const struct ty_job_spec *spec = input->spec;
    json_t *volume = ty_tree_append_object(tree, volumes);
    json_t *mount = ty_tree_append_object(tree, mounts);
    char name[TY_CHILD_NAME];

    ty_render_files_name(input->object_name, name);
    ty_tree_put_text(tree, volume, "name", "scripts");
    json_t *source = ty_tree_put_object(tree, volume, "configMap");

    ty_tree_put_text(tree, source, "name", name);
    ty_tree_put_int(tree, source, "defaultMode", SCRIPT_MODE);
    json_t *items = ty_tree_put_array(tree, source, "items");

    if (spec->script)
        ty_render_put_item(tree, items, spec->script_name, spec->script_name);
    put_items(tree, items, &spec->files);
    ty_tree_put_text(tree, mount, "name", "scripts");
    ty_tree_put_text(tree, mount, "mountPath", TY_SCRIPTS_MOUNT);
    ty_tree_put_bool(tree, mount, "readOnly", true);
}

static void mount_shared_memory(struct ty_tree *tree, const struct ty_spec_role *role,
                                json_t *volumes, json_t *mounts)
{
    json_t *volume = ty_tree_append_object(tree, volumes);
    json_t *mount = ty_tree_append_object(tree, mounts);

    ty_tree_put_text(tree, volume, "name", "shared-memory");
    json_t *source = ty_tree_put_object(tree, volume, "emptyDir");

    ty_tree_put_text(tree, source, "medium", "Memory");
    ty_tree_put_text(tree, source, "sizeLimit", role->resources.shared_memory);
    ty_tree_put_text(tree, mount, "name", "shared-memory");
    ty_tree_put_text(tree, mount, "mountPath", "/dev/shm");
}

static json_t *find_or_make(struct ty_tree *tree, const struct ty_render_input *input,
                            const struct ty_spec_role *role, size_t index, json_t *volumes)
{
    const struct ty_spec_volume *volume = &role->volumes[index];
    char claim[TY_CLAIM_NAME];

    switch (volume->kind) {
    case TY_VOLUME_SCRATCH:
        return scratch_volume(tree, volume, volumes);
    case TY_VOLUME_FILES:
        return files_volume(tree, input, volume, volumes);
    case TY_VOLUME_CLAIM:
        break;
    }
    ty_spec_volume_claim(volume, input->object_name, claim);
    return claim_volume(tree, input, role, claim, volumes);
}

void ty_render_volumes(struct ty_tree *tree, const struct ty_render_input *input,
                       const struct ty_spec_role *role, json_t *volumes, json_t *mounts)
{
    for (size_t i = 0; i < role->volumes_count; i++)
        mount_volume(tree, &role->volumes[i], find_or_make(tree, input, role, i, volumes), mounts);
    ty_render_secret_files(tree, role, volumes, mounts);
    if (ty_render_has_files(input->spec))
        mount_files(tree, input, volumes, mounts);
    mount_shared_memory(tree, role, volumes, mounts);
}
