/* The log archive: what every replica wrote, byte for byte, from its first byte on. One file a
 * replica for the life of the job; all attempts follow one another in it, so an offset stays valid
 * for ever. The supervisor appends, the daemon reads; both may die at any time. */
#ifndef TRAINYARD_LOGS_ARCHIVE_H
#define TRAINYARD_LOGS_ARCHIVE_H

#include "trainyard/base/clock.h"
#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- writing (one process, one writer a replica) --- */
struct ty_log_writer;

/* Open or continue `<folder>/<replica>.log` and its index for appending; `folder_fd` is the job's
 * log folder (not kept). A torn last index record is cut off. A writer is used by one thread at a
 * time.
 *
 * On failure *writer_out is untouched:
 *   TY_INVALID       `replica` is no DNS-1123 label
 *   TY_CONFLICT      another writer has it open ("log_in_use")
 *   TY_STORAGE_FULL, TY_UNAVAILABLE, TY_NO_MEMORY */
ty_status ty_log_writer_open(int folder_fd, const char *replica, struct ty_log_writer **writer_out,
                             struct ty_error *err) TY_MUST_CHECK;

/* Let the log grow to `max_bytes` and no further: what would pass it is lost, as on a full disk
 * (TY_STORAGE_FULL, code "log_limit"; the gap is noted). 0 = without end, as after opening. */
void ty_log_writer_limit(struct ty_log_writer *writer, int64_t max_bytes);

/* Note that `attempt` (1, 2, …: one for each start of the replica's process) begins at the current
 * end. TY_INVALID when it is not above the last one. */
ty_status ty_log_writer_attempt(struct ty_log_writer *writer, int32_t attempt, int64_t wall_us,
                                struct ty_error *err) TY_MUST_CHECK;

/* Append bytes that arrived at `wall_us`: they are in the kernel when it returns, so they outlive
 * this process. On any failure what fitted is kept and the rest is counted as lost: the index notes
 * the gap as soon as it can be written. TY_STORAGE_FULL (also at a file size limit: ignore
 * SIGXFSZ), TY_UNAVAILABLE. */
ty_status ty_log_writer_append(struct ty_log_writer *writer, const void *bytes, size_t len,
                               int64_t wall_us, struct ty_error *err) TY_MUST_CHECK;

/* Where the next byte goes: the log's present end. */
int64_t ty_log_writer_end(const struct ty_log_writer *writer);

/* Bytes that could not be stored since the writer was opened. */
int64_t ty_log_writer_lost(const struct ty_log_writer *writer);

/* Push what was written to the disk, if anything was since the last time; call it about once a
 * second, so that a power cut loses no more than that. TY_UNAVAILABLE, TY_STORAGE_FULL: the kernel
 * may have dropped what it could not write. */
ty_status ty_log_writer_sync(struct ty_log_writer *writer, struct ty_error *err) TY_MUST_CHECK;

/* Nothing follows any more: fsync and mark the replica's log as sealed. Sealing twice is one seal;
 * appending after a seal breaks it. The daemon seals for a supervisor that died. */
ty_status ty_log_writer_seal(struct ty_log_writer *writer, struct ty_error *err) TY_MUST_CHECK;
void ty_log_writer_close(struct ty_log_writer *writer); /* without sealing; takes NULL */

/* --- reading --- */
struct ty_log_reader;

/* TY_NOT_FOUND while the replica has written nothing and was not started. A reader never changes:
 * any number of threads and followers may use one at the same time. It holds two descriptors. */
ty_status ty_log_reader_open(int folder_fd, const char *replica, struct ty_log_reader **reader_out,
                             struct ty_error *err) TY_MUST_CHECK;
void ty_log_reader_close(struct ty_log_reader *reader); /* takes NULL */

/* Copy up to `max` bytes from `offset`; 0 bytes at the present end or beyond it. TY_INVALID for a
 * negative offset. */
