#include "trainyard/base/error.h"

#include "trainyard/base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
    ty_status status;
    const char *name;
} status_names[] = {
    {TY_OK,              "ok"                 },
    {TY_INVALID,         "invalid"            },
    {TY_REFUSED,         "refused"            },
    {TY_UNAUTHENTICATED, "unauthenticated"    },
    {TY_FORBIDDEN,       "forbidden"          },
    {TY_NOT_FOUND,       "not_found"          },
    {TY_CONFLICT,        "conflict"           },
    {TY_GONE,            "gone"               },
    {TY_PRECONDITION,    "precondition_failed"},
    {TY_TOO_LARGE,       "too_large"          },
    {TY_LIMITED,         "limited"            },
    {TY_UNAVAILABLE,     "unavailable"        },
    {TY_STORAGE_FULL,    "storage_full"       },
    {TY_UNSUPPORTED,     "unsupported"        },
    {TY_CORRUPT,         "corrupt"            },
    {TY_NO_MEMORY,       "no_memory"          },
    {TY_INTERNAL,        "internal"           },
};

static const struct {
    int errnum;
    ty_status status;
} errno_statuses[] = {
    {ENOSPC, TY_STORAGE_FULL},
    {EDQUOT, TY_STORAGE_FULL},
    {ENOENT, TY_NOT_FOUND   },
    {ENOMEM, TY_NO_MEMORY   },
    {EACCES, TY_UNAVAILABLE },
    {EPERM,  TY_UNAVAILABLE },
    {EROFS,  TY_UNAVAILABLE },
};

enum { ERROR_TEXT = sizeof(((struct ty_error *)0)->text) };

/* The words are made in a local first: an argument may point into *err itself. */
static void fill_error(struct ty_error *err, ty_status status, const char *code, const char *text)
{
    err->status = status;
    (void)ty_str_copy(err->code, sizeof(err->code), code);
    (void)ty_str_copy(err->text, sizeof(err->text), text);
}

TY_PRINTF(4, 0)
static void fill_formatted(struct ty_error *err, ty_status status, const char *code,
                           const char *format, va_list args)
{
    char text[sizeof(err->text)];

    if (!err)
        return;
    vsnprintf(text, sizeof(text), format, args);
    fill_error(err, status, code, text);
}

static void append_words(char text[ERROR_TEXT], const char *words)
{
    size_t used = strlen(text);

    if (used + 2 < ERROR_TEXT) {
        memcpy(text + used, ": ", 3);
        (void)ty_str_copy(text + used + 2, ERROR_TEXT - used - 2, words);
    }
}

/* The names stand in parentheses because the header also has macros of these names. */

ty_status(ty_fail)(struct ty_error *err, ty_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill_formatted(err, status, "", format, args);
    va_end(args);
    return status;
}

ty_status(ty_fail_code)(struct ty_error *err, ty_status status, const char *code,
                        const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill_formatted(err, status, code, format, args);
    va_end(args);
    return status;
}

ty_status(ty_wrap)(struct ty_error *err, const char *format, ...)
{
    char text[sizeof(err->text)];
    va_list args;

    if (!err)
        return TY_INTERNAL;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    append_words(text, err->text);
    memcpy(err->text, text, sizeof(text));
    return err->status;
}

static ty_status status_of_errno(int errnum)
{
    for (size_t i = 0; i < sizeof(errno_statuses) / sizeof(errno_statuses[0]); i++) {
        if (errno_statuses[i].errnum == errnum)
            return errno_statuses[i].status;
    }
    return TY_INTERNAL;
}

ty_status(ty_fail_errno)(struct ty_error *err, int errnum, const char *format, ...)
{
    ty_status status = status_of_errno(errnum);
    const char *words = strerrordesc_np(errnum);
    char text[sizeof(err->text)];
    va_list args;

    if (!err)
        return status;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    append_words(text, words ? words : "unknown error");
    fill_error(err, status, "", text);
    return status;
}

const char *ty_status_name(ty_status status)
{
    for (size_t i = 0; i < sizeof(status_names) / sizeof(status_names[0]); i++) {
        if (status_names[i].status == status)
            return status_names[i].name;
    }
    return "internal";
}
