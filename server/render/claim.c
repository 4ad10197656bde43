/* The PersistentVolumeClaims a job brings along, each once: its own, and those with a name that it
 * makes where they are missing. Claims that are only named are the user's and stay untouched. */
#include "parts.h"

#include "trainyard/base/str.h"

static const char *const access_modes[] = {
    [TY_READ_WRITE_ONCE] = "ReadWriteOnce",
    [TY_READ_WRITE_MANY] = "ReadWriteMany",
    [TY_READ_ONLY_MANY] = "ReadOnlyMany",
    [TY_READ_WRITE_ONCE_POD] = "ReadWriteOncePod",
};

static void render_claim(struct ty_tree *tree, const struct ty_render_input *input,
                         const struct ty_spec_volume *volume, const char *name, json_t *objects)
{
    static const char kind[] = "PersistentVolumeClaim";
    json_t *object = volume->claim ? ty_render_kept_object(tree, input, "v1", kind, name)
                                   : ty_render_object(tree, input, "v1", kind, name);
    json_t *spec = ty_tree_put_object(tree, object, "spec");
    json_t *modes = ty_tree_put_array(tree, spec, "accessModes");
    json_t *resources = ty_tree_put_object(tree, spec, "resources");
    json_t *requests = ty_tree_put_object(tree, resources, "requests");

    ty_tree_append(tree, modes, json_string(access_modes[volume->access_mode]));
    ty_tree_put_text(tree, requests, "storage", volume->size);
    if (volume->storage_class)
        ty_tree_put_text(tree, spec, "storageClassName", volume->storage_class);
    ty_render_hash(tree, object);
    ty_tree_append(tree, objects, object);
}

static void render_claims_of(struct ty_tree *tree, const struct ty_render_input *input,
                             const struct ty_spec_role *role, json_t *objects)
{
    char name[TY_CLAIM_NAME];

    for (size_t i = 0; role->replicas > 0 && i < role->volumes_count; i++) {
        const struct ty_spec_volume *volume = &role->volumes[i];

        if (volume->kind != TY_VOLUME_CLAIM || !volume->create)
            continue;
        ty_spec_volume_claim(volume, input->object_name, name);
        if (!ty_render_has_object(objects, "PersistentVolumeClaim", name))
            render_claim(tree, input, volume, name, objects);
    }
}

void ty_render_claims(struct ty_tree *tree, const struct ty_render_input *input, json_t *objects)
{
    render_claims_of(tree, input, &input->spec->master, objects);
    render_claims_of(tree, input, &input->spec->worker, objects);
}
