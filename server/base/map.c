#include "trainyard/base/map.h"

#include "trainyard/base/random.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Open addressing with linear probing, at most three quarters full, a power of two of slots. Keys
 * come from clients (names, ids, label keys), so the hash is SipHash-1-3 under a random key of each
 * map: nobody outside can choose keys that collide. */

enum { FIRST_CAPACITY = 16 };

struct slot {
    char *key; /* NULL: free */
    void *value;
    uint64_t hash;
};

struct ty_map {
    void (*release)(void *value);
    uint64_t seed[2];
    size_t count;
    size_t capacity; /* 0 before the first put */
    struct slot *slots;
};

static inline uint64_t rotate_left(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate_left(v[1], 13) ^ v[0];
    v[0] = rotate_left(v[0], 32);
    v[2] += v[3];
    v[3] = rotate_left(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate_left(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate_left(v[1], 17) ^ v[2];
    v[2] = rotate_left(v[2], 32);
}

static uint64_t hash_key(const uint64_t seed[2], const char *key)
{
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du,
                     seed[0] ^ 0x6c7967656e657261u, seed[1] ^ 0x7465646279746573u};
    size_t len = strlen(key);
    uint64_t last = (uint64_t)len << 56;

    for (size_t at = 0; at <= len; at += 8) {
        uint64_t word = 0;
        bool tail = len - at < 8;

        memcpy(&word, key + at, tail ? len - at : 8);
        word |= tail ? last : 0;
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

ty_status ty_map_create(void (*release)(void *value), struct ty_map **map_out)
{
    const struct ty_random *random = ty_random_system();
    struct ty_map *map = calloc(1, sizeof(*map));

    if (!map)
        return TY_NO_MEMORY;
    map->release = release;
    random->fill(random->context, map->seed, sizeof(map->seed));
    *map_out = map;
    return TY_OK;
}

static void release_value(const struct ty_map *map, void *value)
{
    if (map->release && value)
        map->release(value);
}

void ty_map_destroy(struct ty_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].key)
            release_value(map, map->slots[i].value);
        free(map->slots[i].key);
    }
    free(map->slots);
    free(map);
}

/* The slot that holds `key`, or the free one where it would go. Needs capacity > count. */
static struct slot *find_slot(const struct ty_map *map, const char *key, uint64_t hash)
{
    size_t mask = map->capacity - 1;
    size_t at = (size_t)hash & mask;

    while (map->slots[at].key &&
           (map->slots[at].hash != hash || strcmp(map->slots[at].key, key) != 0))
        at = (at + 1) & mask;
    return &map->slots[at];
}

static ty_status grow(struct ty_map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
    struct slot *slots;

    if (map->count < map->capacity / 4 * 3)
        return TY_OK;
    slots = calloc(capacity, sizeof(*slots));
    if (!slots)
        return TY_NO_MEMORY;
    for (size_t i = 0; i < map->capacity; i++) {
        size_t at = (size_t)map->slots[i].hash & (capacity - 1);

        if (!map->slots[i].key)
            continue;
        while (slots[at].key)
            at = (at + 1) & (capacity - 1);
        slots[at] = map->slots[i];
    }
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return TY_OK;
}

ty_status ty_map_put(struct ty_map *map, const char *key, void *value)
{
    uint64_t hash = hash_key(map->seed, key);
    struct slot *slot;
    char *copy;

    if (!value)
        return TY_INVALID;
    if (grow(map))
        return TY_NO_MEMORY;
    slot = find_slot(map, key, hash);
    if (slot->key) {
        void *old = slot->value;

        slot->value = value;
        if (old != value)
            release_value(map, old);
        return TY_OK;
    }
    copy = strdup(key);
    if (!copy)
        return TY_NO_MEMORY;
    *slot = (struct slot){.key = copy, .value = value, .hash = hash};
    map->count++;
    return TY_OK;
}

void *ty_map_get(const struct ty_map *map, const char *key)
{
    if (map->count == 0)
        return NULL;
    return find_slot(map, key, hash_key(map->seed, key))->value;
}

/* Empty one slot and move back whatever had been pushed behind it, so that no probe meets a hole.
 */
static void close_gap(struct ty_map *map, size_t gap)
{
    size_t mask = map->capacity - 1;

    for (size_t at = (gap + 1) & mask; map->slots[at].key; at = (at + 1) & mask) {
        size_t home = (size_t)map->slots[at].hash & mask;

        if (((at - home) & mask) >= ((at - gap) & mask)) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
    }
    map->slots[gap] = (struct slot){0};
}

void *ty_map_take(struct ty_map *map, const char *key)
{
    struct slot *slot;
    void *value;

    if (map->count == 0)
        return NULL;
    slot = find_slot(map, key, hash_key(map->seed, key));
    if (!slot->key)
        return NULL;
    value = slot->value;
    free(slot->key);
    close_gap(map, (size_t)(slot - map->slots));
    map->count--;
    return value;
}

void ty_map_remove(struct ty_map *map, const char *key)
{
    release_value(map, ty_map_take(map, key));
}

size_t ty_map_count(const struct ty_map *map)
{
    return map->count;
}

void *ty_map_next(const struct ty_map *map, size_t *cursor, const char **key_out)
{
    while (*cursor < map->capacity) {
        const struct slot *slot = &map->slots[(*cursor)++];

        if (slot->key) {
            if (key_out)
                *key_out = slot->key;
            return slot->value;
        }
    }
    return NULL;
}
