/* What a client is told: every fault at once, where it is, by a stable code, in words that help and
 * give nothing away. */
#include "small.h"

static const char schema[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"name\", \"size\"],"
    " \"properties\": {"
    "  \"name\": {\"type\": \"string\", \"minLength\": 2, \"maxLength\": 5, \"pattern\": "
    "\"^[a-z]*$\","
    "             \"x-explain\": \"must be lower-case\\nletters\"},"
    "  \"size\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 9},"
    "  \"timeout_seconds\": {\"type\": \"integer\"},"
    "  \"mode\": {\"enum\": [\"on\", \"off\"]},"
    "  \"list\": {\"type\": \"array\", \"maxItems\": 3, \"minItems\": 1, \"uniqueItems\": true,"
    "             \"items\": {\"type\": \"string\"}},"
    "  \"map\": {\"type\": \"object\", \"maxProperties\": 2, \"propertyNames\": {\"pattern\": "
    "\"^[A-Z]*$\","
    "            \"x-explain\": \"must be upper-case\"}, \"additionalProperties\": {\"type\": "
    "\"string\"}},"
    "  \"claim\": {\"oneOf\": [{\"type\": \"string\", \"maxLength\": 3},"
    "              {\"type\": \"object\", \"required\": [\"claim\"], \"additionalProperties\": "
    "false,"
    "               \"properties\": {\"claim\": {\"type\": \"string\"}}}]},"
    "  \"label\": {\"anyOf\": [{\"type\": \"string\", \"maxLength\": 2}, {\"type\": \"null\"}]},"
    "  \"a\": {}, \"b\": {}, \"never\": false,"
    "  \"path\": {\"type\": \"string\", \"not\": {\"pattern\": \"^/etc\"}, \"x-explain\": \"not "
    "below /etc\"}"
    " },"
    " \"not\": {\"required\": [\"a\", \"b\"]}}";

/* clang-format off */
static const struct {
    const char *body;
    const char *faults;
} cases[] = {
    {"{}", "/name required, /size required"},
    {"[]", " wrong_type"},
    {"{\"name\": \"a\", \"size\": 0}", "/name too_short, /size out_of_range"},
    {"{\"name\": \"abcdef\", \"size\": 10}", "/name too_long, /size out_of_range"},
    {"{\"name\": \"aB\", \"size\": 1.0}", "/name pattern, /size wrong_type"},
    {"{\"name\": 1, \"size\": \"1\"}", "/name wrong_type, /size wrong_type"},
    {"{\"name\": \"ab\", \"size\": 1, \"mode\": \"On\"}", "/mode not_in_enum"},
    {"{\"name\": \"ab\", \"size\": 1, \"list\": []}", "/list too_few_items"},
    {"{\"name\": \"ab\", \"size\": 1, \"list\": [\"a\", 1, null]}",
     "/list/1 wrong_type, /list/2 wrong_type"},
    {"{\"name\": \"ab\", \"size\": 1, \"list\": [\"a\", \"b\", \"a\"]}", "/list/2 not_unique"},
    {"{\"name\": \"ab\", \"size\": 1, \"list\": [1, 2, 3, 4]}", "/list too_many_items"},
    {"{\"name\": \"ab\", \"size\": 1, \"map\": {\"a/b~\": 1, \"OK\": 2}}",
     "/map/a~1b~0 bad_name, /map/OK wrong_type"},
    {"{\"name\": \"ab\", \"size\": 1, \"map\": {\"A\": \"\", \"B\": \"\", \"C\": \"\"}}",
     "/map too_many_members"},
    {"{\"name\": \"ab\", \"size\": 1, \"tiemout_seconds\": 1}", "/tiemout_seconds unknown_member"},
    /* the branch that was meant tells its faults */
    {"{\"name\": \"ab\", \"size\": 1, \"claim\": \"long\"}", "/claim too_long"},
    {"{\"name\": \"ab\", \"size\": 1, \"claim\": {}}", "/claim/claim required"},
    {"{\"name\": \"ab\", \"size\": 1, \"claim\": {\"claim\": 1, \"x\": 2}}",
     "/claim/claim wrong_type, /claim/x unknown_member"},
    {"{\"name\": \"ab\", \"size\": 1, \"claim\": 5}", "/claim wrong_type"},
    {"{\"name\": \"ab\", \"size\": 1, \"label\": \"long\"}", "/label too_long"},
    {"{\"name\": \"ab\", \"size\": 1, \"a\": 1, \"b\": 1}", "/b not_allowed"},
    {"{\"name\": \"ab\", \"size\": 1, \"never\": 1}", "/never not_allowed"},
    {"{\"name\": \"ab\", \"size\": 1, \"path\": \"/etc/x\"}", "/path not_allowed"},
    {"{\"name\": \"ab\", \"size\": 1}", ""},
};
/* clang-format on */

static void all_faults_of_a_body_are_found_at_once_with_their_pointers(void **state)
{
    struct ty_contract *contract = small_contract(schema, NULL);

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json json = small_json(cases[i].body);
        struct ty_faults faults;
        struct ty_error err = {0};
        char text[512];
        ty_status status;

        ty_faults_init(&faults);
        status = ty_operation_check_body(ty_contract_operation(contract, "make"), NULL, json,
                                         &faults, &err);
        small_faults(&faults, text, sizeof text);
        if (strcmp(text, cases[i].faults) != 0)
            fail_msg("%s\n  gave %s", cases[i].body, text);
        assert_int_equal(status, faults.count ? TY_REFUSED : TY_OK);
        if (status)
            assert_string_equal(err.code, "validation_failed");
    }
    ty_contract_destroy(contract);
}

