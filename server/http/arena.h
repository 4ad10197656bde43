/* Memory that is given back all at once: a first block the owner brings, more only when that is
 * used up. */
#ifndef TRAINYARD_HTTP_ARENA_H
#define TRAINYARD_HTTP_ARENA_H

#include <stddef.h>

struct ty_arena_block;

struct ty_arena {
    struct ty_arena_block *more; /* newest first */
    char *first;
    size_t first_size;
    size_t used; /* of `first` or, when there are more blocks, of the newest */
    size_t size;
};

/* `first` is aligned for anything and stays the owner's. */
void ty_arena_init(struct ty_arena *arena, void *first, size_t size);

/* `size` bytes, aligned for anything; NULL when there are none. */
void *ty_arena_alloc(struct ty_arena *arena, size_t size);

/* A copy of `text`; NULL when there is no memory. */
char *ty_arena_dup(struct ty_arena *arena, const char *text);

/* Free all but the first block. */
void ty_arena_reset(struct ty_arena *arena);

#endif
