/* keep_last: which checkpoints are surplus, and letting them go.
 *
 * A folder goes in two steps: it gets a hidden name, then it is emptied. So nobody takes half of a
 * checkpoint for a whole one, and what a crash leaves under that name goes with the next call. */
#include "checkpoints.h"
#include "walk.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char hidden_name[] = ".trainyard-removed";

/* An entry directly beneath the folder. */
struct unit {
    struct ty_file_entry entry; /* of a folder: the stat of its newest file; TY_FILE_OTHER until a
                                   file that counts is seen in it */
    bool young;                 /* something in it was changed at `before_ns` or later */
};

struct units {
    struct unit *items;
    size_t count;
    size_t capacity;
    size_t skip; /* bytes of the folder's own path */
    int64_t before_ns;
    bool failed;
    bool too_many; /* to compare each with each */
};

static void units_done(struct units *units)
{
    for (size_t at = 0; at < units->count; at++)
        free(units->items[at].entry.path);
    free(units->items);
    *units = (struct units){0};
}
#define auto_units __attribute__((cleanup(units_done))) struct units

static bool units_add(struct units *units, const char *path, size_t len)
{
    if (units->count == units->capacity) {
        size_t capacity = units->capacity ? 2 * units->capacity : 32;
        struct unit *items = realloc(units->items, capacity * sizeof(*items));
        if (!items)
            return false;
        units->items = items;
        units->capacity = capacity;
    }
    char *copy = strndup(path, len);
    if (!copy)
        return false;
    struct unit *unit = &units->items[units->count++];
    *unit = (struct unit){
        .entry = {.path = copy, .path_len = len}
    };
    unit->entry.stat.kind = TY_FILE_OTHER;
    return true;
}

/* The walk shows a folder before what is in it, so an entry's unit is the last one made. */
static bool gather_unit(const char *path, size_t path_len, const struct stat *stat, void *context)
{
    struct units *units = context;
    struct ty_file_stat file;
    ty_file_stat_from(stat, &file);
    bool is_top = !strchr(path + units->skip, '/');
    if (is_top) {
        units->too_many = units->count == TY_FILE_LIST_MAX;
        if (units->too_many)
            return false;
        units->failed = !units_add(units, path, path_len);
        if (units->failed)
            return false;
    }
    struct unit *unit = &units->items[units->count - 1];
    unit->young |= file.modified_ns >= units->before_ns;
    if (file.kind != TY_FILE_REGULAR || file.size == 0 ||
        ty_checkpoint_temporary(path + units->skip))
        return true;
    struct ty_file_stat *newest = &unit->entry.stat;
    if (newest->kind == TY_FILE_OTHER || file.modified_ns > newest->modified_ns)
        *newest = file;
    newest->kind = is_top ? TY_FILE_REGULAR : TY_FILE_FOLDER;
    return true;
}

/* Whether two different names are alike but for their numbers: names without one never are. */
static bool same_series(const char *a, const char *b)
{
    while (*a && *b) {
        size_t a_digits = strspn(a, "0123456789");
        size_t b_digits = strspn(b, "0123456789");
        if ((a_digits > 0) != (b_digits > 0) || (a_digits == 0 && *a != *b))
            return false;
        a += a_digits > 0 ? a_digits : 1;
        b += b_digits > 0 ? b_digits : 1;
    }
    return !*a && !*b;
}

static int compare_ages(const void *a, const void *b)
{
    const struct ty_file_entry *left = &((const struct unit *)a)->entry;
    const struct ty_file_entry *right = &((const struct unit *)b)->entry;
    if (checkpoint_newer(&left->stat, left->path, &right->stat, right->path))
        return 1;
    return checkpoint_newer(&right->stat, right->path, &left->stat, left->path) ? -1 : 0;
}

static bool counts(const struct unit *unit)
{
    return unit->entry.stat.kind != TY_FILE_OTHER && !unit->young;
}

/* Whether `keep_last` newer ones of its series and kind follow the unit at `at` (sorted by age). */
static bool is_surplus(const struct units *sorted, size_t at, size_t keep_last)
{
    const struct ty_file_entry *entry = &sorted->items[at].entry;
    size_t newer = 0;
    for (size_t other = at + 1; other < sorted->count && newer < keep_last; other++) {
        const struct unit *unit = &sorted->items[other];
        if (counts(unit) && unit->entry.stat.kind == entry->stat.kind &&
            same_series(unit->entry.path + sorted->skip, entry->path + sorted->skip))
            newer++;
    }
    return newer == keep_last;
}