static void check_detail(const struct ty_contract *contract, const char *body, const char *detail)
{
    ty_auto_json json = small_json(body);
    struct ty_faults faults;

    ty_faults_init(&faults);
    assert_int_equal(
        ty_operation_check_body(ty_contract_operation(contract, "make"), NULL, json, &faults, NULL),
        TY_REFUSED);
    assert_string_equal(faults.items[0].detail, detail);
}

static void details_say_what_would_be_right(void **state)
{
    /* clang-format off */
    static const struct {
        const char *body;
        const char *detail;
    } details[] = {
        {"{\"name\": \"abcdef\", \"size\": 1}", "has 6 characters; at most 5 are allowed"},
        {"{\"name\": \"aB\", \"size\": 1}", "must be lower-case letters"},
        {"{\"name\": \"ab\", \"size\": 1e0}",
         "must be an integer written without fraction or exponent"},
        {"{\"name\": \"ab\", \"size\": 0}", "must be at least 1"},
        {"{\"name\": \"ab\", \"size\": 1, \"mode\": 1}", "must be one of on, off"},
        {"{\"name\": \"ab\", \"size\": 1, \"claim\": 5}", "must be an object or a string"},
        {"{\"name\": \"ab\", \"size\": 1, \"timeoutSeconds\": 1}",
         "is not known here; did you mean timeout_seconds?"},
        {"{\"name\": \"ab\", \"size\": 1, \"Size\": 1}", "is not known here; did you mean size?"},
        {"{\"name\": \"ab\", \"size\": 1, \"entirely_else\": 1}", "is not known here"},
        {"{\"name\": \"ab\", \"size\": 1, \"map\": {\"x\": \"\"}}", "must be upper-case"},
        {"{\"name\": \"ab\", \"size\": 1, \"path\": \"/etc\"}", "not below /etc"},
    };
    /* clang-format on */
    struct ty_contract *contract = small_contract(schema, NULL);

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(details); i++)
        check_detail(contract, details[i].body, details[i].detail);
    ty_contract_destroy(contract);
}

