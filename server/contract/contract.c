/* The document as a whole: parsed, its operations compiled and found again. */
#include "trainyard/contract/contract.h"

#include "contract/check.h"
#include "contract/operation.h"

#include "trainyard/base/str.h"

#include <stdio.h>
#include <stdlib.h>

struct ty_contract {
    json_t *document; /* what every schema borrows its text from */
    struct ty_compiler *compiler;
    struct ty_operation *operations;
    size_t operation_count;
};

void ty_contract_destroy(struct ty_contract *contract)
{
    if (!contract)
        return;
    free(contract->operations);
    ty_compiler_destroy(contract->compiler);
    json_decref(contract->document);
    free(contract);
}

/* --- creating --- */
static bool is_method(const char *key)
{
    return !ty_str_equal(key, "parameters") && !ty_str_equal(key, "summary") &&
           !ty_str_equal(key, "description") && !ty_str_equal(key, "servers");
}

static size_t count_operations(json_t *paths)
{
    const char *path;
    json_t *item;
    size_t count = 0;

    json_object_foreach(paths, path, item) count += json_object_size(item);
    return count;
}

static ty_status add_operation(struct ty_contract *contract,
                               const struct ty_operation_source *source, struct ty_error *err)
{
    struct ty_operation *operation = &contract->operations[contract->operation_count];
    ty_status status = ty_operation_compile(contract->compiler, source, operation, err);

    if (status)
        return status;
    if (ty_contract_operation(contract, operation->id))
        return ty_compiler_fail(source->place, err, "a second operation %s", operation->id);
    contract->operation_count++;
    return TY_OK;
}

static ty_status read_path(struct ty_contract *contract, const char *path, json_t *item,
                           struct ty_error *err)
{
    struct ty_place paths = {.key = "paths"};
    struct ty_place at = {.parent = &paths, .key = path};
    const char *key;
    json_t *json;

    json_object_foreach(item, key, json)
    {
        struct ty_place method = {.parent = &at, .key = key};
        struct ty_operation_source source = {
            .root = contract->document,
            .path_item = item,
            .json = json,
            .path = path,
            .method = key,
            .place = &method,
        };
        ty_status status = is_method(key) ? add_operation(contract, &source, err) : TY_OK;

        if (status)
            return status;
    }
    return TY_OK;
}

static ty_status read_paths(struct ty_contract *contract, struct ty_error *err)
{
    json_t *paths = json_object_get(contract->document, "paths");
    const char *path;
    json_t *item;

    contract->operations = calloc(count_operations(paths) + 1, sizeof *contract->operations);
    if (!contract->operations)
        return ty_fail(err, TY_NO_MEMORY, "no memory for operations");
    json_object_foreach(paths, path, item)
    {
        ty_status status = read_path(contract, path, item, err);

        if (status)
            return status;
    }
    return TY_OK;
}

static ty_status load(struct ty_contract *contract, const char *json, size_t len,
                      struct ty_error *err)
{
    json_error_t error = {
        0}; /* jansson leaves the code as it was when the first allocation fails */
    ty_status status;

    contract->document = json_loadb(json, len, JSON_REJECT_DUPLICATES, &error);
    /* jansson gives a code to everything but a failed allocation, where it often says nothing. */
    if (!contract->document && (json_error_code(&error) == json_error_out_of_memory ||
                                json_error_code(&error) == json_error_unknown))
        return ty_fail(err, TY_NO_MEMORY, "no memory for the contract");
    if (!contract->document)
        return ty_fail(err, TY_INVALID, "the contract, byte %d: %s", error.position, error.text);
    status = ty_compiler_create(contract->document, &contract->compiler, err);
    return status ? status : read_paths(contract, err);
}

ty_status ty_contract_create(const char *json, size_t len, struct ty_contract **contract_out,
                             struct ty_error *err)
{
    struct ty_error local;
    struct ty_contract *contract = calloc(1, sizeof *contract);
    ty_status status;

    if (!contract)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the contract");
    status = load(contract, json, len, err ? err : &local);
    if (status) {
        ty_contract_destroy(contract);
        return status;
    }
    *contract_out = contract;
    return TY_OK;
}

/* --- finding --- */
const struct ty_operation *ty_contract_operation(const struct ty_contract *contract,
                                                 const char *operation_id)
{
    for (size_t i = 0; i < contract->operation_count; i++) {
        if (ty_str_equal(contract->operations[i].id, operation_id))
            return &contract->operations[i];
    }
    return NULL;
}

