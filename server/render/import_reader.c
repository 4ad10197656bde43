/* The steps of reading: pointers, faults, values by their type, and the loop over a table. */
#include "import.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <stdarg.h>
#include <stdio.h>

/* --- where we are --- */

static void add_char(struct import *im, char c)
{
    if (im->at_len + 1 < sizeof(im->at))
        im->at[im->at_len++] = c;
    im->at[im->at_len] = '\0';
}

size_t import_enter(struct import *im, const char *token)
{
    size_t mark = im->at_len;

    add_char(im, '/');
    for (; *token; token++) {
        if (*token == '~' || *token == '/')
            add_char(im, '~');
        add_char(im, *token == '~' ? '0' : *token == '/' ? '1' : *token);
    }
    return mark;
}

size_t import_enter_index(struct import *im, size_t index)
{
    char token[24];

    snprintf(token, sizeof(token), "%zu", index);
    return import_enter(im, token);
}

void import_leave(struct import *im, size_t mark)
{
    im->at_len = mark;
    im->at[mark] = '\0';
}

void import_go(struct import *im, const struct import_object *object)
{
    im->document = object->document;
    im->at_len = strlen(object->at);
    memcpy(im->at, object->at, im->at_len + 1);
}

/* --- faults and warnings --- */

enum { DETAIL = sizeof(((struct ty_fault *)NULL)->detail) };

static void add_fault(struct import *im, const char *code, const char *detail)
{
    struct ty_faults *faults = im->faults;
    size_t before = faults->count;

    ty_faults_add(faults, TY_AT_POINTER, im->at, code, "%s", detail);
    if (faults->count > before)
        faults->items[before].document = im->document;
}

void import_fault(struct import *im, const char *code, const char *format, ...)
{
    char detail[DETAIL];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    add_fault(im, code, detail);
}

void import_fault_in(struct import *im, const char *token, const char *code, const char *format,
                     ...)
{
    size_t mark = import_enter(im, token);
    char detail[DETAIL];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    add_fault(im, code, detail);
    import_leave(im, mark);
}

void import_warn(struct import *im, const char *code, const char *format, ...)
{
    char message[DETAIL];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    json_t *warning =
        json_pack("{s:s,s:s,s:s}", "code", code, "pointer", im->at, "message", message);

    if (json_array_append_new(im->warnings, warning) != 0)
        im->no_memory = true;
}

/* --- values --- */

const char *import_text(struct import *im, const json_t *value)
{
    const char *text = json_string_value(value);

    if (text && strlen(text) == json_string_length(value))
        return text;
    if (text)
        import_fault(im, "nul_byte", "must not hold a NUL");
    else
        import_fault(im, "wrong_type", "must be text%s",
                     json_is_object(value) || json_is_array(value) ? "" : ": put it in quotes");
    return NULL;
}

bool import_integer(struct import *im, const json_t *value, int64_t *number_out)
{
    if (!json_is_integer(value)) {
        import_fault(im, "wrong_type", "must be a whole number%s",
                     json_is_string(value) ? ", not text" : "");
        return false;
    }
    *number_out = json_integer_value(value);
    return true;
}

json_t *import_quantity(struct import *im, const json_t *value)
{
    char text[IMPORT_NUMBER];

    if (json_is_integer(value)) {
        snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
        return import_made(im, json_string(text));
    }
    if (!json_is_string(value)) {
        import_fault(im, "wrong_type", "must be a quantity: text, or a whole number");
        return NULL;
    }
    return import_text(im, value) ? import_copy(im, value) : NULL;
}

bool import_is_array(struct import *im, const json_t *value)
{
    if (json_is_array(value))
        return true;
    import_fault(im, "wrong_type", "must be a list");
    return false;
}

bool import_is_short(struct import *im, const json_t *value)
{
    if (!import_is_array(im, value))
        return false;
    if (json_array_size(value) <= IMPORT_ITEMS)
        return true;
    import_fault(im, "too_many_items", "has %zu items; at most %d are read", json_array_size(value),
                 IMPORT_ITEMS);
    return false;
}

