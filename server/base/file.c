#include "trainyard/base/file.h"

#include "trainyard/base/random.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { READ_STEP = 65536 };

/* Errors name a file by its last component: a whole path would show clients how the host is laid
 * out. */
static const char *shown_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static ssize_t read_some(int fd, void *bytes, size_t len)
{
    ssize_t got;

    do {
        got = read(fd, bytes, len);
    } while (got < 0 && errno == EINTR);
    return got;
}

static ty_status read_whole(int fd, const char *name, struct ty_buf *buf, struct ty_error *err)
{
    for (;;) {
        size_t left = buf->max - buf->len;
        size_t step = left < READ_STEP ? left : READ_STEP;
        char probe = 0;
        char *room = step > 0 ? ty_buf_reserve(buf, step) : &probe;
        ssize_t got;

        if (!room)
            return ty_buf_check(buf, name, err);
        got = read_some(fd, room, step > 0 ? step : 1);
        if (got < 0)
            return ty_fail_errno(err, errno, "read %s", name);
        if (got == 0)
            return TY_OK;
        if (step == 0)
            return ty_fail(err, TY_TOO_LARGE, "%s is larger than %zu bytes", name, buf->max);
        ty_buf_grew(buf, (size_t)got);
    }
}

ty_status ty_file_read(int folder_fd, const char *name, struct ty_buf *buf, struct ty_error *err)
{
    size_t len_before = buf->len;
    ty_auto_fd fd = -1;
    ty_status status;

    if (buf->failed)
        return ty_buf_check(buf, shown_name(name), err);
    fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return ty_fail_errno(err, errno, "open %s", shown_name(name));
    status = read_whole(fd, shown_name(name), buf, err);
    if (status) {
        buf->failed = TY_OK;
        buf->len = len_before;
        if (buf->data)
            buf->data[len_before] = '\0';
    }
    return status;
}

ty_status ty_write_all(int fd, const void *bytes, size_t len, struct ty_error *err)
{
    const char *next = bytes;

    while (len > 0) {
        ssize_t written = write(fd, next, len);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return ty_fail_errno(err, errno, "write");
        next += written;
        len -= (size_t)written;
    }
    return TY_OK;
}

/* Open the folder that holds `path` and point *base_out at the last component. */
static int open_parent(int folder_fd, const char *path, const char **base_out)
{
    const char *slash = strrchr(path, '/');
    ty_auto_free char *parent = NULL;

    *base_out = slash ? slash + 1 : path;
    parent = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!parent) {
        errno = ENOMEM;
        return -1;
    }
    return openat(folder_fd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static ty_status fill_temporary(int parent_fd, const char *temporary, const void *bytes, size_t len,
                                mode_t mode, struct ty_error *err)
{
    ty_auto_fd fd =
        openat(parent_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    ty_status status;

    if (fd < 0)
        return ty_fail_errno(err, errno, "create a temporary file");
    status = ty_write_all(fd, bytes, len, err);
    if (status)
        return status;
    if (fchmod(fd, mode) < 0 || fsync(fd) < 0)
        return ty_fail_errno(err, errno, "store a temporary file");
    return TY_OK;
}

ty_status ty_file_write(int folder_fd, const char *name, const void *bytes, size_t len, mode_t mode,
                        struct ty_error *err)
{
    const struct ty_random *random = ty_random_system();
    uint64_t number;
    char temporary[40];
    const char *base;
    ty_auto_fd parent_fd = open_parent(folder_fd, name, &base);
    ty_status status;

    if (parent_fd < 0)
        return ty_fail_errno(err, errno, "open the folder of %s", base);
    random->fill(random->context, &number, sizeof(number));
    snprintf(temporary, sizeof(temporary), ".tmp-%016llx", (unsigned long long)number);
    status = fill_temporary(parent_fd, temporary, bytes, len, mode, err);
    if (!status && renameat(parent_fd, temporary, parent_fd, base) < 0)
        status = ty_fail_errno(err, errno, "replace %s", base);
    if (status) {
        (void)unlinkat(parent_fd, temporary, 0);
        return err ? ty_wrap(err, "write %s", base) : status;
    }
    if (fsync(parent_fd) < 0)
        return ty_fail_errno(err, errno, "store the folder of %s", base);
    return TY_OK;
}

/* Open `path` beneath `root_fd`; the kernel asks for a retry when a rename raced with a "..". */
static int open_beneath(int root_fd, const char *path, const struct open_how *how)
{
    long fd;
    int tries = 0;

    do {
        fd = syscall(SYS_openat2, root_fd, path, how, sizeof(*how));
    } while (fd < 0 && (errno == EAGAIN || errno == EINTR) && ++tries < 32);
    return (int)fd;
}

ty_status ty_open_beneath(int root_fd, const char *path, int flags, bool no_links, int *fd_out,
                          struct ty_error *err)
{
    struct open_how how = {
        /* openat2 refuses O_PATH with flags that could only matter to a real open */
        .flags = (unsigned)(flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY)),
        .mode = flags & O_CREAT ? 0600 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (no_links ? RESOLVE_NO_SYMLINKS : 0),
    };
    int fd = open_beneath(root_fd, path, &how);

    if (fd >= 0) {
        *fd_out = fd;
        return TY_OK;
    }
    switch (errno) {
    case ENOENT:
    case EXDEV:
    case ELOOP:
    case ENOTDIR:
    case ENAMETOOLONG:
        return ty_fail(err, TY_NOT_FOUND, "no file of that path");
    case ENOSYS:
        return ty_fail(err, TY_UNSUPPORTED, "the kernel has no openat2");
    case EAGAIN:
        return ty_fail(err, TY_UNAVAILABLE, "the folder keeps changing");
    default:
        return ty_fail_errno(err, errno, "open a file");
    }
}
