/* Two roles become one job: what they have in common is the job's, the rest is what `master` and
 * `worker` override. */
#include "import.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <stdio.h>

static json_t *role_value(const struct import_role *role, const char *member)
{
    return json_object_get(role->values, member);
}

static void put_in_role(struct import *im, const struct import_role *role, const char *member,
                        json_t *value)
{
    if (!json_object_get(im->spec, role->scope))
        import_set(im, im->spec, role->scope, json_object());
    import_set(im, json_object_get(im->spec, role->scope), member, json_incref(value));
}

/* --- members by their kinds --- */

/* A job has these in any case; a worker that differs says so, if need be by a value for nothing
 * (taken over; NULL: there is always a value). */
static void merge_base(struct import *im, const char *member, json_t *nothing)
{
    const struct import_role *worker = &im->roles[1];
    const struct import_role *lead = im->roles[0].given ? &im->roles[0] : worker;
    ty_auto_json none = nothing;
    json_t *job = role_value(lead, member);
    json_t *other = worker->given ? role_value(worker, member) : job;

    if (job)
        import_set(im, im->spec, member, json_incref(job));
    if (lead == worker || (job && other && json_equal(job, other)) || (!job && !other))
        return;
    if (other || none)
        put_in_role(im, worker, member, other ? other : none);
}

/* Beside a script a command is a role's own. */
static void merge_command(struct import *im)
{
    if (!json_object_get(im->spec, "script")) {
        merge_base(im, "command", import_made(im, json_array()));
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        json_t *command = im->roles[i].given ? role_value(&im->roles[i], "command") : NULL;

        if (command)
            put_in_role(im, &im->roles[i], "command", command);
    }
}

/* Equal ones are the job's, others each role's own. */
static void merge_override(struct import *im, const char *member)
{
    const struct import_role *master = &im->roles[0];
    const struct import_role *worker = &im->roles[1];
    json_t *first = master->given ? role_value(master, member) : NULL;
    json_t *second = worker->given ? role_value(worker, member) : NULL;
    bool alone = !master->given || !worker->given;

    if (alone && (first || second)) {
        import_set(im, im->spec, member, json_incref(first ? first : second));
        return;
    }
    if (first && second && json_equal(first, second)) {
        import_set(im, im->spec, member, json_incref(first));
        return;
    }
    if (first)
        put_in_role(im, master, member, first);
    if (second)
        put_in_role(im, worker, member, second);
}

static void put_pair(struct import *im, const struct import_role *role, const char *key,
                     json_t *value)
{
    json_t *object = role ? json_object_get(im->spec, role->scope) : im->spec;

    if (role && !object) {
        import_set(im, im->spec, role->scope, json_object());
        object = json_object_get(im->spec, role->scope);
    }
    if (object && !json_object_get(object, "env"))
        import_set(im, object, "env", json_object());
    import_set(im, json_object_get(object, "env"), key, json_incref(value));
}

/* env adds: what both have is the job's. */
static void merge_env(struct import *im)
{
    const struct import_role *master = &im->roles[0];
    const struct import_role *worker = &im->roles[1];
    json_t *first = role_value(master, "env");
    json_t *second = role_value(worker, "env");
    bool alone = !master->given || !worker->given;
    const char *key;
    json_t *value;

    json_object_foreach(first, key, value)
    {
        json_t *twin = json_object_get(second, key);
        bool both = alone || (twin && json_equal(value, twin));

        put_pair(im, both ? NULL : master, key, value);
    }
    json_object_foreach(second, key, value)
    {
        json_t *twin = json_object_get(first, key);

        if (alone || !twin || !json_equal(value, twin))
            put_pair(im, alone ? NULL : worker, key, value);
    }
}

/* The spec has one for the whole job. */
static void merge_equal(struct import *im, const char *member, const char *field)
{
    const struct import_role *master = &im->roles[0];
    const struct import_role *worker = &im->roles[1];
    json_t *first = master->given ? role_value(master, member) : NULL;
    json_t *second = worker->given ? role_value(worker, member) : NULL;
    json_t *value = first ? first : second;
    json_t *known = json_object_get(im->spec, member);
    bool differ = master->given && worker->given &&
                  (!first != !second || (first && !json_equal(first, second)));
    char place[128];

    if (differ || (value && known && !json_equal(value, known))) {
        import_go(im, &im->job);
        snprintf(place, sizeof(place), "/spec/pytorchReplicaSpecs/%s/template/spec",
                 worker->given ? worker->name : master->name);
        im->at_len +=
            (size_t)snprintf(im->at + im->at_len, sizeof(im->at) - im->at_len, "%s", place);
        import_fault_in(im, field, "roles_differ", "must be the same for the whole job");
        import_go(im, &im->job);
    }
    if (value)
        import_set(im, im->spec, member, json_incref(value));
}

/* --- restart --- */

static const struct {
    const char *master;
    const char *worker;
    const char *restart;
} restarts[] = {
    {"OnFailure", "OnFailure", "on_failure"},
    {"Never",     "Never",     "never"     },
    {"OnFailure", "Always",    "always"    },
    {"ExitCode",  "ExitCode",  "exit_code" },
};

static const char *policy_of(const struct import_role *role)
{
    return !role->given ? NULL : role->restart ? role->restart : "OnFailure";
}

static bool matches(const char *policy, const char *wanted)
{
    return !policy || ty_str_equal(policy, wanted);
}

static const char *find_restart(const char *master, const char *worker)
{
    for (size_t i = 0; i < sizeof(restarts) / sizeof(restarts[0]); i++)
        if (matches(master, restarts[i].master) && matches(worker, restarts[i].worker))
            return restarts[i].restart;
    return NULL;
}

