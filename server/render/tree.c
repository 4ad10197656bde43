#include "tree.h"

json_t *ty_tree_object(struct ty_tree *tree)
{
    json_t *object = json_object();

    tree->no_memory = tree->no_memory || !object;
    return object;
}

json_t *ty_tree_array(struct ty_tree *tree)
{
    json_t *array = json_array();

    tree->no_memory = tree->no_memory || !array;
    return array;
}

void ty_tree_put(struct ty_tree *tree, json_t *object, const char *key, json_t *value)
{
    /* Takes `value` over in any case, and refuses NULL for each of the first and the last. */
    if (json_object_set_new(object, key, value) != 0)
        tree->no_memory = true;
}

void ty_tree_append(struct ty_tree *tree, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        tree->no_memory = true;
}

json_t *ty_tree_put_object(struct ty_tree *tree, json_t *object, const char *key)
{
    ty_tree_put(tree, object, key, json_object());
    return json_object_get(object, key);
}

json_t *ty_tree_put_array(struct ty_tree *tree, json_t *object, const char *key)
{
    ty_tree_put(tree, object, key, json_array());
    return json_object_get(object, key);
}

json_t *ty_tree_append_object(struct ty_tree *tree, json_t *array)
{
    json_t *object = json_object();

    if (json_array_append_new(array, object) == 0)
        return object;
    tree->no_memory = true;
    return NULL;
}

void ty_tree_put_text(struct ty_tree *tree, json_t *object, const char *key, const char *text)
{
    ty_tree_put(tree, object, key, json_string(text));
}

void ty_tree_put_int(struct ty_tree *tree, json_t *object, const char *key, int64_t number)
{
    ty_tree_put(tree, object, key, json_integer(number));
}

void ty_tree_put_bool(struct ty_tree *tree, json_t *object, const char *key, bool value)
{
    ty_tree_put(tree, object, key, json_boolean(value));
}
