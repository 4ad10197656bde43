/* A body becomes a spec: the table of its members, then the parts in an order in which each finds
 * what it needs. Faults do not stop the reading, so that a client learns of all at once. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

#include <stdlib.h>

static const char *const launchers[] = {
    [TY_LAUNCHER_PYTHON] = "python", [TY_LAUNCHER_TORCHRUN] = "torchrun", NULL};
static const char *const backends[] = {
    [TY_BACKEND_NCCL] = "nccl", [TY_BACKEND_GLOO] = "gloo", [TY_BACKEND_MPI] = "mpi", NULL};
static const char *const restarts[] = {[TY_RESTART_ON_FAILURE] = "on_failure",
                                       [TY_RESTART_NEVER] = "never",
                                       [TY_RESTART_ALWAYS] = "always",
                                       [TY_RESTART_EXIT_CODE] = "exit_code",
                                       NULL};
static const char *const clean_pods[] = {
    [TY_CLEAN_RUNNING] = "running", [TY_CLEAN_NONE] = "none", [TY_CLEAN_ALL] = "all", NULL};
static const char *const styles[] = {[TY_PARAMETERS_BOTH] = "both",
                                     [TY_PARAMETERS_FLAGS] = "flags",
                                     [TY_PARAMETERS_ENV] = "environment",
                                     NULL};

#define SPEC(member)  offsetof(struct ty_spec_draft, spec.member)
#define DRAFT(member) offsetof(struct ty_spec_draft, member)

enum { YEAR_SECONDS = 366 * 86400 };

/* clang-format off */
static const struct ty_field fields[] = {
    /* name                   kind               place                      range */
    {"name",                  TY_FIELD_TEXT,     SPEC(name),                1, 0, NULL},
    {"description",           TY_FIELD_TEXT,     SPEC(description),         0, 4000, NULL},
    {"labels",                TY_FIELD_JSON,     DRAFT(labels),             0, 0, NULL},
    {"image",                 TY_FIELD_BORROWED, DRAFT(image),              1, 1024, NULL},
    {"script",                TY_FIELD_JSON,     DRAFT(script),             0, 0, NULL},
    {"command",               TY_FIELD_JSON,     DRAFT(command),            0, 0, NULL},
    {"args",                  TY_FIELD_JSON,     DRAFT(args),               0, 0, NULL},
    {"files",                 TY_FIELD_JSON,     DRAFT(files),              0, 0, NULL},
    {"working_dir",           TY_FIELD_BORROWED, DRAFT(working_dir),        1, 0, NULL},
    {"launcher",              TY_FIELD_CHOICE,   DRAFT(launcher),           0, 0, launchers},
    {"epochs",                TY_FIELD_INT32,    SPEC(epochs),              1, 1000000000, NULL},
    {"parameters",            TY_FIELD_JSON,     DRAFT(parameters),         0, 0, NULL},
    {"parameter_style",       TY_FIELD_CHOICE,   SPEC(parameter_style),     0, 0, styles},
    {"backend",               TY_FIELD_CHOICE,   DRAFT(backend),            0, 0, backends},
    {"replicas",              TY_FIELD_INT32,    SPEC(replicas),            1, 1000, NULL},
    {"gpus",                  TY_FIELD_INT32,    DRAFT(gpus),               0, 64, NULL},
    {"processes_per_replica", TY_FIELD_INT32,    SPEC(processes_per_replica), 1, 256, NULL},
    {"resources",             TY_FIELD_JSON,     DRAFT(resources),          0, 0, NULL},
    {"shared_memory",         TY_FIELD_JSON,     DRAFT(shared_memory),      0, 0, NULL},
    {"master",                TY_FIELD_JSON,     DRAFT(master),             0, 0, NULL},
    {"worker",                TY_FIELD_JSON,     DRAFT(worker),             0, 0, NULL},
    {"env",                   TY_FIELD_JSON,     DRAFT(env),                0, 0, NULL},
    {"secrets",               TY_FIELD_JSON,     DRAFT(shared.secrets),     0, 0, NULL},
    {"dataset",               TY_FIELD_JSON,     DRAFT(dataset),            0, 0, NULL},
    {"volumes",               TY_FIELD_JSON,     DRAFT(volumes),            0, 0, NULL},
    {"output",                TY_FIELD_JSON,     DRAFT(output),             0, 0, NULL},
    {"checkpoints",           TY_FIELD_JSON,     DRAFT(checkpoints),        0, 0, NULL},
    {"tensorboard",           TY_FIELD_JSON,     DRAFT(tensorboard),        0, 0, NULL},
    {"mlflow",                TY_FIELD_JSON,     DRAFT(mlflow),             0, 0, NULL},
    {"elastic",               TY_FIELD_JSON,     DRAFT(elastic),            0, 0, NULL},
    {"node_selector",         TY_FIELD_JSON,     DRAFT(shared.node_selector), 0, 0, NULL},
    {"affinity",              TY_FIELD_JSON,     DRAFT(shared.affinity),    0, 0, NULL},
    {"tolerations",           TY_FIELD_JSON,     DRAFT(shared.tolerations), 0, 0, NULL},
    {"priority",              TY_FIELD_INT32,    SPEC(priority),            -1000, 1000, NULL},
    {"priority_class",        TY_FIELD_TEXT,     SPEC(priority_class),      1, 253, NULL},
    {"queue",                 TY_FIELD_TEXT,     SPEC(queue),               1, 63, NULL},
    {"scheduler",             TY_FIELD_TEXT,     SPEC(scheduler),           1, 253, NULL},
    {"gang",                  TY_FIELD_JSON,     DRAFT(gang),               0, 0, NULL},
    {"restart",               TY_FIELD_CHOICE,   SPEC(restart),             0, 0, restarts},
    {"max_retries",           TY_FIELD_INT32,    SPEC(max_retries),         0, 1000, NULL},
    {"timeout_seconds",       TY_FIELD_INT64,    SPEC(timeout_seconds),     1, YEAR_SECONDS, NULL},
    {"keep_seconds",          TY_FIELD_INT64,    SPEC(keep_seconds),        0, YEAR_SECONDS, NULL},
    {"clean_pods",            TY_FIELD_CHOICE,   SPEC(clean_pods),          0, 0, clean_pods},
    {"suspended",             TY_FIELD_BOOL,     SPEC(suspended),           0, 0, NULL},
};
/* clang-format on */

