/* What each member of the spec becomes in the objects: one row a meaning. */
#include "../domain/spec_text.h"
#include "manifest_check.h"

#define JOB_ID "job_01j9z3k4m5n6p7q8r9s0t1v2w3"
#define OBJECT "job-s0t1v2w3"

/* Where a row looks, and what must stand there as JSON (' for "); NULL = nothing. */
struct row {
    const char *members; /* of a body with image and script, unless it brings a command */
    const char *place;   /* J job, M and W pods, MC and WC containers of the roles */
    const char *path;    /* below the place */
    const char *expected;
};

static json_t *render_body(const json_t *body, int32_t attempt)
{
    struct ty_job_spec *spec = spec_of_json(body);
    struct ty_render_input input = {spec, JOB_ID, OBJECT, "team-a", "team", NULL, attempt};
    struct ty_manifest manifest = {0};
    struct ty_faults faults;

    ty_faults_init(&faults);
    assert_int_equal(ty_renderer_pytorchjob.render(&input, &manifest, &faults, NULL), TY_OK);
    const char *broken = manifest_check(manifest.objects, OBJECT);

    if (broken)
        print_error("broken: %s\n", broken);
    assert_null(broken);
    ty_job_spec_destroy(spec);
    return manifest.objects;
}

static json_t *body_with(const char *members)
{
    char *text = NULL;
    bool command = strstr(members, "'command':") == members;

    assert_true(asprintf(&text, "{'image':'a:1'%s%s%s}", command ? "" : ",'script':'x'",
                         members[0] ? "," : "", members) > 0);
    json_t *body = json_of(text);

    free(text);
    return body;
}

static const json_t *job_of(const json_t *objects)
{
    return json_array_get(objects, json_array_size(objects) - 1);
}

static const json_t *place_of(const json_t *objects, const char *place)
{
    const json_t *job = job_of(objects);
    const json_t *roles = manifest_at(job, "spec.pytorchReplicaSpecs");

    if (place[0] == 'J')
        return job;
    const json_t *pod =
        manifest_at(json_object_get(roles, place[0] == 'M' ? "Master" : "Worker"), "template.spec");

    return place[1] == 'C' ? json_array_get(json_object_get(pod, "containers"), 0) : pod;
}

/* "env/NAME" and "volumes/NAME" and "volumeMounts//path" pick an item of an array. */
static const json_t *look(const json_t *at, const char *path)
{
    const char *slash = strchr(path, '/');
    const char *member = "name";
    char array[64];
    size_t i;
    json_t *item;

    if (!slash)
        return path[0] ? manifest_at(at, path) : at;
    snprintf(array, sizeof(array), "%.*s", (int)(slash - path), path);
    if (ty_str_equal(array, "volumeMounts"))
        member = "mountPath";
    json_array_foreach(json_object_get(at, array), i, item)
    {
        if (ty_str_equal(manifest_text(item, member), slash + 1))
            return item;
    }
    return NULL;
}

static void check_row(const struct row *row)
{
    json_t *body = body_with(row->members);
    json_t *objects = render_body(body, 2);
    const json_t *found = look(place_of(objects, row->place), row->path);
    char *text = NULL;
    json_t *expected = NULL;

    if (row->expected) {
        assert_true(asprintf(&text, "[%s]", row->expected) > 0);
        expected = json_of(text);
    }
    bool equal = expected ? found && json_equal(found, json_array_get(expected, 0)) : !found;

    if (!equal) {
        char *is = found ? json_dumps(found, JSON_ENCODE_ANY) : NULL;

        print_error("%s: %s %s is\n%s\n", row->members, row->place, row->path, is ? is : "absent");
        free(is);
    }
    assert_true(equal);
    json_decref(expected);
    free(text);
    json_decref(objects);
    json_decref(body);
}

#define SECRET_ENV "'secrets':[{'name':'s','key':'k-1','env':'TOKEN'}]"
#define SECRET_FILE                                                                                \
    "'secrets':[{'name':'s','key':'k','path':'/run/secrets/a'},{'name':'s','key':'l','path':'/"    \
    "l'}]"
