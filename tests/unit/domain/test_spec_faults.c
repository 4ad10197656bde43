/* What is refused, and at which pointer. */
#include "spec_text.h"

#include "trainyard/base/str.h"

#include <stdio.h>

struct refusal {
    const char *body;
    const char *where;
    const char *code;
};

#define A63  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A250 A63 A63 A63 A63

/* A body with these members beside a good image and script. */
#define WITH(members)  "{'image':'a/b:1','script':'x'," members "}"
#define MOUNT(path)    WITH("'volumes':[{'claim':'c','mount_path':'" path "'}]")
#define FILE_AT(path)  WITH("'files':[{'path':'" path "','content':'x'}]")
#define MEMORY(amount) WITH("'resources':{'memory':" amount "}")

static const struct refusal refusals[] = {
  /* what runs */
    {"[]",                                                                                     "",                             "wrong_type"             },
    {"{}",                                                                                     "",                             "script_or_command"      },
    {"{}",                                                                                     "/image",                       "required"               },
    {"{'image':'a:1','script':'x','command':['x']}",                                           "",                             "script_or_command"      },
    {"{'image':'a:1','script':''}",                                                            "/script",                      "too_short"              },
    {"{'image':'a:1','script':7}",                                                             "/script",                      "wrong_type"             },
    {"{'image':'a:1','script':{'name':'x.py'}}",                                               "/script/content",              "required"               },
    {"{'image':'a:1','script':{'content':'x','name':'../x.py'}}",                              "/script/name",
     "file_name_invalid"                                                                                                                                },
    {"{'image':'a:1','script':{'content':'x','nam':'y'}}",                                     "/script/nam",                  "unknown_member"         },
    {"{'image':'a:1','command':['']}",                                                         "/command/0",                   "too_short"              },
    {"{'image':'a:1','command':'x'}",                                                          "/command",                     "wrong_type"             },
    {"{'image':'a:1','command':['x',1]}",                                                      "/command/1",                   "wrong_type"             },
    {WITH("'args':[null]"),                                                                    "/args/0",                      "wrong_type"             },
    {WITH("'args':'--x'"),                                                                     "/args",                        "wrong_type"             },
    {WITH("'working_dir':'here'"),                                                             "/working_dir",                 "path_invalid"           },

 /* case 10: members at the wrong level, misspelt, in another case */
    {WITH("'ttl_second':1"),                                                                   "/ttl_second",                  "unknown_member"         },
    {WITH("'Epochs':1"),                                                                       "/Epochs",                      "unknown_member"         },
    {WITH("'resources':{'gpus':1}"),                                                           "/resources/gpus",              "unknown_member"         },
    {WITH("'worker':{'replicas':1}"),                                                          "/worker/replicas",             "unknown_member"         },
    {WITH("'a/b~c':1"),                                                                        "/a~1b~0c",                     "unknown_member"         },

 /* case 5: images */
    {"{'script':'x','image':'Ubuntu:latest'}",                                                 "/image",                       "image_invalid"          },
    {"{'script':'x','image':'repo/img:tag with space'}",                                       "/image",                       "image_invalid"          },
    {"{'script':'x','image':'img\u200b:1'}",                                                   "/image",                       "image_invalid"          },
    {"{'script':'x','image':''}",                                                              "/image",                       "too_short"              },
    {WITH("'worker':{'image':'A:1'}"),                                                         "/worker/image",                "image_invalid"          },

 /* names */
    {WITH("'name':'Mnist'"),                                                                   "/name",                        "name_invalid"           },
    {WITH("'name':'1st'"),                                                                     "/name",                        "name_invalid"           },
    {WITH("'name':'a-'"),                                                                      "/name",                        "name_invalid"           },
    {WITH("'name':'a_b'"),                                                                     "/name",                        "name_invalid"           },
    {WITH("'name':''"),                                                                        "/name",                        "too_short"              },
    {WITH("'name':null"),                                                                      "/name",                        "wrong_type"             },
    {WITH("'name':'" A63 "'"),                                                                 "/name",                        "name_too_long"          },

 /* numbers */
    {WITH("'epochs':0"),                                                                       "/epochs",                      "out_of_range"           },
    {WITH("'epochs':1.5"),                                                                     "/epochs",                      "wrong_type"             },
    {WITH("'epochs':'1'"),                                                                     "/epochs",                      "wrong_type"             },
    {WITH("'replicas':0"),                                                                     "/replicas",                    "out_of_range"           },
    {WITH("'replicas':9999999999"),                                                            "/replicas",                    "out_of_range"           },
    {WITH("'gpus':-1"),                                                                        "/gpus",                        "out_of_range"           },
    {WITH("'gpus':true"),                                                                      "/gpus",                        "wrong_type"             },
    {WITH("'timeout_seconds':0"),                                                              "/timeout_seconds",             "out_of_range"           },
    {WITH("'max_retries':-1"),                                                                 "/max_retries",                 "out_of_range"           },
    {WITH("'priority':1001"),                                                                  "/priority",                    "out_of_range"           },
    {WITH("'suspended':1"),                                                                    "/suspended",                   "wrong_type"             },
    {WITH("'restart':'sometimes'"),                                                            "/restart",                     "unknown_value"          },
    {WITH("'backend':'NCCL'"),                                                                 "/backend",                     "unknown_value"          },

 /* launcher and processes */
    {WITH("'launcher':'python','processes_per_replica':2"),                                    "/processes_per_replica",
     "processes_need_torchrun"                                                                                                                          },
    {"{'image':'a:1','command':['x'],'launcher':'torchrun'}",                                  "/launcher",                    "launcher_needs_script"  },

 /* case 27: variables that the launcher owns */
    {WITH("'env':{'MASTER_ADDR':'192.0.2.1'}"),                                                "/env/MASTER_ADDR",             "env_name_reserved"      },
    {WITH("'env':{'WORLD_SIZE':'1'}"),                                                         "/env/WORLD_SIZE",              "env_name_reserved"      },
    {WITH("'env':{'RANK':'0'}"),                                                               "/env/RANK",                    "env_name_reserved"      },
    {WITH("'env':{'PET_NNODES':'1'}"),                                                         "/env/PET_NNODES",              "env_name_reserved"      },
    {WITH("'env':{'LOCAL_RANK':'1'}"),                                                         "/env/LOCAL_RANK",              "env_name_reserved"      },
    {WITH("'env':{'PYTHONUNBUFFERED':'0'}"),                                                   "/env/PYTHONUNBUFFERED",        "env_name_reserved"      },
    {WITH("'env':{'TRAINYARD_JOB_ID':'x'}"),                                                   "/env/TRAINYARD_JOB_ID",        "env_name_reserved"      },
    {WITH("'env':{'NVIDIA_VISIBLE_DEVICES':'all'}"),                                           "/env/NVIDIA_VISIBLE_DEVICES",
     "env_name_reserved"                                                                                                                                },
    {WITH("'master':{'env':{'RANK':'0'}}"),                                                    "/master/env/RANK",             "env_name_reserved"      },
    {WITH("'env':{'1A':'x'}"),                                                                 "/env/1A",                      "env_name_invalid"       },
    {WITH("'env':{'':'x'}"),                                                                   "/env/",                        "env_name_invalid"       },
    {WITH("'env':{'A=B':'x'}"),                                                                "/env/A=B",                     "env_name_invalid"       },
    {WITH("'env':{'A':1}"),                                                                    "/env/A",                       "wrong_type"             },
    {WITH("'env':[]"),                                                                         "/env",                         "wrong_type"             },

 /* parameters */
    {WITH("'parameters':{'rank':8}"),                                                          "/parameters/rank",             "parameter_name_reserved"},
    {WITH("'parameters':{'path':'x'}"),                                                        "/parameters/path",             "parameter_name_reserved"},
    {WITH("'parameters':{'world-size':8}"),                                                    "/parameters/world-size",       "parameter_name_reserved"},
    {WITH("'parameters':{'ld_preload':'x'}"),                                                  "/parameters/ld_preload",       "parameter_name_reserved"},
    {WITH("'parameters':{'epochs':1}"),                                                        "/parameters/epochs",           "parameter_name_reserved"},
    {WITH("'parameters':{'-x':1}"),                                                            "/parameters/-x",               "parameter_name_invalid" },
    {WITH("'parameters':{'a b':1}"),                                                           "/parameters/a b",              "parameter_name_invalid" },
    {WITH("'parameters':{'a-b':1,'a_b':2}"),                                                   "/parameters/a_b",              "parameter_name_taken"   },
    {WITH("'parameters':{'lr':1,'LR':2}"),                                                     "/parameters/lr",               "parameter_name_taken"   },
    {WITH("'parameters':{'a':[1]}"),                                                           "/parameters/a",                "wrong_type"             },
    {WITH("'parameters':{'a':null}"),                                                          "/parameters/a",                "wrong_type"             },

 /* labels */
    {WITH("'labels':{'kubernetes.io/x':'y'}"),                                                 "/labels/kubernetes.io~1x",     "label_invalid"          },
    {WITH("'labels':{'-a':'y'}"),                                                              "/labels/-a",                   "label_invalid"          },
    {WITH("'labels':{'a':'b c'}"),                                                             "/labels/a",                    "label_invalid"          },
    {WITH("'labels':{'a':'" A63 "a'}"),                                                        "/labels/a",                    "label_invalid"          },

 /* cases 32, 33: quantities */
    {MEMORY("'512m'"),                                                                         "/resources/memory",            "quantity_too_small"     },
    {MEMORY("'1000'"),                                                                         "/resources/memory",            "quantity_too_small"     },
    {MEMORY("1000"),                                                                           "/resources/memory",            "quantity_too_small"     },
    {MEMORY("'1GB'"),                                                                          "/resources/memory",            "quantity_invalid"       },
    {MEMORY("'1 Gi'"),                                                                         "/resources/memory",            "quantity_invalid"       },
    {MEMORY("'1gi'"),                                                                          "/resources/memory",            "quantity_invalid"       },
    {MEMORY("'2K'"),                                                                           "/resources/memory",            "quantity_invalid"       },
    {MEMORY("''"),                                                                             "/resources/memory",            "quantity_invalid"       },
    {MEMORY("'abc'"),                                                                          "/resources/memory",            "quantity_invalid"       },
    {MEMORY("'-1'"),                                                                           "/resources/memory",            "quantity_invalid"       },
    {MEMORY("'\uff11\uff12Gi'"),                                                               "/resources/memory",            "quantity_invalid"       },
    {MEMORY("1.5"),                                                                            "/resources/memory",            "wrong_type"             },
    {WITH("'resources':{'cpu':'0'}"),                                                          "/resources/cpu",               "quantity_too_small"     },
    {WITH("'resources':{'cpu':'4','limits':{'cpu':'2'}}"),                                     "/resources/limits/cpu",
     "limit_below_request"                                                                                                                              },
    {WITH("'resources':{'memory':'2Gi','limits':{'memory':'2G'}}"),                            "/resources/limits/memory",
     "limit_below_request"                                                                                                                              },
    {WITH("'resources':{'limits':{'limits':{}}}"),                                             "/resources/limits/limits",     "unknown_member"         },
    {WITH("'resources':{'ephemeral_storage':'x'}"),                                            "/resources/ephemeral_storage",
     "quantity_invalid"                                                                                                                                 },

 /* case 35: shared memory */
    {WITH("'shared_memory':'0'"),                                                              "/shared_memory",               "quantity_too_small"     },
    {WITH("'shared_memory':'2GB'"),                                                            "/shared_memory",               "quantity_invalid"       },
    {WITH("'shared_memory':0"),                                                                "/shared_memory",               "quantity_too_small"     },

 /* case 42: mounts */
    {MOUNT("/"),                                                                               "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/dev/shm"),                                                                        "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/dev"),                                                                            "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/proc"),                                                                           "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/sys/x"),                                                                          "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/etc"),                                                                            "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/usr/lib/python3"),                                                                "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/trainyard/scripts"),                                                              "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("relative/x"),                                                                      "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/a/../b"),                                                                         "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/a/./b"),                                                                          "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/a//b"),                                                                           "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/data/"),                                                                          "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/a:b"),                                                                            "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/a\\nb"),                                                                          "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT("/" A250 A63),                                                                      "/volumes/0/mount_path",        "mount_path_invalid"     },
    {MOUNT(""),                                                                                "/volumes/0/mount_path",        "too_short"              },
    {WITH("'volumes':[{'claim':'a','mount_path':'/d'},{'claim':'b','mount_path':'/d'}]"),
     "/volumes/1/mount_path",                                                                                                  "mount_path_taken"       },
    {WITH("'dataset':'a','volumes':[{'claim':'b','mount_path':'/data'}]"),                     "/volumes/0/mount_path",
     "mount_path_taken"                                                                                                                                 },
    {WITH("'output':'a','volumes':[{'claim':'b','mount_path':'/output'}]"),                    "/output",
     "mount_path_taken"                                                                                                                                 },
    {WITH("'master':{'volumes':[{'claim':'b','mount_path':'/output'}]}"),
     "/master/volumes/0/mount_path",                                                                                           "mount_path_taken"       },
    {WITH("'volumes':[{'claim':'a'}]"),                                                        "/volumes/0/mount_path",        "required"               },
    {WITH("'volumes':[{'mount_path':'/d'}]"),                                                  "/volumes/0",                   "volume_kind"            },
    {WITH("'volumes':[{'claim':'a','scratch':{'size':'1Gi'},'mount_path':'/d'}]"),             "/volumes/0",
     "volume_kind"                                                                                                                                      },
    {WITH("'volumes':[{'create':{},'mount_path':'/d'}]"),                                      "/volumes/0/create/size",       "required"               },
    {WITH("'volumes':[{'create':{'size':'1'},'mount_path':'/d'}]"),                            "/volumes/0/create/size",
     "quantity_too_small"                                                                                                                               },
    {WITH("'volumes':[{'create':{'size':'1Gi','storage_class':'A'},'mount_path':'/d'}]"),
     "/volumes/0/create/storage_class",                                                                                        "storage_class_invalid"  },
    {WITH("'volumes':[{'create':{'size':'1Gi','access_mode':'rw'},'mount_path':'/d'}]"),
     "/volumes/0/create/access_mode",                                                                                          "unknown_value"          },
    {WITH("'volumes':[{'claim':'a','mount_path':'/d','sub_path':'../x'}]"),                    "/volumes/0/sub_path",
     "sub_path_invalid"                                                                                                                                 },
    {WITH("'volumes':[{'claim':'a','mount_path':'/d','sub_path':'/x'}]"),                      "/volumes/0/sub_path",
     "sub_path_invalid"                                                                                                                                 },
    {WITH("'volumes':['x']"),                                                                  "/volumes/0",                   "wrong_type"             },
    {WITH("'volumes':{}"),                                                                     "/volumes",                     "wrong_type"             },
    {WITH("'dataset':'Data'"),                                                                 "/dataset",                     "claim_name_invalid"     },
    {WITH("'dataset':'a/../b'"),                                                               "/dataset",                     "claim_name_invalid"     },
    {WITH("'dataset':{'mount_path':'/x'}"),                                                    "/dataset/claim",               "required"               },
    {WITH("'dataset':{'claim':'..'}"),                                                         "/dataset/claim",               "claim_name_invalid"     },
    {WITH("'output':{'claim':'a','read_only':true}"),                                          "/output/read_only",            "unknown_member"         },
    {WITH("'output':''"),                                                                      "/output",                      "claim_name_invalid"     },
    {WITH("'checkpoints':{'path':'/nowhere/x'}"),                                              "/checkpoints/path",            "path_outside_volume"    },
    {WITH("'checkpoints':{'path':'a/../b'}"),                                                  "/checkpoints/path",            "path_invalid"           },
    {WITH("'checkpoints':{'volume':{'claim':'a','mount_path':'/c'},'path':'/d'}"),
     "/checkpoints/path",                                                                                                      "path_outside_volume"    },
    {WITH("'checkpoints':{'volume':'A'}"),                                                     "/checkpoints/volume",          "claim_name_invalid"     },
    {WITH("'dataset':{'claim':'a','mount_path':'/checkpoints'},'checkpoints':{'volume':'b'}"),
     "/checkpoints/volume",                                                                                                    "mount_path_taken"       },

 /* case 17: file names */
    {FILE_AT("."),                                                                             "/files/0/path",                "file_path_invalid"      },
    {FILE_AT(".."),                                                                            "/files/0/path",                "file_path_invalid"      },
    {FILE_AT("../x.py"),                                                                       "/files/0/path",                "file_path_invalid"      },
    {FILE_AT("a/../x.py"),                                                                     "/files/0/path",                "file_path_invalid"      },
    {FILE_AT("..x"),                                                                           "/files/0/path",                "file_path_invalid"      },
    {FILE_AT("/x.py"),                                                                         "/files/0/path",                "file_path_invalid"      },
    {FILE_AT("a//b"),                                                                          "/files/0/path",                "file_path_invalid"      },
    {FILE_AT("a/"),                                                                            "/files/0/path",                "file_path_invalid"      },
    {FILE_AT("a\\\\b"),                                                                        "/files/0/path",                "file_path_invalid"      },
    {FILE_AT("a\\nb"),                                                                         "/files/0/path",                "file_path_invalid"      },
    {FILE_AT(A250 "aaaa"),                                                                     "/files/0/path",                "file_path_invalid"      },
    {FILE_AT("train.py"),                                                                      "/files/0/path",                "file_path_taken"        },
    {FILE_AT("train.py/x"),                                                                    "/files/0/path",                "file_path_taken"        },
    {WITH("'files':[{'path':'a','content':'x'},{'path':'a','content':'y'}]"),                  "/files/1/path",
     "file_path_taken"                                                                                                                                  },
    {WITH("'files':[{'path':'a/b','content':'x'},{'path':'a','content':'y'}]"),                "/files/1/path",
     "file_path_taken"                                                                                                                                  },
    {WITH("'files':[{'content':'x'}]"),                                                        "/files/0/path",                "required"               },
    {WITH("'files':[{'path':'x'}]"),                                                           "/files/0/content",             "required"               },
    {WITH("'files':[{'path':'x','content':'%%','encoding':'base64'}]"),                        "/files/0/content",
     "base64_invalid"                                                                                                                                   },
    {WITH("'files':[7]"),                                                                      "/files/0",                     "wrong_type"             },
};