bool import_spend(struct import *im, size_t len)
{
    bool fits = im->copied <= IMPORT_COPIED && len <= IMPORT_COPIED - im->copied;

    if (!fits && im->copied <= IMPORT_COPIED)
        import_fault(im, "too_long",
                     "here ConfigMaps and variables, where they are used, pass %d MiB in all",
                     IMPORT_COPIED / (1024 * 1024));
    im->copied = fits ? im->copied + len : IMPORT_COPIED + (size_t)1;
    return fits;
}

bool import_is_object(struct import *im, const json_t *value)
{
    if (json_is_object(value))
        return true;
    import_fault(im, "wrong_type", "must be an object");
    return false;
}

const char *import_choose(struct import *im, const json_t *value,
                          const struct import_choice *choices)
{
    const char *text = import_text(im, value);
    char all[160] = "";
    size_t len = 0;

    for (const struct import_choice *choice = choices; text && choice->from; choice++) {
        if (ty_str_equal(choice->from, text))
            return choice->to;
        if (len < sizeof(all))
            len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", len > 0 ? ", " : "",
                                    choice->from);
    }
    if (text)
        import_fault(im, "not_in_enum", "must be one of %s", all);
    return NULL;
}

const json_t *import_get(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);

    return json_is_null(value) ? NULL : value;
}

const char *import_get_text(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

/* --- the loop over a table --- */

static bool is_normal(struct import *im, const json_t *value, const char *normal)
{
    ty_auto_json expected = normal ? json_loads(normal, JSON_DECODE_ANY, NULL) : NULL;

    if (normal && !expected)
        im->no_memory = true;
    return expected && json_equal(value, expected);
}

static void put_texts(struct import *im, const char *member, const json_t *value)
{
    size_t index;
    json_t *item;
    bool good = import_is_array(im, value);

    json_array_foreach(value, index, item)
    {
        size_t mark = import_enter_index(im, index);

        good = import_text(im, item) && good;
        import_leave(im, mark);
    }
    if (good)
        import_put(im, member, import_copy(im, value));
}

static void put_pairs(struct import *im, const char *member, const json_t *value)
{
    const char *key;
    json_t *item;

    if (!import_is_object(im, value))
        return;
    struct import_target before = import_into(im, member, false);

    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        size_t mark = import_enter(im, key);

        if (import_text(im, item))
            import_put(im, key, import_copy(im, item));
        import_leave(im, mark);
    }
    import_back(im, before);
}

static void take(struct import *im, const struct import_rule *rule, const json_t *value)
{
    int64_t number = 0;
    const char *text;

    switch (rule->kind) {
    case IMPORT_REFUSED:
        import_fault(im, "not_supported", "%s", rule->reason);
        break;
    case IMPORT_READ:
        rule->read(im, value);
        break;
    case IMPORT_TEXT:
        if (import_text(im, value))
            import_put(im, rule->to, import_copy(im, value));
        break;
    case IMPORT_INTEGER:
        if (import_integer(im, value, &number))
            import_put(im, rule->to, json_integer(number));
        break;
    case IMPORT_BOOLEAN:
        if (json_is_boolean(value))
            import_put(im, rule->to, json_boolean(json_is_true(value)));
        else
            import_fault(im, "wrong_type", "must be true or false");
        break;
    case IMPORT_CHOICE:
        text = import_choose(im, value, rule->choices);
        if (text)
            import_put(im, rule->to, json_string(text));
        break;
    case IMPORT_TEXTS:
        put_texts(im, rule->to, value);
        break;
    case IMPORT_PAIRS:
        put_pairs(im, rule->to, value);
        break;
    }
}

static const struct import_rule *find_rule(const struct import_rule *rules, size_t count,
                                           const char *field)
{
    for (size_t i = 0; i < count; i++)
        if (ty_str_equal(rules[i].field, field))
            return &rules[i];
    return NULL;
}

/* In the table's order, so that a part may rely on those before it. */
void import_fields(struct import *im, const json_t *object, const struct import_rule *rules,
                   size_t count)
{
    const char *key;
    json_t *value;

    if (!import_is_object(im, object))
        return;
    for (size_t i = 0; i < count; i++) {
        const json_t *given = import_get(object, rules[i].field);

        if (!given || is_normal(im, given, rules[i].normal))
            continue;
        size_t mark = import_enter(im, rules[i].field);

        take(im, &rules[i], given);
        import_leave(im, mark);
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!json_is_null(value) && !find_rule(rules, count, key))
            import_fault_in(im, key, "unknown_member", "there is no such field here");
    }
}
