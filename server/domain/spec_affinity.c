/* Affinity, judged as the cluster would judge it: it refuses a bad rule only with the pods, when
 * the job exists already. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

enum { TERMS_MAX = 32, MATCHES_MAX = 32, VALUES_MAX = 64, NAMESPACES_MAX = 16, WEIGHT_MAX = 100 };

static const char *const operators[] = {
    [TY_MATCH_IN] = "in",
    [TY_MATCH_NOT_IN] = "not_in",
    [TY_MATCH_EXISTS] = "exists",
    [TY_MATCH_DOES_NOT_EXIST] = "does_not_exist",
    [TY_MATCH_GT] = "gt",
    [TY_MATCH_LT] = "lt",
    NULL,
};

/* --- rules for labels and fields --- */

struct raw_match {
    const char *key;
    int32_t op;
    const json_t *values;
};

static const struct ty_field match_fields[] = {
    {"key",      TY_FIELD_BORROWED, offsetof(struct raw_match, key),    1, 0, NULL     },
    {"operator", TY_FIELD_CHOICE,   offsetof(struct raw_match, op),     0, 0, operators},
    {"values",   TY_FIELD_JSON,     offsetof(struct raw_match, values), 0, 0, NULL     },
};

static void check_count(struct ty_spec_reader *reader, const struct ty_match *match)
{
    switch (match->op) {
    case TY_MATCH_IN:
    case TY_MATCH_NOT_IN:
        if (match->values_count == 0)
            ty_spec_fault_in(reader, "values", "values_needed", "in and not_in need values");
        break;
    case TY_MATCH_EXISTS:
    case TY_MATCH_DOES_NOT_EXIST:
        if (match->values_count > 0)
            ty_spec_fault_in(reader, "values", "values_unused",
                             "exists and does_not_exist go without values");
        break;
    case TY_MATCH_GT:
    case TY_MATCH_LT: {
        int64_t number;

        if (match->values_count != 1 ||
            ty_str_to_int(match->values[0], 0, INT64_MAX, &number) != TY_OK)
            ty_spec_fault_in(reader, "values", "value_not_integer",
                             "gt and lt need one integer of at least 0");
        break;
    }
    }
}

static void read_match(struct ty_spec_reader *reader, const json_t *value, struct ty_match *match)
{
    struct raw_match raw = {.op = TY_NOT_GIVEN};
    size_t before = reader->faults->count;

    ty_spec_read_fields(reader, value, match_fields, 3, &raw);
    if (!json_is_object(value))
        return;
    if (!json_object_get(value, "key"))
        ty_spec_fault_in(reader, "key", "required", "is missing");
    if (!json_object_get(value, "operator"))
        ty_spec_fault_in(reader, "operator", "required", "is missing");
    if (raw.values) {
        size_t mark = ty_spec_enter(reader, "values");

        if (json_array_size(raw.values) > VALUES_MAX)
            ty_spec_fault(reader, "too_many", "has %zu items; at most %d are allowed",
                          json_array_size(raw.values), VALUES_MAX);
        else
            ty_spec_read_texts(reader, raw.values, &match->values, &match->values_count);
        ty_spec_leave(reader, mark);
    }
    match->key = ty_spec_dup(reader, raw.key);
    match->op = raw.op == TY_NOT_GIVEN ? TY_MATCH_IN : (ty_match_operator)raw.op;
    if (reader->faults->count == before && !reader->no_memory)
        check_count(reader, match);
}

static void check_key(struct ty_spec_reader *reader, const char *key)
{
    if (!ty_spec_qualified_name_valid(key))
        ty_spec_fault_in(reader, "key", "key_invalid",
                         "must be a label's key, such as topology.kubernetes.io/zone");
}

static void check_values(struct ty_spec_reader *reader, const struct ty_match *match)
{
    size_t mark = ty_spec_enter(reader, "values");

    for (size_t i = 0; i < match->values_count; i++) {
        size_t inner = ty_spec_enter_index(reader, i);

        if (!ty_spec_label_value_valid(match->values[i]))
            ty_spec_fault(reader, "label_invalid",
                          "a label's value has at most 63 letters, digits, . _ and -, with a "
                          "letter or digit at both ends");
        ty_spec_leave(reader, inner);
    }
    ty_spec_leave(reader, mark);
}

static void read_node_match(struct ty_spec_reader *reader, const json_t *value, void *item)
{
    struct ty_match *match = item;

    read_match(reader, value, match);
    if (match->key)
        check_key(reader, match->key);
    check_values(reader, match);
}

static void refuse_operator(struct ty_spec_reader *reader, const struct ty_match *match,
                            ty_match_operator last)
{
    if (match->op > last)
        ty_spec_fault_in(reader, "operator", "unknown_value", "is none of the values allowed here");
}

static void read_pod_match(struct ty_spec_reader *reader, const json_t *value, void *item)
{
    read_node_match(reader, value, item);
    refuse_operator(reader, item, TY_MATCH_DOES_NOT_EXIST);
}

