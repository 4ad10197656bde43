/* Operations from the document: who may call them, what they take, what they answer. */
#include "contract/operation.h"

#include "trainyard/base/str.h"

#include <stdlib.h>

static ty_status fail_memory(struct ty_error *err)
{
    return ty_fail(err, TY_NO_MEMORY, "no memory for an operation");
}

ty_status ty_operation_follow(const struct ty_compiler *compiler, const json_t *json,
                              const json_t **target_out, struct ty_error *err)
{
    const char *reference = json_string_value(json_object_get(json, "$ref"));

    if (reference)
        return ty_compiler_resolve(compiler, reference, target_out, err);
    *target_out = json;
    return TY_OK;
}

/* --- access --- */
static ty_status read_security(const struct ty_operation_source *source,
                               struct ty_operation *operation, struct ty_error *err)
{
    const json_t *own = json_object_get(source->json, "security");
    const json_t *security = own ? own : json_object_get(source->root, "security");
    const json_t *scopes = json_object_get(json_array_get(security, 0), "bearer");
    const char *scope = json_string_value(json_array_get(scopes, 0));

    operation->scope = json_string_value(json_object_get(source->json, "x-scope"));
    operation->is_public = json_array_size(security) == 0;
    if (!json_is_array(security) || (!operation->is_public && !scopes))
        return ty_compiler_fail(source->place, err, "security must be empty or ask for bearer");
    if ((scope != NULL) != (operation->scope != NULL) ||
        (scope && !ty_str_equal(scope, operation->scope)))
        return ty_compiler_fail(source->place, err, "security and x-scope must name one scope");
    return TY_OK;
}

/* --- bodies --- */
static ty_status read_body_types(struct ty_compiler *compiler, const json_t *content,
                                 const struct ty_operation_source *source,
                                 struct ty_operation *operation, struct ty_error *err)
{
    const char *media_type;
    json_t *media;

    json_object_foreach((json_t *)content, media_type, media)
    {
        struct ty_place body = {.parent = source->place, .key = "requestBody"};
        struct ty_place type = {.parent = &body, .key = media_type};
        struct ty_body_rule *rule = &operation->bodies[operation->body_count];
        const json_t *schema = json_object_get(media, "schema");
        ty_status status;

        if (!schema)
            return ty_compiler_fail(&type, err, "needs a schema");
        status = ty_compiler_compile(compiler, schema, &type, &rule->schema, err);
        if (status)
            return status;
        rule->media_type = media_type;
        operation->consumes[operation->body_count++] = media_type;
    }
    return TY_OK;
}

static ty_status read_body(struct ty_compiler *compiler, const struct ty_operation_source *source,
                           struct ty_operation *operation, struct ty_error *err)
{
    const json_t *limit = json_object_get(source->json, "x-body-limit");
    const json_t *body;
    const json_t *content;
    size_t size;
    ty_status status =
        ty_operation_follow(compiler, json_object_get(source->json, "requestBody"), &body, err);

    if (status)
        return status;
    content = json_object_get(body, "content");
    size = json_object_size(content);
    if ((size > 0) != (json_integer_value(limit) > 0))
        return ty_compiler_fail(source->place, err, "a body and x-body-limit go together");
    operation->body_limit = (size_t)json_integer_value(limit);
    operation->body_required = json_is_true(json_object_get(body, "required"));
    operation->bodies = ty_compiler_alloc(compiler, (size + 1) * sizeof *operation->bodies);
    operation->consumes = ty_compiler_alloc(compiler, (size + 1) * sizeof *operation->consumes);
    if (!operation->bodies || !operation->consumes)
        return fail_memory(err);
    return read_body_types(compiler, content, source, operation, err);
}

/* --- answers --- */
static void add_type(const char **types, const char *type)
{
    size_t i = 0;

    while (types[i] && !ty_str_equal(types[i], type))
        i++;
    types[i] = type;
}

static ty_status read_answer(struct ty_compiler *compiler, const char *status_text,
                             const json_t *json, struct ty_operation *operation,
                             struct ty_error *err)
{
    struct ty_answer_rule *answer = &operation->answers[operation->answer_count];
    const json_t *response;
    const json_t *content;
    const char *type;
    json_t *media;
    int64_t code;
    ty_status status = ty_operation_follow(compiler, json, &response, err);

