/* Secrets, volumes of every kind, placement, elastic and gang jobs, roles of their own: what is
 * refused at which pointer, and what allowed bodies become. */
#include "spec_text.h"

#include "trainyard/base/str.h"

#define WITH(members) "{'image':'a/b:1','script':'x'," members "}"
#define SECRETS(...)  WITH("'secrets':[" __VA_ARGS__ "]")
#define SECRET(...)   SECRETS("{'name':'s','key':'k'," __VA_ARGS__ "}")
#define VOLUME(...)   WITH("'volumes':[{'mount_path':'/v'," __VA_ARGS__ "}]")
#define FILES(...)    "'files':[" __VA_ARGS__ "]"
#define A_FILE        "{'path':'p','content':'x'}"
#define MATCH(...)    WITH("'affinity':{'node':{'required':[{'match':[{" __VA_ARGS__ "}]}]}}")
#define FIELD(...)    WITH("'affinity':{'node':{'required':[{'match_fields':[{" __VA_ARGS__ "}]}]}}")
#define POD(...)      WITH("'affinity':{'pods':{'required':[{" __VA_ARGS__ "}]}}")
#define TOLERATE(...) WITH("'tolerations':[{" __VA_ARGS__ "}]")
#define ELASTIC(...)  WITH("'elastic':{" __VA_ARGS__ "}")
#define MEETING(...)  ELASTIC("'min':1,'max':2,'rendezvous':{" __VA_ARGS__ "}")
#define MLFLOW(...)   WITH("'mlflow':{" __VA_ARGS__ "}")

#define MATCH_AT   "/affinity/node/required/0/match/0"
#define FIELD_AT   "/affinity/node/required/0/match_fields/0"
#define POD_AT     "/affinity/pods/required/0"
#define MEETING_AT "/elastic/rendezvous"

struct refusal {
    const char *body;
    const char *where;
    const char *code;
};

