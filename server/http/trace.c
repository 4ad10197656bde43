/* 00-<32 hex trace id>-<16 hex parent id>-<2 hex flags>, lower case, no id all zeros, version not
 * ff. */
#include "trace.h"

#include "trainyard/base/digest.h"

#include <stdint.h>
#include <string.h>

enum {
    TRACE_AT = 3,
    TRACE_LEN = 32,
    PARENT_AT = 36,
    PARENT_LEN = 16,
    FLAGS_AT = 53,
    FULL_LEN = 55
};

static bool is_hex(const char *text, size_t len)
{
    return strspn(text, "0123456789abcdef") >= len;
}

static bool is_zero(const char *text, size_t len)
{
    return strspn(text, "0") >= len;
}

bool ty_trace_valid(const char *text)
{
    size_t len = strlen(text);
    bool version_zero = strncmp(text, "00", 2) == 0;

    if (len < FULL_LEN || (version_zero && len != FULL_LEN))
        return false;
    if (len > FULL_LEN && text[FULL_LEN] != '-')
        return false;
    if (text[2] != '-' || text[PARENT_AT - 1] != '-' || text[FLAGS_AT - 1] != '-')
        return false;
    if (!is_hex(text, 2) || strncmp(text, "ff", 2) == 0 || !is_hex(text + FLAGS_AT, 2))
        return false;
    return is_hex(text + TRACE_AT, TRACE_LEN) && !is_zero(text + TRACE_AT, TRACE_LEN) &&
           is_hex(text + PARENT_AT, PARENT_LEN) && !is_zero(text + PARENT_AT, PARENT_LEN);
}

static void fill_id(const struct ty_random *random, size_t bytes, char *out)
{
    uint8_t id[TRACE_LEN / 2];
    char text[TRACE_LEN + 1];

    random->fill(random->context, id, bytes);
    id[0] |= 1; /* never all zeros */
    ty_hex(id, bytes, text);
    memcpy(out, text, 2 * bytes);
}

void ty_trace_next(const char *received, const struct ty_random *random,
                   char out[TY_TRACEPARENT_TEXT])
{
    bool valid = received && ty_trace_valid(received);
    char last = valid ? received[FLAGS_AT + 1] : '0';

    memcpy(out, "00-", 3);
    if (valid)
        memcpy(out + TRACE_AT, received + TRACE_AT, TRACE_LEN);
    else
        fill_id(random, TRACE_LEN / 2, out + TRACE_AT);
    out[PARENT_AT - 1] = '-';
    fill_id(random, PARENT_LEN / 2, out + PARENT_AT);
    out[FLAGS_AT - 1] = '-';
    out[FLAGS_AT] = '0';
    out[FLAGS_AT + 1] = strchr("13579bdf", last) ? '1' : '0';
    out[FULL_LEN] = '\0';
}
