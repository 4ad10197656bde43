/* A value against one schema node: type, then the keywords of that type, then those that combine
 * schemas. Nothing is allocated unless there is a fault, but for what PCRE2 needs to match. */
#include "contract/check.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* A chain of references without a step into the value would never end; JSON itself nests 32 deep.
 */
enum { DEPTH_MAX = 200 };

void ty_check_init(struct ty_check *check, struct ty_faults *faults)
{
    *check = (struct ty_check){.faults = faults, .kind = TY_AT_POINTER};
}

void ty_check_done(struct ty_check *check)
{
    ty_matcher_done(&check->matcher);
}

bool ty_check_fail(struct ty_check *check, const struct ty_place *place, const char *code,
                   const char *format, ...)
{
    char pointer[TY_POINTER_TEXT];
    char detail[256];
    va_list args;

    if (!check->faults)
        return false;
    if (check->faults->count == TY_FAULTS_MAX) {
        check->faults->dropped++;
        return false;
    }
    va_start(args, format);
    (void)vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    ty_place_pointer(place, pointer);
    ty_faults_add(check->faults, check->kind, check->kind == TY_AT_POINTER ? pointer : check->name,
                  code, "%s", detail);
    return false;
}

struct ty_value ty_value_of(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_STRING:
        return (struct ty_value){
            .type = TYPE_STRING, .text = json_string_value(json), .len = json_string_length(json)};
    case JSON_INTEGER:
        return (struct ty_value){.type = TYPE_INTEGER,
                                 .integer = json_integer_value(json),
                                 .real = (double)json_integer_value(json)};
    case JSON_REAL:
        return (struct ty_value){.type = TYPE_NUMBER, .real = json_real_value(json)};
    case JSON_TRUE:
    case JSON_FALSE:
        return (struct ty_value){.type = TYPE_BOOLEAN, .boolean = json_is_true(json)};
    case JSON_ARRAY:
        return (struct ty_value){.type = TYPE_ARRAY, .json = json};
    case JSON_OBJECT:
        return (struct ty_value){.type = TYPE_OBJECT, .json = json};
    case JSON_NULL:
        break;
    }
    return (struct ty_value){.type = TYPE_NULL};
}

/* --- types --- */
void ty_types_text(uint32_t wanted, char out[TY_TYPES_TEXT])
{
    static const struct {
        uint32_t bit;
        const char *text;
    } names[] = {
        {TYPE_OBJECT,  "an object"    },
        {TYPE_ARRAY,   "an array"     },
        {TYPE_STRING,  "a string"     },
        {TYPE_NUMBER,  "a number"     },
        {TYPE_INTEGER, "an integer"   },
        {TYPE_BOOLEAN, "true or false"},
        {TYPE_NULL,    "null"         },
    };
    size_t len = 0;

    if (wanted & TYPE_NUMBER)
        wanted &= ~(uint32_t)TYPE_INTEGER;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(wanted & names[i].bit))
            continue;
        len += (size_t)snprintf(out + len, TY_TYPES_TEXT - len, "%s%s", len > 0 ? " or " : "",
                                names[i].text);
    }
}

static bool check_type(struct ty_check *check, const struct ty_schema *schema,
                       const struct ty_value *value, const struct ty_place *place)
{
    char text[TY_TYPES_TEXT];

    if (!schema->types || schema->types & value->type)
        return true;
    if (!check->faults)
        return false;
    ty_types_text(schema->types, text);
    return ty_check_fail(check, place, "wrong_type", "must be %s%s", text,
                         value->type == TYPE_NUMBER && schema->types & TYPE_INTEGER
                             ? " written without fraction or exponent"
                             : "");
}

/* --- enum, const --- */
static bool equals(const struct ty_value *value, const json_t *json)
{
    struct ty_value other = ty_value_of(json);

    switch (value->type) {
    case TYPE_STRING:
        return other.type == TYPE_STRING && other.len == value->len &&
               memcmp(other.text, value->text, value->len) == 0;
    case TYPE_INTEGER:
        return other.type == TYPE_INTEGER && other.integer == value->integer;
    case TYPE_NUMBER:
        return other.type == TYPE_NUMBER && !(other.real < value->real) &&
               !(other.real > value->real);
    case TYPE_BOOLEAN:
        return other.type == TYPE_BOOLEAN && other.boolean == value->boolean;
    case TYPE_NULL:
        return other.type == TYPE_NULL;
    default:
        return json_equal(value->json, json) != 0;
    }
}