static bool has_fault(const struct ty_faults *faults, const char *where, const char *code)
{
    for (size_t i = 0; i < faults->count; i++)
        if (ty_str_equal(faults->items[i].where, where) &&
            ty_str_equal(faults->items[i].code, code))
            return true;
    return false;
}

static void every_fault_is_named_at_its_pointer(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(refusals); i++) {
        json_t *body = json_of(refusals[i].body);
        struct ty_job_spec *const untouched = (struct ty_job_spec *)(uintptr_t)&refusals;
        struct ty_job_spec *spec = untouched;
        struct ty_faults faults;
        struct ty_error err = {0};

        ty_faults_init(&faults);
        ty_status status = ty_job_spec_parse(body, &spec, &faults, &err);

        if (status != TY_REFUSED || !has_fault(&faults, refusals[i].where, refusals[i].code)) {
            print_error("%s: %s at %s\n", refusals[i].body, refusals[i].code, refusals[i].where);
            print_faults(&faults);
        }
        assert_int_equal(status, TY_REFUSED);
        assert_ptr_equal(spec, untouched);
        assert_true(has_fault(&faults, refusals[i].where, refusals[i].code));
        assert_string_equal(err.code, "validation_failed");
        json_decref(body);
    }
}

static void all_faults_are_told_at_once(void **state)
{
    json_t *body = json_of("{'name':'A','image':'B','script':'x','env':{'RANK':'1'},"
                           "'resources':{'memory':'1GB','limits':{'cpu':'?'}},"
                           "'volumes':[{'claim':'c','mount_path':'/proc'}],'nope':1}");
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    assert_int_equal(ty_job_spec_parse(body, &spec, &faults, NULL), TY_REFUSED);
    assert_true(has_fault(&faults, "/name", "name_invalid"));
    assert_true(has_fault(&faults, "/image", "image_invalid"));
    assert_true(has_fault(&faults, "/env/RANK", "env_name_reserved"));
    assert_true(has_fault(&faults, "/resources/memory", "quantity_invalid"));
    assert_true(has_fault(&faults, "/resources/limits/cpu", "quantity_invalid"));
    assert_true(has_fault(&faults, "/volumes/0/mount_path", "mount_path_invalid"));
    assert_true(has_fault(&faults, "/nope", "unknown_member"));
    assert_int_equal(faults.count, 7);
    json_decref(body);
}

