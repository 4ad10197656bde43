#include "api/policy.h"

#include "trainyard/domain/claims.h"
#include "trainyard/store/volumes.h"

static bool note_volume(void *context, const struct ty_volume_record *volume)
{
    (void)volume;
    *(bool *)context = true;
    return false;
}

static ty_status owns_volume(void *context, const char *claim, bool *owns_out, struct ty_error *err)
{
    const struct api_policy *policy = context;
    if (!policy->reader)
        return ty_fail(err, TY_UNAVAILABLE, "the tenant's policy has just changed");
    ty_status status =
        ty_volumes_get(policy->reader, policy->tenant.row, claim, note_volume, owns_out, err);
    return status == TY_NOT_FOUND ? TY_OK : status;
}

/* What silence of a job and of its tenant means. */
static int64_t default_keep(const struct api_policy *policy)
{
    if (policy->tenant.default_keep_seconds >= 0)
        return policy->tenant.default_keep_seconds;
    return policy->api->options.default_keep_seconds > 0 ? policy->api->options.default_keep_seconds
                                                         : -1;
}

static struct ty_policy_scene scene_of(struct api_policy *policy)
{
    return (struct ty_policy_scene){.namespace = policy->tenant.namespace,
                                    .default_timeout_seconds =
                                        policy->tenant.default_timeout_seconds,
                                    .default_keep_seconds = default_keep(policy),
                                    .owns_volume = owns_volume,
                                    .context = policy};
}

static bool note_claim(void *context, const struct ty_named_claim *claim)
{
    (void)claim;
    *(bool *)context = true;
    return false;
}

bool api_policy_asks(struct ty_api *api, const struct ty_request *request)
{
    struct ty_policy *policy =
        ty_access_table_policy(api->access, api_caller(request)->tenant_name);
    bool asks = !policy || ty_policy_asks(policy);
    ty_policy_unref(policy);
    if (!asks)
        ty_named_claims(ty_request_json(request), note_claim, &asks);
    return asks;
}

/* For the warnings of a policy that forces values: few do, and every submit passes here. */
static ty_status make_room(struct api_policy *policy, struct ty_error *err)
{
    if (!ty_policy_forces(policy->policy))
        return TY_OK;
    policy->changes.items = calloc(API_FORCED_MAX, sizeof *policy->changes.items);
    if (policy->changes.items) {
        policy->changes.max = API_FORCED_MAX;
        return TY_OK;
    }
    api_policy_close(policy);
    return ty_fail(err, TY_NO_MEMORY, "policy");
}

ty_status api_policy_open(struct ty_api *api, struct ty_request *request, struct api_policy *policy,
                          struct ty_error *err)
{
    const char *tenant = api_caller(request)->tenant_name;
    *policy = (struct api_policy){.api = api, .reader = api_reader(api, request)};
    policy->policy = ty_access_table_policy(api->access, tenant);
    if (policy->policy && ty_access_table_tenant(api->access, tenant, &policy->tenant))
        return make_room(policy, err);
    api_policy_close(policy);
    return ty_fail_code(err, TY_NOT_FOUND, "tenant_not_found", "no such tenant");
}

void api_policy_close(struct api_policy *policy)
{
    ty_policy_unref(policy->policy);
    free(policy->changes.items);
    policy->policy = NULL;
    policy->changes = (struct ty_policy_changes){0};
}

ty_status api_policy_blame(struct ty_error *err)
{
    return ty_wrap(err, "with what the tenant's policy fills in and forces");
}

static ty_status check_whole(const struct api_policy *policy, const json_t *body,
                             struct ty_faults *faults, struct ty_error *err)
{
    if (ty_contract_check(policy->api->options.contract, "JobSpec", body, faults, err) == TY_OK)
        return TY_OK;
    return api_policy_blame(err);
}

ty_status api_policy_apply(struct api_policy *policy, const json_t *given, json_t **body_out,
                           struct ty_faults *faults, struct ty_error *err)
{
    struct ty_policy_scene scene = scene_of(policy);
    json_t *body = NULL;
    if (ty_policy_apply(policy->policy, &scene, (json_t *)(uintptr_t)given, &body, &policy->changes,
                        err) != TY_OK)
        return err->status;
    ty_status status = ty_policy_judge_names(policy->policy, &scene, body, faults, err);
    if (status == TY_OK && body != given)
        status = check_whole(policy, body, faults, err);
    if (status == TY_OK)
        *body_out = body;
    else
        json_decref(body);
    return status;
}

ty_status api_policy_check(struct api_policy *policy, const json_t *body,
                           const struct ty_job_spec *spec, size_t spec_bytes,
                           struct ty_faults *faults, struct ty_error *err)
{
    struct ty_policy_scene scene = scene_of(policy);
    ty_policy_judge_amounts(policy->policy, &scene, body, spec, spec_bytes, faults);
    if (!ty_faults_any(faults))
        return TY_OK;
    return ty_fail_code(err, TY_REFUSED, "policy_violation",
                        "the tenant's policy does not allow this job");
}

/* --- a job that is stored already --- */

static void refuse_forced(const struct api_policy *policy, struct ty_faults *faults)
{
    for (size_t i = 0; i < policy->changes.count; i++)
        ty_faults_add(faults, TY_AT_POINTER, policy->changes.items[i].pointer, "value_forced",
                      "the tenant's policy forces another value by now: clone the job");
}

static ty_status judge_stored(struct api_policy *policy, const json_t *stored,
                              const struct ty_job_record *record, size_t spec_bytes,
                              struct ty_faults *faults, struct ty_error *err)
{
    struct ty_policy_scene scene = scene_of(policy);
    struct ty_job_spec *spec = NULL;
    ty_auto_json body = NULL;
    if (api_policy_apply(policy, stored, &body, faults, err) != TY_OK ||
        ty_job_spec_parse(stored, &spec, faults, err) != TY_OK)
        return err->status;
    refuse_forced(policy, faults);
    /* What it was given when it was submitted holds, whatever the tenant's defaults are now. */
    spec->timeout_seconds = record->timeout_seconds;
    spec->keep_seconds = record->keep_seconds;
    scene.default_timeout_seconds = 0;
    ty_policy_judge_amounts(policy->policy, &scene, stored, spec, spec_bytes, faults);
    ty_job_spec_destroy(spec);
    if (!ty_faults_any(faults))
        return TY_OK;
    return ty_fail_code(err, TY_REFUSED, "policy_violation",
                        "the tenant's policy does not allow this job any more");
}

ty_status api_policy_check_stored(struct ty_api *api, struct ty_request *request,
                                  const struct ty_job_record *record, int32_t replicas,
                                  struct ty_faults *faults, struct ty_error *err)
{
    struct api_policy policy;
    ty_auto_buf text = {0};
    ty_auto_json stored = NULL;
    ty_buf_init(&text, ANSWER_MAX);
    if (ty_jobs_spec(api_reader(api, request), record->row, &text, err) != TY_OK ||
        ty_buf_check(&text, "spec", err) != TY_OK ||
        ty_json_parse(text.data, text.len, &stored, err) != TY_OK ||
        api_policy_open(api, request, &policy, err) != TY_OK)
        return err->status;
    if (replicas > 0)
        json_object_set_new(stored, "replicas", json_integer(replicas));
    ty_status status = judge_stored(&policy, stored, record, text.len, faults, err);
    api_policy_close(&policy);
    return status;
}
