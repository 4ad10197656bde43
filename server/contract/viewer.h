/* The viewer as the build found it: made by viewer.py, or nothing (viewer_none.c). */
#ifndef TRAINYARD_SERVER_CONTRACT_VIEWER_H
#define TRAINYARD_SERVER_CONTRACT_VIEWER_H

#include "trainyard/contract/documents.h"

struct ty_viewer_asset {
    const char *name; /* "viewer-<digest>.js" */
    struct ty_document document;
};

struct ty_viewer {
    const struct ty_document *page; /* NULL: none was built in */
    const struct ty_viewer_asset *assets;
    size_t count;
};

extern const struct ty_viewer ty_viewer;

#endif
