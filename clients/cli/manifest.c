#include "manifest.h"

#include "trainyard/base/yaml.h"
#include "trainyard/contract/contract.h"
#include "trainyard/contract/documents.h"
#include "trainyard/domain/job.h"
#include "trainyard/render/import.h"
#include "trainyard/render/render.h"

/* What stands where a gateway would put its own. */
static const char unknown_id[] = "job_00000000000000000000000000";
static const char unknown_tenant[] = "default";

static int say_error(const struct ty_error *err)
{
    cli_say("%s", err->text);
    return EXIT_JOB_FAILED;
}

static void say_faults(const char *path, const struct ty_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        const struct ty_fault *fault = &faults->items[i];
        const char *where = fault->where[0] != '\0' ? fault->where : "the document";
        if (fault->line > 0)
            cli_say("%s:%zu:%zu: %s: %s", path, fault->line, fault->column, where, fault->detail);
        else
            cli_say("%s: %s: %s", path, where, fault->detail);
    }
    if (faults->dropped > 0)
        cli_say("%s: %zu more", path, faults->dropped);
}

static void say_warnings(const json_t *warnings)
{
    size_t index;
    json_t *warning;
    json_array_foreach(warnings, index, warning)
    {
        cli_say("warning: %s: %s", json_string_value(json_object_get(warning, "pointer")),
                json_string_value(json_object_get(warning, "message")));
    }
}

/* --- judging --- */

static ty_status check_contract(const json_t *body, struct ty_faults *faults, struct ty_error *err)
{
    const struct ty_document *rules = ty_contract_rules();
    struct ty_contract *contract = NULL;
    ty_status status = ty_contract_create(rules->bytes, rules->len, &contract, err);
    if (status == TY_OK)
        status = ty_contract_check(contract, "JobSpec", body, faults, err);
    ty_contract_destroy(contract);
    return status;
}

static ty_status judge(const json_t *body, struct ty_job_spec **spec_out, struct ty_faults *faults,
                       struct ty_error *err)
{
    ty_status status = check_contract(body, faults, err);
    return status == TY_OK ? ty_job_spec_parse(body, spec_out, faults, err) : status;
}

int manifest_judge(const char *path, const json_t *body, struct ty_job_spec **spec_out)
{
    struct ty_faults faults;
    struct ty_error err;
    ty_faults_init(&faults);
    ty_status status = judge(body, spec_out, &faults, &err);
    if (status == TY_OK)
        return EXIT_DONE;
    if (status != TY_REFUSED)
        return say_error(&err);
    say_faults(path, &faults);
    return EXIT_REFUSED;
}

/* --- importing --- */

bool manifest_found(const json_t *documents)
{
    size_t index;
    json_t *document;
    json_array_foreach(documents, index, document)
    {
        if (!json_is_null(document))
            return ty_import_is_manifest(document);
    }
    return false;
}

/* As the gateway does: what the import refuses and what is wrong with the rest, at once. */
static ty_status import(const json_t *documents, const char *namespace, struct ty_import *import,
                        struct ty_faults *faults, struct ty_error *err)
{
    struct ty_job_spec *spec = NULL;
    ty_status status = ty_import_manifest(documents, namespace, import, faults, err);
    if (status != TY_OK && status != TY_REFUSED)
        return status;
    size_t own = faults->count;
    status = judge(import->spec, &spec, faults, err);
    ty_job_spec_destroy(spec);
    if (status != TY_OK && status != TY_REFUSED)
        return status;
    ty_import_map_faults(import->origins, faults, own);
    return ty_faults_any(faults) ? TY_REFUSED : TY_OK;
}

static int refuse(const struct job_file *file, struct ty_faults *faults, struct ty_error *err)
{
    if (ty_yaml_place_faults(file->bytes, file->len, faults, err) != TY_OK)
        return say_error(err);
    say_faults(file->path, faults);
    return EXIT_REFUSED;
}

int manifest_import(const struct job_file *file, const json_t *documents, const char *namespace,
                    json_t **spec_out)
{
    struct ty_import imported = {0};
    struct ty_faults faults;
    struct ty_error err;
    int code = EXIT_DONE;
    ty_faults_init(&faults);
    ty_status status = import(documents, namespace, &imported, &faults, &err);
    if (status == TY_REFUSED)
        code = refuse(file, &faults, &err);
    else if (status != TY_OK)
        code = say_error(&err);
    if (code == EXIT_DONE) {
        say_warnings(imported.warnings);
        *spec_out = json_incref(imported.spec);
    }
    ty_import_done(&imported);
    return code;
}

/* --- rendering --- */

int manifest_render(const struct ty_job_spec *spec, const char *namespace, json_t **objects_out)
{
    char object_name[TY_OBJECT_NAME];
    struct ty_manifest manifest = {0};
    struct ty_faults faults;
    struct ty_error err;
    ty_object_name_make(spec->name, unknown_id, object_name);
    struct ty_render_input input = {
        .spec = spec,
        .job_id = unknown_id,
        .object_name = object_name,
        .namespace = namespace,
        .tenant = unknown_tenant,
    };
    ty_faults_init(&faults);
    ty_status status = ty_renderer_pytorchjob.render(&input, &manifest, &faults, &err);
    if (status == TY_REFUSED) {
        say_faults("the job", &faults);
        return EXIT_REFUSED;
    }
    if (status != TY_OK)
        return say_error(&err);
    *objects_out = manifest.objects;
    return EXIT_DONE;
}
