/* One operation of the document, compiled. */
#ifndef TRAINYARD_SERVER_CONTRACT_OPERATION_H
#define TRAINYARD_SERVER_CONTRACT_OPERATION_H

#include "contract/schema.h"

#include "trainyard/contract/contract.h"

typedef enum { IN_PATH, IN_QUERY, IN_HEADER } ty_parameter_in;

typedef enum { KIND_INTEGER, KIND_BOOLEAN, KIND_TEXT, KIND_TIME, KIND_LIST } ty_parameter_kind;

struct ty_parameter_rule {
    const char *name;
    ty_parameter_in in;
    ty_parameter_kind kind;
    bool required;
    bool raw_bytes;    /* need not be UTF-8 */
    bool split_commas; /* KIND_LIST: items of an enum, also joined by commas */
    const struct ty_schema *schema;
};

struct ty_body_rule {
    const char *media_type;
    const struct ty_schema *schema;
};

struct ty_answer_rule {
    int status;
    const char **media_types; /* NULL-ended */
};

struct ty_operation {
    const char *id;
    const char *method;
    const char *path;
    const char *scope;
    bool is_public;
    size_t body_limit;
    bool body_required;
    struct ty_body_rule *bodies;
    size_t body_count;
    struct ty_answer_rule *answers;
    size_t answer_count;
    const char **consumes; /* NULL-ended */
    const char **produces; /* NULL-ended */
    struct ty_parameter_rule *parameters;
    size_t parameter_count;
};

/* Where an operation stands in the document. */
struct ty_operation_source {
    const json_t *root;
    const json_t *path_item;
    const json_t *json;
    const char *path;
    const char *method; /* lower case, as in the document */
    const struct ty_place *place;
};

/* TY_INVALID names the place; TY_NO_MEMORY. Memory is the compiler's. */
ty_status ty_operation_compile(struct ty_compiler *compiler,
                               const struct ty_operation_source *source,
                               struct ty_operation *operation_out,
                               struct ty_error *err) TY_MUST_CHECK;

/* Only the parameters, of path item and operation. */
ty_status ty_operation_compile_parameters(struct ty_compiler *compiler,
                                          const struct ty_operation_source *source,
                                          struct ty_operation *operation,
                                          struct ty_error *err) TY_MUST_CHECK;

/* The object itself, or what its $ref leads to. */
ty_status ty_operation_follow(const struct ty_compiler *compiler, const json_t *json,
                              const json_t **target_out, struct ty_error *err) TY_MUST_CHECK;

/* NULL when there is none of that name. */
const struct ty_parameter_rule *ty_operation_parameter(const struct ty_operation *operation,
                                                       const char *name);

/* Compile every schema of the document, those of answers too, for the build: an unknown keyword
 * anywhere fails it. */
ty_status ty_contract_compile_all(const struct ty_contract *contract,
                                  struct ty_error *err) TY_MUST_CHECK;

#endif
