/* Request targets (RFC 9112 3.2, RFC 3986): from the bytes sent to decoded segments and parameters.
 * Pure. */
#ifndef TRAINYARD_HTTP_TARGET_H
#define TRAINYARD_HTTP_TARGET_H

#include "trainyard/http/request.h"

enum { TY_TARGET_SEGMENTS = 64, TY_TARGET_PARAMETERS = 256 };

/* What a target says. The pointers lead into the work memory given to ty_target_parse. */
struct ty_target {
    bool asterisk;    /* "*": segments and parameters are empty */
    const char *path; /* still encoded, without the query */
    const char *segments[TY_TARGET_SEGMENTS];
    bool encoded_slash[TY_TARGET_SEGMENTS]; /* the segment held %2F */
    size_t segment_count;
    struct ty_parameter *parameters;
    size_t parameter_count;
};

/* Work memory that a target of `len` bytes needs: its path kept as it was and a decoded copy of
 * everything. */
static inline size_t ty_target_work(size_t len)
{
    return 2 * len + 4;
}

/* How many parameters the query of `target` may have: its '&' and one, 0 without a query. */
size_t ty_target_parameter_bound(const char *target);

/* Read `target` (NUL-ended, visible ASCII; of an absolute one, "http://host/path", the host was
 * judged with the head). `work` has ty_target_work(strlen(target)) bytes, `parameters` room for
 * ty_target_parameter_bound. TY_INVALID, with the reason in err->text: a target that is neither a
 * path, nor absolute http, nor "*"; an incomplete or non-hex escape; %00; a "." or ".." segment
 * (also encoded); a query that is no UTF-8 once decoded (path segments may hold any byte but NUL:
 * file names do); more segments or parameters than the maxima. */
ty_status ty_target_parse(const char *target, char *work, struct ty_parameter *parameters,
                          struct ty_target *target_out, struct ty_error *err) TY_MUST_CHECK;

#endif
