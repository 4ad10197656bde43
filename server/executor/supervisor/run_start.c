/* Carrying out what the operator marked: processes are started, asked to end, killed. */
#include "executor/supervisor/run_state.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/str.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

static void make_cgroup(struct run *run, struct ty_live_replica *live)
{
    const struct ty_cgroup_limits limits = {live->plan->memory_bytes, live->plan->cpu_millis};
    char name[TY_OP_TEXT];
    snprintf(name, sizeof name, "%s-%s", run->options->plan->object, live->plan->name);
    ty_cgroup_make_here(name, &limits, &live->cgroup);
    run->memory_unenforced |= limits.memory_bytes > 0 && !live->cgroup.memory[0];
    run->cpu_unenforced |= limits.cpu_millis > 0 && !live->cgroup.cpu[0];
}

static ty_status start(struct run *run, size_t place, struct ty_error *err)
{
    struct ty_live_replica *live = &run->live[place];
    if (!live->log &&
        ty_run_open_log(run, place, err) != TY_OK) /* a replica that came by a scale */
        return err->status;
    make_cgroup(run, live);
    const struct ty_process_setup setup = {.plan = run->options->plan,
                                           .replica = live->plan,
                                           .cgroup = &live->cgroup,
                                           .hosts_path = run->hosts_path,
                                           .scratch_path = run->scratch_path,
                                           .init_fd = run->options->init_fd};
    ty_status status = ty_process_start(&setup, &live->process, err);
    ty_failpoint("supervisor.after_spawn");
    if (status == TY_OK)
        status = ty_run_watch(run, live->process.socket_fd, FROM_INIT, place, err);
    if (status == TY_OK)
        status = ty_run_watch(run, live->process.output_fd, FROM_OUTPUT, place, err);
    if (status == TY_OK)
        status = ty_run_watch(run, live->process.pidfd, FROM_PROCESS, place, err);
    return status;
}

static void start_or_fail(struct run *run, size_t place)
{
    struct ty_error why = {0};
    if (start(run, place, &why) == TY_OK)
        return;
    struct ty_live_replica *live = &run->live[place];
    if (live->process.pid > 0) { /* it runs but cannot be watched */
        kill(live->process.pid, SIGKILL);
        waitpid(live->process.pid, NULL, 0);
        ty_process_done(&live->process);
    }
    ty_cgroup_done(&live->cgroup);
    struct ty_op_exit ended = {.code = 125, .not_started = true, .cause = "gateway_error"};
    if (ty_str_equal(why.code, "mount_failed"))
        ended.cause = "mount_failed";
    ty_str_copy(ended.text, sizeof ended.text, why.text);
    ty_op_exited(&run->op, &run->pods[place], &ended, ty_run_now(run));
}

void ty_run_carry_out(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        ty_op_todo todo = run->pods[i].todo;
        run->pods[i].todo = TY_OP_NOTHING;
        if (todo == TY_OP_DO_START)
            start_or_fail(run, i);
        else if (todo == TY_OP_DO_TERM)
            ty_live_terminate(&run->live[i]);
        else if (todo == TY_OP_DO_KILL)
            ty_live_kill(&run->live[i]);
    }
}
