/* Every request's token is digested: OpenSSL 3's HMAC looks its algorithm up and allocates at each
 * call, several times the work of the digests themselves, so HMAC is made of the plain SHA-256. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "trainyard/base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct ty_sha256_stream {
    EVP_MD_CTX *context;
    bool failed; /* a feed failed: finish says so */
};

ty_status ty_sha256(const void *bytes, size_t len, uint8_t out[TY_SHA256])
{
    uint8_t digest[TY_SHA256];

    if (!EVP_Digest(bytes, len, digest, NULL, EVP_sha256(), NULL))
        return TY_NO_MEMORY;
    memcpy(out, digest, sizeof(digest));
    return TY_OK;
}

/* One of HMAC's two digests: of the key's block with `flip` in each byte, then of the bytes. */
static void digest_keyed(const uint8_t block[SHA256_CBLOCK], uint8_t flip, const void *bytes,
                         size_t len, uint8_t out[TY_SHA256])
{
    uint8_t flipped[SHA256_CBLOCK];
    SHA256_CTX context;

    for (size_t i = 0; i < sizeof(flipped); i++)
        flipped[i] = block[i] ^ flip;
    SHA256_Init(&context);
    SHA256_Update(&context, flipped, sizeof(flipped));
    SHA256_Update(&context, bytes, len);
    SHA256_Final(out, &context);
    ty_wipe(flipped, sizeof(flipped));
    ty_wipe(&context, sizeof(context));
}

/* RFC 2104. */
ty_status ty_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len,
                         uint8_t out[TY_SHA256])
{
    uint8_t block[SHA256_CBLOCK] = {0};
    uint8_t inner[TY_SHA256];

    if (key_len > sizeof(block)) {
        if (ty_sha256(key, key_len, block) != TY_OK)
            return TY_NO_MEMORY;
    } else if (key_len > 0) {
        memcpy(block, key, key_len);
    }
    digest_keyed(block, 0x36, bytes, len, inner);
    digest_keyed(block, 0x5c, inner, sizeof(inner), out);
    ty_wipe(block, sizeof(block));
    return TY_OK;
}

ty_status ty_sha256_begin(struct ty_sha256_stream **stream_out)
{
    struct ty_sha256_stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return TY_NO_MEMORY;
    stream->context = EVP_MD_CTX_new();
    if (!stream->context || !EVP_DigestInit_ex(stream->context, EVP_sha256(), NULL)) {
        ty_sha256_destroy(stream);
        return TY_NO_MEMORY;
    }
    *stream_out = stream;
    return TY_OK;
}

void ty_sha256_feed(struct ty_sha256_stream *stream, const void *bytes, size_t len)
{
    if (!EVP_DigestUpdate(stream->context, bytes, len))
        stream->failed = true;
}

ty_status ty_sha256_finish(struct ty_sha256_stream *stream, uint8_t out[TY_SHA256])
{
    uint8_t digest[TY_SHA256];

    if (stream->failed || !EVP_DigestFinal_ex(stream->context, digest, NULL))
        return TY_NO_MEMORY;
    stream->failed = true;
    memcpy(out, digest, sizeof(digest));
    return TY_OK;
}

void ty_sha256_destroy(struct ty_sha256_stream *stream)
{
    if (!stream)
        return;
    EVP_MD_CTX_free(stream->context);
    free(stream);
}

uint32_t ty_crc32(const void *bytes, size_t len)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, len);
}

bool ty_equal_constant_time(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}

void ty_wipe(void *bytes, size_t len)
{
    explicit_bzero(bytes, len);
}

void ty_hex(const void *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *in = bytes;

    for (size_t i = 0; i < len; i++) {
        *out++ = digits[in[i] >> 4];
        *out++ = digits[in[i] & 15];
    }
    *out = '\0';
}

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The digits without padding or NUL; returns their number. */
static size_t encode(const char *alphabet, const uint8_t *in, size_t len, char *out)
{
    char *start = out;

    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i < 3 ? len - i : 3;
        uint32_t group = (uint32_t)in[i] << 16;

        if (left > 1)
            group |= (uint32_t)in[i + 1] << 8;
        if (left > 2)
            group |= in[i + 2];
        for (size_t digit = 0; digit <= left; digit++)
            *out++ = alphabet[(group >> (18 - 6 * digit)) & 63];
    }
    return (size_t)(out - start);
}

static uint32_t digit_value(const char *alphabet, char c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0') + 52;
    if (c == alphabet[62])
        return 62;
    return c == alphabet[63] ? 63 : 64;
}

/* Whether `len` digits without padding are what an encoder writes: known digits, no loose bits at
 * the end. */
static bool is_canonical(const char *alphabet, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (digit_value(alphabet, text[i]) > 63)
            return false;
    }
    switch (len % 4) {
    case 1:
        return false;
    case 2:
        return (digit_value(alphabet, text[len - 1]) & 15) == 0;
    case 3:
        return (digit_value(alphabet, text[len - 1]) & 3) == 0;
    default:
        return true;
    }
}

static ty_status decode(const char *alphabet, const char *text, size_t len, uint8_t *out,
                        size_t out_max, size_t *out_len)
{
    size_t size = len / 4 * 3 + (len % 4 ? len % 4 - 1 : 0);
    size_t written = 0;
    uint32_t pending = 0;
    int bits = 0;

    if (!is_canonical(alphabet, text, len))
        return TY_INVALID;
    if (size > out_max)
        return TY_TOO_LARGE;
    for (size_t i = 0; i < len; i++) {
        pending = (pending << 6) | digit_value(alphabet, text[i]);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[written++] = (uint8_t)(pending >> bits);
        }
    }
    *out_len = size;
    return TY_OK;
}

size_t ty_base64url(const void *bytes, size_t len, char *out)
{
    size_t written = encode(url_safe, bytes, len, out);

    out[written] = '\0';
    return written;
}

ty_status ty_base64url_decode(const char *text, size_t len, uint8_t *out, size_t out_max,
                              size_t *out_len)
{
    return decode(url_safe, text, len, out, out_max, out_len);
}

size_t ty_base64(const void *bytes, size_t len, char *out)
{
    size_t written = encode(standard, bytes, len, out);

    while (written % 4 != 0)
        out[written++] = '=';
    out[written] = '\0';
    return written;
}

ty_status ty_base64_decode(const char *text, size_t len, uint8_t *out, size_t out_max,
                           size_t *out_len)
{
    if (len % 4 != 0)
        return TY_INVALID;
    for (int padding = 0; padding < 2 && len > 0 && text[len - 1] == '='; padding++)
        len--;
    return decode(standard, text, len, out, out_max, out_len);
}