/* clang-format off */
static const struct refusal refusals[] = {
    /* secrets */
    {WITH("'secrets':{}"), "/secrets", "wrong_type"},
    {SECRETS("'s'"), "/secrets/0", "wrong_type"},
    {SECRETS("{'key':'k','env':'A'}"), "/secrets/0/name", "required"},
    {SECRETS("{'name':'s','env':'A'}"), "/secrets/0/key", "required"},
    {SECRETS("{'name':'S','key':'k','env':'A'}"), "/secrets/0/name", "secret_name_invalid"},
    {SECRETS("{'name':'../s','key':'k','env':'A'}"), "/secrets/0/name", "secret_name_invalid"},
    {SECRETS("{'name':'s','key':'a/b','env':'A'}"), "/secrets/0/key", "secret_key_invalid"},
    {SECRETS("{'name':'s','key':'..','env':'A'}"), "/secrets/0/key", "secret_key_invalid"},
    {SECRETS("{'name':'s','key':'.','env':'A'}"), "/secrets/0/key", "secret_key_invalid"},
    {SECRETS("{'name':'s','key':'..x','env':'A'}"), "/secrets/0/key", "secret_key_invalid"},
    {SECRETS("{'name':'s','key':'k-1'}"), "/secrets/0/env", "required"},
    {SECRETS("{'name':'s','key':'RANK'}"), "/secrets/0/key", "env_name_reserved"},
    {SECRET("'env':'MASTER_ADDR'"), "/secrets/0/env", "env_name_reserved"},
    {SECRET("'env':'a-b'"), "/secrets/0/env", "env_name_invalid"},
    {SECRET("'env':'A','path':'/a'"), "/secrets/0/path", "env_or_path"},
    {SECRET("'path':'a'"), "/secrets/0/path", "path_invalid"},
    {SECRET("'path':'/'"), "/secrets/0/path", "path_invalid"},
    {SECRET("'path':'/run'"), "/secrets/0/path", "path_invalid"},
    {SECRET("'path':'/run/../etc/x'"), "/secrets/0/path", "path_invalid"},
    {SECRET("'path':'/etc/x'"), "/secrets/0/path", "path_invalid"},
    {SECRET("'path':'/dev/shm/x'"), "/secrets/0/path", "path_invalid"},
    {SECRET("'path':'/trainyard/scripts/x'"), "/secrets/0/path", "path_invalid"},
    {SECRET("'value':'x'"), "/secrets/0/value", "unknown_member"},
    {SECRETS("{'name':'s','key':'k','env':'A'},{'name':'t','key':'k','env':'A'}"), "/secrets/1/env", "env_name_taken"},
    {SECRETS("{'name':'s','key':'k','path':'/a'},{'name':'s','key':'l','path':'/a'}"), "/secrets/1/path", "file_path_taken"},
    {SECRETS("{'name':'s','key':'k','path':'/a/b'},{'name':'s','key':'l','path':'/a'}"), "/secrets/1/path", "file_path_taken"},
    {SECRETS("{'name':'s','key':'k','path':'/a'},{'name':'s','key':'l','path':'/a/b'}"), "/secrets/1/path", "file_path_taken"},
    {WITH("'env':{'A':'1'},'secrets':[{'name':'s','key':'k','env':'A'}]"), "/secrets/0/env", "env_name_taken"},
    {WITH("'dataset':'d','secrets':[{'name':'s','key':'k','path':'/data'}]"), "/secrets/0/path", "mount_path_taken"},
    {WITH("'dataset':'d','secrets':[{'name':'s','key':'k','path':'/data/x'}]"), "/secrets/0/path", "mount_path_taken"},
    {SECRET("'path':'/output'"), "/secrets/0/path", "mount_path_taken"},
    {WITH("'volumes':[{'claim':'c','mount_path':'/a/b'}],'secrets':[{'name':'s','key':'k','path':'/a'}]"), "/secrets/0/path", "mount_path_taken"},
    {WITH("'replicas':2,'secrets':[{'name':'s','key':'k','env':'A'}],'worker':{'env':{'A':'1'}}"), "/secrets/0/env", "env_name_taken"},
    {WITH("'replicas':2,'env':{'A':'1'},'worker':{'secrets':[{'name':'s','key':'k','env':'A'}]}"), "/worker/secrets/0/env", "env_name_taken"},
    {WITH("'master':{'secrets':[{'name':'s','key':'k','path':'/etc'}]}"), "/master/secrets/0/path", "path_invalid"},
    {SECRET("'path':'/workspace'"), "/secrets/0/path", "file_path_taken"},
    {WITH("'working_dir':'/a/b','secrets':[{'name':'s','key':'k','path':'/a'}]"), "/secrets/0/path", "file_path_taken"},
    {WITH("'secrets':[{'name':'s','key':'k','path':'/a'}],'worker':{'working_dir':'/a'},'replicas':2"), "/secrets/0/path", "file_path_taken"},

    /* volumes of every kind */
    {VOLUME("'claim':'c','scratch':{}"), "/volumes/0", "volume_kind"},
    {VOLUME("'scratch':{}," FILES(A_FILE)), "/volumes/0", "volume_kind"},
    {VOLUME("'create':{'size':'1Gi'},'scratch':{}"), "/volumes/0", "volume_kind"},
    {VOLUME("'read_only':true"), "/volumes/0", "volume_kind"},
    {VOLUME("'scratch':{},'sub_path':'a'"), "/volumes/0/sub_path", "sub_path_unused"},
    {VOLUME(FILES(A_FILE) ",'sub_path':'a'"), "/volumes/0/sub_path", "sub_path_unused"},
    {VOLUME("'scratch':{},'read_only':true"), "/volumes/0/read_only", "scratch_read_only"},
    {VOLUME(FILES(A_FILE) ",'read_only':false"), "/volumes/0/read_only", "files_read_only"},
    {VOLUME("'scratch':{'size':'1GB'}"), "/volumes/0/scratch/size", "quantity_invalid"},
    {VOLUME("'scratch':{'medium':'Memory'}"), "/volumes/0/scratch/medium", "unknown_member"},
    {VOLUME("'scratch':true"), "/volumes/0/scratch", "wrong_type"},
    {VOLUME("'files':[]"), "/volumes/0/files", "too_short"},
    {VOLUME("'files':{}"), "/volumes/0/files", "wrong_type"},
    {VOLUME(FILES("{'path':'../p','content':'x'}")), "/volumes/0/files/0/path", "file_path_invalid"},
    {VOLUME(FILES(A_FILE "," A_FILE)), "/volumes/0/files/1/path", "file_path_taken"},
    {VOLUME(FILES("{'path':'p','content':'!','encoding':'base64'}")), "/volumes/0/files/0/content", "base64_invalid"},
    {WITH("'volumes':[{'claim':'n','create':{'size':'1Gi'},'mount_path':'/a'},{'claim':'n','create':{'size':'2Gi'},'mount_path':'/b'}]"), "/volumes/1/create", "claim_differs"},
    {WITH("'volumes':[{'claim':'n','create':{'size':'1Gi'},'mount_path':'/a'}],'worker':{'volumes':[{'claim':'n','create':{'size':'1Gi','storage_class':'x'},'mount_path':'/b'}]}"),
     "/worker/volumes/0/create", "claim_differs"},
    {WITH("'volumes':[{'scratch':{},'mount_path':'/output'}]"), "/volumes", "output_not_kept"},
    {WITH("'volumes':[{" FILES(A_FILE) ",'mount_path':'/output'}]"), "/volumes", "output_not_kept"},
    {WITH("'volumes':[{'scratch':{},'mount_path':'/s'}],'checkpoints':{'path':'/s/c'}"), "/checkpoints/path", "checkpoints_not_kept"},

    /* node selector and tolerations */
    {WITH("'node_selector':[]"), "/node_selector", "wrong_type"},
    {WITH("'node_selector':{'a b':'c'}"), "/node_selector/a b", "key_invalid"},
    {WITH("'node_selector':{'/a':'c'}"), "/node_selector/~1a", "key_invalid"},
    {WITH("'node_selector':{'A.b/c':'d'}"), "/node_selector/A.b~1c", "key_invalid"},
    {WITH("'node_selector':{'a/b/c':'d'}"), "/node_selector/a~1b~1c", "key_invalid"},
    {WITH("'node_selector':{'a':'-'}"), "/node_selector/a", "label_invalid"},
    {WITH("'node_selector':{'a':1}"), "/node_selector/a", "wrong_type"},
    {WITH("'worker':{'node_selector':{'a':' '}}"), "/worker/node_selector/a", "label_invalid"},
    {TOLERATE(""), "/tolerations/0/key", "required"},
    {TOLERATE("'value':'v'"), "/tolerations/0/key", "required"},
    {TOLERATE("'key':'a b','operator':'exists'"), "/tolerations/0/key", "key_invalid"},
    {TOLERATE("'key':'k','operator':'exists','value':'v'"), "/tolerations/0/value", "value_unused"},
    {TOLERATE("'key':'k','value':'a b'"), "/tolerations/0/value", "label_invalid"},
    {TOLERATE("'key':'k','effect':'NoSchedule'"), "/tolerations/0/effect", "unknown_value"},
    {TOLERATE("'key':'k','effect':''"), "/tolerations/0/effect", "unknown_value"},
    {TOLERATE("'key':'k','operator':'Exists'"), "/tolerations/0/operator", "unknown_value"},
    {TOLERATE("'key':'k','effect':'no_schedule','seconds':3"), "/tolerations/0/seconds", "seconds_need_no_execute"},
    {TOLERATE("'key':'k','seconds':3"), "/tolerations/0/seconds", "seconds_need_no_execute"},
    {TOLERATE("'key':'k','effect':'no_execute','seconds':-1"), "/tolerations/0/seconds", "out_of_range"},

    /* affinity */
    {WITH("'affinity':{'nodes':{}}"), "/affinity/nodes", "unknown_member"},
    {WITH("'affinity':{'node':[]}"), "/affinity/node", "wrong_type"},
    {WITH("'affinity':{'node':{'required':[{}]}}"), "/affinity/node/required/0", "match_needed"},
    {WITH("'affinity':{'node':{'required':[{'weight':1,'match':[{'key':'k','operator':'exists'}]}]}}"), "/affinity/node/required/0/weight", "unknown_member"},
    {WITH("'affinity':{'node':{'preferred':[{'match':[{'key':'k','operator':'exists'}]}]}}"), "/affinity/node/preferred/0/weight", "required"},
    {WITH("'affinity':{'node':{'preferred':[{'weight':101,'match':[{'key':'k','operator':'exists'}]}]}}"), "/affinity/node/preferred/0/weight", "out_of_range"},
    {MATCH("'operator':'exists'"), MATCH_AT "/key", "required"},
    {MATCH("'key':'k'"), MATCH_AT "/operator", "required"},
    {MATCH("'key':'k','operator':'In','values':['a']"), MATCH_AT "/operator", "unknown_value"},
    {MATCH("'key':'k','operator':'in'"), MATCH_AT "/values", "values_needed"},
    {MATCH("'key':'k','operator':'not_in','values':[]"), MATCH_AT "/values", "values_needed"},
    {MATCH("'key':'k','operator':'exists','values':['a']"), MATCH_AT "/values", "values_unused"},
    {MATCH("'key':'k','operator':'does_not_exist','values':['a']"), MATCH_AT "/values", "values_unused"},
    {MATCH("'key':'k','operator':'gt','values':['a']"), MATCH_AT "/values", "value_not_integer"},
    {MATCH("'key':'k','operator':'lt','values':['1','2']"), MATCH_AT "/values", "value_not_integer"},
    {MATCH("'key':'k','operator':'gt'"), MATCH_AT "/values", "value_not_integer"},
    {MATCH("'key':'k','operator':'in','values':['a','b c']"), MATCH_AT "/values/1", "label_invalid"},
    {MATCH("'key':'k','operator':'in','values':'a'"), MATCH_AT "/values", "wrong_type"},
    {MATCH("'key':'a b','operator':'exists'"), MATCH_AT "/key", "key_invalid"},
    {FIELD("'key':'metadata.labels','operator':'in','values':['n']"), FIELD_AT "/key", "unknown_value"},
    {FIELD("'key':'metadata.name','operator':'exists'"), FIELD_AT "/operator", "unknown_value"},
    {FIELD("'key':'metadata.name','operator':'in','values':['n','m']"), FIELD_AT "/values", "too_many"},
    {FIELD("'key':'metadata.name','operator':'in','values':['N']"), FIELD_AT "/values", "node_name_invalid"},
    {POD("'topology_key':'t'"), POD_AT, "match_needed"},
    {POD("'labels':{}"), POD_AT "/topology_key", "required"},
    {POD("'labels':{},'topology_key':'a b'"), POD_AT "/topology_key", "key_invalid"},
    {POD("'labels':{'a':' '},'topology_key':'t'"), POD_AT "/labels/a", "label_invalid"},
    {POD("'labels':{},'topology_key':'t','namespaces':['N']"), POD_AT "/namespaces/0", "namespace_invalid"},
    {POD("'labels':{},'topology_key':'t','weight':1"), POD_AT "/weight", "unknown_member"},
    {POD("'match':[{'key':'k','operator':'gt','values':['1']}],'topology_key':'t'"), POD_AT "/match/0/operator", "unknown_value"},
    {WITH("'affinity':{'pods_apart':{'preferred':[{'labels':{},'topology_key':'t'}]}}"), "/affinity/pods_apart/preferred/0/weight", "required"},
    {WITH("'master':{'affinity':{'node':{'required':[{}]}}}"), "/master/affinity/node/required/0", "match_needed"},

    /* names of the cluster's own objects */
    {WITH("'priority_class':'High'"), "/priority_class", "name_invalid"},
    {WITH("'queue':'a/b'"), "/queue", "name_invalid"},
    {WITH("'scheduler':'a b'"), "/scheduler", "name_invalid"},

    /* gang */
    {WITH("'gang':true"), "/gang", "wrong_type"},
    {WITH("'gang':{'min_available':2}"), "/gang/min_available", "min_available_too_large"},
    {WITH("'replicas':3,'gang':{'min_available':4}"), "/gang/min_available", "min_available_too_large"},
    {WITH("'elastic':{'min':2,'max':4},'replicas':4,'gang':{'min_available':3}"), "/gang/min_available", "min_available_too_large"},
    {WITH("'gang':{'timeout_seconds':0}"), "/gang/timeout_seconds", "out_of_range"},

    /* elastic */
    {WITH("'elastic':true"), "/elastic", "wrong_type"},
    {ELASTIC("'min':1"), "/elastic/max", "required"},
    {ELASTIC("'max':1"), "/elastic/min", "required"},
    {ELASTIC("'min':0,'max':1"), "/elastic/min", "out_of_range"},
    {ELASTIC("'min':3,'max':2"), "/elastic/max", "max_below_min"},
    {ELASTIC("'min':1,'max':2,'metrics':[]"), "/elastic/metrics", "unknown_member"},
    {ELASTIC("'min':1,'max':2,'standalone':true"), "/elastic/standalone", "unknown_member"},
    {WITH("'elastic':{'min':2,'max':4},'replicas':1"), "/replicas", "replicas_out_of_range"},
    {WITH("'elastic':{'min':2,'max':4},'replicas':5"), "/replicas", "replicas_out_of_range"},
    {WITH("'elastic':{'min':2,'max':4},'master':{}"), "/master", "elastic_has_no_master"},
    {WITH("'elastic':{'min':2,'max':4},'launcher':'python'"), "/launcher", "elastic_needs_torchrun"},
    {WITH("'elastic':{'min':2,'max':4},'restart':'always'"), "/restart", "elastic_never_ends"},
    {MEETING("'backend':'zookeeper'"), MEETING_AT "/backend", "unknown_value"},
    {MEETING("'backend':'etcd'"), MEETING_AT "/host", "required"},
    {MEETING("'backend':'etcd-v2'"), MEETING_AT "/host", "required"},
    {MEETING("'host':'a:1'"), MEETING_AT "/host", "host_invalid"},
    {MEETING("'port':0"), MEETING_AT "/port", "out_of_range"},
    {MEETING("'id':'-'"), MEETING_AT "/id", "id_invalid"},
    {MEETING("'id':''"), MEETING_AT "/id", "too_short"},
    {MEETING("'conf':{}"), MEETING_AT "/conf", "too_short"},
    {MEETING("'conf':{'a':'b,c'}"), MEETING_AT "/conf/a", "option_invalid"},
    {MEETING("'conf':{'a':'b=c'}"), MEETING_AT "/conf/a", "option_invalid"},
    {MEETING("'conf':{'a':''}"), MEETING_AT "/conf/a", "option_invalid"},
    {MEETING("'conf':{'a':'\u00e4'}"), MEETING_AT "/conf/a", "option_invalid"},
    {MEETING("'conf':{'a-b':'c'}"), MEETING_AT "/conf/a-b", "option_name_invalid"},
    {MEETING("'conf':{'a':null}"), MEETING_AT "/conf/a", "wrong_type"},

    /* where training reports to */
    {WITH("'tensorboard':true"), "/tensorboard", "wrong_type"},
    {WITH("'tensorboard':{'path':'/abs'}"), "/tensorboard/path", "path_invalid"},
    {WITH("'tensorboard':{'path':'../x'}"), "/tensorboard/path", "path_invalid"},
    {MLFLOW("'tracking_uri':'mlflow:5000'"), "/mlflow/tracking_uri", "uri_invalid"},
    {MLFLOW("'tracking_uri':'http://'"), "/mlflow/tracking_uri", "uri_invalid"},
    {MLFLOW("'tracking_uri':'http://me:pw@m'"), "/mlflow/tracking_uri", "uri_invalid"},
    {MLFLOW("'tracking_uri':'http://m/a b'"), "/mlflow/tracking_uri", "uri_invalid"},
    {MLFLOW("'tracking_uri':'databricks://me@x'"), "/mlflow/tracking_uri", "uri_invalid"},
    {MLFLOW("'experiment':'a\\nb'"), "/mlflow/experiment", "name_invalid"},
    {MLFLOW("'run_name':''"), "/mlflow/run_name", "too_short"},
    {WITH("'mlflow':{'tracking_uri':'http://m'},'env':{'MLFLOW_TRACKING_URI':'x'}"), "/mlflow/tracking_uri", "env_name_taken"},
    {WITH("'mlflow':{'experiment':'e'},'env':{'MLFLOW_EXPERIMENT_NAME':'x'}"), "/mlflow/experiment", "env_name_taken"},
    {WITH("'mlflow':{},'master':{'env':{'MLFLOW_RUN_NAME':'x'}}"), "/mlflow/run_name", "env_name_taken"},
    {WITH("'mlflow':{'tracking_uri':'http://m'},'secrets':[{'name':'s','key':'k','env':'MLFLOW_TRACKING_URI'}]"), "/mlflow/tracking_uri", "env_name_taken"},

    /* roles of their own */
    {WITH("'master':{'command':['']}"), "/master/command/0", "too_short"},
    {WITH("'worker':{'command':'x'}"), "/worker/command", "wrong_type"},
    {WITH("'worker':{'gpus':65}"), "/worker/gpus", "out_of_range"},
    {WITH("'worker':{'shared_memory':'1GB'}"), "/worker/shared_memory", "quantity_invalid"},
    {WITH("'worker':{'working_dir':'/etc'}"), "/worker/working_dir", "path_invalid"},
    {WITH("'worker':{'launcher':'python'}"), "/worker/launcher", "unknown_member"},
};
/* clang-format on */

