/* The thread. Happy path of a run: TRACK arrives with the plan just written; nothing is lacking, so
 * the supervisor is spawned and status.jsonl is watched; each whole line becomes an observation;
 * the terminal line ends the run.
 *
 * What can go otherwise: something is lacking - the run waits, looked at every second and at each
 * poke; the run is found already begun - it is followed from its first line, which is how a
 * restarted daemon adopts; the supervisor dies without a terminal line - what it left is killed and
 * the run is reported gone; it began before a power cut and left no word - gone as well, since
 * nobody can know how far it came; somebody took its folder away - gone too, with what still runs
 * of it. What cannot be found out for want of descriptors or memory is deferred: never is it news.
 */
#include "executor/local/tracked.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

enum { EVENTS = 64, LOOK_MS = 1000, RETRY_MS = 50 };

/* --- commands --- */

/* Keep a command for later: what it asks cannot be found out now. */
static void defer(struct local *local, const struct local_command *command)
{
    for (struct local_command *other = local->deferred; other; other = other->next) {
        if (other->kind == command->kind && ty_str_equal(other->object, command->object)) {
            other->replicas = command->replicas; /* the last size is the one that counts */
            return;
        }
    }
    struct local_command *copy = malloc(sizeof *copy);
    if (!copy) {
        ty_log(local->log, TY_LOG_ERROR, "no_memory", "a command about run %s", command->object);
        return;
    }
    *copy = *command;
    copy->plan = NULL;
    copy->next = local->deferred;
    local->deferred = copy;
}

/* Drop what was deferred of this kind for the same run. */
static void forget_deferred(struct local *local, const struct local_command *command)
{
    for (struct local_command **at = &local->deferred; *at; at = &(*at)->next) {
        struct local_command *other = *at;
        if (other->kind != command->kind || !ty_str_equal(other->object, command->object))
            continue;
        *at = other->next;
        free(other);
        return;
    }
}

/* There is no such run: whatever may be left of it ends, and that is told. */
static void report_missing(struct local *local, const struct local_command *command)
{
    struct ty_observation seen = {.kind = TY_SEEN_GONE, .attempt = command->attempt};
    ty_local_kill_orphans(local, command->object);
    seen.at = ty_now_us(local->clock);
    ty_str_copy(seen.message, sizeof seen.message, TY_RUN_FOLDER_GONE);
    local->observer(local->observer_context, command->job_id, &seen, NULL, 0);
}

static void on_track(struct local *local, const struct local_command *command)
{
    struct tracked *run = ty_map_get(local->runs, command->object);
    bool missing;
    if (run && run->attempt != command->attempt) {
        ty_tracked_forget(local, run);
        run = NULL;
    }
    if (run) {
        if (run->reported)
            ty_tracked_report(local, run); /* somebody asks again */
    } else if (command->plan) {
        ty_run_take_up(local, command->object, command->plan);
    } else if (!ty_run_find(local, command->object, &missing)) {
        if (missing)
            report_missing(local, command);
        else
            defer(local, command);
    }
}

typedef ty_status folder_removal(struct local *local, const char *object, struct ty_error *err);

static void remove_folder(struct local *local, const char *object, folder_removal *removal)
{
    struct ty_error why;
    if (removal(local, object, &why) != TY_OK)
        ty_log(local->log, TY_LOG_WARNING, "run_not_removed", "run %s: %s", object, why.text);
}

/* A run that never began is forgotten with its folder first, so that nothing can begin it any more.
 */
static void stop_waiting(struct local *local, struct tracked *run)
{
    remove_folder(local, run->object, ty_run_folder_remove);
    run->phase = RUN_OVER;
    ty_tracked_tell(local, run, TY_SEEN_STOPPED, TY_CAUSE_NONE, "");
    ty_tracked_forget(local, run);
}

static void report_unknown(struct local *local, const struct local_command *command)
{
    struct ty_observation seen = {.kind = TY_SEEN_GONE, .attempt = command->attempt};
    seen.at = ty_now_us(local->clock);
    local->observer(local->observer_context, command->job_id, &seen, NULL, 0);
}

static bool is_meant(const struct tracked *run, const struct local_command *command)
{
    return run->attempt == command->attempt && ty_str_equal(run->job_id, command->job_id);
}

/* To the supervisor; where its folder is gone nothing reaches it any more. */
static void tell_stop(struct local *local, struct tracked *run)
{
    run->stop_wanted = !ty_local_tell(local, run->object, "stop");
    if (!run->stop_wanted || !ty_run_folder_gone(local, run->object))
        return;
    if (run->status_fd >= 0)
        ty_status_read_lines(local, run); /* its last words */
    if (run->phase == RUN_ALIVE)
        ty_tracked_orphan(local, run);
}