const struct ty_operation *ty_contract_operation_at_path(const struct ty_contract *contract,
                                                         const char *method, const char *path)
{
    for (size_t i = 0; i < contract->operation_count; i++) {
        const struct ty_operation *operation = &contract->operations[i];

        if (ty_str_equal(operation->method, method) && ty_str_equal(operation->path, path))
            return operation;
    }
    return NULL;
}

size_t ty_contract_operation_count(const struct ty_contract *contract)
{
    return contract->operation_count;
}

const struct ty_operation *ty_contract_operation_at(const struct ty_contract *contract,
                                                    size_t index)
{
    return index < contract->operation_count ? &contract->operations[index] : NULL;
}

/* --- checking --- */
static ty_status check_json(const struct ty_schema *schema, const json_t *json,
                            struct ty_faults *faults, struct ty_error *err)
{
    struct ty_value value = ty_value_of(json);
    struct ty_check check;
    bool good;

    ty_check_init(&check, faults);
    good = ty_check_value(&check, schema, &value, NULL);
    ty_check_done(&check);
    if (check.no_memory)
        return ty_fail(err, TY_NO_MEMORY, "no memory to check a body");
    if (good)
        return TY_OK;
    return ty_fail_code(err, TY_REFUSED, "validation_failed", "the body has %zu faults",
                        faults->count + faults->dropped);
}

static const struct ty_schema *body_schema(const struct ty_operation *operation,
                                           const char *media_type)
{
    for (size_t i = 0; i < operation->body_count; i++) {
        if (!media_type || ty_str_equal(operation->bodies[i].media_type, media_type))
            return operation->bodies[i].schema;
    }
    return NULL;
}

ty_status ty_operation_check_body(const struct ty_operation *operation, const char *media_type,
                                  const json_t *body, struct ty_faults *faults,
                                  struct ty_error *err)
{
    const struct ty_schema *schema = body_schema(operation, media_type);

    if (!body && !operation->body_required)
        return TY_OK;
    if (!body || !schema) {
        ty_faults_add(faults, TY_AT_POINTER, "", body ? "not_allowed" : "required",
                      body ? "this operation takes no such body" : "a body must be given");
        return ty_fail_code(err, TY_REFUSED, "validation_failed", "the body has 1 fault");
    }
    return check_json(schema, body, faults, err);
}

ty_status ty_contract_check(const struct ty_contract *contract, const char *schema,
                            const json_t *value, struct ty_faults *faults, struct ty_error *err)
{
    char reference[128];
    const struct ty_schema *compiled;

    (void)snprintf(reference, sizeof reference, "#/components/schemas/%s", schema);
    compiled = ty_compiler_find(contract->compiler, reference);
    if (!compiled)
        return ty_fail(err, TY_INTERNAL, "no request uses a schema %s", schema);
    return check_json(compiled, value, faults, err);
}

/* --- the build's own check --- */
static ty_status compile_found(const struct ty_contract *contract, json_t *json,
                               const struct ty_place *place, struct ty_error *err);

/* Every value of a `schema` key below, and everything beneath `components/schemas`. */
static ty_status compile_member(const struct ty_contract *contract, const char *key, json_t *json,
                                const struct ty_place *place, struct ty_error *err)
{
    const struct ty_schema *schema;
    bool is_schema = ty_str_equal(key, "schema") ||
                     (place->parent && place->parent->key && place->parent->parent &&
                      ty_str_equal(place->parent->key, "schemas"));

    if (ty_str_equal(key, "examples") || ty_str_equal(key, "example"))
        return TY_OK;
    if (is_schema)
        return ty_compiler_compile(contract->compiler, json, place, &schema, err);
    return compile_found(contract, json, place, err);
}

static ty_status compile_found(const struct ty_contract *contract, json_t *json,
                               const struct ty_place *place, struct ty_error *err)
{
    const char *key;
    json_t *value;
    size_t index;

    json_object_foreach(json, key, value)
    {
        struct ty_place at = {.parent = place, .key = key};
        ty_status status = compile_member(contract, key, value, &at, err);

        if (status)
            return status;
    }
    json_array_foreach(json, index, value)
    {
        struct ty_place at = {.parent = place, .index = index};
        ty_status status = compile_found(contract, value, &at, err);

        if (status)
            return status;
    }
    return TY_OK;
}

ty_status ty_contract_compile_all(const struct ty_contract *contract, struct ty_error *err)
{
    return compile_found(contract, contract->document, NULL, err);
}
