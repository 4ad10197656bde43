/* Reads lines {"schema": …, "instances": […]} and answers one line for each: 1 and 0 for what is
 * valid and what is not, or "!" and why the schema was refused. With {"name": "JobSpec"} in place
 * of the schema, the instances are held against that one of the embedded contract. For cross.py. */
#include "trainyard/base/buf.h"
#include "trainyard/base/scope.h"
#include "trainyard/contract/contract.h"
#include "trainyard/contract/documents.h"

#include <stdio.h>
#include <string.h>

static char *wrap(const json_t *schema)
{
    ty_auto_free char *text = json_dumps(schema, JSON_ENCODE_ANY | JSON_COMPACT);
    ty_auto_buf out = {0};

    ty_buf_init(&out, 1 << 24);
    ty_buf_addf(
        &out,
        "{\"security\": [{\"bearer\": []}], \"paths\": {\"/t\": {\"post\": {\"operationId\":"
        "\"t\", \"x-body-limit\": 1, \"requestBody\": {\"content\": {\"application/json\":"
        "{\"schema\": %s}}}, \"responses\": {}}}}}",
        text);
    return ty_buf_take(&out, NULL);
}

static void answer(const struct ty_contract *contract, const char *name, const json_t *instances)
{
    size_t index;
    const json_t *instance;

    json_array_foreach(instances, index, instance)
    {
        struct ty_faults faults;
        ty_status status;

        ty_faults_init(&faults);
        status = name ? ty_contract_check(contract, name, instance, &faults, NULL)
                      : ty_operation_check_body(ty_contract_operation(contract, "t"), NULL,
                                                instance, &faults, NULL);
        putchar(status == TY_OK ? '1' : '0');
    }
    putchar('\n');
}

static void answer_line(const struct ty_contract *embedded, const json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "name"));
    ty_auto_free char *text = name ? NULL : wrap(json_object_get(line, "schema"));
    struct ty_contract *contract = NULL;
    struct ty_error err = {0};

    if (name) {
        answer(embedded, name, json_object_get(line, "instances"));
        return;
    }
    if (ty_contract_create(text, strlen(text), &contract, &err) != TY_OK) {
        printf("!%s\n", err.text);
        return;
    }
    answer(contract, NULL, json_object_get(line, "instances"));
    ty_contract_destroy(contract);
}

int main(void)
{
    const struct ty_document *document = ty_contract_rules();
    struct ty_contract *embedded = NULL;
    ty_auto_free char *line = NULL;
    size_t size = 0;

    if (ty_contract_create(document->bytes, document->len, &embedded, NULL) != TY_OK)
        return 1;
    while (getline(&line, &size, stdin) > 0) {
        ty_auto_json json = json_loads(line, 0, NULL);

        if (!json)
            return 1;
        answer_line(embedded, json);
    }
    ty_contract_destroy(embedded);
    return 0;
}