static void go_to_role(struct import *im, const struct import_role *role, const char *field)
{
    import_go(im, &im->job);
    im->at_len += (size_t)snprintf(im->at + im->at_len, sizeof(im->at) - im->at_len,
                                   "/spec/pytorchReplicaSpecs/%s/%s", role->name, field);
}

static void merge_restart(struct import *im)
{
    const char *master = policy_of(&im->roles[0]);
    const char *worker = policy_of(&im->roles[1]);
    const char *restart = find_restart(master, worker);
    bool bad_master = master && ty_str_equal(master, "Always");

    go_to_role(im, bad_master || !worker ? &im->roles[0] : &im->roles[1], "restartPolicy");
    if (restart)
        import_put(im, "restart", json_string(restart));
    else if (bad_master)
        import_fault(im, "not_supported", "a Master that always restarts never succeeds");
    else
        import_fault(im, "roles_differ",
                     "must be the same for Master and Worker, or Always for workers alone");
    import_go(im, &im->job);
    if (restart && !ty_str_equal(restart, "never") && !im->backoff) {
        size_t mark = import_enter(im, "spec");

        import_warn(im, "retries_limited",
                    "without runPolicy.backoffLimit the gateway's own limit of 3 restarts holds");
        import_leave(im, mark);
    }
}

/* --- processes --- */

/* A number as it is; of the words only what is sure: the operator's `auto` counts processors of
 * the node where there is no GPU, and is 1 for its own WORLD_SIZE (contract 8). */
static void merge_processes(struct import *im)
{
    const struct import_role *lead = im->roles[0].given ? &im->roles[0] : &im->roles[1];
    int64_t gpus = json_integer_value(role_value(lead, "gpus"));
    const char *text = im->processes ? im->processes : "auto";
    int64_t number = 0;

    import_go(im, &im->job);
    im->at_len +=
        (size_t)snprintf(im->at + im->at_len, sizeof(im->at) - im->at_len, "/spec/nprocPerNode");
    if (ty_str_equal(text, "auto") && lead->torchrun && gpus > 1)
        number = gpus;
    else if (ty_str_equal(text, "gpu") && gpus > 0)
        number = gpus;
    else if (!ty_str_equal(text, "auto") && ty_str_to_int(text, 1, 1000, &number) != TY_OK)
        import_fault(im, "not_supported",
                     "must be a number of processes, or auto, or gpu with GPUs");
    if (number > 0)
        import_put(im, "processes_per_replica", json_integer(number));
    import_go(im, &im->job);
}

/* --- what our renderer says by variables --- */

static void put_tensorboard(struct import *im, const struct import_role *lead)
{
    const char *output = import_get_text(lead->own, "TRAINYARD_OUTPUT_DIR");
    const char *folder = import_get_text(lead->own, "TRAINYARD_TENSORBOARD_DIR");
    size_t len = output ? strlen(output) : 0;

    if (!folder || !output || !ty_str_starts(folder, output) || folder[len] != '/')
        return;
    struct import_target before = import_into(im, "tensorboard", false);

    import_put(im, "path", json_string(folder + len + 1));
    import_back(im, before);
}

static void put_mlflow(struct import *im, const struct import_role *lead)
{
    static const char *const members[][2] = {
        {"MLFLOW_TRACKING_URI",    "tracking_uri"},
        {"MLFLOW_EXPERIMENT_NAME", "experiment"  },
        {"MLFLOW_RUN_NAME",        "run_name"    }
    };

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        json_t *text = json_object_get(lead->own, members[i][0]);

        if (!text)
            continue;
        struct import_target before = import_into(im, "mlflow", false);

        import_put(im, members[i][1], json_incref(text));
        import_back(im, before);
    }
}

static void merge_own(struct import *im)
{
    const struct import_role *lead = im->roles[0].given ? &im->roles[0] : &im->roles[1];
    json_t *backend = json_object_get(lead->own, "TRAINYARD_BACKEND");

    if (backend)
        import_put(im, "backend", json_incref(backend));
    put_tensorboard(im, lead);
    put_mlflow(im, lead);
}

/* --- all --- */

static void merge_replicas(struct import *im)
{
    const struct import_role *worker = &im->roles[1];
    int64_t workers = worker->given ? worker->replicas : 0;

    go_to_role(im, worker->given ? worker : &im->roles[0], "replicas");
    import_put(im, "replicas", json_integer(im->roles[0].given ? 1 + workers : workers));
    import_go(im, &im->job);
}

void import_merge(struct import *im)
{
    static const char *const overrides[] = {"args",     "working_dir",   "resources",
                                            "secrets",  "shared_memory", "node_selector",
                                            "affinity", "tolerations"};

    import_aim(im, NULL);
    import_script(im);
    import_parameters(im);
    import_layout(im);
    import_aim(im, NULL);
    merge_base(im, "image", NULL);
    merge_command(im);
    merge_base(im, "gpus", import_made(im, json_integer(0)));
    for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++)
        merge_override(im, overrides[i]);
    merge_env(im);
    for (size_t i = 0; i < 2; i++)
        if (role_value(&im->roles[i], "volumes"))
            put_in_role(im, &im->roles[i], "volumes", role_value(&im->roles[i], "volumes"));
    merge_equal(im, "priority_class", "priorityClassName");
    merge_equal(im, "scheduler", "schedulerName");
    merge_own(im);
    merge_restart(im);
    merge_processes(im);
    merge_replicas(im);
}
