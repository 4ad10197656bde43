/* Files: whole reads within a limit, atomic writes, folders, opens that cannot leave a root. */
#ifndef TRAINYARD_BASE_FILE_H
#define TRAINYARD_BASE_FILE_H

#include "trainyard/base/buf.h"

#include <dirent.h>
#include <sys/types.h>

/* Append the whole file to `buf`. TY_NOT_FOUND, TY_TOO_LARGE (beyond buf->max), TY_UNAVAILABLE;
 * `buf` is as before then. Errors of this header name a file by its last component alone. */
ty_status ty_file_read(int folder_fd, const char *name, struct ty_buf *buf,
                       struct ty_error *err) TY_MUST_CHECK;

/* Replace `name` as a whole: temporary file, fsync, rename, fsync of the folder. A reader sees the
 * old or the new contents, also after a power cut. The mode is `mode` whatever the umask; a link in
 * the place of `name` is replaced, not followed. TY_STORAGE_FULL, TY_NOT_FOUND (no such folder),
 * TY_UNAVAILABLE. */
ty_status ty_file_write(int folder_fd, const char *name, const void *bytes, size_t len, mode_t mode,
                        struct ty_error *err) TY_MUST_CHECK;

/* Write all bytes, through interruptions and short writes. */
ty_status ty_write_all(int fd, const void *bytes, size_t len, struct ty_error *err) TY_MUST_CHECK;

/* Make a folder and its parents (0700 unless they exist). */
ty_status ty_folder_make(const char *path, struct ty_error *err) TY_MUST_CHECK;

/* Open a folder below another as a new descriptor, making it first (0700, durably) when `create`. A
 * link in the place of `name` is refused, unless folder_fd is AT_FDCWD. TY_NOT_FOUND,
 * TY_STORAGE_FULL, TY_UNAVAILABLE, TY_INTERNAL (not a folder). */
ty_status ty_folder_open(int folder_fd, const char *name, bool create, int *fd_out,
                         struct ty_error *err) TY_MUST_CHECK;

/* The entries of an open folder, from the first one on, whatever else reads it; closed with
 * closedir(). NULL with errno. */
DIR *ty_folder_entries(int folder_fd) TY_MUST_CHECK;

/* Remove a tree (or a single file) below `folder_fd`, never following a symbolic link, however deep
 * it is and whatever rights its folders lack. A missing tree is success. */
ty_status ty_tree_remove(int folder_fd, const char *name, struct ty_error *err) TY_MUST_CHECK;

/* Open `path` beneath `root_fd` with openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
 * RESOLVE_NO_SYMLINKS when `no_links`): no "..", absolute path or link leads out. `flags` as
 * open(2); O_CLOEXEC and O_NONBLOCK are added. TY_NOT_FOUND covers everything that would leave the
 * root. */
ty_status ty_open_beneath(int root_fd, const char *path, int flags, bool no_links, int *fd_out,
                          struct ty_error *err) TY_MUST_CHECK;

#endif
