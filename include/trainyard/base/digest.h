/* Digests and encodings (OpenSSL's libcrypto behind them). */
#ifndef TRAINYARD_BASE_DIGEST_H
#define TRAINYARD_BASE_DIGEST_H

#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { TY_SHA256 = 32, TY_SHA256_HEX = 65 };

/* Fail only when libcrypto does (TY_NO_MEMORY). */
ty_status ty_sha256(const void *bytes, size_t len, uint8_t out[TY_SHA256]) TY_MUST_CHECK;
ty_status ty_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len,
                         uint8_t out[TY_SHA256]) TY_MUST_CHECK;

/* A digest fed in pieces, finished once; destroy takes NULL. */
struct ty_sha256_stream;
ty_status ty_sha256_begin(struct ty_sha256_stream **stream_out) TY_MUST_CHECK;
void ty_sha256_feed(struct ty_sha256_stream *stream, const void *bytes, size_t len);
ty_status ty_sha256_finish(struct ty_sha256_stream *stream, uint8_t out[TY_SHA256]) TY_MUST_CHECK;
void ty_sha256_destroy(struct ty_sha256_stream *stream);

/* CRC-32 (IEEE), as zlib's. */
uint32_t ty_crc32(const void *bytes, size_t len);

/* Whether two byte strings are equal, in time that depends on `len` alone. */
bool ty_equal_constant_time(const void *a, const void *b, size_t len);

/* Overwrite a secret so that the compiler cannot leave it out. */
void ty_wipe(void *bytes, size_t len);

/* Lower-case hex, NUL-ended: 2 * len + 1 bytes. */
void ty_hex(const void *bytes, size_t len, char *out);

/* base64url without padding (RFC 4648 5). Encoded size: (len * 4 + 2) / 3, plus a NUL.
 * Decoding refuses padding, other alphabets and loose bits (TY_INVALID), and what does not fit into
 * `out_max` (TY_TOO_LARGE); outputs untouched then. */
size_t ty_base64url(const void *bytes, size_t len, char *out);
ty_status ty_base64url_decode(const char *text, size_t len, uint8_t *out, size_t out_max,
                              size_t *out_len) TY_MUST_CHECK;

/* Standard base64 with padding, NUL-ended: 4 * ((len + 2) / 3) + 1 bytes; returns the length
 * without the NUL. Decoding refuses as above, and wants the padding. */
size_t ty_base64(const void *bytes, size_t len, char *out);
ty_status ty_base64_decode(const char *text, size_t len, uint8_t *out, size_t out_max,
                           size_t *out_len) TY_MUST_CHECK;

#endif
