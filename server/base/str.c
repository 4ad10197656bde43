#include "trainyard/base/str.h"

#include "utf8.h"

/* The well-formed sequences beyond ASCII (Unicode 3.9, table 3-7): the first byte decides the
 * length and the range of the second; all later bytes are 80..BF. */
static const struct {
    uint8_t first_low, first_high, second_low, second_high, len;
} sequences[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2},
    {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4},
    {0xf4, 0xf4, 0x80, 0x8f, 4},
};

bool ty_str_copy(char *out, size_t size, const char *text)
{
    size_t len = strnlen(text, size);
    bool whole = len < size;

    if (size == 0)
        return false;
    if (!whole)
        len = size - 1;
    memmove(out, text, len);
    out[len] = '\0';
    return whole;
}

bool ty_str_ends(const char *text, const char *suffix)
{
    size_t text_len = strlen(text);
    size_t suffix_len = strlen(suffix);

    return text_len >= suffix_len && strcmp(text + text_len - suffix_len, suffix) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

ty_status ty_str_to_int(const char *text, int64_t min, int64_t max, int64_t *value_out)
{
    bool negative = text[0] == '-';
    const char *digits = text + negative;
    int64_t value = 0;

    if (!is_digit(digits[0]) || (digits[0] == '0' && (negative || digits[1] != '\0')))
        return TY_INVALID;
    for (const char *p = digits; *p; p++) {
        /* Negative numbers are summed downwards: the smallest has no positive counterpart. */
        int digit = *p - '0';

        if (!is_digit(*p) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return TY_INVALID;
    }
    if (value < min || value > max)
        return TY_INVALID;
    *value_out = value;
    return TY_OK;
}

struct utf8_step ty_utf8_step(const char *bytes, size_t len)
{
    uint8_t first = (uint8_t)bytes[0];
    struct utf8_step step = {.kind = UTF8_ILL_FORMED, .len = 1, .point = first};
    size_t row = 0;

    if (first < 0x80) {
        step.kind = UTF8_WELL_FORMED;
        return step;
    }
    while (row < sizeof(sequences) / sizeof(sequences[0]) && first > sequences[row].first_high)
        row++;
    if (row == sizeof(sequences) / sizeof(sequences[0]) || first < sequences[row].first_low)
        return step;
    step.point = first & (0xffu >> (sequences[row].len + 1));
    for (size_t i = 1; i < sequences[row].len; i++) {
        uint8_t low = i == 1 ? sequences[row].second_low : 0x80;
        uint8_t high = i == 1 ? sequences[row].second_high : 0xbf;

        if (i == len) {
            step.kind = UTF8_CUT_OFF;
            return step;
        }
        if ((uint8_t)bytes[i] < low || (uint8_t)bytes[i] > high)
            return step;
        step.point = (step.point << 6) | ((uint8_t)bytes[i] & 0x3f);
        step.len = i + 1;
    }
    step.kind = UTF8_WELL_FORMED;
    return step;
}

/* How many bytes in front are plain ASCII, looked at eight at a time. */
static size_t ascii_run(const char *bytes, size_t len)
{
    size_t at = 0;

    for (; len - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, bytes + at, sizeof(word));
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    while (at < len && (uint8_t)bytes[at] < 0x80)
        at++;
    return at;
}

bool ty_utf8_valid(const char *bytes, size_t len)
{
    size_t at = ascii_run(bytes, len);

    while (at < len) {
        struct utf8_step step = ty_utf8_step(bytes + at, len - at);

        if (step.kind != UTF8_WELL_FORMED)
            return false;
        at += step.len;
        at += ascii_run(bytes + at, len - at);
    }
    return true;
}

size_t ty_utf8_repair(const char *bytes, size_t len, bool final, char *out, size_t *used_out)
{
    size_t at = 0;
    size_t written = 0;

    while (at < len) {
        struct utf8_step step = ty_utf8_step(bytes + at, len - at);

        if (step.kind == UTF8_CUT_OFF && !final)
            break;
        if (step.kind == UTF8_WELL_FORMED) {
            memcpy(out + written, bytes + at, step.len);
            written += step.len;
        } else {
            memcpy(out + written, "\xef\xbf\xbd", 3);
            written += 3;
        }
        at += step.len;
    }
    *used_out = at;
    return written;
}

enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253 };

static bool is_part(const char *text, size_t len)
{
    if (len == 0 || text[0] == '-' || text[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!(text[i] >= 'a' && text[i] <= 'z') && !is_digit(text[i]) && text[i] != '-')
            return false;
    }
    return true;
}

bool ty_dns1123_label(const char *text)
{
    size_t len = strnlen(text, LABEL_MAX + 1);

    return len <= LABEL_MAX && is_part(text, len);
}

bool ty_dns1035_label(const char *text)
{
    return text[0] >= 'a' && text[0] <= 'z' && ty_dns1123_label(text);
}

bool ty_dns1123_subdomain(const char *text)
{
    if (strnlen(text, SUBDOMAIN_MAX + 1) > SUBDOMAIN_MAX)
        return false;
    for (;;) {
        size_t len = strcspn(text, ".");

        if (!is_part(text, len))
            return false;
        if (text[len] == '\0')
            return true;
        text += len + 1;
    }
}
