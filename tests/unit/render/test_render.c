/* Rules of what is rendered, one by one. */
#include "../domain/spec_text.h"
#include "expand.h"
#include "manifest_check.h"

#define JOB_ID "job_01j9z3k4m5n6p7q8r9s0t1v2w3"
#define OBJECT "job-s0t1v2w3"

static json_t *render_with(const struct ty_job_spec *spec, const char *resume_from)
{
    struct ty_render_input input = {spec, JOB_ID, OBJECT, "team-a", "team", resume_from, 1};
    struct ty_manifest manifest = {0};
    struct ty_faults faults;
    struct ty_error err = {0};

    ty_faults_init(&faults);
    ty_status status = ty_renderer_pytorchjob.render(&input, &manifest, &faults, &err);

    if (status != TY_OK)
        print_error("%s\n", err.text);
    assert_int_equal(status, TY_OK);
    const char *broken = manifest_check(manifest.objects, OBJECT);

    if (broken)
        print_error("broken: %s\n", broken);
    assert_null(broken);
    return manifest.objects;
}

static json_t *render_body(const char *body)
{
    struct ty_job_spec *spec = spec_of(body);
    json_t *objects = render_with(spec, NULL);

    ty_job_spec_destroy(spec);
    return objects;
}

static json_t *find_object(const json_t *objects, const char *kind, const char *name)
{
    size_t i;
    json_t *object;

    json_array_foreach(objects, i, object)
    {
        if (ty_str_equal(manifest_text(object, "kind"), kind) &&
            ty_str_equal(manifest_text(object, "metadata.name"), name))
            return object;
    }
    return NULL;
}

static json_t *role_pod(const json_t *objects, const char *role)
{
    json_t *job = find_object(objects, "PyTorchJob", OBJECT);
    json_t *roles = manifest_at(job, "spec.pytorchReplicaSpecs");

    return manifest_at(json_object_get(roles, role), "template.spec");
}

static json_t *role_container(const json_t *objects, const char *role)
{
    return json_array_get(json_object_get(role_pod(objects, role), "containers"), 0);
}

static json_t *find_by_name(const json_t *array, const char *member, const char *value)
{
    size_t i;
    json_t *item;

    json_array_foreach(array, i, item)
    {
        const char *text = manifest_text(item, member);

        if (text && ty_str_equal(text, value))
            return item;
    }
    return NULL;
}

static const char *env_value(const json_t *container, const char *name)
{
    return manifest_text(find_by_name(json_object_get(container, "env"), "name", name), "value");
}

