#include "texts.h"

#include <stdlib.h>
#include <string.h>

static ty_status make_room(struct ty_texts *texts, size_t need, struct ty_error *err)
{
    if (need <= texts->capacity)
        return TY_OK;
    char *bytes = malloc(need);
    if (!bytes)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a stored record");
    free(texts->bytes);
    texts->bytes = bytes;
    texts->capacity = need;
    return TY_OK;
}

ty_status ty_texts_keep(struct ty_texts *texts, const char **const *slots, size_t count,
                        struct ty_error *err)
{
    size_t need = 0;
    for (size_t i = 0; i < count; i++)
        need += *slots[i] ? strlen(*slots[i]) + 1 : 0;
    ty_status status = make_room(texts, need, err);
    if (status != TY_OK)
        return status;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!*slots[i])
            continue;
        size_t len = strlen(*slots[i]) + 1;
        memcpy(texts->bytes + used, *slots[i], len);
        *slots[i] = texts->bytes + used;
        used += len;
    }
    return TY_OK;
}

ty_status ty_texts_keep_block(struct ty_texts *texts, const char **text, const char **block,
                              size_t block_len, struct ty_error *err)
{
    size_t text_len = *text ? strlen(*text) + 1 : 0;
    ty_status status = make_room(texts, text_len + block_len + 1, err);
    if (status != TY_OK)
        return status;
    if (*text)
        *text = memcpy(texts->bytes, *text, text_len);
    if (*block) {
        char *copy = texts->bytes + text_len;
        memcpy(copy, *block, block_len);
        copy[block_len] = '\0';
        *block = copy;
    }
    return TY_OK;
}

void ty_row_texts_done(struct ty_texts *texts)
{
    free(texts->bytes);
    *texts = (struct ty_texts){0};
}
