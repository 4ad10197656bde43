/* Any bytes as the body of any operation that takes one: what parses is judged without a fault of
 * ours, the same way twice, and never both taken and faulty. */
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/contract/contract.h"
#include "trainyard/contract/documents.h"

static struct ty_contract *contract;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const struct ty_document *document = ty_contract_rules();

    (void)argc;
    (void)argv;
    if (ty_contract_create(document->bytes, document->len, &contract, NULL) != TY_OK)
        abort();
    return 0;
}

static void check(const struct ty_operation *operation, const json_t *body)
{
    struct ty_faults first;
    struct ty_faults second;
    ty_status status;

    if (ty_operation_body_limit(operation) == 0)
        return;
    ty_faults_init(&first);
    ty_faults_init(&second);
    status = ty_operation_check_body(operation, NULL, body, &first, NULL);
    if (status != TY_OK && status != TY_REFUSED)
        abort();
    if ((status == TY_OK) == ty_faults_any(&first))
        abort();
    if (ty_operation_check_body(operation, NULL, body, &second, NULL) != status ||
        second.count != first.count)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ty_auto_json body = NULL;

    if (ty_json_parse((const char *)data, size, &body, NULL) != TY_OK)
        return 0;
    for (size_t i = 0; i < ty_contract_operation_count(contract); i++)
        check(ty_contract_operation_at(contract, i), body);
    return 0;
}