static void assert_texts(const json_t *array, const char *const *texts, size_t count)
{
    assert_int_equal(json_array_size(array), count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(json_string_value(json_array_get(array, i)), texts[i]);
}

static void one_replica_is_a_master_without_workers(void **state)
{
    json_t *objects = render_body("{'image':'a:1','script':'x'}");
    json_t *job = find_object(objects, "PyTorchJob", OBJECT);

    (void)state;
    assert_int_equal(json_object_size(manifest_at(job, "spec.pytorchReplicaSpecs")), 1);
    assert_non_null(role_pod(objects, "Master"));
    assert_string_equal(manifest_text(job, "spec.nprocPerNode"), "1");
    json_decref(objects);
}

static void flags_stand_between_the_script_and_the_arguments(void **state)
{
    json_t *objects = render_body("{'image':'a:1','script':'x','epochs':3,'args':['--lr=9','in'],"
                                  "'parameters':{'lr':0.1,'batch-size':64}}");
    json_t *container = role_container(objects, "Master");
    static const char *const command[] = {"python3", "/trainyard/scripts/train.py"};
    static const char *const args[] = {"--epochs=3", "--batch-size=64", "--lr=0.1", "--lr=9", "in"};

    (void)state;
    assert_texts(json_object_get(container, "command"), command, UNIT_COUNT(command));
    assert_texts(json_object_get(container, "args"), args, UNIT_COUNT(args));
    json_t *env = find_object(objects, "ConfigMap", OBJECT "-env");

    assert_string_equal(manifest_text(env, "data.EPOCHS"), "3");
    assert_string_equal(manifest_text(env, "data.LR"), "0.1");
    assert_string_equal(manifest_text(env, "data.BATCH_SIZE"), "64");
    assert_string_equal(manifest_text(json_array_get(json_object_get(container, "envFrom"), 0),
                                      "configMapRef.name"),
                        OBJECT "-env");
    json_decref(objects);
}

static void a_command_gets_the_flags_too(void **state)
{
    json_t *objects = render_body("{'image':'a:1','command':['python','/w/t.py'],'epochs':2}");
    json_t *container = role_container(objects, "Master");
    static const char *const command[] = {"python", "/w/t.py"};
    static const char *const args[] = {"--epochs=2"};

    (void)state;
    assert_texts(json_object_get(container, "command"), command, UNIT_COUNT(command));
    assert_texts(json_object_get(container, "args"), args, UNIT_COUNT(args));
    assert_null(find_object(objects, "ConfigMap", OBJECT "-files"));
    json_decref(objects);
}

static void the_parameter_style_picks_flags_or_environment(void **state)
{
    json_t *flags = render_body("{'image':'a:1','script':'x','epochs':2,"
                                "'parameter_style':'flags'}");
    json_t *env = render_body("{'image':'a:1','script':'x','epochs':2,"
                              "'parameter_style':'environment'}");

    (void)state;
    assert_null(find_object(flags, "ConfigMap", OBJECT "-env"));
    assert_null(json_object_get(role_container(flags, "Master"), "envFrom"));
    assert_int_equal(json_array_size(json_object_get(role_container(flags, "Master"), "args")), 1);
    assert_non_null(find_object(env, "ConfigMap", OBJECT "-env"));
    assert_null(json_object_get(role_container(env, "Master"), "args"));
    json_decref(flags);
    json_decref(env);
}

static void torchrun_gets_its_processes_from_the_operator(void **state)
{
    json_t *objects =
        render_body("{'image':'a:1','script':'x','replicas':2,'processes_per_replica':2}");
    static const char *const command[] = {"torchrun", "/trainyard/scripts/train.py"};

    (void)state;
    assert_texts(json_object_get(role_container(objects, "Worker"), "command"), command,
                 UNIT_COUNT(command));
    assert_string_equal(
        manifest_text(find_object(objects, "PyTorchJob", OBJECT), "spec.nprocPerNode"), "2");
    json_decref(objects);
}

/* Cases 20 and 22: after expansion the container has exactly the user's strings. */
static void dollars_blanks_and_quotes_arrive_as_they_were_written(void **state)
{
    static const char *const texts[] = {
        "$$",       "a$$b",        "$$$",  "price=$5", "$",      "$(HOME)",   "$((1+2))", "$(",
        "$()",      "a b",         "",     "l1\nl2",   "*",      "; touch x", "-",        "--",
        "$$(HOME)", "it's \"ok\"", "${X}", "$(A$(B))", "\\$(X)", "$(RANK",    "$(RANK )", "no",
        "0x1F",     "1e3",         "~",    "- x",      " lead",  "$$$(X)$",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        json_t *body = json_pack("{s:s,s:[s,s],s:[s],s:{s:s},s:{s:s}}", "image", "a:1", "command",
                                 "x", texts[i], "args", texts[i], "env", "V", texts[i],
                                 "parameters", "p", texts[i]);
        struct ty_job_spec *spec = spec_of_json(body);
        json_t *objects = render_with(spec, NULL);
        json_t *container = role_container(objects, "Master");
        const char *rendered[] = {
            json_string_value(json_array_get(json_object_get(container, "command"), 1)),
            json_string_value(json_array_get(json_object_get(container, "args"), 1)),
            env_value(container, "V"),
        };

        for (size_t k = 0; k < UNIT_COUNT(rendered); k++) {
            char *seen = expand(rendered[k]);

            assert_string_equal(seen, texts[i]);
            free(seen);
        }
        char *flag =
            expand(json_string_value(json_array_get(json_object_get(container, "args"), 0)));

        assert_true(ty_str_starts(flag, "--p="));
        assert_string_equal(flag + 4, texts[i]);
        free(flag);
        /* A ConfigMap's values are not expanded. */
        assert_string_equal(
            manifest_text(find_object(objects, "ConfigMap", OBJECT "-env"), "data.P"), texts[i]);
        json_decref(objects);
        ty_job_spec_destroy(spec);
        json_decref(body);
    }
}

static void arguments_may_name_the_operators_variables(void **state)
{
    static const struct {
        const char *written;
        const char *seen;
    } cases[] = {
        {"--addr=$(MASTER_ADDR)", "--addr=job-master-0"},
        {"$(RANK)$(RANK)",        "22"                 },
        {"$$(RANK)",              "$(RANK)"            },
        {"$$$(RANK)",             "$$(RANK)"           },
        {"$5 $(MASTER_ADDR) $$",  "$5 job-master-0 $$" },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        json_t *body = json_pack("{s:s,s:[s],s:[s],s:{s:s}}", "image", "a:1", "command", "x",
                                 "args", cases[i].written, "env", "V", cases[i].written);
        struct ty_job_spec *spec = spec_of_json(body);
        json_t *objects = render_with(spec, NULL);
        json_t *container = role_container(objects, "Master");
        char *arg =
            expand(json_string_value(json_array_get(json_object_get(container, "args"), 0)));
        char *value = expand(env_value(container, "V"));

        assert_string_equal(arg, cases[i].seen);
        assert_string_equal(value, cases[i].written); /* never in env */
        free(arg);
        free(value);
        json_decref(objects);
        ty_job_spec_destroy(spec);
        json_decref(body);
    }
}

/* Cases 14, 15, 17. */
static void scripts_and_files_arrive_byte_for_byte_under_their_names(void **state)
{
    json_t *objects = render_body(
        "{'image':'a:1','script':'#!/usr/bin/env python3\\r\\n\\tx  \\n---\\n\\n\\n','files':["
        "{'path':'utils/helper.py','content':'1'},{'path':'utils_helper.py','content':'2'},"
        "{'path':'ü.bin','content':'AAH/','encoding':'base64'},{'path':'empty','content':''}]}");
    json_t *map = find_object(objects, "ConfigMap", OBJECT "-files");
    json_t *volumes = json_object_get(role_pod(objects, "Master"), "volumes");
    json_t *items = manifest_at(find_by_name(volumes, "name", "scripts"), "configMap.items");
    static const char *const paths[][2] = {
        {"train.py",        "train.py"       },
        {"file.0",          "utils/helper.py"},
        {"utils_helper.py", "utils_helper.py"},
        {"file.2",          "ü.bin"         },
        {"empty",           "empty"          },
    };

    (void)state;
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(map, "data"), "train.py")),
        "#!/usr/bin/env python3\r\n\tx  \n---\n\n\n");
    assert_string_equal(json_string_value(json_object_get(json_object_get(map, "data"), "file.0")),
                        "1");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(map, "binaryData"), "file.2")), "AAH/");
    assert_int_equal(json_array_size(items), UNIT_COUNT(paths));
    for (size_t i = 0; i < UNIT_COUNT(paths); i++) {
        assert_string_equal(manifest_text(json_array_get(items, i), "key"), paths[i][0]);
        assert_string_equal(manifest_text(json_array_get(items, i), "path"), paths[i][1]);
    }
    json_decref(objects);
}

