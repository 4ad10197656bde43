/* Answers: a status, header fields, and one of several kinds of body.
 *
 * The makers return NULL when memory runs out; every other function takes NULL and then does
 * nothing, and ty_request_answer(request, NULL) answers 503. So a handler needs no checks in
 * between. A header field that cannot be sent (CR, LF, NUL in its value) turns the whole answer
 * into a 500 problem: it never splits a response.
 *
 * What every answer gets without asking: Request-Id, X-Content-Type-Options,
 * Content-Security-Policy, Referrer-Policy, `Cache-Control: no-store` unless the response names
 * another, CORS fields where configured, Vary where content was negotiated. */
#ifndef TRAINYARD_HTTP_RESPONSE_H
#define TRAINYARD_HTTP_RESPONSE_H

#include "trainyard/base/buf.h"
#include "trainyard/base/faults.h"
#include "trainyard/http/stream.h"

#include <stdbool.h>
#include <stdint.h>

struct ty_response;

/* No body (201 with Location, 202, 204). */
struct ty_response *ty_response_empty(int status);

/* `bytes` belong to the response from now on, also when NULL is returned: `release(bytes)` is
 * called once (NULL: static, never released). `media_type` must be a static string or live as long
 * as the response ("application/json"). */
struct ty_response *ty_response_bytes(int status, const char *media_type, void *bytes, size_t len,
                                      void (*release)(void *bytes));

/* Bytes somebody else keeps until `release(context)` is called, once, on any thread; also when NULL
 * is returned. `etag` (quoted; NULL for none) is copied. For bodies that a cache shares. */
struct ty_response *ty_response_borrowed(int status, const char *media_type, const char *etag,
                                         const void *bytes, size_t len,
                                         void (*release)(void *context), void *context);

/* Static bytes that are there as one gzip stream only, `packed_len` long; the document itself has
 * `len`. A client that takes no gzip gets it inflated, on the thread that answers: for handlers of
 * the pool. */
struct ty_response *ty_response_packed(int status, const char *media_type, const void *packed,
                                       size_t packed_len, size_t len);

/* The contents of `buf`, which is left empty. A buffer that failed (too large, no memory) gives
 * NULL. */
struct ty_response *ty_response_buf(int status, const char *media_type, struct ty_buf *buf);

/* A ready-made body that many answers share without a copy: hot status reads. Counted references,
 * any thread. The gzip form is made at most once, when first wanted. */
struct ty_body;

/* Copies `media_type`, `etag` (quoted, as ty_response_etag wants it; NULL for none) and `bytes`.
 * NULL: no memory. */
struct ty_body *ty_body_create(const char *media_type, const char *etag, const void *bytes,
                               size_t len);
struct ty_body *ty_body_ref(struct ty_body *body);
void ty_body_unref(struct ty_body *body);             /* takes NULL */
const char *ty_body_etag(const struct ty_body *body); /* NULL when it has none */
const void *ty_body_bytes(const struct ty_body *body, size_t *len_out);

/* Takes its own reference. The body's ETag becomes the answer's. */
struct ty_response *ty_response_body(int status, struct ty_body *body);

/* A file of `size` bytes behind `fd` (regular, readable, its position is not used). Takes the
 * descriptor, also when NULL is returned. Sent by sendfile; a read error or a file that shrinks
 * aborts the connection. GET answers single ranges by themselves (206, 416, If-Range by ETag): call
 * with status 200, say ty_response_etag before answering. */
struct ty_response *ty_response_file(const char *media_type, int fd, uint64_t size);

/* An endless or long body made piece by piece. Takes one reference of `stream` (http/stream.h). */
struct ty_response *ty_response_stream(int status, const char *media_type,
                                       struct ty_stream *stream);

/* Header fields. `name` must be a token; Content-Length, Transfer-Encoding, Connection, Date and
 * Trailer are the server's. Both texts are copied. A second call of one name adds a second field.
 */
void ty_response_header(struct ty_response *response, const char *name, const char *value);

/* `Content-Disposition: attachment` with the name as ASCII and in full (RFC 6266, RFC 8187); bytes
 * that are no UTF-8 are shown as U+FFFD. `name` is the last part of a path. */
void ty_response_attachment(struct ty_response *response, const char *name);

/* `etag` with its quotes: "\"abc\"" or "W/\"abc\"". */
void ty_response_etag(struct ty_response *response, const char *etag);
void ty_response_location(struct ty_response *response, const char *uri_reference);
void ty_response_retry_after(struct ty_response *response, unsigned seconds); /* 0 becomes 1 */

/* Whether gzip may be applied (default yes for JSON, YAML, HTML and text of 1 KiB or more that is
 * no stream or file). Call with false when the body holds a fresh secret. */
void ty_response_compress(struct ty_response *response, bool allowed);

/* Problem documents (RFC 9457), the one way to say no. The document is written when the answer is
 * given, with `instance` and `request_id` of that request. `code` is a row of the catalogue
 * (http/problem.h), which gives status and title; `detail` (NULL: the row's meaning) never holds a
 * token, SQL, a host path or an address; `faults` (may be NULL) is copied. An unknown code is our
 * bug and becomes 500 internal_error. */
struct ty_response *ty_response_problem(const char *code, const char *detail,
                                        const struct ty_faults *faults);

/* The same from a failed call: err->code when the catalogue has it, else the status's own row;
 * err->text is the detail except for TY_INTERNAL, TY_CORRUPT and TY_NO_MEMORY, whose words stay in
 * the log. */
struct ty_response *ty_response_error(const struct ty_error *err, const struct ty_faults *faults);

/* Free a response that was not given to ty_request_answer; takes NULL. */
void ty_response_destroy(struct ty_response *response);

/* For tests of handlers: what a response holds so far. The body is NULL for streams and files. */
int ty_response_status(const struct ty_response *response);
const char *ty_response_media_type(const struct ty_response *response);
const char *ty_response_header_value(const struct ty_response *response, const char *name);
const void *ty_response_bytes_of(const struct ty_response *response, size_t *len_out);

#endif
