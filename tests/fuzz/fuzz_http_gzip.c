/* Any bytes as a gzip body: never more than the buffer's maximum, and what inflates deflates and
 * inflates to itself. */
#include "../../server/http/gzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_error err;
    ty_auto_buf out = {0};
    ty_auto_buf again = {0};
    size_t len;
    void *packed;

    ty_buf_init(&out, 100000);
    ty_buf_init(&again, 100001);
    if (ty_gzip_inflate(data, size, &out, &err) != TY_OK) {
        if (out.len > 100000)
            abort();
        return 0;
    }
    packed = out.len ? ty_gzip_deflate(out.data, out.len, &len) : NULL;
    if (packed) {
        ty_status status = ty_gzip_inflate(packed, len, &again, &err);

        if (status == TY_OK && (again.len != out.len || memcmp(again.data, out.data, out.len) != 0))
            abort();
        if (status != TY_OK && status != TY_TOO_LARGE)
            abort();
    }
    free(packed);
    return 0;
}
