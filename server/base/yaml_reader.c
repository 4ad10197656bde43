#include "yaml_reader.h"

#include <string.h>

/* Every node and every byte of text counts, those that an alias copies too: a few lines of aliases
 * can stand for gigabytes. */
enum { NODES_MAX = 100000, DEPTH_MAX = 64, TEXT_MAX = 16 * 1024 * 1024 };

bool ty_yaml_open(yaml_parser_t *parser, const char **bytes, size_t *len)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t mark_len = sizeof(mark) - 1;

    if (!yaml_parser_initialize(parser))
        return false;
    if (*len >= mark_len && memcmp(*bytes, mark, mark_len) == 0) {
        *bytes += mark_len;
        *len -= mark_len;
    }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, (const unsigned char *)*bytes, *len);
    return true;
}

static ty_status fail_at(const struct yaml_reader *reader, yaml_mark_t mark, const char *words)
{
    return ty_fail(reader->err, TY_INVALID, "line %zu, column %zu: %s", mark.line + 1,
                   mark.column + 1, words);
}

ty_status ty_yaml_fail(const struct yaml_reader *reader, const char *words)
{
    return fail_at(reader, reader->event.start_mark, words);
}

ty_status ty_yaml_no_memory(const struct yaml_reader *reader)
{
    return ty_fail(reader->err, TY_NO_MEMORY, "no memory to parse YAML");
}

/* libyaml's reader runs ahead of its scanner: its errors carry an offset and no mark. */
static yaml_mark_t mark_of(const struct yaml_reader *reader, size_t offset)
{
    yaml_mark_t mark = {0};

    for (size_t at = 0; at < offset && at < reader->len; at++) {
        if (reader->bytes[at] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)reader->bytes[at] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

ty_status ty_yaml_next(struct yaml_reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;

    yaml_event_delete(&reader->event);
    if (yaml_parser_parse(&reader->parser, &reader->event))
        return TY_OK;
    switch (parser->error) {
    case YAML_MEMORY_ERROR:
        return ty_yaml_no_memory(reader);
    case YAML_READER_ERROR:
        return fail_at(reader, mark_of(reader, parser->problem_offset),
                       "a character that YAML does not allow");
    default:
        return fail_at(reader, parser->problem_mark,
                       parser->problem ? parser->problem : "not YAML");
    }
}

ty_status ty_yaml_count_text(struct yaml_reader *reader, size_t text)
{
    if (text > TEXT_MAX - reader->text)
        return ty_yaml_fail(reader, "more than 16 MiB of text, aliases counted");
    reader->text += text;
    return TY_OK;
}

ty_status ty_yaml_count(struct yaml_reader *reader, size_t text)
{
    if (++reader->nodes > NODES_MAX)
        return ty_yaml_fail(reader, "more than 100000 values, aliases counted");
    return ty_yaml_count_text(reader, text);
}

ty_status ty_yaml_enter(struct yaml_reader *reader)
{
    if (++reader->depth > DEPTH_MAX)
        return ty_yaml_fail(reader, "nested deeper than 64 levels");
    return ty_yaml_count(reader, 0);
}
