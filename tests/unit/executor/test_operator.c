#include "unit.h"

#include "executor/supervisor/operator.h"

#include <stdio.h>
#include <string.h>

/* A scenario is a list of steps; after each the view and the pods' marks are compared. */

enum { PODS = 4, SECOND = 1000 };

typedef enum {
    END,
    STARTED,
    EXITED,
    KILLED,
    NOT_STARTED,
    OUT_OF_MEMORY,
    TICK,
    STOP,
    FORCE,
    SHUTDOWN,
    SCALE
} event;

struct step {
    event what;
    int pod;          /* 0 = the first of the roles that exist */
    int value;        /* exit code, signal, milliseconds that pass before a TICK, or a size */
    const char *kind; /* NULL = not compared */
    const char *cause;
    const char *todo; /* one letter a pod: - s t k; NULL = not compared */
    const char *pods; /* one letter a pod: p(ending) r(unning) s(ucceeded) f(ailed) .(absent) */
};

struct scenario {
    const char *name;
    bool master;
    int workers;
    ty_op_restart restart;
    ty_op_clean clean;
    int backoff_limit; /* 0 = none; -1 stands for limit 0 */
    bool elastic;
    int size; /* at first, 0 = all */
    int deadline_ms;
    struct step steps[24];
    const char *conditions; /* "Created Running Succeeded", a "-" before those with status False */
    const char *last_message;
};

