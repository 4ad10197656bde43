#include "yaml_scalar.h"

#include <string.h>

static const struct {
    const char *text;
    yaml_kind kind;
} words[] = {
    {"",      YAML_NULL      },
    {"~",     YAML_NULL      },
    {"null",  YAML_NULL      },
    {"Null",  YAML_NULL      },
    {"NULL",  YAML_NULL      },
    {"true",  YAML_TRUE      },
    {"True",  YAML_TRUE      },
    {"TRUE",  YAML_TRUE      },
    {"false", YAML_FALSE     },
    {"False", YAML_FALSE     },
    {"FALSE", YAML_FALSE     },
    {".inf",  YAML_NOT_FINITE},
    {".Inf",  YAML_NOT_FINITE},
    {".INF",  YAML_NOT_FINITE},
    {".nan",  YAML_NOT_FINITE},
    {".NaN",  YAML_NOT_FINITE},
    {".NAN",  YAML_NOT_FINITE},
};

static size_t digits_run(const char *text, size_t len, const char *digits)
{
    size_t run = 0;

    while (run < len && text[run] != '\0' && strchr(digits, text[run]))
        run++;
    return run;
}

static const char decimal[] = "0123456789";

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?, the sign already taken. */
static bool is_real(const char *text, size_t len)
{
    size_t whole = digits_run(text, len, decimal);
    size_t at = whole;

    if (at < len && text[at] == '.') {
        size_t fraction = digits_run(text + at + 1, len - at - 1, decimal);

        if (whole + fraction == 0)
            return false;
        at += 1 + fraction;
    } else if (whole == 0) {
        return false;
    }
    if (at < len && (text[at] == 'e' || text[at] == 'E')) {
        size_t exponent;

        at++;
        if (at < len && (text[at] == '-' || text[at] == '+'))
            at++;
        exponent = digits_run(text + at, len - at, decimal);
        if (exponent == 0)
            return false;
        at += exponent;
    }
    return at == len;
}

static yaml_kind number_kind(const char *text, size_t len)
{
    size_t sign = len > 0 && (text[0] == '-' || text[0] == '+');

    if (len > 2 && text[0] == '0' && text[1] == 'o')
        return digits_run(text + 2, len - 2, "01234567") == len - 2 ? YAML_INTEGER_OCTAL
                                                                    : YAML_TEXT;
    if (len > 2 && text[0] == '0' && text[1] == 'x')
        return digits_run(text + 2, len - 2, "0123456789abcdefABCDEF") == len - 2 ? YAML_INTEGER_HEX
                                                                                  : YAML_TEXT;
    text += sign;
    len -= sign;
    if (len > 0 && digits_run(text, len, decimal) == len)
        return len > 1 && text[0] == '0' ? YAML_TEXT : YAML_INTEGER;
    if (sign && len == 4 &&
        (!memcmp(text, ".inf", 4) || !memcmp(text, ".Inf", 4) || !memcmp(text, ".INF", 4)))
        return YAML_NOT_FINITE;
    return is_real(text, len) ? YAML_REAL : YAML_TEXT;
}

yaml_kind ty_yaml_kind(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].text) == len && memcmp(words[i].text, text, len) == 0)
            return words[i].kind;
    }
    return number_kind(text, len);
}
