/* Text: bounded copies, strict numbers, UTF-8. */
#ifndef TRAINYARD_BASE_STR_H
#define TRAINYARD_BASE_STR_H

#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Copy `text` into `out` of `size` bytes, always NUL-ended; false when it was cut. */
bool ty_str_copy(char *out, size_t size, const char *text);

static inline bool ty_str_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static inline bool ty_str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool ty_str_ends(const char *text, const char *suffix);

/* Read the whole of `text` as a decimal integer: optional '-', digits, no blanks, no leading zeros
 * but "0", no "-0". TY_INVALID when it is anything else or outside [min, max]; *value_out untouched
 * then. */
ty_status ty_str_to_int(const char *text, int64_t min, int64_t max,
                        int64_t *value_out) TY_MUST_CHECK;

/* Whether `len` bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms, up to
 * U+10FFFF). */
bool ty_utf8_valid(const char *bytes, size_t len);

/* Copy bytes to `out`, each ill-formed sequence replaced by U+FFFD (the "maximal subpart" practice
 * of Unicode 3.9). `out` needs 3 * len bytes. Returns the length written. A sequence cut off by the
 * end counts as ill-formed only when `final`; else it stays unread: *used_out says how many bytes
 * were taken. */
size_t ty_utf8_repair(const char *bytes, size_t len, bool final, char *out, size_t *used_out);

/* A DNS-1123 label (RFC 1123 2.1 as Kubernetes reads it): lower-case letters, digits, '-', no '-'
 * at an end, 1..63 bytes. A DNS-1035 label starts with a letter. A subdomain is such parts
 * joined by dots, at most 253 bytes in all; Kubernetes bounds the whole, not each part. */
bool ty_dns1123_label(const char *text);
bool ty_dns1035_label(const char *text);
bool ty_dns1123_subdomain(const char *text);

#endif
