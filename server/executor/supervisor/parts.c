#include "executor/supervisor/parts.h"

#include "trainyard/base/scope.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* One step down, never through a link. A missing folder is made when `make`. */
static int step_down(int folder_fd, const char *name, bool make)
{
    if (make)
        (void)mkdirat(folder_fd, name, 0755); /* there already, or the open tells */
    int fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    if (fd >= 0 && (fstat(fd, &info) != 0 || S_ISLNK(info.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* All the way down `path`. Takes the descriptor. */
static int walk_down(int folder_fd, const char *path, bool make)
{
    ty_auto_fd fd = folder_fd;
    while (fd >= 0 && *path) {
        char name[NAME_MAX + 1];
        size_t len = strcspn(path, "/");
        if (len == 0 || len > NAME_MAX || (len == 2 && path[0] == '.' && path[1] == '.'))
            return -1;
        memcpy(name, path, len);
        name[len] = '\0';
        int next = step_down(fd, name, make);
        close(fd);
        fd = next;
        path += len + (path[len] == '/');
    }
    return ty_steal_fd(&fd);
}

static int open_part(const struct ty_plan_mount *mount)
{
    int fd = open(mount->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return walk_down(fd, mount->sub_path ? mount->sub_path : "", !mount->read_only);
}

/* A folder that the program counts on. Where it cannot be made the program will say so. */
static void make_folder(const struct ty_plan_mount *mount)
{
    int fd = mount->read_only ? -1 : open_part(mount);
    ty_auto_fd made = fd < 0 ? -1 : walk_down(fd, mount->make, true);
    (void)made;
}

static ty_status open_all(struct ty_parts *parts, size_t mount_count, struct ty_error *err)
{
    for (size_t i = 0; i < mount_count; i++) {
        struct ty_plan_mount *mount = &parts->mounts[i];
        if (mount->kind == TY_MOUNT_BIND && mount->make)
            make_folder(mount);
        if (mount->kind != TY_MOUNT_BIND || !mount->sub_path)
            continue;
        if (parts->count == TY_PARTS_MAX)
            return ty_fail(err, TY_REFUSED, "more than %d parts of volumes", (int)TY_PARTS_MAX);
        int fd = open_part(mount);
        if (fd < 0)
            return ty_fail_code(err, TY_NOT_FOUND, "mount_failed",
                                "%s of the volume at %s cannot be mounted", mount->sub_path,
                                mount->target);
        char *source = parts->sources[parts->count];
        snprintf(source, sizeof parts->sources[0], "/proc/self/fd/%d", fd);
        parts->fds[parts->count++] = fd;
        mount->source = source;
    }
    return TY_OK;
}

ty_status ty_parts_open(const struct ty_plan_replica *replica, struct ty_parts *out,
                        struct ty_error *err)
{
    *out = (struct ty_parts){.mounts = calloc(replica->mount_count + 1, sizeof *out->mounts)};
    if (!out->mounts)
        return ty_fail(err, TY_NO_MEMORY, "no memory for mounts");
    memcpy(out->mounts, replica->mounts, replica->mount_count * sizeof *out->mounts);
    ty_status status = open_all(out, replica->mount_count, err);
    if (status != TY_OK)
        ty_parts_done(out);
    return status;
}

void ty_parts_done(struct ty_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        close(parts->fds[i]);
    parts->count = 0;
    free(parts->mounts);
    parts->mounts = NULL;
}