/* Case 24. */
static void texts_that_look_like_other_types_stay_texts(void **state)
{
    static const char *const texts[] = {"no",   "on",   "1e3",   "0x1F",       "0123",
                                        "1:30", "null", "~",     "2001-01-01", "1_000",
                                        "=",    "y",    " lead", "- x"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        json_t *body = json_pack("{s:s,s:s,s:{s:s},s:[s]}", "image", "a:1", "script", "x", "env",
                                 "V", texts[i], "args", texts[i]);
        struct ty_job_spec *spec = spec_of_json(body);
        json_t *objects = render_with(spec, NULL);
        json_t *container = role_container(objects, "Master");

        assert_string_equal(env_value(container, "V"), texts[i]);
        assert_string_equal(
            json_string_value(json_array_get(json_object_get(container, "args"), 0)), texts[i]);
        json_decref(objects);
        ty_job_spec_destroy(spec);
        json_decref(body);
    }
}

/* Case 29. */
static void gpus_are_requested_and_limited_alike(void **state)
{
    json_t *objects = render_body("{'image':'a:1','script':'x','gpus':2,'replicas':2,"
                                  "'resources':{'cpu':'4','memory':'16Gi',"
                                  "'limits':{'cpu':8,'memory':'32Gi'}}}");
    json_t *resources = json_object_get(role_container(objects, "Worker"), "resources");
    json_t *requests = json_object_get(resources, "requests");
    json_t *limits = json_object_get(resources, "limits");

    (void)state;
    assert_string_equal(json_string_value(json_object_get(requests, "nvidia.com/gpu")), "2");
    assert_string_equal(json_string_value(json_object_get(limits, "nvidia.com/gpu")), "2");
    assert_string_equal(manifest_text(requests, "cpu"), "4");
    assert_string_equal(manifest_text(limits, "cpu"), "8");
    assert_string_equal(manifest_text(requests, "memory"), "16Gi");
    assert_string_equal(manifest_text(limits, "memory"), "32Gi");
    json_decref(objects);
}

