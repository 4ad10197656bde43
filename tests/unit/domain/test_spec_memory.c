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
    "'master':{'args':['m'],'env':{'A':'3'}},"
    "'worker':{'image':'w:1','resources':{'memory':'2Gi'},"
    "'volumes':[{'create':{'size':'1Gi','storage_class':'fast'},'mount_path':'/wv'}]},"
    "'env':{'A':'1','B':'2'},'dataset':{'claim':'d','sub_path':'s'},"
    "'volumes':[{'claim':'v','mount_path':'/v'},{'create':{'size':'1Gi'},'mount_path':'/c'}],"
    "'checkpoints':{'resume':true}}";

static const char refused_text[] =
    "{'name':'A','image':'B','script':'x','env':{'RANK':'1','OK':'1'},"
    "'files':[{'path':'..','content':'x'}],'resources':{'memory':'1GB','cpu':1},"
    "'volumes':[{'claim':'c','mount_path':'/proc'},{'claim':'c'}],'output':'o','labels':{'/':'x'}}";

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
        cmocka_unit_test(every_allocation_of_a_refused_body_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
