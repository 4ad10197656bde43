/* The walk. A folder's names are read as a whole but only the smallest `batch` of those still to
 * come are kept and sorted; when they are done the folder is read again for the next ones. So a
 * page of a folder with a million names costs one reading and a page's memory.
 *
 * Everything may change meanwhile and be hostile: folders are opened with O_NOFOLLOW below the
 * descriptor of the one above, nothing else is opened at all, and depth and names read are bounded.
 */
#include "walk.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct walk {
    const struct walk_request *request;
    struct ty_buf path;
    size_t scanned;
    bool partial;
    bool ended; /* by the visitor */
};

/* The smallest names of a folder that are at or after a bound. */
struct names {
    char **items;
    size_t count;
    size_t capacity;
    bool more; /* some were left out */
};

static void names_done(struct names *names)
{
    for (size_t at = 0; at < names->count; at++)
        free(names->items[at]);
    free(names->items);
    *names = (struct names){0};
}
#define auto_names __attribute__((cleanup(names_done))) struct names

static void close_stream(DIR **stream)
{
    if (*stream)
        closedir(*stream);
}
#define auto_stream __attribute__((cleanup(close_stream))) DIR *

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sort what was gathered and let go of what is beyond the batch. */
static void names_trim(struct names *names, size_t batch)
{
    if (names->count > 1)
        qsort(names->items, names->count, sizeof(*names->items), compare_names);
    while (names->count > batch) {
        free(names->items[--names->count]);
        names->more = true;
    }
}

static ty_status names_add(struct names *names, const char *name, size_t batch)
{
    if (names->count == names->capacity && names->count >= 2 * batch)
        names_trim(names, batch);
    if (names->count == names->capacity) {
        size_t capacity = names->capacity ? 2 * names->capacity : 64;
        char **items = realloc(names->items, capacity * sizeof(*items));
        if (!items)
            return TY_NO_MEMORY;
        names->items = items;
        names->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy)
        return TY_NO_MEMORY;
    names->items[names->count++] = copy;
    return TY_OK;
}

/* Gather names that sort after `bound`, or at it when `inclusive`; NULL = all. */
static ty_status gather(struct walk *walk, DIR *stream, const char *bound, bool inclusive,
                        struct names *names)
{
    size_t batch = walk->request->batch;
    rewinddir(stream);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (!entry) {
            walk->partial |= errno != 0;
            break;
        }
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (++walk->scanned > TY_FILE_SCAN_MAX) {
            walk->partial = true;
            break;
        }
        int order = bound ? strcmp(name, bound) : 1;
        if (order < 0 || (order == 0 && !inclusive))
            continue;
        if (names_add(names, name, batch) != TY_OK)
            return TY_NO_MEMORY;
    }
    names_trim(names, batch);
    return TY_OK;
}

static ty_status walk_folder(struct walk *walk, int fd, size_t depth, const char *after);

/* Go into a folder whose path is in walk->path. */
static ty_status enter(struct walk *walk, int parent_fd, const char *name, size_t depth,
                       const char *after)
{
    if (depth >= TY_FILE_DEPTH_MAX) {
        walk->partial = true;
        return TY_OK;
    }
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        walk->partial |=
            errno != ENOENT && errno != ENOTDIR && errno != ELOOP; /* those: it changed */
        return TY_OK;
    }
    return walk_folder(walk, fd, depth + 1, after);
}

/* One name of a folder. `below` is NULL, or what comes after in it when the name itself was already
 * seen. */
static ty_status walk_name(struct walk *walk, int fd, const char *name, size_t depth,
                           const char *below)
{
    size_t len_before = walk->path.len;
    struct stat stat;
    if (fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0) {
        walk->partial |= errno != ENOENT;
        return TY_OK;
    }
    if (len_before + strlen(name) + 1 > TY_FILE_PATH_MAX) {
        walk->partial = true; /* no path could name it */
        return TY_OK;
    }
    if (len_before > 0)
        ty_buf_addc(&walk->path, '/');
    ty_buf_adds(&walk->path, name);
    if (walk->path.failed)
        return TY_NO_MEMORY;

    const struct walk_request *request = walk->request;
    if (!below)
        walk->ended = !request->visit(walk->path.data, walk->path.len, &stat, request->context);
    ty_status status = TY_OK;
    if (!walk->ended && S_ISDIR(stat.st_mode))
        status = enter(walk, fd, name, depth, below && *below ? below : NULL);
    walk->path.len = len_before;
    walk->path.data[len_before] = '\0';
    return status;
}

