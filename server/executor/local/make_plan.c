#include "executor/local/make_plan.h"

#include "executor/local/pod_mounts.h"
#include "executor/supervisor/plan.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/domain/spec.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>

enum {
    BACKOFF_MAX_MS = 300 * 1000,
    BACKOFF_RESET_MS = 600 * 1000,
    INIT_WAIT_MS = 100 * 2000, /* init-pytorch: 100 tries, 2 s apart */
    GPUS_MAX = 64,
    STRING_MAX = 128 * 1024 - 1,
    STRINGS_MAX = 1536 * 1024
};

static const char *const role_names[TY_ROLES] = {"Master", "Worker"};

struct maker {
    const struct ty_run *run;
    const struct ty_plan_setting *setting;
    struct ty_job_object job;
    struct ty_made_plan made;
    json_t *replicas;
    json_t *claims;
    json_t *gpus;
    struct ty_secret_plan secrets;
    char run_folder[PATH_MAX];
    char volumes_folder[PATH_MAX];
    char secrets_folder[PATH_MAX];
};

static ty_status no_memory(struct ty_error *err)
{
    return ty_fail(err, TY_NO_MEMORY, "no memory for a plan");
}

/* --- limits --- */

static ty_status read_limit(const struct ty_pod *pod, const char *name, int64_t *millis_out,
                            struct ty_error *err)
{
    const json_t *resources = json_object_get(pod->job->roles[pod->role].container, "resources");
    const json_t *value = json_object_get(json_object_get(resources, "limits"), name);
    *millis_out = 0;
    if (json_is_integer(value))
        *millis_out = json_integer_value(value) * 1000;
    else if (json_is_string(value) &&
             ty_quantity_parse(json_string_value(value), millis_out) != TY_OK)
        return ty_fail(err, TY_REFUSED, "\"%s\" is not a quantity", json_string_value(value));
    return TY_OK;
}

/* --- plain processes: paths instead of mounts --- */

static bool beneath(const char *path, const char *target)
{
    size_t len = strlen(target);
    return strncmp(path, target, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* The path on this machine of a path inside, when a mount covers it. NULL = none. */
static json_t *real_path(const json_t *mounts, const char *path)
{
    for (size_t i = json_array_size(mounts); i > 0; i--) {
        const json_t *mount = json_array_get(mounts, i - 1);
        const char *target = ty_object_text(mount, "target", "");
        const char *sub_path = ty_object_text(mount, "sub_path", NULL);
        const char *source = ty_object_text(mount, "source", NULL);
        if (source && beneath(path, target))
            return json_sprintf("%s%s%s%s", source, sub_path ? "/" : "", sub_path ? sub_path : "",
                                path + strlen(target));
    }
    return NULL;
}

static void make_words_real(const json_t *mounts, json_t *words)
{
    for (size_t i = 0; i < json_array_size(words); i++) {
        json_t *real = real_path(mounts, json_string_value(json_array_get(words, i)));
        if (real)
            json_array_set_new(words, i, real);
    }
}

static void make_environment_real(const json_t *mounts, json_t *env)
{
    for (size_t i = 0; i < json_array_size(env); i++) {
        json_t *pair = json_array_get(env, i);
        json_t *real = real_path(mounts, json_string_value(json_array_get(pair, 1)));
        if (real)
            json_array_set_new(pair, 1, real);
    }
}

/* "/output" is told as TRAINYARD_OUTPUT. */
static ty_status tell_mounts(const json_t *mounts, struct ty_variables *variables,
                             struct ty_error *err)
{
    ty_status status = TY_OK;
    for (size_t i = 0; i < json_array_size(mounts) && status == TY_OK; i++) {
        const char *target = ty_object_text(json_array_get(mounts, i), "target", "");
        ty_auto_json real = real_path(mounts, target);
        char name[256];
        snprintf(name, sizeof name, "TRAINYARD%s", target);
        for (char *at = name; *at; at++)
            *at = isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at) : '_';
        if (real)
            status = ty_variables_add(variables, name, json_string_value(real), err);
    }
    return status;
}

/* --- one replica --- */

static json_t *pack_environment(const struct ty_variables *variables)
{
    json_t *env = json_array();
    for (size_t i = 0; env && i < variables->count; i++) {
        json_t *pair = json_pack("[s, s]", variables->items[i].name, variables->items[i].value);
        if (!pair || json_array_append_new(env, pair) != 0) {
            json_decref(env);
            return NULL;
        }
    }
    return env;
}

static ty_status note_gpus(struct maker *maker, const char *name, int64_t count,
                           struct ty_error *err)
{
    if (count > GPUS_MAX)
        return ty_fail(err, TY_REFUSED, "no machine has %lld GPUs", (long long)count);
    if (count > 0 && json_object_set_new(maker->gpus, name, json_integer(count)) != 0)
        return no_memory(err);
    return TY_OK;
}

static json_t *device_mount(const char *path)
{
    return json_pack("{s:s, s:s, s:s}", "kind", "device", "source", path, "target", path);
}

/* Every NVIDIA node is shown; CUDA_VISIBLE_DEVICES chooses, so that indices mean the same inside.
 */
static ty_status add_devices(json_t *mounts, struct ty_error *err)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                        "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset",
                                        "/dev/nvidia-caps"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        if (json_array_append_new(mounts, device_mount(nodes[i])) != 0)
            return no_memory(err);
    }
    for (int i = 0; i < GPUS_MAX / 4; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        if (json_array_append_new(mounts, device_mount(path)) != 0)
            return no_memory(err);
    }
    return TY_OK;
}