/* clang-format off */
static const struct scenario scenarios[] = {
    {.name = "the master alone succeeds",
     .master = true,
     .restart = TY_OP_ON_FAILURE,
     .steps = {{TICK, 0, 0, "starting", "", "-", NULL},
               {STARTED, 0, 0, "running", "", "-", NULL},
               {EXITED, 0, 0, "succeeded", "", "-", NULL}},
     .conditions = "Created -Running Succeeded",
     .last_message = "PyTorchJob j is successfully completed."},
    {.name = "workers start when the master runs and are ended when it has succeeded",
     .master = true,
     .workers = 2,
     .restart = TY_OP_ON_FAILURE,
     .clean = TY_OP_CLEAN_RUNNING,
     .steps = {{STARTED, 0, 0, "running", "", "-ss", NULL},
               {STARTED, 1, 0, "running", "", "---", NULL},
               {STARTED, 2, 0, "running", "", "---", NULL},
               {EXITED, 1, 0, "running", "", "---", NULL},
               {EXITED, 0, 0, "running", "", "--t", NULL},
               {KILLED, 2, 15, "succeeded", "", "---", NULL}},
     .conditions = "Created -Running Succeeded"},
    {.name = "clean pods none leaves running workers to end by themselves",
     .master = true,
     .workers = 1,
     .restart = TY_OP_ON_FAILURE,
     .clean = TY_OP_CLEAN_NONE,
     .steps = {{STARTED, 0, 0, "running", "", "-s", NULL},
               {STARTED, 1, 0, "running", "", "--", NULL},
               {EXITED, 0, 0, "running", "", "--", NULL},
               {EXITED, 1, 1, "succeeded", "", "--", NULL}}},
    {.name = "clean pods none lets a worker that was released still begin",
     .master = true,
     .workers = 1,
     .restart = TY_OP_ON_FAILURE,
     .clean = TY_OP_CLEAN_NONE,
     .steps = {{STARTED, 0, 0, "running", "", "-s", NULL},
               {EXITED, 0, 0, "running", "", "--", NULL},
               {STARTED, 1, 0, "running", "", "--", NULL},
               {EXITED, 1, 0, "succeeded", "", "--", NULL}}},
    {.name = "a worker that has not begun when the master is done does not begin",
     .master = true,
     .workers = 1,
     .restart = TY_OP_ON_FAILURE,
     .clean = TY_OP_CLEAN_NONE,
     .steps = {{STARTED, 0, 0, "running", "", "-s", NULL},
               {STARTED, 1, 0, "running", "", "--", NULL},
               {EXITED, 1, 1, "restarting", "replica_restarted", "--", NULL},
               {EXITED, 0, 0, "succeeded", "", "--", NULL}}},
    {.name = "never: the first failure fails the job with the operator's words",
     .master = true,
     .workers = 1,
     .restart = TY_OP_NEVER,
     .clean = TY_OP_CLEAN_RUNNING,
     .steps = {{STARTED, 0, 0, "running", "", "-s", NULL},
               {STARTED, 1, 0, "running", "", "--", NULL},
               {EXITED, 1, 4, "running", "", "t-", NULL},
               {EXITED, 0, 0, "failed", "container_error", "--", NULL}},
     .conditions = "Created -Running Failed",
     .last_message = "PyTorchJob j is failed because 1 Worker replica(s) failed."},
    {.name = "on failure: restarts in place with growing waits, running again in between",
     .master = true,
     .restart = TY_OP_ON_FAILURE,
     .steps = {{STARTED, 0, 0, "running", "", "-", NULL},
               {EXITED, 0, 1, "restarting", "replica_restarted", "-", NULL},
               {TICK, 0, 9999, "restarting", "replica_restarted", "-", NULL},
               {TICK, 0, 1, "restarting", "replica_restarted", "s", NULL},
               {STARTED, 0, 0, "running", "", "-", NULL},
               {EXITED, 0, 1, "restarting", "replica_restarted", "-", NULL},
               {TICK, 0, 19999, NULL, NULL, "-", NULL},
               {TICK, 0, 1, NULL, NULL, "s", NULL},
               {STARTED, 0, 0, "running", "", "-", NULL},
               {EXITED, 0, 1, "restarting", "crash_looping", "-", NULL},
               {TICK, 0, 40000, NULL, NULL, "s", NULL},
               {STARTED, 0, 0, "running", "", "-", NULL},
               {EXITED, 0, 0, "succeeded", "", "-", NULL}},
     .conditions = "Created -Running Succeeded"},
    {.name = "ten minutes of health reset the back-off",
     .master = true,
     .restart = TY_OP_ON_FAILURE,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-", NULL},
               {EXITED, 0, 1, NULL, NULL, "-", NULL},
               {TICK, 0, 10000, NULL, NULL, "s", NULL},
               {STARTED, 0, 0, NULL, NULL, "-", NULL},
               {TICK, 0, 600 * SECOND, NULL, NULL, "-", NULL},
               {EXITED, 0, 1, NULL, NULL, "-", NULL},
               {TICK, 0, 9999, NULL, NULL, "-", NULL},
               {TICK, 0, 1, NULL, NULL, "s", NULL}}},
    {.name = "always starts again after a good end",
     .master = true,
     .restart = TY_OP_ALWAYS,
     .steps = {{STARTED, 0, 0, "running", "", "-", NULL},
               {EXITED, 0, 0, "restarting", "replica_restarted", "-", NULL},
               {TICK, 0, 10000, NULL, NULL, "s", NULL}}},
    {.name = "the backoff limit counts restarts in place of all replicas",
     .master = true,
     .workers = 1,
     .restart = TY_OP_ON_FAILURE,
     .clean = TY_OP_CLEAN_RUNNING,
     .backoff_limit = 2,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-s", NULL},
               {STARTED, 1, 0, NULL, NULL, "--", NULL},
               {EXITED, 1, 1, "restarting", "replica_restarted", "--", NULL},
               {TICK, 0, 10000, NULL, NULL, "-s", NULL},
               {STARTED, 1, 0, "running", "", "--", NULL},
               {EXITED, 1, 5, "running", "", "t-", NULL},
               {KILLED, 0, 15, "failed", "retry_limit_exceeded", "--", NULL}},
     .conditions = "Created -Running Failed",
     .last_message = "Job j has failed because it has reached the specified backoff limit"},
    {.name = "a backoff limit of zero allows no restart",
     .master = true,
     .restart = TY_OP_ON_FAILURE,
     .backoff_limit = -1,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-", NULL},
               {EXITED, 0, 1, "failed", "retry_limit_exceeded", "-", NULL}}},
    {.name = "exit code: 128 and above re-creates, below fails",
     .master = true,
     .restart = TY_OP_EXIT_CODE,
     .steps = {{STARTED, 0, 0, "running", "", "-", NULL},
               {KILLED, 0, 9, "restarting", "replica_restarted", "s", NULL},
               {STARTED, 0, 0, "running", "", "-", NULL},
               {EXITED, 0, 128, "restarting", "replica_restarted", "s", NULL},
               {STARTED, 0, 0, "running", "", "-", NULL},
               {EXITED, 0, 127, "failed", "container_error", "-", NULL}},
     .conditions = "Created -Running Failed",
     .last_message = "job \"j\" is failing because \"Master\" replica(s) failed."},
    {.name = "exit code: a re-created worker shows as restarting by the operator's words",
     .master = true,
     .workers = 1,
     .restart = TY_OP_EXIT_CODE,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-s", NULL},
               {STARTED, 1, 0, NULL, NULL, "--", NULL},
               {KILLED, 1, 15, "restarting", "replica_restarted", "-s", NULL}},
     .conditions = "Created Running"},
    {.name = "without a master all workers must succeed",
     .workers = 2,
     .restart = TY_OP_ON_FAILURE,
     .steps = {{STARTED, 0, 0, "running", "", "--", NULL},
               {STARTED, 1, 0, "running", "", "--", NULL},
               {EXITED, 0, 0, "running", "", "--", NULL},
               {EXITED, 1, 0, "succeeded", "", "--", NULL}},
     .conditions = "Created -Running Succeeded",
     .last_message = "PyTorchJob n/j successfully completed."},
    {.name = "elastic: any worker's success is the job's",
     .workers = 2,
     .restart = TY_OP_ON_FAILURE,
     .clean = TY_OP_CLEAN_RUNNING,
     .elastic = true,
     .steps = {{STARTED, 0, 0, NULL, NULL, "--", NULL},
               {STARTED, 1, 0, NULL, NULL, "--", NULL},
               {EXITED, 1, 0, "running", "", "t-", NULL},
               {EXITED, 0, 0, "succeeded", "", "--", NULL}}},
    {.name = "out of memory is said only when the system says so",
     .master = true,
     .restart = TY_OP_NEVER,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-", NULL},
               {OUT_OF_MEMORY, 0, 9, "failed", "out_of_memory", "-", NULL}}},
    {.name = "stop: TERM, the grace, KILL",
     .master = true,
     .workers = 1,
     .restart = TY_OP_ON_FAILURE,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-s", NULL},
               {STARTED, 1, 0, NULL, NULL, "--", NULL},
               {STOP, 0, 0, "running", "", "tt", NULL},
               {STOP, 0, 0, "running", "", "--", NULL},
               {EXITED, 0, 0, "running", "", "--", NULL},
               {TICK, 0, 29999, NULL, NULL, "--", NULL},
               {TICK, 0, 1, NULL, NULL, "-k", NULL},
               {KILLED, 1, 9, "stopped", "", "--", NULL}}},
    {.name = "a forced stop kills at once",
     .master = true,
     .restart = TY_OP_NEVER,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-", NULL},
               {FORCE, 0, 0, "running", "", "k", NULL},
               {KILLED, 0, 9, "stopped", "", "-", NULL}}},
    {.name = "a stop during the back-off needs no process",
     .master = true,
     .restart = TY_OP_ON_FAILURE,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-", NULL},
               {EXITED, 0, 1, NULL, NULL, "-", NULL},
               {STOP, 0, 0, "stopped", "", "-", NULL},
               {TICK, 0, 60000, "stopped", "", "-", NULL}}},
    {.name = "a result that came before the stop stays",
     .master = true,
     .workers = 1,
     .restart = TY_OP_ON_FAILURE,
     .clean = TY_OP_CLEAN_NONE,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-s", NULL},
               {STARTED, 1, 0, NULL, NULL, "--", NULL},
               {EXITED, 0, 0, "running", "", "--", NULL},
               {STOP, 0, 0, "running", "", "-t", NULL},
               {KILLED, 1, 15, "succeeded", "", "--", NULL}}},
    {.name = "the end of the machine is no result",
     .master = true,
     .restart = TY_OP_NEVER,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-", NULL},
               {SHUTDOWN, 0, 0, "running", "", "t", NULL},
               {KILLED, 0, 15, "gone", "", "-", NULL}}},
    {.name = "a sandbox that cannot be made is tried again and is no restart",
     .master = true,
     .restart = TY_OP_NEVER,
     .steps = {{NOT_STARTED, 0, 0, "starting", "mount_failed", "-", NULL},
               {TICK, 0, 10000, NULL, NULL, "s", NULL},
               {STARTED, 0, 0, "running", "", "-", NULL},
               {EXITED, 0, 0, "succeeded", "", "-", NULL}}},
    {.name = "the deadline fails the job with the operator's words",
     .master = true,
     .restart = TY_OP_ON_FAILURE,
     .deadline_ms = 5000,
     .steps = {{STARTED, 0, 0, NULL, NULL, "-", NULL},
               {TICK, 0, 4999, "running", "", "-", NULL},
               {TICK, 0, 1, "running", "", "t", NULL},
               {KILLED, 0, 15, "failed", "deadline_exceeded", "-", NULL}},
     .last_message = "Job j has failed because it was active longer than specified deadline"},
    {.name = "a worker whose master never runs gives up as init-pytorch does",
     .master = true,
     .workers = 1,
     .restart = TY_OP_NEVER,
     .clean = TY_OP_CLEAN_RUNNING,
     .steps = {{TICK, 0, 199999, "starting", "", "--", NULL},
               {TICK, 0, 1, "starting", "", "t-", NULL}},
     .last_message = "PyTorchJob j is failed because 1 Worker replica(s) failed."},
    {.name = "scaled up and down: the highest indices come and go, the others go on",
     .workers = 3,
     .size = 1,
     .restart = TY_OP_ON_FAILURE,
     .clean = TY_OP_CLEAN_RUNNING,
     .elastic = true,
     .steps = {{STARTED, 0, 0, "running", "", "---", "r.."},
               {SCALE, 0, 3, "running", "", "-ss", "rpp"},
               {STARTED, 1, 0, "running", "", "---", "rrp"},
               {STARTED, 2, 0, "running", "", "---", "rrr"},
               {SCALE, 0, 1, "running", "", "-tt", "rrr"},
               {KILLED, 2, 15, "running", "", "---", "rr."},
               {TICK, 0, 30000, "running", "", "-k-", "rr."},
               {KILLED, 1, 9, "running", "", "---", "r.."},
               {EXITED, 0, 0, "succeeded", "", "---", "s.."}},
     .conditions = "Created -Running Succeeded"},
    {.name = "a good end of a worker that leaves is not the job's",
     .workers = 2,
     .restart = TY_OP_NEVER,
     .elastic = true,
     .steps = {{STARTED, 0, 0, NULL, NULL, "--", "rp"},
               {STARTED, 1, 0, NULL, NULL, "--", "rr"},
               {SCALE, 0, 1, "running", "", "-t", "rr"},
               {EXITED, 1, 0, "running", "", "--", "r."},
               {EXITED, 0, 3, "failed", "container_error", "--", "f."}}},
    {.name = "a worker that is wanted again begins when the old one has ended",
     .workers = 2,
     .restart = TY_OP_ON_FAILURE,
     .clean = TY_OP_CLEAN_RUNNING,
     .elastic = true,
     .steps = {{STARTED, 0, 0, NULL, NULL, "--", "rp"},
               {STARTED, 1, 0, NULL, NULL, "--", "rr"},
               {SCALE, 0, 1, "running", "", "-t", "rr"},
               {SCALE, 0, 2, "running", "", "--", "rr"},
               {KILLED, 1, 15, "running", "", "-s", "rp"},
               {STARTED, 1, 0, "running", "", "--", "rr"},
               {EXITED, 0, 0, "running", "", "-t", "sr"},
               {KILLED, 1, 15, "succeeded", "", "--", "sf"}},
     .conditions = "Created -Running Succeeded"},
    {.name = "a worker that has not begun leaves without a process, one that waits to restart too",
     .workers = 3,
     .restart = TY_OP_ON_FAILURE,
     .elastic = true,
     .steps = {{STARTED, 0, 0, NULL, NULL, "---", "rpp"},
               {STARTED, 1, 0, NULL, NULL, "---", "rrp"},
               {EXITED, 1, 1, "restarting", "replica_restarted", "---", "rrp"},
               {SCALE, 0, 1, "running", "", "--t", "r.p"},
               {STARTED, 2, 0, "running", "", "---", "r.r"},
               {KILLED, 2, 15, "running", "", "---", "r.."},
               {TICK, 0, 60000, "running", "", "---", "r.."}}},
    {.name = "the back-off limit does not count who has left",
     .workers = 2,
     .restart = TY_OP_ON_FAILURE,
     .backoff_limit = 2,
     .elastic = true,
     .steps = {{STARTED, 0, 0, NULL, NULL, "--", NULL},
               {STARTED, 1, 0, NULL, NULL, "--", NULL},
               {EXITED, 1, 1, "restarting", "replica_restarted", "--", NULL},
               {TICK, 0, 10000, NULL, NULL, "-s", NULL},
               {STARTED, 1, 0, "running", "", "--", NULL},
               {SCALE, 0, 1, "running", "", "-t", NULL},
               {KILLED, 1, 15, "running", "", "--", "r."},
               {EXITED, 0, 1, "restarting", "replica_restarted", "--", "r."}}},
    {.name = "a stop takes along what leaves, and no scale brings anything back",
     .workers = 2,
     .restart = TY_OP_ON_FAILURE,
     .elastic = true,
     .steps = {{STARTED, 0, 0, NULL, NULL, "--", NULL},
               {STARTED, 1, 0, NULL, NULL, "--", NULL},
               {SCALE, 0, 1, "running", "", "-t", NULL},
               {STOP, 0, 0, "running", "", "t-", NULL},
               {SCALE, 0, 2, "running", "", "--", NULL},
               {KILLED, 1, 15, "running", "", "--", "r."},
               {KILLED, 0, 15, "stopped", "", "--", "f."}}},
    {.name = "no size below one or above what there can be is taken",
     .workers = 2,
     .restart = TY_OP_ON_FAILURE,
     .elastic = true,
     .steps = {{STARTED, 0, 0, NULL, NULL, "--", "rp"},
               {SCALE, 0, 0, "running", "", "--", "rp"},
               {SCALE, 0, 3, "running", "", "--", "rp"}}},
};
/* clang-format on */

