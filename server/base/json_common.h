/* The JSON that clients usually send, parsed in one pass: several times faster than the library,
 * which looks at every byte by itself. */
#ifndef TRAINYARD_BASE_JSON_COMMON_H
#define TRAINYARD_BASE_JSON_COMMON_H

#include "trainyard/base/json.h"

/* TY_OK: the value, as the library would have made it. TY_NO_MEMORY. TY_UNSUPPORTED: a fault, or
 * something rare; nothing was decided, and the library must look. */
ty_status json_common_parse(const char *bytes, size_t len, json_t **json_out) TY_MUST_CHECK;

#endif
