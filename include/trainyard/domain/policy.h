/* What a tenant's jobs may ask for: lists of what may be named, limits of how much, values that are
 * filled in or forced. Pure; a policy never changes after it was read and may be shared by threads.
 *
 * The order in which a request meets it:
 *   ty_policy_apply         gives the body that is run: defaults where the request says nothing,
 *                           forced values over what it says, limits where silence means more
 *   ty_policy_judge_names   judges what that body names, but for what the policy itself put there
 *   ty_policy_judge_amounts judges how much the spec made of it takes */
#ifndef TRAINYARD_DOMAIN_POLICY_H
#define TRAINYARD_DOMAIN_POLICY_H

#include "trainyard/domain/spec.h"

struct ty_policy;

/* The policy of a tenant that may ask for everything, and that of one that may ask for nothing. */
#define TY_POLICY_OPEN                                                                             \
    "{\"images\":[\"*\"],\"volumes\":[\"*\"],\"storage_classes\":[\"*\"],\"node_labels\":[\"*\"]," \
    "\"tolerations\":[\"*\"],\"namespaces\":[\"*\"],\"priority_classes\":[\"*\"],"                 \
    "\"queues\":[\"*\"],\"schedulers\":[\"*\"],\"secrets\":[\"*\"]}"
#define TY_POLICY_CLOSED "{}"

/* Read a document that has passed the contract's schema `Policy`. *policy_out is a new reference.
 *   TY_REFUSED    faults say why (pointers into the document); *policy_out untouched
 *   TY_NO_MEMORY */
ty_status ty_policy_parse(const json_t *document, struct ty_policy **policy_out,
                          struct ty_faults *faults, struct ty_error *err) TY_MUST_CHECK;
struct ty_policy *ty_policy_ref(struct ty_policy *policy);
void ty_policy_unref(struct ty_policy *policy); /* takes NULL */

/* What a judge needs to know beside policy and body. */
struct ty_policy_scene {
    const char *namespace;           /* the tenant's own */
    int64_t default_timeout_seconds; /* the tenant's, 0 = none */
    int64_t default_keep_seconds;    /* of a job that does not say, -1 = for ever */
    /* Whether the tenant has registered a volume of that name; asked only where the policy lists no
     * volumes. NULL = it has none. An error is TY_UNAVAILABLE or TY_NO_MEMORY. */
    ty_status (*owns_volume)(void *context, const char *claim, bool *owns_out,
                             struct ty_error *err);
    void *context;
};

/* Values that the policy put in the place of others, for `warnings[]`. */
struct ty_policy_changes {
    struct ty_warning *items; /* borrowed */
    size_t max;
    size_t count;
};

/* The body to run. *body_out is a new reference: `given` itself when nothing changes.
 * TY_NO_MEMORY: outputs untouched, but for `changes`. */
ty_status ty_policy_apply(const struct ty_policy *policy, const struct ty_policy_scene *scene,
                          json_t *given, json_t **body_out, struct ty_policy_changes *changes,
                          struct ty_error *err) TY_MUST_CHECK;

/* Note a fault for each name in `body` (a result of ty_policy_apply) that the policy does not
 * allow: code per kind, such as image_not_allowed. An error is one of scene->owns_volume. */
ty_status ty_policy_judge_names(const struct ty_policy *policy, const struct ty_policy_scene *scene,
                                const json_t *body, struct ty_faults *faults,
                                struct ty_error *err) TY_MUST_CHECK;

/* Note a fault for each limit that is passed (limit_exceeded), or that cannot hold because the job
 * says nothing (limit_required). `spec_bytes` is the length of the body as text. */
void ty_policy_judge_amounts(const struct ty_policy *policy, const struct ty_policy_scene *scene,
                             const json_t *body, const struct ty_job_spec *spec, size_t spec_bytes,
                             struct ty_faults *faults);

/* Whether it may have to call scene->owns_volume, or puts members of its own into jobs. */
bool ty_policy_asks(const struct ty_policy *policy);

/* Whether it puts values in the place of what a job says. */
bool ty_policy_forces(const struct ty_policy *policy);

/* Whether the policy lists a storage class, or a claim by its name: for volumes made without a
 * job. */
bool ty_policy_lists_storage_class(const struct ty_policy *policy, const char *name);
bool ty_policy_lists_volume(const struct ty_policy *policy, const char *name);

/* The limit of replicas, for jobs that grow; INT64_MAX = none. */
int64_t ty_policy_max_replicas(const struct ty_policy *policy);

#endif
