/* What a spec asks of a cluster that a single machine has not: refused where the job could not run
 * without it, warned of where it runs all the same. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

#include <stdio.h>

/* --- refused --- */

static bool is_entry_point(const json_t *command)
{
    return json_is_array(command) && json_array_size(command) == 0;
}

void ty_job_spec_check_machine(const json_t *body, struct ty_faults *faults)
{
    static const struct {
        const char *role; /* NULL = the job itself */
        const char *pointer;
    } places[] = {
        {NULL,     "/command"       },
        {"master", "/master/command"},
        {"worker", "/worker/command"},
    };

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const json_t *at = places[i].role ? json_object_get(body, places[i].role) : body;

        if (is_entry_point(json_object_get(at, "command")))
            ty_faults_add(faults, TY_AT_POINTER, places[i].pointer, "command_needed",
                          "must name a program: this machine does not know the image's own entry "
                          "point");
    }
}

/* --- warned of --- */

struct warnings {
    struct ty_warning *items;
    size_t max;
    size_t count;
};

static void warn(struct warnings *warnings, const char *prefix, const char *member,
                 const char *message)
{
    if (warnings->count == warnings->max)
        return;
    struct ty_warning *warning = &warnings->items[warnings->count++];

    ty_str_copy(warning->code, sizeof(warning->code), "ignored_on_this_machine");
    snprintf(warning->pointer, sizeof(warning->pointer), "%s/%s", prefix, member);
    ty_str_copy(warning->message, sizeof(warning->message), message);
}

static const char no_nodes[] = "There is one node here, so there is nothing to choose.";
static const char no_scheduler[] = "This machine has no scheduler, classes or queues of a cluster.";

static void warn_of_placement(struct warnings *warnings, const char *prefix,
                              const struct ty_spec_shared *shared)
{
    const struct ty_affinity *affinity = &shared->affinity;

    if (shared->node_selector.count > 0)
        warn(warnings, prefix, "node_selector", no_nodes);
    if (affinity->node_required.count + affinity->node_preferred.count +
            affinity->pods_required.count + affinity->pods_preferred.count +
            affinity->apart_required.count + affinity->apart_preferred.count >
        0)
        warn(warnings, prefix, "affinity", no_nodes);
    if (shared->tolerations.count > 0)
        warn(warnings, prefix, "tolerations", no_nodes);
}

/* Those of the job, which every role mounts, or a role's own. */
static void warn_of_volumes(struct warnings *warnings, const char *prefix,
                            const struct ty_spec_role *role, bool own)
{
    char member[64];

    for (size_t i = 0; i < role->volumes_count; i++) {
        const struct ty_spec_volume *volume = &role->volumes[i];

        if (volume->place == 0 || volume->of_role != own)
            continue;
        snprintf(member, sizeof(member), "volumes/%zu/create/storage_class", volume->place - 1);
        if (volume->storage_class)
            warn(warnings, prefix, member, "A volume is a folder of this machine.");
        snprintf(member, sizeof(member), "volumes/%zu/scratch/size", volume->place - 1);
        if (volume->kind == TY_VOLUME_SCRATCH && volume->size && !volume->memory)
            warn(warnings, prefix, member, "Scratch space on this machine's disk has no limit.");
    }
}

static bool keeps_storage(const struct ty_spec_role *role, bool own)
{
    return role->replicas > 0 && role->resources.storage && role->resources_own == own;
}

static void warn_of_storage(struct warnings *warnings, const struct ty_job_spec *spec)
{
    static const char message[] = "This machine's disk is not divided: ephemeral_storage is not "
                                  "looked at.";

    if (keeps_storage(&spec->master, false) || keeps_storage(&spec->worker, false))
        warn(warnings, "", "resources", message);
    if (keeps_storage(&spec->master, true))
        warn(warnings, "/master", "resources", message);
    if (keeps_storage(&spec->worker, true))
        warn(warnings, "/worker", "resources", message);
}

size_t ty_job_spec_machine_warnings(const struct ty_job_spec *spec, struct ty_warning *out,
                                    size_t max)
{
    struct warnings warnings = {out, max, 0};
    const struct ty_spec_role *lead = ty_job_spec_lead(spec);

    warn_of_placement(&warnings, "", &spec->shared[TY_SHARED_OF_JOB]);
    if (spec->priority_class)
        warn(&warnings, "", "priority_class", no_scheduler);
    if (spec->queue)
        warn(&warnings, "", "queue", no_scheduler);
    if (spec->scheduler)
        warn(&warnings, "", "scheduler", no_scheduler);
    if (spec->gang.on)
        warn(&warnings, "", "gang",
             "Here a job always starts with all of its replicas or not yet.");
    warn_of_storage(&warnings, spec);
    warn_of_volumes(&warnings, "", lead, false);
    if (spec->master.replicas > 0) {
        warn_of_placement(&warnings, "/master", &spec->shared[TY_SHARED_OF_MASTER]);
        warn_of_volumes(&warnings, "/master", &spec->master, true);
    }
    if (spec->worker.replicas > 0) {
        warn_of_placement(&warnings, "/worker", &spec->shared[TY_SHARED_OF_WORKER]);
        warn_of_volumes(&warnings, "/worker", &spec->worker, true);
    }
    return warnings.count;
}
