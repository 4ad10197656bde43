/* Every allocation of rendering fails in turn. */
#include "../domain/spec_text.h"

#include "oom.h"
#include "trainyard/render/import.h"
#include "trainyard/render/render.h"

static void render(void *context)
{
    struct ty_render_input input = {context, "job_x", "full-x", "ns", "t", "/checkpoints/a", 1};
    struct ty_manifest manifest = {0};
    struct ty_faults faults;
    struct ty_error err = {0};

    ty_faults_init(&faults);
    ty_status status = ty_renderer_pytorchjob.render(&input, &manifest, &faults, &err);

    assert_int_equal(status, ty_oom_failed() ? TY_NO_MEMORY : TY_OK);
    assert_int_equal(manifest.objects != NULL, status == TY_OK);
    ty_manifest_done(&manifest);
}

static void every_allocation_of_rendering_may_fail(void **state)
{
    struct ty_job_spec *spec = spec_of(
        "{'name':'full','labels':{'a':'b'},'image':'a:1','script':'print(1)','args':['$x','b'],"
        "'files':[{'path':'u/h.py','content':'x'},"
        "{'path':'b','content':'AAE=','encoding':'base64'}],"
        "'epochs':3,'parameters':{'lr':0.1},'replicas':2,'gpus':1,"
        "'resources':{'cpu':1,'memory':'4Gi'},'env':{'A':'$1'},'dataset':'d',"
        "'volumes':[{'create':{'size':'1Gi','storage_class':'f'},'mount_path':'/c'}],"
        "'checkpoints':{'resume':true},'timeout_seconds':5}");

    (void)state;
    assert_true(ty_oom_sweep(render, spec) > 300);
    ty_job_spec_destroy(spec);
}

static void every_allocation_of_rendering_the_rest_may_fail(void **state)
{
    struct ty_job_spec *spec = spec_of(
        "{'image':'a:1','command':[],'elastic':{'min':1,'max':2,'max_restarts':1,'rendezvous':{"
        "'host':'h','port':1,'conf':{'a':'b'}}},'gang':{'timeout_seconds':1},'queue':'q',"
        "'priority_class':'p','scheduler':'s','secrets':[{'name':'s','key':'K'},"
        "{'name':'s','key':'k','path':'/k'},{'name':'t','key':'k','path':'/l'}],"
        "'node_selector':{'a':'b'},'tolerations':[{'key':'k','value':'v','effect':'no_execute',"
        "'seconds':3}],'affinity':{'node':{"
        "'required':[{'match':[{'key':'k','operator':'in','values':['a']}]}],"
        "'preferred':[{'weight':3,'match':[{'key':'k','operator':'exists'}]}]},"
        "'pods':{'required':[{'labels':{'a':'b'},'topology_key':'t','namespaces':['n']}]},"
        "'pods_apart':{'preferred':[{'weight':1,'labels':{},'topology_key':'t'}]}},"
        "'tensorboard':{},'mlflow':{'tracking_uri':'http://m:1','experiment':'e'},"
        "'volumes':[{'claim':'n','create':{'size':'1Gi'},'mount_path':'/n'},"
        "{'scratch':{'size':'1Gi','memory':true},'mount_path':'/s'},"
        "{'files':[{'path':'p','content':'x'}],'mount_path':'/f'}]}");

    (void)state;
    assert_true(ty_oom_sweep(render, spec) > 300);
    ty_job_spec_destroy(spec);
}

/* A stream that takes every part of the import, then one that is refused in many places. */
static const char manifest[] =
    "[{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'m'},'data':{'EPOCHS':'2','LR':'1','"
    "x':'y'}},"
    "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c','namespace':'n'},'"
    "spec':"
    "{'accessModes':['ReadWriteMany'],'resources':{'requests':{'storage':5}},'storageClassName':'f'"
    "}},"
    "{'apiVersion':'kubeflow.org/"
    "v1','kind':'PyTorchJob','metadata':{'name':'j','labels':{'a':'b'}},'spec':"
    "{'nprocPerNode':'2','runPolicy':{'schedulingPolicy':{'minAvailable':1,'queue':'q'}},"
    "'pytorchReplicaSpecs':{'Master':{'template':{'spec':{'nodeSelector':{'z':'a'},"
    "'tolerations':[{'key':'k','operator':'Exists'}],'affinity':{'nodeAffinity':"
    "{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchExpressions':"
    "[{'key':'k','operator':'In','values':['a']}]}]}}},'containers':[{'name':'pytorch','image':'a:"
    "1',"
    "'command':['p','$(A)$$'],'args':['--lr=$(RANK)'],'env':[{'name':'A','value':'1'},{'name':'S','"
    "valueFrom':"
    "{'secretKeyRef':{'name':'s','key':'k'}}}],'envFrom':[{'configMapRef':{'name':'m'}}],'"
    "resources':"
    "{'limits':{'cpu':1,'nvidia.com/gpu':1},'requests':{'memory':'1Gi'}},'volumeMounts':"
    "[{'name':'c','mountPath':'/output'},{'name':'e','mountPath':'/dev/"
    "shm'},{'name':'f','mountPath':'/f'},"
    "{'name':'s','mountPath':'/"
    "s'}]}],'volumes':[{'name':'c','persistentVolumeClaim':{'claimName':'c'}},"
    "{'name':'e','emptyDir':{'medium':'Memory','sizeLimit':'1Gi'}},{'name':'f','configMap':{'name':"
    "'m'}},"
    "{'name':'s','secret':{'secretName':'s','items':[{'key':'k','path':'p'}]}}]}}},"
    "'Worker':{'replicas':2,'template':{'spec':{'containers':[{'name':'pytorch','image':'a:2'}]}}}}"
    "}}]";

static void import(void *context)
{
    struct ty_import imported = {0};
    struct ty_faults faults;
    struct ty_error err = {0};

    ty_faults_init(&faults);
    ty_status status = ty_import_manifest(context, "n", &imported, &faults, &err);

    if (status != TY_OK)
        assert_int_equal(status, TY_NO_MEMORY);
    assert_int_equal(status == TY_NO_MEMORY, ty_oom_failed());
    assert_int_equal(imported.spec != NULL, status == TY_OK);
    ty_import_done(&imported);
}

static void every_allocation_of_importing_may_fail(void **state)
{
    char *text = strdup(manifest);

    (void)state;
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    json_t *documents = json_loads(text, 0, NULL);

    assert_non_null(documents);
    assert_true(ty_oom_sweep(import, documents) > 300);
    json_decref(documents);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_importing_may_fail),
        cmocka_unit_test(every_allocation_of_rendering_may_fail),
        cmocka_unit_test(every_allocation_of_rendering_the_rest_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
