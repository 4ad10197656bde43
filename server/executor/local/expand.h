/* Kubernetes' expansion of $(NAME) in environment values and command lines. Pure. */
#ifndef TRAINYARD_EXECUTOR_EXPAND_H
#define TRAINYARD_EXECUTOR_EXPAND_H

#include "trainyard/base/buf.h"

/* An ordered list of variables; a later entry of a name hides an earlier one. Owned texts. */
struct ty_variable {
    char *name;
    char *value;
};
struct ty_variables {
    struct ty_variable *items;
    size_t count;
    size_t capacity;
};

/* TY_NO_MEMORY leaves the list as it was. */
ty_status ty_variables_add(struct ty_variables *variables, const char *name, const char *value,
                           struct ty_error *err) TY_MUST_CHECK;
const char *ty_variables_get(const struct ty_variables *variables,
                             const char *name); /* NULL = none */
void ty_variables_done(struct ty_variables *variables);

/* Append `text` with $(NAME) replaced; an unknown name stays as it is, `$$` becomes `$` and shields
 * what follows, any other `$` stays (third_party/forked/golang/expansion of Kubernetes). */
void ty_expand(const char *text, const struct ty_variables *variables, struct ty_buf *out);

#endif
