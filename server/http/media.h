/* Media types of bodies. Pure. */
#ifndef TRAINYARD_HTTP_MEDIA_H
#define TRAINYARD_HTTP_MEDIA_H

#include <stdbool.h>

/* Which of `types` (NULL-ended) a Content-Type value names; NULL for none, for one that cannot be
 * read and for a charset other than UTF-8 (or US-ASCII, its subset). */
const char *ty_media_match(const char *value, const char *const *types);

/* Whether bodies of this type are worth compressing. */
bool ty_media_compressible(const char *type);

#endif
