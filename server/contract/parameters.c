/* Parameters of one request: each is found, read from its text into its type, and held against its
 * schema. */
#include "contract/check.h"
#include "contract/operation.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/str.h"

#include <string.h>

struct reading {
    const struct ty_operation *operation;
    const struct ty_parameter_source *source;
    struct ty_arguments *arguments;
    struct ty_check check;
    bool path_faulty;
};

static bool fail(struct reading *reading, const struct ty_parameter_rule *rule, const char *code,
                 const char *words)
{
    reading->check.kind = rule->in == IN_HEADER ? TY_AT_HEADER : TY_AT_PARAMETER;
    reading->check.name = rule->name;
    return ty_check_fail(&reading->check, NULL, code, "%s", words);
}

/* --- text to value --- */
/* What ty_str_to_int takes, whatever its size: told apart so that a number too large is out of
 * range and not of the wrong type. */
static bool is_integer(const char *text)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    size_t len = strspn(digits, "0123456789");

    return len > 0 && digits[len] == '\0' && (digits[0] != '0' || (len == 1 && digits == text));
}

static bool read_integer(struct reading *reading, const struct ty_parameter_rule *rule,
                         const char *text, struct ty_value *value)
{
    int64_t integer;

    if (!is_integer(text))
        return fail(reading, rule, "wrong_type", "must be an integer in decimal digits");
    if (ty_str_to_int(text, INT64_MIN, INT64_MAX, &integer) != TY_OK)
        return fail(reading, rule, "out_of_range", "is not within 64 bits");
    *value = (struct ty_value){.type = TYPE_INTEGER, .integer = integer, .real = (double)integer};
    return true;
}

static bool read_boolean(struct reading *reading, const struct ty_parameter_rule *rule,
                         const char *text, struct ty_value *value)
{
    bool yes = ty_str_equal(text, "true");

    if (!yes && !ty_str_equal(text, "false"))
        return fail(reading, rule, "wrong_type", "must be true or false");
    *value = (struct ty_value){.type = TYPE_BOOLEAN, .boolean = yes};
    return true;
}

static bool read_text(struct reading *reading, const struct ty_parameter_rule *rule,
                      const char *text, size_t len, struct ty_value *value)
{
    if (!ty_utf8_valid(text, len))
        return fail(reading, rule, "not_utf8", "must be well-formed UTF-8");
    *value = (struct ty_value){.type = TYPE_STRING, .text = text, .len = len};
    return true;
}

/* --- value against schema --- */
static bool keeps_to(struct reading *reading, const struct ty_parameter_rule *rule,
                     const struct ty_schema *schema, const struct ty_value *value)
{
    reading->check.kind = rule->in == IN_HEADER ? TY_AT_HEADER : TY_AT_PARAMETER;
    reading->check.name = rule->name;
    return ty_check_value(&reading->check, schema, value, NULL);
}

/* Bytes that are no UTF-8 stand as U+FFFD while the form is judged. */
static bool keeps_to_repaired(struct reading *reading, const struct ty_parameter_rule *rule,
                              const char *text)
{
    char repaired[3 * 4096];
    size_t len = strlen(text);
    size_t used;
    struct ty_value value = {.type = TYPE_STRING, .text = repaired};

    if (len > sizeof repaired / 3)
        return fail(reading, rule, "too_long", "has more than 4096 bytes");
    value.len = ty_utf8_repair(text, len, true, repaired, &used);
    return keeps_to(reading, rule, rule->schema, &value);
}

static struct ty_argument *argument_of(struct reading *reading,
                                       const struct ty_parameter_rule *rule)
{
    return &reading->arguments->values[rule - reading->operation->parameters];
}

static bool take(struct reading *reading, const struct ty_parameter_rule *rule, const char *text)
{
    struct ty_argument *argument = argument_of(reading, rule);
    struct ty_value value = {0};

    argument->given = true;
    switch (rule->kind) {
    case KIND_INTEGER:
        if (!read_integer(reading, rule, text, &value))
            return false;
        argument->value.integer = value.integer;
        return keeps_to(reading, rule, rule->schema, &value);
    case KIND_BOOLEAN:
        if (!read_boolean(reading, rule, text, &value))
            return false;
        argument->value.boolean = value.boolean;
        return keeps_to(reading, rule, rule->schema, &value);
    default:
        argument->value.text = text;
        if (rule->raw_bytes)
            return keeps_to_repaired(reading, rule, text);
        return read_text(reading, rule, text, strlen(text), &value) &&
               keeps_to(reading, rule, rule->schema, &value) &&
               (rule->kind != KIND_TIME || ty_time_parse(text, &argument->value.integer) == TY_OK);
    }
}

/* --- lists --- */
/* The enum's own text, which is NUL-ended where a piece of a list is not. */
static const char *enum_text(const struct ty_schema *schema, const char *text, size_t len)
{
    const json_t *values = schema->enumeration || !schema->reference
                               ? schema->enumeration
                               : schema->reference->enumeration;
    size_t index;
    const json_t *value;

    json_array_foreach(values, index, value)
    {
        if (json_string_length(value) == len && memcmp(json_string_value(value), text, len) == 0)
            return json_string_value(value);
    }
    return NULL;
}

