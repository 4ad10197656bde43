/* What a policy lets through, row by row: policy, request, and every fault as "pointer code". */
#include "spec_text.h"

#include "trainyard/base/buf.h"
#include "trainyard/domain/image.h"
#include "trainyard/domain/policy.h"

#define HEX    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "@sha256:" HEX

static struct ty_policy *policy_of(const char *text)
{
    json_t *document = json_of(text);
    struct ty_policy *policy = NULL;
    struct ty_faults faults;
    struct ty_error err = {0};

    ty_faults_init(&faults);
    if (ty_policy_parse(document, &policy, &faults, &err) != TY_OK)
        print_faults(&faults);
    json_decref(document);
    assert_non_null(policy);
    return policy;
}

static ty_status owns_mine(void *context, const char *claim, bool *owns_out, struct ty_error *err)
{
    (void)context;
    (void)err;
    *owns_out = strcmp(claim, "mine") == 0;
    return TY_OK;
}

static const struct ty_policy_scene scene = {
    .namespace = "team", .default_keep_seconds = -1, .owns_volume = owns_mine};

/* The faults of a request under a policy, sorted as found: "/image image_not_allowed; …". */
static void judge(const char *policy_text, const char *body_text, struct ty_buf *told)
{
    struct ty_policy *policy = policy_of(policy_text);
    json_t *given = json_of(body_text);
    json_t *body = NULL;
    struct ty_warning warnings[8];
    struct ty_policy_changes changes = {.items = warnings, .max = UNIT_COUNT(warnings)};
    struct ty_job_spec *spec;
    struct ty_faults faults;
    struct ty_error err = {0};

    ty_faults_init(&faults);
    assert_int_equal(ty_policy_apply(policy, &scene, given, &body, &changes, &err), TY_OK);
    assert_int_equal(ty_policy_judge_names(policy, &scene, body, &faults, &err), TY_OK);
    spec = spec_of_json(body);
    ty_policy_judge_amounts(policy, &scene, body, spec, strlen(body_text), &faults);
    for (size_t i = 0; i < faults.count; i++)
        ty_buf_addf(told, "%s%s %s", i > 0 ? "; " : "", faults.items[i].where,
                    faults.items[i].code);
    ty_job_spec_destroy(spec);
    json_decref(body);
    json_decref(given);
    ty_policy_unref(policy);
}

#define JOB "'image':'pytorch/pytorch:2.0.0','command':['true']"
#define ANY "'images':['*']"