#define SECRET_SAME                                                                                \
    "'secrets':[{'name':'s','key':'k','path':'/a'},{'name':'s','key':'k','path':'/b'}]"
#define ELASTIC "'elastic':{'min':2,'max':5}"
#define CREATE                                                                                     \
    "'claim':'named','create':{'size':'5Gi','access_mode':'read_write_many','storage_class':'nfs'" \
    "}"
#define EXPRESSIONS                                                                                \
    "{'key':'a','operator':'in','values':['x','y']},{'key':'b','operator':'not_in','values':['']}" \
    ","                                                                                            \
    "{'key':'c','operator':'exists'},{'key':'d.e/f','operator':'does_not_exist','values':[]},"     \
    "{'key':'g','operator':'gt','values':['1']},{'key':'h','operator':'lt','values':['9']}"
#define RENDERED_EXPRESSIONS                                                                       \
    "{'key':'a','operator':'In','values':['x','y']},{'key':'b','operator':'NotIn','values':['']}," \
    "{'key':'c','operator':'Exists'},{'key':'d.e/f','operator':'DoesNotExist'},"                   \
    "{'key':'g','operator':'Gt','values':['1']},{'key':'h','operator':'Lt','values':['9']}"

/* clang-format off */
static const struct row rows[] = {
    /* secrets are named, never shown */
    {SECRET_ENV, "MC", "env/TOKEN", "{'name':'TOKEN','valueFrom':{'secretKeyRef':{'name':'s','key':'k-1'}}}"},
    {SECRET_ENV, "M", "volumes/secret-1", NULL},
    {SECRET_ENV ",'replicas':2", "WC", "env/TOKEN", "{'name':'TOKEN','valueFrom':{'secretKeyRef':{'name':'s','key':'k-1'}}}"},
    {SECRET_ENV ",'replicas':2,'worker':{'secrets':[]}", "WC", "env/TOKEN", NULL},
    {SECRET_ENV ",'replicas':2,'worker':{'secrets':[]}", "MC", "env/TOKEN", "{'name':'TOKEN','valueFrom':{'secretKeyRef':{'name':'s','key':'k-1'}}}"},
    {"'secrets':[{'name':'s','key':'KEY'}]", "MC", "env/KEY", "{'name':'KEY','valueFrom':{'secretKeyRef':{'name':'s','key':'KEY'}}}"},
    {SECRET_FILE, "M", "volumes/secret-1", "{'name':'secret-1','secret':{'secretName':'s','defaultMode':292,'items':[{'key':'k','path':'k'},{'key':'l','path':'l'}]}}"},
    {SECRET_FILE, "MC", "volumeMounts//run/secrets/a", "{'name':'secret-1','mountPath':'/run/secrets/a','subPath':'k','readOnly':true}"},
    {SECRET_FILE, "MC", "volumeMounts//l", "{'name':'secret-1','mountPath':'/l','subPath':'l','readOnly':true}"},
    {SECRET_SAME, "M", "volumes/secret-1", "{'name':'secret-1','secret':{'secretName':'s','defaultMode':292,'items':[{'key':'k','path':'k'}]}}"},
    {SECRET_SAME, "MC", "volumeMounts//b", "{'name':'secret-1','mountPath':'/b','subPath':'k','readOnly':true}"},

    /* placement */
    {"", "M", "nodeSelector", NULL},
    {"", "M", "affinity", NULL},
    {"", "M", "tolerations", NULL},
    {"", "M", "priorityClassName", NULL},
    {"", "M", "schedulerName", NULL},
    {"'node_selector':{},'affinity':{},'tolerations':[]", "M", "nodeSelector", NULL},
    {"'node_selector':{},'affinity':{'node':{},'pods':{}},'tolerations':[]", "M", "affinity", NULL},
    {"'node_selector':{'accelerator':'nvidia-tesla-v100'}", "M", "nodeSelector", "{'accelerator':'nvidia-tesla-v100'}"},
    {"'node_selector':{'a':'1'},'replicas':2,'worker':{'node_selector':{'b':'2'}}", "W", "nodeSelector", "{'b':'2'}"},
    {"'node_selector':{'a':'1'},'replicas':2,'worker':{'node_selector':{'b':'2'}}", "M", "nodeSelector", "{'a':'1'}"},
    {"'node_selector':{'a':'1'},'replicas':2,'worker':{'node_selector':{}}", "W", "nodeSelector", NULL},
    {"'affinity':{'node':{'required':[{'match':[" EXPRESSIONS "]}]}}", "M", "affinity",
     "{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchExpressions':[" RENDERED_EXPRESSIONS "]}]}}}"},
    {"'affinity':{'node':{'required':[{'match_fields':[{'key':'metadata.name','operator':'not_in','values':['n1']}]},{'match':[{'key':'k','operator':'exists'}]}]}}", "M",
     "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
     "{'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'NotIn','values':['n1']}]},{'matchExpressions':[{'key':'k','operator':'Exists'}]}]}"},
    {"'affinity':{'node':{'preferred':[{'weight':7,'match':[{'key':'k','operator':'exists'}]}]}}", "M", "affinity",
     "{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':7,'preference':{'matchExpressions':[{'key':'k','operator':'Exists'}]}}]}}"},
    {"'affinity':{'pods':{'required':[{'labels':{'app':'x'},'topology_key':'zone','namespaces':['n','m']}]}}", "M", "affinity",
     "{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{'matchLabels':{'app':'x'}},'topologyKey':'zone','namespaces':['n','m']}]}}"},
    {"'affinity':{'pods_apart':{'preferred':[{'weight':100,'labels':{'app':'pytorch-training'},'topology_key':'kubernetes.io/hostname'}]}}", "M", "affinity",
     "{'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':100,'podAffinityTerm':{'labelSelector':{'matchLabels':{'app':'pytorch-training'}},'topologyKey':'kubernetes.io/hostname'}}]}}"},
    {"'affinity':{'pods_apart':{'required':[{'labels':{},'topology_key':'t'}]}}", "M", "affinity",
     "{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{},'topologyKey':'t'}]}}"},
    {"'affinity':{'pods':{'required':[{'match':[{'key':'k','operator':'not_in','values':['v']}],'topology_key':'t'}]}}", "M", "affinity",
     "{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{'matchExpressions':[{'key':'k','operator':'NotIn','values':['v']}]},'topologyKey':'t'}]}}"},
    {"'affinity':{'node':{'required':[{'match':[{'key':'k','operator':'exists'}]}]}},'replicas':2,'worker':{'affinity':{}}", "W", "affinity", NULL},
    {"'tolerations':[{'key':'nvidia.com/gpu','operator':'exists','effect':'no_schedule'}]", "M", "tolerations", "[{'key':'nvidia.com/gpu','operator':'Exists','effect':'NoSchedule'}]"},
    {"'tolerations':[{'key':'k','value':'v'}]", "M", "tolerations", "[{'key':'k','operator':'Equal','value':'v'}]"},
    {"'tolerations':[{'key':'k','value':'','effect':'prefer_no_schedule'}]", "M", "tolerations", "[{'key':'k','operator':'Equal','effect':'PreferNoSchedule'}]"},
    {"'tolerations':[{'operator':'exists'}]", "M", "tolerations", "[{'operator':'Exists'}]"},
    {"'tolerations':[{'operator':'exists','effect':'no_execute','seconds':0}]", "M", "tolerations", "[{'operator':'Exists','effect':'NoExecute','tolerationSeconds':0}]"},
    {"'replicas':2,'worker':{'tolerations':[{'operator':'exists'}]}", "M", "tolerations", NULL},
    {"'priority_class':'high','scheduler':'volcano'", "M", "priorityClassName", "'high'"},
    {"'priority_class':'high','scheduler':'volcano','replicas':2", "W", "schedulerName", "'volcano'"},

    /* queue and gang: the label is the gateway's alone, on the job */
    {"'queue':'team-a'", "J", "metadata.labels", "{'app.kubernetes.io/managed-by':'trainyard','trainyard.dev/job-id':'" JOB_ID "','trainyard.dev/job-name':'job','trainyard.dev/tenant':'team','kueue.x-k8s.io/queue-name':'team-a'}"},
    {"'queue':'team-a'", "J", "spec.runPolicy.schedulingPolicy", NULL},
    {"'priority_class':'high'", "J", "spec.runPolicy.schedulingPolicy", NULL},
    {"'replicas':3,'gang':{}", "J", "spec.runPolicy.schedulingPolicy", "{'minAvailable':3}"},
    {"'replicas':3,'gang':{'min_available':2,'timeout_seconds':60},'queue':'q','priority_class':'high'", "J", "spec.runPolicy.schedulingPolicy",
     "{'minAvailable':2,'scheduleTimeoutSeconds':60,'queue':'q','priorityClass':'high'}"},
    {"'gang':{}," ELASTIC ",'replicas':4", "J", "spec.runPolicy.schedulingPolicy", "{'minAvailable':2}"},

    /* elastic: workers alone, a meeting of the attempt's own */
    {"", "J", "spec.elasticPolicy", NULL},
    {ELASTIC, "J", "spec.elasticPolicy", "{'minReplicas':2,'maxReplicas':5,'rdzvBackend':'c10d','rdzvId':'" OBJECT "-2'}"},
    {ELASTIC, "J", "spec.pytorchReplicaSpecs.Master", NULL},
    {ELASTIC, "J", "spec.pytorchReplicaSpecs.Worker.replicas", "2"},
    {ELASTIC ",'replicas':5", "J", "spec.pytorchReplicaSpecs.Worker.replicas", "5"},
    {ELASTIC, "WC", "command", "['torchrun','/trainyard/scripts/train.py']"},
    {ELASTIC ",'gpus':4", "J", "spec.nprocPerNode", "'4'"},
    {ELASTIC ",'processes_per_replica':3", "J", "spec.nprocPerNode", "'3'"},
    {ELASTIC ",'worker':{'gpus':2}", "J", "spec.nprocPerNode", "'2'"},
    {ELASTIC ",'worker':{'gpus':2,'image':'w:2'}", "WC", "image", "'w:2'"},
    {"'command':['python','t.py']," ELASTIC, "WC", "command", "['python','t.py']"},
    {"'elastic':{'min':1,'max':3,'max_restarts':0,'rendezvous':{'backend':'etcd-v2','host':'etcd.x','port':2379,'id':'mine','conf':{'b':'$1','a':5}}}", "J", "spec.elasticPolicy",
     "{'minReplicas':1,'maxReplicas':3,'rdzvBackend':'etcd-v2','rdzvId':'mine','rdzvHost':'etcd.x','rdzvPort':2379,'maxRestarts':0,'rdzvConf':[{'key':'a','value':'5'},{'key':'b','value':'$$1'}]}"},
    {ELASTIC ",'restart':'exit_code'", "J", "spec.pytorchReplicaSpecs.Worker.restartPolicy", "'ExitCode'"},

    /* programs of roles */
    {"'command':[]", "MC", "command", NULL},
    {"'command':[]", "MC", "args", NULL},
    {"'command':[]", "MC", "workingDir", NULL},
    {"'command':[],'working_dir':'/workspace'", "MC", "workingDir", "'/workspace'"},
    {"'command':['x']", "MC", "workingDir", "'/workspace'"},
    {"'command':[],'args':['--x','1']", "MC", "args", "['--x','1']"},
    {"'command':[],'epochs':2,'replicas':2,'worker':{'command':['w']}", "WC", "command", "['w']"},
    {"'command':[],'epochs':2,'replicas':2,'worker':{'command':['w']}", "WC", "args", "['--epochs=2']"},
    {"'replicas':2,'master':{'command':[]}", "MC", "command", NULL},
    {"'replicas':2,'master':{'command':[]}", "WC", "command", "['python3','/trainyard/scripts/train.py']"},
    {"'replicas':2,'worker':{'command':['sh','-c','echo $(RANK) $X']}", "WC", "command", "['sh','-c','echo $(RANK) $$X']"},
    {"'working_dir':'/a','replicas':2,'worker':{'working_dir':'/b'}", "MC", "workingDir", "'/a'"},
    {"'working_dir':'/a','replicas':2,'worker':{'working_dir':'/b'}", "WC", "workingDir", "'/b'"},
    {"'replicas':2,'worker':{'working_dir':'/b'}", "MC", "workingDir", "'/workspace'"},
    {"'gpus':1,'replicas':2,'worker':{'gpus':4}", "MC", "resources.limits", "{'nvidia.com/gpu':'1'}"},
    {"'gpus':1,'replicas':2,'worker':{'gpus':4}", "WC", "resources.requests", "{'nvidia.com/gpu':'4'}"},
    {"'gpus':1,'replicas':2,'master':{'gpus':0}", "MC", "resources.limits", "{}"},
    {"'gpus':1,'replicas':2,'master':{'gpus':0}", "MC", "env/TRAINYARD_BACKEND", "{'name':'TRAINYARD_BACKEND','value':'gloo'}"},
    {"'gpus':1,'replicas':2", "MC", "env/TRAINYARD_BACKEND", "{'name':'TRAINYARD_BACKEND','value':'nccl'}"},
    {"'launcher':'torchrun','gpus':4,'replicas':2,'worker':{'gpus':2}", "J", "spec.nprocPerNode", "'2'"},
    {"'shared_memory':'1Gi','replicas':2,'worker':{'shared_memory':'2Gi'}", "M", "volumes/shared-memory", "{'name':'shared-memory','emptyDir':{'medium':'Memory','sizeLimit':'1Gi'}}"},
    {"'shared_memory':'1Gi','replicas':2,'worker':{'shared_memory':'2Gi'}", "W", "volumes/shared-memory", "{'name':'shared-memory','emptyDir':{'medium':'Memory','sizeLimit':'2Gi'}}"},
    {"'shared_memory':'1Gi','replicas':2,'worker':{'resources':{'memory':'8Gi'}}", "W", "volumes/shared-memory", "{'name':'shared-memory','emptyDir':{'medium':'Memory','sizeLimit':'1Gi'}}"},
    {"'replicas':2,'worker':{'resources':{'memory':'8Gi'}}", "W", "volumes/shared-memory", "{'name':'shared-memory','emptyDir':{'medium':'Memory','sizeLimit':'4Gi'}}"},

    /* volumes */
    {"'volumes':[{'scratch':{},'mount_path':'/s'}]", "M", "volumes/scratch-0", "{'name':'scratch-0','emptyDir':{}}"},
    {"'volumes':[{'scratch':{},'mount_path':'/s'}]", "MC", "volumeMounts//s", "{'name':'scratch-0','mountPath':'/s'}"},
    {"'volumes':[{'scratch':{'size':'2Gi'},'mount_path':'/s'}]", "M", "volumes/scratch-0", "{'name':'scratch-0','emptyDir':{'sizeLimit':'2Gi'}}"},
    {"'volumes':[{'scratch':{'size':'2Gi','memory':true},'mount_path':'/s'}]", "M", "volumes/scratch-0", "{'name':'scratch-0','emptyDir':{'medium':'Memory','sizeLimit':'2Gi'}}"},
    {"'volumes':[{'files':[{'path':'a/b c','content':'x'},{'path':'d','content':''}],'mount_path':'/f'}]", "M", "volumes/files-0",
     "{'name':'files-0','configMap':{'name':'" OBJECT "-volume-0','defaultMode':292,'items':[{'key':'file.0','path':'a/b c'},{'key':'d','path':'d'}]}}"},
    {"'volumes':[{'files':[{'path':'d','content':''}],'mount_path':'/f'}]", "MC", "volumeMounts//f", "{'name':'files-0','mountPath':'/f','readOnly':true}"},
    {"'volumes':[{" CREATE ",'mount_path':'/n'}]", "M", "volumes/claim-0", "{'name':'claim-0','persistentVolumeClaim':{'claimName':'named'}}"},
    {"'volumes':[{" CREATE ",'mount_path':'/n'},{'claim':'named','mount_path':'/m','read_only':true}]", "MC", "volumeMounts//m", "{'name':'claim-0','mountPath':'/m','readOnly':true}"},

    /* where training reports to */
    {"'tensorboard':{}", "MC", "env/TRAINYARD_TENSORBOARD_DIR", "{'name':'TRAINYARD_TENSORBOARD_DIR','value':'/output/tensorboard'}"},
    {"'tensorboard':{'path':'runs/tb'},'output':{'claim':'o','mount_path':'/results'}", "MC", "env/TRAINYARD_TENSORBOARD_DIR", "{'name':'TRAINYARD_TENSORBOARD_DIR','value':'/results/runs/tb'}"},
    {"", "MC", "env/TRAINYARD_TENSORBOARD_DIR", NULL},
    {"'mlflow':{'tracking_uri':'http://m:5000','experiment':'$x'}", "MC", "env/MLFLOW_TRACKING_URI", "{'name':'MLFLOW_TRACKING_URI','value':'http://m:5000'}"},
    {"'mlflow':{'tracking_uri':'http://m:5000','experiment':'$x'}", "MC", "env/MLFLOW_EXPERIMENT_NAME", "{'name':'MLFLOW_EXPERIMENT_NAME','value':'$$x'}"},
    {"'name':'mnist','mlflow':{}", "MC", "env/MLFLOW_RUN_NAME", "{'name':'MLFLOW_RUN_NAME','value':'mnist'}"},
    {"'mlflow':{'run_name':'first'}", "MC", "env/MLFLOW_RUN_NAME", "{'name':'MLFLOW_RUN_NAME','value':'first'}"},
    {"'mlflow':{}", "MC", "env/MLFLOW_TRACKING_URI", NULL},
};
/* clang-format on */

