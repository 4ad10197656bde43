/* Every allocation of reading a spec fails in turn: TY_NO_MEMORY, nothing leaked, nothing touched.
 */
#include "spec_text.h"

#include "oom.h"

static const char body_text[] =
    "{'name':'full','description':'d','labels':{'a':'b'},'image':'a:1',"
    "'script':{'name':'t.py','content':'print(1)'},'args':['a','b'],"
    "'files':[{'path':'u/h.py','content':'x'},{'path':'b','content':'AAE=','encoding':'base64'}],"
    "'working_dir':'/w','epochs':3,'parameters':{'lr':0.1,'n':3,'s':'x','b':true},'replicas':3,"
    "'gpus':1,'resources':{'cpu':1,'memory':'4Gi','ephemeral_storage':'1Gi','limits':{'cpu':2}},"
    "'master':{'args':['m'],'env':{'A':'3'},'command':['c','d'],'working_dir':'/m','gpus':2,"
    "'secrets':[{'name':'s','key':'k','env':'S'}],'shared_memory':'1Gi'},"
    "'worker':{'image':'w:1','resources':{'memory':'2Gi'},'node_selector':{'x.y/z':'1'},"
    "'affinity':{'pods':{'required':[{'labels':{'a':'b'},'topology_key':'t'}]}},"
    "'tolerations':[],'volumes':[{'create':{'size':'1Gi','storage_class':'fast'},"
    "'mount_path':'/wv'}]},"
    "'secrets':[{'name':'s','key':'K'},{'name':'s','key':'k','path':'/run/k'}],"
    "'node_selector':{'a':'b'},'tolerations':[{'key':'k','value':'v','effect':'no_execute',"
    "'seconds':3},{'operator':'exists'}],'affinity':{'node':{"
    "'required':[{'match':[{'key':'k','operator':'in','values':['a','b']}],"
    "'match_fields':[{'key':'metadata.name','operator':'in','values':['n']}]}],"
    "'preferred':[{'weight':3,'match':[{'key':'k','operator':'exists'}]}]},"
    "'pods':{'preferred':[{'weight':1,'labels':{},'topology_key':'t','namespaces':['n']}]},"
    "'pods_apart':{'required':[{'match':[{'key':'k','operator':'exists'}],'topology_key':'t'}]}},"
    "'priority_class':'high','queue':'q','scheduler':'volcano','gang':{'timeout_seconds':5},"
    "'tensorboard':{},'mlflow':{'tracking_uri':'http://m:1','experiment':'e'},"
    "'env':{'A':'1','B':'2'},'dataset':{'claim':'d','sub_path':'s'},"
    "'volumes':[{'claim':'v','mount_path':'/v'},{'create':{'size':'1Gi'},'mount_path':'/c'},"
    "{'claim':'n','create':{'size':'1Gi'},'mount_path':'/n'},"
    "{'scratch':{'size':'1Gi','memory':true},'mount_path':'/scratch'},"
    "{'files':[{'path':'p','content':'x'}],'mount_path':'/conf'}],"
    "'checkpoints':{'resume':true}}";

static const char refused_text[] =
    "{'name':'A','image':'B','script':'x','env':{'RANK':'1','OK':'1'},"
    "'files':[{'path':'..','content':'x'}],'resources':{'memory':'1GB','cpu':1},"
    "'volumes':[{'claim':'c','mount_path':'/proc'},{'claim':'c'},"
    "{'scratch':{},'files':[{'path':'p','content':'x'}],'mount_path':'/b'}],"
    "'secrets':[{'name':'s','key':'OK'},{'name':'s','key':'OK','path':'/proc/x'}],"
    "'affinity':{'node':{'required':[{'match':[{'key':'k','operator':'gt','values':['x']}]}]},"
    "'pods':{'required':[{}]}},'tolerations':[{'effect':'x'}],'elastic':{'min':2,'max':1,"
    "'rendezvous':{'backend':'etcd','id':'-'}},'mlflow':{'tracking_uri':'ftp://x'},"
    "'output':'o','labels':{'/':'x'}}";

static const char elastic_text[] =
    "{'image':'a:1','script':'x','replicas':2,'elastic':{'min':1,'max':4,'max_restarts':2,"
    "'rendezvous':{'backend':'etcd','host':'etcd.x','port':2379,'id':'r','conf':{'a':1,'b':'c'}}},"
    "'worker':{'gpus':1}}";

static void parse(void *context)
{
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;
    struct ty_error err = {0};

    ty_faults_init(&faults);
    ty_status status = ty_job_spec_parse(context, &spec, &faults, &err);

    if (ty_oom_failed())
        assert_int_equal(status, TY_NO_MEMORY);
    else
        assert_int_equal(status, TY_OK);
    assert_int_equal(spec != NULL, status == TY_OK);
    ty_job_spec_destroy(spec);
}

static void parse_refused(void *context)
{
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;
    struct ty_error err = {0};

    ty_faults_init(&faults);
    ty_status status = ty_job_spec_parse(context, &spec, &faults, &err);

    assert_true(status == TY_REFUSED || (ty_oom_failed() && status == TY_NO_MEMORY));
    assert_null(spec);
}

static void every_allocation_of_an_allowed_body_may_fail(void **state)
{
    json_t *body = json_of(body_text);

    (void)state;
    assert_true(ty_oom_sweep(parse, body) > 150);
    json_decref(body);
}

static void every_allocation_of_an_elastic_body_may_fail(void **state)
{
    json_t *body = json_of(elastic_text);

    (void)state;
    assert_true(ty_oom_sweep(parse, body) > 30);
    json_decref(body);
}

static void every_allocation_of_a_refused_body_may_fail(void **state)
{
    json_t *body = json_of(refused_text);

    (void)state;
    assert_true(ty_oom_sweep(parse_refused, body) > 20);
    json_decref(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_an_allowed_body_may_fail),
        cmocka_unit_test(every_allocation_of_an_elastic_body_may_fail),
        cmocka_unit_test(every_allocation_of_a_refused_body_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