static const struct {
    const char *policy;
    const char *body;
    const char *faults;
} rows[] = {
    {TY_POLICY_OPEN,                                                                "{" JOB ",'dataset':'d','replicas':1000,'gpus':64}", ""                                                         },
    {TY_POLICY_CLOSED,                                                              "{" JOB "}",                                         "/image image_not_allowed"                                 },
    {"{'images':['pytorch/*']}",                                                    "{" JOB "}",                                         ""                                                         },
    {"{'images':['docker.io/pytorch/pytorch:2.0.0']}",                              "{" JOB "}",                                         ""                                                         },
    {"{'images':['pytorch/pytorch:1.0']}",                                          "{" JOB "}",                                         "/image image_not_allowed"                                 },
    {"{'images':['pytorch/*']}",
     "{" JOB ",'replicas':2,'master':{'image':'evil/x'},'worker':{'image':'pytorch/x:1'}}",
     "/master/image image_not_allowed"                                                                                                                                                              },
    {"{" ANY ",'require_digest':true}",                                             "{" JOB "}",                                         "/image image_digest_required"                             },
    {"{" ANY ",'require_digest':true}",                                             "{'image':'a/b" DIGEST "','command':['true']}",      ""                                                         },
    {"{'require_digest':true}",                                                     "{" JOB "}",
     "/image image_not_allowed; /image image_digest_required"                                                                                                                                       },

 /* claims: registered ones unless the policy lists others */
    {"{" ANY "}",                                                                   "{" JOB ",'dataset':'mine','output':'mine'}",        ""                                                         },
    {"{" ANY "}",
     "{" JOB ",'dataset':'a','output':{'claim':'b'},'checkpoints':{'volume':'c'},"
     "'volumes':[{'claim':'d','mount_path':'/d'},{'create':{'size':'1Gi'},'mount_path':'/e'}],"
     "'worker':{'volumes':[{'claim':'f','mount_path':'/f'}]}}",                                                                          "/dataset volume_not_allowed; /output/claim volume_not_allowed; "
     "/checkpoints/volume volume_not_allowed; /volumes/0/claim volume_not_allowed; "
     "/worker/volumes/0/claim volume_not_allowed"                                                                                    },
    {"{" ANY ",'volumes':['data-*']}",                                              "{" JOB ",'dataset':'data-1','output':'mine'}",
     "/output volume_not_allowed"                                                                                                                                                                   },
    {"{" ANY ",'volumes':[]}",                                                      "{" JOB ",'dataset':'mine'}",                        "/dataset volume_not_allowed"                              },
    {"{" ANY ",'storage_classes':['fast']}",
     "{" JOB ",'volumes':[{'create':{'size':'1Gi','storage_class':'fast'},'mount_path':'/e'},"
     "{'create':{'size':'1Gi','storage_class':'faster'},'mount_path':'/f'}]}",                                                           "/volumes/1/create/storage_class storage_class_not_allowed"},

 /* limits */
    {"{" ANY ",'limits':{'replicas':2,'gpus':3,'gpus_per_replica':1}}",
     "{" JOB ",'replicas':3,'gpus':2}",
     "/replicas limit_exceeded; /gpus limit_exceeded; /gpus limit_exceeded"                                                                                                                         },
    {"{" ANY ",'limits':{'cpu':'2','memory':'1Gi'}}",                               "{" JOB "}",
     "/resources/cpu limit_required; /resources/memory limit_required"                                                                                                                              },
    {"{" ANY ",'limits':{'cpu':2,'memory':'1Gi'}}",
     "{" JOB ",'replicas':2,'resources':{'cpu':1,'memory':'1Gi','limits':{'cpu':'2001m'}}}",
     "/resources/limits/cpu limit_exceeded"                                                                                                                                                         },
    {"{" ANY ",'limits':{'memory':'1Gi'}}",
     "{" JOB ",'replicas':2,'resources':{'memory':'1Gi'},'worker':{'resources':{'memory':'2Gi'}}}",
     "/worker/resources/memory limit_exceeded"                                                                                                                                                      },
    {"{" ANY ",'limits':{'memory':'1Gi'}}",                                         "{" JOB ",'worker':{'resources':{'memory':'2Gi'}}}",
     "/resources/memory limit_required"                                                                                                                                                             }, /* there is no worker */
    {"{" ANY ",'limits':{'timeout_seconds':60,'keep_seconds':60,'max_retries':1}}", "{" JOB "}",
     ""                                                                                                                                                                                             }, /* silence takes the limits */
    {"{" ANY ",'limits':{'timeout_seconds':60,'keep_seconds':60,'max_retries':1}}",
     "{" JOB ",'timeout_seconds':61,'keep_seconds':61,'max_retries':2}",
     "/timeout_seconds limit_exceeded; /keep_seconds limit_exceeded; /max_retries limit_exceeded"                                                                                                   },
    {"{" ANY ",'limits':{'processes_per_replica':1,'spec_bytes':10}}",
     "{'image':'a/b:1','script':'x','processes_per_replica':2}",                                                                         "/processes_per_replica limit_exceeded;  limit_exceeded"   },

 /* what the policy itself gives is not judged; what stands beside it is */
    {"{'forced':{'image':'only/this:1'}}",                                          "{" JOB ",'worker':{'image':'evil/x:1'}}",           ""                                                         },
    {"{'defaults':{'dataset':'theirs'},'images':['pytorch/*']}",                    "{" JOB "}",                                         ""                                                         },
    {"{'defaults':{'dataset':'theirs'},'images':['pytorch/*']}",                    "{" JOB ",'dataset':'other'}",
     "/dataset volume_not_allowed"                                                                                                                                                                  },
    {"{" ANY ",'forced':{'replicas':1}}",                                           "{" JOB ",'replicas':100}",                          ""                                                         },
};

static void a_policy_lets_through_what_it_says_and_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        ty_auto_buf told = {0};

        ty_buf_init(&told, 4096);
        judge(rows[i].policy, rows[i].body, &told);
        if (strcmp(told.data ? told.data : "", rows[i].faults) != 0)
            print_error("row %zu: %s\n", i, rows[i].body);
        assert_string_equal(told.data ? told.data : "", rows[i].faults);
    }
}

