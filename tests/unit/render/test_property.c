/* Random specs: whatever is allowed renders to a manifest in which every rule holds, the same again
 * from the same body with its members in another order, and from its canonical text. */
#include "../domain/spec_text.h"
#include "manifest_check.h"

#include "trainyard/base/random.h"

enum { BODIES = 3000 };

#define JOB_ID "job_01j9z3k4m5n6p7q8r9s0t1v2w3"

struct source {
    struct ty_seeded seeded;
    struct ty_random random;
};

static size_t below(struct source *source, size_t bound)
{
    return (size_t)ty_random_below(&source->random, bound);
}

static const char *pick(struct source *source, const char *const *texts, size_t count)
{
    return texts[below(source, count)];
}

#define PICK(source, ...)                                                                          \
    pick(source, (const char *const[]){__VA_ARGS__},                                               \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static json_t *any_text(struct source *source)
{
    return json_string(PICK(source, "", "x", "$(RANK)", "$$", "a b", "no", "1e3", "l1\nl2", "ü",
                            "--x=1", "\"", "${A}", "0", " "));
}

static json_t *any_mount(struct source *source)
{
    static const char *const paths[] = {"/a",      "/b",           "/c/d", "/data",
                                        "/output", "/checkpoints", "/w"};
    json_t *mount = json_object();

    if (below(source, 3) == 0)
        json_object_set_new(mount, "create",
                            json_pack("{s:s,s:s}", "size", PICK(source, "1Gi", "5G", "1e9"),
                                      "access_mode",
                                      PICK(source, "read_write_once", "read_write_many")));
    else
        json_object_set_new(mount, "claim",
                            json_string(PICK(source, "c1", "c2", "data.v1", "out")));
    json_object_set_new(mount, "mount_path", json_string(pick(source, paths, UNIT_COUNT(paths))));
    if (below(source, 3) == 0)
        json_object_set_new(mount, "sub_path", json_string(PICK(source, "s", "s/t")));
    if (below(source, 3) == 0)
        json_object_set_new(mount, "read_only", json_boolean(below(source, 2) == 0));
    return mount;
}

static json_t *any_list(struct source *source, json_t *(*make)(struct source *), size_t max)
{
    json_t *list = json_array();

    for (size_t i = below(source, max + 1); i > 0; i--)
        json_array_append_new(list, make(source));
    return list;
}

static json_t *any_env(struct source *source)
{
    json_t *env = json_object();

    for (size_t i = below(source, 4); i > 0; i--)
        json_object_set_new(env, PICK(source, "A", "B_1", "LR", "_x", "NCCL_DEBUG"),
                            any_text(source));
    return env;
}

static json_t *any_resources(struct source *source)
{
    json_t *resources = json_object();

    if (below(source, 2) == 0)
        json_object_set_new(resources, "memory",
                            json_string(PICK(source, "1Gi", "512Mi", "1.2Gi", "3G", "2e9")));
    if (below(source, 2) == 0)
        json_object_set_new(resources, "cpu", json_string(PICK(source, "1", "500m", "0.5", "1e1")));
    if (below(source, 3) == 0)
        json_object_set_new(resources, "limits", json_pack("{s:s}", "memory", "4Gi"));
    return resources;
}

static json_t *any_file(struct source *source)
{
    return json_pack("{s:s,s:o}", "path",
                     PICK(source, "a.py", "b/c.py", "d e", "file.0", "file.1", "ü", ".x", "b/d.py",
                          "f.0", "train.py"),
                     "content", any_text(source));
}

static json_t *any_role(struct source *source)
{
    json_t *role = json_object();

    if (below(source, 2) == 0)
        json_object_set_new(role, "env", any_env(source));
    if (below(source, 2) == 0)
        json_object_set_new(role, "args", any_list(source, any_text, 3));
    if (below(source, 3) == 0)
        json_object_set_new(role, "resources", any_resources(source));
    if (below(source, 3) == 0)
        json_object_set_new(role, "volumes", any_list(source, any_mount, 2));
    if (below(source, 3) == 0)
        json_object_set_new(role, "image", json_string("other:2"));
    return role;
}

static json_t *any_parameters(struct source *source)
{
    json_t *parameters = json_object();

    for (size_t i = below(source, 4); i > 0; i--)
        json_object_set_new(parameters, PICK(source, "lr", "batch-size", "n", "amp"),
                            below(source, 2) == 0 ? json_real(0.1) : any_text(source));
    return parameters;
}

static json_t *any_script(struct source *source)
{
    if (below(source, 2) == 0)
        return json_string("print(1)\r\n");
    return json_pack("{s:s,s:s}", "name", PICK(source, "t.py", "file.0", "f.0", "run.sh"),
                     "content", "x");
}

static json_t *any_number(struct source *source)
{
    return json_integer((json_int_t)below(source, 5));
}

static json_t *any_positive(struct source *source)
{
    return json_integer((json_int_t)below(source, 30) + 1);
}

static json_t *any_restart(struct source *source)
{
    return json_string(PICK(source, "on_failure", "never", "always", "exit_code"));
}

static json_t *any_style(struct source *source)
{
    return json_string(PICK(source, "both", "flags", "environment"));
}

static json_t *any_claim(struct source *source)
{
    return json_string(PICK(source, "c1", "out", "data.v1"));
}

static json_t *any_checkpoints(struct source *source)
{
    json_t *checkpoints = json_object();

    if (below(source, 2) == 0)
        json_object_set_new(checkpoints, "volume", any_claim(source));
    if (below(source, 2) == 0)
        json_object_set_new(checkpoints, "path",
                            json_string(PICK(source, "x", "/output/y", "/ck", "a/b")));
    return checkpoints;
}

static json_t *any_mounts(struct source *source)
{
    return any_list(source, any_mount, 3);
}

static json_t *any_texts(struct source *source)
{
    return any_list(source, any_text, 4);
}

static json_t *any_files(struct source *source)
{
    return any_list(source, any_file, 4);
}

struct member {
    const char *name;
    json_t *(*make)(struct source *source);
};

static const struct member members[] = {
    {"replicas",        any_positive   },
    {"gpus",            any_number     },
    {"epochs",          any_positive   },
    {"max_retries",     any_number     },
    {"timeout_seconds", any_positive   },
    {"restart",         any_restart    },
    {"parameter_style", any_style      },
    {"parameters",      any_parameters },
    {"env",             any_env        },
    {"args",            any_texts      },
    {"files",           any_files      },
    {"resources",       any_resources  },
    {"volumes",         any_mounts     },
    {"dataset",         any_claim      },
    {"output",          any_claim      },
    {"checkpoints",     any_checkpoints},
    {"master",          any_role       },
    {"worker",          any_role       },
};

static json_t *any_body(struct source *source)
{
    json_t *body = json_pack("{s:s}", "image", "a/b:1");

    if (below(source, 3) == 0)
        json_object_set_new(body, "command", json_pack("[s,s]", "run", "$(MASTER_ADDR)$"));
    else
        json_object_set_new(body, "script", any_script(source));
    for (size_t i = 0; i < UNIT_COUNT(members); i++)
        if (below(source, 3) == 0)
            json_object_set_new(body, members[i].name, members[i].make(source));
    return body;
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_allowed_renders_by_the_rules_and_always_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
