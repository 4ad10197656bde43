/* Results on standard output: aligned tables, JSON, YAML or bare names. */
#include "cli.h"

#include "trainyard/base/yaml.h"

#include <stdio.h>

enum { CELL_MAX = 256, COLUMNS_MAX = 16 };

static const json_t *member_of(const json_t *object, const char *member)
{
    char name[64];
    const char *dot = strchr(member, '.');
    if (!dot)
        return json_object_get(object, member);
    snprintf(name, sizeof name, "%.*s", (int)(dot - member), member);
    return member_of(json_object_get(object, name), dot + 1);
}

/* "2026-01-02T03:04:05.000006Z" as "2026-01-02 03:04:05". */
static bool shorten_time(const char *text, char *out, size_t size)
{
    if (strlen(text) < 20 || text[4] != '-' || text[10] != 'T' || text[19] != '.')
        return false;
    snprintf(out, size, "%.10s %.8s", text, text + 11);
    return true;
}

/* Control bytes in a cell would move the cursor of whoever reads it. */
static void make_printable(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

static void join(const json_t *value, char *out, size_t size)
{
    size_t index;
    json_t *item;
    out[0] = '\0';
    json_array_foreach((json_t *)(uintptr_t)value, index, item)
    {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", index > 0 ? "," : "",
                 json_is_string(item) ? json_string_value(item) : "…");
    }
    if (index == 0)
        ty_str_copy(out, size, "-");
}

static void pairs(const json_t *value, char *out, size_t size)
{
    const char *key;
    json_t *item;
    out[0] = '\0';
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s=%s", used > 0 ? "," : "", key,
                 json_is_string(item) ? json_string_value(item) : "…");
    }
    if (out[0] == '\0')
        ty_str_copy(out, size, "-");
}

const char *cli_text(const json_t *object, const char *member, char *out, size_t size)
{
    const json_t *value = member_of(object, member);
    if (json_is_string(value)) {
        const char *text = json_string_value(value);
        if (!shorten_time(text, out, size))
            ty_str_copy(out, size, text[0] != '\0' ? text : "-");
    } else if (json_is_integer(value)) {
        snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_boolean(value)) {
        ty_str_copy(out, size, json_is_true(value) ? "yes" : "no");
    } else if (json_is_array(value)) {
        join(value, out, size);
    } else if (json_is_object(value)) {
        pairs(value, out, size);
    } else {
        ty_str_copy(out, size, "-");
    }
    make_printable(out);
    return out;
}

static int print_json(const json_t *value)
{
    int failed = json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    return failed || putchar('\n') == EOF ? EXIT_JOB_FAILED : EXIT_DONE;
}

static int print_yaml(const json_t *value)
{
    ty_auto_buf text;
    ty_buf_init(&text, 256 * 1024 * 1024);
    ty_yaml_write(&text, value);
    return text.failed == TY_OK && fwrite(text.data, 1, text.len, stdout) == text.len
               ? EXIT_DONE
               : EXIT_JOB_FAILED;
}

/* How many columns a text takes: code points, not bytes. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_cell(const char *text, size_t width, bool last)
{
    size_t used = width_of(text);
    fputs(text, stdout);
    if (!last)
        for (; used < width + 2; used++)
            putchar(' ');
}

/* Green for what went well, red for what did not, when the terminal wants colours. */
static const char *color_of(const struct cli *cli, const char *text)
{
    static const char *const good[] = {"succeeded", "running", "yes"};
    static const char *const bad[] = {"failed", "lost"};
    if (!cli->color)
        return NULL;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (ty_str_equal(text, good[i]))
            return "\033[32m";
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (ty_str_equal(text, bad[i]))
            return "\033[31m";
    return NULL;
}

static void print_row(const struct cli *cli, const json_t *item, const struct cli_column **shown,
                      size_t count, const size_t *widths)
{
    char cell[CELL_MAX];
    for (size_t c = 0; c < count; c++) {
        const char *text =
            item ? cli_text(item, shown[c]->member, cell, sizeof cell) : shown[c]->title;
        const char *color = item ? color_of(cli, text) : NULL;
        if (color)
            fputs(color, stdout);
        print_cell(text, widths[c], c + 1 == count);
        if (color)
            fputs("\033[0m", stdout);
    }
    putchar('\n');
}

static int print_table(const struct cli *cli, const json_t *items, const struct cli_column *columns)
{
    const struct cli_column *shown[COLUMNS_MAX];
    size_t widths[COLUMNS_MAX];
    size_t count = 0;
    size_t index;
    json_t *item;
    char cell[CELL_MAX];
    for (const struct cli_column *column = columns; column->title && count < COLUMNS_MAX; column++)
        if (!column->wide || cli->format == FORMAT_WIDE)
            shown[count++] = column;
    for (size_t c = 0; c < count; c++) {
        widths[c] = width_of(shown[c]->title);
        json_array_foreach((json_t *)(uintptr_t)items, index, item)
        {
            size_t width = width_of(cli_text(item, shown[c]->member, cell, sizeof cell));
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    print_row(cli, NULL, shown, count, widths);
    json_array_foreach((json_t *)(uintptr_t)items, index, item)
    {
        print_row(cli, item, shown, count, widths);
    }
    return ferror(stdout) ? EXIT_JOB_FAILED : EXIT_DONE;
}

static int print_name(const json_t *item, const char *name)
{
    const char *text = json_string_value(json_object_get(item, name));
    return puts(text ? text : "") == EOF ? EXIT_JOB_FAILED : EXIT_DONE;
}

int cli_print_list(const struct cli *cli, const json_t *items, const struct cli_column *columns,
                   const char *name)
{
    size_t index;
    json_t *item;
    switch (cli->format) {
    case FORMAT_JSON:
        return print_json(items);
    case FORMAT_YAML:
        return print_yaml(items);
    case FORMAT_NAME:
        json_array_foreach((json_t *)(uintptr_t)items, index, item)
        {
            if (print_name(item, name) != EXIT_DONE)
                return EXIT_JOB_FAILED;
        }
        return EXIT_DONE;
    default:
        return print_table(cli, items, columns);
    }
}

int cli_print_object(const struct cli *cli, const json_t *object, const char *name)
{
    const char *key;
    json_t *value;
    char cell[1024];
    switch (cli->format) {
    case FORMAT_JSON:
        return print_json(object);
    case FORMAT_YAML:
        return print_yaml(object);
    case FORMAT_NAME:
        return print_name(object, name);
    default:
        json_object_foreach((json_t *)(uintptr_t)object, key, value)
        {
            if (ty_str_equal(key, "links") || ty_str_equal(key, "etag") ||
                ty_str_equal(key, "spec") || json_is_null(value))
                continue;
            printf("%-18s %s\n", key, cli_text(object, key, cell, sizeof cell));
        }
        return ferror(stdout) ? EXIT_JOB_FAILED : EXIT_DONE;
    }
}
