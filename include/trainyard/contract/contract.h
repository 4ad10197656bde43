/* The contract: openapi/trainyard.v1.yaml as compiled once at start. It checks the bodies and
 * parameters of requests, and tells scope, body limit and media types of every operation, so that
 * the route table can be held against it. Immutable after creation: any thread may use it. */
#ifndef TRAINYARD_CONTRACT_CONTRACT_H
#define TRAINYARD_CONTRACT_CONTRACT_H

#include "trainyard/base/faults.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ty_contract;
struct ty_operation;

/* Compile an OpenAPI 3.1 document in JSON (ty_contract_rules, or a test's own). The schemas of
 * requests are compiled; an unknown keyword, a reference that leads nowhere or a pattern outside
 * the portable subset is refused. The text need not outlive the call. TY_INVALID    not JSON, or
 * something in it cannot be compiled; the text names its pointer TY_NO_MEMORY  */
ty_status ty_contract_create(const char *json, size_t len, struct ty_contract **contract_out,
                             struct ty_error *err) TY_MUST_CHECK;
void ty_contract_destroy(struct ty_contract *contract); /* takes NULL */

/* --- operations; all results live as long as the contract --- */

/* By operationId ("jobs_create"), or by method ("GET") and path as the document writes it
 * ("/v1/jobs/{job_id}"). NULL when there is none. */
const struct ty_operation *ty_contract_operation(const struct ty_contract *contract,
                                                 const char *operation_id);
const struct ty_operation *ty_contract_operation_at_path(const struct ty_contract *contract,
                                                         const char *method, const char *path);

/* All of them, in the document's order. */
size_t ty_contract_operation_count(const struct ty_contract *contract);
const struct ty_operation *ty_contract_operation_at(const struct ty_contract *contract,
                                                    size_t index);

const char *ty_operation_id(const struct ty_operation *operation);
const char *ty_operation_method(const struct ty_operation *operation); /* "GET" */
const char *ty_operation_path(const struct ty_operation *operation);
const char *ty_operation_scope(const struct ty_operation *operation); /* NULL: none is needed */
bool ty_operation_public(const struct ty_operation *operation);       /* no token is needed */
size_t ty_operation_body_limit(const struct ty_operation *operation); /* bytes; 0: takes no body */
bool ty_operation_body_required(const struct ty_operation *operation);

/* Media types of the request body, and of the successful answers in the document's order;
 * NULL-ended, never NULL. */
const char *const *ty_operation_consumes(const struct ty_operation *operation);
const char *const *ty_operation_produces(const struct ty_operation *operation);

/* Media types of one answer; NULL when the document does not name that status (ty_contract_rules
 * names successes only). */
const char *const *ty_operation_answer_types(const struct ty_operation *operation, int status);

/* --- bodies --- */

/* Check a body that ty_json_parse read. `media_type` may be NULL for the first one; `body` NULL
 * means that there was none. Every fault found is added to `faults` by its RFC 6901 pointer, with
 * one of the codes required unknown_member wrong_type too_short too_long pattern out_of_range
 * not_multiple not_in_enum not_equal not_unique too_few_items too_many_items too_few_members
 * too_many_members bad_format not_allowed exclusive no_match bad_name and a detail for people that
 * never repeats a value. TY_REFUSED    faults say why (code "validation_failed") TY_NO_MEMORY  */
ty_status ty_operation_check_body(const struct ty_operation *operation, const char *media_type,
                                  const json_t *body, struct ty_faults *faults,
                                  struct ty_error *err) TY_MUST_CHECK;

/* The same against a named schema of the document ("JobSpec"): for the items of a batch, merged
 * patches and tests. The name must be one that requests use, else TY_INTERNAL. */
ty_status ty_contract_check(const struct ty_contract *contract, const char *schema,
                            const json_t *value, struct ty_faults *faults,
                            struct ty_error *err) TY_MUST_CHECK;

/* --- parameters --- */

/* Where a request's parameters come from. All text is NUL-ended, decoded, and must outlive the
 * ty_arguments filled from it. */
struct ty_parameter_source {
    void *context;
    /* The value of a path variable; NULL when the route has none of that name. */
    const char *(*variable)(void *context, const char *name);
    /* The query's pairs in the order sent; false past the end. */
    bool (*query)(void *context, size_t index, const char **name_out, const char **value_out);
    /* The value of a header by its name in any case; NULL when absent. */
    const char *(*header)(void *context, const char *name);
};

enum { TY_ARGUMENTS_MAX = 24, TY_ARGUMENT_ITEMS_MAX = 64 };

/* What was given, read into types. Owned by the caller, no heap memory; read it with the functions
 * below. */
struct ty_arguments {
    const struct ty_operation *operation;
    struct ty_argument {
        bool given;
        union {
            int64_t integer;
            bool boolean;
            const char *text;
            struct {
                uint16_t first;
                uint16_t count;
            } list;
        } value;
    } values[TY_ARGUMENTS_MAX];
    const char *items[TY_ARGUMENT_ITEMS_MAX];
    size_t item_count;
};

/* Check path, query and headers and read them into *arguments_out. Query names that the operation
 * does not have, and repeats of what is no list, are faults. Codes beyond those of bodies:
 * unknown_parameter, repeated, not_utf8.
 *   TY_NOT_FOUND  a path variable is nothing that could exist (code "not_found")
 *   TY_INVALID    faults say why (code "invalid_parameter")
 *   TY_NO_MEMORY
 * *arguments_out is untouched unless TY_OK. */
ty_status ty_operation_check_parameters(const struct ty_operation *operation,
                                        const struct ty_parameter_source *source,
                                        struct ty_arguments *arguments_out,
                                        struct ty_faults *faults,
                                        struct ty_error *err) TY_MUST_CHECK;

/* Whether a parameter was given. Names are the document's ("limit", "If-Match"); asking for one
 * that the operation does not have, or by another type than its own, is a bug of the caller: false,
 * 0 or NULL comes back, and debug builds abort. */
bool ty_argument_given(const struct ty_arguments *arguments, const char *name);

/* The value given, else the schema's default, else 0, false or NULL. */
int64_t ty_argument_integer(const struct ty_arguments *arguments, const char *name);
bool ty_argument_boolean(const struct ty_arguments *arguments, const char *name);
const char *ty_argument_text(const struct ty_arguments *arguments, const char *name);

/* A date-time in microseconds since 1970; 0 when it was not given. */
int64_t ty_argument_time(const struct ty_arguments *arguments, const char *name);

/* The items of a list parameter, 0 of them when it was not given. */
size_t ty_argument_count(const struct ty_arguments *arguments, const char *name);
const char *ty_argument_item(const struct ty_arguments *arguments, const char *name, size_t index);

#endif
