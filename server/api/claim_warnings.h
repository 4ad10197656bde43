/* Warnings of a job that depend on the claims there are. */
#ifndef TRAINYARD_API_CLAIM_WARNINGS_H
#define TRAINYARD_API_CLAIM_WARNINGS_H

#include "api/policy.h"
#include "trainyard/domain/claims.h"

/* At most `max` into `out`; returns how many. On a pool thread, for it asks the database and the
 * executor; without policy->reader nothing is asked and nothing told. */
size_t api_claim_warnings(struct ty_api *api, const struct api_policy *policy, const json_t *body,
                          const struct ty_job_spec *spec, struct ty_warning *out, size_t max);

#endif
