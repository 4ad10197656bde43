/* Bodies in YAML: of manifests, and of specs that a person wrote so. */
#ifndef TRAINYARD_API_JOBS_IMPORT_H
#define TRAINYARD_API_JOBS_IMPORT_H

#include "api/api.h"
#include "trainyard/render/import.h"

/* Read the body as YAML and judge it as the contract would judge the spec in JSON: every fault with
 * its place in the text. TY_INVALID (yaml_syntax), TY_REFUSED; faults say why. */
ty_status api_check_yaml(struct ty_request *request, const struct ty_operation *operation,
                         struct ty_faults *faults, struct ty_error *err) TY_MUST_CHECK;

/* The job spec of the request, whatever it was written in; borrowed. */
json_t *api_job_body(const struct ty_request *request);

/* The JSON text of the spec, NULL when it was written in YAML; borrowed. */
const char *api_job_text(const struct ty_request *request, size_t *len_out);

/* What its import has to say, [{code, pointer, message}]; NULL when the body was JSON. */
const json_t *api_import_warnings(const struct ty_request *request);

/* Faults of the spec, found behind the contract, become faults of the text they were read from. */
void api_place_faults(const struct ty_request *request, struct ty_faults *faults);

#endif
