#include "media.h"

#include "fields.h"

#include <string.h>

const char *ty_media_match(const char *value, const char *const *types)
{
    struct ty_slice whole = {value, strlen(value)};
    struct ty_slice name;
    struct ty_slice rest;
    struct ty_slice charset;

    ty_slice_split(whole, &name, &rest);
    if (ty_slice_parameter(rest, "charset", &charset) && !ty_slice_equal(charset, "utf-8") &&
        !ty_slice_equal(charset, "us-ascii"))
        return NULL;
    for (; *types; types++)
        if (ty_slice_equal(name, *types))
            return *types;
    return NULL;
}

bool ty_media_compressible(const char *type)
{
    static const char *const kinds[] = {
        "application/json", "application/problem+json",
        "application/yaml", "application/javascript",
        "image/svg+xml",    "application/openmetrics-text",
    };
    size_t len = strcspn(type, "; ");

    if (strncmp(type, "text/", 5) == 0)
        return strncmp(type, "text/event-stream", 17) != 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == len && memcmp(kinds[i], type, len) == 0)
            return true;
    return false;
}