static void values_are_never_repeated_in_a_fault(void **state)
{
    static const char *const bodies[] = {
        "{\"name\": \"sEcReT\", \"size\": 1}",
        "{\"name\": \"ab\", \"size\": \"sEcReT\"}",
        "{\"name\": \"ab\", \"size\": 1, \"mode\": \"sEcReT\"}",
        "{\"name\": \"ab\", \"size\": 1, \"claim\": \"sEcReT\"}",
        "{\"name\": \"ab\", \"size\": 1, \"list\": [\"sEcReT\", \"sEcReT\"]}",
        "{\"name\": \"ab\", \"size\": 1, \"map\": {\"A\": [\"sEcReT\"]}}",
        "{\"name\": \"ab\", \"size\": 1, \"typo\": \"sEcReT\"}",
    };
    struct ty_contract *contract = small_contract(schema, NULL);

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bodies); i++) {
        ty_auto_json json = small_json(bodies[i]);
        struct ty_faults faults;
        struct ty_error err = {0};

        ty_faults_init(&faults);
        assert_int_equal(ty_operation_check_body(ty_contract_operation(contract, "make"), NULL,
                                                 json, &faults, &err),
                         TY_REFUSED);
        assert_null(strstr(err.text, "sEcReT"));
        for (size_t j = 0; j < faults.count; j++) {
            assert_null(strstr(faults.items[j].detail, "sEcReT"));
            assert_null(strstr(faults.items[j].where, "sEcReT"));
        }
    }
    ty_contract_destroy(contract);
}

static void faults_beyond_the_fiftieth_are_counted(void **state)
{
    struct ty_contract *contract = small_contract("{\"additionalProperties\": false}", NULL);
    ty_auto_json json = json_object();
    struct ty_faults faults;
    struct ty_error err = {0};
    char key[16];

    (void)state;
    for (int i = 0; i < 60; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(json_object_set_new(json, key, json_null()), 0);
    }
    ty_faults_init(&faults);
    assert_int_equal(
        ty_operation_check_body(ty_contract_operation(contract, "make"), NULL, json, &faults, &err),
        TY_REFUSED);
    assert_int_equal(faults.count, TY_FAULTS_MAX);
    assert_int_equal(faults.dropped, 10);
    assert_string_equal(err.text, "the body has 60 faults");
    ty_contract_destroy(contract);
}

static void a_pointer_that_is_too_long_is_cut(void **state)
{
    struct ty_contract *contract = small_contract("{\"additionalProperties\": false}", NULL);
    ty_auto_json json = json_object();
    struct ty_faults faults;
    char key[2000];

    (void)state;
    memset(key, '~', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    assert_int_equal(json_object_set_new(json, key, json_null()), 0);
    ty_faults_init(&faults);
    assert_int_equal(
        ty_operation_check_body(ty_contract_operation(contract, "make"), NULL, json, &faults, NULL),
        TY_REFUSED);
    assert_memory_equal(faults.items[0].where, "/~0~0~0", 7);
    assert_true(strlen(faults.items[0].where) < 256);
    ty_contract_destroy(contract);
}

static void a_body_that_is_missing_or_of_another_type_is_a_fault(void **state)
{
    struct ty_contract *contract = small_contract("{}", NULL);
    const struct ty_operation *operation = ty_contract_operation(contract, "make");
    ty_auto_json json = small_json("1");
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    assert_int_equal(ty_operation_check_body(operation, NULL, NULL, &faults, NULL), TY_REFUSED);
    assert_string_equal(faults.items[0].code, "required");
    ty_faults_init(&faults);
    assert_int_equal(ty_operation_check_body(operation, "text/plain", json, &faults, NULL),
                     TY_REFUSED);
    assert_string_equal(faults.items[0].code, "not_allowed");
    ty_contract_destroy(contract);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_faults_of_a_body_are_found_at_once_with_their_pointers),
        cmocka_unit_test(details_say_what_would_be_right),
        cmocka_unit_test(values_are_never_repeated_in_a_fault),
        cmocka_unit_test(faults_beyond_the_fiftieth_are_counted),
        cmocka_unit_test(a_pointer_that_is_too_long_is_cut),
        cmocka_unit_test(a_body_that_is_missing_or_of_another_type_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
