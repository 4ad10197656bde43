/* Typed reading of checked parameters. */
#include "contract/operation.h"

#include "trainyard/base/clock.h"

#include <assert.h>

static const struct ty_argument *find(const struct ty_arguments *arguments, const char *name,
                                      const struct ty_parameter_rule **rule_out)
{
    const struct ty_parameter_rule *rule = ty_operation_parameter(arguments->operation, name);

    assert(rule && "the operation has no such parameter");
    *rule_out = rule;
    return rule ? &arguments->values[rule - arguments->operation->parameters] : NULL;
}

static const struct ty_argument *find_kind(const struct ty_arguments *arguments, const char *name,
                                           ty_parameter_kind kind,
                                           const struct ty_parameter_rule **rule_out)
{
    const struct ty_argument *argument = find(arguments, name, rule_out);

    assert(argument && (*rule_out)->kind == kind && "the parameter is of another type");
    return argument && (*rule_out)->kind == kind ? argument : NULL;
}

bool ty_argument_given(const struct ty_arguments *arguments, const char *name)
{
    const struct ty_parameter_rule *rule;
    const struct ty_argument *argument = find(arguments, name, &rule);

    return argument && argument->given;
}

int64_t ty_argument_integer(const struct ty_arguments *arguments, const char *name)
{
    const struct ty_parameter_rule *rule;
    const struct ty_argument *argument = find_kind(arguments, name, KIND_INTEGER, &rule);

    if (!argument)
        return 0;
    return argument->given ? argument->value.integer
                           : json_integer_value(ty_schema_default(rule->schema));
}

bool ty_argument_boolean(const struct ty_arguments *arguments, const char *name)
{
    const struct ty_parameter_rule *rule;
    const struct ty_argument *argument = find_kind(arguments, name, KIND_BOOLEAN, &rule);

    if (!argument)
        return false;
    return argument->given ? argument->value.boolean
                           : json_is_true(ty_schema_default(rule->schema));
}

const char *ty_argument_text(const struct ty_arguments *arguments, const char *name)
{
    const struct ty_parameter_rule *rule;
    const struct ty_argument *argument = find_kind(arguments, name, KIND_TEXT, &rule);

    if (!argument)
        return NULL;
    return argument->given ? argument->value.text
                           : json_string_value(ty_schema_default(rule->schema));
}

int64_t ty_argument_time(const struct ty_arguments *arguments, const char *name)
{
    const struct ty_parameter_rule *rule;
    const struct ty_argument *argument = find_kind(arguments, name, KIND_TIME, &rule);

    return argument && argument->given ? argument->value.integer : 0;
}

size_t ty_argument_count(const struct ty_arguments *arguments, const char *name)
{
    const struct ty_parameter_rule *rule;
    const struct ty_argument *argument = find_kind(arguments, name, KIND_LIST, &rule);

    return argument ? argument->value.list.count : 0;
}

const char *ty_argument_item(const struct ty_arguments *arguments, const char *name, size_t index)
{
    const struct ty_parameter_rule *rule;
    const struct ty_argument *argument = find_kind(arguments, name, KIND_LIST, &rule);

    if (!argument || index >= argument->value.list.count)
        return NULL;
    return arguments->items[argument->value.list.first + index];
}
