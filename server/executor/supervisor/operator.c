/* The happy path: begin creates all pods, the Master starts at once and the Workers when it runs
 * (init-pytorch); the Master's exit 0 makes the job Succeeded; Workers still running are ended by
 * the clean-pods policy; when no process is left the run is over.
 *
 * A failure goes two ways, as in a cluster. The kubelet's part is in `container_ended`: policies
 * Always and OnFailure start the container again in place after a back-off; the pod stays in phase
 * Running. The operator's part is in `reconcile`: it looks at the pods' phases after every event,
 * in fixed order Master then Worker, re-creates or fails by policy ExitCode and Never, counts
 * replicas, and sets the conditions.
 *
 * A scale moves the border between the pods that belong to the run and those that are absent; what
 * is beyond it and still ends is leaving. */
#include "executor/supervisor/operator.h"

#include "trainyard/base/str.h"

#include <stdio.h>

const char *const ty_op_role_names[TY_OP_ROLE_COUNT] = {"Master", "Worker"};

static bool has_master(const struct ty_op *op)
{
    return op->pod_count > 0 && op->pods[0].role == TY_OP_MASTER;
}

/* Whether the pod counts: it is one of the run's, and not the end of an earlier one of its name. */
static bool counts_in(const struct ty_op *op, const struct ty_op_pod *pod)
{
    return (size_t)(pod - op->pods) < op->size && !pod->leaving;
}

/* --- phases as the operator sees them --- */

static bool phase_running(const struct ty_op_pod *pod)
{
    return pod->state == TY_OP_RUNNING ||
           ((pod->state == TY_OP_BACKOFF || pod->state == TY_OP_STARTING) && pod->ever_ran);
}

struct counts {
    int32_t replicas, active, succeeded, failed;
};

static struct counts count_role(const struct ty_op *op, ty_op_role role)
{
    struct counts counts = {0};
    for (size_t i = 0; i < op->pod_count; i++) {
        const struct ty_op_pod *pod = &op->pods[i];
        if (pod->role != role || i >= op->size)
            continue;
        counts.replicas++;
        if (pod->leaving)
            continue;
        counts.succeeded += pod->state == TY_OP_SUCCEEDED;
        counts.active += phase_running(pod) && !pod->deleting;
        counts.failed += pod->state == TY_OP_FAILED || (phase_running(pod) && pod->deleting);
    }
    return counts;
}

/* --- one pod --- */

static void ask_start(struct ty_op *op, struct ty_op_pod *pod)
{
    pod->state = TY_OP_STARTING;
    pod->todo = TY_OP_DO_START;
    pod->alive = true;
    op->changed = true;
}

/* A new pod of this name: nothing of the old one but the last exit is kept. */
static void create_pod(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    pod->ever_ran = false;
    pod->restarts = 0;
    pod->backoff_ms = op->rules.backoff_base_ms;
    pod->deleting = false;
    pod->kill_ms = 0;
    if (pod->role == TY_OP_WORKER && has_master(op) && !phase_running(&op->pods[0])) {
        pod->state = TY_OP_WAIT_MASTER;
        pod->next_ms = now.ms + op->rules.init_wait_ms;
        op->changed = true;
        return;
    }
    ask_start(op, pod);
}

static void delete_pod(struct ty_op *op, struct ty_op_pod *pod, bool force, struct ty_op_now now)
{
    if (!pod->alive) {
        if (pod->state != TY_OP_SUCCEEDED && pod->state != TY_OP_FAILED &&
            pod->state != TY_OP_REMOVED && pod->state != TY_OP_ABSENT) {
            pod->state = pod->has_exit && !pod->exit.not_started ? TY_OP_FAILED : TY_OP_REMOVED;
            op->changed = true;
        }
        return;
    }
    if (pod->todo == TY_OP_DO_START) { /* nobody has acted on it yet */
        pod->todo = TY_OP_NOTHING;
        pod->alive = false;
        pod->state = TY_OP_REMOVED;
        op->changed = true;
        return;
    }
    if (force) {
        pod->deleting = true;
        pod->kill_ms = 0;
        pod->todo = TY_OP_DO_KILL;
    } else if (!pod->deleting) {
        pod->deleting = true;
        pod->kill_ms = now.ms + op->rules.grace_ms[pod->role];
        pod->todo = TY_OP_DO_TERM;
        op->changed = true;
    }
}

static void delete_pods(struct ty_op *op, bool force, struct ty_op_now now)
{
    for (size_t i = 0; i < op->pod_count; i++)
        delete_pod(op, &op->pods[i], force, now);
}

static void back_off(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    if (pod->state == TY_OP_RUNNING && now.ms - pod->running_ms >= op->rules.backoff_reset_ms)
        pod->backoff_ms = op->rules.backoff_base_ms;
    pod->state = TY_OP_BACKOFF;
    pod->next_ms = now.ms + pod->backoff_ms;
    pod->backoff_ms *= 2;
    if (pod->backoff_ms > op->rules.backoff_max_ms)
        pod->backoff_ms = op->rules.backoff_max_ms;
}

