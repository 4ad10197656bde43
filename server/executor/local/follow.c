/* The thread. Happy path of a run: TRACK arrives with the plan just written; nothing is lacking, so
 * the supervisor is spawned and status.jsonl is watched; each whole line becomes an observation;
 * the terminal line ends the run.
 *
 * What can go otherwise: something is lacking - the run waits, looked at every second and at each
 * poke; the run is found already begun - it is followed from its first line, which is how a
 * restarted daemon adopts; the supervisor dies without a terminal line - what it left is killed and
 * the run is reported gone; it began before a power cut and left no word - gone as well, since
 * nobody can know how far it came. */
#include "executor/local/tracked.h"

#include "executor/supervisor/process.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    EVENTS = 64,
    LOOK_MS = 1000,
    RETRY_MS = 50,
    READ_BYTES = 64 * 1024,
    LINE_BYTES = 8 * 1024 * 1024
};

/* Exit codes of the supervisor's start (supervisor/main.c). */
enum { SPAWN_DONE = 0, SPAWN_LOCKED = 3, SPAWN_BAD_PLAN = 4, SPAWN_USED = 5 };

/* --- telling --- */

static void report(struct local *local, struct tracked *run)
{
    run->reported = true;
    local->observer(local->observer_context, run->job_id, &run->last, run->replicas,
                    run->replica_count);
}

static void tell(struct local *local, struct tracked *run, ty_seen_kind kind, ty_job_cause cause,
                 const char *message)
{
    bool repeated = run->reported && run->last.kind == kind && run->last.cause == cause &&
                    ty_str_equal(run->last.message, message);
    if (repeated)
        return;
    run->last = (struct ty_observation){
        .kind = kind, .attempt = run->attempt, .cause = cause, .restarts = run->last.restarts};
    run->last.at = ty_now_us(local->clock);
    ty_str_copy(run->last.message, sizeof run->last.message, message);
    report(local, run);
}

/* --- following --- */

static void watch_key(int watch, char out[32])
{
    snprintf(out, 32, "%d", watch);
}

static void stop_following(struct local *local, struct tracked *run)
{
    if (run->watch >= 0) {
        char key[32];
        watch_key(run->watch, key);
        ty_map_take(local->watches, key);
        inotify_rm_watch(local->inotify_fd, run->watch);
    }
    if (run->status_fd >= 0)
        close(run->status_fd);
    run->watch = run->status_fd = -1;
    ty_buf_done(&run->partial);
}

/* The supervisor has ended. Where orphans fall to this process (as the first of a container) nobody
 * else reaps it. */
static void let_supervisor_go(struct tracked *run)
{
    if (run->pid_fd < 0)
        return;
    siginfo_t info;
    waitid(P_PIDFD, (id_t)run->pid_fd, &info, WEXITED | WNOHANG);
    close(run->pid_fd); /* leaves the epoll set with it */
    run->pid_fd = -1;
}

static void end_run(struct local *local, struct tracked *run)
{
    run->phase = RUN_OVER;
    stop_following(local, run);
    ty_local_release_gpus(local, run);
    json_decref(run->plan);
    run->plan = NULL;
}

static void lose_run(struct local *local, struct tracked *run, const char *why)
{
    ty_log(local->log, TY_LOG_WARNING, "run_lost", "run %s: %s", run->object, why);
    if (run->same_boot)
        ty_local_kill_leftovers(run);
    for (size_t i = 0; i < run->replica_count; i++) {
        if (run->replicas[i].phase == TY_REPLICA_RUNNING ||
            run->replicas[i].phase == TY_REPLICA_PENDING)
            run->replicas[i].phase = TY_REPLICA_FAILED;
    }
    end_run(local, run);
    tell(local, run, TY_SEEN_GONE, TY_CAUSE_NONE, why);
}

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
        end_run(local, run);
    if (!run->catching_up)
        report(local, run);
}

/* A run that was there before this daemon: what was told long ago is not told again, only where it
 * stands now - and, when it has ended meanwhile, that it ran. */