static void list_values(const json_t *values, char *out, size_t size)
{
    size_t len = 0;
    size_t index;
    const json_t *item;

    out[0] = '\0';
    json_array_foreach(values, index, item)
    {
        char *text = json_is_string(item) ? NULL : json_dumps(item, JSON_ENCODE_ANY | JSON_COMPACT);
        int wrote = snprintf(out + len, size - len, "%s%s", index > 0 ? ", " : "",
                             json_is_string(item) ? json_string_value(item)
                             : text               ? text
                                                  : "?");

        free(text);
        if (wrote < 0 || (size_t)wrote >= size - len)
            return;
        len += (size_t)wrote;
    }
}

static bool check_values(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_value *value, const struct ty_place *place)
{
    char list[200];
    size_t index;
    const json_t *item;

    if (schema->constant && !equals(value, schema->constant))
        return ty_check_fail(check, place, "not_equal", "must be the one value allowed here");
    if (!schema->enumeration)
        return true;
    json_array_foreach(schema->enumeration, index, item)
    {
        if (equals(value, item))
            return true;
    }
    if (!check->faults)
        return false;
    list_values(schema->enumeration, list, sizeof list);
    return ty_check_fail(check, place, "not_in_enum", "must be one of %s", list);
}

/* --- strings --- */
static size_t count_characters(const struct ty_value *value)
{
    size_t count = 0;

    for (size_t i = 0; i < value->len; i++)
        count += ((unsigned char)value->text[i] & 0xc0) != 0x80;
    return count;
}

bool ty_check_count(struct ty_check *check, const struct ty_count_limits *limits, size_t count,
                    const struct ty_place *place)
{
    if (limits->most->given && count > limits->most->value)
        return ty_check_fail(check, place, limits->many, "has %zu %s; at most %zu are allowed",
                             count, limits->unit, limits->most->value);
    if (limits->least->given && count < limits->least->value)
        return ty_check_fail(check, place, limits->few, "has %zu %s; at least %zu are needed",
                             count, limits->unit, limits->least->value);
    return true;
}

static bool check_length(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_value *value, const struct ty_place *place)
{
    const struct ty_count_limits limits = {&schema->min_length, &schema->max_length, "too_short",
                                           "too_long", "characters"};
    size_t count =
        value->len; /* of bytes: no fewer than of characters, at most four times as many */

    if ((schema->max_length.given && count > schema->max_length.value) ||
        (schema->min_length.given && count < 4 * schema->min_length.value))
        count = count_characters(value);
    return ty_check_count(check, &limits, count, place);
}

/* RFC 4648 4: the alphabet, padding to whole groups of four, no loose bits. */
static bool is_base64(const char *text, size_t len)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t digits = strspn(text, alphabet);
    size_t padding = len - digits;
    size_t last;

    if (len % 4 != 0 || padding > 2)
        return false;
    if (padding == 0)
        return true;
    last = (size_t)(strchr(alphabet, text[digits - 1]) - alphabet);
    return text[digits] == '=' && text[len - 1] == '=' && last % (padding == 2 ? 16 : 4) == 0;
}

static bool check_format(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_value *value, const struct ty_place *place)
{
    int64_t time;

    if (schema->format == FORMAT_DATE_TIME && ty_time_parse(value->text, &time) != TY_OK)
        return ty_check_fail(check, place, "bad_format",
                             "must be a time such as 2026-01-02T03:04:05Z");
    if (schema->format == FORMAT_BASE64 && !is_base64(value->text, value->len))
        return ty_check_fail(check, place, "bad_format",
                             "must be base64 (RFC 4648 section 4, with padding)");
    return true;
}

static bool check_string(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_value *value, const struct ty_place *place)
{
    bool matches = true;

    if (!check_length(check, schema, value, place))
        return false;
    if (schema->pattern &&
        ty_pattern_match(schema->pattern, &check->matcher, value->text, value->len, &matches))
        check->no_memory = true;
    if (!matches)
        return ty_check_fail(check, place, "pattern", "%s",
                             schema->explain ? schema->explain : "is not of the form needed here");
    return check_format(check, schema, value, place);
}

