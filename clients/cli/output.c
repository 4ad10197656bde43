#include "output.h"

#include "http.h"
#include "text.h"

#include "trainyard/base/yaml.h"

enum { CELL_MAX = 512, YAML_MAX = 256 * 1024 * 1024, PAGE_DEFAULT = 50, PAGE_MAX = 500 };

static const char *make_cell(const struct cli_column *column, const struct cli *cli,
                             const json_t *item, char out[CELL_MAX])
{
    const json_t *value = json_object_get(item, column->member);
    if (column->kind == SHOW_SIZE && json_is_integer(value))
        cli_size_text(json_integer_value(value), out);
    else if (column->kind == SHOW_DURATION && json_is_integer(value))
        cli_duration_text(json_integer_value(value), out);
    else
        cli_text(item, column->member, out, CELL_MAX);
    if (cli->format != FORMAT_WIDE)
        cli_shorten(out, CELL_MAX, column->most);
    return out;
}

/* Green for what went well, red for what did not. */
const char *cli_color(bool wanted, const char *text)
{
    static const struct {
        const char *text;
        const char *color;
    } colors[] = {
        {"succeeded",  "\033[32m"},
        {"running",    "\033[32m"},
        {"failed",     "\033[31m"},
        {"lost",       "\033[31m"},
        {"cancelled",  "\033[33m"},
        {"cancelling", "\033[33m"},
        {"suspended",  "\033[33m"},
        {"restarting", "\033[33m"},
    };
    for (size_t i = 0; wanted && i < sizeof colors / sizeof colors[0]; i++)
        if (ty_str_equal(text, colors[i].text))
            return colors[i].color;
    return NULL;
}

static void print_cell(const struct cli_listing *listing, const char *text, size_t width, bool last)
{
    const char *color = cli_color(listing->cli->color && listing->begun, text);
    fprintf(listing->out, "%s%s%s", color ? color : "", text, color ? "\033[0m" : "");
    if (!last)
        fprintf(listing->out, "%*s", (int)(width + 2 - cli_width(text)), "");
}

struct shown {
    const struct cli_column *columns[COLUMNS_MAX];
    size_t count;
};

static struct shown choose_columns(const struct cli_listing *listing)
{
    struct shown shown = {.count = 0};
    for (const struct cli_column *column = listing->columns;
         column->title && shown.count < COLUMNS_MAX; column++)
        if (!column->wide || listing->cli->format == FORMAT_WIDE)
            shown.columns[shown.count++] = column;
    return shown;
}

static void widen(struct cli_listing *listing, size_t index, const char *text)
{
    size_t width = cli_width(text);
    if (listing->widths[index] < width)
        listing->widths[index] = width;
}

static void print_row(const struct cli_listing *listing, const struct shown *shown,
                      const json_t *item)
{
    char cell[CELL_MAX];
    for (size_t c = 0; c < shown->count; c++)
        print_cell(listing, make_cell(shown->columns[c], listing->cli, item, cell),
                   listing->widths[c], c + 1 == shown->count);
    fputc('\n', listing->out);
}

static void print_titles(struct cli_listing *listing, const struct shown *shown)
{
    if (listing->begun)
        return;
    for (size_t c = 0; c < shown->count; c++)
        print_cell(listing, shown->columns[c]->title, listing->widths[c], c + 1 == shown->count);
    fputc('\n', listing->out);
    listing->begun = true;
}

/* Widths only grow from page to page, so that earlier pages need not be kept. */
static void print_table(struct cli_listing *listing, const json_t *items)
{
    struct shown shown = choose_columns(listing);
    size_t index;
    json_t *item;
    char cell[CELL_MAX];
    for (size_t c = 0; c < shown.count; c++) {
        widen(listing, c, shown.columns[c]->title);
        json_array_foreach((json_t *)(uintptr_t)items, index, item)
        {
            widen(listing, c, make_cell(shown.columns[c], listing->cli, item, cell));
        }
    }
    print_titles(listing, &shown);
    json_array_foreach((json_t *)(uintptr_t)items, index, item)
    {
        print_row(listing, &shown, item);
    }
}

static void print_name(FILE *out, const json_t *item, const char *name)
{
    const char *text = json_string_value(json_object_get(item, name));
    fprintf(out, "%s\n", text ? text : "");
}

static int add_text(const char *bytes, size_t len, void *context)
{
    struct cli_listing *listing = context;
    for (size_t i = 0; i < len; i++) {
        fputc(bytes[i], listing->out);
        if (bytes[i] == '\n')
            fputs("  ", listing->out);
    }
    return 0;
}

enum { JSON_FLAGS = JSON_INDENT(2) | JSON_REAL_PRECISION(15) };

static void print_json_items(struct cli_listing *listing, const json_t *items)
{
    size_t index;
    json_t *item;
    json_array_foreach((json_t *)(uintptr_t)items, index, item)
    {
        fputs(listing->begun ? ",\n  " : "[\n  ", listing->out);
        listing->begun = true;
        json_dump_callback(item, add_text, listing, JSON_FLAGS);
    }
}

