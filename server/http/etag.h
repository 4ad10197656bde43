/* Entity tags as the server itself handles them; for others see http/conditional.h. */
#ifndef TRAINYARD_HTTP_ETAG_H
#define TRAINYARD_HTTP_ETAG_H

#include "trainyard/http/conditional.h"

/* The tag of the gzip form of what `etag` names: "\"abc-gzip\"". False when it does not fit. */
bool ty_etag_with_gzip(const char *etag, char out[TY_ETAG_TEXT]);

/* Whether `etag` is one well-formed entity tag. */
bool ty_etag_valid(const char *etag);

#endif