static bool tees(const struct maker *maker, const struct ty_pod *pod)
{
    const char *image = ty_object_text(pod->job->roles[pod->role].container, "image", "");
    const char *root = maker->setting->find_root(maker->setting->root_context, image);
    return maker->setting->torchrun_needs_tee && root && ty_str_equal(root, "/");
}

/* Before the user's own variables, so that those win. */
static ty_status add_tee(struct ty_variables *variables, struct ty_error *err)
{
    ty_status status = ty_variables_add(variables, "PET_REDIRECTS", "1", err);
    return status == TY_OK ? ty_variables_add(variables, "PET_TEE", "1", err) : status;
}

/* What the kernel takes: one string, and all together (a quarter of the usual stack). */
static ty_status check_sizes(const json_t *argv, const struct ty_variables *variables,
                             struct ty_error *err)
{
    size_t sum = 0;
    size_t longest = 0;
    for (size_t i = 0; i < json_array_size(argv); i++) {
        size_t len = json_string_length(json_array_get(argv, i)) + 1;
        longest = len > longest ? len : longest;
        sum += len;
    }
    for (size_t i = 0; i < variables->count; i++) {
        size_t len = strlen(variables->items[i].name) + strlen(variables->items[i].value) + 2;
        longest = len > longest ? len : longest;
        sum += len;
    }
    if (longest > STRING_MAX)
        return ty_fail(err, TY_REFUSED, "an argument or variable is longer than %d bytes",
                       (int)STRING_MAX);
    if (sum > STRINGS_MAX)
        return ty_fail(err, TY_REFUSED, "arguments and variables take more than %d bytes",
                       (int)STRINGS_MAX);
    return TY_OK;
}

struct replica_parts {
    json_t *argv;
    json_t *mounts;
    struct ty_variables variables;
    int64_t cpu_millis;
    int64_t memory_millis;
};

