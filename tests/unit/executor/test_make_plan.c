#include "oom.h"
#include "unit.h"

#include "executor/local/make_plan.h"
#include "executor/supervisor/plan.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <stdio.h>
#include <stdlib.h>

static const char *everywhere(const void *context, const char *image)
{
    (void)context;
    return ty_str_equal(image, "missing") ? NULL : "/";
}

static const struct ty_plan_setting setting = {.data_folder = "/d",
                                               .bwrap = "/usr/bin/bwrap",
                                               .boot_id = "boot",
                                               .backoff_base_ms = 10000,
                                               .grace_ms = 30000,
                                               .find_root = everywhere};

/* The job around a container and a spec's members; %s = container, volumes, more members of the
 * PyTorchJob's spec, of the Worker. */
#define JOB                                                                                        \
    "[{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},\"data\":{\"a.py\":\"print()\","       \
    "\"LR\":\"0.1\"},"                                                                             \
    "\"binaryData\":{\"b\":\"AAEC\"}},"                                                            \
    "{\"kind\":\"PyTorchJob\",\"metadata\":{\"name\":\"job-x\"},\"spec\":{%"                       \
    "s\"pytorchReplicaSpecs\":{"                                                                   \
    "\"Master\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"image\":\"i\",%"  \
    "s}],"                                                                                         \
    "\"volumes\":[%s]}}}%s}}}]"

struct parts {
    const char *spec;
    const char *container;
    const char *volumes;
    const char *worker;
};

static json_t *make_objects(const struct parts *parts)
{
    char *text = NULL;
    assert_true(asprintf(&text, JOB, parts->spec ? parts->spec : "",
                         parts->container ? parts->container : "\"command\":[\"true\"]",
                         parts->volumes ? parts->volumes : "",
                         parts->worker ? parts->worker : "") > 0);
    json_error_t why;
    json_t *objects = json_loads(text, 0, &why);
    if (!objects)
        fail_msg("%s in %s", why.text, text);
    free(text);
    return objects;
}

static ty_status make_plan(json_t *objects, struct ty_made_plan *out, struct ty_error *err)
{
    const struct ty_manifest manifest = {objects};
    const struct ty_run run = {.job_id = "job_1",
                               .namespace = "ns",
                               .object_name = "job-x",
                               .attempt = 2,
                               .manifest = &manifest};
    return ty_plan_make(&run, &setting, out, err);
}

static const char *env_of(const json_t *plan, size_t replica, const char *name)
{
    const json_t *env =
        json_object_get(json_array_get(json_object_get(plan, "replicas"), replica), "env");
    const char *found = NULL;
    for (size_t i = 0; i < json_array_size(env); i++) {
        const json_t *pair = json_array_get(env, i);
        if (ty_str_equal(json_string_value(json_array_get(pair, 0)), name))
            found = json_string_value(json_array_get(pair, 1));
    }
    return found;
}

#define TEMPLATE                                                                                   \
    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"command\":[\"true\"]}]}}"
#define WORKER           ",\"Worker\":{" TEMPLATE "}"
#define TWO_WORKERS      ",\"Worker\":{\"replicas\":2," TEMPLATE "}"
#define FOUR             "\"nprocPerNode\":\"4\","
#define ELASTIC(members) "\"elasticPolicy\":{" members "},"

