/* Texts copied out of a statement's row, so that they outlive its reset: one block of memory, used
 * again each time. */
#ifndef STORE_TEXTS_H
#define STORE_TEXTS_H

#include "trainyard/base/error.h"

struct ty_texts {
    char *bytes;
    size_t capacity;
};

/* Copy the texts that `slots` point at (NULL texts stay NULL) and let the slots point at the
 * copies. What was kept before is overwritten. On failure the slots are untouched. */
ty_status ty_texts_keep(struct ty_texts *texts, const char **const *slots, size_t count,
                        struct ty_error *err) TY_MUST_CHECK;
/* The same for one text and one block of bytes (which gets a NUL behind it). */
ty_status ty_texts_keep_block(struct ty_texts *texts, const char **text, const char **block,
                              size_t block_len, struct ty_error *err) TY_MUST_CHECK;
void ty_row_texts_done(struct ty_texts *texts);

#endif