static void print_yaml(FILE *out, const json_t *value)
{
    ty_auto_buf text = {0};
    ty_buf_init(&text, YAML_MAX);
    ty_yaml_write(&text, value);
    if (text.failed == TY_OK)
        fwrite(text.data, 1, text.len, out);
    else
        cli_say("the answer is too large for YAML");
}

void cli_listing_add(struct cli_listing *listing, const json_t *items)
{
    size_t index;
    json_t *item;
    listing->count += json_array_size(items);
    switch (listing->cli->format) {
    case FORMAT_JSON:
        print_json_items(listing, items);
        break;
    case FORMAT_YAML:
        if (json_array_size(items) > 0) /* lists one after the other are one list */
            print_yaml(listing->out, items);
        break;
    case FORMAT_NAME:
        json_array_foreach((json_t *)(uintptr_t)items, index, item)
        {
            print_name(listing->out, item, listing->name);
        }
        break;
    default:
        print_table(listing, items);
    }
}

int cli_listing_end(struct cli_listing *listing)
{
    if (listing->cli->format == FORMAT_JSON)
        fputs(listing->begun ? "\n]\n" : "[]\n", listing->out);
    else if (listing->cli->format == FORMAT_YAML && listing->count == 0)
        fputs("[]\n", listing->out);
    return fflush(listing->out) == 0 && !ferror(listing->out) ? EXIT_DONE : EXIT_JOB_FAILED;
}

int cli_print_list(const struct cli *cli, const json_t *items, const struct cli_column *columns,
                   const char *name)
{
    struct cli_listing listing = {.cli = cli, .columns = columns, .name = name, .out = stdout};
    cli_listing_add(&listing, items);
    return cli_listing_end(&listing);
}

/* What people do not look for in a table: links, tags, and the spec, which has its own lines. */
static bool is_quiet_member(const struct cli *cli, const char *key, const json_t *value)
{
    return ty_str_equal(key, "links") || ty_str_equal(key, "etag") ||
           (ty_str_equal(key, "spec") && cli->format != FORMAT_WIDE) || json_is_null(value);
}

static void print_members(const struct cli *cli, const json_t *object)
{
    const char *key;
    json_t *value;
    char cell[4096];
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (is_quiet_member(cli, key, value))
            continue;
        cli_text(object, key, cell, sizeof cell);
        const char *color = cli_color(cli->color, cell);
        printf("%-18s %s%s%s\n", key, color ? color : "", cell, color ? "\033[0m" : "");
    }
}

int cli_print_object(const struct cli *cli, const json_t *object, const char *name)
{
    switch (cli->format) {
    case FORMAT_JSON:
        json_dumpf(object, stdout, JSON_FLAGS);
        putchar('\n');
        break;
    case FORMAT_YAML:
        print_yaml(stdout, object);
        break;
    case FORMAT_NAME:
        print_name(stdout, object, name);
        break;
    default:
        print_members(cli, object);
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_DONE : EXIT_JOB_FAILED;
}

/* --- pages --- */

const struct cli_option cli_page_options[] = {
    {"limit", 0, "N",  "show at most so many (50)", NULL, false},
    {"all",   0, NULL, "show all, however many",    NULL, false},
    {NULL,    0, NULL, NULL,                        NULL, false},
};

static int fetch_page(const struct cli *cli, const char *path, int64_t limit, const json_t *cursor,
                      json_t **page_out)
{
    ty_auto_buf url = {0};
    ty_buf_init(&url, 64 * 1024);
    ty_buf_adds(&url, path);
    http_add_query_int(&url, "limit", limit < PAGE_MAX ? limit : PAGE_MAX);
    if (json_is_string(cursor))
        http_add_query(&url, "cursor", json_string_value(cursor));
    if (url.failed != TY_OK)
        return cli_misuse("the filters are too long");
    return http_get(cli, url.data, page_out);
}

int cli_print_pages(const struct cli *cli, const char *path, const struct cli_column *columns,
                    const char *name)
{
    struct cli_listing listing = {.cli = cli, .columns = columns, .name = name, .out = stdout};
    int64_t left = cli_has(cli, "all") ? INT64_MAX : PAGE_DEFAULT;
    ty_auto_json page = NULL;
    const json_t *cursor = NULL;
    if (!cli_number(cli, "limit", 1, INT64_MAX, &left))
        return EXIT_USAGE;
    do {
        json_t *next = NULL;
        int code = fetch_page(cli, path, left, cursor, &next);
        if (code != EXIT_DONE)
            return code;
        json_decref(page);
        page = next;
        const json_t *items = json_object_get(page, "items");
        cli_listing_add(&listing, items);
        left -= (int64_t)json_array_size(items);
        cursor = json_object_get(page, "next_cursor");
    } while (json_is_string(cursor) && left > 0 && !ferror(stdout));
    if (json_is_string(cursor))
        cli_say("%zu shown, there are more: --all or --limit N", listing.count);
    return cli_listing_end(&listing);
}
