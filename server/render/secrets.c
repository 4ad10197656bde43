/* Secrets by reference: a variable from a key, or one file of a volume that shows those keys alone.
 * No value passes through here. */
#include "parts.h"

#include "trainyard/base/str.h"

enum { SECRET_MODE = 0444 };

void ty_render_secret_env(struct ty_tree *tree, const struct ty_spec_role *role, json_t *env)
{
    for (size_t i = 0; i < role->secrets->count; i++) {
        const struct ty_spec_secret *secret = &role->secrets->items[i];

        if (!secret->env)
            continue;
        json_t *variable = ty_tree_append_object(tree, env);

        ty_tree_put_text(tree, variable, "name", secret->env);
        json_t *from = ty_tree_put_object(tree, variable, "valueFrom");
        json_t *reference = ty_tree_put_object(tree, from, "secretKeyRef");

        ty_tree_put_text(tree, reference, "name", secret->name);
        ty_tree_put_text(tree, reference, "key", secret->key);
    }
}

static json_t *secret_volume(struct ty_tree *tree, const char *secret, json_t *volumes)
{
    json_t *volume = ty_render_find_volume(volumes, "secret", "secretName", secret);

    if (volume)
        return volume;
    volume = ty_render_new_volume(tree, "secret", volumes);
    json_t *source = ty_tree_put_object(tree, volume, "secret");

    ty_tree_put_text(tree, source, "secretName", secret);
    ty_tree_put_int(tree, source, "defaultMode", SECRET_MODE);
    ty_tree_put_array(tree, source, "items");
    return volume;
}

/* One key may be put at several paths but is one item. */
static void add_item(struct ty_tree *tree, const json_t *volume, const char *key)
{
    json_t *items = json_object_get(json_object_get(volume, "secret"), "items");
    size_t i;
    json_t *item;

    json_array_foreach(items, i, item)
    {
        const char *known = json_string_value(json_object_get(item, "key"));

        if (known && ty_str_equal(known, key))
            return;
    }
    ty_render_put_item(tree, items, key, key);
}

void ty_render_secret_files(struct ty_tree *tree, const struct ty_spec_role *role, json_t *volumes,
                            json_t *mounts)
{
    for (size_t i = 0; i < role->secrets->count; i++) {
        const struct ty_spec_secret *secret = &role->secrets->items[i];

        if (!secret->path)
            continue;
        const json_t *volume = secret_volume(tree, secret->name, volumes);
        json_t *mount = ty_tree_append_object(tree, mounts);

        add_item(tree, volume, secret->key);
        ty_tree_put_text(tree, mount, "name", json_string_value(json_object_get(volume, "name")));
        ty_tree_put_text(tree, mount, "mountPath", secret->path);
        ty_tree_put_text(tree, mount, "subPath", secret->key);
        ty_tree_put_bool(tree, mount, "readOnly", true);
    }
}
