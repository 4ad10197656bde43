/* What allowed bodies become: defaults, short forms, overrides. */
#include "spec_text.h"

#include "trainyard/base/str.h"

#define PLAIN "'image':'a/b:1','script':'x'"

static const char *value_of(const struct ty_pairs *pairs, const char *name)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (ty_str_equal(pairs->items[i].name, name))
            return pairs->items[i].value;
    return NULL;
}

static void the_smallest_body_gets_every_default(void **state)
{
    struct ty_job_spec *spec = spec_of("{" PLAIN "}");
    struct ty_spec_folder folder;

    (void)state;
    assert_string_equal(spec->name, "job");
    assert_string_equal(spec->script_name, "train.py");
    assert_string_equal(spec->script, "x");
    assert_int_equal(spec->script_len, 1);
    assert_int_equal(spec->master.command_count, 0);
    assert_int_equal(spec->launcher, TY_LAUNCHER_PYTHON);
    assert_int_equal(spec->processes_per_replica, 1);
    assert_int_equal(spec->backend, TY_BACKEND_GLOO);
    assert_int_equal(spec->epochs, 0);
    assert_int_equal(spec->replicas, 1);
    assert_int_equal(spec->master.replicas, 1);
    assert_int_equal(spec->worker.replicas, 0);
    assert_string_equal(spec->master.image, "a/b:1");
    assert_string_equal(spec->master.resources.shared_memory, "2Gi");
    assert_null(spec->master.resources.memory);
    assert_int_equal(spec->restart, TY_RESTART_ON_FAILURE);
    assert_int_equal(spec->max_retries, 3);
    assert_int_equal(spec->timeout_seconds, 0);
    assert_int_equal(spec->keep_seconds, -1);
    assert_int_equal(spec->clean_pods, TY_CLEAN_RUNNING);
    assert_false(spec->suspended);
    assert_null(spec->output_claim);
    assert_string_equal(spec->output_path, "/output");
    ty_job_spec_output(spec, "job-1", &folder);
    assert_string_equal(folder.claim, "job-1-output");
    assert_string_equal(folder.path, "");
    assert_string_equal(folder.mount, "/output");
    ty_job_spec_checkpoints(spec, "job-1", &folder);
    assert_string_equal(folder.claim, "job-1-output");
    assert_string_equal(folder.path, "checkpoints");
    assert_string_equal(folder.mount, "/output/checkpoints");
    assert_int_equal(ty_job_spec_gpus(spec), 0);
    ty_job_spec_destroy(spec);
}

static void replicas_are_a_master_and_the_rest_workers(void **state)
{
    struct ty_job_spec *spec = spec_of("{" PLAIN ",'replicas':5,'gpus':2}");

    (void)state;
    assert_int_equal(spec->master.replicas, 1);
    assert_int_equal(spec->worker.replicas, 4);
    assert_int_equal(spec->backend, TY_BACKEND_NCCL);
    assert_int_equal(spec->worker.resources.gpus, 2);
    assert_int_equal(ty_job_spec_gpus(spec), 10);
    ty_job_spec_destroy(spec);
}

static void a_role_replaces_members_and_adds_environment(void **state)
{
    struct ty_job_spec *spec =
        spec_of("{" PLAIN ",'replicas':2,'args':['a'],'env':{'B':'1','A':'2','C':'3'},"
                "'resources':{'memory':'4Gi'},"
                "'worker':{'image':'w:2','args':[],'env':{'B':'9','D':'4'},'resources':{'cpu':2},"
                "'volumes':[{'claim':'scratch','mount_path':'/scratch'}]}}");

    (void)state;
    assert_string_equal(spec->master.image, "a/b:1");
    assert_string_equal(spec->worker.image, "w:2");
    assert_int_equal(spec->master.args_count, 1);
    assert_int_equal(spec->worker.args_count, 0);
    assert_int_equal(spec->master.env.count, 3);
    assert_string_equal(spec->master.env.items[0].name, "A");
    assert_int_equal(spec->worker.env.count, 4);
    assert_string_equal(value_of(&spec->worker.env, "A"), "2");
    assert_string_equal(value_of(&spec->worker.env, "B"), "9");
    assert_string_equal(value_of(&spec->worker.env, "D"), "4");
    assert_string_equal(spec->master.resources.memory, "4Gi");
    assert_string_equal(spec->master.resources.shared_memory, "2Gi");
    assert_null(spec->worker.resources.memory);
    assert_string_equal(spec->worker.resources.cpu, "2");
    assert_string_equal(spec->worker.resources.cpu_limit, "2");
    assert_int_equal(spec->worker.resources.cpu_millis, 2000);
    assert_int_equal(spec->worker.volumes_count, spec->master.volumes_count + 1);
    ty_job_spec_destroy(spec);
}

