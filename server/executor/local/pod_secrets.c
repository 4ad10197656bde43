#include "executor/local/pod_secrets.h"

#include "trainyard/base/str.h"

#include <ctype.h>
#include <stdio.h>

enum { KEY_BYTES = 253, NAME_AND_KEY = 2 * 254 };

/* A key becomes the name of a file, so it must never lead elsewhere. */
static bool key_valid(const char *key)
{
    if (!key[0] || strlen(key) > KEY_BYTES || ty_str_equal(key, ".") || ty_str_starts(key, ".."))
        return false;
    for (; *key; key++) {
        if (!isalnum((unsigned char)*key) && !strchr("-._", *key))
            return false;
    }
    return true;
}

ty_status ty_secret_note(json_t *keys, const char *name, const char *key, size_t *index_out,
                         struct ty_error *err)
{
    char text[NAME_AND_KEY];
    if (!ty_dns1123_subdomain(name) || !key_valid(key))
        return ty_fail(err, TY_REFUSED, "\"%s\" with the key \"%s\" cannot be a secret", name, key);
    snprintf(text, sizeof text, "%s/%s", name, key);
    size_t count = json_array_size(keys);
    size_t i = 0;
    while (i < count && !ty_str_equal(json_string_value(json_array_get(keys, i)), text))
        i++;
    if (i == count && json_array_append_new(keys, json_string(text)) != 0)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the job's secrets");
    *index_out = i;
    return TY_OK;
}
