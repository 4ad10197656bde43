/* The keywords that combine schemas. Branches are tried quietly; what is told when none fits is the
 * fault of the branch that was meant, as far as the type of the value shows it. */
#include "contract/check.h"

static bool holds(struct ty_check *check, const struct ty_schema *schema,
                  const struct ty_value *value)
{
    struct ty_faults *faults = check->faults;
    bool good;

    check->faults = NULL;
    good = ty_check_value(check, schema, value, NULL);
    check->faults = faults;
    return good;
}

static bool fail_explained(struct ty_check *check, const struct ty_schema *schema,
                           const struct ty_place *place, const char *code, const char *otherwise)
{
    return ty_check_fail(check, place, code, "%s", schema->explain ? schema->explain : otherwise);
}

/* Whether a branch asks for members and nothing else. */
static bool only_requires(const struct ty_schema *schema)
{
    return schema->required_count > 0 && schema->property_count == 0 && !schema->reference &&
           !schema->types;
}

static bool fail_no_branch(struct ty_check *check, const struct ty_schema *schema,
                           const struct ty_schema_list *branches, const struct ty_value *value,
                           const struct ty_place *place)
{
    uint32_t types = 0;
    char text[TY_TYPES_TEXT];

    if (!check->faults)
        return false;
    if (schema->explain)
        return fail_explained(check, schema, place,
                              only_requires(branches->items[0]) ? "required" : "no_match", "");
    for (size_t i = 0; i < branches->count; i++) {
        uint32_t fits = ty_schema_types(branches->items[i]);

        if (fits & value->type)
            return ty_check_value(check, branches->items[i], value, place);
        types |= fits;
    }
    ty_types_text(types, text);
    return ty_check_fail(check, place, "wrong_type", "must be %s", text);
}

static bool check_any_of(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_value *value, const struct ty_place *place)
{
    for (size_t i = 0; i < schema->any_of.count; i++) {
        if (holds(check, schema->any_of.items[i], value))
            return true;
    }
    return schema->any_of.count == 0 ||
           fail_no_branch(check, schema, &schema->any_of, value, place);
}

static bool check_one_of(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_value *value, const struct ty_place *place)
{
    size_t holding = 0;

    for (size_t i = 0; i < schema->one_of.count; i++)
        holding += holds(check, schema->one_of.items[i], value);
    if (holding == 1 || schema->one_of.count == 0)
        return true;
    if (holding > 1)
        return fail_explained(check, schema, place, "exclusive",
                              "may be in one of several forms only, not in two at once");
    return fail_no_branch(check, schema, &schema->one_of, value, place);
}

static bool check_all_of(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_value *value, const struct ty_place *place)
{
    bool good = true;

    for (size_t i = 0; i < schema->all_of.count && (good || check->faults); i++)
        good &= ty_check_value(check, schema->all_of.items[i], value, place);
    return good;
}

/* What is forbidden holds: blame the last member that it names, such as `b` for {required: [a, b]}.
 */
static bool fail_negated(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_value *value, const struct ty_place *place)
{
    const struct ty_schema *held = schema->negated;
    struct ty_place member = {.parent = place};
    const char *explain;

    for (size_t i = 0; i < held->any_of.count; i++) {
        if (holds(check, held->any_of.items[i], value)) {
            held = held->any_of.items[i];
            break;
        }
    }
    if (held->required_count > 0 && value->type == TYPE_OBJECT) {
        member.key = held->required[held->required_count - 1];
        place = &member;
    }
    explain = held->explain ? held->explain : schema->explain;
    return ty_check_fail(check, place, "not_allowed", "%s",
                         explain ? explain : "is not allowed here");
}

static bool check_condition(struct ty_check *check, const struct ty_schema *schema,
                            const struct ty_value *value, const struct ty_place *place)
{
    const struct ty_schema *branch =
        holds(check, schema->condition, value) ? schema->then : schema->otherwise;

    return !branch || ty_check_value(check, branch, value, place);
}

bool ty_check_combined(struct ty_check *check, const struct ty_schema *schema,
                       const struct ty_value *value, const struct ty_place *place)
{
    bool good = !schema->reference || ty_check_value(check, schema->reference, value, place);

    if (good || check->faults)
        good &= check_all_of(check, schema, value, place);
    if (good || check->faults)
        good &= check_any_of(check, schema, value, place);
    if (good || check->faults)
        good &= check_one_of(check, schema, value, place);
    if (schema->negated && good && holds(check, schema->negated, value))
        good = fail_negated(check, schema, value, place);
    if (schema->condition && (good || check->faults))
        good &= check_condition(check, schema, value, place);
    return good;
}
