/* The one catalogue of reason codes (H2). A code is never removed and never re-used for something
 * else. */
#ifndef TRAINYARD_HTTP_PROBLEM_H
#define TRAINYARD_HTTP_PROBLEM_H

#include "trainyard/base/buf.h"
#include "trainyard/base/faults.h"

struct ty_problem_kind {
    const char *code;  /* snake_case, at most 63 bytes: `code` and the fragment of `type`
                          "/docs/errors#<code>" */
    int status;        /* HTTP */
    const char *title; /* constant per code */
    const char
        *meaning; /* one or two sentences for the reference page: when it happens, what to do */
};

/* All rows, sorted by code, for the reference page and the contract's tests. */
const struct ty_problem_kind *ty_problem_kinds(size_t *count_out);

/* The row of a code; NULL when there is none. */
const struct ty_problem_kind *ty_problem_find(const char *code);

/* The row that stands for a status alone (TY_NOT_FOUND is not_found); never NULL. */
const struct ty_problem_kind *ty_problem_of_status(ty_status status);

/* The row for a failed call: err->code's where the catalogue has it, else its status's. */
const struct ty_problem_kind *ty_problem_of_error(const struct ty_error *err);

/* The words of a failed call that a client may see; NULL for those that speak of our insides. */
const char *ty_problem_detail(const struct ty_error *err);

/* Append the document. `detail` NULL stands for the row's meaning, `faults` may be NULL. */
void ty_problem_write(struct ty_buf *buf, const struct ty_problem_kind *kind, const char *detail,
                      const char *instance, const char *request_id, const struct ty_faults *faults);

#endif
