/* Random specs and manifests, whole and damaged, through everything that judges them. None may
 * crash; what is accepted is written out, an array of objects a line, for others to judge.
 *
 * Usage: manifest_mutate CASES SEED FOLDER OUT
 *   FOLDER  manifests in YAML that are damaged besides what is rendered from random specs */
#include "../unit/render/any_body.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/base/yaml.h"
#include "trainyard/contract/contract.h"
#include "trainyard/contract/documents.h"
#include "trainyard/render/import.h"
#include "trainyard/render/render.h"

#include <dirent.h>
#include <stdio.h>

enum { BASES = 1024, TEXT = 1024 * 1024 };

struct run {
    struct source source;
    struct ty_contract *contract;
    FILE *out;
    json_t *bases[BASES]; /* manifests that are accepted as they are */
    size_t base_count;
    size_t accepted[2]; /* of specs, of manifests */
    size_t tried[2];
};

/* --- judging --- */

static ty_status judge(struct run *run, const json_t *body, struct ty_job_spec **spec_out)
{
    struct ty_faults faults;
    struct ty_error err;

    ty_faults_init(&faults);
    ty_status status = ty_contract_check(run->contract, "JobSpec", body, &faults, &err);

    if (status == TY_OK)
        status = ty_job_spec_parse(body, spec_out, &faults, &err);
    if (status != TY_OK && (status != TY_REFUSED || !ty_faults_any(&faults)))
        abort();
    return status;
}

static json_t *render(const struct ty_job_spec *spec)
{
    struct ty_render_input input = {
        spec, "job_01j9z3k4m5n6p7q8r9s0t1v2w3", "job-s0t1v2w3", "team", "team", NULL, 1};
    struct ty_manifest manifest = {0};
    struct ty_faults faults;

    ty_faults_init(&faults);
    if (ty_renderer_pytorchjob.render(&input, &manifest, &faults, NULL) != TY_OK)
        abort(); /* whatever is allowed can be rendered */
    return manifest.objects;
}

/* The objects of a spec, or NULL when it is refused. */
static json_t *accept_spec(struct run *run, const json_t *body)
{
    struct ty_job_spec *spec = NULL;
    json_t *objects = NULL;

    if (judge(run, body, &spec) == TY_OK)
        objects = render(spec);
    ty_job_spec_destroy(spec);
    return objects;
}

static bool accept_manifest(struct run *run, const json_t *documents)
{
    struct ty_import import = {0};
    struct ty_faults faults;
    struct ty_error err;
    json_t *objects = NULL;

    ty_faults_init(&faults);
    ty_status status = ty_import_manifest(documents, "team", &import, &faults, &err);

    if (status == TY_OK)
        objects = accept_spec(run, import.spec);
    else if (status != TY_REFUSED || !ty_faults_any(&faults))
        abort();
    ty_import_done(&import);
    json_decref(objects);
    return objects != NULL;
}

/* --- damage --- */

static size_t count_nodes(const json_t *node)
{
    size_t count = 1;
    size_t index;
    const char *key;
    json_t *child;

    if (json_is_object(node))
        json_object_foreach((json_t *)(uintptr_t)node, key, child)
        {
            count += count_nodes(child);
        }
    json_array_foreach(node, index, child)
    {
        count += count_nodes(child);
    }
    return count;
}

static json_t *any_value(struct source *source)
{
    switch (below(source, 12)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(below(source, 2) == 0);
    case 2:
        return json_integer(-1);
    case 3:
        return json_integer((json_int_t)below(source, 4));
    case 4:
        return json_integer(INT64_C(4294967296));
    case 5:
        return json_real(1.5);
    case 6:
        return json_object();
    case 7:
        return json_array();
    case 8:
        return json_pack("[s]", PICK(source, "a", "", "1"));
    case 9:
        return json_pack("{s:s}", PICK(source, "a", "name", "key"), PICK(source, "b", ""));
    default:
        return json_string(PICK(source, "", "x", "1", "1Gi", "Never", "None", "true", "a/b", "/a",
                                "$(RANK)", "-", "A_B", "é", "\n", "x.y/z", "Always", "0.5"));
    }
}

/* One member of an object or item of an array, with where it is. */
struct place {
    json_t *parent;
    const char *key; /* of an object */
    size_t index;
};

static bool find_place(json_t *node, size_t *rest, struct place *out)
{
    size_t index;
    const char *key;
    json_t *child;

    json_array_foreach(node, index, child)
    {
        if ((*rest)-- == 0)
            *out = (struct place){node, NULL, index};
        if (out->parent || find_place(child, rest, out))
            return true;
    }
    if (json_is_object(node))
        json_object_foreach(node, key, child)
        {
            if ((*rest)-- == 0)
                *out = (struct place){node, key, 0};
            if (out->parent || find_place(child, rest, out))
                return true;
        }
    return false;
}

static json_t *value_at(const struct place *place)
{
    return place->key ? json_object_get(place->parent, place->key)
                      : json_array_get(place->parent, place->index);
}

