/* A policy as its judges read it. */
#ifndef TRAINYARD_DOMAIN_POLICY_INSIDE_H
#define TRAINYARD_DOMAIN_POLICY_INSIDE_H

#include "trainyard/domain/image.h"
#include "trainyard/domain/policy.h"

#include <stdatomic.h>

typedef enum {
    TY_LIST_IMAGES,
    TY_LIST_VOLUMES,
    TY_LIST_STORAGE_CLASSES,
    TY_LIST_NODE_LABELS,
    TY_LIST_TOLERATIONS,
    TY_LIST_NAMESPACES,
    TY_LIST_PRIORITY_CLASSES,
    TY_LIST_QUEUES,
    TY_LIST_SCHEDULERS,
    TY_LIST_SECRETS,
    TY_LIST_COUNT
} ty_policy_list;

/* The name of the list in the document, and the code of what it does not allow. */
struct ty_policy_list_kind {
    const char *member;
    const char *code;
};
extern const struct ty_policy_list_kind ty_policy_lists[TY_LIST_COUNT];

typedef enum {
    TY_LIMIT_REPLICAS,
    TY_LIMIT_GPUS,
    TY_LIMIT_GPUS_PER_REPLICA,
    TY_LIMIT_CPU,    /* thousandths of a processor */
    TY_LIMIT_MEMORY, /* bytes */
    TY_LIMIT_TIMEOUT,
    TY_LIMIT_KEEP,
    TY_LIMIT_SPEC_BYTES,
    TY_LIMIT_PROCESSES,
    TY_LIMIT_RETRIES,
    TY_LIMIT_COUNT
} ty_policy_limit;

struct ty_policy_names {
    bool given;         /* the list is in the document */
    bool all;           /* it holds "*" */
    const json_t *list; /* of names; a trailing * stands for any end */
};

struct ty_policy {
    atomic_uint references;
    json_t *document; /* a copy of its own */
    bool require_digest;
    bool names_nothing_to_judge; /* every list is open and no digest is asked for */
    struct ty_policy_names names[TY_LIST_COUNT];
    struct ty_image_pattern *images; /* parsed names[TY_LIST_IMAGES] */
    size_t images_count;
    int64_t limits[TY_LIMIT_COUNT]; /* INT64_MAX = none */
    const json_t *defaults;         /* objects, or NULL */
    const json_t *forced;
};

bool ty_policy_name_listed(const struct ty_policy *policy, ty_policy_list list, const char *name);

#endif
