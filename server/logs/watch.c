/* The watcher's thread and its doors.
 *
 * The thread sleeps in poll until the kernel has events or somebody was added, marks what they are
 * about, calls the followers concerned and then rests a little, while the kernel gathers what else
 * happens. So a quiet log's line is told at once, and a busy one costs at most a hundred rounds a
 * second in the long run, however it is written: each round costs 10 ms of credit, time gives it
 * back, and the rest is short only while there is credit. */
#include "watch.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

enum {
    ROUND_MS = 10,
    CREDIT_MS = 80,
    SHORT_REST_MS = 2,
    LAME_MS = 1000,
    READS = 16,
    EVENTS = 65536
};

static void make_pending(struct ty_log_watcher *watcher, struct ty_log_watch *watch)
{
    if (watch->is_pending)
        return;
    watch->is_pending = true;
    LIST_INSERT_HEAD(&watcher->pending, watch, in_pending);
}

static void unmake_pending(struct ty_log_watch *watch)
{
    if (!watch->is_pending)
        return;
    watch->is_pending = false;
    LIST_REMOVE(watch, in_pending);
}

/* Under the lock. */
static void gather_dirty(struct ty_log_watcher *watcher)
{
    struct watch_stream *stream;
    struct ty_log_watch *watch;
    while ((stream = LIST_FIRST(&watcher->dirty))) {
        LIST_REMOVE(stream, in_dirty);
        stream->is_dirty = false;
        for (watch = LIST_FIRST(&stream->watches); watch; watch = LIST_NEXT(watch, in_stream))
            make_pending(watcher, watch);
    }
}

/* Under the lock, which is let go of around each call. */
static void call_pending(struct ty_log_watcher *watcher)
{
    struct ty_log_watch *watch;
    while ((watch = LIST_FIRST(&watcher->pending))) {
        void (*wake)(void *) = watch->wake;
        void *context = watch->context;
        unmake_pending(watch);
        watcher->calling = watch;
        pthread_mutex_unlock(&watcher->lock);
        wake(context); /* may remove and so free its own watch */
        pthread_mutex_lock(&watcher->lock);
        watcher->calling = NULL;
        pthread_cond_broadcast(&watcher->called);
    }
}

/* Read what the kernel has, a bounded number of times; what is left comes next round. */
static void take_events(struct ty_log_watcher *watcher, char *buffer)
{
    for (int reads = 0; reads < READS; reads++) {
        ssize_t len = read(watcher->inotify_fd, buffer, EVENTS);
        if (len <= 0)
            return;
        pthread_mutex_lock(&watcher->lock);
        for (size_t at = 0; at + sizeof(struct inotify_event) <= (size_t)len;) {
            const void *place =
                buffer + at; /* the kernel pads names so that each event is aligned */
            const struct inotify_event *event = place;
            ty_watch_event(watcher, event);
            at += sizeof(*event) + event->len;
        }
        pthread_mutex_unlock(&watcher->lock);
    }
}

static void take_nudge(struct ty_log_watcher *watcher)
{
    uint64_t nudges;
    ssize_t len = read(watcher->nudge_fd, &nudges, sizeof(nudges));
    (void)len; /* nothing there is as good */
}

static void nudge(struct ty_log_watcher *watcher)
{
    const uint64_t one = 1;
    ssize_t len = write(watcher->nudge_fd, &one, sizeof(one));
    (void)len; /* it only fails when enough nudges wait already */
}

/* One round; false when the watcher stops. */
static bool turn(struct ty_log_watcher *watcher, char *buffer)
{
    struct pollfd fds[] = {
        {.fd = watcher->inotify_fd, .events = POLLIN},
        {.fd = watcher->nudge_fd,   .events = POLLIN},
    };
    pthread_mutex_lock(&watcher->lock);
    int timeout_ms = watcher->lame ? LAME_MS : -1;
    pthread_mutex_unlock(&watcher->lock);
    int ready = poll(fds, 2, timeout_ms);
    take_nudge(watcher);
    take_events(watcher, buffer);

    pthread_mutex_lock(&watcher->lock);
    if (ready == 0)
        ty_watch_look_again(watcher);
    gather_dirty(watcher);
    call_pending(watcher);
    bool go_on = !watcher->stopping;
    pthread_mutex_unlock(&watcher->lock);
    return go_on;
}

/* How long to rest after a round; *credit_ms and *last_ms are the thread's account. */
static int64_t rest_ms(int64_t *credit_ms, int64_t *last_ms)
{
    int64_t now_ms = ty_monotonic_ms(ty_clock_system());
    *credit_ms += now_ms - *last_ms;
    if (*credit_ms > CREDIT_MS)
        *credit_ms = CREDIT_MS;
    *last_ms = now_ms;
    *credit_ms -= ROUND_MS;
    return *credit_ms > 0 ? SHORT_REST_MS : ROUND_MS;
}

