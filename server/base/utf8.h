/* One step of UTF-8 reading, shared by everything in this room that walks over text. */
#ifndef TRAINYARD_SERVER_BASE_UTF8_H
#define TRAINYARD_SERVER_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    UTF8_WELL_FORMED, /* `len` bytes are one character, `point` its code point */
    UTF8_ILL_FORMED,  /* the first `len` bytes are the maximal subpart of an ill-formed sequence */
    UTF8_CUT_OFF      /* well-formed so far, but the input ends within the character */
} utf8_kind;

struct utf8_step {
    utf8_kind kind;
    size_t len;
    uint32_t point;
};

/* Look at the front of `len` bytes (len > 0). */
struct utf8_step ty_utf8_step(const char *bytes, size_t len);

#endif
