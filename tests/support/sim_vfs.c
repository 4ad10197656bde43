#include "sim_disk.h"

#include <stdlib.h>
#include <string.h>

enum { SHM_LOCKS = SQLITE_SHM_NLOCK };

struct handle {
    sqlite3_file base;
    struct sim_vfs *vfs;
    struct sim_file *file;
    uint64_t power;
    int lock;
    uint16_t shm_shared; /* bits held by this handle */
    uint16_t shm_exclusive;
    bool delete_on_close;
};

/* --- faults --- */

static bool chance(struct sim_vfs *vfs, uint32_t per_million)
{
    return per_million > 0 && ty_random_below(&vfs->random, 1000000) < per_million;
}

static bool dead(const struct handle *handle)
{
    return handle->vfs->cut || handle->power != handle->vfs->power;
}

static bool nth_fails(struct sim_vfs *vfs, sim_vfs_call kind)
{
    return vfs->fail_in[kind] > 0 && --vfs->fail_in[kind] == 0;
}

static bool fault(struct sim_vfs *vfs, bool happens)
{
    vfs->counts.faults += happens;
    return happens;
}

/* Every change of the disk passes here; true when the power is gone. */
static bool power_gone(struct sim_vfs *vfs)
{
    vfs->counts.changes++;
    if (!vfs->cut && vfs->cut_in > 0 && --vfs->cut_in == 0)
        sim_vfs_cut(vfs);
    return vfs->cut;
}

static bool no_room(struct sim_vfs *vfs, const struct sim_file *file, int64_t end)
{
    int64_t growth = end - file->cache.len;
    return vfs->capacity > 0 && growth > 0 && sim_vfs_used(vfs) + growth > vfs->capacity;
}

/* --- methods of an open file --- */

static int file_close(sqlite3_file *base)
{
    struct handle *handle = (struct handle *)base;
    struct sim_file *file = handle->file;
    if (handle->power == handle->vfs->power && handle->delete_on_close)
        file->linked = false;
    if (--file->opens == 0 && !file->linked)
        sim_free_file(handle->vfs, file);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *out, int len, sqlite3_int64 offset)
{
    struct handle *handle = (struct handle *)base;
    struct sim_vfs *vfs = handle->vfs;
    const struct sim_bytes *cache = &handle->file->cache;
    if (dead(handle))
        return SQLITE_IOERR_READ;
    vfs->counts.reads++;
    bool nth = nth_fails(vfs, SIM_READ);
    if (fault(vfs, nth || chance(vfs, vfs->odds.read_error)))
        return SQLITE_IOERR_READ;
    int64_t there = cache->len > offset ? cache->len - offset : 0;
    if (there >= len) {
        memcpy(out, cache->data + offset, (size_t)len);
        return SQLITE_OK;
    }
    if (there > 0)
        memcpy(out, cache->data + offset, (size_t)there);
    memset((char *)out + there, 0, (size_t)(len - there));
    return SQLITE_IOERR_SHORT_READ;
}

static int store_write(struct sim_file *file, const void *data, int64_t len, int64_t offset)
{
    if (len == 0)
        return SQLITE_OK;
    /* All memory is taken here, so that a sync never needs any. */
    if (!sim_bytes_reserve(&file->cache, offset + len) ||
        !sim_bytes_reserve(&file->durable, offset + len) ||
        !sim_add_change(file, data, len, offset) ||
        !sim_bytes_write(&file->cache, data, len, offset))
        return SQLITE_IOERR_NOMEM;
    return SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *data, int len, sqlite3_int64 offset)
{
    struct handle *handle = (struct handle *)base;
    struct sim_vfs *vfs = handle->vfs;
    if (dead(handle) || power_gone(vfs))
        return SQLITE_IOERR_WRITE;
    vfs->counts.writes++;
    bool nth = nth_fails(vfs, SIM_WRITE);
    if (fault(vfs, nth || chance(vfs, vfs->odds.write_error)))
        return SQLITE_IOERR_WRITE;
    if (fault(vfs, no_room(vfs, handle->file, offset + len)))
        return SQLITE_FULL;
    if (fault(vfs, chance(vfs, vfs->odds.short_write))) {
        (void)store_write(handle->file, data, (int64_t)ty_random_below(&vfs->random, (uint64_t)len),
                          offset);
        return SQLITE_IOERR_WRITE;
    }
    return store_write(handle->file, data, len, offset);
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct handle *handle = (struct handle *)base;
    if (dead(handle) || power_gone(handle->vfs))
        return SQLITE_IOERR_TRUNCATE;
    if (!sim_add_change(handle->file, NULL, 0, size) ||
        !sim_bytes_resize(&handle->file->cache, size))
        return SQLITE_IOERR_NOMEM;
    return SQLITE_OK;
}