static void set_at(const struct place *place, json_t *value)
{
    if (place->key)
        json_object_set_new(place->parent, place->key, value);
    else
        json_array_set_new(place->parent, place->index, value);
}

static void remove_at(const struct place *place)
{
    if (place->key)
        json_object_del(place->parent, place->key);
    else
        json_array_remove(place->parent, place->index);
}

static bool pick_place(struct source *source, json_t *root, struct place *out)
{
    size_t rest = below(source, count_nodes(root));

    *out = (struct place){0};
    return find_place(root, &rest, out);
}

/* A text or number that is nearly what it was. */
static json_t *nearly(struct source *source, const json_t *value)
{
    const char *text = json_string_value(value);

    if (json_is_integer(value))
        return json_integer(json_integer_value(value) + (json_int_t)below(source, 5) - 2);
    if (!text)
        return any_value(source);
    switch (below(source, 3)) {
    case 0:
        return json_sprintf("%s%s", text, PICK(source, "0", "-", "/", "x", "."));
    case 1:
        return json_stringn(text, strlen(text) / 2);
    default:
        return json_integer(strtol(text, NULL, 10));
    }
}

static void damage(struct source *source, json_t *root)
{
    struct place place;
    struct place other;

    if (!pick_place(source, root, &place))
        return;
    json_t *value = value_at(&place);

    switch (below(source, 6)) {
    case 0:
        remove_at(&place);
        break;
    case 1:
        set_at(&place, any_value(source));
        break;
    case 2:
        if (pick_place(source, root, &other))
            set_at(&place, json_deep_copy(value_at(&other)));
        break;
    case 3:
        if (json_is_object(value))
            json_object_set_new(value, PICK(source, "surprise", "name", "readOnly", "optional"),
                                any_value(source));
        else if (!place.key)
            json_array_append_new(place.parent, json_deep_copy(value));
        break;
    default: {
        json_t *changed = nearly(source, value);

        set_at(&place, changed ? changed : json_null());
    }
    }
}

static void damage_some(struct source *source, json_t *root)
{
    for (size_t i = below(source, 3) + 1; i > 0; i--)
        damage(source, root);
}

/* --- cases --- */

static void write_out(struct run *run, const json_t *objects)
{
    json_dumpf(objects, run->out, JSON_COMPACT);
    fputc('\n', run->out);
}

static void add_base(struct run *run, json_t *objects)
{
    size_t index = run->base_count < BASES ? run->base_count++ : below(&run->source, BASES);

    json_decref(run->bases[index]);
    run->bases[index] = objects;
}

static void try_spec(struct run *run)
{
    json_t *body = any_body(&run->source);

    let_script_run(body);
    if (below(&run->source, 2) == 0)
        damage_some(&run->source, body);
    json_t *objects = accept_spec(run, body);

    run->tried[0]++;
    if (objects) {
        run->accepted[0]++;
        write_out(run, objects);
        add_base(run, objects);
    }
    json_decref(body);
}

static void try_manifest(struct run *run)
{
    json_t *documents = json_deep_copy(run->bases[below(&run->source, run->base_count)]);

    damage_some(&run->source, documents);
    run->tried[1]++;
    if (accept_manifest(run, documents)) {
        run->accepted[1]++;
        write_out(run, documents);
    }
    json_decref(documents);
}

/* --- starting --- */

static void load(struct run *run, const char *path)
{
    static char text[TEXT];
    json_t *documents = NULL;
    ty_auto_file file = fopen(path, "rb");
    size_t len = file ? fread(text, 1, sizeof(text), file) : 0;

    if (ty_yaml_parse_stream(text, len, 16, &documents, NULL) == TY_OK &&
        accept_manifest(run, documents))
        add_base(run, json_incref(documents));
    json_decref(documents);
}

static void load_folder(struct run *run, const char *name)
{
    DIR *folder = opendir(name);
    char path[512];

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!ty_str_ends(entry->d_name, ".yaml"))
            continue;
        snprintf(path, sizeof(path), "%s/%s", name, entry->d_name);
        load(run, path);
    }
    if (folder)
        closedir(folder);
}

int main(int argc, char **argv)
{
    static struct run run;
    const struct ty_document *rules = ty_contract_rules();

    if (argc != 5)
        return 2;
    run.source.random = ty_random_seeded(&run.source.seeded, (uint64_t)strtoull(argv[2], NULL, 10));
    run.out = fopen(argv[4], "wb");
    if (!run.out || ty_contract_create(rules->bytes, rules->len, &run.contract, NULL) != TY_OK)
        return 2;
    load_folder(&run, argv[3]);
    if (run.base_count == 0)
        return 2;
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--)
        if (i % 2 == 0)
            try_spec(&run);
        else
            try_manifest(&run);
    printf("specs: %zu of %zu accepted, manifests: %zu of %zu accepted\n", run.accepted[0],
           run.tried[0], run.accepted[1], run.tried[1]);
    for (size_t i = 0; i < run.base_count; i++)
        json_decref(run.bases[i]);
    ty_contract_destroy(run.contract);
    return fclose(run.out) == 0 ? 0 : 2;
}