    if (status)
        return status;
    if (ty_str_to_int(status_text, 100, 599, &code) != TY_OK)
        return ty_fail(err, TY_INVALID, "%s: %s is no status", operation->id, status_text);
    content = json_object_get(response, "content");
    answer->media_types =
        ty_compiler_alloc(compiler, (json_object_size(content) + 1) * sizeof *answer->media_types);
    if (!answer->media_types)
        return fail_memory(err);
    json_object_foreach((json_t *)content, type, media)
    {
        (void)media;
        add_type(answer->media_types, type);
        if (code < 300)
            add_type(operation->produces, type);
    }
    answer->status = (int)code;
    operation->answer_count++;
    return TY_OK;
}

static size_t count_types(const json_t *responses)
{
    const char *name;
    json_t *response;
    size_t count = 1;

    json_object_foreach((json_t *)responses, name, response) count +=
        json_object_size(json_object_get(response, "content"));
    return count;
}

static ty_status read_answers(struct ty_compiler *compiler,
                              const struct ty_operation_source *source,
                              struct ty_operation *operation, struct ty_error *err)
{
    json_t *responses = json_object_get(source->json, "responses");
    const char *name;
    json_t *response;

    operation->answers =
        ty_compiler_alloc(compiler, (json_object_size(responses) + 1) * sizeof *operation->answers);
    operation->produces =
        ty_compiler_alloc(compiler, count_types(responses) * sizeof *operation->produces);
    if (!operation->answers || !operation->produces)
        return fail_memory(err);
    json_object_foreach(responses, name, response)
    {
        ty_status status = read_answer(compiler, name, response, operation, err);

        if (status)
            return status;
    }
    return TY_OK;
}

/* --- the whole --- */
static const char *method_name(const char *method)
{
    static const struct {
        const char *lower;
        const char *name;
    } methods[] = {
        {"get",    "GET"   },
        {"head",   "HEAD"  },
        {"post",   "POST"  },
        {"put",    "PUT"   },
        {"patch",  "PATCH" },
        {"delete", "DELETE"},
    };

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (ty_str_equal(methods[i].lower, method))
            return methods[i].name;
    }
    return NULL;
}

ty_status ty_operation_compile(struct ty_compiler *compiler,
                               const struct ty_operation_source *source,
                               struct ty_operation *operation_out, struct ty_error *err)
{
    struct ty_operation operation = {
        .id = json_string_value(json_object_get(source->json, "operationId")),
        .method = method_name(source->method),
        .path = source->path,
    };
    ty_status status;

    if (!operation.id || !operation.method)
        return ty_compiler_fail(source->place, err, "needs a known method and an operationId");
    status = read_security(source, &operation, err);
    if (!status)
        status = read_body(compiler, source, &operation, err);
    if (!status)
        status = read_answers(compiler, source, &operation, err);
    if (!status)
        status = ty_operation_compile_parameters(compiler, source, &operation, err);
    if (!status)
        *operation_out = operation;
    return status;
}

/* --- what the door tells --- */
const char *ty_operation_id(const struct ty_operation *operation)
{
    return operation->id;
}

const char *ty_operation_method(const struct ty_operation *operation)
{
    return operation->method;
}

const char *ty_operation_path(const struct ty_operation *operation)
{
    return operation->path;
}

const char *ty_operation_scope(const struct ty_operation *operation)
{
    return operation->scope;
}

bool ty_operation_public(const struct ty_operation *operation)
{
    return operation->is_public;
}

size_t ty_operation_body_limit(const struct ty_operation *operation)
{
    return operation->body_limit;
}

bool ty_operation_body_required(const struct ty_operation *operation)
{
    return operation->body_required;
}

const char *const *ty_operation_consumes(const struct ty_operation *operation)
{
    return operation->consumes;
}

const char *const *ty_operation_produces(const struct ty_operation *operation)
{
    return operation->produces;
}

const char *const *ty_operation_answer_types(const struct ty_operation *operation, int status)
{
    for (size_t i = 0; i < operation->answer_count; i++) {
        if (operation->answers[i].status == status)
            return operation->answers[i].media_types;
    }
    return NULL;
}