/* --- numbers --- */
/* Below 0, 0 or above 0; exact where both are integers. */
static int compare(const struct ty_value *value, const struct ty_bound *bound)
{
    if (value->type == TYPE_INTEGER && bound->integral)
        return (value->integer > bound->integer) - (value->integer < bound->integer);
    return (value->real > bound->real) - (value->real < bound->real);
}

static bool fail_bound(struct ty_check *check, const struct ty_place *place, const char *words,
                       const struct ty_bound *bound)
{
    if (bound->integral)
        return ty_check_fail(check, place, "out_of_range", "must be %s %" JSON_INTEGER_FORMAT,
                             words, bound->integer);
    return ty_check_fail(check, place, "out_of_range", "must be %s %.15g", words, bound->real);
}

static bool check_number(struct ty_check *check, const struct ty_schema *schema,
                         const struct ty_value *value, const struct ty_place *place)
{
    if (schema->minimum.given && compare(value, &schema->minimum) < 0)
        return fail_bound(check, place, "at least", &schema->minimum);
    if (schema->maximum.given && compare(value, &schema->maximum) > 0)
        return fail_bound(check, place, "at most", &schema->maximum);
    if (schema->above.given && compare(value, &schema->above) <= 0)
        return fail_bound(check, place, "above", &schema->above);
    if (schema->below.given && compare(value, &schema->below) >= 0)
        return fail_bound(check, place, "below", &schema->below);
    if (schema->multiple && value->type == TYPE_INTEGER && value->integer % schema->multiple != 0)
        return ty_check_fail(check, place, "not_multiple",
                             "must be a multiple of %" JSON_INTEGER_FORMAT, schema->multiple);
    return true;
}

/* --- arrays --- */
static bool check_unique(struct ty_check *check, const json_t *array, const struct ty_place *place)
{
    size_t size = json_array_size(array);

    for (size_t i = 1; i < size; i++) {
        for (size_t j = 0; j < i; j++) {
            struct ty_place at = {.parent = place, .index = i};

            if (json_equal(json_array_get(array, i), json_array_get(array, j)))
                return ty_check_fail(check, &at, "not_unique", "is the same as item %zu", j);
        }
    }
    return true;
}

static bool check_array(struct ty_check *check, const struct ty_schema *schema, const json_t *array,
                        const struct ty_place *place)
{
    const struct ty_count_limits limits = {&schema->min_items, &schema->max_items, "too_few_items",
                                           "too_many_items", "items"};
    size_t size = json_array_size(array);
    bool good = ty_check_count(check, &limits, size, place);

    if (!good && schema->max_items.given && size > schema->max_items.value)
        return false; /* its items are not looked at: each could be one fault more */
    for (size_t i = 0; i < size && (good || check->faults); i++) {
        struct ty_place at = {.parent = place, .index = i};
        struct ty_value item = ty_value_of(json_array_get(array, i));
        const struct ty_schema *rule =
            i < schema->first.count ? schema->first.items[i] : schema->items;

        if (!rule)
            break;
        good &= ty_check_value(check, rule, &item, &at);
    }
    if (schema->unique && good)
        good = check_unique(check, array, place);
    return good;
}

static bool check_by_type(struct ty_check *check, const struct ty_schema *schema,
                          const struct ty_value *value, const struct ty_place *place)
{
    switch (value->type) {
    case TYPE_STRING:
        return check_string(check, schema, value, place);
    case TYPE_INTEGER:
    case TYPE_NUMBER:
        return check_number(check, schema, value, place);
    case TYPE_ARRAY:
        return check_array(check, schema, value->json, place);
    case TYPE_OBJECT:
        return ty_check_object(check, schema, value->json, place);
    default:
        return true;
    }
}

bool ty_check_value(struct ty_check *check, const struct ty_schema *schema,
                    const struct ty_value *value, const struct ty_place *place)
{
    bool good;

    if (schema->never)
        return ty_check_fail(check, place, "not_allowed", "must not be given");
    if (check->depth == DEPTH_MAX)
        return ty_check_fail(check, place, "too_deep", "is nested too deeply");
    check->depth++;
    /* A value of the wrong type has no further faults worth telling. */
    good = check_type(check, schema, value, place) && check_values(check, schema, value, place);
    if (good) {
        good = check_by_type(check, schema, value, place);
        if (good || check->faults)
            good &= ty_check_combined(check, schema, value, place);
    }
    check->depth--;
    return good;
}
