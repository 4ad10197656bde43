#include "trainyard/base/json.h"

ty_status ty_json_merge_member(json_t *target, const char *key, const json_t *value,
                               struct ty_error *err)
{
    json_t *old = json_object_get(target, key);

    if (json_is_null(value)) {
        json_object_del(target, key);
        return TY_OK;
    }
    if (!json_is_object(value)) {
        if (json_object_set_new(target, key, json_deep_copy(value)) != 0)
            return ty_fail(err, TY_NO_MEMORY, "merge patch");
        return TY_OK;
    }
    if (!json_is_object(old)) {
        old = json_object();
        if (json_object_set_new(target, key, old) != 0)
            return ty_fail(err, TY_NO_MEMORY, "merge patch");
    }
    return ty_json_merge(old, value, err);
}

ty_status ty_json_merge(json_t *target, const json_t *patch, struct ty_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)patch, key, value)
    {
        if (ty_json_merge_member(target, key, value, err) != TY_OK)
            return err->status;
    }
    return TY_OK;
}
