/* Affinity and tolerations: the same terms under the spec's names. */
#include "import.h"

#include "trainyard/base/str.h"

static const struct import_choice operators[] = {
    {"In",           "in"            },
    {"NotIn",        "not_in"        },
    {"Exists",       "exists"        },
    {"DoesNotExist", "does_not_exist"},
    {"Gt",           "gt"            },
    {"Lt",           "lt"            },
    {NULL,           NULL            }
};

/* Read each item of a list by `read` into a new object of the target's list `member`. */
static void read_items(struct import *im, const json_t *list, const char *member,
                       import_reader *read)
{
    size_t index;
    json_t *item;

    if (!import_is_array(im, list) || json_array_size(list) == 0)
        return;
    struct import_target before = import_into(im, member, true);

    json_array_foreach(list, index, item)
    {
        size_t mark = import_enter_index(im, index);
        struct import_target inner = import_into_last(im);

        read(im, item);
        import_back(im, inner);
        import_leave(im, mark);
    }
    import_back(im, before);
}

static void need(struct import *im, const json_t *object, const char *field)
{
    if (json_is_object(object) && !import_get(object, field))
        import_fault_in(im, field, "required", "is missing");
}

/* clang-format off */
static const struct import_rule expression_rules[] = {
    FIELD_AS(IMPORT_TEXT, "key", "key"),
    FIELD_CHOICE("operator", "operator", operators),
    FIELD_AS(IMPORT_TEXTS, "values", "values"),
};
/* clang-format on */

static void read_expression(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, expression_rules);
    need(im, value, "key");
    need(im, value, "operator");
}

static void read_match(struct import *im, const json_t *value)
{
    read_items(im, value, "match", read_expression);
}

static void read_match_fields(struct import *im, const json_t *value)
{
    read_items(im, value, "match_fields", read_expression);
}

/* clang-format off */
static const struct import_rule node_term_rules[] = {
    FIELD_READ("matchExpressions", read_match, NULL),
    FIELD_READ("matchFields", read_match_fields, NULL),
};
/* clang-format on */

static void read_node_term(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, node_term_rules);
}

static void read_node_terms(struct import *im, const json_t *value)
{
    read_items(im, value, "required", read_node_term);
}

/* clang-format off */
static const struct import_rule selector_rules[] = {
    FIELD_READ("nodeSelectorTerms", read_node_terms, NULL),
};
static const struct import_rule preference_rules[] = {
    FIELD_AS(IMPORT_INTEGER, "weight", "weight"),
    FIELD_READ("preference", read_node_term, NULL),
};
/* clang-format on */

static void read_selector(struct import *im, const json_t *value)
{
    const json_t *terms = import_get(value, "nodeSelectorTerms");

    IMPORT_BY(im, value, selector_rules);
    need(im, value, "nodeSelectorTerms");
    if (json_is_array(terms) && json_array_size(terms) == 0)
        import_fault_in(im, "nodeSelectorTerms", "too_few_items", "must have a term");
}

static void read_preference(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, preference_rules);
    need(im, value, "weight");
    need(im, value, "preference");
}

static void read_preferences(struct import *im, const json_t *value)
{
    read_items(im, value, "preferred", read_preference);
}

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

/* clang-format off */
static const struct import_rule node_rules[] = {
    FIELD_READ(REQUIRED, read_selector, NULL),
    FIELD_READ(PREFERRED, read_preferences, NULL),
};
static const struct import_rule labels_rules[] = {
    FIELD_AS(IMPORT_PAIRS, "matchLabels", "labels"),
    FIELD_READ("matchExpressions", read_match, NULL),
};
/* clang-format on */

/* The operator's label of a job's pods holds the name of the job in the cluster, which the gateway
 * makes anew: a term that names this job by it would choose no pod. */
static const char pods_of_job[] = "training.kubeflow.org/job-name";

static void check_chosen(struct import *im, const char *field, const json_t *text)
{
    if (!im->ours && json_is_string(text) && im->job.name &&
        ty_str_equal(json_string_value(text), im->job.name))
        import_fault_in(im, field, "not_supported",
                        "the job's pods carry another name here: choose them by the label "
                        "trainyard.dev/job-name");
}

static void check_chosen_by_expression(struct import *im, const json_t *expression)
{
    const char *key = import_get_text(expression, "key");
    size_t index;
    json_t *text;

    if (!key || !ty_str_equal(key, pods_of_job))
        return;
    json_array_foreach(json_object_get(expression, "values"), index, text)
    {
        check_chosen(im, "values", text);
    }
}

