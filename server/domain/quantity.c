/* Kubernetes quantities (apimachinery, pkg/api/resource): [+]digits[.digits] and a suffix: Ki..Ei,
 * n u m k M G T P E, or a decimal exponent. No floating point: a mantissa, a power of two and a
 * power of ten, all checked. */
#include "trainyard/base/str.h"
#include "trainyard/domain/spec.h"

#include <ctype.h>

__extension__ typedef unsigned __int128 wide;

struct quantity {
    wide mantissa;
    int digits; /* read in all */
    int ten;    /* value = mantissa * 10^ten * 2^two */
    int two;
    bool rounded; /* digits beyond what we keep were not all zero: the true value is a little larger
                   */
};

struct suffix {
    const char *text;
    int ten;
    int two;
};

static const struct suffix suffixes[] = {
    {"",   0,  0 },
    {"n",  -9, 0 },
    {"u",  -6, 0 },
    {"m",  -3, 0 },
    {"k",  3,  0 },
    {"M",  6,  0 },
    {"G",  9,  0 },
    {"T",  12, 0 },
    {"P",  15, 0 },
    {"E",  18, 0 },
    {"Ki", 0,  10},
    {"Mi", 0,  20},
    {"Gi", 0,  30},
    {"Ti", 0,  40},
    {"Pi", 0,  50},
    {"Ei", 0,  60},
};

enum { EXPONENT_MAX = 40, TEXT_MAX = 64 };

/* Beyond this no further digit can be taken in; any value in the range of the answer is far below.
 */
static const wide mantissa_max = (wide)1 << 100;

static ty_status take_digit(struct quantity *q, char digit, bool fraction)
{
    q->digits++;
    if (q->mantissa < mantissa_max) {
        q->mantissa = q->mantissa * 10 + (unsigned)(digit - '0');
        q->ten -= fraction ? 1 : 0;
        return TY_OK;
    }
    if (!fraction)
        return TY_INVALID;
    q->rounded = q->rounded || digit != '0';
    return TY_OK;
}

/* The number in front of the suffix. */
static ty_status read_number(const char **at, struct quantity *q)
{
    const char *p = *at;
    bool fraction = false;

    if (*p == '+')
        p++;
    for (; isdigit((unsigned char)*p) || (*p == '.' && !fraction); p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        if (take_digit(q, *p, fraction) != TY_OK)
            return TY_INVALID;
    }
    *at = p;
    return q->digits > 0 ? TY_OK : TY_INVALID;
}

/* "e3", "E-3": only where a digit follows, so that a bare "E" stays exa. */
static bool is_exponent(const char *text)
{
    if (*text != 'e' && *text != 'E')
        return false;
    text++;
    if (*text == '+' || *text == '-')
        text++;
    return isdigit((unsigned char)*text) != 0;
}

static ty_status read_exponent(const char *text, struct quantity *q)
{
    bool negative = text[1] == '-';
    int value = 0;

    text += text[1] == '-' || text[1] == '+' ? 2 : 1;
    for (; isdigit((unsigned char)*text); text++) {
        value = value * 10 + (*text - '0');
        if (value > EXPONENT_MAX)
            return TY_INVALID;
    }
    q->ten += negative ? -value : value;
    return *text == '\0' ? TY_OK : TY_INVALID;
}

static ty_status read_suffix(const char *text, struct quantity *q)
{
    if (is_exponent(text))
        return read_exponent(text, q);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (ty_str_equal(text, suffixes[i].text)) {
            q->ten += suffixes[i].ten;
            q->two += suffixes[i].two;
            return TY_OK;
        }
    }
    return TY_INVALID;
}

/* Divide by ten, rounding up what is lost: a cluster rounds up too, and zero stays zero. */
static void divide_by_ten(struct quantity *q)
{
    q->rounded = q->rounded || q->mantissa % 10 != 0;
    q->mantissa /= 10;
}

static ty_status evaluate(struct quantity *q, int64_t *value_out)
{
    const wide limit = (wide)INT64_MAX;

    /* The binary factor first, so that "1.2Gi" loses nothing: mantissas shrink by tens only when
     * they must. */
    for (; q->two > 0; q->two--) {
        if (q->mantissa > mantissa_max * 16) {
            if (q->ten >= 0)
                return TY_INVALID;
            divide_by_ten(q);
            q->ten++;
        }
        q->mantissa *= 2;
    }
    for (; q->ten < 0; q->ten++)
        divide_by_ten(q);
    for (; q->ten > 0; q->ten--) {
        if (q->mantissa > limit)
            return TY_INVALID;
        q->mantissa *= 10;
    }
    q->mantissa += q->rounded ? 1 : 0;
    if (q->mantissa > limit)
        return TY_INVALID;
    *value_out = (int64_t)q->mantissa;
    return TY_OK;
}

/* In units of 10^-ten. */
static ty_status parse(const char *text, int ten, int64_t *value_out)
{
    struct quantity q = {.ten = ten};

    if (strnlen(text, TEXT_MAX + 1) > TEXT_MAX || read_number(&text, &q) != TY_OK ||
        read_suffix(text, &q) != TY_OK)
        return TY_INVALID;
    return evaluate(&q, value_out);
}

ty_status ty_quantity_parse(const char *text, int64_t *millis_out)
{
    return parse(text, 3, millis_out);
}

ty_status ty_quantity_parse_whole(const char *text, int64_t *whole_out)
{
    return parse(text, 0, whole_out);
}
