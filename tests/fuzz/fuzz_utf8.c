/* Any bytes into the repair of UTF-8: the result is well-formed, the same in one piece and in two,
 * and as long as it has to be. The first byte says where to cut. */
#include "trainyard/base/json.h"
#include "trainyard/base/str.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_quote(const char *bytes, size_t len)
{
    ty_auto_buf text = {0};

    ty_buf_init(&text, 6 * len + 2);
    ty_json_quote(&text, bytes, len);
    if (text.failed || !ty_utf8_valid(text.data, text.len))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char whole[3 * 256];
    char pieces[3 * 256];
    const char *bytes;
    size_t len;
    size_t cut;
    size_t used;
    size_t whole_len;
    size_t pieces_len;

    if (size < 1 || size > 257)
        return 0;
    bytes = (const char *)data + 1;
    len = size - 1;
    cut = len ? data[0] % len : 0;
    whole_len = ty_utf8_repair(bytes, len, true, whole, &used);
    if (used != len || !ty_utf8_valid(whole, whole_len))
        abort();
    if (ty_utf8_valid(bytes, len) != (whole_len == len && memcmp(whole, bytes, len) == 0))
        abort();
    pieces_len = ty_utf8_repair(bytes, cut, false, pieces, &used);
    pieces_len += ty_utf8_repair(bytes + used, len - used, true, pieces + pieces_len, &used);
    if (pieces_len != whole_len || memcmp(whole, pieces, whole_len) != 0)
        abort();
    check_quote(bytes, len);
    return 0;
}
