/* Byte ranges (RFC 9110 14.2). Pure. */
#ifndef TRAINYARD_HTTP_RANGE_H
#define TRAINYARD_HTTP_RANGE_H

#include <stdint.h>

typedef enum {
    TY_RANGE_WHOLE, /* no, unreadable, foreign or several ranges: answer 200 with everything */
    TY_RANGE_PART,  /* 206 */
    TY_RANGE_UNSATISFIABLE /* 416 with Content-Range "bytes *" and the size */
} ty_range_verdict;

/* Judge a Range field's value against `size` bytes. *first_out and *length_out are set for
 * TY_RANGE_PART only. */
ty_range_verdict ty_range_judge(const char *value, uint64_t size, uint64_t *first_out,
                                uint64_t *length_out);

#endif
