/* All violations of one request at once, each with the place it was found at. */
#ifndef TRAINYARD_BASE_FAULTS_H
#define TRAINYARD_BASE_FAULTS_H

#include "trainyard/base/error.h"

#include <stdbool.h>

enum { TY_FAULTS_MAX = 50 };

typedef enum {
    TY_AT_POINTER,   /* `where` is an RFC 6901 pointer into the body; "" is the whole body */
    TY_AT_PARAMETER, /* `where` is a query or path parameter's name */
    TY_AT_HEADER     /* `where` is a header's name */
} ty_fault_place;

struct ty_fault {
    ty_fault_place place;
    char where[256]; /* cut with "…" when longer */
    char code[64];   /* stable snake_case reason, such as "required" or "name_too_long" */
    char detail[256];
    /* Where it stands in a YAML text; line 0: there is none. */
    size_t document;
    size_t line;
    size_t column;
};

/* At most TY_FAULTS_MAX are kept; `dropped` counts the rest. Owned by the caller, no heap memory.
 */
struct ty_faults {
    size_t count;
    size_t dropped;
    struct ty_fault items[TY_FAULTS_MAX];
};

void ty_faults_init(struct ty_faults *faults);

/* Note one violation. `format` gives `detail`. */
void ty_faults_add(struct ty_faults *faults, ty_fault_place place, const char *where,
                   const char *code, const char *format, ...) TY_PRINTF(5, 6);

static inline bool ty_faults_any(const struct ty_faults *faults)
{
    return faults->count > 0;
}

#endif
