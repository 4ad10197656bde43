/* The record of a run: telling about it, and its ends. */
#include "executor/local/tracked.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/wait.h>

void ty_tracked_report(struct local *local, struct tracked *run)
{
    run->reported = true;
    local->observer(local->observer_context, run->job_id, &run->last, run->replicas,
                    run->replica_count);
}

void ty_tracked_tell(struct local *local, struct tracked *run, ty_seen_kind kind,
                     ty_job_cause cause, const char *message)
{
    bool repeated = run->reported && run->last.kind == kind && run->last.cause == cause &&
                    ty_str_equal(run->last.message, message);
    if (repeated)
        return;
    run->last = (struct ty_observation){
        .kind = kind, .attempt = run->attempt, .cause = cause, .restarts = run->last.restarts};
    run->last.at = ty_now_us(local->clock);
    ty_str_copy(run->last.message, sizeof run->last.message, message);
    ty_tracked_report(local, run);
}

void ty_watch_key(int watch, char out[32])
{
    snprintf(out, 32, "%d", watch);
}

static void stop_following(struct local *local, struct tracked *run)
{
    if (run->watch >= 0) {
        char key[32];
        ty_watch_key(run->watch, key);
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
void ty_tracked_let_go(struct tracked *run)
{
    if (run->pid_fd < 0)
        return;
    siginfo_t info;
    waitid(P_PIDFD, (id_t)run->pid_fd, &info, WEXITED | WNOHANG);
    close(run->pid_fd); /* leaves the epoll set with it */
    run->pid_fd = -1;
}

void ty_tracked_end(struct local *local, struct tracked *run)
{
    run->phase = RUN_OVER;
    stop_following(local, run);
    ty_local_release_gpus(local, run);
    json_decref(run->plan);
    run->plan = NULL;
}

/* All of it is over, and what it was is told. */
static void lose(struct local *local, struct tracked *run, const char *why)
{
    ty_log(local->log, TY_LOG_WARNING, "run_lost", "run %s: %s", run->object, why);
    if (run->same_boot)
        ty_local_kill_leftovers(run);
    for (size_t i = 0; i < run->replica_count; i++) {
        if (run->replicas[i].phase == TY_REPLICA_RUNNING ||
            run->replicas[i].phase == TY_REPLICA_PENDING)
            run->replicas[i].phase = TY_REPLICA_FAILED;
    }
    ty_tracked_end(local, run);
    ty_tracked_tell(local, run, TY_SEEN_GONE, TY_CAUSE_NONE, why);
}

void ty_tracked_lose(struct local *local, struct tracked *run, const char *why)
{
    ty_run_folder_close(local, run->object);
    lose(local, run, why);
}

void ty_tracked_orphan(struct local *local, struct tracked *run)
{
    if (run->phase == RUN_ALIVE)
        ty_local_kill_orphans(local, run->object);
    lose(local, run, TY_RUN_FOLDER_GONE);
}

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

struct tracked *ty_tracked_make(struct local *local, const char *object, json_t *plan)
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

void ty_tracked_forget(struct local *local, struct tracked *run)
{
    stop_following(local, run);
    ty_tracked_let_go(run);
    ty_local_release_gpus(local, run);
    ty_map_remove(local->runs, run->object);
}
