/* What a plain scalar means in the core schema of YAML 1.2 (YAML 1.2.2, 10.3.2). */
#ifndef TRAINYARD_SERVER_BASE_YAML_SCALAR_H
#define TRAINYARD_SERVER_BASE_YAML_SCALAR_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    YAML_NULL,
    YAML_TRUE,
    YAML_FALSE,
    YAML_INTEGER,       /* decimal, with or without a sign */
    YAML_INTEGER_OCTAL, /* 0o… */
    YAML_INTEGER_HEX,   /* 0x… */
    YAML_REAL,
    YAML_NOT_FINITE, /* .inf or .nan: JSON has no such number */
    YAML_TEXT
} yaml_kind;

/* One deviation from the schema: decimal integers with leading zeros (0755) are text, since
 * YAML 1.1 and Kubernetes read them as octal and YAML 1.2 as decimal. */
yaml_kind ty_yaml_kind(const char *text, size_t len);

#endif
