#include "trainyard/base/file.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Folders deeper than this are moved up before they are emptied: a job can nest folders without
 * end, but neither our stack nor our descriptors may depend on it. */
enum { DEPTH_MAX = 32 };

struct removal {
    int top_fd;
    unsigned long moved; /* numbers the folders that were moved up */
};

static ty_status make_one(const char *path, struct ty_error *err)
{
    struct stat status;

    if (mkdir(path, 0700) == 0)
        return TY_OK;
    if (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return TY_OK;
    return ty_fail_errno(err, errno == EEXIST ? ENOTDIR : errno, "make a folder");
}

ty_status ty_folder_make(const char *path, struct ty_error *err)
{
    ty_auto_free char *copy = strdup(path);

    if (!copy)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a path");
    for (char *at = copy; *at; at++) {
        ty_status status;

        if (*at != '/' || at == copy)
            continue;
        *at = '\0';
        status = make_one(copy, err);
        *at = '/';
        if (status)
            return status;
    }
    return make_one(copy, err);
}

ty_status ty_folder_open(int folder_fd, const char *name, bool create, int *fd_out,
                         struct ty_error *err)
{
    int no_link = folder_fd == AT_FDCWD ? 0 : O_NOFOLLOW;
    int fd;

    if (create && mkdirat(folder_fd, name, 0700) == 0) {
        /* The new entry must outlive a power cut as the files in it do. */
        if (folder_fd != AT_FDCWD && fsync(folder_fd) < 0)
            return ty_fail_errno(err, errno, "store a folder");
    } else if (create && errno != EEXIST) {
        return ty_fail_errno(err, errno, "make a folder");
    }
    fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link);
    if (fd < 0)
        return ty_fail_errno(err, errno, "open a folder");
    *fd_out = fd;
    return TY_OK;
}

DIR *ty_folder_entries(int folder_fd)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);

    if (fd >= 0 && !entries)
        close(fd);
    return entries;
}

/* Give ourselves the rights that a job took from one of its own folders; the descriptor keeps a
 * link from being followed. */
static void unlock_folder(int folder_fd, const char *name)
{
    ty_auto_fd fd = openat(folder_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char path[64];

    if (fd < 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)chmod(path, 0700);
}

static DIR *open_folder(int folder_fd, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat status;
    DIR *folder;
    int fd = openat(folder_fd, name, flags);

    if (fd < 0 && errno == EACCES) {
        unlock_folder(folder_fd, name);
        fd = openat(folder_fd, name, flags);
    }
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && (status.st_mode & 0700) != 0700)
        (void)fchmod(fd, 0700);
    folder = fdopendir(fd);
    if (!folder)
        close(fd);
    return folder;
}

static int move_up(struct removal *removal, int folder_fd, const char *name)
{
    char moved[40];
    int result;

    do {
        snprintf(moved, sizeof(moved), ".removed-%lu", removal->moved++);
        result = renameat(folder_fd, name, removal->top_fd, moved);
    } while (result < 0 && (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR));
    return result;
}

static int remove_entry(struct removal *removal, int folder_fd, const char *name, int depth);

/* Remove what is in one folder; 0, or -1 with errno. */
static int empty_folder(struct removal *removal, DIR *folder, int depth)
{
    const struct dirent *entry;

    while ((errno = 0, entry = readdir(folder)) != NULL) {
        if (ty_str_equal(entry->d_name, ".") || ty_str_equal(entry->d_name, ".."))
            continue;
        if (remove_entry(removal, dirfd(folder), entry->d_name, depth) < 0)
            return -1;
    }
    return errno ? -1 : 0;
}

static int remove_entry(struct removal *removal, int folder_fd, const char *name, int depth)
{
    DIR *folder;
    int result;
    int cause;

    if (unlinkat(folder_fd, name, 0) == 0 || errno == ENOENT) {
        ty_failpoint("tree.after_entry");
        return 0;
    }
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (depth == DEPTH_MAX)
        return move_up(removal, folder_fd, name);
    folder = open_folder(folder_fd, name);
    if (!folder)
        return -1;
    result = empty_folder(removal, folder, depth + 1);
    cause = errno;
    closedir(folder);
    errno = cause;
    return result < 0 ? -1 : unlinkat(folder_fd, name, AT_REMOVEDIR);
}

/* Folders moved up come back into view on a next pass, so empty the top until it can go. */
static int remove_top(int folder_fd, const char *name)
{
    DIR *top = open_folder(folder_fd, name);
    struct removal removal;
    unsigned long moved_before;
    int result;
    int cause;

    if (!top)
        return -1;
    removal = (struct removal){.top_fd = dirfd(top)};
    do {
        moved_before = removal.moved;
        rewinddir(top);
        result = empty_folder(&removal, top, 1);
        if (result == 0)
            result = unlinkat(folder_fd, name, AT_REMOVEDIR);
    } while (result < 0 && (errno == ENOTEMPTY || errno == EEXIST) && removal.moved > moved_before);
    cause = errno;
    closedir(top);
    errno = cause;
    return result;
}

ty_status ty_tree_remove(int folder_fd, const char *name, struct ty_error *err)
{
    if (unlinkat(folder_fd, name, 0) == 0 || errno == ENOENT)
        return TY_OK;
    if ((errno == EISDIR || errno == EPERM) && remove_top(folder_fd, name) == 0)
        return TY_OK;
    if (errno == ENOENT)
        return TY_OK;
    return ty_fail_errno(err, errno, "remove a folder");
}