static int file_sync(sqlite3_file *base, int flags)
{
    struct handle *handle = (struct handle *)base;
    struct sim_vfs *vfs = handle->vfs;
    struct sim_file *file = handle->file;
    (void)flags;
    if (dead(handle) || power_gone(vfs))
        return SQLITE_IOERR_FSYNC;
    vfs->counts.syncs++;
    bool nth = nth_fails(vfs, SIM_SYNC);
    if (fault(vfs, nth || chance(vfs, vfs->odds.sync_error))) {
        for (struct sim_change *change = file->pending; change; change = change->next)
            change->doomed = true;
        return SQLITE_IOERR_FSYNC;
    }
    for (const struct sim_change *change = file->pending; change; change = change->next)
        if (!change->doomed)
            sim_apply_change(&file->durable, change);
    sim_drop_changes(file);
    file->name_durable =
        true; /* SQLite's own VFS syncs the folder with the first sync of a new file */
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size_out)
{
    struct handle *handle = (struct handle *)base;
    if (dead(handle))
        return SQLITE_IOERR_FSTAT;
    *size_out = handle->file->cache.len;
    return SQLITE_OK;
}

/* --- database locks, between connections of this process --- */

static void release_to(struct handle *handle, int level)
{
    struct sim_file *file = handle->file;
    if (handle->lock >= SQLITE_LOCK_RESERVED && level < SQLITE_LOCK_RESERVED) {
        file->lock_reserved = false;
        file->lock_pending = false;
        file->lock_exclusive = false;
    }
    if (handle->lock >= SQLITE_LOCK_SHARED && level < SQLITE_LOCK_SHARED)
        file->lock_shared--;
    handle->lock = level;
}

static int file_lock(sqlite3_file *base, int level)
{
    struct handle *handle = (struct handle *)base;
    struct sim_file *file = handle->file;
    if (dead(handle))
        return SQLITE_IOERR_LOCK;
    if (level <= handle->lock)
        return SQLITE_OK;
    if (level == SQLITE_LOCK_SHARED) {
        if (file->lock_pending || file->lock_exclusive)
            return SQLITE_BUSY;
        file->lock_shared++;
    } else if (level == SQLITE_LOCK_RESERVED) {
        if (file->lock_reserved)
            return SQLITE_BUSY;
        file->lock_reserved = true;
    } else {
        if (file->lock_reserved && handle->lock < SQLITE_LOCK_RESERVED)
            return SQLITE_BUSY;
        file->lock_reserved = true;
        file->lock_pending = true;
        if (file->lock_shared > 1) {
            handle->lock = SQLITE_LOCK_PENDING;
            return SQLITE_BUSY;
        }
        file->lock_exclusive = true;
    }
    handle->lock = level;
    return SQLITE_OK;
}

static int file_unlock(sqlite3_file *base, int level)
{
    struct handle *handle = (struct handle *)base;
    if (handle->power == handle->vfs->power)
        release_to(handle, level);
    return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *base, int *out)
{
    const struct handle *handle = (const struct handle *)base;
    *out = handle->file->lock_reserved;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int op, void *argument)
{
    (void)base;
    (void)op;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *base)
{
    (void)base;
    return SIM_SECTOR;
}