/* A node's one field is its name, and a name is one value. */
static void read_field_match(struct ty_spec_reader *reader, const json_t *value, void *item)
{
    struct ty_match *match = item;

    read_match(reader, value, match);
    if (match->key && !ty_str_equal(match->key, "metadata.name"))
        ty_spec_fault_in(reader, "key", "unknown_value", "must be metadata.name");
    refuse_operator(reader, match, TY_MATCH_NOT_IN);
    if (match->op <= TY_MATCH_NOT_IN && match->values_count > 1)
        ty_spec_fault_in(reader, "values", "too_many", "must be one name");
    if (match->values_count == 1 && !ty_dns1123_subdomain(match->values[0]))
        ty_spec_fault_in(reader, "values", "node_name_invalid", "must be the name of a node");
}

static void read_matches(struct ty_spec_reader *reader, const char *token, const json_t *array,
                         ty_spec_read_item *read, struct ty_matches *matches_out)
{
    size_t mark = ty_spec_enter(reader, token);

    if (array)
        matches_out->items = ty_spec_read_items(
            reader, array, MATCHES_MAX, sizeof(*matches_out->items), read, &matches_out->count);
    ty_spec_leave(reader, mark);
}

/* --- terms for nodes --- */

struct raw_node_term {
    int32_t weight;
    const json_t *match;
    const json_t *match_fields;
};

#define NODE_TERM(member) offsetof(struct raw_node_term, member)

/* The weight stands last, so that required terms are read without it. */
static const struct ty_field node_term_fields[] = {
    {"match",        TY_FIELD_JSON,  NODE_TERM(match),        0, 0,          NULL},
    {"match_fields", TY_FIELD_JSON,  NODE_TERM(match_fields), 0, 0,          NULL},
    {"weight",       TY_FIELD_INT32, NODE_TERM(weight),       1, WEIGHT_MAX, NULL},
};

enum { NODE_TERM_FIELDS = 3 };

static void check_weight(struct ty_spec_reader *reader, const json_t *value)
{
    if (!json_object_get(value, "weight"))
        ty_spec_fault_in(reader, "weight", "required", "is missing");
}

static void read_node_term_of(struct ty_spec_reader *reader, const json_t *value, size_t fields,
                              struct ty_node_term *term)
{
    struct raw_node_term raw = {0};

    ty_spec_read_fields(reader, value, node_term_fields, fields, &raw);
    if (!json_is_object(value))
        return;
    read_matches(reader, "match", raw.match, read_node_match, &term->match);
    read_matches(reader, "match_fields", raw.match_fields, read_field_match, &term->match_fields);
    if (json_array_size(raw.match) + json_array_size(raw.match_fields) == 0)
        ty_spec_fault(reader, "match_needed", "match or match_fields must be given");
    term->weight = raw.weight;
}

static void read_node_term(struct ty_spec_reader *reader, const json_t *value, void *item)
{
    read_node_term_of(reader, value, NODE_TERM_FIELDS - 1, item);
}

static void read_weighted_node_term(struct ty_spec_reader *reader, const json_t *value, void *item)
{
    read_node_term_of(reader, value, NODE_TERM_FIELDS, item);
    if (json_is_object(value))
        check_weight(reader, value);
}

/* --- terms for pods --- */

struct raw_pod_term {
    int32_t weight;
    const char *topology_key;
    const json_t *labels;
    const json_t *match;
    const json_t *namespaces;
};

#define POD_TERM(member) offsetof(struct raw_pod_term, member)

static const struct ty_field pod_term_fields[] = {
    {"topology_key", TY_FIELD_BORROWED, POD_TERM(topology_key), 1, 0,          NULL},
    {"labels",       TY_FIELD_JSON,     POD_TERM(labels),       0, 0,          NULL},
    {"match",        TY_FIELD_JSON,     POD_TERM(match),        0, 0,          NULL},
    {"namespaces",   TY_FIELD_JSON,     POD_TERM(namespaces),   0, 0,          NULL},
    {"weight",       TY_FIELD_INT32,    POD_TERM(weight),       1, WEIGHT_MAX, NULL},
};

enum { POD_TERM_FIELDS = 5 };

static void read_namespaces(struct ty_spec_reader *reader, const json_t *array,
                            struct ty_pod_term *term)
{
    size_t mark = ty_spec_enter(reader, "namespaces");

    if (json_array_size(array) > NAMESPACES_MAX)
        ty_spec_fault(reader, "too_many", "has %zu items; at most %d are allowed",
                      json_array_size(array), NAMESPACES_MAX);
    else
        ty_spec_read_texts(reader, array, &term->namespaces, &term->namespaces_count);
    for (size_t i = 0; i < term->namespaces_count; i++) {
        size_t inner = ty_spec_enter_index(reader, i);

        if (!ty_dns1123_label(term->namespaces[i]))
            ty_spec_fault(reader, "namespace_invalid",
                          "must be lower-case letters, digits and -, without - at either end");
        ty_spec_leave(reader, inner);
    }
    ty_spec_leave(reader, mark);
}

