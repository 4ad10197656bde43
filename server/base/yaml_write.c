#include "trainyard/base/yaml.h"

#include "real.h"
#include "utf8.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Block style as kubectl writes it: two blanks a level, sequences not indented below their key. A
 * text goes out plain only when it is in a small, safe shape; everything else is in double quotes,
 * or a literal block where that keeps every byte. */

enum {
    DEPTH_MAX = 64,
    INDENT = 2,
    SIMPLE_KEY_MAX = 512 /* readers look for the ':' of a key within 1024 characters */
};

struct writer {
    struct ty_buf *buf;
    int depth;
};

/* What some reader of YAML 1.1 or 1.2 takes for a boolean, null or number, in any case. */
static const char *const reserved[] = {
    "null", "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "inf", "nan", "infinity",
};

static bool is_reserved(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (strlen(reserved[i]) == len && strncasecmp(reserved[i], text, len) == 0)
            return true;
    }
    return false;
}

static bool is_ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word_byte(char c)
{
    return is_ascii_letter(c) || (c >= '0' && c <= '9') || (c != '\0' && strchr("_-./@+", c));
}

/* A letter or "/" in front keeps numbers, dates and all indicators away; within, a blank or ':'
 * must have a word byte on both sides. */
static bool is_plain(const char *text, size_t len, bool key)
{
    if (len == 0 || (!is_ascii_letter(text[0]) && text[0] != '/') || is_reserved(text, len))
        return false;
    for (size_t i = 1; i < len; i++) {
        bool joint = text[i] == ' ' || text[i] == '=' || text[i] == ',' || text[i] == ':';

        if (is_word_byte(text[i]))
            continue;
        if (!joint || key || i + 1 == len || !is_word_byte(text[i - 1]) ||
            !is_word_byte(text[i + 1]))
            return false;
    }
    return true;
}

/* Characters a reader may refuse, fold or hide: these are always escaped. */
static bool is_printable(uint32_t point)
{
    if (point < 0x20 || (point >= 0x7f && point <= 0xa0))
        return false;
    if (point == 0x2028 || point == 0x2029 || point == 0xfeff ||
        (point >= 0xfdd0 && point <= 0xfdef))
        return false;
    return (point & 0xfffe) != 0xfffe;
}

static void add_escape(struct ty_buf *buf, uint32_t point)
{
    static const char names[] = "\"\"\\\\\nn\rr\tt";

    for (size_t i = 0; names[i]; i += 2) {
        if ((uint32_t)names[i] == point) {
            ty_buf_addc(buf, '\\');
            ty_buf_addc(buf, names[i + 1]);
            return;
        }
    }
    if (point < 0x100)
        ty_buf_addf(buf, "\\x%02X", point);
    else if (point < 0x10000)
        ty_buf_addf(buf, "\\u%04X", point);
    else
        ty_buf_addf(buf, "\\U%08X", point);
}

static void add_quoted(struct ty_buf *buf, const char *text, size_t len)
{
    ty_buf_addc(buf, '"');
    for (size_t at = 0; at < len;) {
        struct utf8_step step = ty_utf8_step(text + at, len - at);

        if (step.kind != UTF8_WELL_FORMED)
            ty_buf_adds(buf, "\xef\xbf\xbd");
        else if (step.point != '"' && step.point != '\\' && is_printable(step.point))
            ty_buf_add(buf, text + at, step.len);
        else
            add_escape(buf, step.point);
        at += step.len;
    }
    ty_buf_addc(buf, '"');
}

/* Whether a literal block gives the text back byte for byte under every reader: printable lines
 * without tabs or blanks at an end, no blank in front of the first (it would need an indentation
 * mark) and one final newline at most. */
static bool fits_literal(const char *text, size_t len)
{
    if (!memchr(text, '\n', len) || text[0] == '\n' || text[0] == ' ')
        return false;
    if (len > 1 && text[len - 1] == '\n' && text[len - 2] == '\n')
        return false;
    for (size_t at = 0; at < len;) {
        struct utf8_step step = ty_utf8_step(text + at, len - at);
        bool line_end = at + 1 == len || text[at + 1] == '\n';

        if (step.kind != UTF8_WELL_FORMED || (step.point != '\n' && !is_printable(step.point)))
            return false;
        if (step.point == ' ' && line_end)
            return false;
        at += step.len;
    }
    return true;
}

static void add_indent(struct ty_buf *buf, int indent)
{
    for (int i = 0; i < indent; i++)
        ty_buf_addc(buf, ' ');
}

