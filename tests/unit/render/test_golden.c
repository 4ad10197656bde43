/* Whole manifests against files that were read by eye. golden/<name>.spec.json is the body,
 * golden/<name>.json the objects. With TRAINYARD_WRITE_GOLDEN set the latter are written instead;
 * read the difference before keeping it. */
#include "../domain/spec_text.h"
#include "manifest_check.h"
#include "trainyard/domain/job.h"

#define JOB_ID "job_01j9z3k4m5n6p7q8r9s0t1v2w3"

/* The manifests of public guides (seed_…) are said in our words, with what their words mean. */
static const char *const names[] = {
    "smallest",
    "short_form",
    "multi_node",
    "command",
    "torchrun",
    "files",
    "overrides",
    "whole",
    "elastic",
    "seed_example",
    "seed_basic",
    "seed_gpu",
    "seed_multi_node_gpu",
    "seed_launch",
    "seed_storage",
    "seed_shared_storage",
    "seed_nccl",
    "seed_config",
    "seed_node_selector",
    "seed_affinity",
};

static json_t *load(const char *name, const char *suffix)
{
    char path[512];
    json_error_t error;

    snprintf(path, sizeof(path), "%s/%s%s", GOLDEN_FOLDER, name, suffix);
    json_t *json = json_load_file(path, 0, &error);

    if (!json)
        print_error("%s: %s\n", path, error.text);
    return json;
}

static json_t *render(const json_t *body)
{
    struct ty_job_spec *spec = spec_of_json(body);
    char object_name[TY_OBJECT_NAME];
    struct ty_manifest manifest = {0};
    struct ty_faults faults;

    ty_object_name_make(spec->name, JOB_ID, object_name);
    struct ty_render_input input = {spec, JOB_ID, object_name, "trainyard-default", "default",
                                    NULL, 1};

    ty_faults_init(&faults);
    assert_int_equal(ty_renderer_pytorchjob.render(&input, &manifest, &faults, NULL), TY_OK);
    assert_null(manifest_check(manifest.objects, object_name));
    ty_job_spec_destroy(spec);
    return manifest.objects;
}

static void write_golden(const char *name, const json_t *objects)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.json", GOLDEN_FOLDER, name);
    assert_int_equal(json_dump_file(objects, path, JSON_INDENT(2)), 0);
}

static void every_golden_body_gives_its_golden_objects(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(names); i++) {
        json_t *body = load(names[i], ".spec.json");

        assert_non_null(body);
        json_t *objects = render(body);

        if (getenv("TRAINYARD_WRITE_GOLDEN"))
            write_golden(names[i], objects);
        json_t *golden = load(names[i], ".json");

        if (!json_equal(objects, golden)) {
            char *text = json_dumps(objects, JSON_INDENT(2));

            print_error("%s gives:\n%s\n", names[i], text);
            free(text);
        }
        assert_true(json_equal(objects, golden));
        json_decref(golden);
        json_decref(objects);
        json_decref(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_golden_body_gives_its_golden_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
