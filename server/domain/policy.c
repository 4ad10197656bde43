/* A document becomes a policy: its lists, its limits as numbers, its patterns taken apart. */
#include "policy_inside.h"

#include "spec_reader.h"
#include "trainyard/base/str.h"

#include <stdlib.h>

const struct ty_policy_list_kind ty_policy_lists[TY_LIST_COUNT] = {
    [TY_LIST_IMAGES] = {"images",           "image_not_allowed"         },
    [TY_LIST_VOLUMES] = {"volumes",          "volume_not_allowed"        },
    [TY_LIST_STORAGE_CLASSES] = {"storage_classes",  "storage_class_not_allowed" },
    [TY_LIST_NODE_LABELS] = {"node_labels",      "node_label_not_allowed"    },
    [TY_LIST_TOLERATIONS] = {"tolerations",      "toleration_not_allowed"    },
    [TY_LIST_NAMESPACES] = {"namespaces",       "namespace_not_allowed"     },
    [TY_LIST_PRIORITY_CLASSES] = {"priority_classes", "priority_class_not_allowed"},
    [TY_LIST_QUEUES] = {"queues",           "queue_not_allowed"         },
    [TY_LIST_SCHEDULERS] = {"schedulers",       "scheduler_not_allowed"     },
    [TY_LIST_SECRETS] = {"secrets",          "secret_not_allowed"        },
};

typedef enum { IN_WHOLE, IN_MILLIS } limit_unit;

static const struct {
    const char *member;
    limit_unit unit; /* of a limit that is a quantity */
} limit_kinds[TY_LIMIT_COUNT] = {
    [TY_LIMIT_REPLICAS] = {"replicas",              IN_WHOLE },
    [TY_LIMIT_GPUS] = {"gpus",                  IN_WHOLE },
    [TY_LIMIT_GPUS_PER_REPLICA] = {"gpus_per_replica",      IN_WHOLE },
    [TY_LIMIT_CPU] = {"cpu",                   IN_MILLIS},
    [TY_LIMIT_MEMORY] = {"memory",                IN_WHOLE },
    [TY_LIMIT_TIMEOUT] = {"timeout_seconds",       IN_WHOLE },
    [TY_LIMIT_KEEP] = {"keep_seconds",          IN_WHOLE },
    [TY_LIMIT_SPEC_BYTES] = {"spec_bytes",            IN_WHOLE },
    [TY_LIMIT_PROCESSES] = {"processes_per_replica", IN_WHOLE },
    [TY_LIMIT_RETRIES] = {"max_retries",           IN_WHOLE },
};

/* Anything but a text is "", which stands for no name. */
static const char *name_at(const json_t *list, size_t index)
{
    const char *name = json_string_value(json_array_get(list, index));

    return name ? name : "";
}

static bool holds_star(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (ty_str_equal(name_at(list, i), "*"))
            return true;
    return false;
}

static const json_t *object_at(const json_t *document, const char *member)
{
    const json_t *value = json_object_get(document, member);

    return json_is_object(value) ? value : NULL;
}

static void read_names(struct ty_policy *policy)
{
    policy->names_nothing_to_judge = !policy->require_digest;
    for (size_t i = 0; i < TY_LIST_COUNT; i++) {
        const json_t *list = json_object_get(policy->document, ty_policy_lists[i].member);

        policy->names[i] =
            (struct ty_policy_names){.given = list, .all = holds_star(list), .list = list};
        policy->names_nothing_to_judge = policy->names_nothing_to_judge && policy->names[i].all;
    }
}

static void read_images(struct ty_spec_reader *reader, struct ty_policy *policy)
{
    const json_t *list = policy->names[TY_LIST_IMAGES].list;
    size_t mark = ty_spec_enter(reader, "images");

    policy->images = ty_spec_alloc(reader, json_array_size(list), sizeof(*policy->images));
    for (size_t i = 0; policy->images && i < json_array_size(list); i++) {
        size_t item = ty_spec_enter_index(reader, i);

        if (ty_image_pattern_parse(name_at(list, i), &policy->images[policy->images_count]) ==
            TY_OK)
            policy->images_count++;
        else
            ty_spec_fault(reader, "pattern_invalid",
                          "must be *, a repository with or without a tag or digest, or a registry "
                          "or path followed by /*");
        ty_spec_leave(reader, item);
    }
    ty_spec_leave(reader, mark);
}

