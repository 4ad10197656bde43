#include "gzip.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, LEVEL = 1, MEMORY = 8, STEP = 16384 };

void *ty_gzip_deflate(const void *bytes, size_t len, size_t *len_out)
{
    z_stream z = {0};
    unsigned char *out;
    int result;

    if (len > UINT_MAX / 2)
        return NULL;
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    out = malloc(len); /* as much as the plain form: beyond it nothing is saved */
    z.next_in = (unsigned char *)(uintptr_t)bytes;
    z.avail_in = (unsigned)len;
    z.next_out = out;
    z.avail_out = out ? (unsigned)len : 0;
    result = out ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
    *len_out = z.total_out;
    deflateEnd(&z);
    if (result != Z_STREAM_END) {
        free(out);
        return NULL;
    }
    return out;
}

/* Inflate piece by piece until the stream ends, the input does or a limit is reached. */
static ty_status inflate_all(z_stream *z, size_t len, struct ty_buf *buf, struct ty_error *err)
{
    int result = Z_OK;

    while (result != Z_STREAM_END) {
        size_t room = buf->max - buf->len < STEP ? buf->max - buf->len : STEP;
        char *out;

        if (room == 0 || z->total_out > len * TY_GZIP_RATIO)
            return ty_fail_code(err, TY_TOO_LARGE, "body_too_large",
                                "the body is larger than allowed once inflated");
        out = ty_buf_reserve(buf, room);
        if (!out)
            return ty_fail(err, TY_NO_MEMORY, "inflate the body");
        z->next_out = (unsigned char *)out;
        z->avail_out = (unsigned)room;
        result = inflate(z, Z_NO_FLUSH);
        ty_buf_grew(buf, room - z->avail_out);
        if (result == Z_MEM_ERROR)
            return ty_fail(err, TY_NO_MEMORY, "inflate the body");
        if (result != Z_OK && result != Z_STREAM_END)
            return ty_fail_code(err, TY_INVALID, "bad_encoding", "the body is not a gzip stream");
    }
    if (z->avail_in > 0)
        return ty_fail_code(err, TY_INVALID, "bad_encoding", "bytes follow the gzip stream");
    return TY_OK;
}

ty_status ty_gzip_inflate(const void *bytes, size_t len, struct ty_buf *buf, struct ty_error *err)
{
    z_stream z = {0};
    ty_status status;

    if (len > UINT_MAX)
        return ty_fail_code(err, TY_TOO_LARGE, "body_too_large", "the body is too large");
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return ty_fail(err, TY_NO_MEMORY, "inflate the body");
    z.next_in = (unsigned char *)(uintptr_t)bytes;
    z.avail_in = (unsigned)len;
    status = inflate_all(&z, len, buf, err);
    inflateEnd(&z);
    return status;
}
