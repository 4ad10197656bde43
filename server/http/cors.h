/* Cross-origin requests (H19): off unless origins are configured; exact match; never with
 * credentials. */
#ifndef TRAINYARD_HTTP_CORS_H
#define TRAINYARD_HTTP_CORS_H

#include <stdbool.h>

struct ty_request;
struct ty_response;

extern const char ty_cors_exposed[];

/* Whether `origin` (may be NULL) is one of `origins`. "null" never is. */
bool ty_cors_allows(const char *const *origins, const char *origin);

/* The answer to a preflight for a path with these methods, or NULL when the request is none or
 * comes from elsewhere. */
struct ty_response *ty_cors_preflight(const char *const *origins, const char *origin,
                                      const char *asked_method, const char *allow);

#endif
