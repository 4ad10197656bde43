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

static bool shared_memory_large(const struct ty_job_spec *spec)
{
    struct roles roles = roles_of(spec);

    for (size_t i = 0; i < roles.count; i++) {
        const struct ty_resources *resources = &roles.items[i]->resources;

        if (resources->memory_bytes > 0 && resources->shared_memory_bytes > resources->memory_bytes)
            return true;
    }
    return false;
}

static bool claim_of_one_node(const struct ty_job_spec *spec)
{
    for (size_t i = 0; spec->replicas > 1 && i < spec->worker.volumes_count; i++) {
        const struct ty_spec_volume *volume = &spec->worker.volumes[i];

        if (volume->kind == TY_VOLUME_CLAIM && volume->create &&
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

struct rule {
    bool (*applies)(const struct ty_job_spec *spec);
    const char *code;
    const char *pointer;
    const char *message;
};

static const struct rule rules[] = {
    {backend_without_gpu,        "backend_needs_gpu",         "/backend",
     "The nccl backend needs GPUs and the job has none; gloo works on processors."             },
    {gpus_without_nccl,          "backend_slow_on_gpu",       "/backend",
     "The gloo backend moves gradients through the processors; nccl is the fast one on GPUs."  },
    {idle_gpus,                  "gpus_idle",                 "/processes_per_replica",
     "A replica has more GPUs than processes; a process commonly uses one. Use launcher "
     "torchrun with as many processes_per_replica."                                            },
    {processes_without_launcher, "processes_need_torchrun",   "/processes_per_replica",
     "The command names no launcher that starts several processes, but WORLD_SIZE counts them."},
    {script_not_python,          "script_not_python",         "/script/name",
     "The script is run by python3 whatever its name is; use command for another interpreter." },
    {image_not_pinned,           "image_not_pinned",          "/image",
     "The image has no fixed tag or digest: replicas and later runs may get different ones."   },
    {retries_never,              "max_retries_unused",        "/max_retries",
     "With restart never nothing is started again, so max_retries has no effect."              },
    {always_alone,               "restart_always_master",     "/restart",
     "A master that always restarts could never succeed: it restarts on failure only."         },
    {shared_memory_large,        "shared_memory_above_limit", "/shared_memory",
     "What lies in /dev/shm counts as memory: the replica is killed at its memory limit before "
     "this size is reached."                                                                   },
    {claim_of_one_node,          "claim_of_one_node",         "/volumes",
     "A read_write_once claim can be mounted on one node; replicas on others will wait for it."},
    {output_not_writable,        "output_read_only",          "/volumes",
     "The output is mounted read-only: the script cannot leave results there."                 },
    {checkpoints_not_writable,   "checkpoints_read_only",     "/checkpoints",
     "The checkpoints are mounted read-only: the script can load but not save them."           },
    {parameter_shadowed,         "parameter_shadowed",        "/env",
     "A variable of env has the name of a parameter's variable and wins over it."              },
};

size_t ty_job_spec_warnings(const struct ty_job_spec *spec, struct ty_warning *out, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && count < max; i++) {
        if (!rules[i].applies(spec))
            continue;
        ty_str_copy(out[count].code, sizeof(out[count].code), rules[i].code);
        ty_str_copy(out[count].pointer, sizeof(out[count].pointer), rules[i].pointer);
        ty_str_copy(out[count].message, sizeof(out[count].message), rules[i].message);
        count++;
    }
    return count;
}
