/* Objects: which members there are, and each of them. */
#include "contract/check.h"

#include "trainyard/base/str.h"

enum { GUESS_NAME = 32, GUESS_DISTANCE = 2 };

static size_t least(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;

    return smaller < c ? smaller : c;
}

/* Edits from one name to the other (Levenshtein); letters compare without case. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[GUESS_NAME + 1];

    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t above = row[j];
            size_t change = (a[i - 1] | 0x20) == (b[j - 1] | 0x20) ? 0 : 1;

            row[j] = least(above + 1, row[j - 1] + 1, diagonal + change);
            diagonal = above;
        }
    }
    return row[b_len];
}

/* The known name that an unknown one was probably meant to be; NULL when none is near. */
static const char *guess(const struct ty_schema *schema, const char *name)
{
    size_t len = strlen(name);
    size_t best = GUESS_DISTANCE + 1;
    const char *nearest = NULL;

    if (len > GUESS_NAME || len < 3)
        return NULL;
    for (size_t i = 0; i < schema->property_count; i++) {
        const char *known = schema->properties[i].name;
        size_t known_len = strlen(known);
        size_t edits = known_len > GUESS_NAME ? best : distance(name, len, known, known_len);

        if (edits < best) {
            best = edits;
            nearest = known;
        }
    }
    return nearest;
}

static bool fail_unknown(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_place *place)
{
    const char *meant;

    if (!check->faults || check->faults->count == TY_FAULTS_MAX)
        return ty_check_fail(check, place, "unknown_member", "is not known here");
    meant = guess(schema, place->key);
    if (!meant)
        return ty_check_fail(check, place, "unknown_member", "is not known here");
    return ty_check_fail(check, place, "unknown_member", "is not known here; did you mean %s?",
                         meant);
}

static bool check_name(struct ty_check *check, const struct ty_schema *schema,
                       const struct ty_place *place)
{
    struct ty_value name = {.type = TYPE_STRING, .text = place->key, .len = strlen(place->key)};
    struct ty_faults *faults = check->faults;
    const char *explain = ty_schema_explain(schema->names);
    bool good;

    check->faults = NULL;
    good = ty_check_value(check, schema->names, &name, place);
    check->faults = faults;
    return good || ty_check_fail(check, place, "bad_name", "%s",
                                 explain ? explain : "is not a name allowed here");
}

static bool check_member(struct ty_check *check, const struct ty_schema *schema,
                         const json_t *member, const struct ty_place *place)
{
    const struct ty_property *property = ty_schema_property(schema, place->key);
    const struct ty_schema *rule = property ? property->schema : schema->additional;
    struct ty_value value;

    if (!property && rule && rule->never)
        return fail_unknown(check, schema, place);
    if (schema->names && !check_name(check, schema, place))
        return false;
    if (!rule)
        return true;
    value = ty_value_of(member);
    return ty_check_value(check, rule, &value, place);
}

static bool check_size(struct ty_check *check, const struct ty_schema *schema, const json_t *object,
                       const struct ty_place *place)
{
    const struct ty_count_limits limits = {&schema->min_members, &schema->max_members,
                                           "too_few_members", "too_many_members", "members"};

    return ty_check_count(check, &limits, json_object_size(object), place);
}

bool ty_check_object(struct ty_check *check, const struct ty_schema *schema, const json_t *object,
                     const struct ty_place *place)
{
    json_t *members = (json_t *)object; /* only read */
    bool good = true;
    const char *key;
    json_t *member;

    for (size_t i = 0; i < schema->required_count; i++) {
        struct ty_place at = {.parent = place, .key = schema->required[i]};

        if (!json_object_get(object, schema->required[i]))
            good = ty_check_fail(check, &at, "required", "must be given");
        if (!good && !check->faults)
            return false;
    }
    if (!check_size(check, schema, object, place))
        return false;
    if (schema->property_count == 0 && !schema->additional && !schema->names)
        return good;
    json_object_foreach(members, key, member)
    {
        struct ty_place at = {.parent = place, .key = key};

        good &= check_member(check, schema, member, &at);
        if (!good && !check->faults)
            return false;
    }
    return good;
}