static void read_pod_term_of(struct ty_spec_reader *reader, const json_t *value, size_t fields,
                             struct ty_pod_term *term)
{
    struct raw_pod_term raw = {0};

    ty_spec_read_fields(reader, value, pod_term_fields, fields, &raw);
    if (!json_is_object(value))
        return;
    if (!json_object_get(value, "topology_key"))
        ty_spec_fault_in(reader, "topology_key", "required", "is missing");
    else if (raw.topology_key && !ty_spec_qualified_name_valid(raw.topology_key))
        ty_spec_fault_in(reader, "topology_key", "key_invalid",
                         "must be a label's key, such as kubernetes.io/hostname");
    if (!raw.labels && !raw.match)
        ty_spec_fault(reader, "match_needed", "labels or match must be given");
    if (raw.labels) {
        size_t mark = ty_spec_enter(reader, "labels");

        ty_spec_read_qualified(reader, raw.labels, &term->labels);
        ty_spec_leave(reader, mark);
    }
    read_matches(reader, "match", raw.match, read_pod_match, &term->match);
    if (raw.namespaces)
        read_namespaces(reader, raw.namespaces, term);
    term->topology_key = ty_spec_dup(reader, raw.topology_key);
    term->weight = raw.weight;
}

static void read_pod_term(struct ty_spec_reader *reader, const json_t *value, void *item)
{
    read_pod_term_of(reader, value, POD_TERM_FIELDS - 1, item);
}

static void read_weighted_pod_term(struct ty_spec_reader *reader, const json_t *value, void *item)
{
    read_pod_term_of(reader, value, POD_TERM_FIELDS, item);
    if (json_is_object(value))
        check_weight(reader, value);
}

/* --- the three kinds --- */

struct raw_rules {
    const json_t *required;
    const json_t *preferred;
};

static const struct ty_field rules_fields[] = {
    {"required",  TY_FIELD_JSON, offsetof(struct raw_rules, required),  0, 0, NULL},
    {"preferred", TY_FIELD_JSON, offsetof(struct raw_rules, preferred), 0, 0, NULL},
};

static void *read_terms(struct ty_spec_reader *reader, const char *token, const json_t *array,
                        size_t size, ty_spec_read_item *read, size_t *count_out)
{
    if (!array)
        return NULL;
    size_t mark = ty_spec_enter(reader, token);
    void *items = ty_spec_read_items(reader, array, TERMS_MAX, size, read, count_out);

    ty_spec_leave(reader, mark);
    return items;
}

static void read_nodes(struct ty_spec_reader *reader, const json_t *object,
                       struct ty_affinity *affinity)
{
    struct raw_rules raw = {0};
    size_t mark = ty_spec_enter(reader, "node");
    struct ty_node_terms *required = &affinity->node_required;
    struct ty_node_terms *preferred = &affinity->node_preferred;

    ty_spec_read_fields(reader, object, rules_fields, 2, &raw);
    required->items = read_terms(reader, "required", raw.required, sizeof(*required->items),
                                 read_node_term, &required->count);
    preferred->items = read_terms(reader, "preferred", raw.preferred, sizeof(*preferred->items),
                                  read_weighted_node_term, &preferred->count);
    ty_spec_leave(reader, mark);
}

static void read_pods(struct ty_spec_reader *reader, const char *token, const json_t *object,
                      struct ty_pod_terms *required, struct ty_pod_terms *preferred)
{
    struct raw_rules raw = {0};
    size_t mark = ty_spec_enter(reader, token);

    ty_spec_read_fields(reader, object, rules_fields, 2, &raw);
    required->items = read_terms(reader, "required", raw.required, sizeof(*required->items),
                                 read_pod_term, &required->count);
    preferred->items = read_terms(reader, "preferred", raw.preferred, sizeof(*preferred->items),
                                  read_weighted_pod_term, &preferred->count);
    ty_spec_leave(reader, mark);
}

struct raw_affinity {
    const json_t *node;
    const json_t *pods;
    const json_t *apart;
};

static const struct ty_field affinity_fields[] = {
    {"node",       TY_FIELD_JSON, offsetof(struct raw_affinity, node),  0, 0, NULL},
    {"pods",       TY_FIELD_JSON, offsetof(struct raw_affinity, pods),  0, 0, NULL},
    {"pods_apart", TY_FIELD_JSON, offsetof(struct raw_affinity, apart), 0, 0, NULL},
};

void ty_spec_read_affinity(struct ty_spec_reader *reader, const json_t *object,
                           struct ty_affinity *affinity_out)
{
    struct raw_affinity raw = {0};

    ty_spec_read_fields(reader, object, affinity_fields, 3, &raw);
    if (raw.node)
        read_nodes(reader, raw.node, affinity_out);
    if (raw.pods)
        read_pods(reader, "pods", raw.pods, &affinity_out->pods_required,
                  &affinity_out->pods_preferred);
    if (raw.apart)
        read_pods(reader, "pods_apart", raw.apart, &affinity_out->apart_required,
                  &affinity_out->apart_preferred);
}