static void add_literal(struct ty_buf *buf, const char *text, size_t len, int indent)
{
    ty_buf_adds(buf, text[len - 1] == '\n' ? "|\n" : "|-\n");
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t line = end ? (size_t)(end - text) : len;

        if (line > 0) {
            add_indent(buf, indent);
            ty_buf_add(buf, text, line);
        }
        ty_buf_addc(buf, '\n');
        text += line + (end != NULL);
        len -= line + (end != NULL);
    }
}

static void add_line(struct ty_buf *buf, const char *text)
{
    ty_buf_adds(buf, text);
    ty_buf_addc(buf, '\n');
}

/* A text as a value, with the newline; `indent` is that of the lines of a block. */
static void write_text(struct ty_buf *buf, const json_t *value, int indent)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);

    if (fits_literal(text, len)) {
        add_literal(buf, text, len, indent);
        return;
    }
    if (is_plain(text, len, false))
        ty_buf_add(buf, text, len);
    else
        add_quoted(buf, text, len);
    ty_buf_addc(buf, '\n');
}

static void write_scalar(struct ty_buf *buf, const json_t *value, int indent)
{
    char real[TY_REAL_TEXT];

    switch (json_typeof(value)) {
    case JSON_STRING:
        write_text(buf, value, indent);
        return;
    case JSON_INTEGER:
        ty_buf_addf(buf, "%lld\n", (long long)json_integer_value(value));
        return;
    case JSON_REAL:
        ty_real_text(json_real_value(value), real);
        add_line(buf, real);
        return;
    case JSON_TRUE:
        add_line(buf, "true");
        return;
    case JSON_FALSE:
        add_line(buf, "false");
        return;
    case JSON_OBJECT: /* only empty ones come here */
        add_line(buf, "{}");
        return;
    case JSON_ARRAY:
        add_line(buf, "[]");
        return;
    case JSON_NULL:
        add_line(buf, "null");
        return;
    }
}

static bool is_block(const json_t *value)
{
    return json_array_size(value) > 0 || json_object_size(value) > 0;
}

static void write_block(struct writer *writer, const json_t *value, int indent);

/* What follows "- ": a nested collection starts on the same line, its first line needs no
 * indentation. */
static void write_item(struct writer *writer, const json_t *value, int indent)
{
    ty_buf_adds(writer->buf, "- ");
    if (is_block(value))
        write_block(writer, value, indent + INDENT);
    else
        write_scalar(writer->buf, value, indent + INDENT);
}

static void write_member(struct writer *writer, const char *key, size_t key_len,
                         const json_t *value, int indent)
{
    bool simple = key_len <= SIMPLE_KEY_MAX / 10; /* an escape takes up to ten characters */

    if (!simple)
        ty_buf_adds(writer->buf, "? ");
    if (is_plain(key, key_len, true))
        ty_buf_add(writer->buf, key, key_len);
    else
        add_quoted(writer->buf, key, key_len);
    if (!simple) {
        ty_buf_addc(writer->buf, '\n');
        add_indent(writer->buf, indent);
    }
    ty_buf_addc(writer->buf, ':');
    if (is_block(value)) {
        int below = json_is_array(value) ? indent : indent + INDENT;

        ty_buf_addc(writer->buf, '\n');
        add_indent(writer->buf, below);
        write_block(writer, value, below);
    } else {
        ty_buf_addc(writer->buf, ' ');
        write_scalar(writer->buf, value, indent + INDENT);
    }
}

static void write_members(struct writer *writer, const json_t *value, int indent)
{
    json_t *object = (json_t *)(uintptr_t)value; /* iterators only read it */
    void *member = json_object_iter(object);

    for (bool first = true; member && !writer->buf->failed; first = false) {
        if (!first)
            add_indent(writer->buf, indent);
        write_member(writer, json_object_iter_key(member), json_object_iter_key_len(member),
                     json_object_iter_value(member), indent);
        member = json_object_iter_next(object, member);
    }
}

/* A collection that is not empty; the indentation of its first line is already there. */
static void write_block(struct writer *writer, const json_t *value, int indent)
{
    if (++writer->depth > DEPTH_MAX && !writer->buf->failed)
        writer->buf->failed = TY_TOO_LARGE;
    if (json_is_object(value)) {
        write_members(writer, value, indent);
    } else {
        for (size_t i = 0; i < json_array_size(value) && !writer->buf->failed; i++) {
            if (i > 0)
                add_indent(writer->buf, indent);
            write_item(writer, json_array_get(value, i), indent);
        }
    }
    writer->depth--;
}

void ty_yaml_write(struct ty_buf *buf, const json_t *value)
{
    struct writer writer = {.buf = buf};

    if (is_block(value))
        write_block(&writer, value, 0);
    else
        write_scalar(buf, value, INDENT);
}