static void report_adopted(struct local *local, struct tracked *run)
{
    run->catching_up = false;
    if (run->phase == RUN_OVER && run->has_run) {
        struct ty_observation last = run->last;
        run->last = run->first_run;
        report(local, run);
        run->last = last;
    }
    if (run->last.at > 0)
        report(local, run);
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
static void read_status(struct local *local, struct tracked *run)
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
static bool check_supervisor(struct local *local, struct tracked *run)
{
    if (run->phase != RUN_ALIVE)
        return true;
    if (run->status_fd < 0 || ty_run_folder_locked(local, run->object))
        return false;
    read_status(local, run); /* its last words */
    if (run->phase == RUN_ALIVE)
        lose_run(local, run, "the supervisor of the run died");
    return true;
}

/* Being told by the kernel is a comfort: without a watch the status is looked at every time. */
static void watch_status(struct local *local, struct tracked *run, const char *path)
{
    char key[32];
    run->watch = inotify_add_watch(local->inotify_fd, path, IN_MODIFY);
    watch_key(run->watch, key);
    if (run->watch >= 0 && ty_map_put(local->watches, key, run) != TY_OK) {
        inotify_rm_watch(local->inotify_fd, run->watch);
        run->watch = -1;
    }
}

/* False when the file is not there. A shortage of descriptors is no news about the run: tried again
 * later. */
static bool open_status(struct local *local, struct tracked *run)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/runs/%s/status.jsonl", local->data_folder, run->object);
    run->status_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (run->status_fd < 0)
        return errno != ENOENT;
    ty_buf_init(&run->partial, LINE_BYTES);
    watch_status(local, run, path);
    return true;
}

static void follow(struct local *local, struct tracked *run, bool adopt)
{
    run->phase = RUN_ALIVE;
    run->catching_up = adopt;
    if (!open_status(local, run)) {
        lose_run(local, run, "the status of the run is not there");
        return;
    }
    if (run->status_fd < 0)
        return;
    read_status(local, run);
    if (adopt)
        report_adopted(local, run);
    if (run->phase == RUN_ALIVE && run->pid_fd < 0)
        check_supervisor(local, run);
}

/* --- beginning --- */

static void begin(struct local *local, struct tracked *run)
{
    int code = ty_local_spawn(local, run->object);
    switch (code) {
    case SPAWN_DONE:
    case SPAWN_LOCKED:
    case SPAWN_USED:
        follow(local, run, code != SPAWN_DONE);
        break;
    case SPAWN_BAD_PLAN:
        end_run(local, run);
        tell(local, run, TY_SEEN_FAILED, TY_CAUSE_GATEWAY_ERROR,
             "the plan of the run cannot be read");
        break;
    default:
        ty_local_release_gpus(local, run);
        ty_log(local->log, TY_LOG_ERROR, "spawn_failed",
               "run %s: the supervisor cannot be started (%d)", run->object, code);
        tell(local, run, TY_SEEN_STARTING, TY_CAUSE_GATEWAY_ERROR,
             "the supervisor cannot be started yet");
    }
}

/* Whether plan.json says that the run has not begun because something was lacking. */
static bool plan_waits(const json_t *plan)
{
    return json_is_true(json_object_get(plan, "waiting"));
}

/* Note durably that the run waits, or what it got: the file is replaced only when the plan on the
 * disk says otherwise. */
static bool store_plan(struct local *local, struct tracked *run, bool waits)
{
    struct ty_error why;
    bool same = plan_waits(run->plan) == waits &&
                (waits || json_object_size(json_object_get(run->plan, "gpus")) == 0);
    json_object_set_new(run->plan, "waiting", json_boolean(waits));
    json_object_set_new(run->plan, "boot_id", json_string(local->host.boot_id));
    run->same_boot = true;
    if (same || ty_run_folder_replace(local, run->object, run->plan, &why) == TY_OK)
        return true;
    ty_log(local->log, TY_LOG_ERROR, "plan_not_stored", "run %s: %s", run->object, why.text);
    return false;
}

