#include "spec_reader.h"

#include "trainyard/base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ty_spec_reader_init(struct ty_spec_reader *reader, struct ty_faults *faults)
{
    reader->faults = faults;
    reader->no_memory = false;
    reader->at_len = 0;
    reader->at[0] = '\0';
}

static void add_char(struct ty_spec_reader *reader, char c)
{
    if (reader->at_len + 1 >= sizeof(reader->at))
        return;
    reader->at[reader->at_len++] = c;
    reader->at[reader->at_len] = '\0';
}

size_t ty_spec_enter(struct ty_spec_reader *reader, const char *token)
{
    size_t mark = reader->at_len;

    add_char(reader, '/');
    for (; *token; token++) {
        if (*token == '~' || *token == '/')
            add_char(reader, '~');
        add_char(reader, *token == '~' ? '0' : *token == '/' ? '1' : *token);
    }
    return mark;
}

size_t ty_spec_enter_index(struct ty_spec_reader *reader, size_t index)
{
    char token[24];

    snprintf(token, sizeof(token), "%zu", index);
    return ty_spec_enter(reader, token);
}

void ty_spec_leave(struct ty_spec_reader *reader, size_t mark)
{
    reader->at_len = mark;
    reader->at[mark] = '\0';
}

enum { DETAIL = sizeof(((struct ty_fault *)NULL)->detail) };

void ty_spec_fault(struct ty_spec_reader *reader, const char *code, const char *format, ...)
{
    char detail[DETAIL];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    ty_faults_add(reader->faults, TY_AT_POINTER, reader->at, code, "%s", detail);
}

void ty_spec_fault_in(struct ty_spec_reader *reader, const char *token, const char *code,
                      const char *format, ...)
{
    size_t mark = ty_spec_enter(reader, token);
    char detail[DETAIL];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    ty_spec_fault(reader, code, "%s", detail);
    ty_spec_leave(reader, mark);
}

void ty_spec_fault_once(struct ty_spec_reader *reader, const char *code, const char *format, ...)
{
    char detail[DETAIL];
    va_list arguments;

    for (size_t i = 0; i < reader->faults->count; i++)
        if (ty_str_equal(reader->faults->items[i].where, reader->at) &&
            ty_str_equal(reader->faults->items[i].code, code))
            return;
    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    ty_spec_fault(reader, code, "%s", detail);
}

void *ty_spec_alloc(struct ty_spec_reader *reader, size_t count, size_t size)
{
    if (count == 0)
        return NULL;
    void *memory = calloc(count, size);

    reader->no_memory = reader->no_memory || !memory;
    return memory;
}

char *ty_spec_dup(struct ty_spec_reader *reader, const char *text)
{
    if (!text)
        return NULL;
    char *copy = strdup(text);

    reader->no_memory = reader->no_memory || !copy;
    return copy;
}

char *ty_spec_format(struct ty_spec_reader *reader, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    reader->no_memory = reader->no_memory || !text;
    return text;
}

const char *ty_spec_text(struct ty_spec_reader *reader, const json_t *value)
{
    const char *text = json_string_value(value);

    if (!text)
        ty_spec_fault(reader, "wrong_type", "must be a string");
    else if (strlen(text) != json_string_length(value))
        ty_spec_fault(reader, "nul_byte", "must not hold a NUL");
    else
        return text;
    return NULL;
}

bool ty_spec_is_array(struct ty_spec_reader *reader, const json_t *value)
{
    if (json_is_array(value))
        return true;
    ty_spec_fault(reader, "wrong_type", "must be an array");
    return false;
}

void *ty_spec_read_items(struct ty_spec_reader *reader, const json_t *array, size_t max,
                         size_t size, ty_spec_read_item *read, size_t *count_out)
{
    if (!ty_spec_is_array(reader, array))
        return NULL;
    if (json_array_size(array) > max) {
        ty_spec_fault(reader, "too_many", "has %zu items; at most %zu are allowed",
                      json_array_size(array), max);
        return NULL;
    }
    char *items = ty_spec_alloc(reader, json_array_size(array), size);

    for (size_t i = 0; items && i < json_array_size(array); i++) {
        size_t mark = ty_spec_enter_index(reader, i);

        *count_out = i + 1;
        read(reader, json_array_get(array, i), items + i * size);
        ty_spec_leave(reader, mark);
    }
    return items;
}

