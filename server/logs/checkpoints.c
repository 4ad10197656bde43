/* Which of the files a job saved is the one to go on from, and which are surplus. */
#include "walk.h"

#include "trainyard/base/scope.h"

#include <string.h>
#include <sys/stat.h>

static const char *const temporary_endings[] = {".tmp", ".part", ".partial", ".incomplete", "~"};

static bool name_is_temporary(const char *name, size_t len)
{
    if (len > 0 && name[0] == '.')
        return true;
    for (size_t at = 0; at < sizeof(temporary_endings) / sizeof(*temporary_endings); at++) {
        size_t ending = strlen(temporary_endings[at]);
        if (len >= ending && memcmp(name + len - ending, temporary_endings[at], ending) == 0)
            return true;
    }
    return false;
}

bool ty_checkpoint_temporary(const char *path)
{
    for (;;) {
        size_t len = strcspn(path, "/");
        if (name_is_temporary(path, len))
            return true;
        if (!path[len])
            return false;
        path += len + 1;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Compare two runs of digits as numbers of any length and step behind them. */
static int compare_numbers(const char **a, const char **b)
{
    while (**a == '0')
        ++*a;
    while (**b == '0')
        ++*b;
    size_t a_len = strspn(*a, "0123456789");
    size_t b_len = strspn(*b, "0123456789");
    int order = a_len != b_len ? (a_len < b_len ? -1 : 1) : strncmp(*a, *b, a_len);
    *a += a_len;
    *b += b_len;
    return order;
}

/* ckpt-9 before ckpt-10; names that differ in leading zeros alone by bytes. */
static int compare_naturally(const char *left, const char *right)
{
    const char *a = left;
    const char *b = right;
    while (*a && *b) {
        int order;
        if (is_digit(*a) && is_digit(*b)) {
            order = compare_numbers(&a, &b);
        } else {
            order = (unsigned char)*a - (unsigned char)*b;
            a++;
            b++;
        }
        if (order != 0)
            return order;
    }
    if (*a || *b)
        return *a ? 1 : -1;
    return strcmp(left, right);
}

static bool is_newer(const struct ty_file_stat *stat, const char *path,
                     const struct ty_file_stat *than_stat, const char *than_path)
{
    if (stat->modified_ns != than_stat->modified_ns)
        return stat->modified_ns > than_stat->modified_ns;
    return compare_naturally(path, than_path) > 0;
}

struct latest {
    char *path;
    struct ty_file_stat stat;
    size_t skip; /* bytes of the folder's own path, whose names do not make a file temporary */
    bool failed;
};

static bool consider(const char *path, size_t path_len, const struct stat *stat, void *context)
{
    struct latest *latest = context;
    struct ty_file_stat file;
    (void)path_len;
    ty_file_stat_from(stat, &file);
    if (file.kind != TY_FILE_REGULAR || file.size == 0 ||
        ty_checkpoint_temporary(path + latest->skip))
        return true;
    if (latest->path && !is_newer(&file, path, &latest->stat, latest->path))
        return true;
    char *copy = strdup(path);
    latest->failed = !copy;
    if (!copy)
        return false;
    free(latest->path);
    latest->path = copy;
    latest->stat = file;
    return true;
}

static size_t folder_skip(const char *folder)
{
    return folder && *folder ? strlen(folder) + 1 : 0;
}

static ty_status find_latest(int root_fd, const char *folder, struct latest *latest, bool *partial,
                             struct ty_error *err)
{
    const struct walk_request request = {
        .folder = folder, .batch = TY_FILE_SCAN_MAX, .visit = consider, .context = latest};
    latest->skip = folder_skip(folder);
    bool walk_partial;
    ty_status status = ty_walk(root_fd, &request, &walk_partial, err);
    if (status == TY_OK && latest->failed)
        status = ty_fail(err, TY_NO_MEMORY, "find the latest checkpoint");
    if (status == TY_OK)
        *partial |= walk_partial;
    return status;
}

ty_status ty_checkpoints_list(int root_fd, const struct ty_file_query *query,
                              struct ty_checkpoint_list *list_out, struct ty_error *err)
{
    struct ty_file_query files_query = *query;
    struct ty_checkpoint_list list = {0};
    struct latest latest = {0};
    files_query.files_only = true;
    ty_status status = ty_files_list(root_fd, &files_query, &list.files, err);
    if (status == TY_OK)
        status = find_latest(root_fd, query->folder, &latest, &list.files.partial, err);
    list.latest = latest.path;
    list.latest_stat = latest.stat;
    if (status != TY_OK)
        ty_checkpoint_list_done(&list);
    if (status == TY_OK || status == TY_NOT_FOUND) {
        *list_out = list; /* empty when there is no such folder yet */
        return TY_OK;
    }
    return status;
}

void ty_checkpoint_list_done(struct ty_checkpoint_list *list)
{
    ty_file_list_done(&list->files);
    free(list->latest);
    *list = (struct ty_checkpoint_list){0};
}

/* --- keep_last --- */

struct units {
    struct ty_file_list
        list; /* entries directly beneath the folder; a folder's stat is that of its newest file */
    size_t capacity;
    size_t skip;
    bool failed;
    bool too_many; /* to compare each with each */
};

static bool units_add(struct units *units, const char *path, size_t len)
{
    if (units->list.count == units->capacity) {
        size_t capacity = units->capacity ? 2 * units->capacity : 32;
        struct ty_file_entry *items = realloc(units->list.items, capacity * sizeof(*items));
        if (!items)
            return false;
        units->list.items = items;
        units->capacity = capacity;
    }
    char *copy = strndup(path, len);
    if (!copy)
        return false;
    units->list.items[units->list.count++] = (struct ty_file_entry){.path = copy, .path_len = len};
    return true;
}

/* The walk shows a folder before what is in it, so a file's unit is the last one made. A unit is of
 * kind TY_FILE_OTHER until a file that counts is seen in it. */
static bool gather_unit(const char *path, size_t path_len, const struct stat *stat, void *context)
{
    struct units *units = context;
    struct ty_file_stat file;
    ty_file_stat_from(stat, &file);
    bool is_top = !strchr(path + units->skip, '/');
    if (is_top) {
        units->too_many = units->list.count == TY_FILE_LIST_MAX;
        if (units->too_many)
            return false;
        units->failed = !units_add(units, path, path_len);
        if (units->failed)
            return false;
        units->list.items[units->list.count - 1].stat.kind = TY_FILE_OTHER;
    }
    struct ty_file_entry *unit = &units->list.items[units->list.count - 1];
    if (file.kind != TY_FILE_REGULAR || file.size == 0 ||
        ty_checkpoint_temporary(path + units->skip))
        return true;
    if (unit->stat.kind == TY_FILE_OTHER || file.modified_ns > unit->stat.modified_ns)
        unit->stat = file;
    unit->stat.kind = is_top ? TY_FILE_REGULAR : TY_FILE_FOLDER;
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
    const struct ty_file_entry *left = a;
    const struct ty_file_entry *right = b;
    if (is_newer(&left->stat, left->path, &right->stat, right->path))
        return 1;
    return is_newer(&right->stat, right->path, &left->stat, left->path) ? -1 : 0;
}

/* Whether `keep_last` newer ones of its series and kind follow the entry at `at` (sorted by age).
 */
static bool is_surplus(const struct ty_file_list *sorted, size_t at, size_t skip, size_t keep_last)
{
    const struct ty_file_entry *entry = &sorted->items[at];
    size_t newer = 0;
    for (size_t other = at + 1; other < sorted->count && newer < keep_last; other++)
        if (sorted->items[other].stat.kind == entry->stat.kind &&
            same_series(sorted->items[other].path + skip, entry->path + skip))
            newer++;
    return newer == keep_last;
}

/* Keep only what may go; what stays is needed until all were judged. */
static void reduce(struct units *units, size_t keep_last)
{
    struct ty_file_list *list = &units->list;
    size_t kept = 0;
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(*list->items), compare_ages);
    for (size_t at = 0; at < list->count; at++) {
        struct ty_file_entry entry = list->items[at];
        if (entry.stat.kind != TY_FILE_OTHER && is_surplus(list, at, units->skip, keep_last))
            list->items[kept++] = entry; /* older than all that are still to be judged */
        else
            free(entry.path);
    }
    list->count = kept;
}

ty_status ty_checkpoints_surplus(int root_fd, const char *folder, size_t keep_last,
                                 struct ty_file_list *list_out, struct ty_error *err)
{
    struct units units = {.skip = folder_skip(folder)};
    const struct walk_request request = {
        .folder = folder, .batch = TY_FILE_SCAN_MAX, .visit = gather_unit, .context = &units};
    ty_status status = TY_OK;
    if (keep_last > 0)
        status = ty_walk(root_fd, &request, &units.list.partial, err);
    if (status == TY_OK && units.failed)
        status = ty_fail(err, TY_NO_MEMORY, "find surplus checkpoints");
    if (status == TY_NOT_FOUND)
        status = TY_OK; /* nothing there yet */
    if (status != TY_OK) {
        ty_file_list_done(&units.list);
        return status;
    }
    bool partial = units.list.partial || units.too_many;
    if (partial)
        ty_file_list_done(&units.list);
    reduce(&units, keep_last);
    units.list.partial = partial;
    *list_out = units.list;
    return TY_OK;
}