static void every_member_becomes_what_the_cluster_calls_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++)
        check_row(&rows[i]);
}

static const json_t *object_of(const json_t *objects, const char *kind, const char *name)
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

static void a_claim_with_a_name_is_made_without_a_mark_of_the_job(void **state)
{
    json_t *body = body_with("'replicas':2,'volumes':[{" CREATE ",'mount_path':'/n'},"
                             "{'create':{'size':'1Gi'},'mount_path':'/o'}]");
    json_t *objects = render_body(body, 1);
    const json_t *named = object_of(objects, "PersistentVolumeClaim", "named");
    const json_t *own = object_of(objects, "PersistentVolumeClaim", OBJECT "-volume-1");
    json_t *expected = json_of("{'accessModes':['ReadWriteMany'],'resources':{'requests':{"
                               "'storage':'5Gi'}},'storageClassName':'nfs'}");

    (void)state;
    assert_non_null(named);
    assert_true(json_equal(json_object_get(named, "spec"), expected));
    assert_null(json_object_get(manifest_at(named, "metadata.labels"), "trainyard.dev/job-id"));
    assert_non_null(own);
    assert_non_null(json_object_get(manifest_at(own, "metadata.labels"), "trainyard.dev/job-id"));
    assert_int_equal(json_array_size(objects), 5); /* these, the output, the script, the job */
    json_decref(expected);
    json_decref(objects);
    json_decref(body);
}