static const char *read_text(struct ty_spec_reader *reader, const json_t *value,
                             const struct ty_field *field)
{
    const char *text = ty_spec_text(reader, value);
    int64_t len = text ? (int64_t)strlen(text) : 0;

    if (!text)
        return NULL;
    if (len < field->min) {
        ty_spec_fault(reader, "too_short", "must not be empty");
        return NULL;
    }
    if (field->max > 0 && len > field->max) {
        ty_spec_fault(reader, "too_long", "has %lld bytes; at most %lld are allowed",
                      (long long)len, (long long)field->max);
        return NULL;
    }
    return text;
}

static bool read_int(struct ty_spec_reader *reader, const json_t *value,
                     const struct ty_field *field, int64_t *number_out)
{
    if (!json_is_integer(value)) {
        ty_spec_fault(reader, "wrong_type", "must be an integer");
        return false;
    }
    int64_t number = json_integer_value(value);

    if (number < field->min || number > field->max) {
        ty_spec_fault(reader, "out_of_range", "must lie between %lld and %lld",
                      (long long)field->min, (long long)field->max);
        return false;
    }
    *number_out = number;
    return true;
}

static void read_choice(struct ty_spec_reader *reader, const json_t *value,
                        const struct ty_field *field, void *place)
{
    const char *text = ty_spec_text(reader, value);

    if (!text)
        return;
    for (unsigned i = 0; field->choices[i]; i++) {
        if (ty_str_equal(text, field->choices[i])) {
            memcpy(place, &i, sizeof(i));
            return;
        }
    }
    ty_spec_fault(reader, "unknown_value", "is none of the values allowed here");
}

static void read_field(struct ty_spec_reader *reader, const json_t *value,
                       const struct ty_field *field, void *place)
{
    const char *text;
    int64_t number;

    switch (field->kind) {
    case TY_FIELD_TEXT:
        text = read_text(reader, value, field);
        if (text)
            *(char **)place = ty_spec_dup(reader, text);
        break;
    case TY_FIELD_BORROWED:
        text = read_text(reader, value, field);
        if (text)
            *(const char **)place = text;
        break;
    case TY_FIELD_INT32:
        if (read_int(reader, value, field, &number))
            *(int32_t *)place = (int32_t)number;
        break;
    case TY_FIELD_INT64:
        if (read_int(reader, value, field, &number))
            *(int64_t *)place = number;
        break;
    case TY_FIELD_BOOL:
        if (json_is_boolean(value))
            *(bool *)place = json_is_true(value);
        else
            ty_spec_fault(reader, "wrong_type", "must be true or false");
        break;
    case TY_FIELD_CHOICE:
        read_choice(reader, value, field, place);
        break;
    case TY_FIELD_JSON:
        *(const json_t **)place = value;
        break;
    }
}

static const struct ty_field *find_field(const struct ty_field *fields, size_t count,
                                         const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (ty_str_equal(fields[i].name, name))
            return &fields[i];
    return NULL;
}

void ty_spec_read_fields(struct ty_spec_reader *reader, const json_t *object,
                         const struct ty_field *fields, size_t count, void *target)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object)) {
        ty_spec_fault(reader, "wrong_type", "must be an object");
        return;
    }
    /* jansson's iteration takes a pointer to non-const but changes nothing. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct ty_field *field = find_field(fields, count, name);
        size_t mark = ty_spec_enter(reader, name);

        if (field)
            read_field(reader, value, field, (char *)target + field->offset);
        else
            ty_spec_fault(reader, "unknown_member", "there is no such member here");
        ty_spec_leave(reader, mark);
    }
}
