/* Any bytes as a path: what is let through stays beneath the root, joined segments equal the whole,
 * and encoding keeps every byte. */
#include "trainyard/base/scope.h"
#include "trainyard/logs/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static ty_status join(const char *path, size_t len, struct ty_buf *out)
{
    for (;;) {
        const char *slash = memchr(path, '/', len);
        size_t part = slash ? (size_t)(slash - path) : len;
        ty_status status = ty_file_path_add(out, path, part, NULL);
        if (status != TY_OK || !slash)
            return status;
        path += part + 1;
        len -= part + 1;
    }
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'A' + 10;
}

static void check_encoding(const char *path, size_t len)
{
    ty_auto_buf url = {0};
    size_t at = 0;
    ty_buf_init(&url, 3 * len + 1);
    ty_file_path_encode(path, len, &url);
    for (size_t from = 0; from < url.len; at++) {
        bool escaped = url.data[from] == '%';
        int byte =
            escaped ? digit(url.data[from + 1]) * 16 + digit(url.data[from + 2]) : url.data[from];
        require(at < len && (char)byte == path[at]);
        from += escaped ? 3 : 1;
    }
    require(at == len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ty_auto_free char *path = malloc(size + 1);
    ty_auto_buf joined = {0};
    memcpy(path, data, size);
    path[size] = '\0';
    ty_status status = ty_file_path_check(path, size, NULL);
    ty_buf_init(&joined, TY_FILE_PATH_MAX);
    require(join(path, size, &joined) == status);
    check_encoding(path, size);
    if (status != TY_OK)
        return 0;
    require(joined.len == size && memcmp(joined.data, path, size) == 0);

    struct ty_file_stat stat;
    int fd = -1;
    ty_auto_fd root =
        open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* numbers only */
    if (ty_file_open(root, path, &fd, &stat, NULL) == TY_OK)
        close(fd);
    require(fd < 0 || strspn(path, "0123456789") == size);
    return 0;
}
