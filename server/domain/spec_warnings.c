/* What is allowed but usually goes wrong: one row each, judged alone. */
#include "trainyard/base/str.h"
#include "trainyard/domain/spec.h"

#include <stdio.h>

/* The roles that the job has: one or two. */
struct roles {
    const struct ty_spec_role *items[2];
    size_t count;
};

static struct roles roles_of(const struct ty_job_spec *spec)
{
    struct roles roles = {0};

    if (spec->master.replicas > 0)
        roles.items[roles.count++] = &spec->master;
    if (spec->worker.replicas > 0)
        roles.items[roles.count++] = &spec->worker;
    return roles;
}

static bool backend_without_gpu(const struct ty_job_spec *spec)
{
    struct roles roles = roles_of(spec);

    for (size_t i = 0; spec->backend == TY_BACKEND_NCCL && i < roles.count; i++)
        if (roles.items[i]->resources.gpus == 0)
            return true;
    return false;
}

static bool gpus_without_nccl(const struct ty_job_spec *spec)
{
    return spec->backend == TY_BACKEND_GLOO && ty_job_spec_gpus(spec) > 0 &&
           spec->replicas * spec->processes_per_replica > 1;
}

static bool idle_gpus(const struct ty_job_spec *spec)
{
    struct roles roles = roles_of(spec);

    for (size_t i = 0; i < roles.count; i++)
        if (roles.items[i]->program == TY_PROGRAM_SCRIPT &&
            roles.items[i]->resources.gpus > spec->processes_per_replica)
            return true;
    return false;
}

/* A command that starts several processes by itself names one of the usual launchers. */
static bool names_launcher(const struct ty_spec_role *role)
{
    static const char *const launchers[] = {"torchrun", "torch.distributed", "accelerate",
                                            "deepspeed", "lightning"};

    for (size_t i = 0; i < role->command_count; i++)
        for (size_t k = 0; k < sizeof(launchers) / sizeof(launchers[0]); k++)
            if (strstr(role->command[i], launchers[k]))
                return true;
    return false;
}

static bool processes_without_launcher(const struct ty_job_spec *spec)
{
    struct roles roles = roles_of(spec);

    for (size_t i = 0; spec->processes_per_replica > 1 && i < roles.count; i++)
        if (roles.items[i]->program == TY_PROGRAM_COMMAND && !names_launcher(roles.items[i]))
            return true;
    return false;
}

static bool script_not_python(const struct ty_job_spec *spec)
{
    return spec->script && !ty_str_ends(spec->script_name, ".py");
}

/* The same tag may be another image tomorrow, or on another node. */
static bool image_not_pinned(const struct ty_job_spec *spec)
{
    const char *image = ty_job_spec_lead(spec)->image;
    const char *name = strrchr(image, '/') ? strrchr(image, '/') : image;
    const char *tag = strrchr(name, ':');

    return !strchr(image, '@') && (!tag || ty_str_equal(tag, ":latest"));
}

static bool retries_never(const struct ty_job_spec *spec)
{
    return spec->restart == TY_RESTART_NEVER && spec->max_retries > 0;
}

static bool always_alone(const struct ty_job_spec *spec)
{
    return spec->restart == TY_RESTART_ALWAYS && spec->replicas == 1;
}

/* The most replicas that mount a volume of the workers. */
static int32_t mounted_by(const struct ty_job_spec *spec, const struct ty_spec_volume *volume)
{
    if (spec->elastic.on)
        return spec->elastic.max;
    return volume->of_role ? spec->worker.replicas : spec->replicas;
}

static bool claim_of_one_node(const struct ty_job_spec *spec)
{
    for (size_t i = 0; spec->worker.replicas > 0 && i < spec->worker.volumes_count; i++) {
        const struct ty_spec_volume *volume = &spec->worker.volumes[i];

        if (volume->kind == TY_VOLUME_CLAIM && volume->create && mounted_by(spec, volume) > 1 &&
            (volume->access_mode == TY_READ_WRITE_ONCE ||
             volume->access_mode == TY_READ_WRITE_ONCE_POD))
            return true;
    }
    return false;
}

