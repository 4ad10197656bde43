/* What Master and Worker are: the job's members, then what their overrides replace or add. */
#include "spec_parts.h"

#include <stdlib.h>
#include <string.h>

struct raw_role {
    const char *image;
    const char *working_dir;
    int32_t gpus;
    const json_t *command;
    const json_t *args;
    const json_t *env;
    const json_t *resources;
    const json_t *shared_memory;
    const json_t *volumes;
    struct ty_raw_shared shared;
};

#define ROLE(member) offsetof(struct raw_role, member)

/* clang-format off */
static const struct ty_field role_fields[] = {
    {"image",         TY_FIELD_BORROWED, ROLE(image),                1, 0,  NULL},
    {"working_dir",   TY_FIELD_BORROWED, ROLE(working_dir),          1, 0,  NULL},
    {"gpus",          TY_FIELD_INT32,    ROLE(gpus),                 0, 64, NULL},
    {"command",       TY_FIELD_JSON,     ROLE(command),              0, 0,  NULL},
    {"args",          TY_FIELD_JSON,     ROLE(args),                 0, 0,  NULL},
    {"env",           TY_FIELD_JSON,     ROLE(env),                  0, 0,  NULL},
    {"resources",     TY_FIELD_JSON,     ROLE(resources),            0, 0,  NULL},
    {"shared_memory", TY_FIELD_JSON,     ROLE(shared_memory),        0, 0,  NULL},
    {"volumes",       TY_FIELD_JSON,     ROLE(volumes),              0, 0,  NULL},
    {"secrets",       TY_FIELD_JSON,     ROLE(shared.secrets),       0, 0,  NULL},
    {"node_selector", TY_FIELD_JSON,     ROLE(shared.node_selector), 0, 0,  NULL},
    {"affinity",      TY_FIELD_JSON,     ROLE(shared.affinity),      0, 0,  NULL},
    {"tolerations",   TY_FIELD_JSON,     ROLE(shared.tolerations),   0, 0,  NULL},
};
/* clang-format on */

/* The members of the job that roles copy, read once so that a fault is told once. */
struct common {
    struct ty_pairs env;
    struct ty_raw_command command;
    char **args;
    size_t args_count;
    struct ty_resources resources;
};

static void copy_texts(struct ty_spec_reader *reader, char **texts, size_t count, char ***copy_out,
                       size_t *count_out)
{
    char **copy = ty_spec_alloc(reader, count, sizeof(*copy));

    *copy_out = copy;
    for (size_t i = 0; copy && i < count; i++) {
        copy[*count_out] = ty_spec_dup(reader, texts[i]);
        *count_out += copy[*count_out] ? 1 : 0;
    }
}

static void copy_resources(struct ty_spec_reader *reader, const struct ty_resources *from,
                           struct ty_resources *to)
{
    *to = *from;
    to->cpu = ty_spec_dup(reader, from->cpu);
    to->memory = ty_spec_dup(reader, from->memory);
    to->cpu_limit = ty_spec_dup(reader, from->cpu_limit);
    to->memory_limit = ty_spec_dup(reader, from->memory_limit);
    to->shared_memory = ty_spec_dup(reader, from->shared_memory);
    to->storage = ty_spec_dup(reader, from->storage);
    to->storage_limit = ty_spec_dup(reader, from->storage_limit);
}

static void copy_files(struct ty_spec_reader *reader, const struct ty_spec_files *from,
                       struct ty_spec_files *to)
{
    *to = (struct ty_spec_files){0};
    to->items = ty_spec_alloc(reader, from->count, sizeof(*to->items));
    for (size_t i = 0; to->items && i < from->count; i++) {
        struct ty_spec_file *copy = &to->items[to->count++];

        copy->name = ty_spec_dup(reader, from->items[i].name);
        copy->key = ty_spec_dup(reader, from->items[i].key);
        copy->bytes = ty_spec_alloc(reader, from->items[i].len + 1, 1);
        copy->len = from->items[i].len;
        if (copy->bytes)
            memcpy(copy->bytes, from->items[i].bytes, copy->len);
    }
}

static void copy_volume(struct ty_spec_reader *reader, const struct ty_spec_volume *from,
                        struct ty_spec_volume *to)
{
    *to = *from;
    to->claim = ty_spec_dup(reader, from->claim);
    to->suffix = ty_spec_dup(reader, from->suffix);
    to->mount_path = ty_spec_dup(reader, from->mount_path);
    to->sub_path = ty_spec_dup(reader, from->sub_path);
    to->size = ty_spec_dup(reader, from->size);
    to->storage_class = ty_spec_dup(reader, from->storage_class);
    copy_files(reader, &from->files, &to->files);
}