/* The folder that TensorBoard's writer is told of exists when the program begins. */
static ty_status make_tensorboard_folder(const struct ty_variables *variables, json_t *mounts,
                                         struct ty_error *err)
{
    const char *path = NULL;
    for (size_t i = 0; i < variables->count; i++)
        if (ty_str_equal(variables->items[i].name, "TRAINYARD_TENSORBOARD_DIR"))
            path = variables->items[i].value;
    for (size_t i = json_array_size(mounts); path && i > 0; i--) {
        json_t *mount = json_array_get(mounts, i - 1);
        const char *target = ty_object_text(mount, "target", "");
        if (!beneath(path, target) || !path[strlen(target)])
            continue;
        const char *below = path + strlen(target) + 1;
        return json_object_set_new(mount, "make", json_string(below)) == 0 ? TY_OK : no_memory(err);
    }
    return TY_OK;
}

static ty_status make_parts(struct maker *maker, struct ty_pod *pod, struct replica_parts *parts,
                            struct ty_error *err)
{
    char name[32];
    int64_t gpu_millis;
    ty_pod_name(pod, name, sizeof name);
    ty_status status = read_limit(pod, "nvidia.com/gpu", &gpu_millis, err);
    pod->gpus = (int32_t)(gpu_millis / 1000);
    if (status == TY_OK)
        status = read_limit(pod, "cpu", &parts->cpu_millis, err);
    if (status == TY_OK)
        status = read_limit(pod, "memory", &parts->memory_millis, err);
    if (status == TY_OK)
        status = note_gpus(maker, name, gpu_millis / 1000, err);
    parts->mounts = json_array();
    struct ty_mount_plan mounts = {.volumes_folder = maker->volumes_folder,
                                   .run_folder = maker->run_folder,
                                   .mounts = parts->mounts,
                                   .claims = maker->claims,
                                   .files = maker->made.files,
                                   .folders = maker->made.folders};
    if (status == TY_OK)
        status = ty_pod_mounts(pod, &mounts, err);
    if (status == TY_OK && pod->gpus > 0)
        status = add_devices(parts->mounts, err);
    if (status == TY_OK && pod->plain)
        status = tell_mounts(parts->mounts, &parts->variables, err);
    if (status == TY_OK && tees(maker, pod))
        status = add_tee(&parts->variables, err);
    if (status == TY_OK)
        status = ty_pod_environment(pod, &parts->variables, err);
    if (status == TY_OK)
        status = make_tensorboard_folder(&parts->variables, parts->mounts, err);
    if (status == TY_OK)
        status = ty_pod_command(pod, &parts->variables, &parts->argv, err);
    if (status == TY_OK)
        status = check_sizes(parts->argv, &parts->variables, err);
    if (status == TY_OK && pod->plain)
        make_words_real(parts->mounts, parts->argv);
    return status;
}

/* Takes the parts. */
static ty_status pack_replica(struct maker *maker, const struct ty_pod *pod,
                              struct replica_parts *parts, struct ty_error *err)
{
    const json_t *container = pod->job->roles[pod->role].container;
    const char *image = ty_object_text(container, "image", "");
    const char *folder = ty_object_text(container, "workingDir", "/");
    const char *root = maker->setting->find_root(maker->setting->root_context, image);
    json_t *env = pack_environment(&parts->variables);
    if (pod->plain)
        make_environment_real(parts->mounts, env);
    char name[32];
    ty_pod_name(pod, name, sizeof name);
    ty_auto_json real_folder = pod->plain ? real_path(parts->mounts, folder) : NULL;
    if (real_folder)
        folder = json_string_value(real_folder);
    else if (pod->plain)
        folder = "/";
    json_t *replica = json_pack(
        "{s:s, s:s, s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:I}", "name", name, "role",
        role_names[pod->role], "index", (int)pod->index, "image", image, "root", root ? root : "",
        "working_dir", folder[0] == '/' ? folder : "/", "argv", ty_steal(&parts->argv), "env", env,
        "mounts", ty_steal(&parts->mounts), "memory_bytes",
        (json_int_t)(parts->memory_millis / 1000), "cpu_millis", (json_int_t)parts->cpu_millis,
        "log_bytes", (json_int_t)maker->setting->log_bytes);
    if (!replica || json_array_append_new(maker->replicas, replica) != 0)
        return no_memory(err);
    return TY_OK;
}

