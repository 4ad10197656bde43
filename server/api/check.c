/* Judge a request by the contract: parameters, then the body. */
#include "api/jobs_import.h"

static const char *read_variable(void *context, const char *name)
{
    return ty_request_variable(context, name);
}

static bool read_query(void *context, size_t index, const char **name_out, const char **value_out)
{
    const struct ty_parameter *pair = ty_request_parameter_at(context, index);
    if (!pair)
        return false;
    *name_out = pair->name;
    *value_out = pair->value;
    return true;
}

static const char *read_header(void *context, const char *name)
{
    return ty_request_header(context, name);
}

static const struct ty_operation *operation_of(const struct ty_api *api,
                                               const struct ty_request *request)
{
    size_t count;
    return api->operations[ty_request_route(request) - ty_api_routes(&count)];
}

static ty_status check_body(struct ty_request *request, const struct ty_operation *operation,
                            struct ty_faults *faults, struct ty_error *err)
{
    size_t len;
    const char *bytes = ty_request_body(request, &len);
    const char *type = ty_request_body_type(request);
    json_t *body = NULL;
    if (len > 0 && type && ty_str_ends(type, "yaml"))
        return api_check_yaml(request, operation, faults, err);
    if (len > 0 && ty_json_parse(bytes, len, &body, err) != TY_OK)
        return err->status;
    if (body)
        ty_request_set_json(request, body);
    return ty_operation_check_body(operation, type, body, faults, err);
}

ty_status api_check(void *context, struct ty_request *request, struct ty_faults *faults,
                    struct ty_error *err)
{
    const struct ty_operation *operation = operation_of(context, request);
    struct ty_parameter_source source = {request, read_variable, read_query, read_header};
    struct ty_arguments arguments;
    if (ty_operation_check_parameters(operation, &source, &arguments, faults, err) != TY_OK)
        return err->status;
    struct api_session *session = ty_request_principal(request);
    if (session) {
        session->arguments = ty_request_alloc(request, sizeof arguments);
        if (!session->arguments)
            return ty_fail(err, TY_NO_MEMORY, "request");
        *session->arguments = arguments;
    }
    if (ty_operation_body_limit(operation) == 0)
        return TY_OK;
    return check_body(request, operation, faults, err);
}
