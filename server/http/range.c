#include "trainyard/http/range.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Digits at *at into *value_out; at least one, and no more than fit: what is too large stays at the
 * maximum, which is past any file's end. Moves *at behind them. */
static bool take_number(const char **at, uint64_t *value_out)
{
    uint64_t value = 0;
    const char *start = *at;

    while (**at >= '0' && **at <= '9') {
        uint64_t digit = (uint64_t)(**at - '0');

        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
        (*at)++;
    }
    *value_out = value;
    return *at > start;
}

static void skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t')
        (*at)++;
}

ty_range_verdict ty_range_judge(const char *value, uint64_t size, uint64_t *first_out,
                                uint64_t *length_out)
{
    uint64_t first = 0;
    uint64_t last = 0;
    bool has_first;
    bool has_last;

    if (!value || strncasecmp(value, "bytes=", 6) != 0)
        return TY_RANGE_WHOLE;
    value += 6;
    skip_blanks(&value);
    has_first = take_number(&value, &first);
    if (*value++ != '-')
        return TY_RANGE_WHOLE;
    has_last = take_number(&value, &last);
    skip_blanks(&value);
    if (*value != '\0' || (!has_first && !has_last) || (has_first && has_last && last < first))
        return TY_RANGE_WHOLE;

    if (!has_first) { /* the last `last` bytes */
        if (last == 0 || size == 0)
            return TY_RANGE_UNSATISFIABLE;
        first = last < size ? size - last : 0;
        last = size - 1;
    } else {
        if (first >= size)
            return TY_RANGE_UNSATISFIABLE;
        if (!has_last || last >= size)
            last = size - 1;
    }
    *first_out = first;
    *length_out = last - first + 1;
    return TY_RANGE_PART;
}
