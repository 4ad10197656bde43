/* The log archive: what every replica wrote, byte for byte, from its first byte on. One file a replica for the life of
 * the job; all attempts follow one another in it, so an offset stays valid for ever. The supervisor appends, the daemon
 * reads; both may die at any time. */
#ifndef TRAINYARD_LOGS_ARCHIVE_H
#define TRAINYARD_LOGS_ARCHIVE_H

#include "trainyard/base/clock.h"
#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- writing (one process, one writer a replica) --- */
struct ty_log_writer;

/* Open or continue `<folder>/<replica>.log` and its index for appending; `folder_fd` is the job's log folder. A torn
 * last index record is cut off. */
ty_status ty_log_writer_open(int folder_fd, const char *replica, struct ty_log_writer **writer_out,
                             struct ty_error *err) TY_MUST_CHECK;

/* Note that `attempt` (1, 2, …: one for each start of the replica's process) begins at the current end. */
ty_status ty_log_writer_attempt(struct ty_log_writer *writer, int32_t attempt, int64_t wall_us, struct ty_error *err)
    TY_MUST_CHECK;

/* Append bytes that arrived at `wall_us`. TY_STORAGE_FULL keeps what fitted and notes a gap in the index. */
ty_status ty_log_writer_append(struct ty_log_writer *writer, const void *bytes, size_t len, int64_t wall_us,
                               struct ty_error *err) TY_MUST_CHECK;

/* Nothing follows any more: fsync and mark the replica's log as sealed. */
ty_status ty_log_writer_seal(struct ty_log_writer *writer, struct ty_error *err) TY_MUST_CHECK;
void ty_log_writer_close(struct ty_log_writer *writer); /* without sealing; takes NULL */

/* --- reading --- */
struct ty_log_reader;

/* TY_NOT_FOUND while the replica has written nothing and was not started. */
ty_status ty_log_reader_open(int folder_fd, const char *replica, struct ty_log_reader **reader_out,
                             struct ty_error *err) TY_MUST_CHECK;
void ty_log_reader_close(struct ty_log_reader *reader); /* takes NULL */

/* Copy up to `max` bytes from `offset`; 0 bytes at the present end. */
ty_status ty_log_read(struct ty_log_reader *reader, int64_t offset, void *out, size_t max, size_t *len_out,
                      struct ty_error *err) TY_MUST_CHECK;

struct ty_log_extent {
    int64_t start; /* inclusive */
    int64_t end;   /* exclusive: the present end */
    bool sealed;   /* `end` is final */
    int32_t attempts; /* how many the replica has had */
};
/* The extent of the whole log, or of one attempt when `attempt` > 0 (TY_NOT_FOUND when there was none such). */
ty_status ty_log_extent(struct ty_log_reader *reader, int32_t attempt, struct ty_log_extent *out, struct ty_error *err)
    TY_MUST_CHECK;

/* The offset at which the last `lines` lines before `extent->end` begin (never before extent->start). An unfinished
 * last line counts as one; 0 lines = the end. Reads backwards in blocks, never the whole file. */
ty_status ty_log_tail(struct ty_log_reader *reader, const struct ty_log_extent *extent, int64_t lines,
                      int64_t *offset_out, struct ty_error *err) TY_MUST_CHECK;

/* --- following: one watcher thread for all followers of the process, woken by the kernel (inotify), not by polling --- */
struct ty_log_watcher;
struct ty_log_watch;

ty_status ty_log_watcher_create(struct ty_log_watcher **watcher_out, struct ty_error *err) TY_MUST_CHECK;
void ty_log_watcher_destroy(struct ty_log_watcher *watcher); /* no watch may be left; takes NULL */

/* Call `wake(context)` (from the watcher's thread; it must not block) after the replica's log grew, was sealed or came
 * into being, at most every 10 ms; the job's log folder need not exist yet when its parent does. */
ty_status ty_log_watch_add(struct ty_log_watcher *watcher, const char *job_folder_path, const char *replica,
                           void (*wake)(void *context), void *context, struct ty_log_watch **watch_out,
                           struct ty_error *err) TY_MUST_CHECK;
/* After it returns `wake` is not and will not be called. Takes NULL. */
void ty_log_watch_remove(struct ty_log_watch *watch);

#endif