static size_t count_faults(const struct ty_faults *faults, const char *where, const char *code)
{
    size_t count = 0;

    for (size_t i = 0; i < faults->count; i++)
        count += ty_str_equal(faults->items[i].where, where) &&
                 ty_str_equal(faults->items[i].code, code);
    return count;
}

/* Once each: what both roles take from the job is told of where it stands, not twice. */
static void every_fault_is_named_once_at_its_pointer(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(refusals); i++) {
        json_t *body = json_of(refusals[i].body);
        struct ty_job_spec *spec = NULL;
        struct ty_faults faults;
        struct ty_error err = {0};

        ty_faults_init(&faults);
        ty_status status = ty_job_spec_parse(body, &spec, &faults, &err);

        if (status != TY_REFUSED ||
            count_faults(&faults, refusals[i].where, refusals[i].code) != 1) {
            print_error("%s: %s at %s\n", refusals[i].body, refusals[i].code, refusals[i].where);
            print_faults(&faults);
        }
        assert_int_equal(status, TY_REFUSED);
        assert_null(spec);
        assert_int_equal(count_faults(&faults, refusals[i].where, refusals[i].code), 1);
        json_decref(body);
    }
}

static void a_fault_of_a_shared_member_is_one_fault(void **state)
{
    static const char *const bodies[] = {
        WITH("'replicas':2,'secrets':[{'name':'s','key':'k','env':'A'}],'env':{'A':'1'}"),
        WITH("'replicas':2,'shared_memory':'1GB'"),
        WITH("'replicas':2,'tolerations':[{}]"),
        WITH("'replicas':2,'mlflow':{},'env':{'MLFLOW_RUN_NAME':'x'}"),
        "{'image':'a:1','command':[''],'replicas':2}",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bodies); i++) {
        json_t *body = json_of(bodies[i]);
        struct ty_job_spec *spec = NULL;
        struct ty_faults faults;
        struct ty_error err = {0};

        ty_faults_init(&faults);
        assert_int_equal(ty_job_spec_parse(body, &spec, &faults, &err), TY_REFUSED);
        if (faults.count != 1)
            print_faults(&faults);
        assert_int_equal(faults.count, 1);
        json_decref(body);
    }
}

