/* From kernel events to the followers they concern. Everything here runs under the watcher's lock.
 */
#include "watch.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>

/* With IN_MASK_ADD, since a folder is asked for again and again: without it the kernel empties the
 * mask of a watch it has before it sets the new one, and an event in between is lost. */
static const uint32_t mask = IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                             IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD;

static struct watch_nodes *bucket(struct watch_nodes *buckets, int wd)
{
    return &buckets[(unsigned)wd % WATCH_BUCKETS];
}

static bool is_used(struct ty_log_watcher *watcher, int wd)
{
    struct watch_node *node;
    for (node = LIST_FIRST(bucket(watcher->by_folder, wd)); node; node = LIST_NEXT(node, by_folder))
        if (node->folder_wd == wd)
            return true;
    for (node = LIST_FIRST(bucket(watcher->by_parent, wd)); node; node = LIST_NEXT(node, by_parent))
        if (node->parent_wd == wd)
            return true;
    return false;
}

/* Set a node's descriptor for its folder, -1 for none, and give an unused one back to the kernel.
 */
static void set_folder(struct ty_log_watcher *watcher, struct watch_node *node, int wd)
{
    int before = node->folder_wd;
    if (before == wd)
        return;
    if (before >= 0)
        LIST_REMOVE(node, by_folder);
    node->folder_wd = wd;
    if (wd >= 0)
        LIST_INSERT_HEAD(bucket(watcher->by_folder, wd), node, by_folder);
    if (before >= 0 && !is_used(watcher, before))
        (void)inotify_rm_watch(watcher->inotify_fd,
                               before); /* fails when the kernel dropped it already */
}

static void set_parent(struct ty_log_watcher *watcher, struct watch_node *node, int wd)
{
    int before = node->parent_wd;
    if (before == wd)
        return;
    if (before >= 0)
        LIST_REMOVE(node, by_parent);
    node->parent_wd = wd;
    if (wd >= 0)
        LIST_INSERT_HEAD(bucket(watcher->by_parent, wd), node, by_parent);
    if (before >= 0 && !is_used(watcher, before))
        (void)inotify_rm_watch(watcher->inotify_fd, before);
}

static ty_status fail_watch(struct ty_error *err, int errnum)
{
    if (errnum == ENOENT || errnum == ENOTDIR)
        return ty_fail(err, TY_NOT_FOUND, "the folder above the job's logs does not exist");
    if (errnum == ENOSPC)
        return ty_fail_code(err, TY_UNAVAILABLE, "too_many_watches",
                            "the kernel gives no more file watches");
    if (errnum == ENOMEM)
        return ty_fail(err, TY_NO_MEMORY, "watch the job's logs");
    return ty_fail(err, TY_UNAVAILABLE, "watch the job's logs: %s", strerrordesc_np(errnum));
}

/* Watch what there is: the parent first, so that a folder made meanwhile is seen either way. */
static ty_status arm(struct ty_log_watcher *watcher, struct watch_node *node, struct ty_error *err)
{
    int parent_wd = inotify_add_watch(watcher->inotify_fd, node->parent, mask);
    if (parent_wd < 0)
        return fail_watch(err, errno);
    set_parent(watcher, node, parent_wd);
    int folder_wd = inotify_add_watch(watcher->inotify_fd, node->path, mask);
    if (folder_wd < 0 && errno != ENOENT && errno != ENOTDIR)
        return fail_watch(err, errno);
    set_folder(watcher, node, folder_wd);
    return TY_OK;
}

static void mark_stream(struct ty_log_watcher *watcher, struct watch_stream *stream)
{
    if (stream->is_dirty)
        return;
    stream->is_dirty = true;
    LIST_INSERT_HEAD(&watcher->dirty, stream, in_dirty);
}

static void look_at(struct ty_log_watcher *watcher, struct watch_node *node)
{
    struct watch_stream *stream;
    if (arm(watcher, node, NULL) != TY_OK)
        watcher->lame = true;
    for (stream = LIST_FIRST(&node->streams); stream; stream = LIST_NEXT(stream, in_node))
        mark_stream(watcher, stream);
}

void ty_watch_look_again(struct ty_log_watcher *watcher)
{
    struct watch_node *node;
    size_t cursor = 0;
    const char *path;
    watcher->lame = false;
    while ((node = ty_map_next(watcher->nodes, &cursor, &path)))
        look_at(watcher, node);
}

/* "worker-0.log" and "worker-0.idx" are about worker-0. */
static void mark_file(struct ty_log_watcher *watcher, struct watch_node *node, const char *file)
{
    struct watch_stream *stream;
    for (stream = LIST_FIRST(&node->streams); stream; stream = LIST_NEXT(stream, in_node)) {
        size_t len = strlen(stream->replica);
        if (strncmp(file, stream->replica, len) == 0 &&
            (ty_str_equal(file + len, ".log") || ty_str_equal(file + len, ".idx")))
            mark_stream(watcher, stream);
    }
}

