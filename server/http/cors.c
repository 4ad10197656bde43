#include "cors.h"

#include "trainyard/base/str.h"
#include "trainyard/http/response.h"

const char ty_cors_exposed[] =
    "ETag, Location, Link, Request-Id, Retry-After, RateLimit, RateLimit-Policy, "
    "Deprecation, Sunset, Content-Range, Accept-Ranges, Log-Offset, "
    "Log-Next-Offset, Idempotency-Replayed, Repr-Digest";

static const char allowed_fields[] =
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
    "Last-Event-ID, Range, Trainyard-Tenant, traceparent";

bool ty_cors_allows(const char *const *origins, const char *origin)
{
    if (!origins || !origin || ty_str_equal(origin, "null"))
        return false;
    for (; *origins; origins++)
        if (ty_str_equal(*origins, origin))
            return true;
    return false;
}

struct ty_response *ty_cors_preflight(const char *const *origins, const char *origin,
                                      const char *asked_method, const char *allow)
{
    struct ty_response *response;

    if (!asked_method || !ty_cors_allows(origins, origin))
        return NULL;
    response = ty_response_empty(204);
    ty_response_header(response, "Allow", allow);
    ty_response_header(response, "Access-Control-Allow-Methods", allow);
    ty_response_header(response, "Access-Control-Allow-Headers", allowed_fields);
    ty_response_header(response, "Access-Control-Max-Age", "600");
    return response;
}
