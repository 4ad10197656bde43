/* Opening one file of a job without being caught by what it really is. */
#include "walk.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static ty_file_kind kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return TY_FILE_REGULAR;
    if (S_ISDIR(mode))
        return TY_FILE_FOLDER;
    return S_ISLNK(mode) ? TY_FILE_LINK : TY_FILE_OTHER;
}

/* A job may set any time on its files: those beyond what can be said stay at the border. */
static int64_t to_ns(const struct timespec *time)
{
    const int64_t most = INT64_MAX / 1000000000 - 1;
    int64_t seconds = time->tv_sec;
    if (seconds > most)
        return INT64_MAX;
    if (seconds < -most)
        return INT64_MIN;
    return seconds * 1000000000 + time->tv_nsec;
}

static int64_t to_us(const struct timespec *time)
{
    const int64_t first = -62135596800; /* 0001-01-01 */
    const int64_t last = 253402300799;  /* 9999-12-31 */
    int64_t seconds = time->tv_sec;
    if (seconds < first)
        return first * 1000000;
    if (seconds > last)
        return last * 1000000;
    return seconds * 1000000 + time->tv_nsec / 1000;
}

void ty_file_stat_from(const struct stat *stat, struct ty_file_stat *out)
{
    *out = (struct ty_file_stat){
        .kind = kind_of(stat->st_mode),
        .size = stat->st_size,
        .modified_us = to_us(&stat->st_mtim),
        .modified_ns = to_ns(&stat->st_mtim),
        .changed_ns = to_ns(&stat->st_ctim),
        .device = stat->st_dev,
        .inode = stat->st_ino,
    };
}

bool ty_file_same_version(const struct ty_file_stat *a, const struct ty_file_stat *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

ty_status ty_file_stat_fd(int fd, struct ty_file_stat *stat_out, struct ty_error *err)
{
    struct stat stat;
    if (fstat(fd, &stat) < 0)
        return ty_fail(err, TY_INTERNAL, "look at the file: %s", strerrordesc_np(errno));
    ty_file_stat_from(&stat, stat_out);
    return TY_OK;
}

static ty_status check_regular(int fd, struct ty_file_stat *stat_out, struct ty_error *err)
{
    struct ty_file_stat stat;
    ty_status status = ty_file_stat_fd(fd, &stat, err);
    if (status != TY_OK)
        return status;
    if (stat.kind != TY_FILE_REGULAR)
        return ty_fail_code(err, TY_NOT_FOUND, "not_a_file",
                            "there is no file of that path, but something else");
    *stat_out = stat;
    return TY_OK;
}

/* After a look has succeeded only permission stands between us and the file. */
static ty_status fail_unreadable(ty_status status, struct ty_error *err)
{
    if (status != TY_UNAVAILABLE)
        return status;
    return ty_fail_code(err, TY_FORBIDDEN, "file_not_readable", "no permission to read the file");
}

ty_status ty_file_open(int root_fd, const char *path, int *fd_out, struct ty_file_stat *stat_out,
                       struct ty_error *err)
{
    struct ty_file_stat stat;
    ty_auto_fd place = -1;
    ty_auto_fd fd = -1;
    ty_status status = ty_file_path_check(path, strlen(path), err);
    /* O_PATH opens nothing: a pipe does not wait, a device does not act. */
    if (status == TY_OK)
        status = fail_unreadable(ty_open_beneath(root_fd, path, O_PATH, false, &place, err), err);
    if (status == TY_OK)
        status = check_regular(place, &stat, err);
    if (status == TY_OK)
        status = fail_unreadable(ty_open_beneath(root_fd, path, O_RDONLY, false, &fd, err), err);
    if (status == TY_OK)
        status = check_regular(fd, &stat, err); /* it may have been exchanged since */
    if (status != TY_OK)
        return status;
    *fd_out = ty_steal_fd(&fd);
    *stat_out = stat;
    return TY_OK;
}
