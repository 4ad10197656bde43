#include "trainyard/base/id.h"

#include <string.h>

enum { DIGITS = 26, TIME_BYTES = 6, RANDOM_BYTES = 10, PREFIX_MAX = 12 };

/* Crockford's base32 without i, l, o and u, in ASCII order, so that text order is time order. */
static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

static void encode(const uint8_t bytes[TIME_BYTES + RANDOM_BYTES], char *out)
{
    /* 26 digits hold 130 bits: two zero bits in front of the 128. */
    uint32_t pending = 0;
    int bits = 2;
    size_t written = 0;

    for (size_t i = 0; i < TIME_BYTES + RANDOM_BYTES; i++) {
        pending = (pending << 8) | bytes[i];
        for (bits += 8; bits >= 5; bits -= 5)
            out[written++] = alphabet[(pending >> (bits - 5)) & 31];
    }
    out[written] = '\0';
}

void ty_id_make(const struct ty_random *random, int64_t wall_us, const char *prefix,
                char out[TY_ID_TEXT])
{
    uint64_t ms = wall_us > 0 ? (uint64_t)wall_us / 1000 : 0;
    uint8_t bytes[TIME_BYTES + RANDOM_BYTES];
    size_t prefix_len = strnlen(prefix, PREFIX_MAX);

    for (int i = 0; i < TIME_BYTES; i++)
        bytes[i] = (uint8_t)(ms >> (8 * (TIME_BYTES - 1 - i)));
    random->fill(random->context, bytes + TIME_BYTES, RANDOM_BYTES);
    memcpy(out, prefix, prefix_len);
    encode(bytes, out + prefix_len);
}

bool ty_id_valid(const char *prefix, const char *text)
{
    size_t prefix_len = strlen(prefix);
    const char *digits = text + prefix_len;

    if (strncmp(text, prefix, prefix_len) != 0 || strlen(digits) != DIGITS)
        return false;
    return digits[0] <= '7' && strspn(digits, alphabet) == DIGITS;
}

void ty_id_short(const char *id, char out[TY_ID_SHORT])
{
    enum { STEP_AT = 6, STEP = 3, RANDOM = TY_ID_SHORT - 1 - STEP };
    size_t len = strlen(id);
    const char *digits = len > DIGITS ? id + len - DIGITS : id;

    memcpy(out, digits + STEP_AT, STEP);
    memcpy(out + STEP, id + len - RANDOM, RANDOM + 1);
}