static void read_labels(struct import *im, const json_t *value)
{
    size_t index;
    json_t *expression;

    IMPORT_BY(im, value, labels_rules);
    size_t mark = import_enter(im, "matchLabels");

    check_chosen(im, pods_of_job, import_get(import_get(value, "matchLabels"), pods_of_job));
    import_leave(im, mark);
    mark = import_enter(im, "matchExpressions");
    json_array_foreach(import_get(value, "matchExpressions"), index, expression)
    {
        size_t item = import_enter_index(im, index);

        check_chosen_by_expression(im, expression);
        import_leave(im, item);
    }
    import_leave(im, mark);
}

/* clang-format off */
static const struct import_rule pod_term_rules[] = {
    FIELD_READ("labelSelector", read_labels, NULL),
    FIELD_AS(IMPORT_TEXT, "topologyKey", "topology_key"),
    FIELD_AS(IMPORT_TEXTS, "namespaces", "namespaces"),
    FIELD_REFUSED("namespaceSelector", NULL, "name the namespaces"),
    FIELD_REFUSED("matchLabelKeys", "[]", "the gateway has no such setting"),
    FIELD_REFUSED("mismatchLabelKeys", "[]", "the gateway has no such setting"),
};
/* clang-format on */

static void read_pod_term(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, pod_term_rules);
    need(im, value, "topologyKey");
    need(im, value, "labelSelector"); /* without one Kubernetes means no pod at all */
}

static void read_pod_terms(struct import *im, const json_t *value)
{
    read_items(im, value, "required", read_pod_term);
}

/* clang-format off */
static const struct import_rule weighted_rules[] = {
    FIELD_AS(IMPORT_INTEGER, "weight", "weight"),
    FIELD_READ("podAffinityTerm", read_pod_term, NULL),
};
/* clang-format on */

static void read_weighted(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, weighted_rules);
    need(im, value, "weight");
    need(im, value, "podAffinityTerm");
}

static void read_weighted_terms(struct import *im, const json_t *value)
{
    read_items(im, value, "preferred", read_weighted);
}

/* clang-format off */
static const struct import_rule pods_rules[] = {
    FIELD_READ(REQUIRED, read_pod_terms, NULL),
    FIELD_READ(PREFERRED, read_weighted_terms, NULL),
};
/* clang-format on */

static void read_kind(struct import *im, const char *member, const json_t *value,
                      const struct import_rule *rules)
{
    struct import_target before = import_into(im, member, false);

    import_fields(im, value, rules, 2);
    size_t found = json_object_size(im->target);

    import_back(im, before);
    if (found == 0)
        json_object_del(im->target, member);
}

static void read_node(struct import *im, const json_t *value)
{
    read_kind(im, "node", value, node_rules);
}

static void read_pods(struct import *im, const json_t *value)
{
    read_kind(im, "pods", value, pods_rules);
}

static void read_apart(struct import *im, const json_t *value)
{
    read_kind(im, "pods_apart", value, pods_rules);
}

/* clang-format off */
static const struct import_rule affinity_rules[] = {
    FIELD_READ("nodeAffinity", read_node, NULL),
    FIELD_READ("podAffinity", read_pods, NULL),
    FIELD_READ("podAntiAffinity", read_apart, NULL),
};
/* clang-format on */

void import_affinity(struct import *im, const json_t *value)
{
    struct import_target before = import_into(im, "affinity", false);

    IMPORT_BY(im, value, affinity_rules);
    size_t found = json_object_size(im->target);

    import_back(im, before);
    if (found == 0)
        json_object_del(im->target, "affinity");
}

/* --- tolerations --- */

static const struct import_choice toleration_operators[] = {
    {"Equal",  "equal" },
    {"Exists", "exists"},
    {NULL,     NULL    }
};
static const struct import_choice effects[] = {
    {"NoSchedule",       "no_schedule"       },
    {"PreferNoSchedule", "prefer_no_schedule"},
    {"NoExecute",        "no_execute"        },
    {NULL,               NULL                }
};

/* clang-format off */
static const struct import_rule toleration_rules[] = {
    FIELD_AS(IMPORT_TEXT, "key", "key"),
    FIELD_CHOICE("operator", "operator", toleration_operators),
    FIELD_AS(IMPORT_TEXT, "value", "value"),
    FIELD_CHOICE("effect", "effect", effects),
    FIELD_AS(IMPORT_INTEGER, "tolerationSeconds", "seconds"),
};
/* clang-format on */

static void read_toleration(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, toleration_rules);
}

void import_tolerations(struct import *im, const json_t *value)
{
    read_items(im, value, "tolerations", read_toleration);
}
