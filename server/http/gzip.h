/* gzip in both directions, within limits. The only place with zlib. */
#ifndef TRAINYARD_HTTP_GZIP_H
#define TRAINYARD_HTTP_GZIP_H

#include "trainyard/base/buf.h"

enum { TY_GZIP_RATIO = 100 };

/* Compress to a fresh allocation. NULL when memory ran out or nothing would be saved. */
void *ty_gzip_deflate(const void *bytes, size_t len, size_t *len_out);

/* Inflate `bytes` to the end of `buf`, whose maximum bounds it. TY_INVALID (bad_encoding): not one
 * whole gzip stream; TY_TOO_LARGE (body_too_large): beyond buf->max or TY_GZIP_RATIO times its
 * size; TY_NO_MEMORY. */
ty_status ty_gzip_inflate(const void *bytes, size_t len, struct ty_buf *buf,
                          struct ty_error *err) TY_MUST_CHECK;

#endif
