/* The happy path: no fault, no \u escape. Anything else ends the parse with TY_UNSUPPORTED, so that
 * faults are judged and named in one place only (json_parse.c). */
#include "json_common.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INTEGER_DIGITS = 18 /* always within 64 bits */, NUMBER_MAX = 64, TEXT_AT_ONCE = 256 };

struct parse {
    const char *at;
    const char *end;
    size_t values;
    int depth;
    struct ty_buf text; /* room for strings with escapes */
};

static ty_status parse_value(struct parse *parse, json_t **out);

static void skip_blanks(struct parse *parse)
{
    while (parse->at < parse->end &&
           (*parse->at == ' ' || *parse->at == '\n' || *parse->at == '\t' || *parse->at == '\r'))
        parse->at++;
}

static bool take(struct parse *parse, char wanted)
{
    if (parse->at == parse->end || *parse->at != wanted)
        return false;
    parse->at++;
    return true;
}

/* --- strings --- */

/* The byte that an escape other than \u stands for; NUL for none. */
static char unescape(char escape)
{
    static const char names[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    const char *found = escape ? strchr(names, escape) : NULL;
    return found ? bytes[found - names] : '\0';
}

/* Bytes up to the next quote, backslash or control byte. */
static size_t plain_run(const struct parse *parse, bool *ascii)
{
    const char *at = parse->at;
    unsigned char seen = 0;
    while (at < parse->end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ')
        seen |= (unsigned char)*at++;
    *ascii = *ascii && seen < 0x80;
    return (size_t)(at - parse->at);
}

/* After the opening quote: the text without its escapes, in the input itself where it has none. */
static ty_status parse_text(struct parse *parse, const char **text_out, size_t *len_out)
{
    const char *text = parse->at;
    bool ascii = true;
    size_t len = plain_run(parse, &ascii);
    parse->at += len;
    if (parse->at < parse->end && *parse->at == '\\') {
        ty_buf_clear(&parse->text);
        ty_buf_add(&parse->text, text, len);
        while (take(parse, '\\')) {
            char byte = parse->at < parse->end ? unescape(*parse->at++) : '\0';
            if (byte == '\0')
                return TY_UNSUPPORTED;
            ty_buf_addc(&parse->text, byte);
            len = plain_run(parse, &ascii);
            ty_buf_add(&parse->text, parse->at, len);
            parse->at += len;
        }
        if (parse->text.failed)
            return TY_NO_MEMORY;
        text = parse->text.data;
        len = parse->text.len;
    }
    if (!take(parse, '"') || (!ascii && !ty_utf8_valid(text, len)))
        return TY_UNSUPPORTED;
    *text_out = text;
    *len_out = len;
    return TY_OK;
}

static ty_status parse_string(struct parse *parse, json_t **out)
{
    const char *text;
    size_t len;
    ty_status status = parse_text(parse, &text, &len);
    if (status != TY_OK)
        return status;
    *out = json_stringn_nocheck(text, len);
    return *out ? TY_OK : TY_NO_MEMORY;
}

/* --- numbers --- */

static size_t count_digits(const struct parse *parse)
{
    size_t count = 0;
    while (parse->at + count < parse->end && parse->at[count] >= '0' && parse->at[count] <= '9')
        count++;
    return count;
}

/* One or more digits. */
static bool skip_digits(struct parse *parse)
{
    size_t count = count_digits(parse);
    parse->at += count;
    return count > 0;
}

/* From the point or the exponent on, of a number that began at `begin`. */
static ty_status parse_real(struct parse *parse, const char *begin, json_t **out)
{
    char copy[NUMBER_MAX];
    char *end;
    if (take(parse, '.') && !skip_digits(parse))
        return TY_UNSUPPORTED;
    if (take(parse, 'e') || take(parse, 'E')) {
        if (!take(parse, '+'))
            (void)take(parse, '-');
        if (!skip_digits(parse))
            return TY_UNSUPPORTED;
    }
    size_t len = (size_t)(parse->at - begin);
    if (len >= sizeof(copy))
        return TY_UNSUPPORTED;
    memcpy(copy, begin, len);
    copy[len] = '\0';
    double value = strtod(copy, &end);
    if (*end != '\0' || !isfinite(value))
        return TY_UNSUPPORTED;
    *out = json_real(value);
    return *out ? TY_OK : TY_NO_MEMORY;
}

static ty_status parse_number(struct parse *parse, json_t **out)
{
    const char *begin = parse->at;
    bool negative = take(parse, '-');
    size_t digits = count_digits(parse);
    json_int_t value = 0;
    if (digits == 0 || digits > INTEGER_DIGITS || (digits > 1 && *parse->at == '0'))
        return TY_UNSUPPORTED;
    for (; digits > 0; digits--)
        value = value * 10 + (*parse->at++ - '0');
    if (parse->at < parse->end && (*parse->at == '.' || *parse->at == 'e' || *parse->at == 'E'))
        return parse_real(parse, begin, out);
    *out = json_integer(negative ? -value : value);
    return *out ? TY_OK : TY_NO_MEMORY;
}

/* --- containers --- */

static ty_status parse_member(struct parse *parse, json_t *object)
{
    char room[TEXT_AT_ONCE];
    const char *key;
    size_t len;
    ty_auto_json value = NULL;
    skip_blanks(parse);
    if (!take(parse, '"'))
        return TY_UNSUPPORTED;
    ty_status status = parse_text(parse, &key, &len);
    if (status != TY_OK)
        return status;
    if (len >= sizeof(room))
        return TY_UNSUPPORTED;
    memcpy(room, key, len); /* what it lies in may change with the value */
    skip_blanks(parse);
    if (!take(parse, ':'))
        return TY_UNSUPPORTED;
    status = parse_value(parse, &value);
    if (status != TY_OK)
        return status;
    size_t before = json_object_size(object);
    if (json_object_setn_new_nocheck(object, room, len, ty_steal(&value)) != 0)
        return TY_NO_MEMORY;
    return json_object_size(object) > before ? TY_OK : TY_UNSUPPORTED; /* the key was there */
}

static ty_status parse_item(struct parse *parse, json_t *array)
{
    ty_auto_json value = NULL;
    ty_status status = parse_value(parse, &value);
    if (status != TY_OK)
        return status;
    return json_array_append_new(array, ty_steal(&value)) == 0 ? TY_OK : TY_NO_MEMORY;
}

/* After the opening bracket. */
static ty_status parse_container(struct parse *parse, json_t *container, char close,
                                 ty_status (*parse_one)(struct parse *parse, json_t *container))
{
    if (!container)
        return TY_NO_MEMORY;
    if (++parse->depth > TY_JSON_DEPTH)
        return TY_UNSUPPORTED;
    skip_blanks(parse);
    if (!take(parse, close)) {
        do {
            ty_status status = parse_one(parse, container);
            if (status != TY_OK)
                return status;
            skip_blanks(parse);
        } while (take(parse, ','));
        if (!take(parse, close))
            return TY_UNSUPPORTED;
    }
    parse->depth--;
    return TY_OK;
}

static ty_status parse_object(struct parse *parse, json_t **out)
{
    ty_auto_json object = json_object();
    ty_status status = parse_container(parse, object, '}', parse_member);
    if (status == TY_OK)
        *out = ty_steal(&object);
    return status;
}

static ty_status parse_array(struct parse *parse, json_t **out)
{
    ty_auto_json array = json_array();
    ty_status status = parse_container(parse, array, ']', parse_item);
    if (status == TY_OK)
        *out = ty_steal(&array);
    return status;
}

static ty_status parse_word(struct parse *parse, json_t **out)
{
    static const struct {
        const char *text;
        json_t *(*make)(void);
    } words[] = {
        {"true",  json_true },
        {"false", json_false},
        {"null",  json_null }
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i].text);
        if ((size_t)(parse->end - parse->at) < len || memcmp(parse->at, words[i].text, len) != 0)
            continue;
        parse->at += len;
        *out = words[i].make();
        return TY_OK;
    }
    return TY_UNSUPPORTED;
}

static ty_status parse_value(struct parse *parse, json_t **out)
{
    skip_blanks(parse);
    if (parse->at == parse->end || ++parse->values > TY_JSON_MEMBERS)
        return TY_UNSUPPORTED;
    switch (*parse->at) {
    case '"':
        parse->at++;
        return parse_string(parse, out);
    case '{':
        parse->at++;
        return parse_object(parse, out);
    case '[':
        parse->at++;
        return parse_array(parse, out);
    case '-':
        return parse_number(parse, out);
    default:
        return count_digits(parse) > 0 ? parse_number(parse, out) : parse_word(parse, out);
    }
}

ty_status json_common_parse(const char *bytes, size_t len, json_t **json_out)
{
    struct parse parse = {.at = bytes, .end = bytes + len};
    ty_auto_json value = NULL;
    ty_buf_init(&parse.text, len + 1);
    ty_status status = parse_value(&parse, &value);
    ty_buf_done(&parse.text);
    if (status != TY_OK)
        return status;
    skip_blanks(&parse);
    if (parse.at != parse.end)
        return TY_UNSUPPORTED;
    *json_out = ty_steal(&value);
    return TY_OK;
}
