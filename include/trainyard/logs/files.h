/* Files a job left beneath a claim: list them, open one, name its content, find its checkpoints.
 *
 * Everything here works beneath a root descriptor (the claim's folder, or a folder in it opened
 * with ty_open_beneath) and reads what a hostile job may have put there: names are bytes, not text;
 * named pipes, sockets and devices are never opened; links are never followed by a listing and
 * never out of the root by an open. All functions read the disk and belong on a worker thread. None
 * keeps the root descriptor. */
#ifndef TRAINYARD_LOGS_FILES_H
#define TRAINYARD_LOGS_FILES_H

#include "trainyard/base/buf.h"
#include "trainyard/base/digest.h"
#include "trainyard/base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- what a file is --- */
typedef enum { TY_FILE_REGULAR, TY_FILE_FOLDER, TY_FILE_LINK, TY_FILE_OTHER } ty_file_kind;

/* "file", "folder", "link", "other"; a static string. */
const char *ty_file_kind_name(ty_file_kind kind);

/* What fstat said. device, inode, size and the two nanosecond times together are the file's
 * version: any write, replacement or rename changes at least one of them (Linux updates the change
 * time on each). */
struct ty_file_stat {
    ty_file_kind kind;
    int64_t size;
    int64_t modified_us; /* wall clock */
    int64_t modified_ns;
    int64_t changed_ns;
    uint64_t device;
    uint64_t inode;
};

bool ty_file_same_version(const struct ty_file_stat *a, const struct ty_file_stat *b);

/* --- paths ---
 * A path is relative, elements joined by '/'. Refused with TY_INVALID, code "invalid_path": the
 * empty path, an element that is empty, "." or "..", a NUL, an element above 255 bytes, a path
 * above 4,095 bytes. Nothing else is special: '%', '+', '#', '?', '\', blanks, quotes, line breaks
 * and bytes that are no UTF-8 are names like any other. */
enum { TY_FILE_PATH_MAX = 4095, TY_FILE_NAME_MAX = 255 };

/* Check a whole path of `len` bytes. */
ty_status ty_file_path_check(const char *path, size_t len, struct ty_error *err) TY_MUST_CHECK;

/* Add one segment of a request's path, already percent-decoded exactly once, to `path`. A decoded
 * segment that holds a '/' (sent as %2F) is refused too, so that two URLs never mean one file.
 * `path->max` should be TY_FILE_PATH_MAX. */
ty_status ty_file_path_add(struct ty_buf *path, const char *segment, size_t len,
                           struct ty_error *err) TY_MUST_CHECK;

/* Append `path` percent-encoded for a URL: everything but unreserved characters (RFC 3986 2.3) and
 * '/'. Decoded once per segment it gives the same bytes back. Failure is sticky in `url`. */
void ty_file_path_encode(const char *path, size_t len, struct ty_buf *url);

/* --- listing --- */
struct ty_file_entry {
    char *path; /* beneath the root; NUL-ended, holds no NUL, may be no UTF-8; owned by the list */
    size_t path_len;
    struct ty_file_stat stat; /* a link's own size and times */
};

struct ty_file_query {
    const char *folder; /* list beneath it; NULL or "" = the root. Paths still begin at the root */
    const char *after;  /* only what sorts after it: the last path of the page before; or NULL */
    size_t limit;       /* 1..TY_FILE_LIST_MAX entries */
    bool files_only;    /* leave out folders, links and others */
};
enum { TY_FILE_LIST_MAX = 10000, TY_FILE_DEPTH_MAX = 32, TY_FILE_SCAN_MAX = 1000000 };

/* `partial`: not everything was seen, since a folder deeper than TY_FILE_DEPTH_MAX was shown but
 * not entered, one could not be read, or there are more than TY_FILE_SCAN_MAX names. */
struct ty_file_list {
    struct ty_file_entry *items;
    size_t count;
    bool more; /* something sorts after the last item */
    bool partial;
};

/* One page of everything beneath the folder, whole depth, in one order: by bytes, '/' before every
 * other byte, so that a folder is followed by what it holds. A name that vanishes meanwhile is left
 * out.
 *
 * On success the caller owns *list_out (ty_file_list_done). On failure it is untouched:
 *   TY_INVALID     folder, after or limit breaks a rule
 *   TY_NOT_FOUND   no such folder
 *   TY_FORBIDDEN   the folder asked for cannot be read ("file_not_readable")
 *   TY_NO_MEMORY   */
ty_status ty_files_list(int root_fd, const struct ty_file_query *query,
                        struct ty_file_list *list_out, struct ty_error *err) TY_MUST_CHECK;

/* Frees the items; the list is empty afterwards. A zeroed list is fine. */
void ty_file_list_done(struct ty_file_list *list);
#define ty_auto_file_list __attribute__((cleanup(ty_file_list_done))) struct ty_file_list

/* How much a folder holds: blocks on disk of all entries, links not followed, hard links counted
 * once per name. `partial` as in a list. TY_NO_MEMORY, TY_UNAVAILABLE. */
struct ty_file_usage {
    int64_t bytes;
    int64_t files;
    bool partial;
};
ty_status ty_files_usage(int root_fd, struct ty_file_usage *usage_out,
                         struct ty_error *err) TY_MUST_CHECK;

