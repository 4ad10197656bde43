/* The conditions of a job as training-operator keeps them (pkg/util/status.go, release 1.9): one
 * entry a type, moved to the end when it changes; Running and Restarting exclude one another; an
 * end turns Running to False. */
#include "executor/supervisor/operator.h"

#include "trainyard/base/str.h"

static const struct {
    const char *name;
    const char *reason;
} types[TY_OP_COND_COUNT] = {
    [TY_OP_CREATED] = {"Created",    "PyTorchJobCreated"   },
    [TY_OP_COND_RUNNING] = {"Running",    "PyTorchJobRunning"   },
    [TY_OP_COND_RESTARTING] = {"Restarting", "PyTorchJobRestarting"},
    [TY_OP_COND_SUCCEEDED] = {"Succeeded",  "PyTorchJobSucceeded" },
    [TY_OP_COND_FAILED] = {"Failed",     "PyTorchJobFailed"    },
};

const char *ty_op_condition_name(ty_op_condition_type type)
{
    return types[type].name;
}

const char *ty_op_condition_reason(ty_op_condition_type type)
{
    return types[type].reason;
}

static const struct ty_op_condition *find(const struct ty_op *op, ty_op_condition_type type)
{
    for (size_t i = 0; i < op->condition_count; i++) {
        if (op->conditions[i].type == type)
            return &op->conditions[i];
    }
    return NULL;
}

static bool excludes(ty_op_condition_type type, ty_op_condition_type other)
{
    return type == other || (type == TY_OP_COND_RUNNING && other == TY_OP_COND_RESTARTING) ||
           (type == TY_OP_COND_RESTARTING && other == TY_OP_COND_RUNNING);
}

static bool ends_job(ty_op_condition_type type)
{
    return type == TY_OP_COND_SUCCEEDED || type == TY_OP_COND_FAILED;
}

void ty_op_set_condition(struct ty_op *op, ty_op_condition_type type, const char *message,
                         int64_t wall_us)
{
    if (find(op, TY_OP_COND_FAILED))
        return;
    const struct ty_op_condition *present = find(op, type);
    if (present && present->status)
        return;
    struct ty_op_condition entry = {.type = type, .status = true, .changed_at = wall_us};
    ty_str_copy(entry.message, sizeof entry.message, message);
    size_t kept = 0;
    for (size_t i = 0; i < op->condition_count; i++) {
        struct ty_op_condition *old = &op->conditions[i];
        if (excludes(type, old->type))
            continue;
        if (ends_job(type) && old->type == TY_OP_COND_RUNNING && old->status) {
            old->status = false;
            old->changed_at = wall_us;
        }
        op->conditions[kept++] = *old;
    }
    op->conditions[kept++] = entry;
    op->condition_count = kept;
    op->changed = true;
}
