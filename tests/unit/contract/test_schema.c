/* Each keyword of the vocabulary: what it takes and what it refuses. */
#include "small.h"

/* clang-format off */
static const struct {
    const char *schema;
    const char *instance;
    bool valid;
} cases[] = {
    /* type */
    {"{}", "null", true},
    {"true", "[1]", true},
    {"false", "1", false},
    {"{\"type\": \"integer\"}", "1", true},
    {"{\"type\": \"integer\"}", "1.0", false}, /* our own rule */
    {"{\"type\": \"integer\"}", "1e3", false},
    {"{\"type\": \"integer\"}", "\"1\"", false},
    {"{\"type\": \"number\"}", "1", true},
    {"{\"type\": \"number\"}", "1.5", true},
    {"{\"type\": \"number\"}", "true", false},
    {"{\"type\": \"string\"}", "\"\"", true},
    {"{\"type\": \"string\"}", "null", false},
    {"{\"type\": \"boolean\"}", "false", true},
    {"{\"type\": \"boolean\"}", "0", false},
    {"{\"type\": \"null\"}", "null", true},
    {"{\"type\": \"null\"}", "false", false},
    {"{\"type\": \"array\"}", "[]", true},
    {"{\"type\": \"array\"}", "{}", false},
    {"{\"type\": \"object\"}", "{}", true},
    {"{\"type\": \"object\"}", "[]", false},
    {"{\"type\": [\"string\", \"null\"]}", "null", true},
    {"{\"type\": [\"string\", \"null\"]}", "1", false},
    /* enum, const */
    {"{\"enum\": [\"a\", 1, null, [1], true]}", "\"a\"", true},
    {"{\"enum\": [\"a\", 1, null, [1], true]}", "1", true},
    {"{\"enum\": [\"a\", 1, null, [1], true]}", "[1]", true},
    {"{\"enum\": [\"a\", 1, null, [1], true]}", "[2]", false},
    {"{\"enum\": [\"a\", 1, null, [1], true]}", "\"ab\"", false},
    {"{\"enum\": [\"a\", 1, null, [1], true]}", "\"\"", false},
    {"{\"enum\": [\"a\", 1, null, [1], true]}", "false", false},
    {"{\"const\": 2.5}", "2.5", true},
    {"{\"const\": 2.5}", "2", false},
    {"{\"const\": {\"a\": [1]}}", "{\"a\": [1]}", true},
    {"{\"const\": {\"a\": [1]}}", "{\"a\": []}", false},
    /* strings: characters, not bytes */
    {"{\"maxLength\": 2}", "\"\xe6\xa8\xa1\xe5\x9e\x8b\"", true},
    {"{\"maxLength\": 1}", "\"\xe6\xa8\xa1\xe5\x9e\x8b\"", false},
    {"{\"minLength\": 2}", "\"\xf0\x9f\x98\x80\"", false},
    {"{\"minLength\": 1}", "\"\xf0\x9f\x98\x80\"", true},
    {"{\"minLength\": 1}", "\"\"", false},
    {"{\"maxLength\": 0}", "\"\"", true},
    {"{\"minLength\": 3}", "12", true}, /* of strings only */
    {"{\"pattern\": \"^[a-c]+$\"}", "\"abc\"", true},
    {"{\"pattern\": \"^[a-c]+$\"}", "\"abd\"", false},
    {"{\"pattern\": \"^[a-c]+$\"}", "5", true},
    {"{\"format\": \"date-time\"}", "\"2026-01-02T03:04:05Z\"", true},
    {"{\"format\": \"date-time\"}", "\"2026-01-02T03:04:05.123456+02:00\"", true},
    {"{\"format\": \"date-time\"}", "\"2026-02-30T00:00:00Z\"", false},
    {"{\"format\": \"date-time\"}", "\"yesterday\"", false},
    {"{\"format\": \"uri-reference\"}", "\"any thing\"", true}, /* an annotation */
    {"{\"format\": \"byte\"}", "\"\"", true},
    {"{\"format\": \"byte\"}", "\"YQ==\"", true},
    {"{\"format\": \"byte\"}", "\"YWI=\"", true},
    {"{\"format\": \"byte\"}", "\"YWJj\"", true},
    {"{\"format\": \"byte\"}", "\"YQ\"", false},
    {"{\"format\": \"byte\"}", "\"YR==\"", false}, /* loose bits */
    {"{\"format\": \"byte\"}", "\"YWJ=\"", false},
    {"{\"format\": \"byte\"}", "\"Y===\"", false},
    {"{\"format\": \"byte\"}", "\"====\"", false},
    {"{\"format\": \"byte\"}", "\"YQ==YQ==\"", false},
    {"{\"format\": \"byte\"}", "\"YW-_\"", false},
    {"{\"format\": \"byte\"}", "\"Y=Q=\"", false},
    /* numbers */
    {"{\"minimum\": 1}", "1", true},
    {"{\"minimum\": 1}", "0", false},
    {"{\"minimum\": 1}", "0.999", false},
    {"{\"maximum\": 9007199254740993}", "9007199254740993", true},
    {"{\"maximum\": 9007199254740993}", "9007199254740994", false}, /* exact beyond 2^53 */
    {"{\"maximum\": 1.5}", "1", true},
    {"{\"maximum\": 1.5}", "2", false},
    {"{\"exclusiveMinimum\": 0}", "0", false},
    {"{\"exclusiveMinimum\": 0}", "0.5", true},
    {"{\"exclusiveMaximum\": 10}", "10", false},
    {"{\"exclusiveMaximum\": 10}", "9", true},
    {"{\"type\": \"integer\", \"multipleOf\": 5}", "10", true},
    {"{\"type\": \"integer\", \"multipleOf\": 5}", "-10", true},
    {"{\"type\": \"integer\", \"multipleOf\": 5}", "12", false},
    /* arrays */
    {"{\"items\": {\"type\": \"integer\"}}", "[1, 2]", true},
    {"{\"items\": {\"type\": \"integer\"}}", "[1, \"2\"]", false},
    {"{\"items\": false}", "[]", true},
    {"{\"items\": false}", "[1]", false},
    {"{\"minItems\": 1}", "[]", false},
    {"{\"minItems\": 1}", "[null]", true},
    {"{\"maxItems\": 1}", "[1, 2]", false},
    {"{\"uniqueItems\": true, \"maxItems\": 9}", "[1, 2, \"1\"]", true},
    {"{\"uniqueItems\": true, \"maxItems\": 9}", "[{\"a\": 1}, {\"a\": 1}]", false},
    {"{\"uniqueItems\": false, \"maxItems\": 9}", "[1, 1]", true},
    {"{\"prefixItems\": [{\"minLength\": 1}], \"items\": {\"type\": \"string\"}}",
     "[\"a\", \"\"]", true},
    {"{\"prefixItems\": [{\"minLength\": 1}], \"items\": {\"type\": \"string\"}}",
     "[\"\", \"a\"]", false},
    {"{\"prefixItems\": [{\"minLength\": 1}], \"items\": {\"type\": \"string\"}}", "[1, 1]", false},
    {"{\"prefixItems\": [{\"minLength\": 1}], \"items\": {\"type\": \"string\"}}", "[1]", true},
    {"{\"prefixItems\": [{\"minLength\": 1}]}", "[\"a\", null]", true},
    /* objects */
    {"{\"required\": [\"a\"]}", "{\"a\": null}", true},
    {"{\"required\": [\"a\"]}", "{\"b\": 1}", false},
    {"{\"required\": [\"a\"]}", "\"a\"", true},
    {"{\"properties\": {\"a\": {\"type\": \"string\"}}}", "{\"b\": 1}", true},
    {"{\"properties\": {\"a\": {\"type\": \"string\"}}}", "{\"a\": 1}", false},
    {"{\"properties\": {\"a\": {}}, \"additionalProperties\": false}", "{\"a\": 1}", true},
    {"{\"properties\": {\"a\": {}}, \"additionalProperties\": false}", "{\"A\": 1}", false},
    {"{\"additionalProperties\": {\"type\": \"integer\"}}", "{\"x\": 1}", true},
    {"{\"additionalProperties\": {\"type\": \"integer\"}}", "{\"x\": \"1\"}", false},
    {"{\"additionalProperties\": true}", "{\"x\": \"1\"}", true},
    {"{\"propertyNames\": {\"maxLength\": 2}}", "{\"ab\": 1}", true},
    {"{\"propertyNames\": {\"maxLength\": 2}}", "{\"abc\": 1}", false},
    {"{\"minProperties\": 1}", "{}", false},
    {"{\"maxProperties\": 1}", "{\"a\": 1, \"b\": 2}", false},
    {"{\"maxProperties\": 2}", "{\"a\": 1, \"b\": 2}", true},
    /* combinations */
    {"{\"allOf\": [{\"minimum\": 1}, {\"maximum\": 3}]}", "2", true},
    {"{\"allOf\": [{\"minimum\": 1}, {\"maximum\": 3}]}", "4", false},
    {"{\"anyOf\": [{\"type\": \"string\"}, {\"minimum\": 3}]}", "\"x\"", true},
    {"{\"anyOf\": [{\"type\": \"string\"}, {\"minimum\": 3}]}", "2", false},
    {"{\"oneOf\": [{\"minimum\": 1}, {\"maximum\": 3}]}", "5", true},
    {"{\"oneOf\": [{\"minimum\": 1}, {\"maximum\": 3}]}", "2", false},
    {"{\"not\": {\"type\": \"null\"}}", "1", true},
    {"{\"not\": {\"type\": \"null\"}}", "null", false},
    {"{\"if\": {\"minimum\": 10}, \"then\": {\"maximum\": 20}, \"else\": {\"maximum\": 5}}", "15",
     true},
    {"{\"if\": {\"minimum\": 10}, \"then\": {\"maximum\": 20}, \"else\": {\"maximum\": 5}}", "25",
     false},
    {"{\"if\": {\"minimum\": 10}, \"then\": {\"maximum\": 20}, \"else\": {\"maximum\": 5}}", "3",
     true},
    {"{\"if\": {\"minimum\": 10}, \"then\": {\"maximum\": 20}, \"else\": {\"maximum\": 5}}", "7",
     false},
    {"{\"if\": {\"minimum\": 10}, \"then\": {\"maximum\": 20}}", "7", true},
    /* references, to oneself too */
    {"{\"$ref\": \"#/components/schemas/Small\", \"minimum\": 2}", "3", true},
    {"{\"$ref\": \"#/components/schemas/Small\", \"minimum\": 2}", "1", false},
    {"{\"$ref\": \"#/components/schemas/Small\", \"minimum\": 2}", "11", false},
    {"{\"$ref\": \"#/components/schemas/Tree\"}", "{\"next\": {\"next\": {}}}", true},
    {"{\"$ref\": \"#/components/schemas/Tree\"}", "{\"next\": {\"next\": 1}}", false},
    {"{\"$ref\": \"#/components/schemas/a~1b~0c\"}", "\"x\"", true},
    {"{\"$ref\": \"#/components/schemas/a~1b~0c\"}", "1", false},
    /* what says nothing about validity */
    {"{\"title\": \"T\", \"description\": \"d\", \"default\": 1, \"examples\": [2], "
     "\"deprecated\": true,"
     "\"x-explain\": \"e\", \"x-extensible-enum\": [\"a\"]}", "\"b\"", true},
};
/* clang-format on */

