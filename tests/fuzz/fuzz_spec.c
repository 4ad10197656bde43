/* Any JSON as a job spec: refused with faults, or rendered to a manifest in which every rule
 * holds. */
#include "../unit/render/manifest_check.h"
#include "trainyard/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void render(const struct ty_job_spec *spec)
{
    struct ty_render_input input = {
        spec, "job_01j9z3k4m5n6p7q8r9s0t1v2w3", "job-s0t1v2w3", "ns", "t", "/checkpoints/last.pt",
        1};
    struct ty_manifest manifest = {0};
    struct ty_warning warnings[32];
    struct ty_faults faults;
    struct ty_error err;

    ty_faults_init(&faults);
    if (ty_renderer_pytorchjob.render(&input, &manifest, &faults, &err) != TY_OK)
        abort(); /* whatever the domain allows can be rendered */
    const char *broken = manifest_check(manifest.objects, input.object_name);

    if (broken) {
        fprintf(stderr, "broken: %s\n", broken);
        abort();
    }
    (void)ty_job_spec_warnings(spec, warnings, sizeof(warnings) / sizeof(warnings[0]));
    (void)ty_job_spec_machine_warnings(spec, warnings, sizeof(warnings) / sizeof(warnings[0]));
    ty_manifest_done(&manifest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *body = NULL;
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;
    struct ty_error err;

    if (ty_json_parse((const char *)data, size, &body, &err) != TY_OK)
        return 0;
    ty_faults_init(&faults);
    ty_job_spec_check_machine(body, &faults);
    ty_faults_init(&faults);
    ty_status status = ty_job_spec_parse(body, &spec, &faults, &err);

    if (status == TY_OK)
        render(spec);
    else if (status != TY_REFUSED || !ty_faults_any(&faults))
        abort();
    ty_job_spec_destroy(spec);
    json_decref(body);
    return 0;
}