/* Names are judged on the body alone, so members are judged here that need no typed spec. */
static const struct {
    const char *policy;
    const char *body;
    const char *faults;
} placement[] = {
    {TY_POLICY_CLOSED,
     "{'image':'a:1','node_selector':{'a/b':'x','c':'y'},'priority_class':'p','queue':'q',"
     "'scheduler':'s','secrets':[{'name':'n','key':'k'}],'tolerations':[{'key':'t'},"
     "{'operator':'exists'}],'worker':{'secrets':[{'name':'m','key':'k'}]}}",                                                      "/image image_not_allowed; /secrets/0/name secret_not_allowed; "
     "/node_selector/a~1b node_label_not_allowed; /node_selector/c node_label_not_allowed; "
     "/tolerations/0/key toleration_not_allowed; /tolerations/1 toleration_not_allowed; "
     "/priority_class priority_class_not_allowed; /queue queue_not_allowed; "
     "/scheduler scheduler_not_allowed; /worker/secrets/0/name secret_not_allowed"                                                             },
    {"{" ANY ",'node_labels':['a/*'],'priority_classes':['p'],'queues':['q'],'schedulers':['s'],"
     "'secrets':['n','m'],'tolerations':['t']}", "{'image':'a:1','node_selector':{'a/b':'x','c':'y'},'priority_class':'p','queue':'q',"
     "'scheduler':'s','secrets':[{'name':'n','key':'k'}],'tolerations':[{'key':'t'},"
     "{'operator':'exists'}],'worker':{'secrets':[{'name':'m','key':'k'}]}}", "/node_selector/c node_label_not_allowed; /tolerations/1 toleration_not_allowed"         },
    {"{" ANY ",'node_labels':['zone']}",
     "{'affinity':{'node':{'required':[{'match':[{'key':'zone'},{'key':'x'}],"
     "'match_fields':[{'key':'metadata.name'}]}],'preferred':[{'match':[{'key':'y'}]}]},"
     "'pods':{'required':[{'topology_key':'zone','namespaces':['team','other']}]},"
     "'pods_apart':{'preferred':[{'topology_key':'host','namespaces':['third']}]}}}",                                              "/affinity/node/required/0/match/1/key node_label_not_allowed; "
     "/affinity/node/preferred/0/match/0/key node_label_not_allowed; "
     "/affinity/node/required/0/match_fields/0/key node_label_not_allowed; "
     "/affinity/pods/required/0/namespaces/1 namespace_not_allowed; "
     "/affinity/pods_apart/preferred/0/topology_key node_label_not_allowed; "
     "/affinity/pods_apart/preferred/0/namespaces/0 namespace_not_allowed"                                                             },
    {"{" ANY ",'forced':{'node_selector':{'pool':'a'},'tolerations':[{'key':'t'}]},"
     "'defaults':{'priority_class':'low'}}",     "{'node_selector':{'pool':'b','x':'y'},'tolerations':[{'key':'u'}],'priority_class':'low',"
     "'worker':{'node_selector':{'pool':'c','z':'y'}}}",                          "/node_selector/x node_label_not_allowed; /worker/node_selector/z node_label_not_allowed"},
    {"{" ANY ",'defaults':{'priority_class':'low'}}", "{'priority_class':'high'}",
     "/priority_class priority_class_not_allowed"                                                                                                                                                                           },
};

static void every_place_of_a_name_is_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(placement); i++) {
        struct ty_policy *policy = policy_of(placement[i].policy);
        json_t *given = json_of(placement[i].body);
        json_t *body = NULL;
        struct ty_policy_changes changes = {0};
        struct ty_faults faults;
        ty_auto_buf told = {0};

        ty_faults_init(&faults);
        ty_buf_init(&told, 4096);
        assert_int_equal(ty_policy_apply(policy, &scene, given, &body, &changes, NULL), TY_OK);
        assert_int_equal(ty_policy_judge_names(policy, &scene, body, &faults, NULL), TY_OK);
        for (size_t k = 0; k < faults.count; k++)
            ty_buf_addf(&told, "%s%s %s", k > 0 ? "; " : "", faults.items[k].where,
                        faults.items[k].code);
        assert_string_equal(told.data ? told.data : "", placement[i].faults);
        json_decref(body);
        json_decref(given);
        ty_policy_unref(policy);
    }
}

