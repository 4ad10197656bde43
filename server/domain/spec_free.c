#include "spec_parts.h"

#include <stdlib.h>

void ty_pairs_done(struct ty_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        free(pairs->items[i].name);
        free(pairs->items[i].value);
    }
    free(pairs->items);
    *pairs = (struct ty_pairs){0};
}

void ty_texts_done(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void ty_resources_done(struct ty_resources *resources)
{
    free(resources->cpu);
    free(resources->memory);
    free(resources->cpu_limit);
    free(resources->memory_limit);
    free(resources->shared_memory);
    free(resources->storage);
    free(resources->storage_limit);
    *resources = (struct ty_resources){0};
}

void ty_spec_volume_done(struct ty_spec_volume *volume)
{
    free(volume->claim);
    free(volume->suffix);
    free(volume->mount_path);
    free(volume->sub_path);
    free(volume->size);
    free(volume->storage_class);
    *volume = (struct ty_spec_volume){0};
}

static void role_done(struct ty_spec_role *role)
{
    free(role->image);
    ty_pairs_done(&role->env);
    ty_texts_done(role->args, role->args_count);
    ty_resources_done(&role->resources);
    for (size_t i = 0; i < role->volumes_count; i++)
        ty_spec_volume_done(&role->volumes[i]);
    free(role->volumes);
}

void ty_job_spec_done(struct ty_job_spec *spec)
{
    free(spec->name);
    free(spec->description);
    ty_pairs_done(&spec->labels);
    free(spec->script_name);
    free(spec->script);
    ty_texts_done(spec->command, spec->command_count);
    for (size_t i = 0; i < spec->files_count; i++) {
        free(spec->files[i].name);
        free(spec->files[i].key);
        free(spec->files[i].bytes);
    }
    free(spec->files);
    free(spec->working_dir);
    ty_pairs_done(&spec->parameters);
    role_done(&spec->master);
    role_done(&spec->worker);
    free(spec->output_claim);
    free(spec->output_path);
    free(spec->checkpoint_claim);
    free(spec->checkpoint_mount);
    free(spec->checkpoint_path);
    *spec = (struct ty_job_spec){0};
}

void ty_job_spec_destroy(struct ty_job_spec *spec)
{
    if (!spec)
        return;
    ty_job_spec_done(spec);
    free(spec);
}
