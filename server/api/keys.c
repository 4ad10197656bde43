#include "api/keys.h"

#include "trainyard/store/idempotency.h"

bool api_key_field(struct ty_request *request, char out[API_KEY_TEXT])
{
    const char *field = ty_request_header(request, "Idempotency-Key");
    if (!field)
        return false;
    size_t len = strlen(field);
    if (len >= 2 && field[0] == '"' && field[len - 1] == '"') {
        field++;
        len -= 2;
    }
    if (len >= API_KEY_TEXT)
        len = API_KEY_TEXT - 1;
    memcpy(out, field, len);
    out[len] = '\0';
    return true;
}

ty_status api_fingerprint(const json_t *body, uint8_t out[TY_SHA256], struct ty_error *err)
{
    ty_auto_free char *canonical =
        body ? json_dumps(body, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17))
             : strdup("{}");
    if (!canonical || ty_sha256(canonical, strlen(canonical), out) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "idempotency key");
    return TY_OK;
}

ty_status api_key_read(struct ty_request *request, const char *route, struct api_key *key,
                       struct ty_error *err)
{
    *key = (struct api_key){0};
    if (!api_key_field(request, key->text))
        return TY_OK;
    key->route = route;
    return api_fingerprint(ty_request_json(request), key->fingerprint, err);
}

ty_status api_key_claim(struct ty_writer *writer, struct api_key *key, int64_t tenant,
                        const char *resource, int64_t now, struct ty_error *err)
{
    struct ty_idempotency entry;
    key->replayed = false;
    if (!key->route)
        return TY_OK;
    ty_status status = ty_idempotency_find(writer, tenant, key->route, key->text, now, &entry, err);
    if (status == TY_NOT_FOUND) {
        entry = (struct ty_idempotency){.tenant = tenant,
                                        .route = key->route,
                                        .key = key->text,
                                        .status = 201,
                                        .body = resource,
                                        .body_len = strlen(resource),
                                        .created_at = now};
        memcpy(entry.fingerprint, key->fingerprint, TY_SHA256);
        return ty_idempotency_insert(writer, &entry, err);
    }
    if (status != TY_OK)
        return status;
    if (memcmp(entry.fingerprint, key->fingerprint, TY_SHA256) != 0)
        return ty_fail_code(err, TY_CONFLICT, "idempotency_key_reused",
                            "the key came with another body before");
    snprintf(key->resource, sizeof key->resource, "%.*s", (int)entry.body_len,
             entry.body ? entry.body : "");
    key->replayed = true;
    return TY_OK;
}