struct bench {
    struct ty_op op;
    struct ty_op_pod pods[PODS];
    size_t count;
    struct ty_op_now now;
};

static void begin(struct bench *bench, const struct scenario *scenario)
{
    const struct ty_op_rules rules = {
        .job = "j",
        .namespace = "n",
        .restart = {scenario->restart, scenario->restart},
        .grace_ms = {30000,             30000            },
        .clean_pods = scenario->clean,
        .elastic = scenario->elastic,
        .size = (size_t)scenario->size,
        .backoff_limit = scenario->backoff_limit == 0    ? -1
                         : scenario->backoff_limit == -1 ? 0
                                                         : scenario->backoff_limit,
        .deadline_ms = scenario->deadline_ms,
        .backoff_base_ms = 10000,
        .backoff_max_ms = 300000,
        .backoff_reset_ms = 600000,
        .init_wait_ms = 200000
    };
    *bench = (struct bench){
        .now = {1000000, 1}
    };
    if (scenario->master)
        bench->pods[bench->count++] = (struct ty_op_pod){.role = TY_OP_MASTER, .name = "master-0"};
    for (int i = 0; i < scenario->workers; i++) {
        struct ty_op_pod *pod = &bench->pods[bench->count++];
        *pod = (struct ty_op_pod){.role = TY_OP_WORKER, .index = i};
        snprintf(pod->name, sizeof pod->name, "worker-%d", i);
    }
    ty_op_begin(&bench->op, &rules, bench->pods, bench->count, bench->now);
}

