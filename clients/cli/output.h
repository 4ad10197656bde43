/* Results on standard output: aligned tables, JSON, YAML or bare names. */
#ifndef TRAINYARD_CLI_OUTPUT_H
#define TRAINYARD_CLI_OUTPUT_H

#include "cli.h"

#include <stdio.h>

typedef enum { SHOW_TEXT, SHOW_SIZE, SHOW_DURATION } column_kind;

struct cli_column {
    const char *title;
    const char *member; /* of the item; "a.b" goes inside */
    column_kind kind;
    size_t most; /* columns, longer text is cut unless wide; 0 = any */
    bool wide;   /* only with -o wide */
};

enum { COLUMNS_MAX = 16 };

/* A list that comes page by page. */
struct cli_listing {
    const struct cli *cli;
    const struct cli_column *columns; /* ends with a row without title */
    const char *name;                 /* the member that -o name prints */
    FILE *out;
    size_t widths[COLUMNS_MAX];
    size_t count; /* items so far */
    bool begun;
};

void cli_listing_add(struct cli_listing *listing, const json_t *items);
int cli_listing_end(struct cli_listing *listing);

/* The same for a whole list, to standard output. */
int cli_print_list(const struct cli *cli, const json_t *items, const struct cli_column *columns,
                   const char *name);

/* One object; as a table: a line a member. */
int cli_print_object(const struct cli *cli, const json_t *object, const char *name);

/* --limit and --all, for the tables of commands that list. */
extern const struct cli_option cli_page_options[];

/* Fetch `path` (which may have a query) page by page and print it, by --limit and --all. */
int cli_print_pages(const struct cli *cli, const char *path, const struct cli_column *columns,
                    const char *name);

/* The terminal's escape sequence for a state or the like, NULL for none. */
const char *cli_color(bool wanted, const char *text);

#endif