static void the_operators_variables_are_exact(void **state)
{
    static const struct {
        const char *name;
        const char *spec;
        const char *worker;
        size_t replica;
        const char *variable;
        const char *expected; /* NULL = absent */
        /* clang-format off */
    } cases[] = {
        {"alone", NULL, NULL, 0, "WORLD_SIZE", "1"},
        {"alone", NULL, NULL, 0, "MASTER_PORT", "\001job-x:port\001"},
        {"alone", NULL, NULL, 0, "PET_NPROC_PER_NODE", "auto"},
        {"alone", NULL, NULL, 0, "PYTHONUNBUFFERED", "1"},
        {"alone", NULL, NULL, 0, "CUDA_VISIBLE_DEVICES", ""},
        {"two workers", FOUR, TWO_WORKERS, 2, "WORLD_SIZE", "12"},
        {"two workers", FOUR, TWO_WORKERS, 2, "RANK", "2"},
        {"two workers", FOUR, TWO_WORKERS, 2, "PET_NNODES", "3"},
        {"gpu counts as one", "\"nprocPerNode\":\"gpu\",", WORKER, 1, "WORLD_SIZE", "2"},
        {"gpu counts as one", "\"nprocPerNode\":\"gpu\",", WORKER, 1, "MASTER_ADDR",
         "job-x-master-0"},
        {"elastic", ELASTIC("\"minReplicas\":1,\"maxReplicas\":3"), WORKER, 0, "PET_NNODES", "1:3"},
        {"elastic", ELASTIC("\"maxRestarts\":5"), WORKER, 0, "PET_MAX_RESTARTS", "5"},
        {"elastic", ELASTIC("\"rdzvId\":\"7\""), WORKER, 0, "PET_RDZV_ENDPOINT",
         "job-x-worker-0:\001job-x:port\001"},
        {"elastic", ELASTIC("\"rdzvConf\":[{\"key\":\"a\",\"value\":\"1\"},"
                            "{\"key\":\"b\",\"value\":\"2\"}]"),
         WORKER, 0, "PET_RDZV_CONF", "a=1,b=2"},
        {"elastic", ELASTIC("\"nProcPerNode\":2"), WORKER, 0, "PET_NPROC_PER_NODE", "2"},
        {"a store elsewhere", ELASTIC("\"rdzvHost\":\"etcd.x\",\"rdzvPort\":2379"), WORKER, 0,
         "PET_RDZV_ENDPOINT", "etcd.x:2379"},
        {"a store elsewhere", ELASTIC("\"rdzvHost\":\"etcd.x\""), WORKER, 0, "PET_RDZV_ENDPOINT",
         "etcd.x:23456"},
        {"a port of the first worker", ELASTIC("\"rdzvPort\":2379"), WORKER, 0,
         "PET_RDZV_ENDPOINT", "job-x-worker-0:\001job-x:port\001"},
        {"not elastic", NULL, NULL, 0, "PET_RDZV_ENDPOINT", NULL},
    };
    /* clang-format on */
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json objects =
            make_objects(&(struct parts){.spec = cases[i].spec, .worker = cases[i].worker});
        struct ty_made_plan made;
        struct ty_error err;
        assert_int_equal(make_plan(objects, &made, &err), TY_OK);
        const char *value = env_of(made.plan, cases[i].replica, cases[i].variable);
        if (!cases[i].expected)
            assert_null(value);
        else if (!value || strcmp(value, cases[i].expected) != 0)
            fail_msg("%s: %s is %s", cases[i].name, cases[i].variable, value ? value : "absent");
        ty_made_plan_done(&made);
    }
}

/* Without the Master: what `parts.worker` begins with, less its comma. */
static json_t *make_workers_only(const char *spec, const char *worker)
{
    json_t *objects = make_objects(&(struct parts){.spec = spec, .worker = worker});
    json_t *job = json_array_get(objects, 1);
    json_object_del(json_object_get(json_object_get(job, "spec"), "pytorchReplicaSpecs"), "Master");
    return objects;
}

