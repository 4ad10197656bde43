/* POST /v1/jobs in YAML: a manifest becomes a spec before the contract sees it, and whatever is
 * wrong with that spec is told where the manifest says it, with line and column.
 *
 * What was read is kept with the request as {spec, warnings, origins}. */
#include "api/jobs_import.h"

#include "trainyard/base/yaml.h"

enum { DOCUMENTS_MAX = 64 };

static bool in_yaml(const struct ty_request *request)
{
    const char *type = ty_request_body_type(request);

    return type && !ty_str_equal(type, "application/json");
}

json_t *api_job_body(const struct ty_request *request)
{
    json_t *read = ty_request_json(request);

    return in_yaml(request) ? json_object_get(read, "spec") : read;
}

const char *api_job_text(const struct ty_request *request, size_t *len_out)
{
    return in_yaml(request) ? NULL : ty_request_body(request, len_out);
}

const json_t *api_import_warnings(const struct ty_request *request)
{
    return in_yaml(request) ? json_object_get(ty_request_json(request), "warnings") : NULL;
}

/* --- places --- */

void api_place_faults(const struct ty_request *request, struct ty_faults *faults)
{
    struct ty_error err;
    const json_t *read = ty_request_json(request);

    if (!in_yaml(request) || !read)
        return;
    ty_import_map_faults(json_object_get(read, "origins"), faults, 0);
    size_t len;
    const char *bytes = ty_request_body(request, &len);
    if (ty_yaml_place_faults(bytes, len, faults, &err) != TY_OK)
        return; /* without memory for them, the faults still have their pointers */
}

/* --- reading --- */

static ty_status refuse_text(struct ty_faults *faults, struct ty_error *err)
{
    if (err->status != TY_INVALID)
        return err->status;
    ty_str_copy(err->code, sizeof err->code, "yaml_syntax");
    ty_faults_add(faults, TY_AT_POINTER, "", "yaml_syntax", "%s", err->text);
    if (faults->count > 0) {
        struct ty_fault *fault = &faults->items[faults->count - 1];

        (void)ty_yaml_error_place(err, &fault->line, &fault->column);
    }
    return err->status;
}

/* The only document there is, with its number; NULL when there are several, or none. */
static json_t *only_document(const json_t *documents, size_t *number_out)
{
    json_t *found = NULL;
    size_t index;
    json_t *document;

    json_array_foreach(documents, index, document)
    {
        if (json_is_null(document))
            continue;
        if (found)
            return NULL;
        found = document;
        *number_out = index;
    }
    return found;
}

static ty_status keep(struct ty_request *request, struct ty_import *import, struct ty_error *err)
{
    json_t *read = json_pack("{s:O,s:O,s:O}", "spec", import->spec, "warnings", import->warnings,
                             "origins", import->origins);

    if (!read)
        return ty_fail(err, TY_NO_MEMORY, "request");
    ty_request_set_json(request, read);
    return TY_OK;
}

/* A spec written in YAML stands for itself: its members are where they say they are. */
static ty_status take_spec(json_t *document, size_t number, struct ty_import *import_out,
                           struct ty_error *err)
{
    import_out->spec = json_incref(document);
    import_out->warnings = json_array();
    import_out->origins = json_pack("{s:i}", "document", (int)number);
    return import_out->warnings && import_out->origins ? TY_OK
                                                       : ty_fail(err, TY_NO_MEMORY, "request");
}

static ty_status read_documents(struct ty_request *request, const json_t *documents,
                                struct ty_import *import_out, struct ty_faults *faults,
                                struct ty_error *err)
{
    size_t number = 0;
    json_t *only = only_document(documents, &number);

    if (only && !ty_import_is_manifest(only))
        return take_spec(only, number, import_out, err);
    return ty_import_manifest(documents, api_caller(request)->namespace, import_out, faults, err);
}

static ty_status judge(struct ty_request *request, const struct ty_operation *operation,
                       const struct ty_import *import, struct ty_faults *faults,
                       struct ty_error *err)
{
    size_t own = faults->count;
    struct ty_job_spec *spec = NULL;
    ty_status status =
        ty_operation_check_body(operation, "application/json", import->spec, faults, err);

    if (status == TY_OK && own > 0) {
        status = ty_job_spec_parse(import->spec, &spec, faults, err);
        ty_job_spec_destroy(spec);
    }
    if (status != TY_OK && status != TY_REFUSED)
        return status;
    size_t len;
    const char *bytes = ty_request_body(request, &len);
    ty_import_map_faults(import->origins, faults, own);
    if (!ty_faults_any(faults))
        return TY_OK;
    if (ty_yaml_place_faults(bytes, len, faults, err) != TY_OK)
        return err->status;
    return ty_fail_code(err, TY_REFUSED, "validation_failed", "%zu faults", faults->count);
}

static ty_status read_body(struct ty_request *request, const struct ty_operation *operation,
                           struct ty_import *import, struct ty_faults *faults, struct ty_error *err)
{
    size_t len;
    const char *bytes = ty_request_body(request, &len);
    ty_auto_json documents = NULL;

    if (ty_yaml_parse_stream(bytes, len, DOCUMENTS_MAX, &documents, err) != TY_OK)
        return refuse_text(faults, err);
    ty_status status = read_documents(request, documents, import, faults, err);

    if (status != TY_OK && status != TY_REFUSED)
        return status;
    status = judge(request, operation, import, faults, err);
    return status == TY_OK ? keep(request, import, err) : status;
}

ty_status api_check_yaml(struct ty_request *request, const struct ty_operation *operation,
                         struct ty_faults *faults, struct ty_error *err)
{
    struct ty_import import = {0};
    ty_status status = read_body(request, operation, &import, faults, err);

    ty_import_done(&import);
    return status;
}