/* The marks as letters; taken as the supervisor takes them. */
static void take_todo(struct bench *bench, char out[PODS + 1])
{
    memset(out, 0, PODS + 1);
    for (size_t i = 0; i < bench->count; i++) {
        out[i] = "-stk"[bench->pods[i].todo];
        bench->pods[i].todo = TY_OP_NOTHING;
    }
}

static void list_pods(const struct bench *bench, char out[PODS + 1])
{
    memset(out, 0, PODS + 1);
    for (size_t i = 0; i < bench->count; i++)
        out[i] = bench->pods[i].state == TY_OP_ABSENT ? '.' : ty_op_pod_phase(&bench->pods[i])[0];
}

static void act(struct bench *bench, const struct step *step)
{
    struct ty_op_pod *pod = &bench->pods[step->pod];
    struct ty_op_exit ended = {.code = step->value};
    bench->now.us++;
    switch (step->what) {
    case STARTED:
        ty_op_started(&bench->op, pod, bench->now);
        return;
    case KILLED:
    case OUT_OF_MEMORY:
        ended = (struct ty_op_exit){.code = 128 + step->value,
                                    .signal = step->value,
                                    .out_of_memory = step->what == OUT_OF_MEMORY};
        break;
    case NOT_STARTED:
        ended = (struct ty_op_exit){.not_started = true, .cause = "mount_failed", .text = "no"};
        break;
    case TICK:
        bench->now.ms += step->value;
        ty_op_tick(&bench->op, bench->now);
        return;
    case STOP:
    case FORCE:
        ty_op_stop(&bench->op, TY_OP_JOB_STOPPED, step->what == FORCE, bench->now);
        return;
    case SCALE:
        ty_op_scale(&bench->op, (size_t)step->value, bench->now);
        return;
    case SHUTDOWN:
        ty_op_stop(&bench->op, TY_OP_JOB_LOST, false, bench->now);
        return;
    default:
        break;
    }
    ty_op_exited(&bench->op, pod, &ended, bench->now);
}

