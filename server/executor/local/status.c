/* Following status.jsonl: each whole line becomes an observation, the terminal line ends the run.
 */
#include "executor/local/tracked.h"

#include "executor/supervisor/process.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

enum { READ_BYTES = 64 * 1024, LINE_BYTES = 8 * 1024 * 1024 };

/* The supervisor's first line: from now on its end is told by the kernel. A number that was reused
 * has another birth. */
static void watch_supervisor(struct local *local, struct tracked *run, const struct ty_fact *fact)
{
    ty_auto_fd fd = (int)syscall(SYS_pidfd_open, (pid_t)fact->pid, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = run};
    if (fd < 0 || ty_process_birth((pid_t)fact->pid) != fact->birth ||
        epoll_ctl(local->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return; /* it is dead: the lock will tell */
    run->pid_fd = ty_steal_fd(&fd);
}

static void note_process(struct tracked *run, const struct ty_fact *fact)
{
    struct noted_process *grown =
        reallocarray(run->processes, run->process_count + 1, sizeof *grown);
    if (!grown)
        return;
    run->processes = grown;
    run->processes[run->process_count++] = (struct noted_process){fact->pid, fact->birth};
}

static void take_state(struct local *local, struct tracked *run, struct ty_fact *fact)
{
    free(run->replicas);
    run->replicas = fact->replicas;
    run->replica_count = fact->replica_count;
    fact->replicas = NULL;
    if (run->catching_up && fact->seen.kind == TY_SEEN_RUNNING && !run->has_run)
        run->first_run = fact->seen;
    run->has_run |= fact->seen.kind == TY_SEEN_RUNNING;
    run->last = fact->seen;
    if (fact->terminal)
        ty_tracked_end(local, run);
    else if (!run->catching_up)
        ty_run_release_left(local, run);
    if (!run->catching_up)
        ty_tracked_report(local, run);
}

/* A run that was there before this daemon: what was told long ago is not told again, only where it
 * stands now - and, when it has ended meanwhile, that it ran. */
static void report_adopted(struct local *local, struct tracked *run)
{
    run->catching_up = false;
    if (run->phase == RUN_ALIVE)
        ty_run_release_left(local, run);
    if (run->phase == RUN_OVER && run->has_run) {
        struct ty_observation last = run->last;
        run->last = run->first_run;
        ty_tracked_report(local, run);
        run->last = last;
    }
    if (run->last.at > 0)
        ty_tracked_report(local, run);
}

static void take_line(struct local *local, struct tracked *run, const char *line, size_t len)
{
    struct ty_fact fact;
    struct ty_error why;
    if (len == 0)
        return;
    if (ty_fact_read(line, len, run->attempt, &fact, &why) != TY_OK) {
        ty_log(local->log, TY_LOG_WARNING, "bad_status_line", "run %s: %s", run->object, why.text);
        return;
    }
    if (fact.kind == FACT_SUPERVISOR && run->pid_fd < 0)
        watch_supervisor(local, run, &fact);
    else if (fact.kind == FACT_PROCESS)
        note_process(run, &fact);
    else if (fact.kind == FACT_STATE)
        take_state(local, run, &fact);
    ty_fact_done(&fact);
}

/* Take every whole line that is there. */
void ty_status_read_lines(struct local *local, struct tracked *run)
{
    while (run->phase == RUN_ALIVE) {
        char *room = ty_buf_reserve(&run->partial, READ_BYTES);
        ssize_t len = room ? read(run->status_fd, room, READ_BYTES) : 0;
        if (len <= 0)
            return;
        ty_buf_grew(&run->partial, (size_t)len);
        size_t done = 0;
        const char *end;
        while (run->phase == RUN_ALIVE && run->partial.len > done &&
               (end = memchr(run->partial.data + done, '\n', run->partial.len - done))) {
            size_t line_len = (size_t)(end - run->partial.data) - done;
            take_line(local, run, run->partial.data + done, line_len);
            done += line_len + 1;
        }
        if (run->phase == RUN_ALIVE)
            ty_buf_consume(&run->partial, done);
    }
}

/* True once the run is over. */
bool ty_status_check(struct local *local, struct tracked *run)
{
    if (run->phase != RUN_ALIVE)
        return true;
    if (run->status_fd < 0 || ty_run_folder_locked(local, run->object))
        return false;
    ty_status_read_lines(local, run); /* its last words */
    if (run->phase == RUN_ALIVE)
        ty_tracked_lose(local, run, "the supervisor of the run died");
    return true;
}

/* Being told by the kernel is a comfort: without a watch the status is looked at every time. */
static void watch_status(struct local *local, struct tracked *run, const char *path)
{
    char key[32];
    run->watch = inotify_add_watch(local->inotify_fd, path, IN_MODIFY);
    ty_watch_key(run->watch, key);
    if (run->watch >= 0 && ty_map_put(local->watches, key, run) != TY_OK) {
        inotify_rm_watch(local->inotify_fd, run->watch);
        run->watch = -1;
    }
}

/* False when the file is not there and nobody will make it. Whatever else keeps it from being
 * opened, a shortage of descriptors for one, is no news about the run: tried again later. */
static bool open_status(struct local *local, struct tracked *run)
{
    enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NOFOLLOW };
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/runs/%s/status.jsonl", local->data_folder, run->object);
    run->status_fd = open(path, FLAGS);
    if (run->status_fd < 0 && errno == ENOENT && !ty_run_folder_locked(local, run->object)) {
        run->status_fd = open(path, FLAGS); /* its supervisor may have come and gone meanwhile */
        if (run->status_fd < 0 && errno == ENOENT)
            return false;
    }
    if (run->status_fd < 0)
        return true;
    ty_buf_init(&run->partial, LINE_BYTES);
    watch_status(local, run, path);
    return true;
}

void ty_status_follow(struct local *local, struct tracked *run, bool adopt)
{
    run->phase = RUN_ALIVE;
    run->catching_up = adopt;
    if (!open_status(local, run)) {
        ty_tracked_lose(local, run, "the status of the run is not there");
        return;
    }
    if (run->status_fd < 0)
        return;
    ty_status_read_lines(local, run);
    if (adopt)
        report_adopted(local, run);
    if (run->phase == RUN_ALIVE && run->pid_fd < 0)
        ty_status_check(local, run);
}