/* The job's mounts and the role's own, which must not lie on the same paths. */
static void read_volumes(struct ty_spec_reader *reader, const struct ty_spec_draft *draft,
                         const json_t *array, const char *suffix, struct ty_spec_role *role)
{
    struct ty_mounts mounts = {.count = draft->mounts.count};

    for (size_t i = 0; i < mounts.count; i++)
        copy_volume(reader, &draft->mounts.items[i], &mounts.items[i]);
    /* A copy without its path (no memory) cannot be compared with. */
    if (array && !reader->no_memory) {
        size_t mark = ty_spec_enter(reader, "volumes");

        ty_spec_read_volumes(reader, array, suffix, &mounts);
        ty_spec_leave(reader, mark);
    }
    for (size_t i = draft->mounts.count; i < mounts.count; i++)
        mounts.items[i].of_role = true;
    role->volumes = ty_spec_alloc(reader, mounts.count, sizeof(*role->volumes));
    for (size_t i = 0; i < mounts.count; i++) {
        if (role->volumes)
            role->volumes[role->volumes_count++] = mounts.items[i];
        else
            ty_spec_volume_done(&mounts.items[i]);
    }
}

static void read_env(struct ty_spec_reader *reader, const struct common *common, const json_t *env,
                     struct ty_spec_role *role)
{
    struct ty_pairs own = {0};

    if (env) {
        size_t mark = ty_spec_enter(reader, "env");

        ty_spec_read_env(reader, env, &own);
        ty_spec_leave(reader, mark);
    }
    ty_spec_merge_pairs(reader, &common->env, &own, &role->env);
    ty_pairs_done(&own);
}

static void read_command(struct ty_spec_reader *reader, const struct common *common,
                         const json_t *command, struct ty_spec_role *role)
{
    struct ty_raw_command own = {0};

    if (!command) {
        role->program = common->command.program;
        copy_texts(reader, common->command.texts, common->command.count, &role->command,
                   &role->command_count);
        return;
    }
    ty_spec_read_command(reader, command, &own);
    role->program = own.program;
    role->command = own.texts;
    role->command_count = own.count;
}

static void read_args(struct ty_spec_reader *reader, const struct common *common,
                      const json_t *args, struct ty_spec_role *role)
{
    if (!args) {
        copy_texts(reader, common->args, common->args_count, &role->args, &role->args_count);
        return;
    }
    size_t mark = ty_spec_enter(reader, "args");

    ty_spec_read_texts(reader, args, &role->args, &role->args_count);
    ty_spec_leave(reader, mark);
}

static void read_resources(struct ty_spec_reader *reader, const struct common *common,
                           const json_t *resources, struct ty_spec_role *role)
{
    if (!resources) {
        copy_resources(reader, &common->resources, &role->resources);
        return;
    }
    size_t mark = ty_spec_enter(reader, "resources");

    role->resources_own = true;
    ty_spec_read_resources(reader, resources, &role->resources);
    ty_spec_leave(reader, mark);
}

/* What a role has of its own, else what the job has. */
static void read_shared(struct ty_spec_reader *reader, const struct ty_raw_shared *raw,
                        const struct ty_spec_shared *of_job, struct ty_spec_shared *own,
                        struct ty_spec_role *role)
{
    ty_spec_read_shared(reader, raw, own);
    role->secrets = raw->secrets ? &own->secrets : &of_job->secrets;
    role->node_selector = raw->node_selector ? &own->node_selector : &of_job->node_selector;
    role->affinity = raw->affinity ? &own->affinity : &of_job->affinity;
    role->tolerations = raw->tolerations ? &own->tolerations : &of_job->tolerations;
}

/* A role, where it stands in the body and where it goes. */
struct role_place {
    const char *name;
    const json_t *json; /* NULL = no override */
    size_t own_shared;
    struct ty_spec_role *role;
};

static void check_working_dir(struct ty_spec_reader *reader, const char *path)
{
    const char *fault = ty_spec_absolute_path_fault(path);

    if (fault)
        ty_spec_fault_in(reader, "working_dir", "path_invalid", "%s", fault);
}

static void read_simple(struct ty_spec_reader *reader, const struct ty_spec_draft *draft,
                        const struct raw_role *raw, struct ty_spec_role *role)
{
    const char *image = raw->image ? raw->image : draft->image;
    const char *folder = raw->working_dir ? raw->working_dir : draft->working_dir;

    if (raw->image && !ty_image_reference_valid(raw->image))
        ty_spec_fault_in(reader, "image", "image_invalid", "is not an image reference");
    if (raw->working_dir)
        check_working_dir(reader, raw->working_dir);
    role->image = ty_spec_dup(reader, image);
    role->working_dir = ty_spec_dup(reader, folder);
}

