/* A growing byte buffer that has its maximum from birth and a sticky failure: append as often as
 * you like, ask once at the end. `data` is always NUL-ended once anything was appended, the NUL not
 * counted in `len`. */
#ifndef TRAINYARD_BASE_BUF_H
#define TRAINYARD_BASE_BUF_H

#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct ty_buf {
    char *data;
    size_t len;
    size_t capacity;
    size_t max;       /* `len` never exceeds it */
    ty_status failed; /* TY_OK, TY_TOO_LARGE or TY_NO_MEMORY; once set, appends do nothing */
};

/* An empty buffer that may grow to `max` bytes. No memory is taken before the first append. */
void ty_buf_init(struct ty_buf *buf, size_t max);

/* Free the contents; the buffer is empty and usable again with the same maximum. */
void ty_buf_done(struct ty_buf *buf);

/* Forget the contents and the failure, keep the memory. */
void ty_buf_clear(struct ty_buf *buf);

/* An append that does not fit adds nothing at all. */
void ty_buf_add(struct ty_buf *buf, const void *bytes, size_t len);
void ty_buf_adds(struct ty_buf *buf, const char *text);
void ty_buf_addc(struct ty_buf *buf, char c);
void ty_buf_addf(struct ty_buf *buf, const char *format, ...) TY_PRINTF(2, 3);

/* Room for `len` more bytes to write in place, or NULL (sticky failure); call ty_buf_grew with what
 * was used. */
char *ty_buf_reserve(struct ty_buf *buf, size_t len);
void ty_buf_grew(struct ty_buf *buf, size_t len);

/* Keep only the first `len` bytes, of which there are as many. */
void ty_buf_cut(struct ty_buf *buf, size_t len);

/* Remove the first `len` bytes. */
void ty_buf_consume(struct ty_buf *buf, size_t len);

/* TY_OK, or the sticky failure with a text that names `what` and the maximum. */
ty_status ty_buf_check(const struct ty_buf *buf, const char *what,
                       struct ty_error *err) TY_MUST_CHECK;

/* Hand the memory over: the caller frees it. NULL when the buffer failed; "" allocated when it is
 * empty. */
char *ty_buf_take(struct ty_buf *buf, size_t *len_out);

#define ty_auto_buf __attribute__((cleanup(ty_buf_done))) struct ty_buf

#endif
