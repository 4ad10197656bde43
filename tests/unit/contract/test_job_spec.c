/* The real contract against what people really send: cases of public bug reports and the documents'
 * own examples. */
#include "small.h"

#include "trainyard/contract/documents.h"

#define WITH(members) "{\"image\": \"a\", \"script\": \"x\", " members "}"
#define A10           "aaaaaaaaaa"
#define A40           A10 A10 A10 A10

/* clang-format off */
static const struct {
    const char *body;
    const char *faults;
} cases[] = {
    {"{\"name\": \"mnist\", \"image\": \"pytorch/pytorch:2.0.0\", \"script\": \"import torch\", "
     "\"epochs\": 10,"
     " \"gpus\": 1, \"dataset\": \"training-data-pvc\"}", ""},
    {"{\"image\": \"a\", \"script\": {\"name\": \"t.py\", \"content\": \"x\"}}", ""},
    {"{\"image\": \"a\", \"command\": [\"python\", \"-c\", \"\"], \"args\": [\"\", \"$$\", \"; "
     "touch x\"]}", ""},
    {"{}", "/image required,  required"},
    {"{\"image\": \"a\"}", " required"},
    {"{\"image\": \"a\", \"script\": \"x\", \"command\": [\"y\"]}", " exclusive"},
    {"{\"image\": \"a\", \"script\": \"\"}", "/script too_short"},
    {"{\"image\": \"a\", \"command\": [\"\", \"x\"]}", "/command/0 too_short"},
    {"{\"image\": \"a\", \"command\": [\"x\", \"\"]}", ""},
    {"{\"image\": \"a\", \"command\": [\"x\"], \"launcher\": \"torchrun\"}",
     "/launcher not_allowed"},
    {WITH("\"launcher\": \"torchrun\", \"processes_per_replica\": 2"), ""},
    {WITH("\"processes_per_replica\": 2"), ""},
    {WITH("\"launcher\": \"python\", \"processes_per_replica\": 2"),
     "/processes_per_replica not_allowed"},
    {WITH("\"files\": [{\"path\": \"a\", \"content\": \"x\", \"encoding\": \"base64\"}]"),
     "/files/0/content bad_format"},
    {"{\"image\": \"a\", \"command\": []}", ""},
    {"{\"image\": \"a\", \"command\": \"python x\"}", "/command wrong_type"},
    /* names: the longest child must fit 63 */
    {WITH("\"name\": \"" A40 "aaa\", \"replicas\": 1000"), ""},
    {WITH("\"name\": \"" A40 "aaaa\""), "/name too_long"},
    {WITH("\"name\": \"1a\""), "/name pattern"},
    {WITH("\"name\": \"a-\""), "/name pattern"},
    {WITH("\"name\": \"A\""), "/name pattern"},
    {WITH("\"name\": \"\""), "/name too_short"},
    /* images */
    {"{\"image\": \"Ubuntu:latest\", \"script\": \"x\"}", "/image pattern"},
    {"{\"image\": \"repo/img:tag with space\", \"script\": \"x\"}", "/image pattern"},
    {"{\"image\": \"img@latest\", \"script\": \"x\"}", "/image pattern"},
    {"{\"image\": \"img\xe2\x80\x8b:1\", \"script\": \"x\"}", "/image pattern"},
    {"{\"image\": \"\", \"script\": \"x\"}", "/image too_short"},
    {"{\"image\": \"localhost:5000/a/b_c:V1.0_x\", \"script\": \"x\"}", ""},
    {"{\"image\": "
     "\"ghcr.io/org/x--y@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\","
     " \"script\": \"x\"}", ""},
    {"{\"image\": \"pytorch/pytorch:1.9.0-cuda11.1-cudnn8-runtime\", \"script\": \"x\"}", ""},
    {"{\"image\": \"a/b/\", \"script\": \"x\"}", "/image pattern"},
    {"{\"image\": \"a:\", \"script\": \"x\"}", "/image pattern"},
    {"{\"image\": \"http://a/b\", \"script\": \"x\"}", "/image pattern"},
    /* options at the wrong level, misspelt, in other letters */
    {WITH("\"ttl_second\": 1"), "/ttl_second unknown_member"},
    {WITH("\"resources\": {\"gpus\": 1}"), "/resources/gpus unknown_member"},
    {WITH("\"Epochs\": 1"), "/Epochs unknown_member"},
    {WITH("\"webhooks\": []"), "/webhooks unknown_member"},
    {WITH("\"metrics\": []"), "/metrics unknown_member"},
    /* integers */
    {WITH("\"epochs\": 1.0"), "/epochs wrong_type"},
    {WITH("\"epochs\": 0"), "/epochs out_of_range"},
    {WITH("\"replicas\": 1001"), "/replicas out_of_range"},
    {WITH("\"replicas\": 0"), "/replicas out_of_range"},
    {WITH("\"gpus\": -1"), "/gpus out_of_range"},
    {WITH("\"max_retries\": \"3\""), "/max_retries wrong_type"},
    {WITH("\"timeout_seconds\": 0"), "/timeout_seconds out_of_range"},
    /* quantities: half a byte is not memory */
    {WITH("\"resources\": {\"cpu\": \"0.5\", \"memory\": \"128Mi\"}"), ""},
    {WITH("\"resources\": {\"cpu\": \"500m\", \"memory\": \"1.2Gi\"}"), ""},
    {WITH("\"resources\": {\"ephemeral_storage\": \"1Gi\", \"limits\": {\"ephemeral_storage\": \"2Gi\"}}"), ""},
    {WITH("\"resources\": {\"cpu\": 2, \"memory\": 2000000000}"), ""},
    {WITH("\"resources\": {\"cpu\": \"1e3\", \"memory\": \"128M\"}"), ""},
    {WITH("\"resources\": {\"cpu\": \"2k\", \"memory\": \"1G\"}"), ""},
    {WITH("\"resources\": {\"memory\": \"512m\"}"), "/resources/memory pattern"},
    {WITH("\"resources\": {\"memory\": \"1000\"}"), "/resources/memory pattern"},
    {WITH("\"resources\": {\"memory\": 1000}"), "/resources/memory out_of_range"},
    {WITH("\"resources\": {\"memory\": 0.5}"), "/resources/memory wrong_type"},
    {WITH("\"resources\": {\"memory\": \"1GB\"}"), "/resources/memory pattern"},
    {WITH("\"resources\": {\"memory\": \"1 Gi\"}"), "/resources/memory pattern"},
    {WITH("\"resources\": {\"memory\": \"1gi\"}"), "/resources/memory pattern"},
    {WITH("\"resources\": {\"memory\": \"2K\"}"), "/resources/memory pattern"},
    {WITH("\"resources\": {\"memory\": \"\"}"), "/resources/memory too_short"},
    {WITH("\"resources\": {\"memory\": \"-1\"}"), "/resources/memory pattern"},
    {WITH("\"resources\": {\"memory\": \"\xef\xbc\x91Gi\"}"), "/resources/memory pattern"},
    {WITH("\"resources\": {\"cpu\": \"0\"}"), "/resources/cpu pattern"},
    {WITH("\"resources\": {\"cpu\": \"0.0001\"}"), "/resources/cpu pattern"},
    {WITH("\"resources\": {\"limits\": {\"cpu\": \"abc\"}}"), "/resources/limits/cpu pattern"},
    {WITH("\"resources\": {\"nvidia.com/gpu\": 1}"), "/resources/nvidia.com~1gpu unknown_member"},
    {WITH("\"shared_memory\": \"2Gi\""), ""},
    {WITH("\"shared_memory\": \"0\""), "/shared_memory pattern"},
    {WITH("\"shared_memory\": \"2GB\""), "/shared_memory pattern"},
    /* claims and mounts */
    {WITH("\"dataset\": \"data.v1\""), ""},
    {WITH("\"dataset\": \"" A40 A40 "\""), ""},
    {WITH("\"dataset\": \"Data\""), "/dataset pattern"},
    {WITH("\"dataset\": {\"claim\": \"d\", \"mount_path\": \"/in\", \"read_only\": true}"), ""},
    {WITH("\"dataset\": {\"claim\": \"d\", \"path\": \"/in\"}"), "/dataset/path unknown_member"},
    {WITH("\"dataset\": {}"), "/dataset/claim required"},
    {WITH("\"dataset\": 5"), "/dataset wrong_type"},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"/a/b.c_d\"}]"), ""},
    {WITH("\"volumes\": [{\"create\": {\"size\": \"1Gi\"}, \"mount_path\": \"/root/.cache\"}]"),
     ""},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"create\": {\"size\": \"1Gi\"}, \"mount_path\": "
          "\"/a\"}]"),
     ""},
    {WITH("\"volumes\": [{\"mount_path\": \"/a\"}]"), "/volumes/0 required"},
    {WITH("\"volumes\": [{\"claim\": \"c\"}]"), "/volumes/0/mount_path required"},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"/\"}]"),
     "/volumes/0/mount_path too_short"},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"/dev/shm\"}]"),
     "/volumes/0/mount_path not_allowed"},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"/scripts\"}]"),
     "/volumes/0/mount_path not_allowed"},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"/device\"}]"), ""},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"relative/x\"}]"),
     "/volumes/0/mount_path pattern"},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"/a/../b\"}]"),
     "/volumes/0/mount_path pattern"},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"/data/\"}]"),
     "/volumes/0/mount_path pattern"},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"/a//b\"}]"),
     "/volumes/0/mount_path pattern"},
    {WITH("\"volumes\": [{\"claim\": \"c\", \"mount_path\": \"/a\", \"sub_path\": \"../x\"}]"),
     "/volumes/0/sub_path pattern"},
    {WITH("\"output\": {\"claim\": \"c\", \"read_only\": true}"),
     "/output/read_only unknown_member"},
    {WITH("\"checkpoints\": {\"volume\": \"c\", \"path\": \"/ckpt\", \"resume\": true, "
          "\"keep_last\": 3}"),
     ""},
    {WITH("\"checkpoints\": {\"path\": \"runs/1\"}"), ""},
    {WITH("\"checkpoints\": {\"path\": \"../x\"}"), "/checkpoints/path no_match"},
    /* files */
    {WITH("\"files\": [{\"path\": \"utils/helper.py\", \"content\": \"\"}, {\"path\": \"\xc3\xbc "
          "b@1.py\","
          " \"content\": \"eA==\", \"encoding\": \"base64\"}]"),
     ""},
    {WITH("\"files\": [{\"path\": \".\", \"content\": \"\"}]"), "/files/0/path pattern"},
    {WITH("\"files\": [{\"path\": \"..\", \"content\": \"\"}]"), "/files/0/path pattern"},
    {WITH("\"files\": [{\"path\": \"../x.py\", \"content\": \"\"}]"), "/files/0/path pattern"},
    {WITH("\"files\": [{\"path\": \"/x.py\", \"content\": \"\"}]"), "/files/0/path pattern"},
    {WITH("\"files\": [{\"path\": \"a\\\\b\", \"content\": \"\"}]"), "/files/0/path pattern"},
    {WITH("\"files\": [{\"path\": \"a\\nb\", \"content\": \"\"}]"), "/files/0/path pattern"},
    {WITH("\"files\": [{\"path\": \"" A40 A40 "\", \"content\": \"\"}]"), "/files/0/path pattern"},
    /* variables of the launcher */
    {WITH("\"env\": {\"P\": \"pa$$word\", \"EMPTY\": \"\", \"X\": \"no\"}"), ""},
    {WITH("\"env\": {\"MASTER_ADDR\": \"x\", \"WORLD_SIZE\": \"1\", \"RANK\": \"0\", "
          "\"PET_NNODES\": \"1\"}"),
     "/env/MASTER_ADDR bad_name, /env/WORLD_SIZE bad_name, /env/RANK bad_name, /env/PET_NNODES "
     "bad_name"},
    {WITH("\"env\": {\"RANKS\": \"\", \"MASTERS\": \"\"}"), ""},
    {WITH("\"env\": {\"1A\": \"\", \"A B\": \"\", \"\": \"\"}"),
     "/env/1A bad_name, /env/A B bad_name, /env/ bad_name"},
    {WITH("\"env\": {\"A\": 1}"), "/env/A wrong_type"},
    {WITH("\"parameters\": {\"lr\": 0.01, \"batch-size\": 64, \"amp\": true, \"opt\": \"sgd\"}"),
     ""},
    {WITH("\"parameters\": {\"rank\": 1}"), "/parameters/rank bad_name"},
    {WITH("\"parameters\": {\"epochs\": 1}"), "/parameters/epochs bad_name"},
    {WITH("\"parameters\": {\"lr\": null}"), "/parameters/lr wrong_type"},
    {WITH("\"parameters\": {\"lr\": [1]}"), "/parameters/lr wrong_type"},
    /* labels */
    {WITH("\"labels\": {\"team\": \"vision\", \"a.b_c-d\": \"\"}"), ""},
    {WITH("\"labels\": {\"kubernetes.io/name\": \"x\"}"), "/labels/kubernetes.io~1name bad_name"},
    {WITH("\"labels\": {\"a\": \" lead\"}"), "/labels/a pattern"},
    /* secrets */
    {WITH("\"secrets\": [{\"name\": \"s\", \"key\": \"K\"}]"), ""},
    {WITH("\"secrets\": [{\"name\": \"s\", \"key\": \"k\", \"path\": \"/run/secrets/k\"}]"), ""},
    {WITH("\"secrets\": [{\"name\": \"s\", \"key\": \"k\", \"path\": \"/etc/k\"}]"),
     "/secrets/0/path not_allowed"},
    {WITH("\"secrets\": [{\"name\": \"s\", \"key\": \"k\", \"path\": \"/k\", \"env\": \"K\"}]"),
     "/secrets/0/path not_allowed"},
    {WITH("\"secrets\": [{\"name\": \"s\", \"key\": \"..\", \"env\": \"RANK\"}]"),
     "/secrets/0/key pattern, /secrets/0/env not_allowed"},
    /* volumes of other kinds */
    {WITH("\"volumes\": [{\"scratch\": {}, \"mount_path\": \"/a\"}]"), ""},
    {WITH("\"volumes\": [{\"scratch\": {}, \"mount_path\": \"/a\", \"sub_path\": \"b\"}]"),
     "/volumes/0/sub_path not_allowed"},
    {WITH("\"volumes\": [{\"scratch\": {}, \"claim\": \"c\", \"mount_path\": \"/a\"}]"),
     "/volumes/0 exclusive"},
    {WITH("\"volumes\": [{\"files\": [{\"path\": \"p\", \"content\": \"\"}], \"read_only\": false, "
          "\"mount_path\": \"/a\"}]"), "/volumes/0/read_only not_allowed"},
    {WITH("\"volumes\": [{\"files\": [], \"mount_path\": \"/a\"}]"),
     "/volumes/0/files too_few_items"},
    /* placement */
    {WITH("\"node_selector\": {\"nvidia.com/gpu.product\": \"A100\", \"x\": \"\"}"), ""},
    {WITH("\"node_selector\": {\"/x\": \"a\"}"), "/node_selector/~1x bad_name"},
    {WITH("\"affinity\": {\"node\": {\"required\": [{}]}}"),
     "/affinity/node/required/0 too_few_members"},
    {WITH("\"affinity\": {\"pods\": {\"required\": [{\"topology_key\": \"t\"}]}}"),
     "/affinity/pods/required/0 required"},
    {WITH("\"affinity\": {\"pods_apart\": {\"preferred\": [{\"topology_key\": \"t\", \"labels\": {}, "
          "\"weight\": 101}]}}"), "/affinity/pods_apart/preferred/0/weight out_of_range"},
    {WITH("\"tolerations\": [{\"operator\": \"exists\"}, {}]"), "/tolerations/1 too_few_members"},
    {WITH("\"priority_class\": \"high\", \"queue\": \"q\", \"scheduler\": \"volcano\", \"gang\": {}"),
     ""},
    /* elastic */
    {WITH("\"elastic\": {\"min\": 1, \"max\": 4, \"rendezvous\": {\"conf\": {\"join_timeout\": 600, "
          "\"a\": \"b\"}}}"), ""},
    {WITH("\"elastic\": {\"min\": 1}"), "/elastic/max required"},
    {WITH("\"elastic\": {\"min\": 1, \"max\": 4}, \"master\": {}"), "/master not_allowed"},
    {WITH("\"elastic\": {\"min\": 1, \"max\": 4}, \"launcher\": \"python\""),
     "/launcher not_allowed"},
    {WITH("\"elastic\": {\"min\": 1, \"max\": 4, \"rendezvous\": {\"conf\": {}}}"),
     "/elastic/rendezvous/conf too_few_members"},
    {WITH("\"elastic\": {\"min\": 1, \"max\": 4, \"rendezvous\": {\"conf\": {\"a\": \"b,c\"}}}"),
     "/elastic/rendezvous/conf/a pattern"},
    /* where training reports to */
    {WITH("\"tensorboard\": {}, \"mlflow\": {\"tracking_uri\": \"http://mlflow:5000\"}"), ""},
    {WITH("\"mlflow\": {\"tracking_uri\": \"https://me:pw@mlflow\"}"),
     "/mlflow/tracking_uri pattern"},
    {WITH("\"restart\": \"OnFailure\", \"clean_pods\": \"All\""),
     "/restart not_in_enum, /clean_pods not_in_enum"},
};
/* clang-format on */

