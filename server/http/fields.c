#include "fields.h"

#include <string.h>
#include <strings.h>

/* clang-format off */
const unsigned char ty_byte_classes[256] = { /* sixteen bytes a row; the bytes before and behind have no class */
    [0x20] = 0, 7, 0, 1, 7, 7, 7, 7, 6, 6, 7, 7, 2, 7, 7, 2,
    [0x30] = 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 2, 6, 0, 6, 0, 2,
    [0x40] = 2, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    [0x50] = 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 2, 0, 2, 1, 7,
    [0x60] = 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    [0x70] = 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 1, 0, 7, 0,
};
/* clang-format on */

bool ty_field_value_sendable(const char *value)
{
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;

        if ((c < ' ' && c != '\t') || c >= 0x7f)
            return false;
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct ty_slice trim(const char *from, const char *end)
{
    while (from < end && is_blank(*from))
        from++;
    while (end > from && is_blank(end[-1]))
        end--;
    return (struct ty_slice){from, (size_t)(end - from)};
}

/* The end of the piece at `at` that `stop` or `end` closes; quoted strings are passed over. */
static const char *find_stop(const char *at, const char *end, char stop)
{
    bool quoted = false;

    for (; at < end; at++) {
        if (quoted && *at == '\\' && at + 1 < end)
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (*at == stop && !quoted)
            break;
    }
    return at;
}

bool ty_list_next(const char **cursor, struct ty_slice *element_out)
{
    const char *at = *cursor;
    const char *end = at + strlen(at);

    while (at < end) {
        const char *stop = find_stop(at, end, ',');
        struct ty_slice element = trim(at, stop);

        at = stop < end ? stop + 1 : end;
        if (element.len) {
            *element_out = element;
            *cursor = at;
            return true;
        }
    }
    *cursor = end;
    return false;
}

bool ty_slice_equal(struct ty_slice slice, const char *text)
{
    return strlen(text) == slice.len && strncasecmp(slice.data, text, slice.len) == 0;
}

bool ty_list_has(const char *list, const char *token)
{
    struct ty_slice element;

    while (ty_list_next(&list, &element))
        if (ty_slice_equal(element, token))
            return true;
    return false;
}

void ty_slice_split(struct ty_slice element, struct ty_slice *name_out, struct ty_slice *rest_out)
{
    const char *end = element.data + element.len;
    const char *stop = find_stop(element.data, end, ';');

    *name_out = trim(element.data, stop);
    *rest_out = (struct ty_slice){stop, (size_t)(end - stop)};
}

bool ty_slice_parameter(struct ty_slice rest, const char *name, struct ty_slice *value_out)
{
    const char *at = rest.data;
    const char *end = rest.data + rest.len;

    while (at < end) {
        const char *start = at + 1; /* past the ';' */
        const char *stop = find_stop(start, end, ';');
        const char *equals = memchr(start, '=', (size_t)(stop - start));
        struct ty_slice key = trim(start, equals ? equals : stop);

        if (equals && ty_slice_equal(key, name)) {
            struct ty_slice value = trim(equals + 1, stop);

            if (value.len >= 2 && value.data[0] == '"' && value.data[value.len - 1] == '"')
                value = (struct ty_slice){value.data + 1, value.len - 2};
            *value_out = value;
            return true;
        }
        at = stop;
    }
    return false;
}

/* "0", "0.5", "1.000" (RFC 9110 12.4.2: three decimals at most) as thousandths. */
static int parse_quality(struct ty_slice text)
{
    int value;
    int place = 100;

    if (text.len < 1 || text.len > 5 || text.data[0] < '0' || text.data[0] > '1')
        return -1;
    value = (text.data[0] - '0') * 1000;
    if (text.len > 1 && text.data[1] != '.')
        return -1;
    for (size_t i = 2; i < text.len; i++, place /= 10) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        value += (text.data[i] - '0') * place;
    }
    return value <= 1000 ? value : -1;
}

int ty_slice_quality(struct ty_slice rest)
{
    struct ty_slice text;

    return ty_slice_parameter(rest, "q", &text) ? parse_quality(text) : 1000;
}