static void on_stop(struct local *local, const struct local_command *command)
{
    bool missing;
    struct tracked *run = ty_run_find(local, command->object, &missing);
    if (!run && !missing) {
        defer(local, command);
    } else if (!run) {
        report_missing(local, command);
    } else if (!is_meant(run, command)) {
        report_unknown(local, command);
    } else if (run->phase == RUN_WAITING) {
        stop_waiting(local, run);
    } else if (run->phase == RUN_OVER) {
        ty_tracked_report(local, run);
    } else {
        tell_stop(local, run);
    }
}

/* What is there tells of itself. */
static void on_check(struct local *local, const struct local_command *command)
{
    bool missing;
    const struct tracked *run = ty_run_find(local, command->object, &missing);
    if (!run && !missing)
        defer(local, command);
    else if (!run)
        report_missing(local, command);
    else if (!is_meant(run, command))
        report_unknown(local, command);
}

/* A run that is not there (any more) is told of by others. */
static void on_scale(struct local *local, const struct local_command *command)
{
    bool missing;
    struct tracked *run = ty_run_find(local, command->object, &missing);
    if (!run && !missing) {
        defer(local, command);
        return;
    }
    forget_deferred(local, command); /* of an earlier size */
    if (!run || !is_meant(run, command))
        return;
    run->replicas_wanted = command->replicas;
    ty_run_scale(local, run);
}

static void on_remove(struct local *local, const struct local_command *command)
{
    bool missing;
    struct tracked *run = ty_run_find(local, command->object, &missing);
    if (!run && !missing) {
        defer(local, command);
        return;
    }
    if (!run) { /* its folder was set aside before this thread had ever heard of it */
        remove_folder(local, command->object, ty_run_folder_clear);
        return;
    }
    if (run->attempt > command->attempt)
        return;
    if (run->phase == RUN_ALIVE) {
        ty_log(local->log, TY_LOG_WARNING, "remove_refused", "run %s is still alive", run->object);
        return;
    }
    ty_failpoint("local.before_remove");
    remove_folder(local, run->object, ty_run_folder_remove);
    ty_failpoint("local.after_remove");
    ty_tracked_forget(local, run);
}

/* --- the loop --- */

static void do_command(struct local *local, const struct local_command *command);

static void take_deferred(struct local *local)
{
    struct local_command *command = local->deferred;
    local->deferred = NULL;
    while (command) {
        struct local_command *next = command->next;
        do_command(local, command);
        free(command);
        command = next;
    }
}

static void look_at_all(struct local *local)
{
    local->looked_ms = ty_monotonic_ms(local->clock);
    take_deferred(local);
    size_t cursor = 0;
    struct tracked *run;
    while ((run = ty_map_next(local->runs, &cursor, NULL))) {
        if (run->phase == RUN_WAITING)
            ty_run_try_begin(local, run);
        if (run->phase == RUN_ALIVE && run->status_fd < 0)
            ty_status_follow(local, run, true);
        if (run->phase == RUN_ALIVE && run->watch < 0)
            ty_status_read_lines(local, run);
        if (run->phase == RUN_ALIVE && run->pid_fd < 0)
            ty_status_check(local, run);
        if (run->phase == RUN_ALIVE && run->stop_wanted)
            tell_stop(local, run);
        if (run->replicas_wanted > 0 || ty_run_scale_untold(run))
            ty_run_scale(local, run);
    }
}

/* How often all runs must be looked at: -1 = never, nothing waits. */
static int look_every_ms(const struct local *local)
{
    size_t cursor = 0;
    const struct tracked *run;
    int wait = local->deferred ? LOOK_MS : -1;
    while ((run = ty_map_next(local->runs, &cursor, NULL))) {
        if (run->phase == RUN_ALIVE &&
            (run->pid_fd < 0 || run->watch < 0 || run->stop_wanted || ty_run_scale_untold(run)))
            return RETRY_MS;
        if (run->phase == RUN_WAITING || run->replicas_wanted > 0)
            wait = LOOK_MS;
    }
    return wait;
}

/* The kernel dropped events: any run may have news. */
static void read_all(struct local *local)
{
    size_t cursor = 0;
    struct tracked *run;
    while ((run = ty_map_next(local->runs, &cursor, NULL))) {
        if (run->phase == RUN_ALIVE && run->status_fd >= 0)
            ty_status_read_lines(local, run);
    }
}

