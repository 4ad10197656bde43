#include "trainyard/domain/job.h"

#include "trainyard/base/str.h"

#include <string.h>

static const char *const state_names[TY_JOB_STATE_COUNT] = {
    [TY_JOB_QUEUED] = "queued",       [TY_JOB_STARTING] = "starting",
    [TY_JOB_RUNNING] = "running",     [TY_JOB_RESTARTING] = "restarting",
    [TY_JOB_SUSPENDED] = "suspended", [TY_JOB_CANCELLING] = "cancelling",
    [TY_JOB_SUCCEEDED] = "succeeded", [TY_JOB_FAILED] = "failed",
    [TY_JOB_CANCELLED] = "cancelled", [TY_JOB_LOST] = "lost",
};

static const char *const cause_names[TY_CAUSE_COUNT] = {
    [TY_CAUSE_NONE] = "none",
    [TY_CAUSE_SUBMITTED] = "submitted",
    [TY_CAUSE_WAITING_FOR_QUOTA] = "waiting_for_quota",
    [TY_CAUSE_WAITING_FOR_CAPACITY] = "waiting_for_capacity",
    [TY_CAUSE_ADMITTED] = "admitted",
    [TY_CAUSE_REPLICAS_STARTED] = "replicas_started",
    [TY_CAUSE_COMPLETED] = "completed",
    [TY_CAUSE_UNSCHEDULABLE] = "unschedulable",
    [TY_CAUSE_IMAGE_PULL_FAILED] = "image_pull_failed",
    [TY_CAUSE_IMAGE_NAME_INVALID] = "image_name_invalid",
    [TY_CAUSE_VOLUME_NOT_FOUND] = "volume_not_found",
    [TY_CAUSE_MOUNT_FAILED] = "mount_failed",
    [TY_CAUSE_CRASH_LOOPING] = "crash_looping",
    [TY_CAUSE_CONTAINER_ERROR] = "container_error",
    [TY_CAUSE_OUT_OF_MEMORY] = "out_of_memory",
    [TY_CAUSE_EVICTED] = "evicted",
    [TY_CAUSE_NODE_LOST] = "node_lost",
    [TY_CAUSE_PREEMPTED] = "preempted",
    [TY_CAUSE_DEADLINE_EXCEEDED] = "deadline_exceeded",
    [TY_CAUSE_RETRY_LIMIT_EXCEEDED] = "retry_limit_exceeded",
    [TY_CAUSE_CANCELLED_BY_USER] = "cancelled_by_user",
    [TY_CAUSE_SUSPENDED_BY_USER] = "suspended_by_user",
    [TY_CAUSE_RESUMED_BY_USER] = "resumed_by_user",
    [TY_CAUSE_OBJECT_DELETED] = "object_deleted",
    [TY_CAUSE_OBJECT_CONFLICT] = "object_conflict",
    [TY_CAUSE_OPERATOR_NOT_RESPONDING] = "operator_not_responding",
    [TY_CAUSE_SPEC_REJECTED] = "spec_rejected",
    [TY_CAUSE_GATEWAY_ERROR] = "gateway_error",
    [TY_CAUSE_REPLICA_RESTARTED] = "replica_restarted",
};

const char *ty_job_state_name(ty_job_state state)
{
    unsigned index = (unsigned)state;

    return index < TY_JOB_STATE_COUNT ? state_names[index] : "unknown";
}

const char *ty_job_cause_name(ty_job_cause cause)
{
    unsigned index = (unsigned)cause;

    return index < TY_CAUSE_COUNT ? cause_names[index] : "unknown";
}

/* The index of `name`, or `count`. */
static size_t find_name(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;

    while (i < count && !ty_str_equal(names[i], name))
        i++;
    return i;
}

ty_status ty_job_state_parse(const char *name, ty_job_state *state_out)
{
    size_t index = find_name(state_names, TY_JOB_STATE_COUNT, name);

    if (index == TY_JOB_STATE_COUNT)
        return TY_INVALID;
    *state_out = (ty_job_state)index;
    return TY_OK;
}

ty_status ty_job_cause_parse(const char *name, ty_job_cause *cause_out)
{
    size_t index = find_name(cause_names, TY_CAUSE_COUNT, name);

    if (index == TY_CAUSE_COUNT)
        return TY_INVALID;
    *cause_out = (ty_job_cause)index;
    return TY_OK;
}

void ty_object_name_make(const char *name, const char *job_id, char out[TY_OBJECT_NAME])
{
    enum { SUFFIX = 8 };
    char suffix[SUFFIX + 1];
    size_t len = strnlen(name, TY_OBJECT_NAME - SUFFIX - 2);

    ty_id_suffix(job_id, SUFFIX, suffix);
    memcpy(out, name, len);
    out[len] = '-';
    memcpy(out + len + 1, suffix, sizeof(suffix));
}