struct policy_case {
    const char *members;
    const char *master;
    const char *worker;
    int backoff_limit; /* -1: must be absent */
};

static void retries_become_the_operators_finite_limit(void **state)
{
    static const struct policy_case cases[] = {
        {"",                                    "OnFailure", "OnFailure", 4 },
        {",'max_retries':0",                    "OnFailure", "OnFailure", 1 },
        {",'restart':'always','max_retries':7", "OnFailure", "Always",    8 },
        {",'restart':'exit_code'",              "ExitCode",  "ExitCode",  4 },
        {",'restart':'never'",                  "Never",     "Never",     -1},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char body[256];

        snprintf(body, sizeof(body), "{'image':'a:1','script':'x','replicas':2%s}",
                 cases[i].members);
        json_t *objects = render_body(body);
        json_t *job = find_object(objects, "PyTorchJob", OBJECT);
        json_t *limit = manifest_at(job, "spec.runPolicy.backoffLimit");

        assert_string_equal(manifest_text(job, "spec.pytorchReplicaSpecs.Master.restartPolicy"),
                            cases[i].master);
        assert_string_equal(manifest_text(job, "spec.pytorchReplicaSpecs.Worker.restartPolicy"),
                            cases[i].worker);
        if (cases[i].backoff_limit < 0)
            assert_null(limit);
        else
            assert_int_equal(json_integer_value(limit), cases[i].backoff_limit);
        assert_null(manifest_at(job, "spec.runPolicy.activeDeadlineSeconds"));
        json_decref(objects);
    }
}

static void a_timeout_becomes_the_deadline(void **state)
{
    json_t *objects = render_body("{'image':'a:1','script':'x','timeout_seconds':60,"
                                  "'clean_pods':'all'}");
    json_t *job = find_object(objects, "PyTorchJob", OBJECT);

    (void)state;
    assert_int_equal(json_integer_value(manifest_at(job, "spec.runPolicy.activeDeadlineSeconds")),
                     60);
    assert_string_equal(manifest_text(job, "spec.runPolicy.cleanPodPolicy"), "All");
    json_decref(objects);
}

/* Cases 40 and 42. */
static void a_claim_is_one_volume_with_a_legal_name_however_often_it_is_mounted(void **state)
{
    json_t *objects = render_body("{'image':'a:1','script':'x','dataset':'data.v1','volumes':["
                                  "{'claim':'data.v1','mount_path':'/backup','sub_path':'b'}]}");
    json_t *pod = role_pod(objects, "Master");
    json_t *volumes = json_object_get(pod, "volumes");
    json_t *mounts = json_object_get(role_container(objects, "Master"), "volumeMounts");
    json_t *volume = find_by_name(volumes, "persistentVolumeClaim.claimName", "data.v1");
    json_t *data = find_by_name(mounts, "mountPath", "/data");
    json_t *backup = find_by_name(mounts, "mountPath", "/backup");

    (void)state;
    assert_string_equal(manifest_text(data, "name"), manifest_text(volume, "name"));
    assert_string_equal(manifest_text(backup, "name"), manifest_text(volume, "name"));
    assert_true(json_is_true(json_object_get(data, "readOnly")));
    assert_null(json_object_get(backup, "readOnly"));
    assert_string_equal(manifest_text(backup, "subPath"), "b");
    assert_null(manifest_at(volume, "persistentVolumeClaim.readOnly")); /* one mount writes */
    assert_null(find_object(objects, "PersistentVolumeClaim", "data.v1"));
    json_decref(objects);
}

static void a_claim_that_is_only_read_says_so(void **state)
{
    json_t *objects = render_body("{'image':'a:1','script':'x','dataset':'d'}");
    json_t *volumes = json_object_get(role_pod(objects, "Master"), "volumes");
    json_t *volume = find_by_name(volumes, "persistentVolumeClaim.claimName", "d");

    (void)state;
    assert_true(json_is_true(manifest_at(volume, "persistentVolumeClaim.readOnly")));
    json_decref(objects);
}

