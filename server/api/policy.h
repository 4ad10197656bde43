/* The policy of the caller's tenant, held while one request is judged by it. */
#ifndef TRAINYARD_API_POLICY_H
#define TRAINYARD_API_POLICY_H

#include "api/api.h"

enum { API_FORCED_MAX = 16 };

struct api_policy {
    const struct ty_api *api;
    struct ty_policy *policy;
    struct ty_access_tenant tenant;
    struct ty_reader *reader; /* who is asked for registered volumes; NULL: nobody may be */
    struct ty_policy_changes
        changes; /* values given that were replaced; room only where it forces */
};

/* Whether the request's job, or the policy of the caller's tenant, makes a look at the database or
 * at claims needful: to judge it, or to warn of claims that it names. Any thread. */
bool api_policy_asks(struct ty_api *api, const struct ty_request *request);

/* On a pool thread, for it may read the database, unless its reader is taken away: then what would
 * have to be read is TY_UNAVAILABLE. TY_NOT_FOUND (code "tenant_not_found"): removed
 * since the request was let in. */
ty_status api_policy_open(struct ty_api *api, struct ty_request *request, struct api_policy *policy,
                          struct ty_error *err) TY_MUST_CHECK;
void api_policy_close(struct api_policy *policy); /* takes one of zeros */

/* The body that is run (a new reference), its names judged: what is not allowed is in `faults`.
 * TY_REFUSED: what the policy puts into it and what was given do not go together, by the contract.
 */
ty_status api_policy_apply(struct api_policy *policy, const json_t *given, json_t **body_out,
                           struct ty_faults *faults, struct ty_error *err) TY_MUST_CHECK;

/* Say in *err that the body that failed is not the request's alone; gives its status. */
ty_status api_policy_blame(struct ty_error *err);

/* How much it takes, judged. TY_REFUSED (code "policy_violation") when `faults` has any by now. */
ty_status api_policy_check(struct api_policy *policy, const json_t *body,
                           const struct ty_job_spec *spec, size_t spec_bytes,
                           struct ty_faults *faults, struct ty_error *err) TY_MUST_CHECK;

/* Whether a stored job may still be started: what the policy forces now cannot be put into it any
 * more, so it must be there already. `replicas` > 0: with that size instead of its own. TY_REFUSED
 * as above. */
ty_status api_policy_check_stored(struct ty_api *api, struct ty_request *request,
                                  const struct ty_job_record *record, int32_t replicas,
                                  struct ty_faults *faults, struct ty_error *err) TY_MUST_CHECK;

/* A tenant's policy after a change: `patch` (RFC 7396; NULL = none, JSON null = allow nothing)
 * applied to the stored document, judged with pointers below /policy, as text for the store. Any
 * thread. TY_REFUSED: faults. */
ty_status api_policy_merge(const struct ty_api *api, const char *stored, const json_t *patch,
                           char **text_out, struct ty_faults *faults,
                           struct ty_error *err) TY_MUST_CHECK;

#endif
