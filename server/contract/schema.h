/* JSON Schema (2020-12, the vocabulary that our document uses) as compiled values. All members
 * borrow their text from the document, which must outlive them; all nodes belong to the compiler's
 * memory. */
#ifndef TRAINYARD_SERVER_CONTRACT_SCHEMA_H
#define TRAINYARD_SERVER_CONTRACT_SCHEMA_H

#include "contract/pattern.h"
#include "contract/place.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    TYPE_NULL = 1 << 0,
    TYPE_BOOLEAN = 1 << 1,
    TYPE_INTEGER = 1 << 2, /* written as an integer: 1.0 and 1e3 are numbers only (our rule,
                              stricter than JSON Schema's) */
    TYPE_NUMBER = 1 << 3,
    TYPE_STRING = 1 << 4,
    TYPE_ARRAY = 1 << 5,
    TYPE_OBJECT = 1 << 6,
    TYPE_ANY = (1 << 7) - 1
};

struct ty_schema;

typedef enum { FORMAT_NONE, FORMAT_DATE_TIME, FORMAT_BASE64 } ty_schema_format;

struct ty_bound {
    bool given;
    bool integral; /* `integer` holds it exactly */
    json_int_t integer;
    double real;
};

struct ty_count {
    bool given;
    size_t value;
};

struct ty_schema_list {
    const struct ty_schema **items;
    size_t count;
};

struct ty_property {
    const char *name;
    const struct ty_schema *schema;
};

struct ty_schema {
    bool never;     /* the schema `false` */
    uint32_t types; /* 0: any */
    ty_schema_format format;
    bool unique;
    const char *explain; /* x-explain, one line; NULL without */
    const json_t *constant;
    const json_t *enumeration;
    const json_t *initial; /* `default` */
    const struct ty_schema *reference;
    const struct ty_pattern *pattern;
    struct ty_count min_length, max_length;
    struct ty_count min_items, max_items;
    struct ty_count min_members, max_members;
    struct ty_bound minimum, maximum, above, below; /* above, below: exclusive */
    json_int_t multiple;                            /* 0: any */
    struct ty_schema_list first;                    /* prefixItems */
    const struct ty_schema *items;                  /* after them */
    struct ty_property *properties;                 /* sorted by name */
    size_t property_count;
    const char **required;
    size_t required_count;
    const struct ty_schema *additional; /* NULL: anything */
    const struct ty_schema *names;      /* propertyNames */
    struct ty_schema_list all_of, any_of, one_of;
    const struct ty_schema *negated;
    const struct ty_schema *condition, *then, *otherwise;
};

/* The types that an instance may have as far as the node itself and what it refers to say. */
uint32_t ty_schema_types(const struct ty_schema *schema);

/* x-explain of the node or of what it refers to; NULL without. */
const char *ty_schema_explain(const struct ty_schema *schema);

/* `default` of the node or of what it refers to; NULL without. */
const json_t *ty_schema_default(const struct ty_schema *schema);

/* The property of that name, or NULL. */
const struct ty_property *ty_schema_property(const struct ty_schema *schema, const char *name);

/* --- compiling --- */
struct ty_compiler;

/* Compiles schemas of `document` (borrowed, must outlive the compiler and its schemas). */
ty_status ty_compiler_create(const json_t *document, struct ty_compiler **compiler_out,
                             struct ty_error *err) TY_MUST_CHECK;
void ty_compiler_destroy(struct ty_compiler *compiler); /* and every schema it made; takes NULL */

/* Memory that lives as long as the compiler, zeroed; NULL when there is none. */
void *ty_compiler_alloc(struct ty_compiler *compiler, size_t size);

/* Compile one schema found at `place` of the document. References ("#/a/b") are followed, each
 * target is compiled once and may refer back. TY_INVALID names the pointer of what is wrong;
 * TY_NO_MEMORY. */
ty_status ty_compiler_compile(struct ty_compiler *compiler, const json_t *json,
                              const struct ty_place *place, const struct ty_schema **schema_out,
                              struct ty_error *err) TY_MUST_CHECK;

/* The value a pointer ("#/components/parameters/Limit") leads to; TY_INVALID when there is none. */
ty_status ty_compiler_resolve(const struct ty_compiler *compiler, const char *reference,
                              const json_t **json_out, struct ty_error *err) TY_MUST_CHECK;

/* A schema that some compiled schema referred to by this pointer; NULL when none did. */
const struct ty_schema *ty_compiler_find(const struct ty_compiler *compiler, const char *reference);

/* TY_INVALID with the pointer of `place` in front of the words. */
ty_status ty_compiler_fail(const struct ty_place *place, struct ty_error *err, const char *format,
                           ...) TY_PRINTF(3, 4);

#endif