ty_status ty_log_read(struct ty_log_reader *reader, int64_t offset, void *out, size_t max,
                      size_t *len_out, struct ty_error *err) TY_MUST_CHECK;

struct ty_log_extent {
    int64_t start;    /* inclusive */
    int64_t end;      /* exclusive: the present end */
    bool sealed;      /* `end` is final */
    int32_t attempts; /* how many the replica has had */
};
/* The extent of the whole log, or of one attempt when `attempt` > 0 (TY_NOT_FOUND when there was
 * none such). */
ty_status ty_log_extent(struct ty_log_reader *reader, int32_t attempt, struct ty_log_extent *out,
                        struct ty_error *err) TY_MUST_CHECK;

/* What the writers could not store, over the whole log: each gap is counted. TY_UNAVAILABLE. */
struct ty_log_gaps {
    int64_t count;
    int64_t bytes;  /* how many are missing; a lower bound when a power cut took unsynced bytes */
    int64_t offset; /* of the first gap; -1 when there is none */
};
ty_status ty_log_gaps(struct ty_log_reader *reader, struct ty_log_gaps *out,
                      struct ty_error *err) TY_MUST_CHECK;

/* When the byte at `offset` arrived, to within 100 ms: microseconds since 1970. TY_NOT_FOUND beyond
 * the end or when no time is known. */
ty_status ty_log_time_at(struct ty_log_reader *reader, int64_t offset, int64_t *wall_us_out,
                         struct ty_error *err) TY_MUST_CHECK;

/* The first offset whose bytes arrived at `wall_us` or later, to within 100 ms; the present end
 * when there is none. */
ty_status ty_log_offset_since(struct ty_log_reader *reader, int64_t wall_us, int64_t *offset_out,
                              struct ty_error *err) TY_MUST_CHECK;

/* The offset at which the last `lines` lines before `extent->end` begin (never before
 * extent->start). An unfinished last line counts as one; 0 lines = the end. Lines end in "\n"
 * alone: redraws by "\r" belong to their line. Reads backwards in blocks, never the whole file.
 * TY_INVALID when `lines` is negative. */
ty_status ty_log_tail(struct ty_log_reader *reader, const struct ty_log_extent *extent,
                      int64_t lines, int64_t *offset_out, struct ty_error *err) TY_MUST_CHECK;

/* --- following: one watcher thread for all followers of the process, woken by the kernel
 * (inotify), not by polling --- */
struct ty_log_watcher;
struct ty_log_watch;

ty_status ty_log_watcher_create(struct ty_log_watcher **watcher_out,
                                struct ty_error *err) TY_MUST_CHECK;
void ty_log_watcher_destroy(struct ty_log_watcher *watcher); /* no watch may be left; takes NULL */

/* Call `wake(context)` (from the watcher's thread; it must not block) after the replica's log grew,
 * was sealed or came into being: at once when it was quiet, and in the long run at most every 10 ms
 * (a few calls may follow one another in 2 ms). The job's log folder need not exist yet when its
 * parent does; a folder that is removed and made again goes on being watched. `wake` is called once
 * soon after the add, so that a reader who looked before it missed nothing, and may be called
 * without cause.
 *
 * On failure *watch_out is untouched:
 *   TY_NOT_FOUND    the parent folder does not exist, or `replica` is no replica's name
 *   TY_UNAVAILABLE  the kernel gives no more watches ("too_many_watches")
 *   TY_NO_MEMORY */
ty_status ty_log_watch_add(struct ty_log_watcher *watcher, const char *job_folder_path,
                           const char *replica, void (*wake)(void *context), void *context,
                           struct ty_log_watch **watch_out, struct ty_error *err) TY_MUST_CHECK;
/* After it returns `wake` is not running and will not be called: it waits for a call under way, so
 * hold no lock that `wake` takes. From inside `wake` itself it does not wait. Takes NULL. */
void ty_log_watch_remove(struct ty_log_watch *watch);

#endif