static void read_pairs(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    size_t mark;

    if (draft->labels) {
        mark = ty_spec_enter(reader, "labels");
        ty_spec_read_labels(reader, draft->labels, &draft->spec.labels);
        ty_spec_leave(reader, mark);
    }
    if (draft->parameters) {
        mark = ty_spec_enter(reader, "parameters");
        ty_spec_read_parameters(reader, draft->parameters, &draft->spec.parameters);
        ty_spec_leave(reader, mark);
    }
}

/* The resolved places of results as texts, for readers that ask for no more. */
static void note_places(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_job_spec *spec = &draft->spec;
    const struct ty_mounts *mounts = &draft->mounts;

    if (spec->output_volume >= mounts->count || spec->checkpoint_volume >= mounts->count)
        return; /* refused */
    const struct ty_spec_volume *output = &mounts->items[spec->output_volume];
    const struct ty_spec_volume *checkpoints = &mounts->items[spec->checkpoint_volume];

    spec->output_claim = ty_spec_dup(reader, output->claim);
    spec->output_path = ty_spec_dup(reader, output->mount_path);
    if (spec->checkpoint_volume != spec->output_volume)
        spec->checkpoint_claim = ty_spec_dup(reader, checkpoints->claim);
    spec->checkpoint_mount = ty_spec_dup(reader, checkpoints->mount_path);
}

static void read_body(struct ty_spec_reader *reader, const json_t *body,
                      struct ty_spec_draft *draft)
{
    ty_spec_read_fields(reader, body, fields, sizeof(fields) / sizeof(fields[0]), draft);
    if (!json_is_object(body))
        return;
    if (!draft->spec.name && !json_object_get(body, "name"))
        draft->spec.name = ty_spec_dup(reader, "job");
    ty_spec_read_elastic(reader, draft);
    if (draft->spec.replicas == TY_NOT_GIVEN)
        draft->spec.replicas = 1;
    ty_spec_read_gang(reader, draft);
    ty_spec_read_program(reader, draft);
    read_pairs(reader, draft);
    ty_spec_read_tracking(reader, draft);
    ty_spec_read_mounts(reader, draft);
    ty_spec_read_checkpoints(reader, draft->checkpoints, draft);
    ty_spec_read_roles(reader, draft);
    ty_spec_check(reader, draft);
    if (reader->no_memory)
        return;
    ty_spec_check_sizes(reader, draft);
    note_places(reader, draft);
}

static ty_status refuse(const struct ty_faults *faults, size_t before, struct ty_error *err)
{
    size_t found = faults->count + faults->dropped - before;
    const struct ty_fault *last = &faults->items[faults->count - 1];
    bool size_alone = found == 1 && ty_str_equal(last->code, "configmap_too_large");

    return ty_fail_code(err, TY_REFUSED, size_alone ? "configmap_too_large" : "validation_failed",
                        "%s", size_alone ? last->detail : "the job spec is not allowed");
}

static void free_mounts(struct ty_mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++)
        ty_spec_volume_done(&mounts->items[i]);
}

static ty_status finish(const struct ty_spec_reader *reader, struct ty_spec_draft *draft,
                        size_t before, struct ty_job_spec **spec_out, struct ty_error *err)
{
    if (reader->no_memory)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a job spec");
    if (reader->faults->count + reader->faults->dropped > before)
        return refuse(reader->faults, before, err);
    struct ty_job_spec *spec = malloc(sizeof(*spec));

    if (!spec)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a job spec");
    *spec = draft->spec;
    draft->spec = (struct ty_job_spec){0};
    *spec_out = spec;
    return TY_OK;
}

ty_status ty_job_spec_parse(const json_t *body, struct ty_job_spec **spec_out,
                            struct ty_faults *faults, struct ty_error *err)
{
    size_t before = faults->count + faults->dropped;
    struct ty_spec_reader reader;
    struct ty_spec_draft draft = {
        .launcher = TY_NOT_GIVEN,
        .backend = TY_NOT_GIVEN,
        .spec = {.replicas = TY_NOT_GIVEN,
                 .processes_per_replica = TY_NOT_GIVEN,
                 .max_retries = TY_NOT_GIVEN,
                 .keep_seconds = -1},
    };

    ty_spec_reader_init(&reader, faults);
    read_body(&reader, body, &draft);
    ty_status status = finish(&reader, &draft, before, spec_out, err);

    free_mounts(&draft.mounts);
    ty_job_spec_done(&draft.spec);
    return status;
}
