/* Where in a JSON value a check stands: frames on the caller's stack, written out only when there
 * is a fault. */
#ifndef TRAINYARD_SERVER_CONTRACT_PLACE_H
#define TRAINYARD_SERVER_CONTRACT_PLACE_H

#include <stddef.h>

/* One step down; the root is NULL. */
struct ty_place {
    const struct ty_place *parent;
    const char *key; /* NULL: `index` of an array */
    size_t index;
};

enum { TY_POINTER_TEXT = 512 };

/* The RFC 6901 pointer, cut at the end when it does not fit. */
void ty_place_pointer(const struct ty_place *place, char out[TY_POINTER_TEXT]);

#endif
