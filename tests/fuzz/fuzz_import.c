/* Any YAML as a manifest: refused with faults that have a place, or imported to a spec; where the
 * domain allows that, it renders, and what was rendered is imported to the same bytes again. */
#include "../unit/render/manifest_check.h"
#include "trainyard/base/yaml.h"
#include "trainyard/domain/job.h"
#include "trainyard/render/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char job_id[] = "job_01j9z3k4m5n6p7q8r9s0t1v2w3";

static json_t *render(const json_t *body, struct ty_faults *faults)
{
    struct ty_job_spec *spec = NULL;
    struct ty_manifest manifest = {0};
    struct ty_error err;

    if (ty_job_spec_parse(body, &spec, faults, &err) != TY_OK)
        return NULL;
    char object_name[TY_OBJECT_NAME];

    ty_object_name_make(spec->name, job_id, object_name); /* its name is read from it again */
    struct ty_render_input input = {spec, job_id, object_name, "ns", "t", NULL, 1};

    if (ty_renderer_pytorchjob.render(&input, &manifest, faults, &err) != TY_OK)
        abort(); /* whatever the domain allows can be rendered */
    ty_job_spec_destroy(spec);
    return manifest.objects;
}

static void check_places(const char *text, size_t len, struct ty_faults *faults)
{
    struct ty_error err;

    if (ty_yaml_place_faults(text, len, faults, &err) != TY_OK)
        abort();
    for (size_t i = 0; i < faults->count; i++)
        if (faults->items[i].line == 0 && len > 0 && faults->items[i].where[0] != '\0')
            abort();
}

/* What our own renderer writes can always be read. */
static void check_again(const json_t *objects)
{
    struct ty_import again = {0};
    struct ty_faults faults;
    struct ty_error err;

    ty_faults_init(&faults);
    if (ty_import_manifest(objects, "ns", &again, &faults, &err) != TY_OK) {
        fprintf(stderr, "%s: %s\n", faults.items[0].where, faults.items[0].detail);
        abort();
    }
    json_t *twice = render(again.spec, &faults);

    if (!twice || !json_equal(twice, objects))
        abort();
    json_decref(twice);
    ty_import_done(&again);
}

static void judge(const struct ty_import *import, struct ty_faults *faults)
{
    json_t *objects = render(import->spec, faults);

    if (!objects) {
        ty_import_map_faults(import->origins, faults, 0);
        return;
    }
    check_again(objects);
    json_decref(objects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    json_t *documents = NULL;
    struct ty_import import = {0};
    struct ty_faults faults;
    struct ty_error err;

    if (ty_yaml_parse_stream(text, size, 8, &documents, &err) != TY_OK)
        return 0;
    ty_faults_init(&faults);
    ty_status status = ty_import_manifest(documents, "ns", &import, &faults, &err);

    if (status == TY_OK)
        judge(&import, &faults);
    else if (status != TY_REFUSED || !ty_faults_any(&faults))
        abort();
    check_places(text, size, &faults);
    ty_import_done(&import);
    json_decref(documents);
    return 0;
}
