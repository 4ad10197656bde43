#include "executor/supervisor/secrets.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

enum { VALUE_BYTES = 128 * 1024 - 256 }; /* the kernel takes 128 KiB with the name */

static ty_status read_value(int folder_fd, const char *key, struct ty_buf *value,
                            struct ty_error *err)
{
    ty_buf_init(value, VALUE_BYTES);
    ty_status status = ty_file_read(folder_fd, key, value, err);
    if (status == TY_TOO_LARGE)
        return ty_fail(err, TY_REFUSED, "secret %s is too long for a variable", key);
    if (status != TY_OK)
        return ty_wrap(err, "secret %s", key);
    if (value->len > 0 && memchr(value->data, '\0', value->len))
        return ty_fail(err, TY_REFUSED, "secret %s is no text, so it cannot be a variable", key);
    return TY_OK;
}

ty_status ty_secrets_fill(struct ty_plan *plan, struct ty_error *err)
{
    const json_t *secrets = json_object_get(plan->document, "secrets");
    const json_t *variables = json_object_get(secrets, "variables");
    const char *folder = json_string_value(json_object_get(secrets, "folder"));
    if (json_array_size(variables) == 0 || !folder)
        return TY_OK;
    ty_auto_fd folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0)
        return ty_fail_errno(err, errno, "open the folder of the secrets");
    ty_status status = TY_OK;
    for (size_t i = 0; status == TY_OK && i < json_array_size(variables); i++) {
        const char *key = json_string_value(json_array_get(variables, i));
        ty_auto_buf value = {0};
        char token[32];
        snprintf(token, sizeof token, "secret:%zu", i);
        status = read_value(folder_fd, key ? key : "", &value, err);
        if (status == TY_OK)
            status = ty_plan_fill(plan, token, value.data ? value.data : "", err);
    }
    return status;
}