static void two_jobs_that_make_a_claim_by_name_make_the_same(void **state)
{
    json_t *body = body_with("'volumes':[{" CREATE ",'mount_path':'/n'}]");
    json_t *first = render_body(body, 1);
    struct ty_job_spec *spec = spec_of_json(body);
    struct ty_render_input input = {
        spec, "job_01j9z3k4m5n6p7q8r9s0t1v2w4", "job-other", "team-a", "team", NULL, 1};
    struct ty_manifest second = {0};
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    assert_int_equal(ty_renderer_pytorchjob.render(&input, &second, &faults, NULL), TY_OK);
    assert_true(json_equal(object_of(first, "PersistentVolumeClaim", "named"),
                           object_of(second.objects, "PersistentVolumeClaim", "named")));
    ty_manifest_done(&second);
    ty_job_spec_destroy(spec);
    json_decref(first);
    json_decref(body);
}

static void the_files_of_a_volume_have_a_config_map_each(void **state)
{
    json_t *body = body_with(
        "'replicas':2,'volumes':[{'files':[{'path':'a','content':'one'},"
        "{'path':'b','content':'AP8=','encoding':'base64'}],'mount_path':'/f'}],"
        "'worker':{'volumes':[{'files':[{'path':'a','content':'two'}],'mount_path':'/g'}]}");
    json_t *objects = render_body(body, 1);
    const json_t *of_job = object_of(objects, "ConfigMap", OBJECT "-volume-0");
    const json_t *of_worker = object_of(objects, "ConfigMap", OBJECT "-worker-volume-0");

    (void)state;
    assert_string_equal(manifest_text(of_job, "data.a"), "one");
    assert_string_equal(manifest_text(of_job, "binaryData.b"), "AP8=");
    assert_string_equal(manifest_text(of_worker, "data.a"), "two");
    assert_null(look(place_of(objects, "MC"), "volumeMounts//g"));
    assert_non_null(look(place_of(objects, "WC"), "volumeMounts//g"));
    json_decref(objects);
    json_decref(body);
}