static void compare(const char *scenario, int number, const char *what, const char *is,
                    const char *expected)
{
    if (expected && strcmp(is, expected) != 0)
        fail_msg("%s, step %d: %s is \"%s\", not \"%s\"", scenario, number, what, is, expected);
}

static void list_conditions(const struct ty_op *op, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < op->condition_count; i++) {
        size_t len = strlen(out);
        snprintf(out + len, size - len, "%s%s%s", i ? " " : "", op->conditions[i].status ? "" : "-",
                 ty_op_condition_name(op->conditions[i].type));
    }
}

static void play(const struct scenario *scenario)
{
    struct bench bench;
    char todo[PODS + 1];
    char pods[PODS + 1];
    char conditions[128];
    begin(&bench, scenario);
    take_todo(&bench, todo);
    for (int i = 0; scenario->steps[i].what != END; i++) {
        const struct step *step = &scenario->steps[i];
        struct ty_op_view view;
        act(&bench, step);
        take_todo(&bench, todo);
        compare(scenario->name, i, "the marks", todo, step->todo);
        list_pods(&bench, pods);
        compare(scenario->name, i, "the pods", pods, step->pods);
        ty_op_look(&bench.op, &view);
        compare(scenario->name, i, "the kind", view.kind, step->kind);
        compare(scenario->name, i, "the cause", view.cause, step->cause);
    }
    list_conditions(&bench.op, conditions, sizeof conditions);
    compare(scenario->name, -1, "the list of conditions", conditions, scenario->conditions);
    compare(scenario->name, -1, "the last message",
            bench.op.conditions[bench.op.condition_count - 1].message, scenario->last_message);
}