static bool take_item(struct reading *reading, const struct ty_parameter_rule *rule,
                      const char *text, size_t len)
{
    struct ty_arguments *arguments = reading->arguments;
    struct ty_argument *argument = argument_of(reading, rule);
    struct ty_value value = {0};

    if (argument->value.list.count == rule->schema->max_items.value ||
        arguments->item_count == TY_ARGUMENT_ITEMS_MAX)
        return fail(reading, rule, "too_many_items", "is given more often than is allowed");
    if (!read_text(reading, rule, text, len, &value) ||
        !keeps_to(reading, rule, rule->schema->items, &value))
        return false;
    arguments->items[arguments->item_count++] =
        rule->split_commas ? enum_text(rule->schema->items, text, len) : text;
    argument->value.list.count++;
    return true;
}

static bool take_items(struct reading *reading, const struct ty_parameter_rule *rule,
                       const char *text)
{
    bool good = true;
    size_t len = rule->split_commas ? strcspn(text, ",") : strlen(text);

    while (good && text[len] == ',') {
        good = take_item(reading, rule, text, len);
        text += len + 1;
        len = strcspn(text, ",");
    }
    return good && take_item(reading, rule, text, len);
}

static void read_list(struct reading *reading, const struct ty_parameter_rule *rule)
{
    struct ty_argument *argument = argument_of(reading, rule);
    const char *name;
    const char *text;

    argument->value.list.first = (uint16_t)reading->arguments->item_count;
    for (size_t i = 0; reading->source->query(reading->source->context, i, &name, &text); i++) {
        if (!ty_str_equal(name, rule->name))
            continue;
        argument->given = true;
        if (!take_items(reading, rule, text))
            return;
    }
}

/* --- finding --- */
/* The value of a query parameter that may be given once. */
static const char *find_query(struct reading *reading, const struct ty_parameter_rule *rule)
{
    const char *found = NULL;
    const char *name;
    const char *text;

    for (size_t i = 0; reading->source->query(reading->source->context, i, &name, &text); i++) {
        if (!ty_str_equal(name, rule->name))
            continue;
        if (found) {
            fail(reading, rule, "repeated", "may be given only once");
            return found;
        }
        found = text;
    }
    return found;
}

static void read_rule(struct reading *reading, const struct ty_parameter_rule *rule)
{
    const char *text =
        rule->in == IN_PATH     ? reading->source->variable(reading->source->context, rule->name)
        : rule->in == IN_HEADER ? reading->source->header(reading->source->context, rule->name)
                                : find_query(reading, rule);
    bool good = text ? take(reading, rule, text)
                     : !rule->required || fail(reading, rule, "required", "must be given");

    if (!good && rule->in == IN_PATH)
        reading->path_faulty = true;
}

static void check_names(struct reading *reading)
{
    const char *name;
    const char *text;

    for (size_t i = 0; reading->source->query(reading->source->context, i, &name, &text); i++) {
        const struct ty_parameter_rule *rule = ty_operation_parameter(reading->operation, name);
        bool utf8 = ty_utf8_valid(name, strlen(name));

        if (rule && rule->in == IN_QUERY)
            continue;
        ty_faults_add(reading->check.faults, TY_AT_PARAMETER, utf8 ? name : "?",
                      "unknown_parameter", "is not a parameter of this operation");
    }
}

static ty_status judge(const struct reading *reading, struct ty_error *err)
{
    const struct ty_faults *faults = reading->check.faults;

    if (reading->check.no_memory)
        return ty_fail(err, TY_NO_MEMORY, "no memory to check parameters");
    if (reading->path_faulty)
        return ty_fail_code(err, TY_NOT_FOUND, "not_found", "there is no such object");
    if (ty_faults_any(faults))
        return ty_fail_code(err, TY_INVALID, "invalid_parameter", "the parameters have %zu faults",
                            faults->count + faults->dropped);
    return TY_OK;
}

ty_status ty_operation_check_parameters(const struct ty_operation *operation,
                                        const struct ty_parameter_source *source,
                                        struct ty_arguments *arguments_out,
                                        struct ty_faults *faults, struct ty_error *err)
{
    struct ty_arguments arguments = {.operation = operation};
    struct reading reading = {.operation = operation, .source = source, .arguments = &arguments};
    ty_status status;

    ty_check_init(&reading.check, faults);
    for (size_t i = 0; i < operation->parameter_count; i++) {
        const struct ty_parameter_rule *rule = &operation->parameters[i];

        if (rule->kind == KIND_LIST)
            read_list(&reading, rule);
        else
            read_rule(&reading, rule);
    }
    check_names(&reading);
    ty_check_done(&reading.check);
    status = judge(&reading, err);
    if (!status)
        *arguments_out = arguments;
    return status;
}