static void an_elastic_plan_has_every_replica_there_can_be_and_a_size(void **state)
{
    static const struct {
        const char *name;
        const char *spec;
        bool master;
        size_t planned;
        int size; /* 0 = the plan says none */
    } cases[] = {
        {"elastic",               ELASTIC("\"minReplicas\":1,\"maxReplicas\":5"),    false, 5,   2},
        {"at its most",           ELASTIC("\"minReplicas\":1,\"maxReplicas\":2"),    false, 2,   2},
        {"without bounds",        ELASTIC("\"rdzvBackend\":\"c10d\""),               false, 2,   2},
        {"more than fit here",    ELASTIC("\"minReplicas\":1,\"maxReplicas\":1000"), false, 250, 2},
        {"workers alone",         "",                                                false, 2,   0},
        {"elastic with a master", ELASTIC("\"minReplicas\":1,\"maxReplicas\":5"),    true,  3,   0},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json objects =
            cases[i].master
                ? make_objects(&(struct parts){.spec = cases[i].spec, .worker = TWO_WORKERS})
                : make_workers_only(cases[i].spec, TWO_WORKERS);
        struct ty_made_plan made;
        struct ty_plan *plan = NULL;
        struct ty_error err;
        assert_int_equal(make_plan(objects, &made, &err), TY_OK);
        if (json_array_size(json_object_get(made.plan, "replicas")) != cases[i].planned)
            fail_msg("%s: %zu replicas are planned", cases[i].name,
                     json_array_size(json_object_get(made.plan, "replicas")));
        assert_int_equal(json_integer_value(json_object_get(made.plan, "size")), cases[i].size);
        assert_int_equal(ty_plan_parse(made.plan, &plan, &err), TY_OK);
        assert_int_equal(plan->rules.size,
                         cases[i].size ? (size_t)cases[i].size : cases[i].planned);
        if (!cases[i].master) {
            assert_null(env_of(made.plan, 0, "MASTER_ADDR"));
            assert_null(env_of(made.plan, 0, "RANK"));
            assert_null(env_of(made.plan, 0, "WORLD_SIZE"));
        }
        ty_plan_destroy(plan);
        ty_made_plan_done(&made);
    }
}

static void a_size_that_cannot_be_is_no_plan(void **state)
{
    static const char *const sizes[] = {"0", "-1", "6", "\"2\"", "2.5", "null"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
        ty_auto_json objects =
            make_workers_only(ELASTIC("\"minReplicas\":1,\"maxReplicas\":5"), TWO_WORKERS);
        struct ty_made_plan made;
        struct ty_plan *plan = NULL;
        struct ty_error err;
        assert_int_equal(make_plan(objects, &made, &err), TY_OK);
        json_object_set_new(made.plan, "size", json_loads(sizes[i], JSON_DECODE_ANY, NULL));
        assert_int_equal(ty_plan_parse(made.plan, &plan, &err), TY_CORRUPT);
        assert_null(plan);
        ty_made_plan_done(&made);
    }
}

/* A container with one volume mounted, with limits; a volume. */
#define MOUNTED(path)                                                                              \
    "\"command\":[\"t\"],\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"" path "\"}]"
#define LIMITED(limits) "\"command\":[\"t\"],\"resources\":{\"limits\":{" limits "}}"
#define SECRET_VARIABLE(name, key)                                                                 \
    "\"command\":[\"t\"],\"env\":[{\"name\":\"S\",\"valueFrom\":{\"secretKeyRef\":{\"name\":"      \
    "\"" name "\",\"key\":\"" key "\"}}}]"
#define EMPTY_DIR   "{\"name\":\"v\",\"emptyDir\":{}}"
#define CLAIM(name) "{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"" name "\"}}"

static void what_can_never_run_here_is_refused(void **state)
{
    static const struct {
        const char *name;
        struct parts parts;
        /* clang-format off */
    } cases[] = {
        {"no command", {.container = "\"args\":[\"x\"]"}},
        {"a host path",
         {.container = MOUNTED("/v"),
          .volumes = "{\"name\":\"v\",\"hostPath\":{\"path\":\"/etc\"}}"}},
        {"no such volume", {.container = MOUNTED("/v")}},
        {"a mount at the root", {.container = MOUNTED("/"), .volumes = EMPTY_DIR}},
        {"a mount path that climbs", {.container = MOUNTED("/a/../b"), .volumes = EMPTY_DIR}},
        {"a relative mount path", {.container = MOUNTED("a"), .volumes = EMPTY_DIR}},
        {"a sub path that climbs",
         {.container = MOUNTED("/a\",\"subPath\":\"../x"), .volumes = CLAIM("p")}},
        {"a claim that climbs", {.container = MOUNTED("/a"), .volumes = CLAIM("../p")}},
        {"a missing ConfigMap",
         {.container = "\"command\":[\"t\"],\"envFrom\":[{\"configMapRef\":{\"name\":\"no\"}}]"}},
        {"a secret that climbs", {.container = SECRET_VARIABLE("s", "../k")}},
        {"a secret elsewhere", {.container = SECRET_VARIABLE("../s", "k")}},
        {"a secret without a key", {.container = SECRET_VARIABLE("s", "")}},
        {"a secret as a folder",
         {.container = MOUNTED("/s"), .volumes = "{\"name\":\"v\",\"secret\":{\"secretName\":\"s\"}}"}},
        {"a key that the volume does not show",
         {.container = MOUNTED("/s\",\"subPath\":\"b"),
          .volumes = "{\"name\":\"v\",\"secret\":{\"secretName\":\"s\",\"items\":[{\"key\":\"a\","
                     "\"path\":\"a\"}]}}"}},
        {"too many GPUs", {.container = LIMITED("\"nvidia.com/gpu\":1000")}},
        {"a bad quantity", {.container = LIMITED("\"memory\":\"lots\"")}},
        {"an unknown policy", {.spec = "\"runPolicy\":{\"cleanPodPolicy\":\"Sometimes\"},"}},
    };
    /* clang-format on */
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json objects = make_objects(&cases[i].parts);
        struct ty_made_plan made = {.plan = NULL};
        struct ty_error err;
        ty_status status = make_plan(objects, &made, &err);
        if (status != TY_REFUSED || made.plan)
            fail_msg("%s: %s", cases[i].name, ty_status_name(status));
        if (strstr(err.text, "/d/"))
            fail_msg("%s shows a path of the machine: %s", cases[i].name, err.text);
    }
}