static void every_scenario_goes_as_in_a_cluster(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        play(&scenarios[i]);
}

static void a_failure_names_its_replica_and_exit(void **state)
{
    struct bench bench;
    struct ty_op_view view;
    (void)state;
    begin(&bench,
          &(struct scenario){
              .master = true, .workers = 1, .restart = TY_OP_NEVER, .clean = TY_OP_CLEAN_ALL});
    act(&bench, &(struct step){.what = STARTED, .pod = 0});
    act(&bench, &(struct step){.what = STARTED, .pod = 1});
    act(&bench, &(struct step){.what = EXITED, .pod = 1, .value = 3});
    act(&bench, &(struct step){.what = KILLED, .pod = 0, .value = 15});
    ty_op_look(&bench.op, &view);
    assert_string_equal(view.message, "worker-0 exited with code 3");
    assert_ptr_equal(view.culprit, &bench.pods[1]);
    assert_int_equal(view.culprit->exit.code, 3);
    assert_string_equal(ty_op_pod_phase(&bench.pods[1]), "failed");
    assert_string_equal(ty_op_pod_reason(&bench.pods[1]), "Error");
}

static void a_late_or_repeated_event_changes_nothing(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench, &(struct scenario){.master = true, .restart = TY_OP_NEVER});
    act(&bench, &(struct step){.what = STARTED, .pod = 0});
    act(&bench, &(struct step){.what = EXITED, .pod = 0, .value = 0});
    assert_true(ty_op_over(&bench.op));
    act(&bench, &(struct step){.what = EXITED, .pod = 0, .value = 1});
    act(&bench, &(struct step){.what = STARTED, .pod = 0});
    act(&bench, &(struct step){.what = STOP});
    act(&bench, &(struct step){.what = TICK, .value = 1000000});
    assert_int_equal(bench.op.result, TY_OP_JOB_SUCCEEDED);
    assert_int_equal(bench.op.restarts, 0);
}