static ty_status make_replica(struct maker *maker, int role, int32_t index, struct ty_error *err)
{
    struct ty_pod pod = {.job = &maker->job,
                         .role = role,
                         .index = index,
                         .plain = maker->setting->bwrap == NULL,
                         .secrets = &maker->secrets};
    struct replica_parts parts = {0};
    ty_status status = make_parts(maker, &pod, &parts, err);
    if (status == TY_OK)
        status = pack_replica(maker, &pod, &parts, err);
    json_decref(parts.argv);
    json_decref(parts.mounts);
    ty_variables_done(&parts.variables);
    return status;
}

/* --- the run --- */

static int64_t grace_ms(const struct maker *maker, int role)
{
    int64_t seconds = maker->job.roles[role].grace_seconds;
    if (seconds < 0)
        return maker->setting->grace_ms;
    return seconds > 24 * 3600 ? 24LL * 3600 * 1000 : seconds * 1000;
}

static json_t *pack_rules(const struct maker *maker)
{
    const json_t *policy = json_object_get(maker->job.spec, "runPolicy");
    const char *clean = ty_object_text(policy, "cleanPodPolicy", "None");
    int64_t limit = ty_object_int(policy, "backoffLimit", -1);
    int64_t deadline = ty_object_int(policy, "activeDeadlineSeconds", 0);
    return json_pack("{s:{s:s, s:s}, s:{s:I, s:I}, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I}",
                     "restart", "Master", maker->job.roles[TY_ROLE_MASTER].restart, "Worker",
                     maker->job.roles[TY_ROLE_WORKER].restart, "grace_ms", "Master",
                     (json_int_t)grace_ms(maker, TY_ROLE_MASTER), "Worker",
                     (json_int_t)grace_ms(maker, TY_ROLE_WORKER), "clean_pods", clean, "elastic",
                     maker->job.elastic != NULL, "backoff_limit", (json_int_t)limit, "deadline_ms",
                     (json_int_t)(deadline > 0 ? deadline * 1000 : 0), "backoff_base_ms",
                     (json_int_t)maker->setting->backoff_base_ms, "backoff_max_ms",
                     (json_int_t)BACKOFF_MAX_MS, "backoff_reset_ms", (json_int_t)BACKOFF_RESET_MS,
                     "init_wait_ms", (json_int_t)INIT_WAIT_MS);
}

/* An elastic run may grow: its plan has all the replicas that there can be, and `size` says how
 * many there are. */
static int32_t most_of(const struct ty_job_object *job, int role)
{
    int64_t most = ty_object_int(job->elastic, "maxReplicas", 0);
    int32_t replicas = job->roles[role].replicas;
    if (most > TY_PLAN_REPLICAS)
        most = TY_PLAN_REPLICAS;
    return ty_grows(job) && role == TY_ROLE_WORKER && most > replicas ? (int32_t)most : replicas;
}

static ty_status note_size(struct maker *maker, struct ty_error *err)
{
    json_t *size = ty_grows(&maker->job) ? json_integer(maker->job.total) : NULL;
    if (size && json_object_set_new(maker->made.plan, "size", size) != 0)
        return no_memory(err);
    return TY_OK;
}

/* Where the replicas meet, unless the machine has given that port away. */
static int wanted_port(const struct ty_job_object *job)
{
    int role = job->roles[TY_ROLE_MASTER].replicas > 0 ? TY_ROLE_MASTER : TY_ROLE_WORKER;
    int64_t port = job->roles[role].port;
    if (job->elastic && !json_object_get(job->elastic, "rdzvHost"))
        port = ty_object_int(job->elastic, "rdzvPort", port);
    return port > 0 && port <= UINT16_MAX ? (int)port : job->roles[role].port;
}

