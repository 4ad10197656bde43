/* What Master and Worker are: the job's members, then what their overrides replace or add. */
#include "spec_parts.h"

#include <stdlib.h>

struct raw_role {
    const char *image;
    const json_t *args;
    const json_t *env;
    const json_t *resources;
    const json_t *volumes;
};

static const struct ty_field role_fields[] = {
    {"image",     TY_FIELD_BORROWED, offsetof(struct raw_role, image),     1, 0, NULL},
    {"args",      TY_FIELD_JSON,     offsetof(struct raw_role, args),      0, 0, NULL},
    {"env",       TY_FIELD_JSON,     offsetof(struct raw_role, env),       0, 0, NULL},
    {"resources", TY_FIELD_JSON,     offsetof(struct raw_role, resources), 0, 0, NULL},
    {"volumes",   TY_FIELD_JSON,     offsetof(struct raw_role, volumes),   0, 0, NULL},
};

/* The members of the job that roles share, read once so that a fault is told once. */
struct shared {
    struct ty_pairs env;
    char **args;
    size_t args_count;
    struct ty_resources resources;
};

static void copy_texts(struct ty_spec_reader *reader, char **texts, size_t count,
                       struct ty_spec_role *role)
{
    role->args = ty_spec_alloc(reader, count, sizeof(*role->args));
    for (size_t i = 0; role->args && i < count; i++) {
        role->args[role->args_count] = ty_spec_dup(reader, texts[i]);
        role->args_count += role->args[role->args_count] ? 1 : 0;
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
    role->volumes = ty_spec_alloc(reader, mounts.count, sizeof(*role->volumes));
    for (size_t i = 0; i < mounts.count; i++) {
        if (role->volumes)
            role->volumes[role->volumes_count++] = mounts.items[i];
        else
            ty_spec_volume_done(&mounts.items[i]);
    }
}

static void read_env(struct ty_spec_reader *reader, const struct shared *shared, const json_t *env,
                     struct ty_spec_role *role)
{
    struct ty_pairs own = {0};

    if (env) {
        size_t mark = ty_spec_enter(reader, "env");

        ty_spec_read_env(reader, env, &own);
        ty_spec_leave(reader, mark);
    }
    ty_spec_merge_pairs(reader, &shared->env, &own, &role->env);
    ty_pairs_done(&own);
}

static void read_args(struct ty_spec_reader *reader, const struct shared *shared,
                      const json_t *args, struct ty_spec_role *role)
{
    if (!args) {
        copy_texts(reader, shared->args, shared->args_count, role);
        return;
    }
    size_t mark = ty_spec_enter(reader, "args");

    ty_spec_read_texts(reader, args, &role->args, &role->args_count);
    ty_spec_leave(reader, mark);
}

static void read_resources(struct ty_spec_reader *reader, const struct shared *shared,
                           const json_t *resources, struct ty_spec_role *role)
{
    if (!resources) {
        copy_resources(reader, &shared->resources, &role->resources);
        return;
    }
    size_t mark = ty_spec_enter(reader, "resources");

    ty_spec_read_resources(reader, resources, &role->resources);
    ty_spec_leave(reader, mark);
}

/* A role, where it stands in the body and where it goes. */
struct role_place {
    const char *name;
    const json_t *json; /* NULL = no override */
    struct ty_spec_role *role;
};

static void read_role(struct ty_spec_reader *reader, const struct ty_spec_draft *draft,
                      const struct shared *shared, const struct role_place *place)
{
    struct raw_role raw = {.image = draft->image};
    struct ty_spec_role *role = place->role;
    size_t mark = ty_spec_enter(reader, place->name);
    char suffix[32];

    snprintf(suffix, sizeof(suffix), "%s-volume", place->name);
    if (place->json)
        ty_spec_read_fields(reader, place->json, role_fields, 5, &raw);
    if (raw.image && raw.image != draft->image && !ty_image_reference_valid(raw.image))
        ty_spec_fault_in(reader, "image", "image_invalid", "is not an image reference");
    role->image = ty_spec_dup(reader, raw.image);
    read_env(reader, shared, raw.env, role);
    read_args(reader, shared, raw.args, role);
    read_resources(reader, shared, raw.resources, role);
    read_volumes(reader, draft, raw.volumes, suffix, role);
    role->resources.gpus = draft->gpus;
    ty_spec_leave(reader, mark);
}

static void read_shared(struct ty_spec_reader *reader, const struct ty_spec_draft *draft,
                        struct shared *shared)
{
    if (draft->env) {
        size_t mark = ty_spec_enter(reader, "env");

        ty_spec_read_env(reader, draft->env, &shared->env);
        ty_spec_leave(reader, mark);
    }
    if (draft->args) {
        size_t mark = ty_spec_enter(reader, "args");

        ty_spec_read_texts(reader, draft->args, &shared->args, &shared->args_count);
        ty_spec_leave(reader, mark);
    }
    if (draft->resources) {
        size_t mark = ty_spec_enter(reader, "resources");

        ty_spec_read_resources(reader, draft->resources, &shared->resources);
        ty_spec_leave(reader, mark);
    }
}

/* One size for all where it is given, else each role's by its own memory limit. */
static void read_shared_memory(struct ty_spec_reader *reader, const json_t *value,
                               struct ty_job_spec *spec)
{
    struct ty_resources *master = &spec->master.resources;
    struct ty_resources *worker = &spec->worker.resources;
    size_t mark = ty_spec_enter(reader, "shared_memory");

    ty_spec_read_shared_memory(reader, value, master);
    if (value) {
        worker->shared_memory = ty_spec_dup(reader, master->shared_memory);
        worker->shared_memory_bytes = master->shared_memory_bytes;
    } else {
        ty_spec_read_shared_memory(reader, NULL, worker);
    }
    ty_spec_leave(reader, mark);
}

void ty_spec_read_roles(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_job_spec *spec = &draft->spec;
    struct shared shared = {0};
    const struct role_place master = {"master", draft->master, &spec->master};
    const struct role_place worker = {"worker", draft->worker, &spec->worker};

    read_shared(reader, draft, &shared);
    read_role(reader, draft, &shared, &master);
    read_role(reader, draft, &shared, &worker);
    read_shared_memory(reader, draft->shared_memory, spec);
    spec->master.replicas = 1;
    spec->worker.replicas = spec->replicas - 1;
    ty_pairs_done(&shared.env);
    ty_texts_done(shared.args, shared.args_count);
    ty_resources_done(&shared.resources);
}
