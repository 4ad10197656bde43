#include "trainyard/events/text.h"

#include "trainyard/base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TAG = 8 };

ty_status ty_event_id_make(const uint8_t *key, int64_t tenant, int64_t sequence,
                           char out[TY_EVENT_ID])
{
    char message[64];
    uint8_t tag[TY_SHA256];
    char hex[2 * TAG + 1];
    int len = snprintf(message, sizeof message, "event %" PRId64 " %" PRId64, tenant, sequence);
    ty_status status = ty_hmac_sha256(key, TY_SHA256, message, (size_t)len, tag);
    if (status != TY_OK)
        return status;
    ty_hex(tag, TAG, hex);
    snprintf(out, TY_EVENT_ID, "%" PRId64 "-%s", sequence, hex);
    return TY_OK;
}

ty_status ty_event_id_read(const uint8_t *key, int64_t tenant, const char *text,
                           int64_t *sequence_out)
{
    char made[TY_EVENT_ID];
    char digits[24] = "";
    int64_t sequence = 0;
    size_t len = strcspn(text, "-");
    if (len == 0 || len >= sizeof digits)
        return TY_INVALID;
    memcpy(digits, text, len);
    if (ty_str_to_int(digits, 0, INT64_MAX, &sequence) != TY_OK)
        return TY_INVALID;
    ty_status status = ty_event_id_make(key, tenant, sequence, made);
    if (status != TY_OK)
        return status;
    if (strlen(text) != strlen(made) || !ty_equal_constant_time(text, made, strlen(made)))
        return TY_INVALID;
    *sequence_out = sequence;
    return TY_OK;
}
