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

struct cause {
    const char *name;
    const char *text; /* for people, where the observer says nothing more exact */
};

/* clang-format off */
static const struct cause causes[TY_CAUSE_COUNT] = {
    [TY_CAUSE_NONE] = {"none", ""},
    [TY_CAUSE_SUBMITTED] = {"submitted", "Accepted; not looked at yet."},
    [TY_CAUSE_WAITING_FOR_QUOTA] = {"waiting_for_quota",
        "Waiting until the tenant's quota allows it."},
    [TY_CAUSE_WAITING_FOR_CAPACITY] = {"waiting_for_capacity", "Waiting for room on the executor."},
    [TY_CAUSE_ADMITTED] = {"admitted", "Admitted; its replicas are being started."},
    [TY_CAUSE_REPLICAS_STARTED] = {"replicas_started", "Its replicas run."},
    [TY_CAUSE_COMPLETED] = {"completed", "The master ended with 0."},
    [TY_CAUSE_UNSCHEDULABLE] = {"unschedulable", "No node can take a replica."},
    [TY_CAUSE_IMAGE_PULL_FAILED] = {"image_pull_failed", "The image cannot be pulled."},
    [TY_CAUSE_IMAGE_NAME_INVALID] = {"image_name_invalid", "The image's name is not valid."},
    [TY_CAUSE_VOLUME_NOT_FOUND] = {"volume_not_found",
        "A claim does not exist; the job goes on when it appears."},
    [TY_CAUSE_MOUNT_FAILED] = {"mount_failed", "A volume cannot be mounted."},
    [TY_CAUSE_CRASH_LOOPING] = {"crash_looping", "A replica fails again and again."},
    [TY_CAUSE_CONTAINER_ERROR] = {"container_error", "A process failed."},
    [TY_CAUSE_OUT_OF_MEMORY] = {"out_of_memory", "A replica used more memory than it may."},
    [TY_CAUSE_EVICTED] = {"evicted", "A replica was evicted from its node."},
    [TY_CAUSE_NODE_LOST] = {"node_lost", "The node of a replica is gone."},
    [TY_CAUSE_PREEMPTED] = {"preempted", "A replica had to make room for others."},
    [TY_CAUSE_DEADLINE_EXCEEDED] = {"deadline_exceeded", "It ran longer than timeout_seconds, or did not start in time."},
    [TY_CAUSE_RETRY_LIMIT_EXCEEDED] = {"retry_limit_exceeded",
        "Its replicas failed more often than max_retries allows."},
    [TY_CAUSE_CANCELLED_BY_USER] = {"cancelled_by_user", "Cancelled by a user."},
    [TY_CAUSE_SUSPENDED_BY_USER] = {"suspended_by_user", "Suspended by a user."},
    [TY_CAUSE_RESUMED_BY_USER] = {"resumed_by_user", "Resumed by a user."},
    [TY_CAUSE_OBJECT_DELETED] = {"object_deleted",
        "Its run was removed by someone else and left no result."},
    [TY_CAUSE_OBJECT_CONFLICT] = {"object_conflict",
        "An object of its name exists and belongs to someone else."},
    [TY_CAUSE_OPERATOR_NOT_RESPONDING] = {"operator_not_responding",
        "The operator does not act on the job."},
    [TY_CAUSE_SPEC_REJECTED] = {"spec_rejected", "The executor refuses to run it."},
    [TY_CAUSE_GATEWAY_ERROR] = {"gateway_error", "The gateway could not do its part."},
    [TY_CAUSE_REPLICA_RESTARTED] = {"replica_restarted",
        "A replica ended and is being started again."},
    [TY_CAUSE_SECRET_NOT_FOUND] = {"secret_not_found",
        "A secret or a key of one does not exist; the job goes on when it appears."},
};
/* clang-format on */

const char *ty_job_state_name(ty_job_state state)
{
    unsigned index = (unsigned)state;

    return index < TY_JOB_STATE_COUNT ? state_names[index] : "unknown";
}

const char *ty_job_cause_name(ty_job_cause cause)
{
    unsigned index = (unsigned)cause;

    return index < TY_CAUSE_COUNT ? causes[index].name : "unknown";
}

const char *ty_job_cause_text(ty_job_cause cause)
{
    unsigned index = (unsigned)cause;

    return index < TY_CAUSE_COUNT ? causes[index].text : "";
}

bool ty_job_cause_hinders(ty_job_cause cause)
{
    static const ty_job_cause faults[] = {
        TY_CAUSE_IMAGE_PULL_FAILED, TY_CAUSE_IMAGE_NAME_INVALID, TY_CAUSE_MOUNT_FAILED,
        TY_CAUSE_CRASH_LOOPING,     TY_CAUSE_CONTAINER_ERROR,    TY_CAUSE_OBJECT_CONFLICT,
        TY_CAUSE_GATEWAY_ERROR,
    };

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (faults[i] == cause)
            return true;
    return false;
}

ty_status ty_job_state_parse(const char *name, ty_job_state *state_out)
{
    for (size_t i = 0; i < TY_JOB_STATE_COUNT; i++) {
        if (ty_str_equal(state_names[i], name)) {
            *state_out = (ty_job_state)i;
            return TY_OK;
        }
    }
    return TY_INVALID;
}

ty_status ty_job_cause_parse(const char *name, ty_job_cause *cause_out)
{
    for (size_t i = 0; i < TY_CAUSE_COUNT; i++) {
        if (ty_str_equal(causes[i].name, name)) {
            *cause_out = (ty_job_cause)i;
            return TY_OK;
        }
    }
    return TY_INVALID;
}

void ty_object_name_make(const char *name, const char *job_id, char out[TY_OBJECT_NAME])
{
    char suffix[TY_ID_SHORT];
    size_t len = strnlen(name, TY_OBJECT_NAME - sizeof(suffix) - 1);

    ty_id_short(job_id, suffix);
    memcpy(out, name, len);
    out[len] = '-';
    memcpy(out + len + 1, suffix, sizeof(suffix));
}
