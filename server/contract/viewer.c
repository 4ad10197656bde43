/* The page at /docs and the files it names, where the build had them. */
#include "contract/viewer.h"

#include <string.h>

const struct ty_document *ty_contract_viewer(void)
{
    return ty_viewer.page;
}

const struct ty_document *ty_contract_viewer_asset(const char *name)
{
    for (size_t i = 0; i < ty_viewer.count; i++) {
        if (strcmp(ty_viewer.assets[i].name, name) == 0)
            return &ty_viewer.assets[i].document;
    }
    return NULL;
}
