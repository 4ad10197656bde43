/* What is known of the claims that a job names: one that is not there yet, one that cannot be
 * written from several nodes. */
#include "api/claim_warnings.h"

#include "trainyard/store/volumes.h"

struct look {
    struct ty_api *api;
    const struct api_policy *policy;
    const struct ty_job_spec *spec;
    struct ty_warning *out;
    size_t max;
    size_t count;
};

static bool note_mode(void *context, const struct ty_volume_record *volume)
{
    *(ty_access_mode *)context = volume->access_mode;
    return false;
}

static void warn(struct look *look, const struct ty_named_claim *claim, const char *code,
                 const char *message)
{
    struct ty_warning *warning = &look->out[look->count++];
    ty_str_copy(warning->code, sizeof warning->code, code);
    ty_str_copy(warning->pointer, sizeof warning->pointer, claim->pointer);
    ty_str_copy(warning->message, sizeof warning->message, message);
}

/* The most replicas that mount it. */
static int32_t mounted_by(const struct ty_job_spec *spec, const struct ty_named_claim *claim)
{
    if (spec->elastic.on)
        return spec->elastic.max;
    if (claim->master_only)
        return spec->master.replicas;
    return claim->worker_only ? spec->worker.replicas : spec->replicas;
}

static bool missing(struct look *look, const struct ty_named_claim *claim)
{
    struct ty_executor *executor = look->api->options.executor;
    ty_auto_fd fd = -1;
    return executor->ops->open_claim(executor, look->policy->tenant.namespace, claim->name, &fd,
                                     NULL) == TY_NOT_FOUND;
}

static bool look_at(void *context, const struct ty_named_claim *claim)
{
    struct look *look = context;
    ty_access_mode mode = TY_READ_WRITE_MANY;
    ty_status status = ty_volumes_get(look->policy->reader, look->policy->tenant.row, claim->name,
                                      note_mode, &mode, NULL);
    bool one_node = mode == TY_READ_WRITE_ONCE || mode == TY_READ_WRITE_ONCE_POD;
    if (status == TY_NOT_FOUND && !claim->create && missing(look, claim))
        warn(look, claim, "volume_not_found",
             "There is no claim of that name yet: the job waits until it appears.");
    if (status == TY_OK && one_node && !claim->read_only && mounted_by(look->spec, claim) > 1)
        warn(look, claim, "claim_of_one_node",
             "The claim can be written from one node only, and several replicas mount it to write: "
             "those on other nodes will wait for it.");
    return look->count < look->max;
}

size_t api_claim_warnings(struct ty_api *api, const struct api_policy *policy, const json_t *body,
                          const struct ty_job_spec *spec, struct ty_warning *out, size_t max)
{
    struct look look = {.api = api, .policy = policy, .spec = spec, .out = out, .max = max};
    if (policy->reader && max > 0)
        ty_named_claims(body, look_at, &look);
    return look.count;
}