static struct ty_contract *real_contract(void)
{
    const struct ty_document *document = ty_contract_rules();
    struct ty_contract *contract = NULL;
    struct ty_error err = {0};

    if (ty_contract_create(document->bytes, document->len, &contract, &err) != TY_OK)
        fail_msg("%s", err.text);
    return contract;
}

static void job_specs_are_taken_or_refused_by_pointer(void **state)
{
    struct ty_contract *contract = real_contract();
    const struct ty_operation *operation = ty_contract_operation(contract, "jobs_create");

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json json = small_json(cases[i].body);
        struct ty_faults faults;
        char text[512];

        ty_faults_init(&faults);
        (void)!ty_operation_check_body(operation, "application/json", json, &faults, NULL);
        small_faults(&faults, text, sizeof text);
        if (strcmp(text, cases[i].faults) != 0)
            fail_msg("%s\n  gave %s", cases[i].body, text);
    }
    ty_contract_destroy(contract);
}

/* Whatever the schema takes fits 63 characters as "<name>-<8 digits>-worker-<last index>". */
static void no_name_that_is_taken_is_too_long_for_its_last_worker(void **state)
{
    struct ty_contract *contract = real_contract();
    const struct ty_operation *operation = ty_contract_operation(contract, "jobs_create");
    size_t longest = 0;

    (void)state;
    for (size_t len = 1; len <= 63; len++) {
        char name[64] = "";
        ty_auto_json json = NULL;
        struct ty_faults faults;

        memset(name, 'a', len);
        json = json_pack("{s:s, s:s, s:s, s:I}", "image", "a", "script", "x", "name", name,
                         "replicas", (json_int_t)1000);
        ty_faults_init(&faults);
        if (ty_operation_check_body(operation, NULL, json, &faults, NULL) == TY_OK)
            longest = len;
    }
    assert_int_equal(longest + strlen("-01234567-worker-998"), 63);
    ty_contract_destroy(contract);
}

