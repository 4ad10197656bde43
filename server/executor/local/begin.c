/* Taking up a run: beginning it when nothing is lacking, following it when it has begun before. */
#include "executor/local/tracked.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Exit codes of the supervisor's start (supervisor/main.c). */
enum { SPAWN_DONE = 0, SPAWN_LOCKED = 3, SPAWN_BAD_PLAN = 4, SPAWN_USED = 5 };

static void begin(struct local *local, struct tracked *run)
{
    size_t size = ty_plan_size(run->plan);
    ty_failpoint("local.before_spawn");
    int code = ty_local_spawn(local, run->object);
    ty_failpoint("local.after_spawn");
    switch (code) {
    case SPAWN_DONE:
        run->told_size = size;
        __attribute__((fallthrough));
    case SPAWN_LOCKED:
    case SPAWN_USED:
        ty_status_follow(local, run, code != SPAWN_DONE);
        break;
    case SPAWN_BAD_PLAN:
        ty_tracked_end(local, run);
        ty_tracked_tell(local, run, TY_SEEN_FAILED, TY_CAUSE_GATEWAY_ERROR,
                        "the plan of the run cannot be read");
        break;
    default:
        ty_local_release_gpus(local, run);
        ty_log(local->log, TY_LOG_ERROR, "spawn_failed",
               "run %s: the supervisor cannot be started (%d)", run->object, code);
        ty_tracked_tell(local, run, TY_SEEN_STARTING, TY_CAUSE_GATEWAY_ERROR,
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
void ty_run_try_begin(struct local *local, struct tracked *run)
{
    char message[TY_JOB_MESSAGE];
    if (ty_run_folder_gone(local, run->object)) {
        ty_tracked_orphan(local, run);
        return;
    }
    json_object_del(run->plan, "gpu_map"); /* of an earlier try that came to nothing */
    ty_job_cause cause = ty_local_lacks(local, run, message, sizeof message);
    if (cause == TY_CAUSE_NONE && !ty_local_take_gpus(local, run, ty_plan_size(run->plan))) {
        cause = TY_CAUSE_UNSCHEDULABLE;
        snprintf(message, sizeof message, "no free GPUs");
    }
    if (cause != TY_CAUSE_NONE) {
        store_plan(local, run, true);
        ty_tracked_tell(local, run, TY_SEEN_STARTING, cause, message);
        return;
    }
    if (store_plan(local, run, false))
        begin(local, run);
    else
        ty_local_release_gpus(local, run);
}

static bool has_status(const struct local *local, const char *object)
{
    char path[TY_OBJECT_NAME + 32];
    struct stat info;
    snprintf(path, sizeof path, "%s/status.jsonl", object);
    return fstatat(local->runs_fd, path, &info, 0) == 0 && info.st_size > 0;
}

/* Take up a run that has a folder: follow it, begin it, or know that it is lost. */
struct tracked *ty_run_take_up(struct local *local, const char *object, json_t *plan)
{
    struct tracked *run = ty_tracked_make(local, object, plan);
    if (!run)
        return NULL;
    /* Where a shortage hides the lock, a supervisor that was begun before refuses a second one. */
    if (has_status(local, object) || ty_run_folder_lock(local, object) == RUN_LOCK_HELD) {
        ty_local_adopt_gpus(local, run, plan);
        ty_status_follow(local, run, true);
    } else if (run->same_boot || plan_waits(plan)) {
        ty_run_try_begin(local, run);
    } else {
        ty_tracked_lose(local, run, "the machine went down while the run may have begun");
    }
    return run;
}

struct tracked *ty_run_find(struct local *local, const char *object, bool *missing_out)
{
    struct tracked *run = ty_map_get(local->runs, object);
    json_t *plan = NULL;
    struct ty_error why;
    *missing_out = false;
    if (run)
        return run;
    ty_status status = ty_run_folder_plan(local, object, &plan, &why);
    *missing_out = status == TY_NOT_FOUND || status == TY_CORRUPT;
    if (status != TY_OK)
        return NULL;
    run = ty_run_take_up(local, object, plan);
    json_decref(plan);
    return run;
}