static void limits_and_requests_stand_in_for_each_other(void **state)
{
    struct ty_job_spec *spec =
        spec_of("{" PLAIN ",'resources':{'cpu':'500m','ephemeral_storage':'1.5G',"
                "'limits':{'memory':'1.2Gi','cpu':'1e1'}}}");
    const struct ty_resources *resources = &spec->master.resources;

    (void)state;
    assert_string_equal(resources->cpu, "500m");
    assert_string_equal(resources->cpu_limit, "1e1");
    assert_int_equal(resources->cpu_millis, 10000);
    assert_string_equal(resources->memory, "1.2Gi");
    assert_string_equal(resources->memory_limit, "1.2Gi");
    assert_true(resources->memory_bytes == 1288490189); /* rounded up */
    assert_string_equal(resources->storage, "1.5G");
    assert_string_equal(resources->storage_limit, "1.5G");
    ty_job_spec_destroy(spec);
}

static void shared_memory_follows_the_memory_limit(void **state)
{
    static const struct {
        const char *members;
        const char *text;
        int64_t bytes;
    } cases[] = {
        {",'shared_memory':'512Mi'",                                "512Mi",      INT64_C(536870912) },
        {",'shared_memory':2147483648",                             "2147483648", INT64_C(2147483648)},
        {",'resources':{'memory':'4Gi'}",                           "2Gi",        INT64_C(2147483648)},
        {",'resources':{'memory':'3Gi'}",                           "1536Mi",     INT64_C(1610612736)},
        {",'resources':{'memory':'64Gi'}",                          "8Gi",        INT64_C(8589934592)},
        {",'resources':{'memory':'1Mi'}",                           "1Mi",        INT64_C(1048576)   },
        {",'resources':{'memory':'1Gi','limits':{'memory':'8Gi'}}", "4Gi",        INT64_C(4294967296)},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char body[256];

        snprintf(body, sizeof(body), "{%s%s}", PLAIN, cases[i].members);
        struct ty_job_spec *spec = spec_of(body);

        assert_string_equal(spec->master.resources.shared_memory, cases[i].text);
        assert_true(spec->master.resources.shared_memory_bytes == cases[i].bytes);
        ty_job_spec_destroy(spec);
    }
}

static void the_launcher_follows_the_processes(void **state)
{
    static const struct {
        const char *members;
        ty_launcher launcher;
        int32_t processes;
    } cases[] = {
        {"",                                                          TY_LAUNCHER_PYTHON,   1},
        {",'gpus':4",                                                 TY_LAUNCHER_PYTHON,   1},
        {",'processes_per_replica':2",                                TY_LAUNCHER_TORCHRUN, 2},
        {",'launcher':'torchrun'",                                    TY_LAUNCHER_TORCHRUN, 1},
        {",'launcher':'torchrun','gpus':4",                           TY_LAUNCHER_TORCHRUN, 4},
        {",'launcher':'torchrun','gpus':4,'processes_per_replica':2", TY_LAUNCHER_TORCHRUN, 2},
        {",'launcher':'python','gpus':4",                             TY_LAUNCHER_PYTHON,   1},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char body[256];

        snprintf(body, sizeof(body), "{%s%s}", PLAIN, cases[i].members);
        struct ty_job_spec *spec = spec_of(body);

        assert_int_equal(spec->launcher, cases[i].launcher);
        assert_int_equal(spec->processes_per_replica, cases[i].processes);
        ty_job_spec_destroy(spec);
    }
}

static void parameters_are_text_and_sorted(void **state)
{
    struct ty_job_spec *spec =
        spec_of("{" PLAIN ",'parameters':{'lr':0.001,'z':'two words','amp':true,'off':false,"
                "'n':9007199254740991,'third':0.1,'tiny':1e-300,'one':1.0,'neg':-3,'empty':''},"
                "'parameter_style':'environment'}");
    static const struct ty_pair expected[] = {
        {"amp",   "true"            },
        {"empty", ""                },
        {"lr",    "0.001"           },
        {"n",     "9007199254740991"},
        {"neg",   "-3"              },
        {"off",   "false"           },
        {"one",   "1"               },
        {"third", "0.1"             },
        {"tiny",  "1e-300"          },
        {"z",     "two words"       },
    };

    (void)state;
    assert_int_equal(spec->parameter_style, TY_PARAMETERS_ENV);
    assert_int_equal(spec->parameters.count, UNIT_COUNT(expected));
    for (size_t i = 0; i < UNIT_COUNT(expected); i++) {
        assert_string_equal(spec->parameters.items[i].name, expected[i].name);
        assert_string_equal(spec->parameters.items[i].value, expected[i].value);
    }
    ty_job_spec_destroy(spec);
}

