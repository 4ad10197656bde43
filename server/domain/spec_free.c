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

void ty_spec_files_done(struct ty_spec_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].name);
        free(files->items[i].key);
        free(files->items[i].bytes);
    }
    free(files->items);
    *files = (struct ty_spec_files){0};
}

void ty_spec_volume_done(struct ty_spec_volume *volume)
{
    free(volume->claim);
    free(volume->suffix);
    free(volume->mount_path);
    free(volume->sub_path);
    free(volume->size);
    free(volume->storage_class);
    ty_spec_files_done(&volume->files);
    *volume = (struct ty_spec_volume){0};
}

static void role_done(struct ty_spec_role *role)
{
    free(role->image);
    ty_texts_done(role->command, role->command_count);
    free(role->working_dir);
    ty_pairs_done(&role->env);
    ty_texts_done(role->args, role->args_count);
    ty_resources_done(&role->resources);
    for (size_t i = 0; i < role->volumes_count; i++)
        ty_spec_volume_done(&role->volumes[i]);
    free(role->volumes);
}

static void matches_done(struct ty_matches *matches)
{
    for (size_t i = 0; i < matches->count; i++) {
        free(matches->items[i].key);
        ty_texts_done(matches->items[i].values, matches->items[i].values_count);
    }
    free(matches->items);
}

static void node_terms_done(struct ty_node_terms *terms)
{
    for (size_t i = 0; i < terms->count; i++) {
        matches_done(&terms->items[i].match);
        matches_done(&terms->items[i].match_fields);
    }
    free(terms->items);
}

static void pod_terms_done(struct ty_pod_terms *terms)
{
    for (size_t i = 0; i < terms->count; i++) {
        struct ty_pod_term *term = &terms->items[i];

        ty_pairs_done(&term->labels);
        matches_done(&term->match);
        free(term->topology_key);
        ty_texts_done(term->namespaces, term->namespaces_count);
    }
    free(terms->items);
}

static void affinity_done(struct ty_affinity *affinity)
{
    node_terms_done(&affinity->node_required);
    node_terms_done(&affinity->node_preferred);
    pod_terms_done(&affinity->pods_required);
    pod_terms_done(&affinity->pods_preferred);
    pod_terms_done(&affinity->apart_required);
    pod_terms_done(&affinity->apart_preferred);
}

static void shared_done(struct ty_spec_shared *shared)
{
    for (size_t i = 0; i < shared->secrets.count; i++) {
        free(shared->secrets.items[i].name);
        free(shared->secrets.items[i].key);
        free(shared->secrets.items[i].env);
        free(shared->secrets.items[i].path);
    }
    free(shared->secrets.items);
    ty_pairs_done(&shared->node_selector);
    affinity_done(&shared->affinity);
    for (size_t i = 0; i < shared->tolerations.count; i++) {
        free(shared->tolerations.items[i].key);
        free(shared->tolerations.items[i].value);
    }
    free(shared->tolerations.items);
}

static void elastic_done(struct ty_elastic *elastic)
{
    free(elastic->host);
    free(elastic->id);
    ty_pairs_done(&elastic->conf);
}

void ty_job_spec_done(struct ty_job_spec *spec)
{
    free(spec->name);
    free(spec->description);
    ty_pairs_done(&spec->labels);
    free(spec->script_name);
    free(spec->script);
    ty_spec_files_done(&spec->files);
    ty_pairs_done(&spec->parameters);
    role_done(&spec->master);
    role_done(&spec->worker);
    free(spec->output_claim);
    free(spec->output_path);
    free(spec->checkpoint_claim);
    free(spec->checkpoint_mount);
    free(spec->checkpoint_path);
    free(spec->priority_class);
    free(spec->queue);
    free(spec->scheduler);
    elastic_done(&spec->elastic);
    free(spec->tensorboard_path);
    free(spec->mlflow.tracking_uri);
    free(spec->mlflow.experiment);
    free(spec->mlflow.run_name);
    for (size_t i = 0; spec->shared && i < TY_SHARED_COUNT; i++)
        shared_done(&spec->shared[i]);
    free(spec->shared);
    *spec = (struct ty_job_spec){0};
}

void ty_job_spec_destroy(struct ty_job_spec *spec)
{
    if (!spec)
        return;
    ty_job_spec_done(spec);
    free(spec);
}
