/* An SQLite VFS in memory for the simulation: deterministic by its seed, with a disk that can fail,
 * fill up, and forget at a power cut what was not synced. Single-threaded.
 *
 * Files survive the store: close it (or cut the power, see below) and open it again on the same
 * name. The model of the disk: a write goes to a cache that every reader sees at once; xSync makes
 * the file's writes durable; at a power cut each write not yet synced is kept, forgotten or torn at
 * a sector, independently of the others, and a file that was never synced may be gone. After a
 * failed sync the writes it covered are lost at a cut for good, even when a later sync succeeds
 * (what Linux does with dirty pages after a failed fsync). */
#ifndef SUPPORT_SIM_VFS_H
#define SUPPORT_SIM_VFS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_vfs;

/* Register a VFS under `name` (give it as ty_store_options.vfs; the folder is then any text). NULL
 * without memory. */
struct sim_vfs *sim_vfs_create(const char *name, uint64_t seed);
/* All files must be closed. Takes NULL. */
void sim_vfs_destroy(struct sim_vfs *vfs);

/* --- faults --- */

/* Chances in a million for each call; 0 = never. */
struct sim_vfs_odds {
    uint32_t write_error; /* xWrite fails with EIO and writes nothing */
    uint32_t short_write; /* xWrite stores a part and fails with EIO */
    uint32_t sync_error;  /* xSync fails: see the model above */
    uint32_t read_error;
};
void sim_vfs_set_odds(struct sim_vfs *vfs, const struct sim_vfs_odds *odds);

/* While `capacity` > 0, all files together cannot grow beyond it: SQLITE_FULL. 0 = no limit. */
void sim_vfs_set_capacity(struct sim_vfs *vfs, int64_t capacity);
int64_t sim_vfs_used(const struct sim_vfs *vfs);

/* Fail exactly the n-th call from now (1 = the next) of one kind. 0 takes it back. */
typedef enum { SIM_WRITE, SIM_SYNC, SIM_READ, SIM_CALL_KINDS } sim_vfs_call;
void sim_vfs_fail_nth(struct sim_vfs *vfs, sim_vfs_call kind, uint64_t nth);

/* --- power --- */

/* Cut the power before the n-th change of the disk from now (write, truncate, sync or delete; 1 =
 * the next). From then on every call on open files fails, as if the process were gone. 0 takes it
 * back. */
void sim_vfs_cut_after(struct sim_vfs *vfs, uint64_t nth);
/* Cut it now. */
void sim_vfs_cut(struct sim_vfs *vfs);
bool sim_vfs_is_cut(const struct sim_vfs *vfs);

/* Let the disk be what a power cut leaves of it, and give power again. Cuts first when that has not
 * happened. The store that was open must be closed before (its calls fail, so it can change
 * nothing) or right after: handles from before stay dead for ever. */
void sim_vfs_crash(struct sim_vfs *vfs);

/* The same for a process that dies on a running machine (kill -9): the cache survives, nothing
 * unsynced is lost. */
void sim_vfs_kill(struct sim_vfs *vfs);

/* --- looking --- */

struct sim_vfs_counts {
    uint64_t writes;
    uint64_t syncs;
    uint64_t reads;
    uint64_t changes; /* what sim_vfs_cut_after counts */
    uint64_t faults;  /* calls failed on purpose */
    uint64_t crashes;
    uint64_t writes_lost; /* at power cuts */
    uint64_t writes_torn;
    uint64_t bytes_flipped; /* by sim_vfs_flip */
};
void sim_vfs_get_counts(const struct sim_vfs *vfs, struct sim_vfs_counts *out);

/* Damage: flip one random bit in each of `count` random bytes of the file whose name ends with
 * `suffix`. Returns how many were flipped (0 = no such file). */
uint64_t sim_vfs_flip(struct sim_vfs *vfs, const char *suffix, uint64_t count);

#endif