static void claims_of_the_job_are_rendered_once(void **state)
{
    json_t *objects =
        render_body("{'image':'a:1','script':'x','replicas':3,'volumes':[{'create':{'size':'5Gi',"
                    "'access_mode':'read_only_many','storage_class':'nfs'},'mount_path':'/v'}]}");
    json_t *own = find_object(objects, "PersistentVolumeClaim", OBJECT "-volume-0");
    json_t *output = find_object(objects, "PersistentVolumeClaim", OBJECT "-output");

    (void)state;
    assert_int_equal(json_array_size(objects), 4);
    assert_string_equal(manifest_text(own, "spec.resources.requests.storage"), "5Gi");
    assert_string_equal(manifest_text(own, "spec.storageClassName"), "nfs");
    assert_string_equal(json_string_value(json_array_get(manifest_at(own, "spec.accessModes"), 0)),
                        "ReadOnlyMany");
    assert_string_equal(
        json_string_value(json_array_get(manifest_at(output, "spec.accessModes"), 0)),
        "ReadWriteMany");
    assert_null(manifest_at(output, "spec.storageClassName"));
    json_decref(objects);
}

static void shared_memory_is_a_volume_of_that_size(void **state)
{
    json_t *objects = render_body("{'image':'a:1','script':'x','shared_memory':'512Mi'}");
    json_t *volumes = json_object_get(role_pod(objects, "Master"), "volumes");
    json_t *shared = find_by_name(volumes, "name", "shared-memory");

    (void)state;
    assert_string_equal(manifest_text(shared, "emptyDir.medium"), "Memory");
    assert_string_equal(manifest_text(shared, "emptyDir.sizeLimit"), "512Mi");
    json_decref(objects);
}

static void a_resumed_job_is_told_where_to_resume_from(void **state)
{
    struct ty_job_spec *resume = spec_of("{'image':'a:1','script':'x',"
                                         "'checkpoints':{'volume':'c','resume':true}}");
    struct ty_job_spec *afresh = spec_of("{'image':'a:1','script':'x'}");
    json_t *with = render_with(resume, "/checkpoints/last.pt");
    json_t *without = render_with(resume, NULL);
    json_t *not_asked = render_with(afresh, "/checkpoints/last.pt");

    (void)state;
    assert_string_equal(env_value(role_container(with, "Master"), "TRAINYARD_RESUME_FROM"),
                        "/checkpoints/last.pt");
    assert_null(env_value(role_container(without, "Master"), "TRAINYARD_RESUME_FROM"));
    assert_null(env_value(role_container(not_asked, "Master"), "TRAINYARD_RESUME_FROM"));
    json_decref(with);
    json_decref(without);
    json_decref(not_asked);
    ty_job_spec_destroy(resume);
    ty_job_spec_destroy(afresh);
}

static void places_and_backend_are_given_to_the_script(void **state)
{
    json_t *objects = render_body("{'image':'a:1','script':'x','gpus':1,'name':'mnist',"
                                  "'checkpoints':{'volume':'c','path':'run'}}");
    json_t *container = role_container(objects, "Master");

    (void)state;
    assert_string_equal(env_value(container, "TRAINYARD_JOB_ID"), JOB_ID);
    assert_string_equal(env_value(container, "TRAINYARD_JOB_NAME"), "mnist");
    assert_string_equal(env_value(container, "TRAINYARD_BACKEND"), "nccl");
    assert_string_equal(env_value(container, "TRAINYARD_OUTPUT_DIR"), "/output");
    assert_string_equal(env_value(container, "TRAINYARD_CHECKPOINT_DIR"), "/checkpoints/run");
    assert_string_equal(manifest_text(container, "workingDir"), "/workspace");
    json_decref(objects);
}

static void labels_of_the_user_are_annotations_under_our_prefix(void **state)
{
    json_t *objects = render_body("{'image':'a:1','script':'x','labels':{'team':'vision'}}");
    json_t *job = find_object(objects, "PyTorchJob", OBJECT);
    json_t *pod_labels =
        manifest_at(job, "spec.pytorchReplicaSpecs.Master.template.metadata.labels");

    (void)state;
    assert_string_equal(json_string_value(json_object_get(manifest_at(job, "metadata.annotations"),
                                                          "labels.trainyard.dev/team")),
                        "vision");
    assert_null(json_object_get(manifest_at(job, "metadata.labels"), "team"));
    assert_string_equal(json_string_value(json_object_get(pod_labels, "sidecar.istio.io/inject")),
                        "false");
    assert_null(json_object_get(pod_labels, "training.kubeflow.org/job-name"));
    json_decref(objects);
}

static char *dump(const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);

    assert_non_null(text);
    return text;
}

