/* The disk below the VFS: files in memory, their pending changes, power cuts. */
#include "sim_disk.h"

#include <stdlib.h>
#include <string.h>

/* --- bytes --- */

bool sim_bytes_reserve(struct sim_bytes *bytes, int64_t len)
{
    if (len <= bytes->capacity)
        return true;
    int64_t capacity = bytes->capacity ? bytes->capacity : 4096;
    while (capacity < len)
        capacity *= 2;
    unsigned char *data = realloc(bytes->data, (size_t)capacity);
    if (!data)
        return false;
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

bool sim_bytes_resize(struct sim_bytes *bytes, int64_t len)
{
    if (!sim_bytes_reserve(bytes, len))
        return false;
    if (len > bytes->len)
        memset(bytes->data + bytes->len, 0, (size_t)(len - bytes->len));
    bytes->len = len;
    return true;
}

bool sim_bytes_write(struct sim_bytes *bytes, const void *data, int64_t len, int64_t offset)
{
    if (offset + len > bytes->len && !sim_bytes_resize(bytes, offset + len))
        return false;
    memcpy(bytes->data + offset, data, (size_t)len);
    return true;
}

static bool bytes_copy(struct sim_bytes *to, const struct sim_bytes *from)
{
    to->len = 0;
    if (!sim_bytes_resize(to, from->len))
        return false;
    if (from->len > 0)
        memcpy(to->data, from->data, (size_t)from->len);
    return true;
}

void sim_apply_change(struct sim_bytes *bytes, const struct sim_change *change)
{
    bool done = change->truncate
                    ? sim_bytes_resize(bytes, change->offset)
                    : sim_bytes_write(bytes, change->bytes, change->len, change->offset);
    if (!done)
        abort(); /* a simulation without memory has nothing to tell */
}

/* --- files --- */

struct sim_file *sim_find_file(struct sim_vfs *vfs, const char *name)
{
    for (struct sim_file *file = vfs->files; file; file = file->next)
        if (file->linked && strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

struct sim_file *sim_make_file(struct sim_vfs *vfs, const char *name)
{
    struct sim_file *file = calloc(1, sizeof(*file));
    if (!file || strlen(name) >= sizeof(file->name)) {
        free(file);
        return NULL;
    }
    memcpy(file->name, name, strlen(name) + 1);
    file->linked = true;
    file->pending_end = &file->pending;
    file->next = vfs->files;
    vfs->files = file;
    return file;
}

void sim_drop_changes(struct sim_file *file)
{
    while (file->pending) {
        struct sim_change *next = file->pending->next;
        free(file->pending);
        file->pending = next;
    }
    file->pending_end = &file->pending;
}

static void forget_shm(struct sim_file *file)
{
    free(file->shm_regions);
    file->shm_regions = NULL;
    file->shm_count = 0;
    memset(file->shm_shared, 0, sizeof(file->shm_shared));
    memset(file->shm_exclusive, 0, sizeof(file->shm_exclusive));
}

void sim_drop_shm(struct sim_file *file)
{
    for (int i = 0; i < file->shm_count; i++)
        free(file->shm_regions[i]);
    forget_shm(file);
}

static void bury_shm(struct sim_vfs *vfs, struct sim_file *file)
{
    if (file->shm_count == 0)
        return;
    void **graveyard =
        realloc(vfs->graveyard, sizeof(void *) * (vfs->graves + (size_t)file->shm_count));
    if (!graveyard)
        abort();
    vfs->graveyard = graveyard;
    for (int i = 0; i < file->shm_count; i++)
        graveyard[vfs->graves++] = file->shm_regions[i];
    forget_shm(file);
}

void sim_free_file(struct sim_vfs *vfs, struct sim_file *file)
{
    struct sim_file **slot = &vfs->files;
    while (*slot != file)
        slot = &(*slot)->next;
    *slot = file->next;
    sim_drop_changes(file);
    sim_drop_shm(file);
    free(file->cache.data);
    free(file->durable.data);
    free(file);
}

bool sim_add_change(struct sim_file *file, const void *data, int64_t len, int64_t offset)
{
    struct sim_change *change = malloc(sizeof(*change) + (size_t)len);
    if (!change)
        return false;
    *change = (struct sim_change){.truncate = data == NULL, .offset = offset, .len = len};
    if (data)
        memcpy(change->bytes, data, (size_t)len);
    *file->pending_end = change;
    file->pending_end = &change->next;
    return true;
}

int64_t sim_vfs_used(const struct sim_vfs *vfs)
{
    int64_t used = 0;
    for (const struct sim_file *file = vfs->files; file; file = file->next)
        used += file->cache.len;
    return used;
}

void sim_vfs_set_odds(struct sim_vfs *vfs, const struct sim_vfs_odds *odds)
{
    vfs->odds = *odds;
}

void sim_vfs_set_capacity(struct sim_vfs *vfs, int64_t capacity)
{
    vfs->capacity = capacity;
}

void sim_vfs_fail_nth(struct sim_vfs *vfs, sim_vfs_call kind, uint64_t nth)
{
    vfs->fail_in[kind] = nth;
}

/* --- power --- */

void sim_vfs_cut_after(struct sim_vfs *vfs, uint64_t nth)
{
    vfs->cut_in = nth;
}

void sim_vfs_cut(struct sim_vfs *vfs)
{
    vfs->cut = true;
    vfs->cut_in = 0;
}

bool sim_vfs_is_cut(const struct sim_vfs *vfs)
{
    return vfs->cut;
}

/* Locks and shared memory end with the process; handles from before are dead from here on. */
static void end_process(struct sim_vfs *vfs)
{
    vfs->power++;
    vfs->cut = false;
    vfs->cut_in = 0;
    for (struct sim_file *file = vfs->files; file; file = file->next) {
        file->lock_shared = 0;
        file->lock_reserved = file->lock_pending = file->lock_exclusive = false;
        bury_shm(vfs, file);
    }
}

/* Keep a part of a write: whole sectors from its beginning or its end. */
static void tear(struct sim_vfs *vfs, struct sim_bytes *bytes, const struct sim_change *change)
{
    int64_t at = (int64_t)ty_random_below(&vfs->random, (uint64_t)change->len);
    int64_t edge = (change->offset + at) / SIM_SECTOR * SIM_SECTOR - change->offset;
    if (edge <= 0)
        return;
    bool front = ty_random_below(&vfs->random, 2) == 0;
    bool done = front ? sim_bytes_write(bytes, change->bytes, edge, change->offset)
                      : sim_bytes_write(bytes, change->bytes + edge, change->len - edge,
                                        change->offset + edge);
    if (!done)
        abort();
}

static void settle(struct sim_vfs *vfs, struct sim_file *file)
{
    for (const struct sim_change *change = file->pending; change; change = change->next) {
        uint64_t fate = ty_random_below(&vfs->random, 4);
        if (change->doomed || fate == 0 || fate == 1) {
            vfs->counts.writes_lost++;
        } else if (fate == 2 && !change->truncate) {
            vfs->counts.writes_torn++;
            tear(vfs, &file->durable, change);
        } else {
            sim_apply_change(&file->durable, change);
        }
    }
    sim_drop_changes(file);
    if (!bytes_copy(&file->cache, &file->durable))
        abort();
}

void sim_vfs_crash(struct sim_vfs *vfs)
{
    vfs->counts.crashes++;
    end_process(vfs);
    struct sim_file *next;
    for (struct sim_file *file = vfs->files; file; file = next) {
        next = file->next;
        settle(vfs, file);
        if (!file->name_durable && ty_random_below(&vfs->random, 2) == 0)
            file->linked = false;
        if (!file->linked && file->opens == 0)
            sim_free_file(vfs, file);
    }
}

void sim_vfs_kill(struct sim_vfs *vfs)
{
    end_process(vfs);
}

/* --- looking --- */

void sim_vfs_get_counts(const struct sim_vfs *vfs, struct sim_vfs_counts *out)
{
    *out = vfs->counts;
}

uint64_t sim_vfs_flip(struct sim_vfs *vfs, const char *suffix, uint64_t count)
{
    uint64_t flipped = 0;
    size_t suffix_len = strlen(suffix);
    for (struct sim_file *file = vfs->files; file; file = file->next) {
        size_t len = strlen(file->name);
        if (!file->linked || file->cache.len == 0 || len < suffix_len ||
            strcmp(file->name + len - suffix_len, suffix) != 0)
            continue;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t at = ty_random_below(&vfs->random, (uint64_t)file->cache.len);
            unsigned char bit = (unsigned char)(1U << ty_random_below(&vfs->random, 8));
            file->cache.data[at] ^= bit;
            if ((int64_t)at < file->durable.len)
                file->durable.data[at] ^= bit;
            flipped++;
        }
    }
    vfs->counts.bytes_flipped += flipped;
    return flipped;
}