/* Begin if nothing is lacking, else say what. */
static void try_begin(struct local *local, struct tracked *run)
{
    char message[TY_JOB_MESSAGE];
    ty_job_cause cause = ty_local_lacks(local, run, message, sizeof message);
    if (cause == TY_CAUSE_NONE && !ty_local_take_gpus(local, run)) {
        cause = TY_CAUSE_UNSCHEDULABLE;
        snprintf(message, sizeof message, "no free GPUs");
    }
    if (cause != TY_CAUSE_NONE) {
        store_plan(local, run, true);
        tell(local, run, TY_SEEN_STARTING, cause, message);
        return;
    }
    if (store_plan(local, run, false))
        begin(local, run);
    else
        ty_local_release_gpus(local, run);
}

/* --- knowing a run --- */

void ty_local_free_tracked(void *value)
{
    struct tracked *run = value;
    if (!run)
        return;
    json_decref(run->plan);
    free(run->replicas);
    free(run->processes);
    ty_buf_done(&run->partial);
    if (run->status_fd >= 0)
        close(run->status_fd);
    if (run->pid_fd >= 0)
        close(run->pid_fd);
    free(run);
}

static struct tracked *make_tracked(struct local *local, const char *object, json_t *plan)
{
    struct tracked *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    run->watch = run->status_fd = run->pid_fd = -1;
    run->plan = json_incref(plan);
    run->attempt = (int32_t)ty_object_int(plan, "attempt", 1);
    run->sandboxed = json_object_get(plan, "bwrap") != NULL;
    run->same_boot = ty_str_equal(ty_object_text(plan, "boot_id", ""), local->host.boot_id);
    ty_str_copy(run->object, sizeof run->object, object);
    ty_str_copy(run->job_id, sizeof run->job_id, ty_object_text(plan, "job_id", ""));
    ty_str_copy(run->namespace, sizeof run->namespace, ty_object_text(plan, "namespace", ""));
    if (ty_map_put(local->runs, object, run) != TY_OK) {
        ty_local_free_tracked(run);
        return NULL;
    }
    return run;
}

static bool has_status(const struct local *local, const char *object)
{
    char path[TY_OBJECT_NAME + 32];
    struct stat info;
    snprintf(path, sizeof path, "%s/status.jsonl", object);
    return fstatat(local->runs_fd, path, &info, 0) == 0 && info.st_size > 0;
}

/* Take up a run that has a folder: follow it, begin it, or know that it is lost. */
static struct tracked *take_up(struct local *local, const char *object, json_t *plan)
{
    struct tracked *run = make_tracked(local, object, plan);
    if (!run)
        return NULL;
    if (has_status(local, object) || ty_run_folder_locked(local, object)) {
        ty_local_adopt_gpus(local, run, plan);
        follow(local, run, true);
    } else if (run->same_boot || plan_waits(plan)) {
        try_begin(local, run);
    } else {
        lose_run(local, run, "the machine went down while the run may have begun");
    }
    return run;
}

static struct tracked *find_or_load(struct local *local, const char *object)
{
    struct tracked *run = ty_map_get(local->runs, object);
    json_t *plan = NULL;
    struct ty_error why;
    if (run)
        return run;
    if (ty_run_folder_plan(local, object, &plan, &why) != TY_OK)
        return NULL;
    run = take_up(local, object, plan);
    json_decref(plan);
    return run;
}

static void forget(struct local *local, struct tracked *run)
{
    stop_following(local, run);
    let_supervisor_go(run);
    ty_local_release_gpus(local, run);
    ty_map_remove(local->runs, run->object);
}

/* --- commands --- */

static void on_track(struct local *local, const struct local_command *command)
{
    struct tracked *run = ty_map_get(local->runs, command->object);
    if (run && run->attempt != command->attempt) {
        forget(local, run);
        run = NULL;
    }
    if (run) {
        if (run->reported)
            report(local, run); /* somebody asks again */
    } else if (command->plan) {
        take_up(local, command->object, command->plan);
    } else {
        find_or_load(local, command->object);
    }
}

static void remove_folder(struct local *local, const char *object)
{
    struct ty_error why;
    if (ty_tree_remove(local->runs_fd, object, &why) != TY_OK)
        ty_log(local->log, TY_LOG_WARNING, "run_not_removed", "run %s: %s", object, why.text);
}