static void the_port_to_meet_at_is_the_one_that_was_asked_for(void **state)
{
    static const struct {
        const char *spec;
        int64_t port;
    } cases[] = {
        {NULL,                                                 23456},
        {ELASTIC("\"minReplicas\":1"),                         23456},
        {ELASTIC("\"rdzvPort\":2379"),                         2379 },
        {ELASTIC("\"rdzvPort\":2379,\"rdzvHost\":\"etcd.x\""), 23456},
        {ELASTIC("\"rdzvPort\":70000"),                        23456},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json objects = make_objects(&(struct parts){.spec = cases[i].spec});
        struct ty_made_plan made;
        struct ty_error err;
        assert_int_equal(make_plan(objects, &made, &err), TY_OK);
        assert_int_equal(json_integer_value(json_object_get(made.plan, "port")), cases[i].port);
        ty_made_plan_done(&made);
    }
}

static void secrets_are_named_in_the_plan_and_never_read(void **state)
{
    ty_auto_json objects = make_objects(&(struct parts){
        .container =
            "\"command\":[\"t\",\"$(S)\"],\"env\":["
            "{\"name\":\"S\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"k\"}}},"
            "{\"name\":\"T\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"l\"}}},"
            "{\"name\":\"U\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"k\"}}}],"
            "\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/run/secrets/"
            "x\",\"subPath\":\"p\"}]",
        .volumes = "{\"name\":\"v\",\"secret\":{\"secretName\":\"t\",\"items\":[{\"key\":\"k\","
                   "\"path\":\"p\"}]}}"});
    struct ty_made_plan made;
    struct ty_plan *plan;
    struct ty_error err;
    (void)state;
    assert_int_equal(make_plan(objects, &made, &err), TY_OK);
    assert_string_equal(env_of(made.plan, 0, "S"), "\001job-x:secret:0\001");
    assert_string_equal(env_of(made.plan, 0, "T"), "\001job-x:secret:1\001");
    assert_string_equal(env_of(made.plan, 0, "U"), "\001job-x:secret:0\001");
    const json_t *secrets = json_object_get(made.plan, "secrets");
    ty_auto_json expected = json_pack("{s:s, s:[s, s], s:[s]}", "folder", "/d/secrets/ns",
                                      "variables", "s/k", "s/l", "files", "t/k");
    assert_true(json_equal(secrets, expected));
    assert_int_equal(ty_plan_parse(made.plan, &plan, &err), TY_OK);
    assert_string_equal(plan->replicas[0].argv[1], "\001job-x:secret:0\001");
    assert_int_equal(plan->replicas[0].mount_count, 1);
    assert_string_equal(plan->replicas[0].mounts[0].source, "/d/secrets/ns/t/k");
    assert_string_equal(plan->replicas[0].mounts[0].target, "/run/secrets/x");
    assert_null(plan->replicas[0].mounts[0].sub_path);
    assert_true(plan->replicas[0].mounts[0].read_only);
    ty_plan_destroy(plan);
    ty_made_plan_done(&made);
}