/* Case 1: judged on the longest child's name. */
static void a_name_may_be_as_long_as_its_longest_child_allows(void **state)
{
    static const struct {
        int replicas;
        size_t most;
    } cases[] = {
        {1,    45},
        {2,    45},
        {11,   45},
        {12,   44},
        {101,  44},
        {102,  43},
        {1000, 43}
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        for (size_t len = 40; len < 64; len++) {
            json_t *body = json_pack("{s:s%,s:s,s:s,s:i}", "name", A63, len, "image", "a:1",
                                     "script", "x", "replicas", cases[i].replicas);
            struct ty_job_spec *spec = NULL;
            struct ty_faults faults;

            ty_faults_init(&faults);
            ty_status status = ty_job_spec_parse(body, &spec, &faults, NULL);

            assert_int_equal(status, len <= cases[i].most ? TY_OK : TY_REFUSED);
            if (status != TY_OK) {
                char allowed[32];

                snprintf(allowed, sizeof(allowed), "at most %zu are", cases[i].most);
                assert_int_equal(faults.count, 1);
                assert_string_equal(faults.items[0].code, "name_too_long");
                assert_non_null(strstr(faults.items[0].detail, allowed));
            }
            ty_job_spec_destroy(spec);
            json_decref(body);
        }
}

static char *filled(size_t len)
{
    char *text = malloc(len + 1);

    assert_non_null(text);
    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

static ty_status parse_sizes(size_t script, size_t one, size_t two, struct ty_error *err)
{
    char *texts[] = {filled(script), filled(one), filled(two)};
    json_t *body =
        json_pack("{s:s,s:s,s:[{s:s,s:s},{s:s,s:s}]}", "image", "a:1", "script", texts[0], "files",
                  "path", "a", "content", texts[1], "path", "b", "content", texts[2]);
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;

    ty_faults_init(&faults);
    ty_status status = ty_job_spec_parse(body, &spec, &faults, err);

    ty_job_spec_destroy(spec);
    json_decref(body);
    for (size_t i = 0; i < UNIT_COUNT(texts); i++)
        free(texts[i]);
    return status;
}

/* Case 11: keys and all files count, by bytes. */
static void what_a_config_map_cannot_hold_is_refused_with_its_size(void **state)
{
    enum { KEYS = sizeof("train.py") - 1 + 2 };
    struct ty_error err = {0};

    (void)state;
    assert_int_equal(parse_sizes(1000000, 0, 0, &err), TY_OK);
    assert_int_equal(parse_sizes(TY_CONFIG_MAP_MAX - KEYS, 0, 0, &err), TY_OK);
    assert_int_equal(parse_sizes(TY_CONFIG_MAP_MAX - KEYS - 20, 10, 10, &err), TY_OK);
    assert_int_equal(parse_sizes(TY_CONFIG_MAP_MAX - KEYS - 20, 10, 11, &err), TY_REFUSED);
    assert_string_equal(err.code, "configmap_too_large");
    assert_non_null(strstr(err.text, "1048577 bytes"));
    assert_int_equal(parse_sizes(1, 600000, 600000, &err), TY_REFUSED);
    assert_int_equal(parse_sizes(1200000, 0, 0, &err), TY_REFUSED);
}

static void too_much_environment_or_too_many_arguments_are_refused(void **state)
{
    static const struct {
        const char *member;
        const char *code;
    } cases[] = {
        {"env",  "env_too_large"      },
        {"args", "arguments_too_large"}
    };
    char *text = filled(32768);

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        for (int count = 3; count < 6; count++) {
            json_t *value = i == 0 ? json_object() : json_array();
            json_t *body =
                json_pack("{s:s,s:s,s:o}", "image", "a:1", "script", "x", cases[i].member, value);
            struct ty_job_spec *spec = NULL;
            struct ty_faults faults;

            for (int k = 0; k < count; k++) {
                char name[8];

                snprintf(name, sizeof(name), "N%d", k);
                if (i == 0)
                    json_object_set_new(value, name, json_string(text));
                else
                    json_array_append_new(value, json_string(text));
            }
            ty_faults_init(&faults);
            ty_status status = ty_job_spec_parse(body, &spec, &faults, NULL);

            assert_int_equal(status, count < 4 ? TY_OK : TY_REFUSED);
            if (status != TY_OK)
                assert_string_equal(faults.items[0].code, cases[i].code);
            ty_job_spec_destroy(spec);
            json_decref(body);
        }
    free(text);
}

/* Case 7: jansson can carry a NUL where the JSON reader was told to allow it. */
static void a_nul_in_any_text_is_refused(void **state)
{
    json_t *body = json_of("{'image':'a:1','script':'x','env':{'A':'x'},'args':['x']}");
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;

    (void)state;
    json_object_set_new(body, "name", json_stringn("ok\0evil", 7));
    json_object_set_new(body, "script", json_stringn("x\0y", 3));
    json_object_set_new(json_object_get(body, "env"), "A", json_stringn("x\0y", 3));
    json_array_set_new(json_object_get(body, "args"), 0, json_stringn("x\0y", 3));
    ty_faults_init(&faults);
    assert_int_equal(ty_job_spec_parse(body, &spec, &faults, NULL), TY_REFUSED);
    assert_true(has_fault(&faults, "/name", "nul_byte"));
    assert_true(has_fault(&faults, "/script", "nul_byte"));
    assert_true(has_fault(&faults, "/env/A", "nul_byte"));
    assert_true(has_fault(&faults, "/args/0", "nul_byte"));
    json_decref(body);
}

static void faults_of_the_contract_before_ours_do_not_count_as_ours(void **state)
{
    json_t *body = json_of("{'image':'a:1','script':'x'}");
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    ty_faults_add(&faults, TY_AT_HEADER, "If-Match", "x", "y");
    assert_int_equal(ty_job_spec_parse(body, &spec, &faults, NULL), TY_OK);
    ty_job_spec_destroy(spec);
    json_decref(body);
}

static void more_faults_than_are_kept_are_counted(void **state)
{
    json_t *body = json_of("{'image':'a:1','script':'x'}");
    json_t *env = json_object();
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;

    (void)state;
    for (int i = 0; i < 100; i++) {
        char name[16];

        snprintf(name, sizeof(name), "PET_%d", i);
        json_object_set_new(env, name, json_string("x"));
    }
    json_object_set_new(body, "env", env);
    ty_faults_init(&faults);
    assert_int_equal(ty_job_spec_parse(body, &spec, &faults, NULL), TY_REFUSED);
    assert_int_equal(faults.count + faults.dropped, 100);
    json_decref(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_named_at_its_pointer),
        cmocka_unit_test(all_faults_are_told_at_once),
        cmocka_unit_test(a_name_may_be_as_long_as_its_longest_child_allows),
        cmocka_unit_test(what_a_config_map_cannot_hold_is_refused_with_its_size),
        cmocka_unit_test(too_much_environment_or_too_many_arguments_are_refused),
        cmocka_unit_test(a_nul_in_any_text_is_refused),
        cmocka_unit_test(faults_of_the_contract_before_ours_do_not_count_as_ours),
        cmocka_unit_test(more_faults_than_are_kept_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
