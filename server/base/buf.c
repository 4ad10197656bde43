#include "trainyard/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

void ty_buf_init(struct ty_buf *buf, size_t max)
{
    *buf = (struct ty_buf){.max = max < SIZE_MAX ? max : SIZE_MAX - 1};
}

void ty_buf_done(struct ty_buf *buf)
{
    free(buf->data);
    ty_buf_init(buf, buf->max);
}

void ty_buf_clear(struct ty_buf *buf)
{
    buf->len = 0;
    buf->failed = TY_OK;
    if (buf->data)
        buf->data[0] = '\0';
}

void ty_buf_cut(struct ty_buf *buf, size_t len)
{
    if (buf->failed || len >= buf->len)
        return;
    buf->len = len;
    buf->data[len] = '\0';
}

/* Make room for `needed` bytes and the NUL: `capacity` counts both, so it stays at or below max
 * + 1. */
static bool grow(struct ty_buf *buf, size_t needed)
{
    size_t capacity = buf->capacity ? buf->capacity : FIRST_CAPACITY;
    char *data;

    while (capacity < needed + 1)
        capacity = capacity > SIZE_MAX / 2 ? needed + 1 : capacity * 2;
    if (capacity > buf->max + 1)
        capacity = buf->max + 1;
    data = realloc(buf->data, capacity);
    if (!data) {
        buf->failed = TY_NO_MEMORY;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

char *ty_buf_reserve(struct ty_buf *buf, size_t len)
{
    if (buf->failed)
        return NULL;
    if (len > buf->max - buf->len) {
        buf->failed = TY_TOO_LARGE;
        return NULL;
    }
    if (buf->len + len + 1 > buf->capacity && !grow(buf, buf->len + len))
        return NULL;
    buf->data[buf->len] = '\0';
    return buf->data + buf->len;
}

void ty_buf_grew(struct ty_buf *buf, size_t len)
{
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void ty_buf_add(struct ty_buf *buf, const void *bytes, size_t len)
{
    char *room = ty_buf_reserve(buf, len);

    if (!room)
        return;
    if (len > 0)
        memcpy(room, bytes, len);
    ty_buf_grew(buf, len);
}

void ty_buf_adds(struct ty_buf *buf, const char *text)
{
    ty_buf_add(buf, text, strlen(text));
}

void ty_buf_addc(struct ty_buf *buf, char c)
{
    if (buf->failed || buf->len + 1 >= buf->capacity) {
        ty_buf_add(buf, &c, 1);
        return;
    }
    buf->data[buf->len++] = c;
    buf->data[buf->len] = '\0';
}

void ty_buf_addf(struct ty_buf *buf, const char *format, ...)
{
    char small[256];
    va_list args;
    va_list again;
    char *room;
    int len;

    va_start(args, format);
    va_copy(again, args);
    len = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (len < 0) {
        if (!buf->failed)
            buf->failed = TY_NO_MEMORY;
    } else if ((size_t)len < sizeof(small)) {
        ty_buf_add(buf, small, (size_t)len);
    } else if ((room = ty_buf_reserve(buf, (size_t)len)) != NULL) {
        vsnprintf(room, (size_t)len + 1, format, again);
        ty_buf_grew(buf, (size_t)len);
    }
    va_end(again);
}

void ty_buf_consume(struct ty_buf *buf, size_t len)
{
    if (len > buf->len)
        len = buf->len;
    if (len == 0)
        return;
    buf->len -= len;
    memmove(buf->data, buf->data + len, buf->len + 1);
}

ty_status ty_buf_check(const struct ty_buf *buf, const char *what, struct ty_error *err)
{
    if (!buf->failed)
        return TY_OK;
    if (buf->failed == TY_TOO_LARGE)
        return ty_fail(err, TY_TOO_LARGE, "%s is larger than %zu bytes", what, buf->max);
    return ty_fail(err, buf->failed, "no memory for %s (at most %zu bytes)", what, buf->max);
}

char *ty_buf_take(struct ty_buf *buf, size_t *len_out)
{
    char *data;

    if (buf->failed)
        return NULL;
    data = buf->data ? buf->data : calloc(1, 1);
    if (!data)
        return NULL;
    if (len_out)
        *len_out = buf->len;
    ty_buf_init(buf, buf->max);
    return data;
}
