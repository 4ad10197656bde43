/* The parameters of an operation, from the document. */
#include "contract/operation.h"

#include "trainyard/base/str.h"

static ty_status read_place(const json_t *json, const struct ty_place *place,
                            struct ty_parameter_rule *rule, struct ty_error *err)
{
    const char *in = json_string_value(json_object_get(json, "in"));

    rule->name = json_string_value(json_object_get(json, "name"));
    if (!rule->name || !in)
        return ty_compiler_fail(place, err, "a parameter needs name and in");
    if (ty_str_equal(in, "path"))
        rule->in = IN_PATH;
    else if (ty_str_equal(in, "query"))
        rule->in = IN_QUERY;
    else if (ty_str_equal(in, "header"))
        rule->in = IN_HEADER;
    else
        return ty_compiler_fail(place, err, "%s: parameters in %s are not known", rule->name, in);
    return TY_OK;
}

static bool is_date_time(const struct ty_schema *schema)
{
    for (int hops = 0; !schema->format && schema->reference && hops < 16; hops++)
        schema = schema->reference;
    return schema->format == FORMAT_DATE_TIME;
}

/* A list is sent as name=a&name=b (style form, explode true, which are the defaults of a query). */
static ty_status check_list(const json_t *json, const struct ty_place *place,
                            const struct ty_parameter_rule *rule, struct ty_error *err)
{
    const char *style = json_string_value(json_object_get(json, "style"));
    const struct ty_schema *schema = rule->schema;

    if (rule->in != IN_QUERY || (style && !ty_str_equal(style, "form")) ||
        json_is_false(json_object_get(json, "explode")))
        return ty_compiler_fail(place, err, "%s: lists are exploded query forms", rule->name);
    if (schema->reference || !schema->items || !schema->max_items.given ||
        schema->max_items.value > TY_ARGUMENT_ITEMS_MAX || schema->unique)
        return ty_compiler_fail(place, err, "%s: a list has items and maxItems of at most %d",
                                rule->name, TY_ARGUMENT_ITEMS_MAX);
    if (rule->split_commas && !schema->items->enumeration &&
        !(schema->items->reference && schema->items->reference->enumeration))
        return ty_compiler_fail(place, err, "%s: only an enum can be split at commas", rule->name);
    return TY_OK;
}

static ty_status read_kind(const json_t *json, const struct ty_place *place,
                           struct ty_parameter_rule *rule, struct ty_error *err)
{
    switch (ty_schema_types(rule->schema)) {
    case TYPE_INTEGER:
        rule->kind = KIND_INTEGER;
        return TY_OK;
    case TYPE_BOOLEAN:
        rule->kind = KIND_BOOLEAN;
        return TY_OK;
    case TYPE_STRING:
        rule->kind = is_date_time(rule->schema) ? KIND_TIME : KIND_TEXT;
        return TY_OK;
    case TYPE_ARRAY:
        rule->kind = KIND_LIST;
        return check_list(json, place, rule, err);
    default:
        return ty_compiler_fail(place, err, "%s: must be of one simple type or a list", rule->name);
    }
}

static ty_status read_rule(struct ty_compiler *compiler, const json_t *json,
                           const struct ty_place *place, struct ty_parameter_rule *rule_out,
                           struct ty_error *err)
{
    struct ty_parameter_rule rule = {
        .required = json_is_true(json_object_get(json, "required")),
        .raw_bytes = json_is_true(json_object_get(json, "x-raw-bytes")),
        .split_commas = json_is_true(json_object_get(json, "x-split-commas")),
    };
    ty_status status = read_place(json, place, &rule, err);

    if (!status)
        status = ty_compiler_compile(compiler, json_object_get(json, "schema"), place, &rule.schema,
                                     err);
    if (!status)
        status = read_kind(json, place, &rule, err);
    if (!status)
        *rule_out = rule;
    return status;
}

/* The operation's own parameter takes the place of the path item's. */
static struct ty_parameter_rule *slot_for(struct ty_operation *operation,
                                          const struct ty_parameter_rule *rule)
{
    for (size_t i = 0; i < operation->parameter_count; i++) {
        struct ty_parameter_rule *other = &operation->parameters[i];

        if (other->in == rule->in && ty_str_equal(other->name, rule->name))
            return other;
    }
    return operation->parameter_count < TY_ARGUMENTS_MAX
               ? &operation->parameters[operation->parameter_count++]
               : NULL;
}

static ty_status read_rules(struct ty_compiler *compiler, const json_t *list,
                            const struct ty_place *place, struct ty_operation *operation,
                            struct ty_error *err)
{
    size_t index;
    const json_t *item;

    json_array_foreach(list, index, item)
    {
        struct ty_place parameters = {.parent = place, .key = "parameters"};
        struct ty_place at = {.parent = &parameters, .index = index};
        struct ty_parameter_rule rule;
        struct ty_parameter_rule *slot;
        ty_status status = ty_operation_follow(compiler, item, &item, err);

        if (!status)
            status = read_rule(compiler, item, &at, &rule, err);
        if (status)
            return status;
        slot = slot_for(operation, &rule);
        if (!slot)
            return ty_compiler_fail(&at, err, "more than %d parameters", TY_ARGUMENTS_MAX);
        *slot = rule;
    }
    return TY_OK;
}

ty_status ty_operation_compile_parameters(struct ty_compiler *compiler,
                                          const struct ty_operation_source *source,
                                          struct ty_operation *operation, struct ty_error *err)
{
    ty_status status;

    operation->parameters =
        ty_compiler_alloc(compiler, TY_ARGUMENTS_MAX * sizeof *operation->parameters);
    if (!operation->parameters)
        return ty_fail(err, TY_NO_MEMORY, "no memory for parameters");
    status = read_rules(compiler, json_object_get(source->path_item, "parameters"), source->place,
                        operation, err);
    if (!status)
        status = read_rules(compiler, json_object_get(source->json, "parameters"), source->place,
                            operation, err);
    return status;
}

const struct ty_parameter_rule *ty_operation_parameter(const struct ty_operation *operation,
                                                       const char *name)
{
    for (size_t i = 0; i < operation->parameter_count; i++) {
        if (ty_str_equal(operation->parameters[i].name, name))
            return &operation->parameters[i];
    }
    return NULL;
}