static void patches_take_null_where_it_removes(void **state)
{
    /* clang-format off */
    static const struct {
        const char *operation;
        const char *body;
        const char *faults;
    } patches[] = {
        {"jobs_update", "{\"labels\": {\"a\": null, \"b\": \"c\"}, \"description\": null}", ""},
        {"jobs_update", "{\"labels\": null}", ""},
        {"jobs_update", "{\"labels\": {\"a\": 1}, \"name\": \"x\"}",
         "/labels/a wrong_type, /name unknown_member"},
        {"jobs_update", "{\"labels\": {\"a\": \" \"}}", "/labels/a pattern"},
        {"jobs_clone",
         "{\"epochs\": 50, \"parameters\": {\"lr\": null}, \"env\": null, \"script\": null}", ""},
        {"jobs_clone", "{\"image\": null}", "/image wrong_type"},
        {"jobs_clone", "{\"epochs\": 0, \"replica\": 2}",
         "/epochs out_of_range, /replica unknown_member"},
        {"tenants_update", "{\"quota\": {\"max_gpus\": null, \"max_jobs\": 5}}", ""},
        {"tenants_update", "{\"namespace\": \"x\"}", "/namespace unknown_member"},
        {"jobs_cancel", "{}", ""},
        {"jobs_cancel", "{\"force\": true}", "/force unknown_member"},
        {"jobs_batch", "{\"items\": []}", "/items too_few_items"},
        {"jobs_batch", "{\"items\": [{\"image\": 5}, {}]}", ""}, /* each is judged alone, later */
        {"jobs_batch", "{\"items\": [1]}", "/items/0 wrong_type"},
        {"tokens_create", "{\"name\": \"n\", \"scopes\": [\"jobs:read\", \"jobs:read\"]}",
         "/scopes/1 not_unique"},
        {"tokens_create", "{\"name\": \"n\", \"role\": \"root\", \"expires_in_seconds\": 1}",
         "/role not_in_enum, /expires_in_seconds out_of_range"},
        {"volumes_create",
         "{\"name\": \"v\", \"size\": \"10Gi\", \"access_mode\": \"read_write_many\"}", ""},
        {"volumes_create", "{\"name\": \"V\"}", "/size required, /name pattern"},
    };
    /* clang-format on */
    struct ty_contract *contract = real_contract();

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(patches); i++) {
        ty_auto_json json = small_json(patches[i].body);
        struct ty_faults faults;
        char text[512];

        ty_faults_init(&faults);
        (void)!ty_operation_check_body(ty_contract_operation(contract, patches[i].operation), NULL,
                                       json, &faults, NULL);
        small_faults(&faults, text, sizeof text);
        if (strcmp(text, patches[i].faults) != 0)
            fail_msg("%s %s\n  gave %s", patches[i].operation, patches[i].body, text);
    }
    ty_contract_destroy(contract);
}

