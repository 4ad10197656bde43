/* Every allocation of rendering fails in turn. */
#include "../domain/spec_text.h"

#include "oom.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_rendering_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
