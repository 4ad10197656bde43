#include "trainyard/http/conditional.h"

#include "etag.h"
#include "fields.h"
#include "trainyard/base/digest.h"
#include "trainyard/base/str.h"

static const char gzip_suffix[] = "-gzip";

/* An entity tag taken apart: weak or not, and the text between the quotes without our coding
 * suffix. */
struct tag {
    bool weak;
    struct ty_slice opaque;
};

/* Read one tag at *at (RFC 9110 8.8.3: etagc is visible ASCII without '"', or obs-text). */
static bool take_tag(const char **at, struct tag *tag_out)
{
    const char *in = *at;
    struct tag tag = {0};

    if (in[0] == 'W' && in[1] == '/') {
        tag.weak = true;
        in += 2;
    }
    if (*in++ != '"')
        return false;
    tag.opaque.data = in;
    while (*in && *in != '"') {
        unsigned char c = (unsigned char)*in++;

        if (c <= ' ' || c == 0x7f)
            return false;
    }
    if (*in != '"')
        return false;
    tag.opaque.len = (size_t)(in - tag.opaque.data);
    if (tag.opaque.len > sizeof gzip_suffix - 1 &&
        memcmp(in - (sizeof gzip_suffix - 1), gzip_suffix, sizeof gzip_suffix - 1) == 0)
        tag.opaque.len -= sizeof gzip_suffix - 1;
    *at = in + 1;
    *tag_out = tag;
    return true;
}

static bool same_tag(const struct tag *a, const struct tag *b, bool strong)
{
    if (strong && (a->weak || b->weak))
        return false;
    return a->opaque.len == b->opaque.len &&
           memcmp(a->opaque.data, b->opaque.data, a->opaque.len) == 0;
}

static void skip(const char **at, const char *bytes)
{
    *at += strspn(*at, bytes);
}

ty_status ty_etag_of(const void *bytes, size_t len, char out[TY_ETAG_TEXT])
{
    uint8_t digest[TY_SHA256];
    ty_status status = ty_sha256(bytes, len, digest);

    if (status)
        return status;
    out[0] = '"';
    len = ty_base64url(digest, 18, out + 1);
    out[len + 1] = '"';
    out[len + 2] = '\0';
    return TY_OK;
}

bool ty_etag_with_gzip(const char *etag, char out[TY_ETAG_TEXT])
{
    size_t len = strlen(etag);

    if (len < 2 || len + sizeof gzip_suffix > TY_ETAG_TEXT)
        return false;
    memcpy(out, etag, len - 1);
    memcpy(out + len - 1, gzip_suffix, sizeof gzip_suffix - 1);
    memcpy(out + len - 1 + sizeof gzip_suffix - 1, "\"", 2);
    return true;
}

bool ty_etag_valid(const char *etag)
{
    struct tag tag;

    return take_tag(&etag, &tag) && *etag == '\0';
}

ty_status ty_etag_list_matches(const char *list, const char *etag, bool strong, bool *matches_out)
{
    struct tag current = {0};
    bool matches = false;
    const char *at = list;

    if (etag && !take_tag(&(const char *){etag}, &current))
        return TY_INVALID;
    skip(&at, " \t");
    if (at[0] == '*' && at[1 + strspn(at + 1, " \t")] == '\0') {
        *matches_out = etag != NULL;
        return TY_OK;
    }
    skip(&at, " \t,");
    if (*at == '\0')
        return TY_INVALID;
    while (*at) {
        struct tag named;

        if (!take_tag(&at, &named))
            return TY_INVALID;
        if (etag && same_tag(&named, &current, strong))
            matches = true;
        skip(&at, " \t");
        if (*at && *at != ',')
            return TY_INVALID;
        skip(&at, " \t,");
    }
    *matches_out = matches;
    return TY_OK;
}

ty_status ty_precondition_check(struct ty_request *request, const char *etag, struct ty_error *err)
{
    const char *if_match = ty_request_header(request, "If-Match");
    const char *if_none_match = ty_request_header(request, "If-None-Match");
    bool matches;

    if (if_match) {
        if (ty_etag_list_matches(if_match, etag, true, &matches))
            return ty_fail_code(err, TY_INVALID, "bad_header", "If-Match cannot be read");
        if (!matches)
            return ty_fail_code(err, TY_PRECONDITION, "precondition_failed",
                                "If-Match does not name the present version");
    }
    if (if_none_match) {
        if (ty_etag_list_matches(if_none_match, etag, false, &matches))
            return ty_fail_code(err, TY_INVALID, "bad_header", "If-None-Match cannot be read");
        if (matches)
            return ty_fail_code(err, TY_PRECONDITION, "precondition_failed",
                                "If-None-Match names the present version");
    }
    return TY_OK;
}

ty_status ty_precondition_require(struct ty_request *request, const char *etag,
                                  struct ty_error *err)
{
    if (!ty_request_header(request, "If-Match"))
        return ty_fail_code(err, TY_PRECONDITION, "precondition_required",
                            "this change needs If-Match");
    return ty_precondition_check(request, etag, err);
}
