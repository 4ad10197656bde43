/* Every warning each way: a job that earns it, and one that stands close by and does not. */
#include "spec_text.h"

#define SIZED "'image':'a:1','resources':{'cpu':1,'memory':'4Gi'}"
#define PY    SIZED ",'script':'import torch; torch.distributed.init_process_group()'"
#define RUN   SIZED ",'command':['x']"
#define HEX   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* `codes` is what is warned of, "code pointer" joined by "; ". */
static const struct {
    const char *members;
    const char *codes;
} cases[] = {
    {PY,                                                                                        ""                                              },
    {PY ",'replicas':3,'gpus':1",                                                               ""                                              },
    {PY ",'image':'a@sha256:" HEX "'",                                                          ""                                              },

    {PY ",'backend':'nccl'",                                                                    "backend_needs_gpu /backend"                    },
    {PY ",'backend':'nccl','gpus':1",                                                           ""                                              },
    {PY ",'backend':'gloo','gpus':1,'replicas':2",                                              "backend_slow_on_gpu /backend"                  },
    {PY ",'backend':'gloo','gpus':1",                                                           ""                                              },
    {PY ",'gpus':4",                                                                            "gpus_idle /processes_per_replica"              },
    {PY ",'gpus':4,'launcher':'torchrun'",                                                      ""                                              },
    {RUN ",'processes_per_replica':2",                                                          "processes_need_torchrun /processes_per_replica"},
    {SIZED ",'command':['torchrun','x'],'processes_per_replica':2",                             ""                                              },
    {SIZED ",'script':{'name':'x.sh','content':'x'}",                                           "script_not_python /script/name"                },
    {PY ",'image':'a'",                                                                         "image_not_pinned /image"                       },
    {PY ",'image':'h:5000/a'",                                                                  "image_not_pinned /image"                       },
    {PY ",'image':'a:latest'",                                                                  "image_not_pinned /image"                       },
    {PY ",'image':'h:5000/a:2'",                                                                ""                                              },
    {PY ",'restart':'never','max_retries':2",                                                   "max_retries_unused /max_retries"               },
    {PY ",'restart':'never'",                                                                   ""                                              },
    {PY ",'restart':'always'",                                                                  "restart_always_master /restart"                },
    {PY ",'restart':'always','replicas':2",                                                     ""                                              },
    {PY ",'shared_memory':'5Gi'",                                                               "shared_memory_above_limit /shared_memory"      },
    {PY ",'shared_memory':'4Gi'",                                                               ""                                              },
    {PY ",'replicas':2,'worker':{'shared_memory':'5Gi'}",
     "shared_memory_above_limit /worker/shared_memory"                                                                                          },
    {PY ",'replicas':2,'shared_memory':'5Gi'",                                                  "shared_memory_above_limit /shared_memory"      },
    {PY ",'replicas':2,'worker':{'volumes':[{'create':{'size':'1Gi'},'mount_path':'/v'}]}",
     ""                                                                                                                                         }, /* one mounts it */
    {PY ",'replicas':3,'worker':{'volumes':[{'create':{'size':'1Gi'},'mount_path':'/v'}]}",
     "claim_of_one_node /volumes"                                                                                                               },
    {PY ",'elastic':{'min':1,'max':2},'volumes':[{'create':{'size':'1Gi'},'mount_path':'/v'}]",
     "claim_of_one_node /volumes"                                                                                                               },
    {PY ",'replicas':2,'volumes':[{'create':{'size':'1Gi'},'mount_path':'/v'}]",
     "claim_of_one_node /volumes"                                                                                                               },
    {PY ",'replicas':2,'volumes':[{'create':{'size':'1Gi','access_mode':'read_write_many'},"
        "'mount_path':'/v'}]",                                                             ""                                              },
    {PY ",'volumes':[{'claim':'c','mount_path':'/output','read_only':true}]",
     "output_read_only /volumes"                                                                                                                },
    {PY ",'volumes':[{'claim':'c','mount_path':'/checkpoints','read_only':true}]",
     "checkpoints_read_only /checkpoints"                                                                                                       },
    {PY ",'parameters':{'lr':1},'env':{'LR':'2'}",                                              "parameter_shadowed /env"                       },
    {PY ",'parameters':{'lr':1},'env':{'LR':'2'},'parameter_style':'flags'",                    ""                                              },

 /* what is kept */
    {PY ",'volumes':[{'scratch':{},'mount_path':'/checkpoints'}]",                              "results_in_scratch /volumes"                   },
    {PY ",'volumes':[{'scratch':{},'mount_path':'/output/tmp'}]",                               "results_in_scratch /volumes"                   },
    {PY ",'volumes':[{'scratch':{},'mount_path':'/checkpoints'}],'max_retries':0",              ""                                              },
    {PY ",'volumes':[{'scratch':{},'mount_path':'/checkpoints'}],'restart':'never'",            ""                                              },
    {PY ",'volumes':[{'scratch':{},'mount_path':'/cache'}]",                                    ""                                              },
    {PY ",'checkpoints':{'resume':true}",                                                       "checkpoints_go_with_job /checkpoints"          },
    {PY ",'checkpoints':{'keep_last':3}",                                                       "checkpoints_go_with_job /checkpoints"          },
    {PY ",'checkpoints':{'resume':true,'volume':'c'}",                                          ""                                              },
    {PY ",'checkpoints':{'resume':true},'output':'c'",                                          ""                                              },
    {PY ",'checkpoints':{'resume':true},'max_retries':0",
     "resume_finds_nothing /checkpoints/resume"                                                                                                 },
    {PY ",'checkpoints':{'resume':true,'volume':'c'},'max_retries':0",                          ""                                              },
    {PY ",'checkpoints':{'keep_last':2},'max_retries':0",                                       ""                                              },

 /* memory */
    {PY ",'volumes':[{'scratch':{'memory':true,'size':'3Gi'},'mount_path':'/a'},"
        "{'scratch':{'memory':true,'size':'2Gi'},'mount_path':'/b'}]",                     "scratch_above_limit /volumes"                  },
    {PY ",'volumes':[{'scratch':{'memory':true,'size':'3Gi'},'mount_path':'/a'},"
        "{'scratch':{'size':'2Gi'},'mount_path':'/b'}]",                                   ""                                              },

 /* processes that do not know of each other */
    {SIZED ",'script':'import torch','replicas':2",                                             "script_without_process_group /script"          },
    {SIZED ",'script':'import torch','processes_per_replica':2",
     "script_without_process_group /script"                                                                                                     },
    {SIZED ",'script':'import torch'",                                                          ""                                              },
    {SIZED ",'script':'x() # not init_process_group','replicas':2",
     "script_without_process_group /script"                                                                                                     },
    {SIZED ",'script':'# init_process_group\\n y()\\ninit_process_group()','replicas':2",       ""                                              },
    {SIZED ",'script':'from accelerate import Accelerator','replicas':2",                       ""                                              },
    {SIZED ",'script':'import h','files':[{'path':'h.py','content':'dist.init_process_group()'}],"
           "'replicas':2",                                                                 ""                                              },
    {RUN ",'replicas':2",                                                                       ""                                              },

 /* what nobody asked for */
    {"'image':'a:1','command':['x']",                                                           "resources_unset /resources"                    },
    {"'image':'a:1','command':['x'],'resources':{'cpu':1}",                                     "memory_unset /resources/memory"                },
    {"'image':'a:1','command':['x'],'resources':{'limits':{'memory':'1Gi'}}",
     "cpu_unset /resources/cpu"                                                                                                                 },
    {RUN ",'replicas':2,'worker':{'resources':{'cpu':1}}",                                      "memory_unset /worker/resources/memory"         },
    {"'image':'a:1','command':['x'],'replicas':2,'master':{'resources':{'memory':'1Gi'}}",
     "resources_unset /resources; cpu_unset /master/resources/cpu"                                                                              },
    {"'image':'a:1','command':['x'],'replicas':2",                                              "resources_unset /resources"                    },
    {RUN ",'worker':{'resources':{'cpu':1}}",                                                   ""                                              }, /* there is no worker */

  /* 10 + 20 + 40 s of pauses */
    {RUN ",'timeout_seconds':69",                                                               "timeout_below_retries /timeout_seconds"        },
    {RUN ",'timeout_seconds':70",                                                               ""                                              },
    {RUN ",'timeout_seconds':69,'max_retries':2",                                               ""                                              },
    {RUN ",'timeout_seconds':69,'restart':'never'",                                             ""                                              },
    {RUN ",'timeout_seconds':69,'restart':'exit_code'",                                         ""                                              },
    {RUN ",'timeout_seconds':298809,'max_retries':1000",                                        "timeout_below_retries /timeout_seconds"        },
    {RUN ",'timeout_seconds':298810,'max_retries':1000",                                        ""                                              },
};