static void a_parameters_variable_is_upper_case_with_underscores(void **state)
{
    char out[TY_PARAMETER_VARIABLE];

    (void)state;
    ty_parameter_variable("batch-size", out);
    assert_string_equal(out, "BATCH_SIZE");
    ty_parameter_variable("lr0", out);
    assert_string_equal(out, "LR0");
}

/* Cases 14, 15: bytes arrive as they were sent. */
static void script_and_files_keep_every_byte(void **state)
{
    struct ty_job_spec *spec = spec_of(
        "{'image':'a:1','script':{'name':'my_train.py','content':"
        "'\\ufeff#!/usr/bin/env python3\\r\\n\\tprint(1)  \\n\\n---\\nkey: {a: b} # c\\n\\n\\n'},"
        "'files':[{'path':'utils/helper.py','content':''},"
        "{'path':'ü b@1.py','content':'AAECw/8=','encoding':'base64'}]}");

    (void)state;
    assert_string_equal(spec->script_name, "my_train.py");
    assert_string_equal(spec->script, "\xef\xbb\xbf#!/usr/bin/env python3\r\n\tprint(1)  \n\n---\n"
                                      "key: {a: b} # c\n\n\n");
    assert_int_equal(spec->files.count, 2);
    assert_string_equal(spec->files.items[0].name, "utils/helper.py");
    assert_int_equal(spec->files.items[0].len, 0);
    assert_int_equal(spec->files.items[1].len, 5);
    assert_memory_equal(spec->files.items[1].bytes, "\x00\x01\x02\xc3\xff", 5);
    ty_job_spec_destroy(spec);
}

/* Case 17: two names never land on one key. */
static void files_get_legal_keys_of_their_own(void **state)
{
    struct ty_job_spec *spec =
        spec_of("{'image':'a:1','script':{'name':'file.0','content':'x'},'files':["
                "{'path':'utils/helper.py','content':'1'},{'path':'utils_helper.py','content':'2'},"
                "{'path':'a b.py','content':'3'},{'path':'f.0','content':'4'},"
                "{'path':'f.1','content':'5'},{'path':'.env','content':'6'},"
                "{'path':'file.2','content':'7'}]}");
    static const char *const keys[] = {"f.0",  "utils_helper.py", "f.2", "f.3", "f.4",
                                       ".env", "file.2"};

    (void)state;
    assert_int_equal(spec->files.count, UNIT_COUNT(keys));
    for (size_t i = 0; i < UNIT_COUNT(keys); i++)
        assert_string_equal(spec->files.items[i].key, keys[i]);
    ty_job_spec_destroy(spec);
}

/* Case 40 and the short forms. */
static void claims_are_mounted_where_they_are_expected(void **state)
{
    struct ty_job_spec *spec =
        spec_of("{" PLAIN ",'dataset':'data.v1','output':{'claim':'out','sub_path':'run/1'},"
                "'checkpoints':{'volume':'ckpt','path':'mnist','resume':true,'keep_last':3}}");
    struct ty_spec_folder folder;

    (void)state;
    assert_int_equal(spec->master.volumes_count, 3);
    assert_string_equal(spec->master.volumes[0].claim, "data.v1");
    assert_string_equal(spec->master.volumes[0].mount_path, "/data");
    assert_true(spec->master.volumes[0].read_only);
    ty_job_spec_output(spec, "job-1", &folder);
    assert_string_equal(folder.claim, "out");
    assert_string_equal(folder.path, "run/1");
    assert_string_equal(folder.mount, "/output");
    ty_job_spec_checkpoints(spec, "job-1", &folder);
    assert_string_equal(folder.claim, "ckpt");
    assert_string_equal(folder.path, "mnist");
    assert_string_equal(folder.mount, "/checkpoints/mnist");
    assert_true(spec->checkpoint_resume);
    assert_int_equal(spec->checkpoint_keep_last, 3);
    assert_string_equal(spec->checkpoint_claim, "ckpt");
    ty_job_spec_destroy(spec);
}

struct place_case {
    const char *members;
    const char *claim;
    const char *path;
    const char *mount;
};