/* Move what may go into `list`, oldest first. */
static ty_status take_surplus(struct units *units, size_t keep_last, struct ty_file_list *list)
{
    if (units->count == 0)
        return TY_OK;
    qsort(units->items, units->count, sizeof(*units->items), compare_ages);
    ty_auto_free bool *surplus = calloc(units->count, sizeof(*surplus));
    list->items = calloc(units->count, sizeof(*list->items));
    if (!surplus || !list->items)
        return TY_NO_MEMORY;
    for (size_t at = 0; at < units->count; at++) /* all are judged while all are there */
        surplus[at] = counts(&units->items[at]) && is_surplus(units, at, keep_last);
    for (size_t at = 0; at < units->count; at++) {
        if (!surplus[at])
            continue;
        list->items[list->count++] = units->items[at].entry;
        units->items[at].entry.path = NULL;
    }
    return TY_OK;
}

ty_status ty_checkpoints_surplus(int root_fd, const char *folder, size_t keep_last,
                                 int64_t before_ns, struct ty_file_list *list_out,
                                 struct ty_error *err)
{
    auto_units units = {.skip = folder && *folder ? strlen(folder) + 1 : 0, .before_ns = before_ns};
    const struct walk_request request = {
        .folder = folder, .batch = TY_FILE_SCAN_MAX, .visit = gather_unit, .context = &units};
    struct ty_file_list list = {0};
    ty_status status = TY_OK;
    if (keep_last > 0)
        status = ty_walk(root_fd, &request, &list.partial, err);
    if (status == TY_NOT_FOUND)
        status = TY_OK; /* nothing there yet */
    if (status != TY_OK)
        return status;
    list.partial |= units.too_many;
    if (units.failed || (!list.partial && take_surplus(&units, keep_last, &list) != TY_OK)) {
        ty_file_list_done(&list);
        return ty_fail(err, TY_NO_MEMORY, "find surplus checkpoints");
    }
    *list_out = list;
    return TY_OK;
}

/* --- letting them go --- */

static ty_status remove_folder(int folder_fd, const char *name, struct ty_error *err)
{
    if (renameat2(folder_fd, name, folder_fd, hidden_name, RENAME_NOREPLACE) != 0)
        return errno == ENOENT ? TY_OK : ty_fail_errno(err, errno, "set a checkpoint aside");
    ty_failpoint("checkpoints.set_aside");
    return ty_tree_remove(folder_fd, hidden_name, err);
}

/* One of them, if it still is what it was. */
static ty_status remove_entry(int folder_fd, const char *name, const struct ty_file_stat *seen,
                              struct ty_error *err)
{
    struct stat stat;
    struct ty_file_stat now;
    if (fstatat(folder_fd, name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? TY_OK : ty_fail_errno(err, errno, "look at a checkpoint");
    ty_file_stat_from(&stat, &now);
    if (now.kind != seen->kind)
        return TY_OK;
    if (seen->kind == TY_FILE_FOLDER)
        return remove_folder(folder_fd, name, err);
    if (!ty_file_same_version(&now, seen))
        return TY_OK;
    if (unlinkat(folder_fd, name, 0) != 0 && errno != ENOENT)
        return ty_fail_errno(err, errno, "remove a checkpoint");
    return TY_OK;
}

/* Returns how many are gone; *status_out says why it ended before the last. */
static size_t remove_all(int folder_fd, const struct ty_file_list *list, size_t skip,
                         const atomic_bool *stop, ty_status *status_out, struct ty_error *err)
{
    size_t removed = 0;
    *status_out = TY_OK;
    for (size_t at = 0; at < list->count; at++) {
        const struct ty_file_entry *entry = &list->items[at];
        if (!entry->path || (stop && atomic_load(stop)))
            break;
        ty_failpoint("checkpoints.before_remove");
        *status_out = remove_entry(folder_fd, entry->path + skip, &entry->stat, err);
        if (*status_out != TY_OK)
            break;
        removed++;
    }
    return removed;
}

ty_status ty_checkpoints_prune(int root_fd, const char *folder, size_t keep_last, int64_t before_ns,
                               const atomic_bool *stop, size_t *removed_out, struct ty_error *err)
{
    ty_auto_file_list list = {0};
    ty_auto_fd folder_fd = -1;
    bool is_root = !folder || !*folder;
    ty_status status = ty_open_beneath(root_fd, is_root ? "." : folder, O_PATH | O_DIRECTORY, true,
                                       &folder_fd, err);
    if (status == TY_NOT_FOUND) {
        *removed_out = 0;
        return TY_OK;
    }
    if (status == TY_OK)
        status = ty_tree_remove(folder_fd, hidden_name, err); /* of a call that was broken off */
    if (status == TY_OK)
        status = ty_checkpoints_surplus(root_fd, folder, keep_last, before_ns, &list, err);
    if (status != TY_OK)
        return status;
    size_t removed =
        remove_all(folder_fd, &list, is_root ? 0 : strlen(folder) + 1, stop, &status, err);
    if (status == TY_OK)
        *removed_out = removed;
    return status;
}