static void allowed_combinations_are_allowed(void **state)
{
    /* clang-format off */
    static const char *const bodies[] = {
        SECRETS("{'name':'s','key':'k','path':'/run/secrets/a'},{'name':'s','key':'k','path':'/run/secrets/b'},{'name':'s','key':'K'}"),
        SECRET("'path':'/netrc/.netrc'"),
        SECRET("'path':'/k'"), SECRET("'path':'/workspace/.netrc'"),
        "{'image':'a:1','command':[],'secrets':[{'name':'s','key':'k','path':'/workspace'}]}", /* not its folder */
        SECRETS("{'name':'s.v1','key':'.dockerconfigjson','env':'A'}"),
        WITH("'secrets':[{'name':'s','key':'k','env':'A'}],'worker':{'env':{'A':'1'}}"), /* there is no worker */
        WITH("'replicas':2,'secrets':[{'name':'s','key':'k','env':'A'}],'worker':{'env':{'A':'1'},'secrets':[]}"),
        VOLUME("'claim':'n','create':{'size':'1Gi'}"),
        WITH("'volumes':[{'claim':'n','create':{'size':'1Gi'},'mount_path':'/a'},{'claim':'n','create':{'size':'1Gi'},'mount_path':'/b','sub_path':'s'}]"),
        WITH("'volumes':[{'claim':'n','create':{'size':'1Gi'},'mount_path':'/a'}],'dataset':'n'"),
        VOLUME("'scratch':{}"), VOLUME("'scratch':{'memory':true,'size':'1Gi'},'read_only':false"),
        VOLUME(FILES(A_FILE)), VOLUME(FILES(A_FILE) ",'read_only':true"),
        VOLUME(FILES("{'path':'train.py','content':'x'}")), /* no script lies there */
        WITH("'volumes':[{'scratch':{},'mount_path':'/output'}],'output':{'claim':'o','mount_path':'/out'}"),
        WITH("'volumes':[{'scratch':{},'mount_path':'/checkpoints'}]"),
        WITH("'node_selector':{'node.kubernetes.io/instance-type':'p4d','x':''}"),
        TOLERATE("'operator':'exists'"), TOLERATE("'key':'k'"), TOLERATE("'key':'k','value':''"),
        TOLERATE("'key':'k','operator':'exists','effect':'no_execute','seconds':0"),
        WITH("'affinity':{}"), WITH("'affinity':{'node':{},'pods':{},'pods_apart':{}}"),
        MATCH("'key':'k','operator':'gt','values':['0']"), MATCH("'key':'k','operator':'exists','values':[]"),
        POD("'labels':{},'topology_key':'kubernetes.io/hostname'"),
        WITH("'gang':{},'queue':'team-a','priority_class':'system.high','scheduler':'volcano'"),
        WITH("'replicas':3,'gang':{'min_available':3}"),
        ELASTIC("'min':1,'max':1"), ELASTIC("'min':1,'max':1000,'max_restarts':0"),
        WITH("'elastic':{'min':1,'max':4},'launcher':'torchrun','worker':{'gpus':2},'restart':'never'"),
        "{'image':'a:1','command':['torchrun','t.py'],'elastic':{'min':1,'max':4},'replicas':3}",
        MEETING("'backend':'etcd','host':'etcd.default.svc','port':2379,'conf':{'timeout':900,'protocol':'https'}"),
        MEETING("'host':'10.0.0.1'"),
        WITH("'tensorboard':{}"), WITH("'tensorboard':{'path':'a/b'}"),
        MLFLOW(""), MLFLOW("'tracking_uri':'file:///output/mlruns'"), MLFLOW("'tracking_uri':'databricks://profile'"),
        MLFLOW("'tracking_uri':'https://m/api?x=a@b'"),
        WITH("'mlflow':{},'env':{'MLFLOW_TRACKING_URI':'x'}"),
        "{'image':'a:1','command':[]}", "{'image':'a:1','command':[],'worker':{'command':['x']},'replicas':2}",
        WITH("'master':{'command':[],'gpus':0,'shared_memory':'1Gi','working_dir':'/w'},'gpus':2"),
    };
    /* clang-format on */
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bodies); i++) {
        struct ty_job_spec *spec = spec_of(bodies[i]);

        ty_job_spec_destroy(spec);
    }
}

