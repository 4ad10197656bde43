/* Where the pods of a role may run, in the cluster's own words. */
#include "parts.h"

static const char *const match_operators[] = {
    [TY_MATCH_IN] = "In",         [TY_MATCH_NOT_IN] = "NotIn",
    [TY_MATCH_EXISTS] = "Exists", [TY_MATCH_DOES_NOT_EXIST] = "DoesNotExist",
    [TY_MATCH_GT] = "Gt",         [TY_MATCH_LT] = "Lt",
};

static const char *const tolerate_operators[] = {
    [TY_TOLERATE_EQUAL] = "Equal", [TY_TOLERATE_EXISTS] = "Exists"};

static const char *const effects[] = {
    [TY_TAINT_ANY] = NULL,
    [TY_TAINT_NO_SCHEDULE] = "NoSchedule",
    [TY_TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
    [TY_TAINT_NO_EXECUTE] = "NoExecute",
};

static void put_pairs(struct ty_tree *tree, json_t *object, const struct ty_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++)
        ty_tree_put_text(tree, object, pairs->items[i].name, pairs->items[i].value);
}

static void put_texts(struct ty_tree *tree, json_t *object, const char *key, char **texts,
                      size_t count)
{
    json_t *array = count > 0 ? ty_tree_put_array(tree, object, key) : NULL;

    for (size_t i = 0; i < count; i++)
        ty_tree_append(tree, array, json_string(texts[i]));
}

static void put_matches(struct ty_tree *tree, json_t *object, const char *key,
                        const struct ty_matches *matches)
{
    json_t *array = matches->count > 0 ? ty_tree_put_array(tree, object, key) : NULL;

    for (size_t i = 0; i < matches->count; i++) {
        const struct ty_match *match = &matches->items[i];
        json_t *entry = ty_tree_append_object(tree, array);

        ty_tree_put_text(tree, entry, "key", match->key);
        ty_tree_put_text(tree, entry, "operator", match_operators[match->op]);
        put_texts(tree, entry, "values", match->values, match->values_count);
    }
}

/* --- nodes --- */

static void put_node_term(struct ty_tree *tree, json_t *object, const struct ty_node_term *term)
{
    put_matches(tree, object, "matchExpressions", &term->match);
    put_matches(tree, object, "matchFields", &term->match_fields);
}

static void render_node_affinity(struct ty_tree *tree, const struct ty_affinity *affinity,
                                 json_t *parent)
{
    const struct ty_node_terms *required = &affinity->node_required;
    const struct ty_node_terms *preferred = &affinity->node_preferred;

    if (required->count + preferred->count == 0)
        return;
    json_t *object = ty_tree_put_object(tree, parent, "nodeAffinity");

    if (required->count > 0) {
        json_t *rule =
            ty_tree_put_object(tree, object, "requiredDuringSchedulingIgnoredDuringExecution");
        json_t *terms = ty_tree_put_array(tree, rule, "nodeSelectorTerms");

        for (size_t i = 0; i < required->count; i++)
            put_node_term(tree, ty_tree_append_object(tree, terms), &required->items[i]);
    }
    if (preferred->count > 0) {
        json_t *terms =
            ty_tree_put_array(tree, object, "preferredDuringSchedulingIgnoredDuringExecution");

        for (size_t i = 0; i < preferred->count; i++) {
            json_t *term = ty_tree_append_object(tree, terms);

            ty_tree_put_int(tree, term, "weight", preferred->items[i].weight);
            put_node_term(tree, ty_tree_put_object(tree, term, "preference"), &preferred->items[i]);
        }
    }
}

/* --- pods --- */

static void put_pod_term(struct ty_tree *tree, json_t *object, const struct ty_pod_term *term)
{
    json_t *selector = ty_tree_put_object(tree, object, "labelSelector");

    if (term->labels.count > 0)
        put_pairs(tree, ty_tree_put_object(tree, selector, "matchLabels"), &term->labels);
    put_matches(tree, selector, "matchExpressions", &term->match);
    ty_tree_put_text(tree, object, "topologyKey", term->topology_key);
    put_texts(tree, object, "namespaces", term->namespaces, term->namespaces_count);
}

static void render_pod_affinity(struct ty_tree *tree, const char *key,
                                const struct ty_pod_terms *required,
                                const struct ty_pod_terms *preferred, json_t *parent)
{
    if (required->count + preferred->count == 0)
        return;
    json_t *object = ty_tree_put_object(tree, parent, key);

    if (required->count > 0) {
        json_t *terms =
            ty_tree_put_array(tree, object, "requiredDuringSchedulingIgnoredDuringExecution");

        for (size_t i = 0; i < required->count; i++)
            put_pod_term(tree, ty_tree_append_object(tree, terms), &required->items[i]);
    }
    if (preferred->count > 0) {
        json_t *terms =
            ty_tree_put_array(tree, object, "preferredDuringSchedulingIgnoredDuringExecution");

        for (size_t i = 0; i < preferred->count; i++) {
            json_t *term = ty_tree_append_object(tree, terms);

            ty_tree_put_int(tree, term, "weight", preferred->items[i].weight);
            put_pod_term(tree, ty_tree_put_object(tree, term, "podAffinityTerm"),
                         &preferred->items[i]);
        }
    }
}

static bool has_affinity(const struct ty_affinity *affinity)
{
    return affinity->node_required.count + affinity->node_preferred.count +
               affinity->pods_required.count + affinity->pods_preferred.count +
               affinity->apart_required.count + affinity->apart_preferred.count >
           0;
}

static void render_tolerations(struct ty_tree *tree, const struct ty_tolerations *tolerations,
                               json_t *pod)
{
    json_t *array = tolerations->count > 0 ? ty_tree_put_array(tree, pod, "tolerations") : NULL;

    for (size_t i = 0; i < tolerations->count; i++) {
        const struct ty_toleration *toleration = &tolerations->items[i];
        json_t *entry = ty_tree_append_object(tree, array);

        if (toleration->key)
            ty_tree_put_text(tree, entry, "key", toleration->key);
        ty_tree_put_text(tree, entry, "operator", tolerate_operators[toleration->op]);
        if (toleration->value && toleration->value[0] != '\0')
            ty_tree_put_text(tree, entry, "value", toleration->value);
        if (toleration->effect != TY_TAINT_ANY)
            ty_tree_put_text(tree, entry, "effect", effects[toleration->effect]);
        if (toleration->seconds >= 0)
            ty_tree_put_int(tree, entry, "tolerationSeconds", toleration->seconds);
    }
}

void ty_render_placement(struct ty_tree *tree, const struct ty_job_spec *spec,
                         const struct ty_spec_role *role, json_t *pod)
{
    const struct ty_affinity *affinity = role->affinity;

    if (role->node_selector->count > 0)
        put_pairs(tree, ty_tree_put_object(tree, pod, "nodeSelector"), role->node_selector);
    if (has_affinity(affinity)) {
        json_t *object = ty_tree_put_object(tree, pod, "affinity");

        render_node_affinity(tree, affinity, object);
        render_pod_affinity(tree, "podAffinity", &affinity->pods_required,
                            &affinity->pods_preferred, object);
        render_pod_affinity(tree, "podAntiAffinity", &affinity->apart_required,
                            &affinity->apart_preferred, object);
    }
    render_tolerations(tree, role->tolerations, pod);
    if (spec->priority_class)
        ty_tree_put_text(tree, pod, "priorityClassName", spec->priority_class);
    if (spec->scheduler)
        ty_tree_put_text(tree, pod, "schedulerName", spec->scheduler);
}
