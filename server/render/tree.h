/* Building JSON with one failure at the end: a value that could not be made (or put) is remembered,
 * and everything after it is harmless. */
#ifndef TRAINYARD_RENDER_TREE_H
#define TRAINYARD_RENDER_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ty_tree {
    bool no_memory;
};

json_t *ty_tree_object(struct ty_tree *tree);
json_t *ty_tree_array(struct ty_tree *tree);

/* `value` is taken over, NULL is a failure remembered. */
void ty_tree_put(struct ty_tree *tree, json_t *object, const char *key, json_t *value);
void ty_tree_append(struct ty_tree *tree, json_t *array, json_t *value);

/* A new object or array, put (or appended) and borrowed from its parent; NULL when it failed. */
json_t *ty_tree_put_object(struct ty_tree *tree, json_t *object, const char *key);
json_t *ty_tree_put_array(struct ty_tree *tree, json_t *object, const char *key);
json_t *ty_tree_append_object(struct ty_tree *tree, json_t *array);

void ty_tree_put_text(struct ty_tree *tree, json_t *object, const char *key, const char *text);
void ty_tree_put_int(struct ty_tree *tree, json_t *object, const char *key, int64_t number);
void ty_tree_put_bool(struct ty_tree *tree, json_t *object, const char *key, bool value);

#endif
