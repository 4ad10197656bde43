/* Which of the files a job saved is the one to go on from. */
#include "checkpoints.h"
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

bool checkpoint_newer(const struct ty_file_stat *stat, const char *path,
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
    if (latest->path && !checkpoint_newer(&file, path, &latest->stat, latest->path))
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