/* --- opening ---
 * Open one regular file for reading, without ever blocking: the kind is looked at before the open
 * and again after. Links are followed as long as they stay beneath the root (relative ones:
 * `latest.pt -> ckpt-5.pt`).
 *
 * On success *fd_out is the caller's (close it) and *stat_out its fstat. On failure both are
 * untouched, and no text holds a host path:
 *   TY_INVALID    the path breaks a rule ("invalid_path")
 *   TY_NOT_FOUND  nothing is there, or a link that leads out of the root
 *   TY_NOT_FOUND  it is a folder, pipe, socket or device ("not_a_file")
 *   TY_FORBIDDEN  no permission to read it ("file_not_readable") */
ty_status ty_file_open(int root_fd, const char *path, int *fd_out, struct ty_file_stat *stat_out,
                       struct ty_error *err) TY_MUST_CHECK;

/* The stat of an open descriptor, for looking again. TY_INTERNAL. */
ty_status ty_file_stat_fd(int fd, struct ty_file_stat *stat_out,
                          struct ty_error *err) TY_MUST_CHECK;

/* --- content digests: strong validators ---
 * A bounded cache of SHA-256 by version, for any number of threads. A digest is computed once per
 * version, in the thread that asks first; others that ask for the same version meanwhile wait for
 * it. A version younger than 50 ms is computed but not kept, because a second write within one
 * clock tick would not change its times. */
struct ty_file_digests;

ty_status ty_file_digests_create(size_t capacity, struct ty_file_digests **digests_out,
                                 struct ty_error *err) TY_MUST_CHECK;
/* Nobody may be asking; takes NULL. */
void ty_file_digests_destroy(struct ty_file_digests *digests);

/* The SHA-256 of the open file's whole content; `stat` is what ty_file_open gave with `fd`. The
 * descriptor's position does not move.
 *
 * On failure sha256_out is untouched:
 *   TY_CONFLICT     it was written while it was read ("file_changing"): it has no strong validator
 *                   now; serve it without one, or not at all
 *   TY_UNAVAILABLE  it could not be read
 *   TY_NO_MEMORY */
ty_status ty_file_digest(struct ty_file_digests *digests, int fd, const struct ty_file_stat *stat,
                         uint8_t sha256_out[TY_SHA256], struct ty_error *err) TY_MUST_CHECK;

/* Whether the digest is known without reading the file (for cheap lists and HEAD). */
bool ty_file_digest_known(struct ty_file_digests *digests, const struct ty_file_stat *stat,
                          uint8_t sha256_out[TY_SHA256]);

/* The strong ETag of a digest, quotes included: "\"" 43 base64url characters "\"". */
enum { TY_FILE_ETAG = 46 };
void ty_file_etag(const uint8_t sha256[TY_SHA256], char out[TY_FILE_ETAG]);

/* --- checkpoints ---
 * Every regular file beneath the folder is listed. One is the latest: the newest by modification
 * time, then by name (numbers in names compare as numbers), among files that are not temporary and
 * not empty. A file is temporary when its name or that of a folder above it ends in .tmp, .part,
 * .partial, .incomplete or ~, or begins with a dot. */
bool ty_checkpoint_temporary(const char *path);

struct ty_checkpoint_list {
    struct ty_file_list files; /* the page asked for, regular files only */
    char *latest; /* path of the latest in the whole folder, not only in this page; or NULL */
    struct ty_file_stat latest_stat;
};

/* As ty_files_list, and what is latest; query->files_only is implied. When files.partial is set the
 * latest may be wrong by what was not seen. Same errors; a missing folder is an empty list. */
ty_status ty_checkpoints_list(int root_fd, const struct ty_file_query *query,
                              struct ty_checkpoint_list *list_out,
                              struct ty_error *err) TY_MUST_CHECK;
void ty_checkpoint_list_done(struct ty_checkpoint_list *list);
#define ty_auto_checkpoint_list                                                                    \
    __attribute__((cleanup(ty_checkpoint_list_done))) struct ty_checkpoint_list

/* What `keep_last` may remove: entries directly beneath `folder` (a file, or a folder as a whole)
 * whose names differ only in their numbers form a series (ckpt-1.pt, ckpt-2.pt; checkpoint-500/,
 * checkpoint-1000/); of each series the newest `keep_last` stay and the older ones are returned,
 * oldest first. A folder is as old as the newest file in it. Never returned: names without a
 * number, temporary entries, empty files, links, and anything at all when the listing was partial.
 * An entry in which something was changed at `before_ns` (wall clock) or later may be unfinished:
 * it is not returned and stands for no other one; INT64_MAX: all are finished. keep_last 0 returns
 * nothing. Same errors as ty_files_list; a missing folder is an empty list. */
ty_status ty_checkpoints_surplus(int root_fd, const char *folder, size_t keep_last,
                                 int64_t before_ns, struct ty_file_list *list_out,
                                 struct ty_error *err) TY_MUST_CHECK;

/* Remove those, oldest first, until `stop` (may be NULL) is set. A file that was written meanwhile
 * stays. *removed_out counts those that are gone; it is untouched on failure, and what was removed
 * until then stays so. Errors as above, and those of ty_tree_remove. */
ty_status ty_checkpoints_prune(int root_fd, const char *folder, size_t keep_last, int64_t before_ns,
                               const atomic_bool *stop, size_t *removed_out,
                               struct ty_error *err) TY_MUST_CHECK;

#endif
