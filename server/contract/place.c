#include "contract/place.h"

#include <stdio.h>

enum { FRAMES_MAX = 64 };

struct pointer {
    char *out;
    size_t len;
};

static void add_char(struct pointer *pointer, char c)
{
    if (pointer->len < TY_POINTER_TEXT - 1)
        pointer->out[pointer->len++] = c;
}

static void add_text(struct pointer *pointer, const char *text)
{
    while (*text != '\0')
        add_char(pointer, *text++);
}

/* RFC 6901 3: ~ becomes ~0, / becomes ~1. */
static void add_key(struct pointer *pointer, const char *key)
{
    for (; *key != '\0' && pointer->len < TY_POINTER_TEXT - 1; key++) {
        if (*key == '~')
            add_text(pointer, "~0");
        else if (*key == '/')
            add_text(pointer, "~1");
        else
            add_char(pointer, *key);
    }
}

void ty_place_pointer(const struct ty_place *place, char out[TY_POINTER_TEXT])
{
    const struct ty_place *frames[FRAMES_MAX];
    struct pointer pointer = {.out = out};
    size_t count = 0;

    for (; place && count < FRAMES_MAX; place = place->parent)
        frames[count++] = place;
    while (count > 0) {
        const struct ty_place *frame = frames[--count];
        char number[24];

        add_char(&pointer, '/');
        if (frame->key) {
            add_key(&pointer, frame->key);
            continue;
        }
        (void)snprintf(number, sizeof number, "%zu", frame->index);
        add_text(&pointer, number);
    }
    out[pointer.len] = '\0';
}
