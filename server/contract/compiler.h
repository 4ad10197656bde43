/* Inside of the schema compiler: what its two halves, the nodes and the keywords, share. */
#ifndef TRAINYARD_SERVER_CONTRACT_COMPILER_H
#define TRAINYARD_SERVER_CONTRACT_COMPILER_H

#include "contract/schema.h"

#include "trainyard/base/map.h"

struct ty_memory_block {
    struct ty_memory_block *next;
    max_align_t data[];
};

struct ty_compiled_pattern {
    struct ty_compiled_pattern *next;
    const char *text;
    struct ty_pattern *pattern;
};

struct ty_compiler {
    const json_t *document;
    struct ty_memory_block *blocks;
    struct ty_compiled_pattern *patterns; /* each text once */
    struct ty_map *references;            /* "#/components/schemas/Job" -> struct ty_schema * */
};

/* One keyword of one schema at work. */
struct ty_keyword_context {
    struct ty_compiler *compiler;
    struct ty_schema *schema;
    const json_t *value;
    const struct ty_place *place; /* of the keyword */
};

/* Writes to the member of the schema that its row names. */
typedef ty_status ty_compile_keyword(struct ty_keyword_context *context, void *member,
                                     struct ty_error *err);

struct ty_keyword {
    const char *name;
    ty_compile_keyword *compile;
    size_t member;
};

/* NULL when there is no such keyword. */
const struct ty_keyword *ty_keyword_find(const char *name);

/* Fill one node from its JSON. */
ty_status ty_compiler_fill(struct ty_compiler *compiler, struct ty_schema *schema,
                           const json_t *json, const struct ty_place *place,
                           struct ty_error *err) TY_MUST_CHECK;

ty_status ty_compiler_no_memory(struct ty_error *err);

#endif