static void *run(void *context)
{
    struct ty_log_watcher *watcher = context;
    _Alignas(struct inotify_event) char buffer[EVENTS];
    int64_t last_ms = ty_monotonic_ms(ty_clock_system());
    int64_t credit_ms = CREDIT_MS;
    while (turn(watcher, buffer)) {
        const struct timespec rest = {.tv_nsec = (long)rest_ms(&credit_ms, &last_ms) * 1000000L};
        (void)nanosleep(&rest, NULL);
    }
    return NULL;
}

static void watcher_free(struct ty_log_watcher *watcher)
{
    if (watcher->inotify_fd >= 0)
        close(watcher->inotify_fd);
    if (watcher->nudge_fd >= 0)
        close(watcher->nudge_fd);
    ty_map_destroy(watcher->nodes);
    pthread_cond_destroy(&watcher->called);
    pthread_mutex_destroy(&watcher->lock);
    free(watcher);
}

static ty_status open_watcher(struct ty_log_watcher *watcher, struct ty_error *err)
{
    watcher->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    watcher->nudge_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watcher->inotify_fd < 0 || watcher->nudge_fd < 0)
        return ty_fail(err, TY_UNAVAILABLE, "watch files: %s", strerrordesc_np(errno));
    if (ty_map_create(NULL, &watcher->nodes) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "watch files");
    return ty_thread_start(&watcher->thread, "log-watch", run, watcher, err);
}

ty_status ty_log_watcher_create(struct ty_log_watcher **watcher_out, struct ty_error *err)
{
    struct ty_log_watcher *watcher = calloc(1, sizeof(*watcher));
    if (!watcher)
        return ty_fail(err, TY_NO_MEMORY, "watch files");
    watcher->inotify_fd = -1;
    watcher->nudge_fd = -1;
    pthread_mutex_init(&watcher->lock, NULL);
    pthread_cond_init(&watcher->called, NULL);
    ty_status status = open_watcher(watcher, err);
    if (status != TY_OK) {
        watcher_free(watcher);
        return status;
    }
    *watcher_out = watcher;
    return TY_OK;
}

void ty_log_watcher_destroy(struct ty_log_watcher *watcher)
{
    if (!watcher)
        return;
    pthread_mutex_lock(&watcher->lock);
    watcher->stopping = true;
    pthread_mutex_unlock(&watcher->lock);
    nudge(watcher);
    pthread_join(watcher->thread, NULL);
    watcher_free(watcher);
}

/* Under the lock. */
static ty_status enlist(struct ty_log_watcher *watcher, const char *path, const char *replica,
                        struct ty_log_watch *watch, struct ty_error *err)
{
    ty_status status = ty_watch_node_get(watcher, path, &watch->node, err);
    if (status != TY_OK)
        return status;
    watch->stream = ty_watch_stream_get(watch->node, replica);
    if (!watch->stream) {
        ty_watch_node_drop(watcher, watch->node);
        return ty_fail(err, TY_NO_MEMORY, "watch the job's logs");
    }
    LIST_INSERT_HEAD(&watch->stream->watches, watch, in_stream);
    make_pending(watcher, watch);
    return TY_OK;
}

/* The path without slashes at its end, which would hide the folder's name; NULL without memory. */
static char *copy_path(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    return strndup(path, len);
}

ty_status ty_log_watch_add(struct ty_log_watcher *watcher, const char *job_folder_path,
                           const char *replica, void (*wake)(void *context), void *context,
                           struct ty_log_watch **watch_out, struct ty_error *err)
{
    if (!ty_dns1123_label(replica))
        return ty_fail(err, TY_NOT_FOUND, "no replica of that name");
    ty_auto_free char *path = copy_path(job_folder_path);
    struct ty_log_watch *watch = path ? calloc(1, sizeof(*watch)) : NULL;
    if (!watch)
        return ty_fail(err, TY_NO_MEMORY, "watch the job's logs");
    watch->watcher = watcher;
    watch->wake = wake;
    watch->context = context;
    pthread_mutex_lock(&watcher->lock);
    ty_status status = enlist(watcher, path, replica, watch, err);
    if (status == TY_OK)
        *watch_out = watch; /* before the first wake can look for it */
    pthread_mutex_unlock(&watcher->lock);
    if (status != TY_OK) {
        free(watch);
        return status;
    }
    nudge(watcher);
    return TY_OK;
}

void ty_log_watch_remove(struct ty_log_watch *watch)
{
    if (!watch)
        return;
    struct ty_log_watcher *watcher = watch->watcher;
    pthread_mutex_lock(&watcher->lock);
    unmake_pending(watch);
    LIST_REMOVE(watch, in_stream);
    ty_watch_stream_drop(watch->stream);
    ty_watch_node_drop(watcher, watch->node);
    if (!pthread_equal(pthread_self(), watcher->thread))
        while (watcher->calling == watch)
            pthread_cond_wait(&watcher->called, &watcher->lock);
    pthread_mutex_unlock(&watcher->lock);
    free(watch);
}