static void nothing_changes_after_failed(void **state)
{
    struct bench bench;
    char conditions[128];
    (void)state;
    begin(&bench, &(struct scenario){.master = true, .restart = TY_OP_NEVER});
    ty_op_set_condition(&bench.op, TY_OP_COND_RUNNING, "r", 5);
    ty_op_set_condition(&bench.op, TY_OP_COND_RUNNING, "other words", 6);
    assert_string_equal(bench.op.conditions[1].message, "r");
    assert_int_equal(bench.op.conditions[1].changed_at, 5);
    ty_op_set_condition(&bench.op, TY_OP_COND_RESTARTING, "again", 7);
    list_conditions(&bench.op, conditions, sizeof conditions);
    assert_string_equal(conditions, "Created Restarting");
    ty_op_set_condition(&bench.op, TY_OP_COND_FAILED, "f", 8);
    ty_op_set_condition(&bench.op, TY_OP_COND_SUCCEEDED, "s", 9);
    list_conditions(&bench.op, conditions, sizeof conditions);
    assert_string_equal(conditions, "Created Restarting Failed");
}

/* Random events in any order: a process is never left, a result never changes, a pod never does two
 * things. */
static void no_order_of_events_breaks_the_rules(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        struct bench bench;
        const struct scenario rules = {.master = round % 2,
                                       .workers = 1 + round % 3,
                                       .restart = (ty_op_restart)(round / 6 % 4),
                                       .clean = (ty_op_clean)(round / 24 % 3),
                                       .backoff_limit = round / 72 % 4,
                                       .elastic = round % 2 == 0 && round / 288 % 2};
        begin(&bench, &rules);
        ty_op_result result = TY_OP_OPEN;
        size_t pod_count = (size_t)rules.workers + rules.master;
        for (int i = 0; i < 40; i++) {
            seed = seed * 1664525 + 1013904223;
            struct step step = {.what = (event)(STARTED + (seed >> 16) % 8),
                                .pod = (int)((seed >> 8) % pod_count)};
            step.value = step.what == EXITED ? (int)(seed >> 20) % 3 : 9;
            if (step.what == TICK)
                step.value = 10000;
            if (step.what == FORCE) {
                step.what = rules.elastic ? SCALE : TICK;
                step.value = (int)(seed >> 20) % ((int)pod_count + 1);
            }
            bool alive = bench.pods[step.pod].alive && bench.pods[step.pod].todo != TY_OP_DO_START;
            if (step.what >= TICK || alive)
                act(&bench, &step);
            for (size_t p = 0; p < bench.count; p++)
                bench.pods[p].todo = TY_OP_NOTHING;
            if (result != TY_OP_OPEN)
                assert_int_equal(bench.op.result, result);
            result = bench.op.result;
        }
        ty_op_stop(&bench.op, TY_OP_JOB_STOPPED, false, bench.now);
        for (size_t p = 0; p < bench.count; p++)
            act(&bench, &(struct step){.what = KILLED, .pod = (int)p, .value = 9});
        assert_true(ty_op_over(&bench.op));
        assert_int_equal(ty_op_wake(&bench.op), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scenario_goes_as_in_a_cluster),
        cmocka_unit_test(a_failure_names_its_replica_and_exit),
        cmocka_unit_test(a_late_or_repeated_event_changes_nothing),
        cmocka_unit_test(nothing_changes_after_failed),
        cmocka_unit_test(no_order_of_events_breaks_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
