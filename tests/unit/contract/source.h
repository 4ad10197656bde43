/* Parameters for tests: a list of "place name value" triples as a source. */
#ifndef TRAINYARD_TESTS_UNIT_CONTRACT_SOURCE_H
#define TRAINYARD_TESTS_UNIT_CONTRACT_SOURCE_H

#include "trainyard/contract/contract.h"

#include <string.h>
#include <strings.h>

enum { SOURCE_MAX = 80 };

struct source_list {
    struct {
        char place; /* p, q or h */
        const char *name;
        const char *value;
    } items[SOURCE_MAX];
};

static inline const char *source_variable(void *context, const char *name)
{
    struct source_list *list = context;

    for (size_t i = 0; i < SOURCE_MAX && list->items[i].place; i++) {
        if (list->items[i].place == 'p' && strcmp(list->items[i].name, name) == 0)
            return list->items[i].value;
    }
    return NULL;
}

static inline bool source_query(void *context, size_t index, const char **name_out,
                                const char **value_out)
{
    struct source_list *list = context;

    for (size_t i = 0; i < SOURCE_MAX && list->items[i].place; i++) {
        if (list->items[i].place != 'q' || index-- > 0)
            continue;
        *name_out = list->items[i].name;
        *value_out = list->items[i].value;
        return true;
    }
    return false;
}

static inline const char *source_header(void *context, const char *name)
{
    struct source_list *list = context;

    for (size_t i = 0; i < SOURCE_MAX && list->items[i].place; i++) {
        if (list->items[i].place == 'h' && strcasecmp(list->items[i].name, name) == 0)
            return list->items[i].value;
    }
    return NULL;
}

static inline struct ty_parameter_source source_of(struct source_list *list)
{
    return (struct ty_parameter_source){
        .context = list,
        .variable = source_variable,
        .query = source_query,
        .header = source_header,
    };
}

#endif