static bool output_not_writable(const struct ty_job_spec *spec)
{
    return ty_job_spec_lead(spec)->volumes[spec->output_volume].read_only;
}

static bool checkpoints_not_writable(const struct ty_job_spec *spec)
{
    return spec->checkpoint_volume != spec->output_volume &&
           ty_job_spec_lead(spec)->volumes[spec->checkpoint_volume].read_only;
}

static bool parameter_shadowed(const struct ty_job_spec *spec)
{
    char variable[TY_PARAMETER_VARIABLE];

    if (spec->parameter_style == TY_PARAMETERS_FLAGS)
        return false;
    for (size_t i = 0; i < spec->parameters.count; i++) {
        ty_parameter_variable(spec->parameters.items[i].name, variable);
        const struct ty_pairs *env = &ty_job_spec_lead(spec)->env;

        for (size_t k = 0; k < env->count; k++)
            if (ty_str_equal(variable, env->items[k].name))
                return true;
    }
    return false;
}

/* Whether a failed replica is started again. */
static bool starts_again(const struct ty_job_spec *spec)
{
    return spec->restart != TY_RESTART_NEVER && spec->max_retries > 0;
}

/* Scratch space where scripts commonly leave what they want to find again. */
static bool results_in_scratch(const struct ty_job_spec *spec)
{
    const struct ty_spec_role *lead = ty_job_spec_lead(spec);
    const char *output = lead->volumes[spec->output_volume].mount_path;

    for (size_t i = 0; starts_again(spec) && i < lead->volumes_count; i++) {
        const char *path = lead->volumes[i].mount_path;

        if (lead->volumes[i].kind == TY_VOLUME_SCRATCH &&
            (ty_str_equal(path, "/checkpoints") ||
             (ty_str_starts(path, output) && path[strlen(output)] == '/')))
            return true;
    }
    return false;
}

/* Checkpoints that were asked for, in a claim that is the job's own. */
static bool checkpoints_of_job(const struct ty_job_spec *spec)
{
    const struct ty_spec_volume *volume = &ty_job_spec_lead(spec)->volumes[spec->checkpoint_volume];

    return (spec->checkpoint_resume || spec->checkpoint_keep_last > 0) && !volume->claim;
}

static bool checkpoints_go_with_job(const struct ty_job_spec *spec)
{
    return checkpoints_of_job(spec) && starts_again(spec);
}

static bool resume_finds_nothing(const struct ty_job_spec *spec)
{
    return checkpoints_of_job(spec) && spec->checkpoint_resume && !starts_again(spec);
}

/* Bytes that scratch volumes in memory may take beside /dev/shm; 0 when there are none. */
static int64_t scratch_in_memory(const struct ty_spec_role *role)
{
    int64_t sum = 0;

    for (size_t i = 0; i < role->volumes_count; i++) {
        const struct ty_spec_volume *volume = &role->volumes[i];
        int64_t bytes = 0;

        if (volume->kind == TY_VOLUME_SCRATCH && volume->memory && volume->size &&
            ty_quantity_parse_whole(volume->size, &bytes) == TY_OK && bytes < INT64_MAX / 128)
            sum += bytes;
    }
    return sum;
}

static bool scratch_above_memory(const struct ty_job_spec *spec)
{
    struct roles roles = roles_of(spec);

    for (size_t i = 0; i < roles.count; i++) {
        int64_t scratch = scratch_in_memory(roles.items[i]);

        if (scratch > 0 && roles.items[i]->resources.memory_bytes > 0 &&
            scratch > roles.items[i]->resources.memory_bytes)
            return true;
    }
    return false;
}

/* Whether `text` has `name` outside of a comment: a '#' earlier on the line counts as the start of
 * one. Texts in quotes are not told apart. */
static bool says(const char *text, size_t len, const char *name)
{
    const char *end = text + len;
    const char *at = text;

    while ((at = memmem(at, (size_t)(end - at), name, strlen(name))) != NULL) {
        const char *line = at;

        while (line > text && line[-1] != '\n')
            line--;
        if (!memchr(line, '#', (size_t)(at - line)))
            return true;
        at += strlen(name);
    }
    return false;
}

