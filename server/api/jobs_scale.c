/* POST …/scale: another number of workers for an elastic job, committed before the answer. */
#include "api/policy.h"

/* A job that takes more than it was allowed is asked of the policy of now. What the job itself does
 * not allow the engine says. */
static ty_status may_grow(struct ty_api *api, struct ty_request *request,
                          const struct ty_job_record *record, int32_t replicas,
                          struct ty_faults *faults, struct ty_error *err)
{
    if (replicas <= record->replicas || replicas > record->elastic_max ||
        ty_job_terminal(record->status.state))
        return TY_OK;
    return api_policy_check_stored(api, request, record, replicas, faults, err);
}

static ty_status scale_job(struct ty_api *api, struct ty_request *request, bool *changed_out,
                           struct ty_faults *faults, struct ty_error *err)
{
    struct ty_job_record record;
    struct ty_access_tenant tenant = {0};
    const struct ty_principal *caller = api_caller(request);
    const json_t *replicas = json_object_get(ty_request_json(request), "replicas");
    if (api_find_job(api, request, &record, err) != TY_OK)
        return err->status;
    struct ty_scale asked = {.tenant = caller->tenant,
                             .job_id = record.id,
                             .replicas = (int32_t)json_integer_value(replicas)};
    if (api_if_match(request, &record, &asked.if_revision, err) != TY_OK ||
        may_grow(api, request, &record, asked.replicas, faults, err) != TY_OK)
        return err->status;
    if (!ty_access_table_tenant(api->access, caller->tenant_name, &tenant)) /* removed meanwhile */
        return ty_fail(err, TY_NOT_FOUND, "no such job");
    asked.quota = tenant.quota;
    return ty_engine_scale(api->options.engine, &asked, changed_out, err);
}

void jobs_scale(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_faults faults;
    struct ty_error err;
    bool changed = false;
    ty_faults_init(&faults);
    ty_status status = scale_job(api, request, &changed, &faults, &err);
    if (status == TY_REFUSED && !ty_faults_any(&faults))
        ty_faults_add(&faults, TY_AT_POINTER, "/replicas", err.code, "%s", err.text);
    if (status == TY_OK)
        api_answer_job(api, request, changed ? 202 : 200, ty_request_variable(request, "job_id"));
    else
        api_answer_faults(request, &err, &faults);
}