/* --- scaling --- */

static void make_absent(struct ty_op_pod *pod)
{
    struct ty_op_pod absent = {.role = pod->role, .index = pod->index, .state = TY_OP_ABSENT};
    ty_str_copy(absent.name, sizeof absent.name, pod->name);
    *pod = absent;
}

static void leave(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    delete_pod(op, pod, false, now);
    pod->leaving = pod->alive;
    if (!pod->alive)
        make_absent(pod);
}

/* The last of a pod that was to leave has ended; perhaps one of its name is wanted again. */
static void left(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    make_absent(pod);
    if (op->result == TY_OP_OPEN && counts_in(op, pod))
        create_pod(op, pod, now);
}

/* --- the end of the job --- */

static void describe_exit(const struct ty_op_pod *pod, char *out, size_t size)
{
    if (pod->exit.text[0])
        snprintf(out, size, "%s: %.200s", pod->name, pod->exit.text);
    else if (pod->exit.out_of_memory)
        snprintf(out, size, "%s was killed because it reached its memory limit", pod->name);
    else if (pod->exit.signal)
        snprintf(out, size, "%s was ended by signal %d", pod->name, (int)pod->exit.signal);
    else
        snprintf(out, size, "%s exited with code %d", pod->name, (int)pod->exit.code);
}

static void clean_up(struct ty_op *op, struct ty_op_now now)
{
    for (size_t i = 0; i < op->pod_count; i++) {
        struct ty_op_pod *pod = &op->pods[i];
        /* With None what was begun is left to end by itself; nothing is begun any more. */
        if (op->rules.clean_pods != TY_OP_CLEAN_NONE || !pod->alive)
            delete_pod(op, pod, false, now);
    }
}

static void fail_job(struct ty_op *op, const char *cause, const struct ty_op_pod *culprit)
{
    op->result = TY_OP_JOB_FAILED;
    op->cause = cause;
    op->culprit = culprit;
    op->changed = true;
    if (culprit)
        describe_exit(culprit, op->message, sizeof op->message);
}

static const char *exit_cause(const struct ty_op_pod *pod)
{
    return pod->exit.out_of_memory ? "out_of_memory" : "container_error";
}

/* --- the kubelet's part --- */

/* Whether one more restart in place would reach the limit. The operator acts when the restart has
 * happened; to fail before starting what is ended at once gives the same result sooner. */
static bool reaches_limit(const struct ty_op *op)
{
    if (op->rules.backoff_limit < 0)
        return false;
    int64_t sum = 1;
    for (size_t i = 0; i < op->pod_count; i++) {
        const struct ty_op_pod *pod = &op->pods[i];
        ty_op_restart policy = op->rules.restart[pod->role];
        if (policy != TY_OP_NEVER && phase_running(pod) && counts_in(op, pod))
            sum += pod->restarts;
    }
    return sum >= op->rules.backoff_limit;
}

static void reach_limit(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    char message[TY_OP_TEXT];
    snprintf(message, sizeof message,
             "Job %s has failed because it has reached the specified backoff limit", op->rules.job);
    fail_job(op, "retry_limit_exceeded", pod);
    ty_op_set_condition(op, TY_OP_COND_FAILED, message, now.us);
    pod->state = TY_OP_FAILED;
    delete_pods(op, false, now);
}

static void container_ended(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    ty_op_restart policy = op->rules.restart[pod->role];
    bool good = pod->exit.code == 0 && !pod->exit.not_started;
    if (pod->deleting || op->result != TY_OP_OPEN) {
        pod->state = good ? TY_OP_SUCCEEDED : TY_OP_FAILED;
    } else if (pod->exit
                   .not_started) { /* not a run: tried again until it works or the job is stopped */
        back_off(op, pod, now);
    } else if (good && policy != TY_OP_ALWAYS) {
        pod->state = TY_OP_SUCCEEDED;
    } else if (policy == TY_OP_NEVER || policy == TY_OP_EXIT_CODE) {
        pod->state = TY_OP_FAILED;
    } else if (reaches_limit(op)) {
        reach_limit(op, pod, now);
    } else {
        back_off(op, pod, now);
    }
}

/* init-pytorch gave up: its exit 1 counts as a restart in place of the pod, or fails it by policy
 * Never. */
static void init_failed(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    pod->has_exit = true;
    pod->exit =
        (struct ty_op_exit){.code = 1, .text = "the init container gave up waiting for the master"};
    pod->finished_at = now.us;
    ty_op_restart policy = op->rules.restart[pod->role];
    if (policy == TY_OP_NEVER || policy == TY_OP_EXIT_CODE) {
        pod->state = TY_OP_FAILED;
    } else {
        pod->restarts++;
        op->restarts++;
        pod->next_ms = now.ms + op->rules.init_wait_ms;
    }
    op->changed = true;
}

