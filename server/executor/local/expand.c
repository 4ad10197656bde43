#include "executor/local/expand.h"

#include <stdlib.h>
#include <string.h>

ty_status ty_variables_add(struct ty_variables *variables, const char *name, const char *value,
                           struct ty_error *err)
{
    if (variables->count == variables->capacity) {
        size_t capacity = variables->capacity ? variables->capacity * 2 : 32;
        struct ty_variable *items = reallocarray(variables->items, capacity, sizeof *items);
        if (!items)
            return ty_fail(err, TY_NO_MEMORY, "no memory for an environment");
        variables->items = items;
        variables->capacity = capacity;
    }
    struct ty_variable added = {strdup(name), strdup(value)};
    if (!added.name || !added.value) {
        free(added.name);
        free(added.value);
        return ty_fail(err, TY_NO_MEMORY, "no memory for an environment");
    }
    variables->items[variables->count++] = added;
    return TY_OK;
}

static const char *find(const struct ty_variables *variables, const char *name, size_t len)
{
    for (size_t i = variables->count; i > 0; i--) {
        const struct ty_variable *item = &variables->items[i - 1];
        if (strncmp(item->name, name, len) == 0 && item->name[len] == '\0')
            return item->value;
    }
    return NULL;
}

const char *ty_variables_get(const struct ty_variables *variables, const char *name)
{
    return find(variables, name, strlen(name));
}

void ty_variables_done(struct ty_variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        free(variables->items[i].name);
        free(variables->items[i].value);
    }
    free(variables->items);
    *variables = (struct ty_variables){0};
}

/* What stands at a `$`; returns how many bytes of the text it took. */
static size_t expand_at(const char *dollar, const struct ty_variables *variables,
                        struct ty_buf *out)
{
    if (dollar[1] == '$') {
        ty_buf_addc(out, '$');
        return 2;
    }
    const char *close = dollar[1] == '(' ? strchr(dollar, ')') : NULL;
    if (!close) {
        ty_buf_addc(out, '$');
        return 1;
    }
    const char *value = find(variables, dollar + 2, (size_t)(close - dollar) - 2);
    size_t len = (size_t)(close - dollar) + 1;
    if (value)
        ty_buf_adds(out, value);
    else
        ty_buf_add(out, dollar, len);
    return len;
}

void ty_expand(const char *text, const struct ty_variables *variables, struct ty_buf *out)
{
    while (*text) {
        size_t plain = strcspn(text, "$");
        ty_buf_add(out, text, plain);
        text += plain;
        if (*text)
            text += expand_at(text, variables, out);
    }
}
