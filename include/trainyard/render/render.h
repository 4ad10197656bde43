/* Job spec to Kubernetes objects. The interface is a table so that another workload kind can stand
 * beside PyTorchJob. Pure: the same input gives the same bytes. */
#ifndef TRAINYARD_RENDER_RENDER_H
#define TRAINYARD_RENDER_RENDER_H

#include "trainyard/domain/spec.h"

/* What identifies the run; borrowed for the call. */
struct ty_render_input {
    const struct ty_job_spec *spec;
    const char *job_id;
    const char *object_name; /* fixed before the first try */
    const char *namespace;
    const char *tenant;
    const char *resume_from; /* path inside the containers, NULL = start afresh */
    int32_t attempt;         /* which run of the job; 0 = none yet, shown as the first */
};

/* The objects in the order they must be applied: PersistentVolumeClaims, ConfigMaps, then the
 * workload. */
struct ty_manifest {
    json_t *objects; /* array, owned */
};

struct ty_renderer {
    const char *kind; /* "PyTorchJob" */
    /* TY_REFUSED: a ConfigMap would exceed 1 MiB; faults give the pointer, the bytes measured and
     * the way out. */
    ty_status (*render)(const struct ty_render_input *input, struct ty_manifest *manifest_out,
                        struct ty_faults *faults, struct ty_error *err);
};

extern const struct ty_renderer ty_renderer_pytorchjob;

/* A cluster takes no workload above it (standards K9; etcd's own limit is a little higher). */
enum { TY_WORKLOAD_MAX = 512 * 1024 };

/* The bytes of the workload as JSON, as it is sent to a cluster: without the ConfigMaps. */
size_t ty_manifest_workload_bytes(const struct ty_manifest *manifest);

void ty_manifest_done(struct ty_manifest *manifest); /* takes an empty one */

#endif
