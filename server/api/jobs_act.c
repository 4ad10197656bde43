/* POST …/cancel, …/suspend, …/resume: one observation of the user's, committed before the answer.
 */
#include "api/api.h"

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

static void act(struct ty_api *api, struct ty_request *request, ty_seen_kind kind)
{
    struct ty_job_record before;
    struct ty_error err;
    if (api_find_job(api, request, &before, &err) != TY_OK ||
        ty_engine_act(api->options.engine, api_caller(request)->tenant, before.id, kind, "", 0,
                      &err) != TY_OK) {
        api_answer_error(request, &err);
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
