/* version 1 | issued_at 8 | row 8 | text … | tag 16, in base64url. The tag is HMAC-SHA-256, cut to
 * 16 bytes, over the scope and all that comes before it; the first 8 bytes of a digest of the query
 * tell a changed query from a forgery. */
#include "trainyard/store/cursor.h"

#include "inside.h"

#include <string.h>

enum { VERSION = 1, QUERY_DIGEST = 8, HEAD = 1 + 8 + 8 + QUERY_DIGEST, TAG = 16 };
enum { RAW_MAX = HEAD + TY_CURSOR_TEXT_ANCHOR + TAG, ENCODED_MAX = (RAW_MAX * 4 + 2) / 3 + 1 };

static void put_number(uint8_t *out, int64_t value)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)((uint64_t)value >> (56 - 8 * i));
}

static int64_t get_number(const uint8_t *in)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | in[i];
    return (int64_t)value;
}

static ty_status digest_query(const struct ty_cursor_scope *scope, uint8_t out[TY_SHA256],
                              struct ty_error *err)
{
    struct ty_sha256_stream *stream = NULL;
    uint8_t tenant[8];
    put_number(tenant, scope->tenant);
    ty_status status = ty_sha256_begin(&stream);
    if (status == TY_OK) {
        ty_sha256_feed(stream, tenant, sizeof(tenant));
        ty_sha256_feed(stream, scope->query, scope->query_len);
        status = ty_sha256_finish(stream, out);
    }
    ty_sha256_destroy(stream);
    return status == TY_OK ? TY_OK : ty_fail(err, TY_NO_MEMORY, "no memory for a cursor");
}

/* The tag covers the whole query digest, not only the part that is in the text. */
static ty_status sign(const struct ty_store *store, const uint8_t query[TY_SHA256],
                      const uint8_t *raw, size_t len, uint8_t out[TY_SHA256], struct ty_error *err)
{
    uint8_t message[TY_SHA256 + RAW_MAX];
    memcpy(message, query, TY_SHA256);
    memcpy(message + TY_SHA256, raw, len);
    if (ty_hmac_sha256(store->cursor_key, sizeof(store->cursor_key), message, TY_SHA256 + len,
                       out) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a cursor");
    return TY_OK;
}

ty_status ty_cursor_write(const struct ty_store *store, const struct ty_cursor_scope *scope,
                          const struct ty_cursor *cursor, int64_t now, struct ty_buf *out,
                          struct ty_error *err)
{
    uint8_t raw[RAW_MAX];
    uint8_t query[TY_SHA256];
    uint8_t tag[TY_SHA256];
    char encoded[ENCODED_MAX];
    size_t text_len = strnlen(cursor->text, sizeof(cursor->text));
    ty_status status = digest_query(scope, query, err);
    if (status != TY_OK)
        return status;
    raw[0] = VERSION;
    put_number(raw + 1, now);
    put_number(raw + 9, cursor->row);
    memcpy(raw + 17, query, QUERY_DIGEST);
    memcpy(raw + HEAD, cursor->text, text_len);
    status = sign(store, query, raw, HEAD + text_len, tag, err);
    if (status != TY_OK)
        return status;
    memcpy(raw + HEAD + text_len, tag, TAG);
    ty_buf_add(out, encoded, ty_base64url(raw, HEAD + text_len + TAG, encoded));
    return ty_buf_check(out, "cursor", err);
}

static ty_status fail_invalid(struct ty_error *err)
{
    return ty_fail_code(err, TY_INVALID, "cursor_invalid", "not a cursor of this service");
}

/* The tag by its own query digest prefix cannot be checked without the query: a changed query and a
 * forgery are told apart only by that prefix, and both are refused. */
static ty_status check_raw(const struct ty_store *store, const struct ty_cursor_scope *scope,
                           const uint8_t *raw, size_t len, struct ty_error *err)
{
    uint8_t query[TY_SHA256];
    uint8_t tag[TY_SHA256];
    if (len < HEAD + TAG || raw[0] != VERSION)
        return fail_invalid(err);
    ty_status status = digest_query(scope, query, err);
    if (status == TY_OK)
        status = sign(store, query, raw, len - TAG, tag, err);
    if (status != TY_OK)
        return status;
    if (ty_equal_constant_time(tag, raw + len - TAG, TAG))
        return TY_OK;
    if (memcmp(raw + 17, query, QUERY_DIGEST) != 0)
        return ty_fail_code(err, TY_INVALID, "cursor_mismatch",
                            "the cursor belongs to another query: repeat the parameters of the "
                            "page it came with");
    return fail_invalid(err);
}

ty_status ty_cursor_read(const struct ty_store *store, const struct ty_cursor_scope *scope,
                         const char *text, int64_t now, struct ty_cursor *cursor_out,
                         struct ty_error *err)
{
    uint8_t raw[RAW_MAX];
    size_t len = 0;
    size_t text_len = strnlen(text, ENCODED_MAX);
    if (text_len >= ENCODED_MAX ||
        ty_base64url_decode(text, text_len, raw, sizeof(raw), &len) != TY_OK)
        return fail_invalid(err);
    ty_status status = check_raw(store, scope, raw, len, err);
    if (status != TY_OK)
        return status;
    if (now - get_number(raw + 1) > TY_CURSOR_KEEP_US)
        return ty_fail_code(err, TY_GONE, "cursor_expired",
                            "the cursor is older than 72 hours: start from the first page");
    size_t anchor = len - HEAD - TAG;
    if (anchor >= sizeof(cursor_out->text))
        return fail_invalid(err);
    cursor_out->row = get_number(raw + 9);
    memcpy(cursor_out->text, raw + HEAD, anchor);
    cursor_out->text[anchor] = '\0';
    return TY_OK;
}