/* The size of /dev/shm as the role says, as the job says, or by the role's own memory limit. */
static void read_shared_memory(struct ty_spec_reader *reader, const json_t *own,
                               const struct common *common, struct ty_resources *resources)
{
    size_t mark = ty_spec_enter(reader, "shared_memory");

    free(resources->shared_memory);
    resources->shared_memory = NULL;
    if (!own && common->resources.shared_memory) {
        resources->shared_memory = ty_spec_dup(reader, common->resources.shared_memory);
        resources->shared_memory_bytes = common->resources.shared_memory_bytes;
    } else {
        ty_spec_read_shared_memory(reader, own, resources);
    }
    ty_spec_leave(reader, mark);
}

static void read_role(struct ty_spec_reader *reader, const struct ty_spec_draft *draft,
                      const struct common *common, const struct role_place *place)
{
    struct raw_role raw = {.gpus = TY_NOT_GIVEN};
    struct ty_spec_role *role = place->role;
    struct ty_spec_shared *shared = draft->spec.shared;
    size_t mark = ty_spec_enter(reader, place->name);
    char suffix[32];

    snprintf(suffix, sizeof(suffix), "%s-volume", place->name);
    if (place->json)
        ty_spec_read_fields(reader, place->json, role_fields,
                            sizeof(role_fields) / sizeof(role_fields[0]), &raw);
    read_simple(reader, draft, &raw, role);
    read_command(reader, common, raw.command, role);
    read_env(reader, common, raw.env, role);
    read_args(reader, common, raw.args, role);
    read_resources(reader, common, raw.resources, role);
    read_shared_memory(reader, raw.shared_memory, common, &role->resources);
    role->shared_memory_own = raw.shared_memory != NULL;
    role->resources.gpus = raw.gpus != TY_NOT_GIVEN ? raw.gpus : draft->gpus;
    read_volumes(reader, draft, raw.volumes, suffix, role);
    if (shared)
        read_shared(reader, &raw.shared, &shared[TY_SHARED_OF_JOB], &shared[place->own_shared],
                    role);
    ty_spec_leave(reader, mark);
}

static void read_common(struct ty_spec_reader *reader, const struct ty_spec_draft *draft,
                        struct common *common)
{
    size_t mark = reader->at_len;

    if (draft->command)
        ty_spec_read_command(reader, draft->command, &common->command);
    if (draft->env) {
        ty_spec_enter(reader, "env");
        ty_spec_read_env(reader, draft->env, &common->env);
        ty_spec_leave(reader, mark);
    }
    if (draft->args) {
        ty_spec_enter(reader, "args");
        ty_spec_read_texts(reader, draft->args, &common->args, &common->args_count);
        ty_spec_leave(reader, mark);
    }
    if (draft->resources) {
        ty_spec_enter(reader, "resources");
        ty_spec_read_resources(reader, draft->resources, &common->resources);
        ty_spec_leave(reader, mark);
    }
    if (draft->shared_memory) {
        ty_spec_enter(reader, "shared_memory");
        ty_spec_read_shared_memory(reader, draft->shared_memory, &common->resources);
        ty_spec_leave(reader, mark);
    }
    if (draft->working_dir)
        check_working_dir(reader, draft->working_dir);
    if (draft->spec.shared)
        ty_spec_read_shared(reader, &draft->shared, &draft->spec.shared[TY_SHARED_OF_JOB]);
}

void ty_spec_read_roles(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_job_spec *spec = &draft->spec;
    struct common common = {0};
    const struct role_place master = {"master", draft->master, TY_SHARED_OF_MASTER, &spec->master};
    const struct role_place worker = {"worker", draft->worker, TY_SHARED_OF_WORKER, &spec->worker};

    spec->shared = ty_spec_alloc(reader, TY_SHARED_COUNT, sizeof(*spec->shared));
    read_common(reader, draft, &common);
    read_role(reader, draft, &common, &master);
    read_role(reader, draft, &common, &worker);
    spec->master.replicas = spec->elastic.on ? 0 : 1;
    spec->worker.replicas = spec->replicas - spec->master.replicas;
    ty_pairs_done(&common.env);
    ty_texts_done(common.command.texts, common.command.count);
    ty_texts_done(common.args, common.args_count);
    ty_resources_done(&common.resources);
}
