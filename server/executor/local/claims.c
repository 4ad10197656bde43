/* A claim is the folder volumes/<namespace>/<claim>; whoever makes the folder makes the claim. */
#include "executor/local/inside.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 128 };

static ty_status check_names(const char *namespace, const char *claim, struct ty_error *err)
{
    if (!ty_dns1123_label(namespace) || !ty_dns1123_subdomain(claim))
        return ty_fail(err, TY_NOT_FOUND, "no claim of that name");
    return TY_OK;
}

static ty_status open_namespace(const struct local *local, const char *namespace, bool create,
                                int *fd_out, struct ty_error *err)
{
    return ty_folder_open(local->volumes_fd, namespace, create, fd_out, err);
}

ty_status ty_local_open_claim(struct ty_executor *executor, const char *namespace,
                              const char *claim, int *fd_out, struct ty_error *err)
{
    const struct local *local = (const struct local *)executor;
    ty_auto_fd folder = -1;
    ty_status status = check_names(namespace, claim, err);
    if (status == TY_OK)
        status = open_namespace(local, namespace, false, &folder, err);
    if (status != TY_OK)
        return status == TY_NOT_FOUND ? ty_fail(err, TY_NOT_FOUND, "no claim %s", claim) : status;
    int fd = openat(folder, claim, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return ty_fail_errno(err, errno == ENOTDIR || errno == ELOOP ? ENOENT : errno,
                             "open claim %s", claim);
    *fd_out = fd;
    return TY_OK;
}

bool ty_local_has_claim(const struct local *local, const char *namespace, const char *claim)
{
    char path[TY_OBJECT_NAME + 300];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", namespace, claim);
    return fstatat(local->volumes_fd, path, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(info.st_mode);
}

ty_status ty_local_create_claim(struct ty_executor *executor, const char *namespace,
                                const char *claim, struct ty_error *err)
{
    struct local *local = (struct local *)executor;
    ty_auto_fd folder = -1;
    if (!ty_dns1123_label(namespace) || !ty_dns1123_subdomain(claim))
        return ty_fail(err, TY_INVALID, "\"%s\" cannot be the name of a claim", claim);
    ty_status status = open_namespace(local, namespace, true, &folder, err);
    if (status != TY_OK)
        return status;
    ty_failpoint("claim.before_make");
    if (mkdirat(folder, claim, 0700) != 0)
        return errno == EEXIST ? ty_fail(err, TY_CONFLICT, "claim %s exists", claim)
                               : ty_fail_errno(err, errno, "make claim %s", claim);
    ty_failpoint("claim.after_make");
    const struct local_command poke = {.kind = COMMAND_POKE};
    struct ty_error ignored;
    ty_status sent = ty_local_send(local, &poke, &ignored);
    (void)sent; /* the thread looks every second anyway */
    return TY_OK;
}

ty_status ty_local_remove_claim(struct ty_executor *executor, const char *namespace,
                                const char *claim, struct ty_error *err)
{
    const struct local *local = (const struct local *)executor;
    ty_auto_fd folder = -1;
    ty_status status = check_names(namespace, claim, err);
    if (status == TY_OK)
        status = open_namespace(local, namespace, false, &folder, err);
    if (status == TY_OK && !ty_local_has_claim(local, namespace, claim))
        status = ty_fail(err, TY_NOT_FOUND, "no claim %s", claim);
    if (status != TY_OK)
        return status;
    ty_failpoint("claim.before_remove");
    status = ty_tree_remove(folder, claim, err);
    ty_failpoint("claim.after_remove");
    return status;
}

/* Sum of the blocks in use; files that vanish meanwhile do not count. */
static int64_t measure(int folder_fd, int depth)
{
    DIR *folder = fdopendir(folder_fd);
    if (!folder) {
        close(folder_fd);
        return 0;
    }
    int64_t sum = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat info;
        if (ty_str_equal(entry->d_name, ".") || ty_str_equal(entry->d_name, "..") ||
            fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        sum += (int64_t)info.st_blocks * 512;
        if (!S_ISDIR(info.st_mode) || depth == 0)
            continue;
        int child =
            openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child >= 0)
            sum += measure(child, depth - 1);
    }
    closedir(folder);
    return sum;
}

ty_status ty_local_measure_claim(struct ty_executor *executor, const char *namespace,
                                 const char *claim, int64_t *used_bytes_out, struct ty_error *err)
{
    int fd;
    ty_status status = ty_local_open_claim(executor, namespace, claim, &fd, err);
    if (status == TY_OK)
        *used_bytes_out = measure(fd, DEPTH_MAX);
    return status;
}