/* As SQLite's own VFS claims by default: a write never damages bytes outside of its range. */
static int file_characteristics(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* --- shared memory of the log's index --- */

static int shm_map(sqlite3_file *base, int region, int size, int extend, void volatile **out)
{
    struct handle *handle = (struct handle *)base;
    struct sim_file *file = handle->file;
    *out = NULL;
    if (dead(handle))
        return SQLITE_IOERR_SHMMAP;
    if (region >= file->shm_count) {
        if (!extend)
            return SQLITE_OK;
        void **regions = realloc(file->shm_regions, sizeof(void *) * (size_t)(region + 1));
        if (!regions)
            return SQLITE_NOMEM;
        file->shm_regions = regions;
        while (file->shm_count <= region) {
            regions[file->shm_count] = calloc(1, (size_t)size);
            if (!regions[file->shm_count])
                return SQLITE_NOMEM;
            file->shm_count++;
        }
    }
    *out = file->shm_regions[region];
    return SQLITE_OK;
}

static bool shm_can_take(const struct handle *handle, int slot, bool exclusive)
{
    const struct sim_file *file = handle->file;
    bool mine_shared = (handle->shm_shared >> slot) & 1;
    if (file->shm_exclusive[slot] && !((handle->shm_exclusive >> slot) & 1))
        return false;
    return !exclusive || file->shm_shared[slot] - mine_shared == 0;
}

static void shm_take(struct handle *handle, int slot, bool exclusive)
{
    struct sim_file *file = handle->file;
    uint16_t bit = (uint16_t)(1U << slot);
    if (exclusive) {
        file->shm_exclusive[slot] = true;
        handle->shm_exclusive |= bit;
    } else if (!(handle->shm_shared & bit)) {
        file->shm_shared[slot]++;
        handle->shm_shared |= bit;
    }
}

static void shm_give(struct handle *handle, int slot)
{
    struct sim_file *file = handle->file;
    uint16_t bit = (uint16_t)(1U << slot);
    if (handle->shm_exclusive & bit)
        file->shm_exclusive[slot] = false;
    if (handle->shm_shared & bit)
        file->shm_shared[slot]--;
    handle->shm_exclusive &= (uint16_t)~bit;
    handle->shm_shared &= (uint16_t)~bit;
}

static int shm_lock(sqlite3_file *base, int offset, int count, int flags)
{
    struct handle *handle = (struct handle *)base;
    bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    if (handle->power != handle->vfs->power)
        return flags & SQLITE_SHM_UNLOCK ? SQLITE_OK : SQLITE_IOERR_SHMLOCK;
    if (flags & SQLITE_SHM_UNLOCK) {
        for (int slot = offset; slot < offset + count; slot++)
            shm_give(handle, slot);
        return SQLITE_OK;
    }
    for (int slot = offset; slot < offset + count; slot++)
        if (!shm_can_take(handle, slot, exclusive))
            return SQLITE_BUSY;
    for (int slot = offset; slot < offset + count; slot++)
        shm_take(handle, slot, exclusive);
    return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *base)
{
    (void)base;
}

static int shm_unmap(sqlite3_file *base, int delete_it)
{
    struct handle *handle = (struct handle *)base;
    if (handle->power != handle->vfs->power)
        return SQLITE_OK;
    for (int slot = 0; slot < SHM_LOCKS; slot++)
        shm_give(handle, slot);
    if (delete_it)
        sim_drop_shm(handle->file);
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

/* --- methods of the VFS --- */

static int vfs_open(sqlite3_vfs *base, const char *name, sqlite3_file *out, int flags,
                    int *flags_out)
{
    struct sim_vfs *vfs = (struct sim_vfs *)base;
    struct handle *handle = (struct handle *)out;
    struct sim_file *file = name ? sim_find_file(vfs, name) : NULL;
    memset(handle, 0, sizeof(*handle));
    if (vfs->cut)
        return SQLITE_CANTOPEN;
    if (!file && name && !(flags & SQLITE_OPEN_CREATE))
        return SQLITE_CANTOPEN;
    if (!file)
        file = sim_make_file(vfs, name ? name : "");
    if (!file)
        return SQLITE_NOMEM;
    file->linked = name != NULL;
    file->opens++;
    handle->base.pMethods = &methods;
    handle->vfs = vfs;
    handle->file = file;
    handle->power = vfs->power;
    handle->delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    if (flags_out)
        *flags_out = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *base, const char *name, int sync_folder)
{
    struct sim_vfs *vfs = (struct sim_vfs *)base;
    struct sim_file *file = sim_find_file(vfs, name);
    if (!file)
        return SQLITE_IOERR_DELETE_NOENT;
    if (power_gone(vfs))
        return SQLITE_IOERR_DELETE;
    /* Without a sync of the folder the name might come back: only journals are deleted so, and the
     * log never is. */
    (void)sync_folder;
    file->linked = false;
    if (file->opens == 0)
        sim_free_file(vfs, file);
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *base, const char *name, int flags, int *out)
{
    (void)flags;
    const struct sim_file *file = sim_find_file((struct sim_vfs *)base, name);
    *out = file != NULL && (flags != SQLITE_ACCESS_EXISTS || file->cache.len > 0);
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *base, const char *name, int size, char *out)
{
    (void)base;
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *base, int len, char *out)
{
    struct sim_vfs *vfs = (struct sim_vfs *)base;
    vfs->random.fill(vfs->random.context, out, (size_t)len);
    return len;
}

static int vfs_sleep(sqlite3_vfs *base, int microseconds)
{
    ((struct sim_vfs *)base)->clock_ms += microseconds / 1000;
    return microseconds;
}

static int vfs_time(sqlite3_vfs *base, sqlite3_int64 *out)
{
    *out = INT64_C(210866760000000) + ((struct sim_vfs *)base)->clock_ms;
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *base, int size, char *out)
{
    (void)base;
    (void)size;
    (void)out;
    return 0;
}

struct sim_vfs *sim_vfs_create(const char *name, uint64_t seed)
{
    struct sim_vfs *vfs = calloc(1, sizeof(*vfs));
    if (!vfs)
        return NULL;
    vfs->name = strdup(name);
    vfs->random = ty_random_seeded(&vfs->seed, seed);
    vfs->base = (sqlite3_vfs){.iVersion = 2,
                              .szOsFile = sizeof(struct handle),
                              .mxPathname = SIM_NAME - 1,
                              .zName = vfs->name,
                              .xOpen = vfs_open,
                              .xDelete = vfs_delete,
                              .xAccess = vfs_access,
                              .xFullPathname = vfs_full_path,
                              .xRandomness = vfs_randomness,
                              .xSleep = vfs_sleep,
                              .xGetLastError = vfs_last_error,
                              .xCurrentTimeInt64 = vfs_time};
    if (!vfs->name || sqlite3_vfs_register(&vfs->base, 0) != SQLITE_OK) {
        free(vfs->name);
        free(vfs);
        return NULL;
    }
    return vfs;
}

void sim_vfs_destroy(struct sim_vfs *vfs)
{
    if (!vfs)
        return;
    sqlite3_vfs_unregister(&vfs->base);
    while (vfs->files)
        sim_free_file(vfs, vfs->files);
    for (size_t i = 0; i < vfs->graves; i++)
        free(vfs->graveyard[i]);
    free(vfs->graveyard);
    free(vfs->name);
    free(vfs);
}
