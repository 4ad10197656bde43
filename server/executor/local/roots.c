#include "executor/local/inside.h"

#include <fnmatch.h>

const char *ty_local_find_root(const void *local, const char *image)
{
    const struct local *self = local;
    if (self->image_count == 0)
        return "/";
    for (size_t i = 0; i < self->image_count; i++) {
        if (fnmatch(self->images[i].pattern, image, 0) == 0)
            return self->images[i].root;
    }
    return NULL;
}
