/* Documents: what is refused when one is compiled, and what is told of its operations. */
#include "small.h"

#include "trainyard/contract/documents.h"

static void a_schema_that_cannot_be_compiled_is_refused_with_its_pointer(void **state)
{
    /* clang-format off */
    static const struct {
        const char *schema;
        const char *text; /* a piece of the error */
    } cases[] = {
        {"{\"properties\": {\"a/b\": {\"minlength\": 1}}}",
         "/properties/a~1b/minlength: a keyword we do not know"},
        {"{\"items\": {\"patternProperties\": {}}}",
         "/items/patternProperties: a keyword we do not know"},
        {"{\"anyOf\": [{}, {\"x-else\": 1}]}", "/anyOf/1/x-else: a keyword we do not know"},
        {"{\"$ref\": \"#/components/schemas/None\"}", "#/components/schemas/None leads nowhere"},
        {"{\"$ref\": \"other.json#/a\"}", "other.json#/a leads nowhere"},
        {"{\"$ref\": \"#/components/schemas/Bad\"}",
         "#/components/schemas/Bad: /typ: a keyword we do not know"},
        {"{\"$ref\": 1}", "/$ref: must be a string"},
        {"{\"type\": \"text\"}", "/type: must be a type or a list of types"},
        {"{\"type\": []}", "/type: must be a type or a list of types"},
        {"{\"type\": [\"string\", 1]}", "/type: must be a type or a list of types"},
        {"{\"minLength\": -1}", "/minLength: must be an integer of at least 0"},
        {"{\"maxItems\": 1.5}", "/maxItems: must be an integer of at least 0"},
        {"{\"minimum\": \"1\"}", "/minimum: must be a number"},
        {"{\"enum\": []}", "/enum: must be an array that is not empty"},
        {"{\"anyOf\": []}", "/anyOf: must be an array that is not empty"},
        {"{\"required\": [1]}", "/required: must hold strings"},
        {"{\"required\": \"a\"}", "/required: must be an array"},
        {"{\"properties\": []}", "/properties: must be an object"},
        {"{\"pattern\": \"\\\\d\"}",
         "/pattern: pattern, byte 0: only \\xHH and escaped punctuation are portable"},
        {"{\"pattern\": \"(\"}", "/pattern: pattern, byte 1:"},
        {"{\"uniqueItems\": true}", "uniqueItems needs maxItems"},
        {"{\"uniqueItems\": 1}", "/uniqueItems: must be true or false"},
        {"{\"type\": \"number\", \"multipleOf\": 2}", "multipleOf is for integers only"},
        {"{\"multipleOf\": 0}", "/multipleOf: must be an integer of at least 1"},
        {"{\"then\": {}}", "then and else need an if"},
        {"{\"x-explain\": 1}", "/x-explain: must be a string"},
        {"{\"format\": 1}", "/format: must be a string"},
        {"{\"format\": \"uuid\"}", "/format: a format we do not know"},
        {"{\"items\": 5}", "/items: must be a schema"},
        {"[]", "must be a schema"},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_contract *untouched = (struct ty_contract *)&cases;
        struct ty_contract *contract = untouched;
        struct ty_error err = {0};
        ty_status status = small_create(cases[i].schema, "\"Bad\": {\"typ\": 1}", &contract, &err);

        if (status != TY_INVALID || !strstr(err.text, cases[i].text))
            fail_msg("%s\n  gave %s", cases[i].schema, err.text);
        assert_ptr_equal(contract, untouched);
    }
}

/* A document with one GET of the given further members. */
static ty_status get_with(const char *members, struct ty_contract **contract_out,
                          struct ty_error *err)
{
    ty_auto_buf text = {0};

    ty_buf_init(&text, 1 << 16);
    ty_buf_addf(&text,
                "{\"security\": [{\"bearer\": []}], \"paths\": {\"/t/{id}\": {\"get\":"
                "{\"operationId\": \"t\"%s, \"responses\": {\"200\": {\"description\": \"\"}}}}}}",
                members);
    return ty_contract_create(text.data, text.len, contract_out, err);
}

