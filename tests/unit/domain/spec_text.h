/* A job spec from JSON text, for tests. Quotes may be written as ' in the text. */
#ifndef TRAINYARD_TESTS_UNIT_DOMAIN_SPEC_TEXT_H
#define TRAINYARD_TESTS_UNIT_DOMAIN_SPEC_TEXT_H

#include "unit.h"

#include "trainyard/base/json.h"
#include "trainyard/domain/spec.h"

#include <stdio.h>
#include <stdlib.h>

static inline json_t *json_of(const char *text)
{
    size_t len = strlen(text);
    char *copy = strdup(text);
    json_t *json = NULL;
    struct ty_error err = {0};

    assert_non_null(copy);
    for (size_t i = 0; i < len; i++)
        copy[i] = copy[i] == '\'' ? '"' : copy[i];
    if (ty_json_parse(copy, len, &json, &err) != TY_OK)
        print_error("%s: %s\n", text, err.text);
    assert_non_null(json);
    free(copy);
    return json;
}

static inline void print_faults(const struct ty_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        print_error("  %s %s: %s\n", faults->items[i].where, faults->items[i].code,
                    faults->items[i].detail);
}

static inline struct ty_job_spec *spec_of_json(const json_t *body)
{
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;
    struct ty_error err = {0};

    ty_faults_init(&faults);
    ty_status status = ty_job_spec_parse(body, &spec, &faults, &err);

    if (status != TY_OK)
        print_faults(&faults);
    assert_int_equal(status, TY_OK);
    assert_non_null(spec);
    return spec;
}

/* The body must be allowed. */
static inline struct ty_job_spec *spec_of(const char *text)
{
    json_t *body = json_of(text);
    struct ty_job_spec *spec = spec_of_json(body);

    json_decref(body);
    return spec;
}

#endif