/* --- the operator's part --- */

static void reconcile_failed(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    char message[TY_OP_TEXT];
    const char *role = ty_op_role_names[pod->role];
    if (op->rules.restart[pod->role] != TY_OP_EXIT_CODE)
        return;
    if (pod->exit.code >= 128) {
        snprintf(message, sizeof message, "job %s is restarting because %s replica(s) failed.",
                 op->rules.job, role);
        ty_op_set_condition(op, TY_OP_COND_RESTARTING, message, now.us);
        pod->recreated++;
        op->restarts++;
        create_pod(op, pod, now);
        return;
    }
    snprintf(message, sizeof message, "job \"%s\" is failing because \"%s\" replica(s) failed.",
             op->rules.job, role);
    fail_job(op, exit_cause(pod), pod);
    ty_op_set_condition(op, TY_OP_COND_FAILED, message, now.us);
}

static void set_running(struct ty_op *op, bool with_namespace, struct ty_op_now now)
{
    char message[TY_OP_TEXT];
    snprintf(message, sizeof message, "PyTorchJob %s%s%s is running.",
             with_namespace ? op->rules.namespace : "", with_namespace ? "/" : "", op->rules.job);
    ty_op_set_condition(op, TY_OP_COND_RUNNING, message, now.us);
}

static void succeed(struct ty_op *op, struct ty_op_now now)
{
    char message[TY_OP_TEXT];
    if (has_master(op))
        snprintf(message, sizeof message, "PyTorchJob %s is successfully completed.",
                 op->rules.job);
    else
        snprintf(message, sizeof message, "PyTorchJob %s/%s successfully completed.",
                 op->rules.namespace, op->rules.job);
    op->result = TY_OP_JOB_SUCCEEDED;
    op->changed = true;
    ty_op_set_condition(op, TY_OP_COND_SUCCEEDED, message, now.us);
}

static struct ty_op_pod *first_failed(struct ty_op *op, ty_op_role role)
{
    for (size_t i = 0; i < op->pod_count; i++) {
        if (op->pods[i].role == role && op->pods[i].state == TY_OP_FAILED)
            return &op->pods[i];
    }
    return NULL;
}

static void judge_role(struct ty_op *op, ty_op_role role, struct ty_op_now now)
{
    struct counts counts = count_role(op, role);
    if (counts.replicas == 0)
        return;
    bool decides = role == TY_OP_MASTER || !has_master(op);
    bool done = counts.replicas == counts.succeeded;
    if (role == TY_OP_WORKER && op->rules.elastic && counts.succeeded > 0)
        done = true;
    if (decides && done) {
        succeed(op, now);
        return;
    }
    if (decides && counts.active > 0)
        set_running(op, role == TY_OP_WORKER, now);
    if (counts.failed == 0 || counts.replicas <= counts.succeeded + counts.active)
        return;
    char message[TY_OP_TEXT];
    bool never = op->rules.restart[role] == TY_OP_NEVER;
    snprintf(message, sizeof message, "PyTorchJob %s is %s because %d %s replica(s) failed.",
             op->rules.job, never ? "failed" : "restarting", (int)counts.failed,
             ty_op_role_names[role]);
    if (never) {
        struct ty_op_pod *pod = first_failed(op, role);
        fail_job(op, pod ? exit_cause(pod) : "container_error", pod);
    }
    ty_op_set_condition(op, never ? TY_OP_COND_FAILED : TY_OP_COND_RESTARTING, message, now.us);
}

static void release_workers(struct ty_op *op)
{
    if (!has_master(op) || !phase_running(&op->pods[0]))
        return;
    for (size_t i = 1; i < op->pod_count; i++) {
        if (op->pods[i].state == TY_OP_WAIT_MASTER)
            ask_start(op, &op->pods[i]);
    }
}

static void reconcile(struct ty_op *op, struct ty_op_now now)
{
    for (size_t i = 0; i < op->pod_count && op->result == TY_OP_OPEN; i++) {
        if (op->pods[i].state == TY_OP_FAILED)
            reconcile_failed(op, &op->pods[i], now);
    }
    for (int role = TY_OP_MASTER; role < TY_OP_ROLE_COUNT && op->result == TY_OP_OPEN; role++)
        judge_role(op, (ty_op_role)role, now);
    if (op->result == TY_OP_OPEN)
        release_workers(op);
    else
        clean_up(op, now);
}

/* --- events --- */