static void an_operation_that_contradicts_itself_is_refused(void **state)
{
    /* clang-format off */
    static const struct {
        const char *members;
        const char *text;
    } cases[] = {
        {", \"x-scope\": \"a\"", "security and x-scope must name one scope"},
        {", \"security\": [{\"bearer\": [\"a\"]}]", "security and x-scope must name one scope"},
        {", \"x-scope\": \"a\", \"security\": [{\"bearer\": [\"b\"]}]", "must name one scope"},
        {", \"security\": [{\"other\": []}]", "security must be empty or ask for bearer"},
        {", \"x-body-limit\": 5", "a body and x-body-limit go together"},
        {", \"requestBody\": {\"content\": {\"a/b\": {\"schema\": {}}}}",
         "a body and x-body-limit go together"},
        {", \"x-body-limit\": 5, \"requestBody\": {\"content\": {\"a/b\": {}}}", "needs a schema"},
        {", \"parameters\": [{\"name\": \"a\"}]", "a parameter needs name and in"},
        {", \"parameters\": [{\"name\": \"a\", \"in\": \"cookie\"}]",
         "parameters in cookie are not known"},
        {", \"parameters\": [{\"name\": \"a\", \"in\": \"query\", \"schema\": {\"type\": "
         "\"object\"}}]", "must be of one simple type or a list"},
        {", \"parameters\": [{\"name\": \"a\", \"in\": \"query\", \"schema\": {\"type\": "
         "[\"integer\", \"string\"]}}]", "must be of one simple type or a list"},
        {", \"parameters\": [{\"name\": \"a\", \"in\": \"header\", \"schema\": {\"type\": "
         "\"array\"}}]", "lists are exploded query forms"},
        {", \"parameters\": [{\"name\": \"a\", \"in\": \"query\", \"explode\": false, \"schema\": "
         "{\"type\": \"array\"}}]", "lists are exploded query forms"},
        {", \"parameters\": [{\"name\": \"a\", \"in\": \"query\", \"schema\": {\"type\": "
         "\"array\", \"items\": {}}}]", "a list has items and maxItems"},
        {", \"parameters\": [{\"name\": \"a\", \"in\": \"query\", \"x-split-commas\": true, "
         "\"schema\":"
         "{\"type\": \"array\", \"maxItems\": 3, \"items\": {\"type\": \"string\"}}}]",
     "only an enum can be split at commas"},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_contract *contract = NULL;
        struct ty_error err = {0};

        if (get_with(cases[i].members, &contract, &err) != TY_INVALID ||
            !strstr(err.text, cases[i].text))
            fail_msg("%s\n  gave %s", cases[i].members, err.text);
        assert_null(contract);
    }
}

static void text_that_is_no_document_is_refused(void **state)
{
    static const char *const texts[] = {"", "{", "[]x", "{\"a\": 1, \"a\": 2}"};
    struct ty_contract *contract = NULL;
    struct ty_error err = {0};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++)
        assert_int_equal(ty_contract_create(texts[i], strlen(texts[i]), &contract, &err),
                         TY_INVALID);
    assert_null(contract);
    assert_int_equal(ty_contract_create("{", 1, &contract, NULL), TY_INVALID);
}