static void tell(const struct ty_job_spec *spec, char *told, size_t size)
{
    struct ty_warning warnings[32];
    size_t count = ty_job_spec_warnings(spec, warnings, UNIT_COUNT(warnings));
    size_t len = 0;

    told[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(told + len, size - len, "%s%s %s", i > 0 ? "; " : "",
                                warnings[i].code, warnings[i].pointer);
        assert_true(strlen(warnings[i].message) < sizeof(warnings[i].message) - 1);
        assert_int_equal(warnings[i].message[strlen(warnings[i].message) - 1], '.');
    }
}

/* A member that is given twice has its last value. */
static json_t *job_of(const char *members)
{
    char text[1024];
    json_t *job;

    snprintf(text, sizeof(text), "{%s}", members);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    job = json_loads(text, 0, NULL);
    assert_non_null(job);
    return job;
}

static void jobs_that_usually_go_wrong_are_warned_of_and_others_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        json_t *body = job_of(cases[i].members);
        struct ty_job_spec *spec = spec_of_json(body);
        struct ty_warning none;
        char told[512];

        tell(spec, told, sizeof(told));
        if (strcmp(told, cases[i].codes) != 0)
            print_error("%s\n", cases[i].members);
        assert_string_equal(told, cases[i].codes);
        assert_int_equal(ty_job_spec_warnings(spec, &none, 0), 0);
        ty_job_spec_destroy(spec);
        json_decref(body);
    }
}

static void an_elastic_job_is_warned_of_its_workers(void **state)
{
    json_t *body = job_of("'image':'a:1','script':'x','elastic':{'min':1,'max':2}");
    struct ty_job_spec *spec = spec_of_json(body);
    char told[512];

    (void)state;
    tell(spec, told, sizeof(told));
    assert_string_equal(told, "script_without_process_group /script; resources_unset /resources");
    ty_job_spec_destroy(spec);
    json_decref(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_that_usually_go_wrong_are_warned_of_and_others_not),
        cmocka_unit_test(an_elastic_job_is_warned_of_its_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