static const struct {
    const char *policy;
    const char *given;
    const char *body;     /* what is run */
    const char *warnings; /* pointers of what was forced over a given value */
} applied[] = {
    {TY_POLICY_OPEN,                                                        "{'image':'a'}",             "{'image':'a'}",                                  ""             },
    {"{'defaults':{'epochs':3,'env':{'A':'1','B':'1'},'args':['x']}}",
     "{'env':{'B':'2'},'args':[]}",                                                                      "{'epochs':3,'env':{'A':'1','B':'2'},'args':[]}", ""             },
    {"{'forced':{'epochs':3,'env':{'A':'1'}}}",                             "{'env':{'A':'2','B':'2'}}",
     "{'epochs':3,'env':{'A':'1','B':'2'}}",                                                                                                               "/env/A"       },
    {"{'forced':{'image':'f:1','env':{'A':'1'}}}",
     "{'image':'f:1','worker':{'image':'w:1','env':{'C':'3'},'args':['a']}}",                            "{'image':'f:1','env':{'A':'1'},"
     "'worker':{'image':'f:1','env':{'A':'1','C':'3'},'args':['a']}}",        "/worker/image"},
    {"{'forced':{'volumes':[{'claim':'c','mount_path':'/c'}]}}",
     "{'worker':{'volumes':[{'claim':'w','mount_path':'/w'}]}}",                                         "{'volumes':[{'claim':'c','mount_path':'/c'}],"
     "'worker':{'volumes':[{'claim':'w','mount_path':'/w'}]}}",                            ""             },
    {"{'defaults':{'epochs':3},'forced':{'epochs':4}}",                     "{}",                        "{'epochs':4}",                                   "/epochs"      },
    {"{'limits':{'timeout_seconds':60,'keep_seconds':50,'max_retries':2}}", "{}",
     "{'timeout_seconds':60,'keep_seconds':50,'max_retries':2}",                                                                                           ""             },
    {"{'limits':{'max_retries':2}}",                                        "{'restart':'never'}",       "{'restart':'never'}",                            ""             },
    {"{'limits':{'max_retries':4}}",                                        "{}",                        "{}",                                             ""             },
};

static void what_is_left_out_is_filled_and_what_is_forced_replaces(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(applied); i++) {
        struct ty_policy *policy = policy_of(applied[i].policy);
        json_t *given = json_of(applied[i].given);
        json_t *before = json_deep_copy(given);
        json_t *wanted = json_of(applied[i].body);
        json_t *body = NULL;
        struct ty_warning warnings[4];
        struct ty_policy_changes changes = {.items = warnings, .max = UNIT_COUNT(warnings)};

        assert_int_equal(ty_policy_apply(policy, &scene, given, &body, &changes, NULL), TY_OK);
        if (!json_equal(body, wanted))
            print_error("row %zu\n", i);
        assert_true(json_equal(body, wanted));
        assert_true(json_equal(given, before));
        assert_int_equal(changes.count, applied[i].warnings[0] ? 1 : 0);
        if (changes.count > 0) {
            assert_string_equal(warnings[0].pointer, applied[i].warnings);
            assert_string_equal(warnings[0].code, "value_forced");
        }
        json_decref(body);
        json_decref(wanted);
        json_decref(before);
        json_decref(given);
        ty_policy_unref(policy);
    }
}

static void more_is_forced_than_there_is_room_for_warnings(void **state)
{
    struct ty_policy *policy = policy_of("{'forced':{'epochs':1,'replicas':1}}");
    json_t *given = json_of("{'epochs':2,'replicas':2}");
    json_t *body = NULL;
    struct ty_warning warning;
    struct ty_policy_changes changes = {.items = &warning, .max = 1};

    (void)state;
    assert_int_equal(ty_policy_apply(policy, &scene, given, &body, &changes, NULL), TY_OK);
    assert_int_equal(changes.count, 1);
    assert_int_equal(json_integer_value(json_object_get(body, "replicas")), 1);
    json_decref(body);
    json_decref(given);
    ty_policy_unref(policy);
}

static const struct {
    const char *pattern;
    const char *image;
    bool matches;
} images[] = {
    {"*",                "anything/at:all",                true },
    {"ubuntu",           "ubuntu",                         true },
    {"ubuntu",           "ubuntu:22.04",                   true },
    {"ubuntu",           "docker.io/library/ubuntu",       true },
    {"ubuntu",           "index.docker.io/library/ubuntu", true },
    {"ubuntu",           "docker.io/ubuntu",               true },
    {"ubuntu",           "ubuntu" DIGEST,                  true },
    {"ubuntu",           "evil/ubuntu",                    false},
    {"ubuntu",           "ghcr.io/library/ubuntu",         false},
    {"ubuntu",           "ubuntu-evil",                    false},
    {"ubuntu:latest",    "ubuntu",                         true },
    {"ubuntu:22.04",     "ubuntu",                         false},
    {"ubuntu:22.04",     "ubuntu:22.04" DIGEST,            false}, /* the digest may be any image of it */
    {"ubuntu" DIGEST,    "ubuntu:22.04" DIGEST,            true },
    {"ubuntu" DIGEST,    "ubuntu:22.04",                   false},
    {"ubuntu" DIGEST,    "debian" DIGEST,                  false},
    {"pytorch/*",        "pytorch/pytorch:2",              true },
    {"pytorch/*",        "pytorch/a/b/c",                  true },
    {"pytorch/*",        "pytorch",                        false},
    {"pytorch/*",        "pytorch-evil/x",                 false},
    {"pytorch/*",        "pytorch.evil/x",                 false},
    {"pytorch/*",        "ghcr.io/pytorch/x",              false},
    {"docker.io/*",      "pytorch/pytorch",                true },
    {"docker.io/*",      "docker.io:443/pytorch/pytorch",  false},
    {"ghcr.io/*",        "ghcr.io/acme/x:1",               true },
    {"ghcr.io/*",        "ghcr.io.evil.example/acme/x:1",  false},
    {"ghcr.io/acme/*",   "GHCR.io/acme/x",                 true },
    {"ghcr.io/acme/*",   "ghcr.io/acme2/x",                false},
    {"localhost:5000/*", "localhost:5000/x",               true },
    {"localhost:5000/*", "localhost/x",                    false},
    {"localhost/x",      "localhost/x:1",                  true },
    {"host/x",           "HOST/x",                         false}, /* a registry, for Docker's rule looks at the case */
};

