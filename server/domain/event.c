#include "trainyard/domain/event.h"

#include "trainyard/base/str.h"

#define OF_STATE(state) [TY_EVENT_JOB_STATE + (state)]

/* Every type there is: a new one is a row here, its number in the header, and its name in the
 * contract. */
static const char *const names[] = {
    [TY_EVENT_JOB_UPDATED] = "job.updated",
    [TY_EVENT_JOB_DELETED] = "job.deleted",
    [TY_EVENT_VOLUME_CREATED] = "volume.created",
    [TY_EVENT_VOLUME_DELETED] = "volume.deleted",
    [TY_EVENT_ARTIFACT_READY] = "artifact.ready",
    [TY_EVENT_CHECKPOINT_CREATED] = "checkpoint.created",
    [TY_EVENT_WARNING] = "warning",
    OF_STATE(TY_JOB_QUEUED) = "job.queued",
    OF_STATE(TY_JOB_STARTING) = "job.starting",
    OF_STATE(TY_JOB_RUNNING) = "job.running",
    OF_STATE(TY_JOB_RESTARTING) = "job.restarting",
    OF_STATE(TY_JOB_SUSPENDED) = "job.suspended",
    OF_STATE(TY_JOB_CANCELLING) = "job.cancelling",
    OF_STATE(TY_JOB_SUCCEEDED) = "job.succeeded",
    OF_STATE(TY_JOB_FAILED) = "job.failed",
    OF_STATE(TY_JOB_CANCELLED) = "job.cancelled",
    OF_STATE(TY_JOB_LOST) = "job.lost",
};

enum { NAME_COUNT = sizeof(names) / sizeof(names[0]) };

const char *ty_event_type_name(ty_event_type type)
{
    unsigned index = (unsigned)type;

    return index < NAME_COUNT && names[index] ? names[index] : "unknown";
}

ty_status ty_event_type_parse(const char *name, ty_event_type *type_out)
{
    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (names[i] && ty_str_equal(names[i], name)) {
            *type_out = (ty_event_type)i;
            return TY_OK;
        }
    }
    return TY_INVALID;
}
