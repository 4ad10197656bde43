/* The $(NAME) expansion of Kubernetes (third_party/forked/golang/expansion), written anew from its
 * description, to see what a container is given. */
#ifndef TRAINYARD_TESTS_UNIT_RENDER_EXPAND_H
#define TRAINYARD_TESTS_UNIT_RENDER_EXPAND_H

#include <stdlib.h>
#include <string.h>

/* The value of "MASTER_ADDR" and "RANK"; NULL for all others, whose references stay as they are. */
static inline const char *expand_known(const char *name, size_t len)
{
    if (len == strlen("MASTER_ADDR") && strncmp(name, "MASTER_ADDR", len) == 0)
        return "job-master-0";
    if (len == strlen("RANK") && strncmp(name, "RANK", len) == 0)
        return "2";
    return NULL;
}

/* New text; room for every reference growing to 16 bytes. */
static inline char *expand(const char *text)
{
    char *out = calloc(1, 16 * strlen(text) + 1);
    char *end = out;

    while (out && *text) {
        if (text[0] != '$') {
            *end++ = *text++;
        } else if (text[1] == '$') {
            *end++ = '$';
            text += 2;
        } else if (text[1] == '(' && strchr(text, ')')) {
            size_t len = (size_t)(strchr(text, ')') - text) - 2;
            const char *value = expand_known(text + 2, len);
            const char *from = value ? value : text;
            size_t from_len = value ? strlen(value) : len + 3;

            memcpy(end, from, from_len);
            end += from_len;
            text += len + 3;
        } else {
            *end++ = *text++;
        }
    }
    return out;
}

#endif
