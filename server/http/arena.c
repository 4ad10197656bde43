#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ty_arena_block {
    struct ty_arena_block *next;
    _Alignas(max_align_t) char data[];
};

enum { BLOCK = 8192 };

void ty_arena_init(struct ty_arena *arena, void *first, size_t size)
{
    *arena = (struct ty_arena){.first = first, .first_size = size, .size = size};
}

void *ty_arena_alloc(struct ty_arena *arena, size_t size)
{
    size_t align = _Alignof(max_align_t);
    size_t need;
    char *base;

    if (size > SIZE_MAX / 2)
        return NULL;
    need = (size + align - 1) & ~(align - 1);
    if (need > arena->size - arena->used) {
        size_t room = need > BLOCK ? need : BLOCK;
        struct ty_arena_block *block = malloc(sizeof *block + room);

        if (!block)
            return NULL;
        block->next = arena->more;
        arena->more = block;
        arena->used = 0;
        arena->size = room;
    }
    base = arena->more ? arena->more->data : arena->first;
    arena->used += need;
    return base + arena->used - need;
}

char *ty_arena_dup(struct ty_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = ty_arena_alloc(arena, size);

    if (copy)
        memcpy(copy, text, size);
    return copy;
}

void ty_arena_reset(struct ty_arena *arena)
{
    while (arena->more) {
        struct ty_arena_block *block = arena->more;

        arena->more = block->next;
        free(block);
    }
    arena->used = 0;
    arena->size = arena->first_size;
}
