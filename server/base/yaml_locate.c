/* A second walk over a text that was parsed, for the places of its faults. Positions are not kept
 * in the tree: a text without faults, the usual one, pays nothing for them. */
#include "trainyard/base/yaml.h"

#include "yaml_reader.h"

#include "trainyard/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

/* A pointer of a fault is shorter than this; a longer path leads to none of them. */
enum { DEPTH = 66, PATH = 1024 };

struct frame {
    bool mapping;
    bool value_next; /* of a mapping: its key was read */
    size_t index;    /* of a sequence: the item that comes */
    size_t path_len; /* of the collection itself */
};

struct walker {
    yaml_parser_t parser;
    struct ty_yaml_place *places;
    size_t count;
    size_t document;
    struct frame frames[DEPTH];
    size_t depth;
    char path[PATH];
    size_t path_len;
};

static void add_char(struct walker *walker, char c)
{
    if (walker->path_len < PATH)
        walker->path[walker->path_len++] = c;
}

static void add_token(struct walker *walker, const char *token, size_t len)
{
    add_char(walker, '/');
    for (size_t i = 0; i < len; i++) {
        if (token[i] == '~' || token[i] == '/')
            add_char(walker, '~');
        add_char(walker, token[i] == '~' ? '0' : token[i] == '/' ? '1' : token[i]);
    }
}

/* The current path is `mark`'s: so is every place at it or below, until a deeper one is found. */
static void note(struct walker *walker, yaml_mark_t mark)
{
    for (size_t i = 0; i < walker->count; i++) {
        struct ty_yaml_place *place = &walker->places[i];
        const char *pointer = place->pointer;

        if (place->document != walker->document ||
            strncmp(pointer, walker->path, walker->path_len) != 0 ||
            (pointer[walker->path_len] != '\0' && pointer[walker->path_len] != '/'))
            continue;
        place->line = mark.line + 1;
        place->column = mark.column + 1;
    }
}

static void enter(struct walker *walker, bool mapping)
{
    if (walker->depth < DEPTH)
        walker->frames[walker->depth] =
            (struct frame){.mapping = mapping, .path_len = walker->path_len};
    walker->depth++;
}

static struct frame *innermost(struct walker *walker)
{
    return walker->depth > 0 && walker->depth <= DEPTH ? &walker->frames[walker->depth - 1] : NULL;
}

/* A node begins: a document's root, a mapping's key or value, or an item. */
static void begin_node(struct walker *walker, const yaml_event_t *event)
{
    struct frame *frame = innermost(walker);
    char token[24];

    if (!frame) {
        if (walker->depth == 0)
            note(walker, event->start_mark);
        return;
    }
    if (frame->mapping && frame->value_next) {
        frame->value_next = false;
        return;
    }
    walker->path_len = frame->path_len;
    if (!frame->mapping) {
        snprintf(token, sizeof(token), "%zu", frame->index++);
        add_token(walker, token, strlen(token));
    } else if (event->type == YAML_SCALAR_EVENT) {
        add_token(walker, (const char *)event->data.scalar.value, event->data.scalar.length);
        frame->value_next = true;
    } else {
        add_token(walker, "*", 1); /* an alias as a key */
        frame->value_next = true;
    }
    note(walker, event->start_mark);
}

static void visit(struct walker *walker, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        walker->path_len = 0;
        break;
    case YAML_DOCUMENT_END_EVENT:
        walker->document++;
        break;
    case YAML_SCALAR_EVENT:
    case YAML_ALIAS_EVENT:
        begin_node(walker, event);
        break;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        begin_node(walker, event);
        enter(walker, event->type == YAML_MAPPING_START_EVENT);
        break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        if (walker->depth > 0)
            walker->depth--;
        break;
    default:
        break;
    }
}

ty_status ty_yaml_locate(const char *bytes, size_t len, struct ty_yaml_place *places, size_t count,
                         struct ty_error *err)
{
    struct walker walker = {.places = places, .count = count};
    bool more = true;

    for (size_t i = 0; i < count; i++)
        places[i].line = places[i].column = 0;
    if (!ty_yaml_open(&walker.parser, &bytes, &len))
        return ty_fail(err, TY_NO_MEMORY, "no memory to parse YAML");
    while (more) {
        yaml_event_t event;

        if (!yaml_parser_parse(&walker.parser, &event))
            break; /* what was found so far stands */
        visit(&walker, &event);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    bool no_memory = walker.parser.error == YAML_MEMORY_ERROR;

    yaml_parser_delete(&walker.parser);
    return no_memory ? ty_fail(err, TY_NO_MEMORY, "no memory to parse YAML") : TY_OK;
}

static int compare_places(const void *a, const void *b)
{
    const struct ty_fault *x = a;
    const struct ty_fault *y = b;

    if (x->document != y->document)
        return x->document < y->document ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

ty_status ty_yaml_place_faults(const char *bytes, size_t len, struct ty_faults *faults,
                               struct ty_error *err)
{
    struct ty_yaml_place places[TY_FAULTS_MAX];

    for (size_t i = 0; i < faults->count; i++)
        places[i] = (struct ty_yaml_place){.document = faults->items[i].document,
                                           .pointer = faults->items[i].where};
    ty_status status = ty_yaml_locate(bytes, len, places, faults->count, err);

    if (status)
        return status;
    for (size_t i = 0; i < faults->count; i++) {
        if (faults->items[i].place != TY_AT_POINTER)
            continue;
        faults->items[i].line = places[i].line;
        faults->items[i].column = places[i].column;
    }
    qsort(faults->items, faults->count, sizeof(faults->items[0]), compare_places);
    return TY_OK;
}

/* A number behind `words`; what follows it goes out. */
static bool number_behind(const char *text, const char *words, size_t *number_out,
                          const char **rest_out)
{
    char *end = NULL;

    if (!ty_str_starts(text, words))
        return false;
    text += strlen(words);
    *number_out = strtoul(text, &end, 10);
    *rest_out = end;
    return end > text;
}

bool ty_yaml_error_place(const struct ty_error *err, size_t *line_out, size_t *column_out)
{
    const char *rest = err->text;
    size_t line = 0;
    size_t column = 0;
    bool found = number_behind(rest, "line ", &line, &rest) &&
                 number_behind(rest, ", column ", &column, &rest) && *rest == ':';

    *line_out = found ? line : 0;
    *column_out = found ? column : 0;
    return found;
}
