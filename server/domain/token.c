/* T1: ty_<kind>_, 30 base62 digits (178 bits), 6 base62 digits of the CRC-32 of all before them.
 * The checksum lets a scanner or a typing error be told apart from an unknown token without a
 * look-up; it protects nothing. */
#include "trainyard/base/digest.h"
#include "trainyard/base/str.h"
#include "trainyard/domain/access.h"

#include <string.h>

enum { PREFIX = 5, DIGITS = 30, CHECK = 6, LENGTH = PREFIX + DIGITS + CHECK };

_Static_assert(LENGTH + 1 == TY_TOKEN_TEXT, "the header promises 41 bytes and a NUL");

static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

enum { BASE = sizeof(alphabet) - 1 };

static void write_check(const char *text, char out[CHECK])
{
    uint32_t crc = ty_crc32(text, PREFIX + DIGITS);

    for (size_t i = CHECK; i > 0; i--) {
        out[i - 1] = alphabet[crc % BASE];
        crc /= BASE;
    }
}

void ty_token_make(const struct ty_random *random, char kind, char out[TY_TOKEN_TEXT])
{
    memcpy(out, "ty_?_", PREFIX);
    out[3] = kind;
    for (size_t i = PREFIX; i < PREFIX + DIGITS; i++)
        out[i] = alphabet[ty_random_below(random, BASE)];
    write_check(out, out + PREFIX + DIGITS);
    out[LENGTH] = '\0';
}

static bool is_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool ty_token_well_formed(const char *text)
{
    char check[CHECK];

    if (strnlen(text, LENGTH + 1) != LENGTH || !ty_str_starts(text, "ty_") || text[4] != '_' ||
        !strchr("usaj", text[3]))
        return false;
    for (size_t i = PREFIX; i < LENGTH; i++)
        if (!is_digit(text[i]))
            return false;
    write_check(text, check);
    return memcmp(check, text + PREFIX + DIGITS, CHECK) == 0;
}