/* Split "a/b/c" into the name "a" and the rest "b/c" ("" when there is none). */
static const char *split(const char *path, char name_out[TY_FILE_NAME_MAX + 1])
{
    size_t len = strcspn(path, "/");
    memcpy(name_out, path, len); /* the path was checked: a name fits */
    name_out[len] = '\0';
    return path[len] ? path + len + 1 : path + len;
}

/* Takes `fd` over. */
static ty_status walk_folder(struct walk *walk, int fd, size_t depth, const char *after)
{
    char bound[TY_FILE_NAME_MAX + 1];
    const char *below = after ? split(after, bound) : NULL;
    bool bounded = after != NULL;
    bool inclusive = bounded;
    auto_stream stream = fdopendir(fd);
    if (!stream) {
        close(fd);
        return TY_NO_MEMORY;
    }
    for (bool more = true; more && !walk->ended && walk->scanned <= TY_FILE_SCAN_MAX;) {
        auto_names names = {0};
        ty_status status = gather(walk, stream, bounded ? bound : NULL, inclusive, &names);
        for (size_t at = 0; status == TY_OK && at < names.count && !walk->ended; at++) {
            bool seen = inclusive && strcmp(names.items[at], bound) == 0;
            status = walk_name(walk, fd, names.items[at], depth, seen ? below : NULL);
        }
        if (status != TY_OK)
            return status;
        more = names.more && names.count > 0;
        if (more)
            (void)ty_str_copy(bound, sizeof(bound), names.items[names.count - 1]);
        bounded = true;
        inclusive = false;
    }
    return TY_OK;
}

/* Open the folder to walk, saying what is wrong in words a client may see. */
static ty_status open_top(int root_fd, const char *folder, int *fd_out, struct ty_error *err)
{
    ty_auto_fd place = -1;
    if (folder) {
        ty_status status = ty_open_beneath(root_fd, folder, O_PATH, true, &place, err);
        if (status != TY_OK)
            return status;
    }
    int fd = openat(folder ? place : root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        *fd_out = fd;
        return TY_OK;
    }
    if (errno == EACCES || errno == EPERM)
        return ty_fail_code(err, TY_FORBIDDEN, "file_not_readable",
                            "no permission to read the folder");
    if (errno == ENOTDIR || errno == ENOENT)
        return ty_fail(err, TY_NOT_FOUND, "no folder of that path");
    return ty_fail_errno(err, errno, "open the folder");
}

/* `after` without the folder's own path in front; the walk is the folder's. */
static ty_status cut_after(const char *folder, const char **after, struct ty_error *err)
{
    if (!*after)
        return TY_OK;
    ty_status status = ty_file_path_check(*after, strlen(*after), err);
    if (status != TY_OK || !folder)
        return status;
    size_t len = strlen(folder);
    if (strncmp(*after, folder, len) != 0 || (*after)[len] != '/')
        return ty_fail_code(err, TY_INVALID, "invalid_path",
                            "the page to go on from is of another folder");
    *after += len + 1;
    return TY_OK;
}

ty_status ty_walk(int root_fd, const struct walk_request *request, bool *partial_out,
                  struct ty_error *err)
{
    const char *folder = request->folder && *request->folder ? request->folder : NULL;
    const char *after = request->after;
    ty_status status = folder ? ty_file_path_check(folder, strlen(folder), err) : TY_OK;
    if (status == TY_OK)
        status = cut_after(folder, &after, err);
    int fd = -1;
    if (status == TY_OK)
        status = open_top(root_fd, folder, &fd, err);
    if (status != TY_OK)
        return status;

    struct walk walk = {.request = request};
    ty_buf_init(&walk.path, TY_FILE_PATH_MAX);
    if (folder)
        ty_buf_adds(&walk.path, folder);
    status = walk_folder(&walk, fd, 0, after);
    ty_buf_done(&walk.path);
    if (status != TY_OK)
        return ty_fail(err, status, "list the folder");
    *partial_out = walk.partial;
    return TY_OK;
}
