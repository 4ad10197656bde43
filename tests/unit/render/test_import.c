/* Manifests against files that were read by eye: manifests/<name>.yaml is the stream,
 * manifests/<name>.json what it is imported as: the spec and its warnings, or the errors with their
 * places. With TRAINYARD_WRITE_GOLDEN set the latter are written instead; read the difference
 * before keeping it. */
#include "unit.h"

#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/base/yaml.h"
#include "trainyard/domain/spec.h"
#include "trainyard/render/import.h"
#include "trainyard/render/render.h"

#include <dirent.h>
#include <stdlib.h>

enum { NAMES = 256, TEXT = 1024 * 1024 };

static char *read_file(const char *name, const char *suffix, size_t *len_out)
{
    char path[512];
    char *text = malloc(TEXT);

    snprintf(path, sizeof(path), "%s/%s%s", MANIFESTS_FOLDER, name, suffix);
    ty_auto_file file = fopen(path, "rb");

    if (!file) {
        free(text);
        return NULL;
    }
    *len_out = fread(text, 1, TEXT, file);
    return text;
}

static json_t *list_warnings(const json_t *warnings)
{
    json_t *list = json_array();
    size_t index;
    json_t *warning;

    json_array_foreach(warnings, index, warning)
    {
        json_array_append_new(
            list, json_sprintf("%s %s", json_string_value(json_object_get(warning, "code")),
                               json_string_value(json_object_get(warning, "pointer"))));
    }
    return list;
}

static json_t *list_faults(const struct ty_faults *faults, const char *text, size_t len)
{
    struct ty_yaml_place places[TY_FAULTS_MAX];
    json_t *list = json_array();

    for (size_t i = 0; i < faults->count; i++)
        places[i] = (struct ty_yaml_place){.document = faults->items[i].document,
                                           .pointer = faults->items[i].where};
    assert_int_equal(ty_yaml_locate(text, len, places, faults->count, NULL), TY_OK);
    for (size_t i = 0; i < faults->count; i++) {
        const struct ty_fault *fault = &faults->items[i];

        assert_true(places[i].line > 0);
        json_array_append_new(list, json_sprintf("%zu:%zu:%zu %s %s: %s", fault->document,
                                                 places[i].line, places[i].column, fault->where,
                                                 fault->code, fault->detail));
    }
    return list;
}

/* What the domain says of a spec that was imported, at the manifest's places, after the faults of
 * the import itself. */
static void judge(const struct ty_import *import, struct ty_faults *faults)
{
    struct ty_job_spec *spec = NULL;
    size_t own = faults->count;

    if (ty_job_spec_parse(import->spec, &spec, faults, NULL) != TY_OK)
        ty_import_map_faults(import->origins, faults, own);
    ty_job_spec_destroy(spec);
}

static json_t *import(const char *text, size_t len)
{
    ty_auto_json documents = NULL;
    struct ty_import import = {0};
    struct ty_faults faults;
    struct ty_error err;

    ty_faults_init(&faults);
    if (ty_yaml_parse_stream(text, len, 16, &documents, &err) != TY_OK)
        return json_pack("{s:[s]}", "errors", err.text);
    ty_status status = ty_import_manifest(documents, "team", &import, &faults, &err);

    if (import.spec)
        judge(&import, &faults);
    json_t *result = ty_faults_any(&faults)
                         ? json_pack("{s:o}", "errors", list_faults(&faults, text, len))
                         : json_pack("{s:O,s:o}", "spec", import.spec, "warnings",
                                     list_warnings(import.warnings));

    assert_true(ty_faults_any(&faults) || status == TY_OK);
    ty_import_done(&import);
    return result;
}

/* --- and back --- */

/* The objects of a spec that the domain allows. */
static json_t *render(const json_t *body)
{
    struct ty_job_spec *spec = NULL;
    struct ty_manifest manifest = {0};
    struct ty_faults faults;
    struct ty_error err;

    ty_faults_init(&faults);
    assert_int_equal(ty_job_spec_parse(body, &spec, &faults, &err), TY_OK);
    char name[128];

    snprintf(name, sizeof(name), "%s-s0t1v2w3", spec->name);
    struct ty_render_input input = {spec, "job_01j9z3k4m5n6p7q8r9s0t1v2w3", name, "team", "t", NULL,
                                    1};

    assert_int_equal(ty_renderer_pytorchjob.render(&input, &manifest, &faults, &err), TY_OK);
    ty_job_spec_destroy(spec);
    return manifest.objects;
}

/* What the spec renders to is imported without a word of warning and renders to the same. */
static void check_back(const char *name, const json_t *spec)
{
    ty_auto_json objects = render(spec);
    struct ty_import import = {0};
    struct ty_faults faults;
    struct ty_error err;

    ty_faults_init(&faults);
    assert_int_equal(ty_import_manifest(objects, "team", &import, &faults, &err), TY_OK);
    ty_auto_json again = render(import.spec);

    if (!json_equal(again, objects) || json_array_size(import.warnings) > 0) {
        ty_auto_free char *got = json_dumps(import.spec, JSON_INDENT(2));

        fprintf(stderr, "%s comes back as:\n%s\n", name, got);
    }
    assert_int_equal(json_array_size(import.warnings), 0);
    assert_true(json_equal(again, objects));
    ty_import_done(&import);
}

/* --- the files --- */

static void write_golden(const char *name, const json_t *result)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.json", MANIFESTS_FOLDER, name);
    assert_int_equal(json_dump_file(result, path, JSON_INDENT(2)), 0);
}

static void check(const char *name)
{
    size_t len = 0;
    size_t golden_len = 0;
    ty_auto_free char *text = read_file(name, ".yaml", &len);

    assert_non_null(text);
    ty_auto_json result = import(text, len);

    if (getenv("TRAINYARD_WRITE_GOLDEN"))
        write_golden(name, result);
    ty_auto_free char *golden_text = read_file(name, ".json", &golden_len);
    ty_auto_json golden = golden_text ? json_loadb(golden_text, golden_len, 0, NULL) : NULL;

    if (!golden || !json_equal(result, golden)) {
        ty_auto_free char *got = json_dumps(result, JSON_INDENT(2));

        fprintf(stderr, "%s gives:\n%s\n", name, got);
    }
    assert_true(golden && json_equal(result, golden));
    if (json_object_get(result, "spec"))
        check_back(name, json_object_get(result, "spec"));
}

static void every_manifest_is_imported_as_its_file_says_and_survives_the_way_back(void **state)
{
    DIR *folder = opendir(MANIFESTS_FOLDER);
    size_t count = 0;

    (void)state;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char name[256];

        if (!ty_str_ends(entry->d_name, ".yaml"))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strlen(entry->d_name) - 5, entry->d_name);
        check(name);
        count++;
    }
    closedir(folder);
    assert_true(count > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_manifest_is_imported_as_its_file_says_and_survives_the_way_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