static void assert_types(const char *const *types, const char *expected)
{
    char text[256] = "";
    size_t len = 0;

    assert_non_null(types);
    for (; *types; types++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", len > 0 ? " " : "", *types);
    assert_string_equal(text, expected);
}

static struct ty_contract *real_contract(void)
{
    const struct ty_document *document = ty_contract_document();
    struct ty_contract *contract = NULL;
    struct ty_error err = {0};

    if (ty_contract_create(document->bytes, document->len, &contract, &err) != TY_OK)
        fail_msg("%s", err.text);
    return contract;
}

static void operations_tell_what_the_route_table_must_hold(void **state)
{
    struct ty_contract *contract = real_contract();
    const struct ty_operation *create = ty_contract_operation(contract, "jobs_create");
    const struct ty_operation *logs = ty_contract_operation(contract, "jobs_logs");
    const struct ty_operation *live = ty_contract_operation(contract, "livez");
    const struct ty_operation *who = ty_contract_operation(contract, "whoami");

    (void)state;
    assert_string_equal(ty_operation_id(create), "jobs_create");
    assert_string_equal(ty_operation_method(create), "POST");
    assert_string_equal(ty_operation_path(create), "/v1/jobs");
    assert_string_equal(ty_operation_scope(create), "jobs:write");
    assert_false(ty_operation_public(create));
    assert_int_equal(ty_operation_body_limit(create), 4194304);
    assert_true(ty_operation_body_required(create));
    assert_types(ty_operation_consumes(create),
                 "application/json application/yaml application/x-yaml text/yaml");
    assert_types(ty_operation_produces(create), "application/json");
    assert_types(ty_operation_answer_types(create, 422), "application/problem+json");
    assert_null(ty_operation_answer_types(create, 418));

    assert_types(ty_operation_produces(logs), "text/plain text/event-stream");
    assert_types(ty_operation_consumes(logs), "");
    assert_types(ty_operation_answer_types(logs, 204), "");
    assert_int_equal(ty_operation_body_limit(logs), 0);

    assert_true(ty_operation_public(live));
    assert_null(ty_operation_scope(live));
    assert_false(ty_operation_public(who));
    assert_null(ty_operation_scope(who));
    assert_types(ty_operation_consumes(ty_contract_operation(contract, "jobs_update")),
                 "application/merge-patch+json application/json");
    ty_contract_destroy(contract);
}

static void operations_are_found_by_id_by_path_and_by_number(void **state)
{
    struct ty_contract *contract = real_contract();
    size_t count = ty_contract_operation_count(contract);

    (void)state;
    assert_true(count >= 40);
    for (size_t i = 0; i < count; i++) {
        const struct ty_operation *operation = ty_contract_operation_at(contract, i);

        assert_ptr_equal(ty_contract_operation(contract, ty_operation_id(operation)), operation);
        assert_ptr_equal(ty_contract_operation_at_path(contract, ty_operation_method(operation),
                                                       ty_operation_path(operation)),
                         operation);
        assert_true(ty_operation_public(operation) ||
                    ty_operation_answer_types(operation, 401) != NULL);
    }
    assert_null(ty_contract_operation_at(contract, count));
    assert_null(ty_contract_operation(contract, "jobs_fly"));
    assert_null(ty_contract_operation_at_path(contract, "PUT", "/v1/jobs"));
    ty_contract_destroy(contract);
    ty_contract_destroy(NULL);
}

static void named_schemas_check_values_of_their_own(void **state)
{
    struct ty_contract *contract = real_contract();
    ty_auto_json good = small_json("{\"image\": \"a/b:1\", \"script\": \"x\"}");
    ty_auto_json bad = small_json("{\"image\": \"A B\", \"script\": \"x\"}");
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    assert_int_equal(ty_contract_check(contract, "JobSpec", good, &faults, NULL), TY_OK);
    assert_int_equal(ty_contract_check(contract, "JobSpec", bad, &faults, NULL), TY_REFUSED);
    assert_string_equal(faults.items[0].where, "/image");
    assert_int_equal(ty_contract_check(contract, "NoSuch", good, &faults, NULL), TY_INTERNAL);
    ty_contract_destroy(contract);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_that_cannot_be_compiled_is_refused_with_its_pointer),
        cmocka_unit_test(an_operation_that_contradicts_itself_is_refused),
        cmocka_unit_test(text_that_is_no_document_is_refused),
        cmocka_unit_test(operations_tell_what_the_route_table_must_hold),
        cmocka_unit_test(operations_are_found_by_id_by_path_and_by_number),
        cmocka_unit_test(named_schemas_check_values_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
