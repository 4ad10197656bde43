/* A hash map from text to pointers. Not thread-safe: the owner brings the lock. */
#ifndef TRAINYARD_BASE_MAP_H
#define TRAINYARD_BASE_MAP_H

#include "trainyard/base/error.h"

struct ty_map;

/* `release` (may be NULL) is called on each value that is replaced, removed or left at the end. */
ty_status ty_map_create(void (*release)(void *value), struct ty_map **map_out) TY_MUST_CHECK;
void ty_map_destroy(struct ty_map *map);

/* The key is copied; `value` is not NULL (TY_INVALID). TY_NO_MEMORY leaves the map and `value` as
 * they were. */
ty_status ty_map_put(struct ty_map *map, const char *key, void *value) TY_MUST_CHECK;
void *ty_map_get(const struct ty_map *map, const char *key); /* NULL when absent */
void *ty_map_take(struct ty_map *map, const char *key);      /* remove without release */
void ty_map_remove(struct ty_map *map, const char *key);
size_t ty_map_count(const struct ty_map *map);

/* Visit every pair in no order; `cursor` starts at 0. Returns the value or NULL at the end. The map
 * must not change meanwhile. */
void *ty_map_next(const struct ty_map *map, size_t *cursor, const char **key_out);

#endif
