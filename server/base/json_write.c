#include "trainyard/base/json.h"

#include "real.h"
#include "trainyard/base/clock.h"
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 64 };

#define SAFE_INTEGER (INT64_C(1) << 53)

void ty_json_pointer_add(struct ty_buf *pointer, const char *token)
{
    ty_buf_addc(pointer, '/');
    for (; *token; token++) {
        if (*token == '~')
            ty_buf_adds(pointer, "~0");
        else if (*token == '/')
            ty_buf_adds(pointer, "~1");
        else
            ty_buf_addc(pointer, *token);
    }
}

static void add_escaped(struct ty_buf *buf, unsigned char c)
{
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (size_t i = 0; names[i]; i += 2) {
        if ((unsigned char)names[i] == c) {
            ty_buf_addc(buf, '\\');
            ty_buf_addc(buf, names[i + 1]);
            return;
        }
    }
    ty_buf_addf(buf, "\\u%04x", c);
}

/* How many bytes in front can be copied as they are. */
static size_t plain_run(const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        unsigned char c = (unsigned char)bytes[at];

        if (c >= 0x80) {
            struct utf8_step step = ty_utf8_step(bytes + at, len - at);

            if (step.kind != UTF8_WELL_FORMED)
                break;
            at += step.len;
        } else if (c < 0x20 || c == '"' || c == '\\') {
            break;
        } else {
            at++;
        }
    }
    return at;
}

/* A text that is plain to its end, as nearly all are, in one piece. */
static void quote_plain(struct ty_buf *buf, const char *bytes, size_t len)
{
    char *room = ty_buf_reserve(buf, len + 2);

    if (!room)
        return;
    room[0] = '"';
    if (len > 0)
        memcpy(room + 1, bytes, len);
    room[len + 1] = '"';
    ty_buf_grew(buf, len + 2);
}

void ty_json_quote(struct ty_buf *buf, const char *bytes, size_t len)
{
    size_t at = plain_run(bytes, len);

    if (at == len) {
        quote_plain(buf, bytes, len);
        return;
    }
    ty_buf_addc(buf, '"');
    ty_buf_add(buf, bytes, at);
    while (at < len) {
        size_t run = plain_run(bytes + at, len - at);

        if (run > 0) {
            ty_buf_add(buf, bytes + at, run);
            at += run;
        } else if ((unsigned char)bytes[at] < 0x80) {
            add_escaped(buf, (unsigned char)bytes[at++]);
        } else {
            ty_buf_adds(buf, "\xef\xbf\xbd");
            at += ty_utf8_step(bytes + at, len - at).len;
        }
    }
    ty_buf_addc(buf, '"');
}

void ty_json_writer_init(struct ty_json_writer *writer, struct ty_buf *buf)
{
    *writer = (struct ty_json_writer){.buf = buf};
}

/* The comma that the next item of the current level needs. */
static void separate(struct ty_json_writer *writer)
{
    uint64_t level;

    if (writer->after_key) {
        writer->after_key = false;
        return;
    }
    if (writer->depth == 0)
        return;
    level = UINT64_C(1) << (writer->depth - 1);
    if (writer->has_items & level)
        ty_buf_addc(writer->buf, ',');
    writer->has_items |= level;
}

static void begin(struct ty_json_writer *writer, bool array)
{
    uint64_t level;

    if (writer->depth == LEVELS) {
        if (!writer->buf->failed)
            writer->buf->failed = TY_TOO_LARGE;
        return;
    }
    separate(writer);
    level = UINT64_C(1) << writer->depth++;
    writer->has_items &= ~level;
    writer->is_array = array ? writer->is_array | level : writer->is_array & ~level;
    ty_buf_addc(writer->buf, array ? '[' : '{');
}

void ty_json_object(struct ty_json_writer *writer)
{
    begin(writer, false);
}

void ty_json_array(struct ty_json_writer *writer)
{
    begin(writer, true);
}

void ty_json_end(struct ty_json_writer *writer)
{
    if (writer->depth == 0)
        return;
    writer->depth--;
    ty_buf_addc(writer->buf, writer->is_array >> writer->depth & 1 ? ']' : '}');
}

static void add_key(struct ty_json_writer *writer, const char *key, size_t len)
{
    separate(writer);
    ty_json_quote(writer->buf, key, len);
    ty_buf_addc(writer->buf, ':');
    writer->after_key = true;
}

void ty_json_key(struct ty_json_writer *writer, const char *key)
{
    add_key(writer, key, strlen(key));
}

void ty_json_string_len(struct ty_json_writer *writer, const char *bytes, size_t len)
{
    separate(writer);
    ty_json_quote(writer->buf, bytes, len);
}