static void hear_inotify(struct local *local)
{
    char bytes[8192] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t len = read(local->inotify_fd, bytes, sizeof bytes);
    for (ssize_t at = 0; at < len;) {
        const struct inotify_event *event =
            (const struct inotify_event *)(const void *)(bytes + at);
        char key[32];
        if (event->mask & IN_Q_OVERFLOW)
            read_all(local);
        ty_watch_key(event->wd, key);
        struct tracked *run = ty_map_get(local->watches, key);
        if (run && run->phase == RUN_ALIVE)
            ty_status_read_lines(local, run);
        at += (ssize_t)(sizeof *event + event->len);
    }
}

static struct local_command *take_commands(struct local *local, bool *stopping_out)
{
    pthread_mutex_lock(&local->lock);
    struct local_command *first = local->first_command;
    local->first_command = local->last_command = NULL;
    *stopping_out = local->stopping;
    pthread_mutex_unlock(&local->lock);
    return first;
}

static void do_command(struct local *local, const struct local_command *command)
{
    switch (command->kind) {
    case COMMAND_TRACK:
        on_track(local, command);
        break;
    case COMMAND_STOP:
        on_stop(local, command);
        break;
    case COMMAND_SCALE:
        on_scale(local, command);
        break;
    case COMMAND_REMOVE:
        on_remove(local, command);
        break;
    case COMMAND_CHECK:
        on_check(local, command);
        break;
    case COMMAND_POKE:
        look_at_all(local);
        break;
    }
}

/* False when the thread must end. */
static bool hear_commands(struct local *local)
{
    uint64_t count;
    ssize_t got = read(local->wake_fd, &count, sizeof count);
    (void)got;
    bool stopping;
    struct local_command *command = take_commands(local, &stopping);
    while (command) {
        struct local_command *next = command->next;
        if (!stopping)
            do_command(local, command);
        json_decref(command->plan);
        free(command);
        command = next;
    }
    return !stopping;
}

/* Runs that were there before this daemon. */
static void adopt_all(struct local *local)
{
    DIR *folder = ty_folder_entries(local->runs_fd);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        bool missing;
        if (ty_dns1035_label(entry->d_name))
            (void)ty_run_find(local, entry->d_name, &missing);
    }
    closedir(folder);
}

/* How long until the next look; -1 = for ever. */
static int sleep_ms(const struct local *local)
{
    int every = look_every_ms(local);
    int64_t passed = ty_monotonic_ms(local->clock) - local->looked_ms;
    if (every < 0)
        return -1;
    return passed >= every ? 0 : every - (int)passed;
}

static bool turn(struct local *local)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(local->epoll_fd, events, EVENTS, sleep_ms(local));
    bool go_on = true;
    for (int i = 0; i < count; i++) {
        void *from = events[i].data.ptr;
        if (from == &local->wake_fd)
            go_on = hear_commands(local);
        else if (from == &local->inotify_fd)
            hear_inotify(local);
    }
    /* Commands may have freed runs: those whose supervisor ended are found by looking, not by the
     * pointer. */
    size_t cursor = 0;
    struct tracked *run;
    for (int i = 0; i < count; i++) {
        const void *from = events[i].data.ptr;
        if (from == &local->wake_fd || from == &local->inotify_fd)
            continue;
        cursor = 0;
        while ((run = ty_map_next(local->runs, &cursor, NULL))) {
            if (from == run && ty_status_check(local, run))
                ty_tracked_let_go(run);
        }
    }
    if (sleep_ms(local) == 0)
        look_at_all(local);
    return go_on;
}

void *ty_local_follow(void *context)
{
    struct local *local = context;
    const struct ty_local_host *host = ty_local_host(local);
    if (!host->bwrap[0])
        ty_log(local->log, TY_LOG_WARNING, "no_sandbox", "jobs run as plain processes: %s",
               host->trouble);
    adopt_all(local);
    while (turn(local))
        ;
    ty_map_destroy(local->watches);
    ty_map_destroy(local->runs);
    local->watches = local->runs = NULL;
    return NULL;
}

void ty_local_wake(struct local *local)
{
    const uint64_t one = 1;
    ssize_t written = write(local->wake_fd, &one, sizeof one);
    (void)written; /* only fails when it is awake anyway */
}

ty_status ty_local_send(struct local *local, const struct local_command *command,
                        struct ty_error *err)
{
    struct local_command *copy = malloc(sizeof *copy);
    if (!copy) {
        json_decref(command->plan);
        return ty_fail(err, TY_NO_MEMORY, "no memory for a command");
    }
    *copy = *command;
    copy->next = NULL;
    pthread_mutex_lock(&local->lock);
    if (local->last_command)
        local->last_command->next = copy;
    else
        local->first_command = copy;
    local->last_command = copy;
    pthread_mutex_unlock(&local->lock);
    ty_local_wake(local);
    return TY_OK;
}
