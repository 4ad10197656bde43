/* Paths beneath a claim, as bytes. */
#include "trainyard/logs/files.h"

#include <string.h>

static bool is_dots(const char *name, size_t len)
{
    return (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');
}

static bool name_ok(const char *name, size_t len)
{
    return len > 0 && len <= TY_FILE_NAME_MAX && !is_dots(name, len) && !memchr(name, '\0', len);
}

static ty_status fail_path(struct ty_error *err)
{
    return ty_fail_code(
        err, TY_INVALID, "invalid_path",
        "a path is made of names joined by '/', without '.', '..', empty names or NUL");
}

ty_status ty_file_path_check(const char *path, size_t len, struct ty_error *err)
{
    if (len > TY_FILE_PATH_MAX)
        return fail_path(err);
    for (;;) {
        const char *slash = len > 0 ? memchr(path, '/', len) : NULL;
        size_t name_len = slash ? (size_t)(slash - path) : len;
        if (!name_ok(path, name_len))
            return fail_path(err);
        if (!slash)
            return TY_OK;
        path += name_len + 1;
        len -= name_len + 1;
    }
}

ty_status ty_file_path_add(struct ty_buf *path, const char *segment, size_t len,
                           struct ty_error *err)
{
    if (!name_ok(segment, len) || memchr(segment, '/', len) ||
        path->len + len + 1 > TY_FILE_PATH_MAX)
        return fail_path(err);
    if (path->len > 0)
        ty_buf_addc(path, '/');
    ty_buf_add(path, segment, len);
    return ty_buf_check(path, "the path", err);
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void ty_file_path_encode(const char *path, size_t len, struct ty_buf *url)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t at = 0; at < len; at++) {
        unsigned char byte = (unsigned char)path[at];
        if (is_unreserved(path[at]) || path[at] == '/') {
            ty_buf_addc(url, path[at]);
        } else {
            const char escape[3] = {'%', digits[byte >> 4], digits[byte & 15]};
            ty_buf_add(url, escape, sizeof(escape));
        }
    }
}
