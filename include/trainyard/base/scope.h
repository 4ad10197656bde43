/* Resources that are released when their name goes out of scope. Each cleanup takes NULL or -1 for
 * "nothing". */
#ifndef TRAINYARD_BASE_SCOPE_H
#define TRAINYARD_BASE_SCOPE_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void ty_scope_free(void *slot)
{
    free(*(void **)slot);
}

static inline void ty_scope_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void ty_scope_fclose(FILE **file)
{
    if (*file)
        fclose(*file);
}

static inline void ty_scope_json(json_t **json)
{
    json_decref(*json);
}

#define ty_auto_free __attribute__((cleanup(ty_scope_free)))
#define ty_auto_fd   __attribute__((cleanup(ty_scope_close))) int
#define ty_auto_file __attribute__((cleanup(ty_scope_fclose))) FILE *
#define ty_auto_json __attribute__((cleanup(ty_scope_json))) json_t *

/* Move a value out of its scope: `return ty_steal(&fd)`-style helpers for the two common kinds. */
static inline int ty_steal_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

#define ty_steal(pointer)                                                                          \
    __extension__({                                                                                \
        __typeof__(pointer) slot_ = (pointer);                                                     \
        __typeof__(*(pointer)) taken_ = *slot_;                                                    \
        *slot_ = NULL;                                                                             \
        taken_;                                                                                    \
    })

#endif
