/* Another size while a run goes on: plan.json was replaced, and the call only says so. */
#include "executor/supervisor/run_state.h"

#include "trainyard/base/failpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The plan of this run as it is on the disk now. */
static ty_status read_again(const struct run *run, struct ty_plan **plan_out, struct ty_error *err)
{
    struct ty_plan *plan = NULL;
    ty_status status = ty_plan_read(AT_FDCWD, "plan.json", &plan, err);
    if (status != TY_OK)
        return status;
    if (plan->replica_count != run->count || plan->attempt != run->options->plan->attempt) {
        ty_plan_destroy(plan);
        return ty_fail(err, TY_CORRUPT, "the plan of another run stands in the folder");
    }
    *plan_out = plan;
    return TY_OK;
}

/* Replicas that come start by the plan that has their GPUs. Takes the plan. */
static ty_status adopt_plan(struct run *run, struct ty_plan *plan, struct ty_error *err)
{
    ty_status status = ty_run_fill_plan(run, plan, err);
    if (status != TY_OK) {
        ty_plan_destroy(plan);
        return status;
    }
    for (size_t i = 0; i < run->count; i++)
        run->live[i].plan = &plan->replicas[i];
    ty_plan_destroy(run->scaled);
    run->scaled = plan;
    return TY_OK;
}

static ty_status read_size(struct run *run, size_t *size_out, struct ty_error *err)
{
    struct ty_plan *plan = NULL;
    ty_status status = read_again(run, &plan, err);
    if (status != TY_OK)
        return status;
    size_t size = plan->rules.size;
    if (size > run->op.size)
        status = adopt_plan(run, plan, err);
    else
        ty_plan_destroy(plan);
    if (status == TY_OK)
        *size_out = size;
    return status;
}

void ty_run_scale(struct run *run)
{
    struct ty_error why;
    size_t size;
    ty_status status = read_size(run, &size, &why);
    bool again = status != TY_OK && status != TY_CORRUPT; /* a shortage passes, a secret may come */
    if (status != TY_OK && !(again && run->plan_changed))
        dprintf(STDERR_FILENO, "scale: %s\n", why.text); /* once */
    run->plan_changed = again;
    if (status != TY_OK)
        return;
    ty_failpoint("supervisor.before_scale");
    ty_op_scale(&run->op, size, ty_run_now(run));
}
