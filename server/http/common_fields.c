#include "common_fields.h"

const struct ty_common_field ty_common_fields[] = {
    {"Cache-Control",           "no-store"                                  },
    {"X-Content-Type-Options",  "nosniff"                                   },
    {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
    {"Referrer-Policy",         "no-referrer"                               },
};

const size_t ty_common_field_count = sizeof ty_common_fields / sizeof *ty_common_fields;