void ty_json_string(struct ty_json_writer *writer, const char *text)
{
    if (text)
        ty_json_string_len(writer, text, strlen(text));
    else
        ty_json_null(writer);
}

void ty_json_raw(struct ty_json_writer *writer, const char *json, size_t len)
{
    separate(writer);
    ty_buf_add(writer->buf, json, len);
}

void ty_json_int(struct ty_json_writer *writer, int64_t value)
{
    bool safe = value >= -SAFE_INTEGER && value <= SAFE_INTEGER;
    char text[24];
    size_t at = sizeof(text);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

    if (!safe)
        text[--at] = '"';
    do
        text[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        text[--at] = '-';
    if (!safe)
        text[--at] = '"';
    ty_json_raw(writer, text + at, sizeof(text) - at);
}

void ty_json_bool(struct ty_json_writer *writer, bool value)
{
    ty_json_raw(writer, value ? "true" : "false", value ? 4 : 5);
}

void ty_json_null(struct ty_json_writer *writer)
{
    ty_json_raw(writer, "null", 4);
}

void ty_json_time(struct ty_json_writer *writer, int64_t wall_us)
{
    char text[TY_TIME_TEXT];

    if (wall_us == 0) {
        ty_json_null(writer);
        return;
    }
    ty_time_format(wall_us, text);
    separate(writer);
    quote_plain(writer->buf, text, strlen(text));
}

void ty_real_text(double value, char out[TY_REAL_TEXT])
{
    char digits[TY_REAL_TEXT - 2];
    const char *exponent;
    size_t mantissa;

    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, value);
        if (!(strtod(digits, NULL) < value) && !(strtod(digits, NULL) > value))
            break;
    }
    exponent = strchr(digits, 'e');
    mantissa = exponent ? (size_t)(exponent - digits) : strlen(digits);
    /* YAML 1.1 needs the point to see a number in 1e+20. */
    snprintf(out, TY_REAL_TEXT, "%.*s%s%s", (int)mantissa, digits, strchr(digits, '.') ? "" : ".0",
             exponent ? exponent : "");
}

static void add_number(struct ty_json_writer *writer, const json_t *value)
{
    char text[TY_REAL_TEXT];

    separate(writer);
    if (json_is_integer(value)) {
        ty_buf_addf(writer->buf, "%lld", (long long)json_integer_value(value));
        return;
    }
    ty_real_text(json_real_value(value), text);
    ty_buf_adds(writer->buf, text);
}

static void add_object(struct ty_json_writer *writer, const json_t *object)
{
    /* jansson's iterators take the object without const, but only read it. */
    json_t *mutable_object = json_incref((json_t *)(uintptr_t)object);
    void *member = json_object_iter(mutable_object);

    ty_json_object(writer);
    for (; member && !writer->buf->failed; member = json_object_iter_next(mutable_object, member)) {
        add_key(writer, json_object_iter_key(member), json_object_iter_key_len(member));
        ty_json_value(writer, json_object_iter_value(member));
    }
    ty_json_end(writer);
    json_decref(mutable_object);
}

void ty_json_value(struct ty_json_writer *writer, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        add_object(writer, value);
        break;
    case JSON_ARRAY:
        ty_json_array(writer);
        for (size_t i = 0; i < json_array_size(value) && !writer->buf->failed; i++)
            ty_json_value(writer, json_array_get(value, i));
        ty_json_end(writer);
        break;
    case JSON_STRING:
        ty_json_string_len(writer, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        add_number(writer, value);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        ty_json_bool(writer, json_is_true(value));
        break;
    case JSON_NULL:
        ty_json_null(writer);
        break;
    }
}

void ty_json_put_string(struct ty_json_writer *writer, const char *key, const char *text)
{
    ty_json_key(writer, key);
    ty_json_string(writer, text);
}

void ty_json_put_int(struct ty_json_writer *writer, const char *key, int64_t value)
{
    ty_json_key(writer, key);
    ty_json_int(writer, value);
}

void ty_json_put_int_or_null(struct ty_json_writer *writer, const char *key, bool known,
                             int64_t value)
{
    ty_json_key(writer, key);
    if (known)
        ty_json_int(writer, value);
    else
        ty_json_null(writer);
}

void ty_json_put_bool(struct ty_json_writer *writer, const char *key, bool value)
{
    ty_json_key(writer, key);
    ty_json_bool(writer, value);
}

void ty_json_put_time(struct ty_json_writer *writer, const char *key, int64_t wall_us)
{
    ty_json_key(writer, key);
    ty_json_time(writer, wall_us);
}