static const char schemas[] = "\"Small\": {\"type\": \"integer\", \"maximum\": 10},"
                              "\"Tree\": {\"type\": \"object\", \"properties\": {\"next\": "
                              "{\"$ref\": \"#/components/schemas/Tree\"}}},"
                              "\"a/b~c\": {\"type\": \"string\"}";

static void every_keyword_takes_and_refuses_what_it_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_contract *contract = small_contract(cases[i].schema, schemas);
        ty_auto_json json = small_json(cases[i].instance);
        struct ty_faults faults;
        ty_status status;

        ty_faults_init(&faults);
        status = ty_operation_check_body(ty_contract_operation(contract, "make"),
                                         "application/json", json, &faults, NULL);
        if (status != (cases[i].valid ? TY_OK : TY_REFUSED))
            fail_msg("%s with %s", cases[i].schema, cases[i].instance);
        if (ty_faults_any(&faults) == cases[i].valid)
            fail_msg("faults of %s with %s", cases[i].schema, cases[i].instance);
        ty_contract_destroy(contract);
    }
}

static void references_that_only_refer_to_each_other_end(void **state)
{
    struct ty_contract *contract = small_contract("{\"$ref\": \"#/components/schemas/A\"}",
                                                  "\"A\": {\"$ref\": \"#/components/schemas/B\"},"
                                                  "\"B\": {\"$ref\": \"#/components/schemas/A\"}");
    ty_auto_json json = small_json("1");
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    assert_int_equal(
        ty_operation_check_body(ty_contract_operation(contract, "make"), NULL, json, &faults, NULL),
        TY_REFUSED);
    assert_string_equal(faults.items[0].code, "too_deep");
    ty_contract_destroy(contract);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_keyword_takes_and_refuses_what_it_should),
        cmocka_unit_test(references_that_only_refer_to_each_other_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