static void an_image_is_matched_as_it_is_parsed(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(images); i++) {
        struct ty_image_pattern pattern;
        struct ty_image image;

        assert_int_equal(ty_image_pattern_parse(images[i].pattern, &pattern), TY_OK);
        assert_int_equal(ty_image_parse(images[i].image, &image), TY_OK);
        if (ty_image_matches(&pattern, &image) != images[i].matches)
            print_error("%s and %s\n", images[i].pattern, images[i].image);
        assert_int_equal(ty_image_matches(&pattern, &image), images[i].matches);
    }
}

static void what_is_no_pattern_is_refused(void **state)
{
    static const char *const texts[] = {
        "",   "**",   "a*",    "*/a",  "a/*/b", "a:*",      "a:1*",       "ghcr.io",
        "/*", "a//*", "A/*/x", "a/b:", "a@",    "a/b/*:1*", "ghcr.io/a*", "a b/*"};
    struct ty_image_pattern pattern = {.below = true};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        if (ty_image_pattern_parse(texts[i], &pattern) == TY_OK)
            print_error("%s\n", texts[i]);
        assert_int_equal(ty_image_pattern_parse(texts[i], &pattern), TY_INVALID);
        assert_true(pattern.below);
    }
}

static void a_bad_pattern_is_told_by_its_place(void **state)
{
    json_t *document = json_of("{'images':['a','ghcr.io'],'limits':{'cpu':'x'}}");
    struct ty_policy *policy = NULL;
    struct ty_faults faults;
    struct ty_error err = {0};

    (void)state;
    ty_faults_init(&faults);
    assert_int_equal(ty_policy_parse(document, &policy, &faults, &err), TY_REFUSED);
    assert_null(policy);
    assert_int_equal(faults.count, 2);
    assert_string_equal(faults.items[0].where, "/images/1");
    assert_string_equal(faults.items[0].code, "pattern_invalid");
    assert_string_equal(faults.items[1].where, "/limits/cpu");
    json_decref(document);
}

static ty_status owns_nothing_today(void *context, const char *claim, bool *owns_out,
                                    struct ty_error *err)
{
    (void)context;
    (void)claim;
    (void)owns_out;
    return ty_fail(err, TY_UNAVAILABLE, "no database");
}

static void a_question_without_an_answer_is_an_error_and_no_refusal(void **state)
{
    struct ty_policy_scene broken = scene;
    struct ty_policy *policy = policy_of("{'images':['*']}");
    json_t *body = json_of("{'image':'a','dataset':'d'}");
    struct ty_faults faults;
    struct ty_error err = {0};

    (void)state;
    broken.owns_volume = owns_nothing_today;
    ty_faults_init(&faults);
    assert_int_equal(ty_policy_judge_names(policy, &broken, body, &faults, &err), TY_UNAVAILABLE);
    assert_int_equal(faults.count, 0);
    json_decref(body);
    ty_policy_unref(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_lets_through_what_it_says_and_nothing_else),
        cmocka_unit_test(every_place_of_a_name_is_judged),
        cmocka_unit_test(what_is_left_out_is_filled_and_what_is_forced_replaces),
        cmocka_unit_test(more_is_forced_than_there_is_room_for_warnings),
        cmocka_unit_test(an_image_is_matched_as_it_is_parsed),
        cmocka_unit_test(what_is_no_pattern_is_refused),
        cmocka_unit_test(a_bad_pattern_is_told_by_its_place),
        cmocka_unit_test(a_question_without_an_answer_is_an_error_and_no_refusal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