static void the_folder_of_summaries_is_made_in_the_volume_that_holds_it(void **state)
{
    ty_auto_json objects = make_objects(&(struct parts){
        .container =
            "\"command\":[\"t\"],\"env\":[{\"name\":\"TRAINYARD_TENSORBOARD_DIR\",\"value\":"
            "\"/output/a/b\"}],\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/out\"},"
            "{\"name\":\"v\",\"mountPath\":\"/output\",\"subPath\":\"s\"}]",
        .volumes = CLAIM("p")});
    struct ty_made_plan made;
    struct ty_plan *plan;
    struct ty_error err;
    (void)state;
    assert_int_equal(make_plan(objects, &made, &err), TY_OK);
    assert_int_equal(ty_plan_parse(made.plan, &plan, &err), TY_OK);
    assert_null(plan->replicas[0].mounts[0].make);
    assert_string_equal(plan->replicas[0].mounts[1].make, "a/b");
    ty_plan_destroy(plan);
    ty_made_plan_done(&made);
}

static void what_the_kernel_would_not_take_is_refused(void **state)
{
    static const struct {
        size_t len;
        ty_status expected;
    } cases[] = {
        {128 * 1024 - 2, TY_OK     },
        {128 * 1024 - 1, TY_REFUSED}
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char *container = malloc(cases[i].len + 64);
        int head = snprintf(container, 64, "\"command\":[\"");
        memset(container + head, 'x', cases[i].len);
        snprintf(container + head + cases[i].len, 16, "\"]");
        ty_auto_json objects = make_objects(&(struct parts){.container = container});
        struct ty_made_plan made = {.plan = NULL};
        struct ty_error err;
        assert_int_equal(make_plan(objects, &made, &err), cases[i].expected);
        if (made.plan)
            ty_made_plan_done(&made);
        free(container);
    }
}

static void the_plan_reads_back_with_everything_in_it(void **state)
{
    ty_auto_json objects = make_objects(&(struct parts){
        .spec = "\"runPolicy\":{\"cleanPodPolicy\":\"All\",\"backoffLimit\":3,"
                "\"activeDeadlineSeconds\":60},",
        .container = "\"command\":[\"a\",\"$(LR)\"],\"args\":[\"$$x\"],\"workingDir\":\"/w\","
                     "\"envFrom\":[{\"configMapRef\":{\"name\":\"c\"}}],"
                     "\"resources\":{\"limits\":{\"memory\":\"64Mi\",\"cpu\":\"1500m\"}},"
                     "\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/out/\",\"subPath\":\"s\"},"
                     "{\"name\":\"code\",\"mountPath\":\"/code\"},{\"name\":\"m\",\"mountPath\":\"/"
                     "dev/shm\"}]",
        .volumes = "{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"data.v1\","
                   "\"readOnly\":true}},"
                   "{\"name\":\"code\",\"configMap\":{\"name\":\"c\",\"items\":[{\"key\":\"a.py\","
                   "\"path\":\"d/t.py\"},"
                   "{\"key\":\"b\",\"path\":\"b\"}]}},"
                   "{\"name\":\"m\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"1Gi\"}}"});
    struct ty_made_plan made;
    struct ty_plan *plan;
    struct ty_error err;
    (void)state;
    assert_int_equal(make_plan(objects, &made, &err), TY_OK);
    assert_int_equal(ty_plan_parse(made.plan, &plan, &err), TY_OK);
    assert_int_equal(plan->attempt, 2);
    assert_int_equal(plan->rules.clean_pods, TY_OP_CLEAN_ALL);
    assert_int_equal(plan->rules.backoff_limit, 3);
    assert_int_equal(plan->rules.deadline_ms, 60000);
    assert_int_equal(plan->rules.restart[TY_OP_MASTER], TY_OP_ON_FAILURE);
    const struct ty_plan_replica *replica = &plan->replicas[0];
    assert_string_equal(replica->argv[1], "0.1");
    assert_string_equal(replica->argv[2], "$x");
    assert_null(replica->argv[3]);
    assert_int_equal(replica->memory_bytes, 64 << 20);
    assert_int_equal(replica->cpu_millis, 1500);
    assert_string_equal(replica->working_dir, "/w");
    assert_int_equal(replica->mount_count, 3);
    assert_string_equal(replica->mounts[0].target, "/code");
    assert_true(replica->mounts[0].read_only);
    assert_int_equal(replica->mounts[1].kind, TY_MOUNT_TMPFS);
    assert_int_equal(replica->mounts[1].size_bytes, 1 << 30);
    assert_string_equal(replica->mounts[2].target, "/out");
    assert_string_equal(replica->mounts[2].source, "/d/volumes/ns/data.v1");
    assert_string_equal(replica->mounts[2].sub_path, "s");
    assert_true(replica->mounts[2].read_only);
    assert_non_null(json_object_get(json_object_get(made.plan, "claims"), "data.v1"));
    assert_int_equal(json_object_size(made.files), 2);
    assert_non_null(json_object_get(made.files, "config/0-code/d/t.py"));
    ty_plan_destroy(plan);
    ty_made_plan_done(&made);
}

