/* Header fields that every answer carries (H21), in one place for both ways of answering. */
#ifndef TRAINYARD_HTTP_COMMON_FIELDS_H
#define TRAINYARD_HTTP_COMMON_FIELDS_H

#include <stddef.h>

struct ty_common_field {
    const char *name;
    const char *value; /* unless the response names its own */
};

extern const struct ty_common_field ty_common_fields[];
extern const size_t ty_common_field_count;

#endif
