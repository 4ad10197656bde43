/* Rules between members, and the defaults that follow from several of them. */
#include "spec_parts.h"

#include "trainyard/base/str.h"
#include "trainyard/domain/job.h"

enum { LABEL_BYTES = 63, SUFFIX_BYTES = 9 /* "-" and 8 digits of the id */ };

static size_t digits_of(int32_t number)
{
    size_t digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

/* The longest name a child adds to the object's: "-master-0" or "-worker-<highest index>". */
static size_t child_suffix(const struct ty_job_spec *spec)
{
    size_t master = spec->elastic.on ? 0 : strlen("-master-0");
    int32_t workers = spec->elastic.on ? spec->elastic.max : spec->replicas - 1;
    size_t worker = workers > 0 ? strlen("-worker-") + digits_of(workers - 1) : 0;

    return worker > master ? worker : master;
}

/* Pods and services of the job are DNS labels made of its name: too long a name would make a job
 * that half exists (contract 1.5). */
static void check_name(struct ty_spec_reader *reader, const struct ty_job_spec *spec)
{
    size_t most = LABEL_BYTES - SUFFIX_BYTES - child_suffix(spec);

    if (!spec->name)
        return;
    if (strlen(spec->name) > most)
        ty_spec_fault_in(reader, "name", "name_too_long",
                         "has %zu characters; with %d replicas at most %zu are allowed",
                         strlen(spec->name), ty_spec_replicas_max(spec), most);
    else if (!ty_dns1035_label(spec->name))
        ty_spec_fault_in(reader, "name", "name_invalid",
                         "must begin with a lower-case letter, go on with lower-case letters, "
                         "digits and -, and not end in -");
}

static void check_image(struct ty_spec_reader *reader, const char *image)
{
    if (!image)
        ty_spec_fault_in(reader, "image", "required", "is missing");
    else if (!ty_image_reference_valid(image))
        ty_spec_fault_in(reader, "image", "image_invalid",
                         "is not an image reference: [registry/]repository[:tag][@digest], the "
                         "repository in lower case, without blanks");
}

/* GPUs of the role that has fewest: what every process can count on. */
static int32_t fewest_gpus(const struct ty_job_spec *spec)
{
    int32_t master = spec->master.resources.gpus;
    int32_t worker = spec->worker.resources.gpus;

    if (spec->master.replicas == 0 || spec->worker.replicas == 0)
        return spec->master.replicas == 0 ? worker : master;
    return master < worker ? master : worker;
}

/* More than one process of a replica needs a launcher that starts them; only torchrun does. */
static void check_launcher(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_job_spec *spec = &draft->spec;
    bool torchrun = draft->launcher == TY_LAUNCHER_TORCHRUN ||
                    (draft->launcher == TY_NOT_GIVEN && draft->script && spec->elastic.on);
    int32_t gpus = fewest_gpus(spec);

    if (draft->launcher != TY_NOT_GIVEN && draft->command)
        ty_spec_fault_in(reader, "launcher", "launcher_needs_script",
                         "goes with script only: a command is run as it is");
    if (draft->launcher == TY_LAUNCHER_PYTHON && spec->processes_per_replica > 1)
        ty_spec_fault_in(reader, "processes_per_replica", "processes_need_torchrun",
                         "the launcher python starts one process; use torchrun");
    if (spec->processes_per_replica == TY_NOT_GIVEN)
        spec->processes_per_replica = torchrun && gpus > 0 ? gpus : 1;
    spec->launcher = torchrun || (draft->launcher == TY_NOT_GIVEN && draft->script &&
                                  spec->processes_per_replica > 1)
                         ? TY_LAUNCHER_TORCHRUN
                         : TY_LAUNCHER_PYTHON;
}

/* Names of the cluster's own objects. */
static void check_cluster_name(struct ty_spec_reader *reader, const char *member, const char *name)
{
    if (name && !ty_dns1123_subdomain(name))
        ty_spec_fault_in(reader, member, "name_invalid",
                         "must be lower-case letters, digits, - and . as in a DNS name");
}

/* Its variables and files are given once each. The secrets are told of where they stand: with the
 * role or with the job. */
static void check_role(struct ty_spec_reader *reader, const struct ty_job_spec *spec,
                       const struct ty_spec_role *role, const char *name)
{
    bool own = spec->shared && role->secrets != &spec->shared[TY_SHARED_OF_JOB].secrets;
    size_t mark = reader->at_len;

    if (role->replicas == 0 || !role->secrets)
        return;
    if (own)
        ty_spec_enter(reader, name);
    ty_spec_check_secrets(reader, role);
    ty_spec_leave(reader, mark);
    ty_spec_check_tracking(reader, spec, role);
}

void ty_spec_check(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_job_spec *spec = &draft->spec;

    check_name(reader, spec);
    check_image(reader, draft->image);
    check_launcher(reader, draft);
    spec->backend = draft->backend != TY_NOT_GIVEN ? (ty_backend)draft->backend
                    : fewest_gpus(spec) > 0        ? TY_BACKEND_NCCL
                                                   : TY_BACKEND_GLOO;
    if (spec->max_retries == TY_NOT_GIVEN)
        spec->max_retries = spec->restart == TY_RESTART_NEVER ? 0 : 3;
    check_cluster_name(reader, "priority_class", spec->priority_class);
    check_cluster_name(reader, "queue", spec->queue);
    check_cluster_name(reader, "scheduler", spec->scheduler);
    ty_spec_check_elastic(reader, draft);
    if (reader->no_memory)
        return;
    check_role(reader, spec, &spec->master, "master");
    check_role(reader, spec, &spec->worker, "worker");
}