static void the_same_input_gives_the_same_bytes_in_any_order_of_members(void **state)
{
    json_t *one = render_body("{'image':'a:1','script':'x','env':{'B':'1','A':'2'},'epochs':1,"
                              "'parameters':{'b':1,'a':2},'labels':{'y':'1','x':'2'}}");
    json_t *two = render_body("{'labels':{'x':'2','y':'1'},'parameters':{'a':2,'b':1},'epochs':1,"
                              "'env':{'A':'2','B':'1'},'script':'x','image':'a:1'}");
    char *text_one = dump(one);
    char *text_two = dump(two);

    (void)state;
    assert_string_equal(text_one, text_two);
    free(text_one);
    free(text_two);
    json_decref(one);
    json_decref(two);
}

static void another_spec_has_another_hash(void **state)
{
    json_t *one = render_body("{'image':'a:1','script':'x','epochs':1}");
    json_t *two = render_body("{'image':'a:1','script':'x','epochs':2}");
    const char *hash[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        hash[i] = json_string_value(json_object_get(
            manifest_at(find_object(i ? two : one, "PyTorchJob", OBJECT), "metadata.annotations"),
            "trainyard.dev/spec-hash"));
    assert_string_not_equal(hash[0], hash[1]);
    json_decref(one);
    json_decref(two);
}

/* A spec can only be this large when it did not come from ty_job_spec_parse; the wall stands. */
static void a_config_map_above_its_limit_is_refused_with_the_bytes_measured(void **state)
{
    struct ty_job_spec *spec = spec_of("{'image':'a:1','script':'x'}");
    struct ty_render_input input = {spec, JOB_ID, OBJECT, "team-a", "team", NULL, 1};
    struct ty_manifest manifest = {(json_t *)(uintptr_t)&input};
    struct ty_faults faults;
    struct ty_error err = {0};

    (void)state;
    free(spec->script);
    spec->script_len = TY_CONFIG_MAP_MAX;
    spec->script = calloc(1, spec->script_len + 1);
    assert_non_null(spec->script);
    memset(spec->script, 'x', spec->script_len);
    ty_faults_init(&faults);
    assert_int_equal(ty_renderer_pytorchjob.render(&input, &manifest, &faults, &err), TY_REFUSED);
    assert_string_equal(err.code, "configmap_too_large");
    assert_int_equal(faults.count, 1);
    assert_string_equal(faults.items[0].where, "/script");
    assert_non_null(strstr(faults.items[0].detail, "1048584 bytes"));
    assert_ptr_equal(manifest.objects, &input);
    ty_job_spec_destroy(spec);
}

static void an_empty_manifest_may_be_done_with(void **state)
{
    struct ty_manifest manifest = {0};

    (void)state;
    ty_manifest_done(&manifest);
    assert_null(manifest.objects);
    assert_string_equal(ty_renderer_pytorchjob.kind, "PyTorchJob");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_replica_is_a_master_without_workers),
        cmocka_unit_test(flags_stand_between_the_script_and_the_arguments),
        cmocka_unit_test(a_command_gets_the_flags_too),
        cmocka_unit_test(the_parameter_style_picks_flags_or_environment),
        cmocka_unit_test(torchrun_gets_its_processes_from_the_operator),
        cmocka_unit_test(dollars_blanks_and_quotes_arrive_as_they_were_written),
        cmocka_unit_test(arguments_may_name_the_operators_variables),
        cmocka_unit_test(scripts_and_files_arrive_byte_for_byte_under_their_names),
        cmocka_unit_test(texts_that_look_like_other_types_stay_texts),
        cmocka_unit_test(gpus_are_requested_and_limited_alike),
        cmocka_unit_test(retries_become_the_operators_finite_limit),
        cmocka_unit_test(a_timeout_becomes_the_deadline),
        cmocka_unit_test(a_claim_is_one_volume_with_a_legal_name_however_often_it_is_mounted),
        cmocka_unit_test(a_claim_that_is_only_read_says_so),
        cmocka_unit_test(claims_of_the_job_are_rendered_once),
        cmocka_unit_test(shared_memory_is_a_volume_of_that_size),
        cmocka_unit_test(a_resumed_job_is_told_where_to_resume_from),
        cmocka_unit_test(places_and_backend_are_given_to_the_script),
        cmocka_unit_test(labels_of_the_user_are_annotations_under_our_prefix),
        cmocka_unit_test(the_same_input_gives_the_same_bytes_in_any_order_of_members),
        cmocka_unit_test(another_spec_has_another_hash),
        cmocka_unit_test(a_config_map_above_its_limit_is_refused_with_the_bytes_measured),
        cmocka_unit_test(an_empty_manifest_may_be_done_with),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
