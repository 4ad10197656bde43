/* What went wrong: a status every fallible function returns, and the words that go with it. */
#ifndef TRAINYARD_BASE_ERROR_H
#define TRAINYARD_BASE_ERROR_H

#include <stddef.h>

typedef enum {
    TY_OK = 0,
    TY_INVALID,         /* the caller's input cannot be parsed (400) */
    TY_REFUSED,         /* parsed, but breaks a rule (422) */
    TY_UNAUTHENTICATED, /* no or bad credential (401) */
    TY_FORBIDDEN,       /* right credential, missing scope (403) */
    TY_NOT_FOUND,       /* 404 */
    TY_CONFLICT,        /* 409 */
    TY_GONE,            /* 410 */
    TY_PRECONDITION,    /* If-Match did not hold (412) */
    TY_TOO_LARGE,       /* beyond a stated limit (413) */
    TY_LIMITED,         /* a quota or rate is used up (429) */
    TY_UNAVAILABLE,     /* try again later (503) */
    TY_STORAGE_FULL,    /* no room on the disk (503, storage_full) */
    TY_UNSUPPORTED,     /* this build, machine or executor cannot do it (501) */
    TY_CORRUPT,         /* stored data cannot be trusted (500) */
    TY_NO_MEMORY,       /* 503 */
    TY_INTERNAL         /* our bug (500) */
} ty_status;

#define TY_MUST_CHECK                  __attribute__((warn_unused_result))
#define TY_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

/* The last failure's words. `code` is a stable snake_case reason for clients (at most 63 bytes) and
 * may be empty, in which case the status alone names the reason. `text` is for people: it never
 * holds a token, SQL, a host path or an address. Both are always NUL-ended. */
struct ty_error {
    ty_status status;
    char code[64];
    char text[512];
};

/* Fill *err (which may be NULL) and return `status`, so that a failing path is one line. */
ty_status ty_fail(struct ty_error *err, ty_status status, const char *format, ...) TY_PRINTF(3, 4);

/* The same with a stable reason code, for failures a client may want to tell apart. */
ty_status ty_fail_code(struct ty_error *err, ty_status status, const char *code, const char *format,
                       ...) TY_PRINTF(4, 5);

/* Put context in front of the text of *err, keep its status and code: "start job j1: no such
 * image". Returns err->status (TY_INTERNAL when err is NULL). */
ty_status ty_wrap(struct ty_error *err, const char *format, ...) TY_PRINTF(2, 3);

/* Fail from an errno value: ENOSPC and EDQUOT become TY_STORAGE_FULL, ENOENT TY_NOT_FOUND, ENOMEM
 * TY_NO_MEMORY, EACCES, EPERM and EROFS TY_UNAVAILABLE, all else TY_INTERNAL; the text ends with
 * the system's words for `errnum`. */
ty_status ty_fail_errno(struct ty_error *err, int errnum, const char *format, ...) TY_PRINTF(3, 4);

/* A failure is never TY_OK. Said inline, so that an optimising compiler sees that outputs are only
 * read when they were set; each name below still is the function above. */
static inline ty_status ty_not_ok(ty_status status)
{
    return status == TY_OK ? TY_INTERNAL : status;
}

#define ty_fail(...)       ty_not_ok(ty_fail(__VA_ARGS__))
#define ty_fail_code(...)  ty_not_ok(ty_fail_code(__VA_ARGS__))
#define ty_wrap(...)       ty_not_ok(ty_wrap(__VA_ARGS__))
#define ty_fail_errno(...) ty_not_ok(ty_fail_errno(__VA_ARGS__))

/* The snake_case name of a status, such as "not_found"; a static string. */
const char *ty_status_name(ty_status status);

#endif