static void checkpoints_lie_where_the_body_says(void **state)
{
    static const struct place_case cases[] = {
        {"'checkpoints':{}",                                                                        "j-output", "checkpoints",   "/output/checkpoints"},
        {"'checkpoints':{'path':'c/d'}",                                                            "j-output", "c/d",           "/output/c/d"        },
        {"'checkpoints':{'path':'/output/e'}",                                                      "j-output", "e",             "/output/e"          },
        {"'checkpoints':{'path':'/output'}",                                                        "j-output", "",              "/output"            },
        {"'checkpoints':{'volume':'c'}",                                                            "c",        "",              "/checkpoints"       },
        {"'checkpoints':{'volume':'c','path':'/ck'}",                                               "c",        "",              "/ck"                },
        {"'checkpoints':{'volume':{'claim':'c','mount_path':'/ck','sub_path':'s'},'path':'/ck/x'}",
         "c",                                                                                                   "s/x",           "/ck/x"              },
        {"'volumes':[{'claim':'v','mount_path':'/vol'}],'checkpoints':{'path':'/vol/x'}",           "v",        "x",
         "/vol/x"                                                                                                                                     },
        {"'volumes':[{'create':{'size':'1Gi'},'mount_path':'/vol'}],'checkpoints':{'path':'/vol'}",
         "j-volume-0",                                                                                          "",              "/vol"               },
        {"'volumes':[{'claim':'v','mount_path':'/checkpoints'}]",                                   "v",        "",              "/checkpoints"       },
        {"'output':{'claim':'o','sub_path':'s'}",                                                   "o",        "s/checkpoints", "/output/checkpoints"},
        {"'output':{'claim':'o','mount_path':'/results'}",                                          "o",        "checkpoints",
         "/results/checkpoints"                                                                                                                       },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char body[512];
        struct ty_spec_folder folder;

        snprintf(body, sizeof(body), "{%s,%s}", PLAIN, cases[i].members);
        struct ty_job_spec *spec = spec_of(body);

        ty_job_spec_checkpoints(spec, "j", &folder);
        assert_string_equal(folder.claim, cases[i].claim);
        assert_string_equal(folder.path, cases[i].path);
        assert_string_equal(folder.mount, cases[i].mount);
        ty_job_spec_destroy(spec);
    }
}

static void a_volume_at_output_is_the_output(void **state)
{
    struct ty_job_spec *spec =
        spec_of("{" PLAIN ",'volumes':[{'claim':'mine','mount_path':'/output'}]}");

    (void)state;
    assert_string_equal(spec->output_claim, "mine");
    ty_job_spec_destroy(spec);
}

static void one_claim_may_be_mounted_twice(void **state)
{
    struct ty_job_spec *spec =
        spec_of("{" PLAIN ",'dataset':'d','volumes':[{'claim':'d','mount_path':'/backup'}]}");

    (void)state;
    assert_string_equal(spec->master.volumes[0].claim, spec->master.volumes[1].claim);
    ty_job_spec_destroy(spec);
}

static void the_order_of_members_changes_nothing(void **state)
{
    struct ty_job_spec *a =
        spec_of("{'image':'a:1','script':'x','env':{'A':'1','B':'2'},'labels':{'p':'1','q':'2'}}");
    struct ty_job_spec *b =
        spec_of("{'labels':{'q':'2','p':'1'},'env':{'B':'2','A':'1'},'script':'x','image':'a:1'}");

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(a->master.env.items[i].name, b->master.env.items[i].name);
        assert_string_equal(a->labels.items[i].name, b->labels.items[i].name);
    }
    ty_job_spec_destroy(a);
    ty_job_spec_destroy(b);
}

static void destroying_nothing_is_harmless(void **state)
{
    (void)state;
    ty_job_spec_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_body_gets_every_default),
        cmocka_unit_test(replicas_are_a_master_and_the_rest_workers),
        cmocka_unit_test(a_role_replaces_members_and_adds_environment),
        cmocka_unit_test(limits_and_requests_stand_in_for_each_other),
        cmocka_unit_test(shared_memory_follows_the_memory_limit),
        cmocka_unit_test(the_launcher_follows_the_processes),
        cmocka_unit_test(parameters_are_text_and_sorted),
        cmocka_unit_test(a_parameters_variable_is_upper_case_with_underscores),
        cmocka_unit_test(script_and_files_keep_every_byte),
        cmocka_unit_test(files_get_legal_keys_of_their_own),
        cmocka_unit_test(claims_are_mounted_where_they_are_expected),
        cmocka_unit_test(checkpoints_lie_where_the_body_says),
        cmocka_unit_test(a_volume_at_output_is_the_output),
        cmocka_unit_test(one_claim_may_be_mounted_twice),
        cmocka_unit_test(the_order_of_members_changes_nothing),
        cmocka_unit_test(destroying_nothing_is_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