static void an_elastic_job_has_workers_alone(void **state)
{
    struct ty_job_spec *spec = spec_of(WITH("'elastic':{'min':2,'max':6},'gpus':3"));

    (void)state;
    assert_true(spec->elastic.on);
    assert_int_equal(spec->replicas, 2); /* min, when nothing else is said */
    assert_int_equal(spec->master.replicas, 0);
    assert_int_equal(spec->worker.replicas, 2);
    assert_int_equal(spec->launcher, TY_LAUNCHER_TORCHRUN);
    assert_int_equal(spec->processes_per_replica, 3);
    assert_int_equal(spec->elastic.max_restarts, -1);
    assert_int_equal(ty_job_spec_gpus(spec), 6);
    assert_ptr_equal(ty_job_spec_lead(spec), &spec->worker);
    ty_job_spec_scale(spec, 5);
    assert_int_equal(spec->replicas, 5);
    assert_int_equal(spec->worker.replicas, 5);
    assert_int_equal(ty_job_spec_gpus(spec), 15);
    ty_job_spec_destroy(spec);
}

/* Its results may be written from several nodes as soon as it grows. */
static void the_output_of_an_elastic_job_can_be_mounted_by_all_its_workers(void **state)
{
    struct ty_job_spec *spec = spec_of(WITH("'elastic':{'min':1,'max':4}"));

    (void)state;
    assert_int_equal(spec->worker.volumes[spec->output_volume].access_mode, TY_READ_WRITE_MANY);
    ty_job_spec_destroy(spec);
}

