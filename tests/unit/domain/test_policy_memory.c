/* Every allocation of reading a policy and of applying it fails in turn. */
#include "spec_text.h"

#include "oom.h"
#include "trainyard/domain/policy.h"

static const char document_text[] =
    "{'images':['pytorch/*','ubuntu:22.04'],'volumes':['data-*'],'limits':{'cpu':'4',"
    "'timeout_seconds':60},'defaults':{'env':{'A':'1'},'args':['x'],'resources':{'memory':'1Gi'}},"
    "'forced':{'env':{'B':'2'},'image':'pytorch/x:1','node_selector':{'pool':'a'}}}";

static const char given_text[] =
    "{'image':'evil/x','command':['x'],'env':{'B':'3','C':'4'},'dataset':'other',"
    "'worker':{'image':'w:1','env':{'B':'5'}}}";

struct texts {
    json_t *document;
    json_t *given;
};

static ty_status judge(struct ty_policy *policy, json_t *given, struct ty_error *err)
{
    const struct ty_policy_scene scene = {.namespace = "team", .default_keep_seconds = -1};
    struct ty_warning warnings[4];
    struct ty_policy_changes changes = {.items = warnings, .max = UNIT_COUNT(warnings)};
    struct ty_faults faults;
    json_t *body = NULL;
    ty_status status = ty_policy_apply(policy, &scene, given, &body, &changes, err);

    if (status != TY_OK) {
        assert_null(body);
        return status;
    }
    ty_faults_init(&faults);
    status = ty_policy_judge_names(policy, &scene, body, &faults, err);
    json_decref(body);
    return status;
}

static void read_and_judge(void *context)
{
    const struct texts *texts = context;
    struct ty_policy *policy = NULL;
    struct ty_faults faults;
    struct ty_error err = {0};

    ty_faults_init(&faults);
    ty_status status = ty_policy_parse(texts->document, &policy, &faults, &err);

    assert_int_equal(policy != NULL, status == TY_OK);
    if (status == TY_OK)
        status = judge(policy, texts->given, &err);
    ty_oom_expect(status);
    ty_policy_unref(policy);
}

static void every_allocation_may_fail(void **state)
{
    struct texts texts = {json_of(document_text), json_of(given_text)};

    (void)state;
    assert_true(ty_oom_sweep(read_and_judge, &texts) > 30);
    json_decref(texts.document);
    json_decref(texts.given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
