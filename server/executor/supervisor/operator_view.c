/* How a run looks from outside. In a cluster a crash loop hides behind Running; here waiting is
 * never shown as running: while any replica waits to be started again the run is "restarting". */
#include "executor/supervisor/operator.h"

#include "trainyard/base/str.h"

#include <stdio.h>

enum { CRASH_LOOP_RESTARTS = 3 };

const char *ty_op_pod_phase(const struct ty_op_pod *pod)
{
    switch (pod->state) {
    case TY_OP_SUCCEEDED:
        return "succeeded";
    case TY_OP_FAILED:
        return "failed";
    case TY_OP_RUNNING:
        return "running";
    case TY_OP_BACKOFF:
    case TY_OP_STARTING:
        return pod->ever_ran ? "running" : "pending";
    default:
        return "pending";
    }
}

static const char *ended_reason(const struct ty_op_pod *pod)
{
    if (!pod->has_exit)
        return "";
    if (pod->exit.out_of_memory)
        return "OOMKilled";
    return pod->exit.code == 0 ? "Completed" : "Error";
}

const char *ty_op_pod_reason(const struct ty_op_pod *pod)
{
    switch (pod->state) {
    case TY_OP_WAIT_MASTER:
        return "PodInitializing";
    case TY_OP_STARTING:
        return "ContainerCreating";
    case TY_OP_BACKOFF:
        return pod->exit.not_started ? "CreateContainerError" : "CrashLoopBackOff";
    case TY_OP_RUNNING:
        return pod->deleting ? "Terminating" : "";
    default:
        return ended_reason(pod);
    }
}

static const char *const final_kinds[] = {
    [TY_OP_JOB_SUCCEEDED] = "succeeded",
    [TY_OP_JOB_FAILED] = "failed",
    [TY_OP_JOB_STOPPED] = "stopped",
    [TY_OP_JOB_LOST] = "gone",
};

static const struct ty_op_pod *find_waiting(const struct ty_op *op, bool not_started)
{
    for (size_t i = 0; i < op->pod_count; i++) {
        const struct ty_op_pod *pod = &op->pods[i];
        bool waits = pod->state == TY_OP_BACKOFF || (pod->state == TY_OP_STARTING && pod->has_exit);
        if (waits && !pod->leaving && pod->exit.not_started == not_started)
            return pod;
    }
    return NULL;
}

static bool job_runs(const struct ty_op *op)
{
    for (size_t i = 0; i < op->condition_count; i++) {
        if (op->conditions[i].type == TY_OP_COND_RUNNING ||
            op->conditions[i].type == TY_OP_COND_RESTARTING)
            return true;
    }
    return false;
}

static void look_restarting(const struct ty_op_pod *pod, struct ty_op_view *out)
{
    int32_t count = pod->restarts + pod->recreated + (pod->ever_ran ? 1 : 0);
    out->kind = "restarting";
    out->culprit = pod;
    out->cause = count >= CRASH_LOOP_RESTARTS ? "crash_looping" : "replica_restarted";
    if (pod->exit.out_of_memory)
        snprintf(out->message, sizeof out->message,
                 "%s reached its memory limit and is started again (restart %d)", pod->name,
                 (int)count);
    else if (pod->exit.signal)
        snprintf(out->message, sizeof out->message,
                 "%s was ended by signal %d and is started again (restart %d)", pod->name,
                 (int)pod->exit.signal, (int)count);
    else
        snprintf(out->message, sizeof out->message,
                 "%s exited with code %d and is started again (restart %d)", pod->name,
                 (int)pod->exit.code, (int)count);
}

/* The job has its result, but by clean_pods none or within the grace period something still runs.
 */
static void look_ending(const struct ty_op *op, struct ty_op_view *out)
{
    size_t alive = 0;
    for (size_t i = 0; i < op->pod_count; i++)
        alive += op->pods[i].alive;
    out->kind = job_runs(op) ? "running" : "starting";
    snprintf(out->message, sizeof out->message, "waiting for %zu replica%s to end", alive,
             alive == 1 ? "" : "s");
}

void ty_op_look(const struct ty_op *op, struct ty_op_view *out)
{
    *out = (struct ty_op_view){.kind = "starting", .cause = ""};
    if (ty_op_over(op)) {
        out->kind = final_kinds[op->result];
        out->cause = op->cause;
        out->culprit = op->culprit;
        ty_str_copy(out->message, sizeof out->message, op->message);
        return;
    }
    if (op->result != TY_OP_OPEN) {
        look_ending(op, out);
        return;
    }
    const struct ty_op_pod *waiting = find_waiting(op, false);
    if (waiting) {
        look_restarting(waiting, out);
        return;
    }
    waiting = find_waiting(op, true);
    if (waiting && !job_runs(op)) {
        out->cause = waiting->exit.cause;
        ty_str_copy(out->message, sizeof out->message, waiting->exit.text);
        return;
    }
    if (job_runs(op))
        out->kind = "running";
}