/* A megabyte of text or a hundred thousand members is judged, not fallen over. */
static void large_bodies_are_judged_too(void **state)
{
    struct ty_contract *contract = real_contract();
    const struct ty_operation *operation = ty_contract_operation(contract, "jobs_create");
    char *script = malloc(1048578);
    ty_auto_json json = NULL;
    struct ty_faults faults;

    (void)state;
    assert_non_null(script);
    memset(script, 'x', 1048577);
    script[1048577] = '\0';
    json = json_pack("{s:s, s:s#}", "image", "a", "script", script, (size_t)1048576);
    ty_faults_init(&faults);
    assert_int_equal(ty_operation_check_body(operation, NULL, json, &faults, NULL), TY_OK);
    assert_int_equal(json_object_set_new(json, "script", json_string(script)), 0);
    assert_int_equal(ty_operation_check_body(operation, NULL, json, &faults, NULL), TY_REFUSED);
    assert_string_equal(faults.items[0].code, "too_long");
    free(script);
    ty_contract_destroy(contract);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_specs_are_taken_or_refused_by_pointer),
        cmocka_unit_test(no_name_that_is_taken_is_too_long_for_its_last_worker),
        cmocka_unit_test(patches_take_null_where_it_removes),
        cmocka_unit_test(large_bodies_are_judged_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
