/* Pages of what a job left, and how much it is. */
#include "walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const kind_names[] = {
    [TY_FILE_REGULAR] = "file",
    [TY_FILE_FOLDER] = "folder",
    [TY_FILE_LINK] = "link",
    [TY_FILE_OTHER] = "other",
};

const char *ty_file_kind_name(ty_file_kind kind)
{
    return kind_names[kind];
}

void ty_file_list_done(struct ty_file_list *list)
{
    for (size_t at = 0; at < list->count; at++)
        free(list->items[at].path);
    free(list->items);
    *list = (struct ty_file_list){0};
}

struct page {
    struct ty_file_list list;
    size_t capacity;
    size_t limit;
    bool files_only;
    bool failed; /* no memory */
};

static bool page_grow(struct page *page)
{
    if (page->list.count < page->capacity)
        return true;
    size_t capacity = page->capacity ? 2 * page->capacity : 32;
    struct ty_file_entry *items = realloc(page->list.items, capacity * sizeof(*items));
    if (!items)
        return false;
    page->list.items = items;
    page->capacity = capacity;
    return true;
}

static bool page_visit(const char *path, size_t path_len, const struct stat *stat, void *context)
{
    struct page *page = context;
    struct ty_file_entry entry = {.path_len = path_len};
    ty_file_stat_from(stat, &entry.stat);
    if (page->files_only && entry.stat.kind != TY_FILE_REGULAR)
        return true;
    if (page->list.count == page->limit) {
        page->list.more = true;
        return false;
    }
    entry.path = strdup(path);
    page->failed = !entry.path || !page_grow(page);
    if (page->failed) {
        free(entry.path);
        return false;
    }
    page->list.items[page->list.count++] = entry;
    return true;
}

ty_status ty_files_list(int root_fd, const struct ty_file_query *query,
                        struct ty_file_list *list_out, struct ty_error *err)
{
    if (query->limit < 1 || query->limit > TY_FILE_LIST_MAX)
        return ty_fail(err, TY_INVALID, "a page has 1 to %d entries", TY_FILE_LIST_MAX);
    struct page page = {.limit = query->limit, .files_only = query->files_only};
    const struct walk_request request = {
        .folder = query->folder,
        .after = query->after,
        .batch = query->limit +
                 2, /* the one before the page, the page, one to know that there is more */
        .visit = page_visit,
        .context = &page,
    };
    ty_status status = ty_walk(root_fd, &request, &page.list.partial, err);
    if (status == TY_OK && page.failed)
        status = ty_fail(err, TY_NO_MEMORY, "list the folder");
    if (status != TY_OK) {
        ty_file_list_done(&page.list);
        return status;
    }
    *list_out = page.list;
    return TY_OK;
}

static bool add_usage(const char *path, size_t path_len, const struct stat *stat, void *context)
{
    struct ty_file_usage *usage = context;
    (void)path;
    (void)path_len;
    usage->bytes += (int64_t)stat->st_blocks * 512;
    usage->files += S_ISREG(stat->st_mode) ? 1 : 0;
    return true;
}

ty_status ty_files_usage(int root_fd, struct ty_file_usage *usage_out, struct ty_error *err)
{
    struct ty_file_usage usage = {0};
    const struct walk_request request = {
        .batch = TY_FILE_SCAN_MAX, .visit = add_usage, .context = &usage};
    ty_status status = ty_walk(root_fd, &request, &usage.partial, err);
    if (status == TY_OK)
        *usage_out = usage;
    return status;
}
