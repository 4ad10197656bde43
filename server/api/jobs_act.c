/* POST …/cancel, …/suspend, …/resume: one observation of the user's, committed before the answer.
 */
#include "api/policy.h"

/* Whether the job is already where the action leads: 200 instead of 202. */
static bool already(ty_seen_kind kind, const struct ty_job_status *status)
{
    switch (kind) {
    case TY_SEEN_CANCEL:
        return status->state == TY_JOB_CANCELLING || status->state == TY_JOB_CANCELLED;
    case TY_SEEN_SUSPEND:
        return status->state == TY_JOB_SUSPENDED;
    default:
        return status->state != TY_JOB_SUSPENDED && !ty_job_terminal(status->state);
    }
}

/* A suspended job takes anew what it gave back, so the policy of now is asked. */
static ty_status may_act(struct ty_api *api, struct ty_request *request, ty_seen_kind kind,
                         const struct ty_job_record *job, struct ty_faults *faults,
                         struct ty_error *err)
{
    if (kind != TY_SEEN_RESUME || job->status.state != TY_JOB_SUSPENDED)
        return TY_OK;
    return api_policy_check_stored(api, request, job, 0, faults, err);
}

static void act(struct ty_api *api, struct ty_request *request, ty_seen_kind kind)
{
    struct ty_job_record before;
    struct ty_faults faults;
    struct ty_error err;
    ty_faults_init(&faults);
    if (api_find_job(api, request, &before, &err) != TY_OK ||
        may_act(api, request, kind, &before, &faults, &err) != TY_OK ||
        ty_engine_act(api->options.engine, api_caller(request)->tenant, before.id, kind, "", 0,
                      &err) != TY_OK) {
        api_answer_faults(request, &err, &faults);
        return;
    }
    api_answer_job(api, request, already(kind, &before.status) ? 200 : 202, before.id);
}

void jobs_cancel(void *context, struct ty_request *request)
{
    act(context, request, TY_SEEN_CANCEL);
}

void jobs_suspend(void *context, struct ty_request *request)
{
    act(context, request, TY_SEEN_SUSPEND);
}

void jobs_resume(void *context, struct ty_request *request)
{
    act(context, request, TY_SEEN_RESUME);
}
