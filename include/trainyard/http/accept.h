/* Content negotiation (RFC 9110 12.4.2, 12.5.1, 12.5.3). Pure. */
#ifndef TRAINYARD_HTTP_ACCEPT_H
#define TRAINYARD_HTTP_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>

/* Which of `offers` (NULL-ended, media types without parameters, the first liked best) the Accept
 * field `value` prefers: an index, or -1 when it takes none of them. NULL, "" and what cannot be
 * read take anything. The most specific range decides each offer's quality; among equals the
 * earlier offer wins. */
int ty_accept_choose(const char *value, const char *const *offers);

/* Whether Accept-Encoding allows gzip and does not like identity better. NULL: no. */
bool ty_accept_gzip(const char *value);

#endif
