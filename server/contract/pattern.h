/* Regular expressions of schemas; the only place with PCRE2. A pattern must mean the same in
 * ECMA-262, in Python and here, so only a portable subset is taken: literals, classes, groups,
 * alternatives, quantifiers, anchors, \xHH and escaped punctuation. */
#ifndef TRAINYARD_SERVER_CONTRACT_PATTERN_H
#define TRAINYARD_SERVER_CONTRACT_PATTERN_H

#include "trainyard/base/error.h"

#include <stdbool.h>

struct ty_pattern;

/* TY_INVALID says what is wrong and at which byte; TY_NO_MEMORY. */
ty_status ty_pattern_compile(const char *text, struct ty_pattern **pattern_out,
                             struct ty_error *err) TY_MUST_CHECK;
void ty_pattern_destroy(struct ty_pattern *pattern); /* takes NULL */

/* What one thread needs while it matches; empty at first, memory is taken when it is needed. */
struct ty_matcher {
    void *data;
};
void ty_matcher_done(struct ty_matcher *matcher);

/* Search well-formed UTF-8 for the pattern. A search that meets its limits counts as no match: the
 * text is of a kind that no honest client sends. TY_NO_MEMORY: *matches_out is untouched. */
ty_status ty_pattern_match(const struct ty_pattern *pattern, struct ty_matcher *matcher,
                           const char *text, size_t len, bool *matches_out) TY_MUST_CHECK;

#endif