void ty_op_begin(struct ty_op *op, const struct ty_op_rules *rules, struct ty_op_pod *pods,
                 size_t pod_count, struct ty_op_now now)
{
    *op = (struct ty_op){
        .rules = *rules, .pods = pods, .pod_count = pod_count, .cause = "", .changed = true};
    if (rules->deadline_ms > 0)
        op->deadline_at_ms = now.ms + rules->deadline_ms;
    char message[TY_OP_TEXT];
    snprintf(message, sizeof message, "PyTorchJob %s is created.", rules->job);
    ty_op_set_condition(op, TY_OP_CREATED, message, now.us);
    op->size = rules->size > 0 && rules->size < pod_count ? rules->size : pod_count;
    for (size_t i = 0; i < pod_count; i++) {
        if (i < op->size)
            create_pod(op, &pods[i], now);
        else
            pods[i].state = TY_OP_ABSENT;
    }
}

void ty_op_started(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    if (pod->state != TY_OP_STARTING)
        return;
    if (pod->ever_ran) {
        pod->restarts++;
        op->restarts++;
    }
    pod->state = TY_OP_RUNNING;
    pod->ever_ran = true;
    pod->running_ms = now.ms;
    pod->started_at = now.us;
    op->changed = true;
    reconcile(op, now);
}

void ty_op_exited(struct ty_op *op, struct ty_op_pod *pod, const struct ty_op_exit *ended,
                  struct ty_op_now now)
{
    if (!pod->alive)
        return;
    pod->alive = false;
    pod->todo = TY_OP_NOTHING;
    pod->kill_ms = 0;
    pod->has_exit = true;
    pod->exit = *ended;
    pod->finished_at = now.us;
    op->changed = true;
    if (pod->leaving)
        left(op, pod, now);
    else
        container_ended(op, pod, now);
    reconcile(op, now);
}

void ty_op_scale(struct ty_op *op, size_t size, struct ty_op_now now)
{
    if (op->result != TY_OP_OPEN || size == 0 || size > op->pod_count || size == op->size)
        return;
    size_t before = op->size;
    op->size = size;
    op->changed = true;
    for (size_t i = before; i > size; i--)
        leave(op, &op->pods[i - 1], now);
    for (size_t i = before; i < size; i++) {
        if (!op->pods[i].leaving)
            create_pod(op, &op->pods[i], now);
    }
    reconcile(op, now);
}

void ty_op_stop(struct ty_op *op, ty_op_result result, bool force, struct ty_op_now now)
{
    if (op->result == TY_OP_OPEN) {
        op->result = result;
        op->changed = true;
    }
    delete_pods(op, force, now);
}

static void reach_deadline(struct ty_op *op, struct ty_op_now now)
{
    char message[TY_OP_TEXT];
    snprintf(message, sizeof message,
             "Job %s has failed because it was active longer than specified deadline",
             op->rules.job);
    fail_job(op, "deadline_exceeded", NULL);
    ty_str_copy(op->message, sizeof op->message, "the run took longer than its time limit");
    ty_op_set_condition(op, TY_OP_COND_FAILED, message, now.us);
    delete_pods(op, false, now);
}

static void tick_pod(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now)
{
    if (pod->state == TY_OP_BACKOFF && !pod->alive && pod->next_ms <= now.ms &&
        op->result == TY_OP_OPEN)
        ask_start(op, pod);
    if (pod->state == TY_OP_WAIT_MASTER && pod->next_ms <= now.ms)
        init_failed(op, pod, now);
    if (pod->alive && pod->kill_ms > 0 && pod->kill_ms <= now.ms) {
        pod->kill_ms = 0;
        pod->todo = TY_OP_DO_KILL;
    }
}

void ty_op_tick(struct ty_op *op, struct ty_op_now now)
{
    if (op->result == TY_OP_OPEN && op->deadline_at_ms > 0 && op->deadline_at_ms <= now.ms)
        reach_deadline(op, now);
    for (size_t i = 0; i < op->pod_count; i++)
        tick_pod(op, &op->pods[i], now);
    if (op->result == TY_OP_OPEN)
        reconcile(op, now);
}

static int64_t earlier(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

int64_t ty_op_wake(const struct ty_op *op)
{
    int64_t wake = op->result == TY_OP_OPEN ? op->deadline_at_ms : 0;
    for (size_t i = 0; i < op->pod_count; i++) {
        const struct ty_op_pod *pod = &op->pods[i];
        if (op->result == TY_OP_OPEN &&
            (pod->state == TY_OP_BACKOFF || pod->state == TY_OP_WAIT_MASTER))
            wake = earlier(wake, pod->next_ms);
        if (pod->alive)
            wake = earlier(wake, pod->kill_ms);
    }
    return wake;
}

bool ty_op_over(const struct ty_op *op)
{
    if (op->result == TY_OP_OPEN)
        return false;
    for (size_t i = 0; i < op->pod_count; i++) {
        if (op->pods[i].alive)
            return false;
    }
    return true;
}
