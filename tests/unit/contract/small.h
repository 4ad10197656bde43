/* Small contracts for tests: one POST with a body of a given schema, and its faults as one line of
 * text. */
#ifndef TRAINYARD_TESTS_UNIT_CONTRACT_SMALL_H
#define TRAINYARD_TESTS_UNIT_CONTRACT_SMALL_H

#include "unit.h"

#include "trainyard/base/buf.h"
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/contract/contract.h"

#include <stdio.h>
#include <stdlib.h>

/* A document with POST /things that takes `schema`, and `schemas` under components (NULL: none). */
static inline ty_status small_create(const char *schema, const char *schemas,
                                     struct ty_contract **contract_out, struct ty_error *err)
{
    ty_auto_buf text = {0};

    ty_buf_init(&text, 1 << 20);
    ty_buf_addf(
        &text,
        "{\"openapi\": \"3.1.0\", \"security\": [{\"bearer\": []}],"
        "\"paths\": {\"/things\": {\"post\": {\"operationId\": \"make\", \"x-body-limit\": 10,"
        "\"requestBody\": {\"required\": true, \"content\": {\"application/json\":"
        "{\"schema\": %s}}}, \"responses\": {\"200\": {\"description\": \"Made.\"}}}}},"
        "\"components\": {\"schemas\": {%s}}}",
        schema, schemas ? schemas : "");
    assert_int_equal(text.failed, TY_OK);
    return ty_contract_create(text.data, text.len, contract_out, err);
}

static inline struct ty_contract *small_contract(const char *schema, const char *schemas)
{
    struct ty_contract *contract = NULL;
    struct ty_error err = {0};

    if (small_create(schema, schemas, &contract, &err) != TY_OK)
        fail_msg("%s\n%s", schema, err.text);
    return contract;
}

static inline json_t *small_json(const char *text)
{
    json_t *json = NULL;
    struct ty_error err = {0};

    if (ty_json_parse(text, strlen(text), &json, &err) != TY_OK)
        fail_msg("%s\n%s", text, err.text);
    return json;
}

/* "pointer code, pointer code": what was noted, in order. */
static inline void small_faults(const struct ty_faults *faults, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < faults->count && len < size; i++)
        len += (size_t)snprintf(out + len, size - len, "%s%s %s", i > 0 ? ", " : "",
                                faults->items[i].where, faults->items[i].code);
}

#endif
