/* The watcher's inside: who follows what, and which kernel watch tells of it.
 *
 *   watcher ── node (one a job folder) ── stream (one a replica) ── watch (one a follower)
 *
 * A node has two kernel watches: on the job's folder, whose events name the file that changed, and
 * on its parent, whose events tell that the folder came or went. The kernel gives one watch
 * descriptor for one folder however often it is asked, so nodes share the parent's; each is given
 * back when no node uses it.
 *
 * One lock guards everything here. It is never held while `wake` runs: who is to be called is moved
 * to `pending`, taken from there one by one, and named in `calling` meanwhile, so that a removal
 * can wait for just that call. */
#ifndef TY_LOGS_WATCH_H
#define TY_LOGS_WATCH_H

#include "trainyard/base/map.h"
#include "trainyard/logs/archive.h"

#include <pthread.h>
#include <sys/inotify.h>
#include <sys/queue.h>

enum { WATCH_BUCKETS = 256, WATCH_REPLICA = 64 };

LIST_HEAD(watch_list, ty_log_watch);
LIST_HEAD(watch_streams, watch_stream);
LIST_HEAD(watch_nodes, watch_node);

struct ty_log_watch {
    struct ty_log_watcher *watcher;
    struct watch_node *node;
    struct watch_stream *stream;
    void (*wake)(void *context);
    void *context;
    bool is_pending;
    LIST_ENTRY(ty_log_watch) in_stream;
    LIST_ENTRY(ty_log_watch) in_pending;
};

struct watch_stream {
    char replica[WATCH_REPLICA];
    bool is_dirty;
    struct watch_list watches;
    LIST_ENTRY(watch_stream) in_node;
    LIST_ENTRY(watch_stream) in_dirty;
};

struct watch_node {
    char *path;
    char *parent;
    const char *name; /* the last part of `path` */
    int folder_wd;    /* -1: the folder is not there or not watched */
    int parent_wd;
    struct watch_streams streams;
    LIST_ENTRY(watch_node) by_folder; /* in the bucket of its descriptor, when that is not -1 */
    LIST_ENTRY(watch_node) by_parent;
};

struct ty_log_watcher {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t called; /* `calling` changed */
    int inotify_fd;
    int nudge_fd; /* an eventfd: look at `pending` and `stopping` */
    bool stopping;
    bool lame;            /* the kernel refused a watch: look again every second */
    struct ty_map *nodes; /* path -> watch_node */
    struct watch_nodes by_folder[WATCH_BUCKETS];
    struct watch_nodes by_parent[WATCH_BUCKETS];
    struct watch_streams dirty;
    struct watch_list pending;
    const struct ty_log_watch *calling;
};

/* All below are called under the lock. */

/* Find or make the node of a folder and watch what is there of it. A new node without streams must
 * be dropped if its first stream cannot be made. Errors as ty_log_watch_add. */
ty_status ty_watch_node_get(struct ty_log_watcher *watcher, const char *path,
                            struct watch_node **node_out, struct ty_error *err) TY_MUST_CHECK;

/* Free the node when it has no streams left. */
void ty_watch_node_drop(struct ty_log_watcher *watcher, struct watch_node *node);

/* Find or make the stream of a replica; NULL without memory. */
struct watch_stream *ty_watch_stream_get(struct watch_node *node, const char *replica);

/* Free the stream when it has no watches left. */
void ty_watch_stream_drop(struct watch_stream *stream);

/* Mark what the event is about. */
void ty_watch_event(struct ty_log_watcher *watcher, const struct inotify_event *event);

/* Look at every folder again and mark everything: events were lost or a watch was refused. */
void ty_watch_look_again(struct ty_log_watcher *watcher);

#endif