static void tokens_are_filled_everywhere(void **state)
{
    ty_auto_json objects = make_objects(
        &(struct parts){.container = "\"command\":[\"--port=$(MASTER_PORT),$(MASTER_PORT)\"]"});
    struct ty_made_plan made;
    struct ty_plan *plan;
    struct ty_error err;
    (void)state;
    assert_int_equal(make_plan(objects, &made, &err), TY_OK);
    assert_int_equal(ty_plan_parse(made.plan, &plan, &err), TY_OK);
    assert_int_equal(ty_plan_fill(plan, "port", "23456", &err), TY_OK);
    assert_string_equal(plan->replicas[0].argv[0], "--port=23456,23456");
    for (size_t i = 0; i < plan->replicas[0].env_count; i++)
        assert_null(strstr(plan->replicas[0].env[i].value, ":port"));
    ty_plan_destroy(plan);
    ty_made_plan_done(&made);
}

static void make_once(void *context)
{
    struct ty_made_plan made;
    struct ty_error err;
    ty_status status = make_plan(context, &made, &err);
    if (status == TY_OK)
        ty_made_plan_done(&made);
    else if (!ty_oom_failed())
        fail_msg("%s", err.text);
}

static void every_allocation_may_fail(void **state)
{
    ty_auto_json objects = make_objects(&(struct parts){
        .container =
            "\"command\":[\"a\"],\"env\":[{\"name\":\"A\",\"value\":\"$(RANK)\"},"
            "{\"name\":\"TRAINYARD_TENSORBOARD_DIR\",\"value\":\"/v/t\"},"
            "{\"name\":\"S\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"k\"}}}],"
            "\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}},"
            "\"volumeMounts\":[{\"name\":\"code\",\"mountPath\":\"/code\"},"
            "{\"name\":\"s\",\"mountPath\":\"/s\",\"subPath\":\"k\"},"
            "{\"name\":\"v\",\"mountPath\":\"/v\"}]",
        .volumes = "{\"name\":\"code\",\"configMap\":{\"name\":\"c\"}},"
                   "{\"name\":\"s\",\"secret\":{\"secretName\":\"s\"}},"
                   "{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"p\"}}"});
    (void)state;
    assert_true(ty_oom_sweep(make_once, objects) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_operators_variables_are_exact),
        cmocka_unit_test(an_elastic_plan_has_every_replica_there_can_be_and_a_size),
        cmocka_unit_test(a_size_that_cannot_be_is_no_plan),
        cmocka_unit_test(what_can_never_run_here_is_refused),
        cmocka_unit_test(the_port_to_meet_at_is_the_one_that_was_asked_for),
        cmocka_unit_test(secrets_are_named_in_the_plan_and_never_read),
        cmocka_unit_test(the_folder_of_summaries_is_made_in_the_volume_that_holds_it),
        cmocka_unit_test(what_the_kernel_would_not_take_is_refused),
        cmocka_unit_test(the_plan_reads_back_with_everything_in_it),
        cmocka_unit_test(tokens_are_filled_everywhere),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
