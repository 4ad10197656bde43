/* The parts of a manifest: each builds one kind of object from the same input. */
#ifndef TRAINYARD_RENDER_PARTS_H
#define TRAINYARD_RENDER_PARTS_H

#include "trainyard/domain/job.h"
#include "trainyard/render/render.h"
#include "tree.h"

enum { TY_CHILD_NAME = TY_OBJECT_NAME + 16 };

/* names.c: "<object>-files" and "<object>-env", the ConfigMaps of a job. */
void ty_render_files_name(const char *object_name, char out[TY_CHILD_NAME]);
void ty_render_env_name(const char *object_name, char out[TY_CHILD_NAME]);
bool ty_render_has_files(const struct ty_job_spec *spec);
bool ty_render_has_env(const struct ty_job_spec *spec);

/* manifest.c: the objects of a job; `workload`, the one part that is each kind's own, appends the
 * last. */
typedef void ty_render_workload(struct ty_tree *tree, const struct ty_render_input *input,
                                json_t *objects);
ty_status ty_render_manifest(const struct ty_render_input *input, ty_render_workload *workload,
                             struct ty_manifest *manifest_out, struct ty_faults *faults,
                             struct ty_error *err) TY_MUST_CHECK;

/* metadata.c: a new object with apiVersion, kind and metadata (name, namespace, our labels). */
json_t *ty_render_object(struct ty_tree *tree, const struct ty_render_input *input,
                         const char *api_version, const char *kind, const char *name);
/* The same for what stays when the job is removed. */
json_t *ty_render_kept_object(struct ty_tree *tree, const struct ty_render_input *input,
                              const char *api_version, const char *kind, const char *name);
void ty_render_labels(struct ty_tree *tree, const struct ty_render_input *input, json_t *labels);
/* The annotation trainyard.dev/spec-hash: SHA-256 of the object's canonical JSON without it. */
void ty_render_hash(struct ty_tree *tree, json_t *object);

/* Whether `objects` holds one of that kind and name. */
bool ty_render_has_object(const json_t *objects, const char *kind, const char *name);

/* claim.c, configmap.c: append what the job needs of each to `objects`. */
void ty_render_claims(struct ty_tree *tree, const struct ty_render_input *input, json_t *objects);
void ty_render_config_maps(struct ty_tree *tree, const struct ty_render_input *input,
                           json_t *objects, struct ty_faults *faults);

/* placement.c: node selector, affinity, tolerations, classes of the pod. */
void ty_render_placement(struct ty_tree *tree, const struct ty_job_spec *spec,
                         const struct ty_spec_role *role, json_t *pod);
/* secrets.c: variables; volumes and mounts. */
void ty_render_secret_env(struct ty_tree *tree, const struct ty_spec_role *role, json_t *env);
void ty_render_secret_files(struct ty_tree *tree, const struct ty_spec_role *role, json_t *volumes,
                            json_t *mounts);
/* What a workload kind wants of the container that trains. */
struct ty_container_rules {
    const char *name;
    const char *port_name; /* where the replicas meet */
    uint16_t port;
};
/* pod.c: the pod template of a role. */
json_t *ty_render_pod(struct ty_tree *tree, const struct ty_render_input *input,
                      const struct ty_spec_role *role, const struct ty_container_rules *rules);
/* volumes.c: the volume whose source ("secret", say) has `name` in `member`, among those rendered
 * so far, or NULL; a new one, numbered, since what it holds may have a name too long for a volume;
 * one item of a volume's source. */
json_t *ty_render_find_volume(const json_t *volumes, const char *source, const char *member,
                              const char *name);
json_t *ty_render_new_volume(struct ty_tree *tree, const char *kind, json_t *volumes);
void ty_render_put_item(struct ty_tree *tree, json_t *items, const char *key, const char *path);
/* volumes.c: the pod's volumes and the container's mounts. */
void ty_render_volumes(struct ty_tree *tree, const struct ty_render_input *input,
                       const struct ty_spec_role *role, json_t *volumes, json_t *mounts);
/* program.c: command, args, env and envFrom of the container. */
void ty_render_program(struct ty_tree *tree, const struct ty_render_input *input,
                       const struct ty_spec_role *role, json_t *container);

/* dollar.c: text as Kubernetes must be given it so that its $(NAME) expansion yields `text`.
 *   literal  every dollar sign arrives as written
 *   argument $(NAME) and $$(NAME) of a variable the operator or the gateway sets keep their
 *            meaning (its value; the literal $(NAME)); every other dollar sign arrives as written
 * New JSON strings; NULL without memory. */
json_t *ty_render_literal(const char *text);
json_t *ty_render_argument(const char *text);
/* Whether $(name) is one of those references. */
bool ty_render_is_reference(const char *name);

#endif