static void the_name_of_an_elastic_job_leaves_room_for_its_highest_worker(void **state)
{
    static const struct {
        size_t len;
        int max;
        bool allowed;
    } cases[] = {
        {45, 10,   true },
        {46, 10,   false},
        {44, 100,  true },
        {45, 100,  false},
        {43, 1000, true },
        {44, 1000, false},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char text[256];
        struct ty_job_spec *spec = NULL;
        struct ty_faults faults;
        struct ty_error err = {0};

        snprintf(text, sizeof(text),
                 "{'name':'%.*s','image':'a:1','script':'x','elastic':{'min':1,'max':%d}}",
                 (int)cases[i].len, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                 cases[i].max);
        json_t *body = json_of(text);

        ty_faults_init(&faults);
        ty_status status = ty_job_spec_parse(body, &spec, &faults, &err);

        assert_int_equal(status, cases[i].allowed ? TY_OK : TY_REFUSED);
        assert_int_equal(count_faults(&faults, "/name", "name_too_long"), !cases[i].allowed);
        ty_job_spec_destroy(spec);
        json_decref(body);
    }
}

static void roles_take_what_is_theirs_and_share_the_rest(void **state)
{
    struct ty_job_spec *spec = spec_of(
        WITH("'replicas':3,'gpus':2,'working_dir':'/w','secrets':[{'name':'s','key':'K'}],"
             "'node_selector':{'a':'1'},'master':{'gpus':0,'command':['m'],'node_selector':{}},"
             "'worker':{'working_dir':'/x','secrets':[],'tolerations':[{'operator':'exists'}]}"));

    (void)state;
    assert_int_equal(spec->master.program, TY_PROGRAM_COMMAND);
    assert_int_equal(spec->master.command_count, 1);
    assert_int_equal(spec->worker.program, TY_PROGRAM_SCRIPT);
    assert_int_equal(spec->worker.command_count, 0);
    assert_int_equal(spec->master.resources.gpus, 0);
    assert_int_equal(spec->worker.resources.gpus, 2);
    assert_int_equal(ty_job_spec_gpus(spec), 4);
    assert_int_equal(spec->backend, TY_BACKEND_GLOO); /* not every replica has GPUs */
    assert_string_equal(spec->master.working_dir, "/w");
    assert_string_equal(spec->worker.working_dir, "/x");
    assert_int_equal(spec->master.secrets->count, 1);
    assert_int_equal(spec->worker.secrets->count, 0);
    assert_int_equal(spec->master.node_selector->count, 0);
    assert_int_equal(spec->worker.node_selector->count, 1);
    assert_int_equal(spec->master.tolerations->count, 0);
    assert_int_equal(spec->worker.tolerations->items[0].seconds, -1);
    assert_ptr_equal(spec->master.affinity, spec->worker.affinity);
    ty_job_spec_destroy(spec);
}

