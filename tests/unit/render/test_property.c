/* Random specs: whatever is allowed renders to a manifest in which every rule holds, the same again
 * from the same body with its members in another order, and from its canonical text. */
#include "../domain/spec_text.h"
#include "any_body.h"
#include "manifest_check.h"

#include "trainyard/render/import.h"

enum { BODIES = 3000 };

/* TRAINYARD_CASES and TRAINYARD_SEED: more of them, and others. */
static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : otherwise;
}

#define JOB_ID "job_01j9z3k4m5n6p7q8r9s0t1v2w3"

/* The objects' text, or NULL when the body is refused. */
static char *render(const json_t *body)
{
    struct ty_job_spec *spec = NULL;
    struct ty_manifest manifest = {0};
    struct ty_faults faults;

    ty_faults_init(&faults);
    if (ty_job_spec_parse(body, &spec, &faults, NULL) != TY_OK) {
        assert_true(ty_faults_any(&faults));
        return NULL;
    }
    struct ty_render_input input = {spec, JOB_ID, "job-s0t1v2w3", "ns", "t", NULL, 1};

    assert_int_equal(ty_renderer_pytorchjob.render(&input, &manifest, &faults, NULL), TY_OK);
    const char *broken = manifest_check(manifest.objects, "job-s0t1v2w3");
    char *text = json_dumps(manifest.objects, JSON_COMPACT);

    if (broken) {
        char *body_text = json_dumps(body, 0);

        print_error("%s: %s\n%s\n", broken, body_text, text);
        free(body_text);
    }
    assert_null(broken);
    ty_manifest_done(&manifest);
    ty_job_spec_destroy(spec);
    return text;
}

static void whatever_is_allowed_renders_by_the_rules_and_always_alike(void **state)
{
    struct source source;
    size_t allowed = 0;

    (void)state;
    source.random = ty_random_seeded(&source.seeded, 20260101);
    for (int i = 0; i < BODIES; i++) {
        json_t *body = any_body(&source);
        char *text = render(body);
        char *canonical = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
        json_t *sorted = json_loads(canonical, 0, NULL);
        char *again = render(sorted);

        assert_int_equal(text == NULL, again == NULL);
        if (text) {
            assert_string_equal(text, again);
            allowed++;
        }
        free(text);
        free(again);
        free(canonical);
        json_decref(sorted);
        json_decref(body);
    }
    assert_true(allowed > BODIES / 3);
}

/* --- and back --- */

static void say(const char *what, const json_t *value)
{
    char *text = json_dumps(value, JSON_INDENT(1));

    fprintf(stderr, "%s: %s\n", what, text);
    free(text);
}

/* What the objects of a body are imported as. */
static json_t *import(const char *objects_text)
{
    json_t *documents = json_loads(objects_text, 0, NULL);
    struct ty_import imported = {0};
    struct ty_faults faults;

    ty_faults_init(&faults);
    ty_status status = ty_import_manifest(documents, "ns", &imported, &faults, NULL);

    if (status != TY_OK) {
        say("refused", documents);
        for (size_t i = 0; i < faults.count; i++)
            fprintf(stderr, "%s %s %s\n", faults.items[i].where, faults.items[i].code,
                    faults.items[i].detail);
    }
    assert_int_equal(status, TY_OK);
    json_t *spec = json_incref(imported.spec);

    ty_import_done(&imported);
    json_decref(documents);
    return spec;
}

static void what_was_rendered_is_imported_and_renders_to_the_same_bytes(void **state)
{
    struct source source;

    (void)state;
    source.random = ty_random_seeded(&source.seeded, (uint64_t)setting("TRAINYARD_SEED", 20261130));
    for (long i = setting("TRAINYARD_CASES", BODIES); i > 0; i--) {
        json_t *body = any_body(&source);

        let_script_run(body);
        char *text = render(body);
        json_t *spec = text ? import(text) : NULL;
        char *again = spec ? render(spec) : NULL;

        if (text && (!again || strcmp(text, again) != 0)) {
            say("body", body);
            say("spec", spec);
        }
        if (text) {
            assert_non_null(again);
            assert_string_equal(text, again);
        }
        free(text);
        free(again);
        json_decref(spec);
        json_decref(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_rendered_is_imported_and_renders_to_the_same_bytes),
        cmocka_unit_test(whatever_is_allowed_renders_by_the_rules_and_always_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