/* A run that never began is forgotten with its folder first, so that nothing can begin it any more.
 */
static void stop_waiting(struct local *local, struct tracked *run)
{
    remove_folder(local, run->object);
    run->phase = RUN_OVER;
    tell(local, run, TY_SEEN_STOPPED, TY_CAUSE_NONE, "");
    forget(local, run);
}

static void report_unknown(struct local *local, const struct local_command *command)
{
    struct ty_observation seen = {.kind = TY_SEEN_GONE, .attempt = command->attempt};
    seen.at = ty_now_us(local->clock);
    local->observer(local->observer_context, command->job_id, &seen, NULL, 0);
}

static void on_stop(struct local *local, const struct local_command *command)
{
    struct tracked *run = find_or_load(local, command->object);
    if (!run || run->attempt != command->attempt || !ty_str_equal(run->job_id, command->job_id)) {
        report_unknown(local, command);
    } else if (run->phase == RUN_WAITING) {
        stop_waiting(local, run);
    } else if (run->phase == RUN_OVER) {
        report(local, run);
    } else {
        run->stop_wanted = !ty_local_tell(local, run->object, "stop");
    }
}

static void on_remove(struct local *local, const struct local_command *command)
{
    struct tracked *run = find_or_load(local, command->object);
    if (!run || run->attempt > command->attempt)
        return;
    if (run->phase == RUN_ALIVE) {
        ty_log(local->log, TY_LOG_WARNING, "remove_refused", "run %s is still alive", run->object);
        return;
    }
    remove_folder(local, run->object);
    forget(local, run);
}

/* --- the loop --- */

static void look_at_all(struct local *local)
{
    size_t cursor = 0;
    struct tracked *run;
    while ((run = ty_map_next(local->runs, &cursor, NULL))) {
        if (run->phase == RUN_WAITING)
            try_begin(local, run);
        if (run->phase == RUN_ALIVE && run->status_fd < 0)
            follow(local, run, true);
        if (run->phase == RUN_ALIVE && run->watch < 0)
            read_status(local, run);
        if (run->phase == RUN_ALIVE && run->pid_fd < 0)
            check_supervisor(local, run);
        if (run->phase == RUN_ALIVE && run->stop_wanted)
            run->stop_wanted = !ty_local_tell(local, run->object, "stop");
    }
}

/* How long the thread may sleep: runs that wait for something are looked at again. */
static int sleep_ms(const struct local *local)
{
    size_t cursor = 0;
    const struct tracked *run;
    int wait = -1;
    while ((run = ty_map_next(local->runs, &cursor, NULL))) {
        if (run->phase == RUN_ALIVE && (run->pid_fd < 0 || run->watch < 0 || run->stop_wanted))
            return RETRY_MS;
        if (run->phase == RUN_WAITING)
            wait = LOOK_MS;
    }
    return wait;
}

static void hear_inotify(struct local *local)
{
    char bytes[8192] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t len = read(local->inotify_fd, bytes, sizeof bytes);
    for (ssize_t at = 0; at < len;) {
        const struct inotify_event *event =
            (const struct inotify_event *)(const void *)(bytes + at);
        char key[32];
        watch_key(event->wd, key);
        struct tracked *run = ty_map_get(local->watches, key);
        if (run && run->phase == RUN_ALIVE)
            read_status(local, run);
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
    case COMMAND_REMOVE:
        on_remove(local, command);
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
    int fd = openat(local->runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (ty_dns1035_label(entry->d_name))
            find_or_load(local, entry->d_name);
    }
    closedir(folder);
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
        cursor = 0;
        while ((run = ty_map_next(local->runs, &cursor, NULL))) {
            if (events[i].data.ptr == run && check_supervisor(local, run))
                let_supervisor_go(run);
        }
    }
    if (count == 0)
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
    uint64_t one = 1;
    ssize_t written = write(local->wake_fd, &one, sizeof one);
    (void)written; /* only fails when it is awake anyway */
    return TY_OK;
}
