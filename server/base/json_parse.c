#include "trainyard/base/json.h"

#include "trainyard/base/str.h"

#include <string.h>

/* jansson does the parsing; a scan before it counts what jansson does not limit, since a tree takes
 * up to eighty times the memory of its text. */

struct scan {
    const char *bytes;
    size_t len;
    size_t at;
    size_t line;   /* 1.. */
    size_t column; /* 1.., in characters */
    size_t values;
    int depth;
    char last; /* the last byte that was not blank: an opening bracket means an empty container */
};

static ty_status fail_at(const struct scan *scan, const char *code, const char *words,
                         struct ty_error *err)
{
    return ty_fail_code(err, TY_INVALID, code, "line %zu, column %zu: %s", scan->line, scan->column,
                        words);
}

static void step(struct scan *scan)
{
    unsigned char c = (unsigned char)scan->bytes[scan->at++];

    if (c == '\n') {
        scan->line++;
        scan->column = 1;
    } else if ((c & 0xc0) != 0x80) {
        scan->column++;
    }
}

/* From the opening quote past the closing one, or to the end when there is none. */
static void skip_string(struct scan *scan)
{
    step(scan);
    while (scan->at < scan->len && scan->bytes[scan->at] != '"') {
        if (scan->bytes[scan->at] == '\\')
            step(scan);
        if (scan->at < scan->len)
            step(scan);
    }
    if (scan->at < scan->len)
        step(scan);
}

/* Count the value that starts, or will start, at a byte outside of strings: one after every comma
 * and one after an opening bracket that is not closed at once. */
static ty_status count_byte(struct scan *scan, char c, struct ty_error *err)
{
    bool closes = c == ']' || c == '}';

    if (c == ',' || (!closes && (scan->last == '[' || scan->last == '{')))
        scan->values++;
    if (scan->values > TY_JSON_MEMBERS)
        return fail_at(scan, "json_members", "more than 100000 values", err);
    if (c == '[' || c == '{')
        scan->depth++;
    else if (closes)
        scan->depth--;
    if (scan->depth > TY_JSON_DEPTH)
        return fail_at(scan, "json_depth", "nested deeper than 32 levels", err);
    scan->last = c;
    return TY_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static ty_status check_limits(const char *bytes, size_t len, struct ty_error *err)
{
    struct scan scan = {.bytes = bytes, .len = len, .line = 1, .column = 1, .values = 1};

    while (scan.at < len) {
        char c = bytes[scan.at];
        ty_status status = is_blank(c) ? TY_OK : count_byte(&scan, c, err);

        if (status)
            return status;
        if (c == '\0') /* jansson takes it for the end of the text */
            return fail_at(&scan, "json_syntax", "a NUL byte", err);
        if (c == '"')
            skip_string(&scan);
        else
            step(&scan);
    }
    if (scan.last == '\0')
        return ty_fail_code(err, TY_INVALID, "json_empty", "there is no JSON value");
    return TY_OK;
}

static const struct {
    enum json_error_code cause;
    const char *code;
    const char *words;
} faults[] = {
    {json_error_invalid_utf8,           "json_utf8",          "not well-formed UTF-8"              },
    {json_error_premature_end_of_input, "json_syntax",        "the text ends within a value"       },
    {json_error_end_of_input_expected,  "json_trailing",      "there is text after the JSON value" },
    {json_error_invalid_syntax,         "json_syntax",        "not JSON"                           },
    {json_error_duplicate_key,          "json_duplicate_key", "an object has the same key twice"   },
    {json_error_numeric_overflow,       "json_number_range",  "a number is out of range"           },
    {json_error_null_character,         "json_nul",           "a string holds the character U+0000"},
    {json_error_null_byte_in_key,       "json_nul",           "a key holds the character U+0000"   },
    {json_error_stack_overflow,         "json_depth",         "nested too deep"                    },
};

static ty_status fail_from_jansson(const json_error_t *error, struct ty_error *err)
{
    enum json_error_code cause = json_error_code(error);

    /* jansson leaves the text empty where it fails to allocate a key. */
    if (cause == json_error_out_of_memory || error->text[0] == '\0')
        return ty_fail(err, TY_NO_MEMORY, "no memory to parse JSON");
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (faults[i].cause == cause)
            return ty_fail_code(err, TY_INVALID, faults[i].code, "line %d, column %d: %s",
                                error->line, error->column, faults[i].words);
    }
    return ty_fail_code(err, TY_INVALID, "json_syntax", "line %d, column %d: not JSON", error->line,
                        error->column);
}

ty_status ty_json_parse(const char *bytes, size_t len, json_t **json_out, struct ty_error *err)
{
    json_error_t error = {0}; /* left alone when its first allocation fails */
    ty_status status = check_limits(bytes, len, err);
    json_t *json;

    if (status)
        return status;
    json = json_loadb(bytes, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json)
        return fail_from_jansson(&error, err);
    *json_out = json;
    return TY_OK;
}

/* Behind the closing quote of a string, or the end of the text. Each byte is looked at twice at
 * most: the next quote stays known while there are backslashes before it. */
static const char *skip_whole_string(const char *at, const char *end)
{
    const char *quote = NULL;

    while (at < end) {
        const char *backslash;

        if (!quote || quote < at)
            quote = memchr(at, '"', (size_t)(end - at));
        if (!quote)
            return end;
        backslash = memchr(at, '\\', (size_t)(quote - at));
        if (!backslash)
            return quote + 1;
        at = backslash + 2;
    }
    return end;
}

void ty_json_compact(struct ty_buf *buf, const char *json, size_t len)
{
    const char *end = json + len;

    (void)ty_buf_reserve(buf, len);
    while (json < end) {
        const char *run = json;

        while (json < end && !is_blank(*json))
            json = *json == '"' ? skip_whole_string(json + 1, end) : json + 1;
        ty_buf_add(buf, run, (size_t)(json - run));
        while (json < end && is_blank(*json))
            json++;
    }
}
