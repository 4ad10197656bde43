/* Reading the rendered objects: what a run on this machine takes from a PyTorchJob, its ConfigMaps
 * and claims. Borrowed values throughout. */
#ifndef TRAINYARD_EXECUTOR_OBJECTS_H
#define TRAINYARD_EXECUTOR_OBJECTS_H

#include "trainyard/base/json.h"

enum { TY_ROLE_MASTER, TY_ROLE_WORKER, TY_ROLES };

struct ty_role_object {
    int32_t replicas; /* 0 = the role is absent */
    const char *restart;
    const json_t *pod;       /* the template's spec */
    const json_t *labels;    /* of the template, may be NULL */
    const json_t *container; /* the one named pytorch, else the first */
    int64_t grace_seconds;   /* -1 = not said */
    uint16_t port;           /* pytorchjob-port */
};

struct ty_job_object {
    const json_t *job; /* the PyTorchJob */
    const json_t *spec;
    const json_t *objects; /* all */
    const char *name;
    const char *namespace;
    struct ty_role_object roles[TY_ROLES];
    const json_t *elastic; /* elasticPolicy or NULL */
    const char *processes; /* nprocPerNode after defaults, NULL = unset (elastic says) */
    int32_t total;         /* replicas of all roles */
};

/* Find and check the workload among the objects.
 *   TY_REFUSED  no PyTorchJob, no replicas, several containers, init containers, … : never runs
 * here */
ty_status ty_objects_read(const json_t *objects, const char *namespace, struct ty_job_object *out,
                          struct ty_error *err) TY_MUST_CHECK;

/* Whether the run may be scaled: elastic and without a Master. */
static inline bool ty_grows(const struct ty_job_object *job)
{
    return job->elastic && job->roles[TY_ROLE_MASTER].replicas == 0;
}

/* The object of a kind and name, NULL when there is none. */
const json_t *ty_objects_find(const json_t *objects, const char *kind, const char *name);

/* Text and integer members; the default when absent. An integer may also be written as text, as
 * quantities are. */
const char *ty_object_text(const json_t *object, const char *key, const char *otherwise);
int64_t ty_object_int(const json_t *object, const char *key, int64_t otherwise);

#endif
