/* POST …/restart and …/clone: a new job from the spec of an old one. Terminal never changes, so
 * running again is always another job, with its origin named. */
#include "api/draft.h"

/* A patch may turn `script` into `command`; each takes the other's place instead of standing beside
 * it. */
static void replace_entry(json_t *body, const json_t *patch)
{
    if (json_object_get(patch, "command"))
        json_object_del(body, "script");
    else if (json_object_get(patch, "script"))
        json_object_del(body, "command");
}

static ty_status copy_job(struct ty_api *api, struct ty_request *request, const char *kind,
                          struct api_draft **draft_out, struct ty_faults *faults,
                          struct ty_error *err)
{
    struct ty_job_record origin;
    ty_auto_json body = NULL;
    ty_auto_json before = NULL;
    const json_t *patch = ty_request_json(request);
    bool restart = ty_str_equal(kind, "restart");
    if (api_find_job(api, request, &origin, err) != TY_OK)
        return err->status;
    if (restart && !ty_job_terminal(origin.status.state))
        return ty_fail_code(err, TY_CONFLICT, "job_active",
                            "the job has not ended: cancel it first, or clone it");
    if (api_job_spec_json(api, request, origin.row, &body, err) != TY_OK)
        return err->status;
    before = json_deep_copy(body);
    if (!before)
        return ty_fail(err, TY_NO_MEMORY, "job");
    if (patch && !restart) {
        replace_entry(body, patch);
        if (ty_json_merge(body, patch, err) != TY_OK ||
            ty_contract_check(api->options.contract, "JobSpec", body, faults, err) != TY_OK)
            return err->status;
    }
    struct api_draft_input input = {.body = body,
                                    .asked = patch,
                                    .origin_id = origin.id,
                                    .origin_kind = kind,
                                    .origin_spec = before,
                                    .route = ty_request_path(request),
                                    .use_idempotency_key = true};
    return api_draft_create(api, request, &input, draft_out, faults, err);
}

static void answer_copy(struct ty_api *api, struct ty_request *request, const char *kind)
{
    struct api_draft *draft = NULL;
    struct ty_faults faults;
    struct ty_error err;
    ty_faults_init(&faults);
    if (copy_job(api, request, kind, &draft, &faults, &err) == TY_OK)
        api_draft_submit(draft);
    else
        api_answer_faults(request, &err, &faults);
}

void jobs_restart(void *context, struct ty_request *request)
{
    answer_copy(context, request, "restart");
}

void jobs_clone(void *context, struct ty_request *request)
{
    answer_copy(context, request, "clone");
}