static void an_absent_role_brings_no_objects_of_its_own(void **state)
{
    json_t *body =
        body_with("'worker':{'volumes':[{'files':[{'path':'a','content':'two'}],'mount_path':'/g'},"
                  "{'create':{'size':'1Gi'},'mount_path':'/c'}]}");
    json_t *objects = render_body(body, 1);

    (void)state;
    assert_null(object_of(objects, "ConfigMap", OBJECT "-worker-volume-0"));
    assert_null(object_of(objects, "PersistentVolumeClaim", OBJECT "-worker-volume-1"));
    json_decref(objects);
    json_decref(body);
}

/* A store outside the job would find the meeting of an earlier attempt closed. */
static void each_attempt_meets_under_an_id_of_its_own(void **state)
{
    json_t *body = body_with(ELASTIC);
    static const struct {
        int32_t attempt;
        const char *id;
    } cases[] = {
        {0, OBJECT "-1"},
        {1, OBJECT "-1"},
        {7, OBJECT "-7"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        json_t *objects = render_body(body, cases[i].attempt);

        assert_string_equal(manifest_text(job_of(objects), "spec.elasticPolicy.rdzvId"),
                            cases[i].id);
        json_decref(objects);
    }
    json_decref(body);
}

static void a_scaled_job_keeps_everything_but_its_number_of_workers(void **state)
{
    json_t *body = body_with(ELASTIC ",'gang':{}");
    json_t *before = render_body(body, 1);
    struct ty_job_spec *spec = spec_of_json(body);
    struct ty_render_input input = {spec, JOB_ID, OBJECT, "team-a", "team", NULL, 1};
    struct ty_manifest after = {0};
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    ty_job_spec_scale(spec, 5);
    assert_int_equal(ty_renderer_pytorchjob.render(&input, &after, &faults, NULL), TY_OK);
    json_t *worker = manifest_at(job_of(after.objects), "spec.pytorchReplicaSpecs.Worker");

    assert_int_equal(json_integer_value(json_object_get(worker, "replicas")), 5);
    json_object_set_new(worker, "replicas", json_integer(2));
    assert_true(json_equal(json_object_get(job_of(after.objects), "spec"),
                           json_object_get(job_of(before), "spec")));
    ty_manifest_done(&after);
    ty_job_spec_destroy(spec);
    json_decref(before);
    json_decref(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_becomes_what_the_cluster_calls_it),
        cmocka_unit_test(a_claim_with_a_name_is_made_without_a_mark_of_the_job),
        cmocka_unit_test(two_jobs_that_make_a_claim_by_name_make_the_same),
        cmocka_unit_test(the_files_of_a_volume_have_a_config_map_each),
        cmocka_unit_test(an_absent_role_brings_no_objects_of_its_own),
        cmocka_unit_test(each_attempt_meets_under_an_id_of_its_own),
        cmocka_unit_test(a_scaled_job_keeps_everything_but_its_number_of_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
