/* Conditional requests (RFC 9110 8.8.3, 13): entity tags and the fields that name them. Pure. */
#ifndef TRAINYARD_HTTP_CONDITIONAL_H
#define TRAINYARD_HTTP_CONDITIONAL_H

#include "trainyard/http/request.h"

/* An entity tag of ours for `bytes`: quoted base64url of the first 18 bytes of their SHA-256;
 * strong. TY_NO_MEMORY. */
enum { TY_ETAG_TEXT = 80 }; /* room for any tag of ours, its coding suffix and NUL */
ty_status ty_etag_of(const void *bytes, size_t len, char out[TY_ETAG_TEXT]) TY_MUST_CHECK;

/* Whether an If-Match or If-None-Match list names `etag`. `list` is "*" or comma-separated tags;
 * `etag` NULL means that the resource does not exist (then only nothing matches, not even "*").
 * `strong`: weak tags on either side never match. A tag with our coding suffix ("abc-gzip") names
 * the same resource as the tag without it. TY_INVALID: the list cannot be read; *matches_out
 * untouched. */
ty_status ty_etag_list_matches(const char *list, const char *etag, bool strong,
                               bool *matches_out) TY_MUST_CHECK;

/* Judge If-Match and If-None-Match of a request that would change something whose current tag is
 * `etag` (NULL: does not exist yet). No fields: TY_OK. TY_PRECONDITION (412, code
 * precondition_failed): it must not happen. TY_INVALID (400): a field cannot be read. For GET and
 * HEAD ty_request_answer does this by itself. */
ty_status ty_precondition_check(struct ty_request *request, const char *etag,
                                struct ty_error *err) TY_MUST_CHECK;

/* The same for a write that insists on one (H3): without If-Match TY_PRECONDITION with code
 * precondition_required (428). */
ty_status ty_precondition_require(struct ty_request *request, const char *etag,
                                  struct ty_error *err) TY_MUST_CHECK;

#endif
