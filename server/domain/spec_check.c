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
static size_t child_suffix(int32_t replicas)
{
    size_t master = strlen("-master-0");
    size_t worker = replicas > 1 ? strlen("-worker-") + digits_of(replicas - 2) : 0;

    return worker > master ? worker : master;
}

/* Pods and services of the job are DNS labels made of its name: too long a name would make a job
 * that half exists (contract 1.5). */
static void check_name(struct ty_spec_reader *reader, const struct ty_job_spec *spec)
{
    size_t most = LABEL_BYTES - SUFFIX_BYTES - child_suffix(spec->replicas);

    if (!spec->name)
        return;
    if (strlen(spec->name) > most)
        ty_spec_fault_in(reader, "name", "name_too_long",
                         "has %zu characters; with %d replicas at most %zu are allowed",
                         strlen(spec->name), spec->replicas, most);
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

/* More than one process of a replica needs a launcher that starts them; only torchrun does. */
static void check_launcher(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_job_spec *spec = &draft->spec;
    bool torchrun = draft->launcher == TY_LAUNCHER_TORCHRUN;

    if (draft->launcher != TY_NOT_GIVEN && draft->command)
        ty_spec_fault_in(reader, "launcher", "launcher_needs_script",
                         "goes with script only: a command is run as it is");
    if (draft->launcher == TY_LAUNCHER_PYTHON && spec->processes_per_replica > 1)
        ty_spec_fault_in(reader, "processes_per_replica", "processes_need_torchrun",
                         "the launcher python starts one process; use torchrun");
    if (spec->processes_per_replica == TY_NOT_GIVEN)
        spec->processes_per_replica = torchrun && draft->gpus > 0 ? draft->gpus : 1;
    spec->launcher = torchrun || (draft->launcher == TY_NOT_GIVEN && draft->script &&
                                  spec->processes_per_replica > 1)
                         ? TY_LAUNCHER_TORCHRUN
                         : TY_LAUNCHER_PYTHON;
}

void ty_spec_check(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_job_spec *spec = &draft->spec;

    check_name(reader, spec);
    check_image(reader, draft->image);
    check_launcher(reader, draft);
    spec->backend = draft->backend != TY_NOT_GIVEN ? (ty_backend)draft->backend
                    : draft->gpus > 0              ? TY_BACKEND_NCCL
                                                   : TY_BACKEND_GLOO;
    if (spec->max_retries == TY_NOT_GIVEN)
        spec->max_retries = spec->restart == TY_RESTART_NEVER ? 0 : 3;
    if (spec->working_dir) {
        const char *fault = ty_spec_absolute_path_fault(spec->working_dir);

        if (fault)
            ty_spec_fault_in(reader, "working_dir", "path_invalid", "%s", fault);
    }
}