/* The kernel let go of a watch: its folder or the whole file system is gone. */
static void forget(struct ty_log_watcher *watcher, int wd)
{
    struct watch_node *node;
    struct watch_node *next;
    for (node = LIST_FIRST(bucket(watcher->by_folder, wd)); node; node = next) {
        next = LIST_NEXT(node, by_folder);
        if (node->folder_wd == wd)
            set_folder(watcher, node, -1);
    }
    for (node = LIST_FIRST(bucket(watcher->by_parent, wd)); node; node = next) {
        next = LIST_NEXT(node, by_parent);
        if (node->parent_wd == wd) {
            set_parent(watcher, node, -1);
            watcher->lame = true; /* it may come again */
        }
    }
}

void ty_watch_event(struct ty_log_watcher *watcher, const struct inotify_event *event)
{
    struct watch_node *node;
    struct watch_node *next;
    if (event->mask & IN_Q_OVERFLOW) {
        ty_watch_look_again(watcher);
        return;
    }
    if (event->mask & IN_IGNORED) {
        forget(watcher, event->wd);
        return;
    }
    /* Looking at a folder may move its node to another bucket: the next one is taken first. */
    for (node = LIST_FIRST(bucket(watcher->by_folder, event->wd)); node; node = next) {
        next = LIST_NEXT(node, by_folder);
        if (node->folder_wd == event->wd && event->len > 0)
            mark_file(watcher, node, event->name);
        else if (node->folder_wd == event->wd)
            look_at(watcher, node);
    }
    for (node = LIST_FIRST(bucket(watcher->by_parent, event->wd)); node; node = next) {
        next = LIST_NEXT(node, by_parent);
        if (node->parent_wd == event->wd && event->len > 0 && ty_str_equal(node->name, event->name))
            look_at(watcher, node);
    }
}

static void node_free(struct watch_node *node)
{
    if (!node)
        return;
    free(node->path);
    free(node->parent);
    free(node);
}

/* `path` ends in no slash. */
static struct watch_node *node_make(const char *path)
{
    struct watch_node *node = calloc(1, sizeof(*node));
    if (!node)
        return NULL;
    node->folder_wd = -1;
    node->parent_wd = -1;
    node->path = strdup(path);
    if (node->path) {
        const char *slash = strrchr(node->path, '/');
        node->name = slash ? slash + 1 : node->path;
        size_t parent_len = slash > node->path ? (size_t)(slash - node->path) : 1;
        node->parent = strndup(slash ? node->path : ".", parent_len);
    }
    if (!node->path || !node->parent) {
        node_free(node);
        return NULL;
    }
    return node;
}

ty_status ty_watch_node_get(struct ty_log_watcher *watcher, const char *path,
                            struct watch_node **node_out, struct ty_error *err)
{
    struct watch_node *node = ty_map_get(watcher->nodes, path);
    if (node) {
        *node_out = node;
        return TY_OK;
    }
    node = node_make(path);
    if (!node || ty_map_put(watcher->nodes, path, node) != TY_OK) {
        node_free(node);
        return ty_fail(err, TY_NO_MEMORY, "watch the job's logs");
    }
    ty_status status = arm(watcher, node, err);
    if (status != TY_OK)
        ty_watch_node_drop(watcher, node);
    else
        *node_out = node;
    return status;
}

void ty_watch_node_drop(struct ty_log_watcher *watcher, struct watch_node *node)
{
    if (!LIST_EMPTY(&node->streams))
        return;
    set_folder(watcher, node, -1);
    set_parent(watcher, node, -1);
    ty_map_remove(watcher->nodes, node->path);
    node_free(node);
}

struct watch_stream *ty_watch_stream_get(struct watch_node *node, const char *replica)
{
    struct watch_stream *stream;
    for (stream = LIST_FIRST(&node->streams); stream; stream = LIST_NEXT(stream, in_node))
        if (ty_str_equal(stream->replica, replica))
            return stream;
    stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    (void)ty_str_copy(stream->replica, sizeof(stream->replica), replica); /* a label: it fits */
    LIST_INSERT_HEAD(&node->streams, stream, in_node);
    return stream;
}

void ty_watch_stream_drop(struct watch_stream *stream)
{
    if (!LIST_EMPTY(&stream->watches))
        return;
    if (stream->is_dirty)
        LIST_REMOVE(stream, in_dirty);
    LIST_REMOVE(stream, in_node);
    free(stream);
}