static json_t *pack_plan(struct maker *maker)
{
    char logs_folder[PATH_MAX];
    snprintf(logs_folder, sizeof logs_folder, "%s/logs/%s", maker->setting->data_folder,
             maker->run->job_id);
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s*, s:i, s:s, s:i, s:o, s:O, s:O, s:O, s:{s:s, "
                     "s:O, s:O}}",
                     "version", TY_PLAN_VERSION, "job_id", maker->run->job_id, "object",
                     maker->run->object_name, "namespace", maker->run->namespace, "logs_folder",
                     logs_folder, "bwrap", maker->setting->bwrap, "attempt",
                     (int)maker->run->attempt, "boot_id", maker->setting->boot_id, "port",
                     wanted_port(&maker->job), "rules", pack_rules(maker), "replicas",
                     maker->replicas, "claims", maker->claims, "gpus", maker->gpus, "secrets",
                     "folder", maker->secrets.folder, "variables", maker->secrets.variables,
                     "files", maker->secrets.files);
}

static ty_status fill(struct maker *maker, struct ty_error *err)
{
    ty_status status =
        ty_objects_read(maker->run->manifest->objects, maker->run->namespace, &maker->job, err);
    if (status == TY_OK && !ty_str_equal(maker->job.name, maker->run->object_name))
        return ty_fail(err, TY_REFUSED, "the PyTorchJob is not called %s", maker->run->object_name);
    for (int role = 0; role < TY_ROLES && status == TY_OK; role++) {
        for (int32_t i = 0; i < most_of(&maker->job, role) && status == TY_OK; i++)
            status = make_replica(maker, role, i, err);
    }
    if (status != TY_OK)
        return status;
    bool plain = maker->setting->bwrap == NULL; /* its programs begin there */
    if (plain && json_object_set_new(maker->made.folders, "scratch", json_true()) != 0)
        return no_memory(err);
    maker->made.plan = pack_plan(maker);
    if (!maker->made.plan || note_size(maker, err) != TY_OK)
        return no_memory(err);
    struct ty_plan *checked = NULL;
    status = ty_plan_parse(maker->made.plan, &checked, err);
    ty_plan_destroy(checked);
    return status == TY_CORRUPT
               ? ty_fail(err, TY_REFUSED, "%s", "the job has a value this machine cannot use")
               : status;
}

ty_status ty_plan_make(const struct ty_run *run, const struct ty_plan_setting *setting,
                       struct ty_made_plan *out, struct ty_error *err)
{
    struct maker maker = {
        .run = run, .setting = setting, .made = {NULL, json_object(), json_object()}
    };
    maker.replicas = json_array();
    maker.claims = json_object();
    maker.gpus = json_object();
    maker.secrets.variables = json_array();
    maker.secrets.files = json_array();
    maker.secrets.folder = maker.secrets_folder;
    snprintf(maker.run_folder, sizeof maker.run_folder, "%s/runs/%s", setting->data_folder,
             run->object_name);
    snprintf(maker.volumes_folder, sizeof maker.volumes_folder, "%s/volumes", setting->data_folder);
    snprintf(maker.secrets_folder, sizeof maker.secrets_folder, "%s/" TY_SECRETS_FOLDER "/%s",
             setting->data_folder, run->namespace);
    ty_status status = fill(&maker, err);
    json_decref(maker.replicas);
    json_decref(maker.claims);
    json_decref(maker.gpus);
    json_decref(maker.secrets.variables);
    json_decref(maker.secrets.files);
    if (status == TY_OK)
        *out = maker.made;
    else
        ty_made_plan_done(&maker.made);
    return status;
}

void ty_made_plan_done(struct ty_made_plan *made)
{
    json_decref(made->plan);
    json_decref(made->files);
    json_decref(made->folders);
    *made = (struct ty_made_plan){0};
}