/* The call itself, or a library that makes it. */
static bool joins_group(const char *text, size_t len)
{
    static const char *const names[] = {
        "init_process_group", "init_device_mesh", "init_distributed", "accelerate", "lightning",
        "deepspeed",          "transformers",     "horovod",          "composer",   "torchtnt"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (says(text, len, names[i]))
            return true;
    return false;
}

static bool script_alone(const struct ty_job_spec *spec)
{
    int32_t replicas = spec->elastic.on ? spec->elastic.max : spec->replicas;

    if (!spec->script || replicas * spec->processes_per_replica < 2 ||
        joins_group(spec->script, spec->script_len))
        return false;
    for (size_t i = 0; i < spec->files.count; i++)
        if (joins_group(spec->files.items[i].bytes, spec->files.items[i].len))
            return false;
    return true;
}

/* The kubelet's pauses between starts of a container: 10 s, doubled up to 5 minutes. */
enum { FIRST_PAUSE = 10, LONGEST_PAUSE = 300 };

static bool timeout_below_retries(const struct ty_job_spec *spec)
{
    int64_t pause = FIRST_PAUSE;
    int64_t sum = 0;

    if (spec->timeout_seconds == 0 || spec->restart == TY_RESTART_EXIT_CODE || !starts_again(spec))
        return false;
    for (int32_t i = 0; i < spec->max_retries; i++) {
        sum += pause;
        pause = pause * 2 < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
    }
    return spec->timeout_seconds < sum;
}

struct rule {
    bool (*applies)(const struct ty_job_spec *spec);
    const char *code;
    const char *pointer;
    const char *message;
};

static const struct rule rules[] = {
    {backend_without_gpu,        "backend_needs_gpu",            "/backend",
     "The nccl backend needs GPUs and the job has none; gloo works on processors."             },
    {gpus_without_nccl,          "backend_slow_on_gpu",          "/backend",
     "The gloo backend moves gradients through the processors; nccl is the fast one on GPUs."  },
    {idle_gpus,                  "gpus_idle",                    "/processes_per_replica",
     "A replica has more GPUs than processes; a process commonly uses one. Use launcher "
     "torchrun with as many processes_per_replica."                                            },
    {processes_without_launcher, "processes_need_torchrun",      "/processes_per_replica",
     "The command names no launcher that starts several processes, but WORLD_SIZE counts them."},
    {script_not_python,          "script_not_python",            "/script/name",
     "The script is run by python3 whatever its name is; use command for another interpreter." },
    {image_not_pinned,           "image_not_pinned",             "/image",
     "The image has no fixed tag or digest: replicas and later runs may get different ones."   },
    {retries_never,              "max_retries_unused",           "/max_retries",
     "With restart never nothing is started again, so max_retries has no effect."              },
    {always_alone,               "restart_always_master",        "/restart",
     "A master that always restarts could never succeed: it restarts on failure only."         },
    {claim_of_one_node,          "claim_of_one_node",            "/volumes",
     "A read_write_once claim can be mounted on one node; replicas on others will wait for it."},
    {output_not_writable,        "output_read_only",             "/volumes",
     "The output is mounted read-only: the script cannot leave results there."                 },
    {checkpoints_not_writable,   "checkpoints_read_only",        "/checkpoints",
     "The checkpoints are mounted read-only: the script can load but not save them."           },
    {parameter_shadowed,         "parameter_shadowed",           "/env",
     "A variable of env has the name of a parameter's variable and wins over it."              },
    {results_in_scratch,         "results_in_scratch",           "/volumes",
     "Scratch space is empty again whenever a replica is started again: what the script keeps "
     "there "
     "is lost with each retry. Mount a claim instead."                                         },
    {checkpoints_go_with_job,    "checkpoints_go_with_job",      "/checkpoints",
     "The checkpoints lie in a claim of this job alone: retries find them, but they are removed "
     "with "
     "the job, and no other job can go on from them. Name a claim in volume or output to keep "
     "them."                                                                                   },
    {resume_finds_nothing,       "resume_finds_nothing",         "/checkpoints/resume",
     "The checkpoints lie in a claim of this job alone and nothing is started again, so there is "
     "never one to go on from. Name a claim in volume or output."                              },
    {scratch_above_memory,       "scratch_above_limit",          "/volumes",
     "Scratch space in memory counts as memory: the replica is killed at its memory limit before "
     "this size is reached."                                                                   },
    {script_alone,               "script_without_process_group", "/script",
     "There are several processes, but nothing in script and files calls init_process_group or a "
     "library that does: each would train alone."                                              },
    {timeout_below_retries,      "timeout_below_retries",        "/timeout_seconds",
     "The pauses before so many retries (10 s, doubled up to 5 min) take longer than the timeout: "
     "the "
     "last retries never happen."                                                              },
};

/* --- of a role --- */

static bool shared_memory_large(const struct ty_spec_role *role)
{
    return role->resources.memory_bytes > 0 &&
           role->resources.shared_memory_bytes > role->resources.memory_bytes;
}

static bool resources_unset(const struct ty_spec_role *role)
{
    return role->resources.cpu_millis == 0 && role->resources.memory_bytes == 0;
}

static bool cpu_unset(const struct ty_spec_role *role)
{
    return role->resources.cpu_millis == 0 && role->resources.memory_bytes > 0;
}

static bool memory_unset(const struct ty_spec_role *role)
{
    return role->resources.memory_bytes == 0 && role->resources.cpu_millis > 0;
}

static bool says_shared_memory(const struct ty_spec_role *role)
{
    return role->shared_memory_own;
}

static bool says_resources(const struct ty_spec_role *role)
{
    return role->resources_own;
}

struct role_rule {
    bool (*applies)(const struct ty_spec_role *role);
    bool (*own)(const struct ty_spec_role *role); /* the role says it, not the job */
    const char *code;
    const char *pointer;
    const char *message;
};

static const struct role_rule role_rules[] = {
    {shared_memory_large, says_shared_memory, "shared_memory_above_limit", "/shared_memory",
     "What lies in /dev/shm counts as memory: the replica is killed at its memory limit before "
     "this size is reached."                                                  },
    {resources_unset,     says_resources,     "resources_unset",           "/resources",
     "Neither cpu nor memory is asked for: where others run too, the replicas are the first to be "
     "slowed down or stopped."                                                },
    {cpu_unset,           says_resources,     "cpu_unset",                 "/resources/cpu",
     "No cpu is asked for: on a busy node the replicas get what others leave."},
    {memory_unset,        says_resources,     "memory_unset",              "/resources/memory",
     "No memory is asked for: when a node runs short of it the replicas are the first to be "
     "evicted."                                                               },
};

/* --- all --- */

struct warnings {
    struct ty_warning *items;
    size_t max;
    size_t count;
};

static void warn(struct warnings *warnings, const char *code, const char *scope,
                 const char *pointer, const char *message)
{
    if (warnings->count == warnings->max)
        return;
    struct ty_warning *warning = &warnings->items[warnings->count++];

    ty_str_copy(warning->code, sizeof(warning->code), code);
    snprintf(warning->pointer, sizeof(warning->pointer), "%s%s", scope, pointer);
    ty_str_copy(warning->message, sizeof(warning->message), message);
}

/* Where the role says it itself, else once where the job does. */
static void judge_roles(const struct ty_job_spec *spec, const struct role_rule *rule,
                        struct warnings *warnings)
{
    struct roles roles = roles_of(spec);
    bool told = false;

    for (size_t i = 0; i < roles.count; i++) {
        bool own = rule->own(roles.items[i]);
        const char *scope = roles.items[i] == &spec->master ? "/master" : "/worker";

        if (!rule->applies(roles.items[i]) || (!own && told))
            continue;
        told = told || !own;
        warn(warnings, rule->code, own ? scope : "", rule->pointer, rule->message);
    }
}

size_t ty_job_spec_warnings(const struct ty_job_spec *spec, struct ty_warning *out, size_t max)
{
    struct warnings warnings = {out, max, 0};

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].applies(spec))
            warn(&warnings, rules[i].code, "", rules[i].pointer, rules[i].message);
    for (size_t i = 0; i < sizeof(role_rules) / sizeof(role_rules[0]); i++)
        judge_roles(spec, &role_rules[i], &warnings);
    return warnings.count;
}