static void claims_with_a_name_belong_to_nobody_and_the_others_to_the_job(void **state)
{
    struct ty_job_spec *spec =
        spec_of(WITH("'volumes':[{'claim':'n','create':{'size':'1Gi'},'mount_path':'/n'},"
                     "{'create':{'size':'1Gi'},'mount_path':'/c'},{'scratch':{},'mount_path':'/s'},"
                     "{" FILES(A_FILE) ",'mount_path':'/f'}]"));
    const struct ty_spec_volume *volumes = spec->master.volumes;
    char claim[TY_CLAIM_NAME];

    (void)state;
    ty_spec_volume_claim(&volumes[0], "job-1", claim);
    assert_string_equal(claim, "n");
    assert_null(volumes[0].suffix);
    ty_spec_volume_claim(&volumes[1], "job-1", claim);
    assert_string_equal(claim, "job-1-volume-1");
    assert_int_equal(volumes[2].kind, TY_VOLUME_SCRATCH);
    assert_int_equal(volumes[3].kind, TY_VOLUME_FILES);
    assert_true(volumes[3].read_only);
    assert_int_equal(volumes[3].place, 4);
    ty_job_spec_destroy(spec);
}

static void checkpoints_are_kept_although_scratch_space_lies_at_their_place(void **state)
{
    struct ty_job_spec *spec =
        spec_of(WITH("'volumes':[{'scratch':{},'mount_path':'/checkpoints'}]"));
    struct ty_spec_folder folder;

    (void)state;
    ty_job_spec_checkpoints(spec, "job-1", &folder);
    assert_string_equal(folder.claim, "job-1-output");
    assert_string_equal(folder.mount, "/output/checkpoints");
    ty_job_spec_destroy(spec);
}

static void the_files_of_volumes_share_the_mebibyte_of_the_script(void **state)
{
    static const struct {
        size_t len;
        bool allowed;
    } cases[] = {
        {TY_CONFIG_MAP_MAX - 19, true }, /* "train.py" and "x", "p", "q" and its nine bytes */
        {TY_CONFIG_MAP_MAX - 18, false}
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char *content = calloc(cases[i].len + 1, 1);
        struct ty_job_spec *spec = NULL;
        struct ty_faults faults;
        struct ty_error err = {0};

        memset(content, 'x', cases[i].len);
        json_t *body = json_pack("{s:s,s:s,s:[{s:s,s:[{s:s,s:s}]}],s:{s:[{s:s,s:[{s:s,s:s}]}]}}",
                                 "image", "a:1", "script", "x", "volumes", "mount_path", "/f",
                                 "files", "path", "p", "content", content, "worker", "volumes",
                                 "mount_path", "/g", "files", "path", "q", "content", "12345678");
        ty_faults_init(&faults);
        ty_status status = ty_job_spec_parse(body, &spec, &faults, &err);

        assert_int_equal(status, cases[i].allowed ? TY_OK : TY_REFUSED);
        if (!cases[i].allowed)
            assert_string_equal(faults.items[0].code, "configmap_too_large");
        ty_job_spec_destroy(spec);
        json_decref(body);
        free(content);
    }
}

/* --- one machine --- */

static void append(char *text, size_t size, const char *word)
{
    size_t len = strlen(text);

    snprintf(text + len, size - len, "%s ", word);
}