/* A number, or a quantity as text. */
static ty_status limit_value(const json_t *value, limit_unit unit, int64_t *value_out)
{
    if (json_is_string(value))
        return unit == IN_MILLIS ? ty_quantity_parse(json_string_value(value), value_out)
                                 : ty_quantity_parse_whole(json_string_value(value), value_out);
    if (!json_is_integer(value) || json_integer_value(value) > INT64_MAX / 1000)
        return TY_INVALID;
    *value_out = json_integer_value(value) * (unit == IN_MILLIS ? 1000 : 1);
    return TY_OK;
}

static void read_limits(struct ty_spec_reader *reader, struct ty_policy *policy)
{
    const json_t *limits = json_object_get(policy->document, "limits");
    size_t mark = ty_spec_enter(reader, "limits");

    for (size_t i = 0; i < TY_LIMIT_COUNT; i++) {
        const json_t *value = json_object_get(limits, limit_kinds[i].member);

        policy->limits[i] = INT64_MAX;
        if (value && limit_value(value, limit_kinds[i].unit, &policy->limits[i]) != TY_OK)
            ty_spec_fault_in(reader, limit_kinds[i].member, "quantity_invalid",
                             "must be an integer or a quantity");
    }
    ty_spec_leave(reader, mark);
}

static void read_document(struct ty_spec_reader *reader, struct ty_policy *policy)
{
    policy->require_digest = json_is_true(json_object_get(policy->document, "require_digest"));
    read_names(policy);
    read_images(reader, policy);
    read_limits(reader, policy);
    policy->defaults = object_at(policy->document, "defaults");
    policy->forced = object_at(policy->document, "forced");
}

ty_status ty_policy_parse(const json_t *document, struct ty_policy **policy_out,
                          struct ty_faults *faults, struct ty_error *err)
{
    size_t before = faults->count + faults->dropped;
    struct ty_policy *policy = calloc(1, sizeof(*policy));
    struct ty_spec_reader reader;

    if (!policy)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a policy");
    atomic_init(&policy->references, 1);
    policy->document = json_deep_copy(document);
    if (!policy->document) {
        ty_policy_unref(policy);
        return ty_fail(err, TY_NO_MEMORY, "no memory for a policy");
    }
    ty_spec_reader_init(&reader, faults);
    read_document(&reader, policy);
    if (!reader.no_memory && faults->count + faults->dropped == before) {
        *policy_out = policy;
        return TY_OK;
    }
    ty_policy_unref(policy);
    if (reader.no_memory)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a policy");
    return ty_fail_code(err, TY_REFUSED, "validation_failed", "the policy is not allowed");
}

struct ty_policy *ty_policy_ref(struct ty_policy *policy)
{
    atomic_fetch_add_explicit(&policy->references, 1, memory_order_relaxed);
    return policy;
}

void ty_policy_unref(struct ty_policy *policy)
{
    if (!policy || atomic_fetch_sub_explicit(&policy->references, 1, memory_order_acq_rel) > 1)
        return;
    json_decref(policy->document);
    free(policy->images);
    free(policy);
}

bool ty_policy_name_listed(const struct ty_policy *policy, ty_policy_list list, const char *name)
{
    const struct ty_policy_names *names = &policy->names[list];

    if (names->all)
        return true;
    for (size_t i = 0; i < json_array_size(names->list); i++) {
        const char *allowed = name_at(names->list, i);
        size_t len = strlen(allowed);

        if (len > 0 && allowed[len - 1] == '*' ? strncmp(allowed, name, len - 1) == 0
                                               : ty_str_equal(allowed, name))
            return true;
    }
    return false;
}

bool ty_policy_lists_storage_class(const struct ty_policy *policy, const char *name)
{
    return ty_policy_name_listed(policy, TY_LIST_STORAGE_CLASSES, name);
}

bool ty_policy_lists_volume(const struct ty_policy *policy, const char *name)
{
    return ty_policy_name_listed(policy, TY_LIST_VOLUMES, name);
}

bool ty_policy_asks(const struct ty_policy *policy)
{
    return !policy->names[TY_LIST_VOLUMES].given || policy->defaults || policy->forced;
}

bool ty_policy_forces(const struct ty_policy *policy)
{
    return json_object_size(policy->forced) > 0;
}

int64_t ty_policy_max_replicas(const struct ty_policy *policy)
{
    return policy->limits[TY_LIMIT_REPLICAS];
}
