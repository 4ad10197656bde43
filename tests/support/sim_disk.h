/* Inside the simulated disk: its files, what of them is durable, and the VFS that owns them. */
#ifndef SUPPORT_SIM_DISK_H
#define SUPPORT_SIM_DISK_H

#include "sim_vfs.h"
#include "trainyard/base/random.h"

#include <sqlite3.h>

enum { SIM_SECTOR = 512, SIM_NAME = 256 };

/* One change not yet durable. A truncation has no bytes. */
struct sim_change {
    struct sim_change *next;
    bool doomed; /* a sync that covered it has failed */
    bool truncate;
    int64_t offset; /* of a truncation: the new size */
    int64_t len;
    unsigned char bytes[];
};

struct sim_bytes {
    unsigned char *data;
    int64_t len;
    int64_t capacity;
};

/* A file and, for databases, the shared memory of its connections. */
struct sim_file {
    struct sim_file *next;
    char name[SIM_NAME];
    bool linked;       /* has a name; an unlinked one lives until it is closed */
    bool name_durable; /* survives a power cut */
    int opens;
    struct sim_bytes cache;   /* what readers see */
    struct sim_bytes durable; /* what is left when everything pending is lost */
    struct sim_change *pending;
    struct sim_change **pending_end;
    int lock_shared; /* database locks: counts */
    bool lock_reserved;
    bool lock_pending;
    bool lock_exclusive;
    void **shm_regions;
    int shm_count;
    int shm_shared[SQLITE_SHM_NLOCK];
    bool shm_exclusive[SQLITE_SHM_NLOCK];
};

struct sim_vfs {
    sqlite3_vfs base;
    char *name;
    struct ty_seeded seed;
    struct ty_random random;
    struct sim_file *files;
    void **graveyard; /* shared memory of dead processes: their handles may still look at it */
    size_t graves;
    uint64_t power; /* grows at each cut: handles of an older power are dead */
    bool cut;
    uint64_t cut_in;
    uint64_t fail_in[SIM_CALL_KINDS];
    struct sim_vfs_odds odds;
    int64_t capacity;
    int64_t clock_ms;
    struct sim_vfs_counts counts;
};

/* False without memory, and then nothing has changed. A growth is filled with zeros. */
bool sim_bytes_reserve(struct sim_bytes *bytes, int64_t len);
bool sim_bytes_resize(struct sim_bytes *bytes, int64_t len);
bool sim_bytes_write(struct sim_bytes *bytes, const void *data, int64_t len, int64_t offset);

/* Put one change into the bytes; ends the program without memory. */
void sim_apply_change(struct sim_bytes *bytes, const struct sim_change *change);

/* NULL when there is none, or without memory. */
struct sim_file *sim_find_file(struct sim_vfs *vfs, const char *name);
struct sim_file *sim_make_file(struct sim_vfs *vfs, const char *name);

/* Take the file off the disk and free it. */
void sim_free_file(struct sim_vfs *vfs, struct sim_file *file);

/* Note a change that is not durable yet; `data` NULL is a truncation to `offset`. False without
 * memory. */
bool sim_add_change(struct sim_file *file, const void *data, int64_t len, int64_t offset);
void sim_drop_changes(struct sim_file *file);

/* Free the shared memory of the file's connections. */
void sim_drop_shm(struct sim_file *file);

#endif