static void an_entry_point_is_refused_on_one_machine(void **state)
{
    static const struct {
        const char *body;
        const char *pointers;
    } cases[] = {
        {"{'image':'a:1','command':['x']}",                         ""                         },
        {WITH("'worker':{'command':['x']}"),                        ""                         },
        {"{'image':'a:1','command':[]}",                            "/command "                },
        {"{'command':[],'master':{'command':[]},'worker':{}}",      "/command /master/command "},
        {"{'command':['x'],'worker':{'command':[]},'master':[[]]}", "/worker/command "         },
        {"{'command':{}}",                                          ""                         },
        {"[]",                                                      ""                         },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        json_t *body = json_of(cases[i].body);
        struct ty_faults faults;
        char found[256] = "";

        ty_faults_init(&faults);
        ty_job_spec_check_machine(body, &faults);
        for (size_t k = 0; k < faults.count; k++) {
            assert_string_equal(faults.items[k].code, "command_needed");
            append(found, sizeof(found), faults.items[k].where);
        }
        assert_string_equal(found, cases[i].pointers);
        json_decref(body);
    }
}

static void what_one_machine_ignores_is_told_by_pointer(void **state)
{
    static const struct {
        const char *body;
        const char *pointers;
    } cases[] = {
        {WITH("'replicas':2"),                                                                   ""               },
        {WITH("'node_selector':{},'affinity':{'pods':{}},'tolerations':[]"),                     ""               },
        {WITH("'node_selector':{'a':'b'}"),                                                      "/node_selector "},
        {WITH("'affinity':{'node':{'required':[{'match':[{'key':'k','operator':'exists'}]}]}}"),
         "/affinity "                                                                                             },
        {WITH("'tolerations':[{'operator':'exists'}]"),                                          "/tolerations "  },
        {WITH("'priority_class':'a','queue':'b','scheduler':'c','gang':{}"),
         "/priority_class /queue /scheduler /gang "                                                               },
        {WITH("'replicas':2,'worker':{'node_selector':{'a':'b'}},'master':{'tolerations':[{"
              "'operator':'exists'}]}"),
         "/master/tolerations /worker/node_selector "                                                             },
        {WITH("'worker':{'node_selector':{'a':'b'}}"),                                           ""               },
        {WITH("'dataset':'d','volumes':[{'claim':'c','mount_path':'/a'},{'create':{'size':'1Gi',"
              "'storage_class':'x'},'mount_path':'/b'}]"),
         "/volumes/1/create/storage_class "                                                                       },
        {WITH("'volumes':[{'claim':'n','create':{'size':'1Gi','storage_class':'x'},"
              "'mount_path':'/b'}]"),
         "/volumes/0/create/storage_class "                                                                       },
        {WITH("'volumes':[{'scratch':{'size':'1Gi'},'mount_path':'/a'},{'scratch':{'size':'1Gi',"
              "'memory':true},'mount_path':'/b'},{'scratch':{},'mount_path':'/c'}]"),
         "/volumes/0/scratch/size "                                                                               },
        {WITH("'replicas':2,'volumes':[{'claim':'c','mount_path':'/a'}],'worker':{'volumes':[{"
              "'create':{'size':'1Gi','storage_class':'x'},'mount_path':'/b'}]}"),
         "/worker/volumes/0/create/storage_class "                                                                },
        {WITH("'elastic':{'min':1,'max':2},'node_selector':{'a':'b'},'volumes':[{'create':{"
              "'size':'1Gi','storage_class':'x'},'mount_path':'/b'}]"),
         "/node_selector /volumes/0/create/storage_class "                                                        },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_job_spec *spec = spec_of(cases[i].body);
        struct ty_warning warnings[16];
        char found[512] = "";
        size_t count = ty_job_spec_machine_warnings(spec, warnings, 16);

        for (size_t k = 0; k < count; k++) {
            assert_string_equal(warnings[k].code, "ignored_on_this_machine");
            assert_true(strlen(warnings[k].message) > 0);
            append(found, sizeof(found), warnings[k].pointer);
        }
        if (!ty_str_equal(found, cases[i].pointers))
            print_error("%s: %s\n", cases[i].body, found);
        assert_string_equal(found, cases[i].pointers);
        assert_int_equal(ty_job_spec_machine_warnings(spec, warnings, 0), 0);
        ty_job_spec_destroy(spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_named_once_at_its_pointer),
        cmocka_unit_test(a_fault_of_a_shared_member_is_one_fault),
        cmocka_unit_test(allowed_combinations_are_allowed),
        cmocka_unit_test(an_elastic_job_has_workers_alone),
        cmocka_unit_test(the_output_of_an_elastic_job_can_be_mounted_by_all_its_workers),
        cmocka_unit_test(the_name_of_an_elastic_job_leaves_room_for_its_highest_worker),
        cmocka_unit_test(roles_take_what_is_theirs_and_share_the_rest),
        cmocka_unit_test(claims_with_a_name_belong_to_nobody_and_the_others_to_the_job),
        cmocka_unit_test(checkpoints_are_kept_although_scratch_space_lies_at_their_place),
        cmocka_unit_test(the_files_of_volumes_share_the_mebibyte_of_the_script),
        cmocka_unit_test(an_entry_point_is_refused_on_one_machine),
        cmocka_unit_test(what_one_machine_ignores_is_told_by_pointer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
