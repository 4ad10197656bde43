/* The loop waits for five kinds of things: a replica's init speaks, its output arrives, its process
 * ends, somebody connects to the control socket, a timer of the operator is due (the wait's
 * time-out). Each turn takes in everything that is ready, lets the operator decide, carries out
 * what it marked, and appends one line if anything changed.
 *
 * "The program runs" gets a line of its own at once, so that no run is over without having been
 * seen running. An exit and the end wait for the disk: at most one wait a turn. */
#include "executor/supervisor/run_state.h"

#include "executor/supervisor/facts.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { EVENTS = 64, COMMAND_BYTES = 16, RESULT_TRIES = 24 * 3600, PLAN_AGAIN_MS = 200 };

struct ty_op_now ty_run_now(const struct run *run)
{
    return (struct ty_op_now){ty_monotonic_ms(run->options->clock), ty_now_us(run->options->clock)};
}

/* A disk that cannot take a line stops nothing: the next line tells all again. */
static ty_status write_state(struct run *run)
{
    static const char *const names[] = {NULL, "memory", "cpu", "memory,cpu"};
    const char *unenforced = names[run->memory_unenforced + 2 * run->cpu_unenforced];
    struct ty_error why;
    ty_status status = TY_OK;
    if (run->torn)
        status = ty_write_all(run->options->status_fd, "\n", 1, &why);
    if (status == TY_OK)
        status = ty_facts_state(run->options->status_fd, &run->op, unenforced, run->durable,
                                ty_run_now(run).us, &why);
    run->torn = status != TY_OK;
    if (status != TY_OK)
        dprintf(STDERR_FILENO, "%s\n", why.text);
    ty_failpoint("supervisor.after_fact");
    run->op.changed = false;
    run->durable = false;
    return status;
}

/* A result that is not told is lost: wait for a full disk to be cleared. */
static void write_result(struct run *run)
{
    for (int i = 0; i < RESULT_TRIES; i++) {
        run->durable = true;
        if (write_state(run) == TY_OK)
            return;
        sleep(1);
    }
}

static void tell_state(struct run *run)
{
    ty_status status = write_state(run);
    (void)status; /* the next one tells all again */
}

/* --- taking in --- */

static void note_started(struct run *run, size_t place, pid_t init_pid)
{
    struct ty_live_replica *live = &run->live[place];
    struct ty_error why;
    if (run->options->plan->bwrap && init_pid > 0)
        live->init_pidfd = (int)syscall(SYS_pidfd_open, init_pid, 0);
    if (ty_facts_process(run->options->status_fd, live->plan->name, init_pid, ty_run_now(run).us,
                         &why) != TY_OK)
        dprintf(STDERR_FILENO, "%s\n", why.text);
    ty_failpoint("supervisor.after_process_fact");
    ty_live_started(live, ty_run_now(run).us);
    ty_op_started(&run->op, &run->pods[place], ty_run_now(run));
    tell_state(run);
}

static void hear_init(struct run *run, size_t place)
{
    struct ty_live_replica *live = &run->live[place];
    for (;;) {
        struct ty_init_message message = ty_process_listen(&live->process);
        switch (message.word) {
        case TY_INIT_STARTED:
            note_started(run, place, message.pid);
            break;
        case TY_INIT_ENDED:
            live->end_known = true;
            live->code = message.code;
            live->signal = message.signal;
            break;
        case TY_INIT_CLOSED: /* its process ends next */
            epoll_ctl(run->epoll_fd, EPOLL_CTL_DEL, live->process.socket_fd, NULL);
            return;
        case TY_INIT_NOTHING:
            return;
        }
    }
}

static void hear_output(struct run *run, size_t place)
{
    struct ty_live_replica *live = &run->live[place];
    if (!live->started)
        hear_init(run, place); /* it may have spoken meanwhile */
    if (ty_live_read(live, run->options->clock))
        return;
    epoll_ctl(run->epoll_fd, EPOLL_CTL_DEL, live->process.output_fd, NULL);
    close(live->process.output_fd);
    live->process.output_fd = -1;
}

static void hear_process(struct run *run, size_t place)
{
    struct ty_live_replica *live = &run->live[place];
    int wait_status;
    if (waitpid(live->process.pid, &wait_status, WNOHANG) != live->process.pid)
        return;
    hear_init(run, place);
    ty_failpoint("supervisor.after_exit");
    struct ty_op_exit ended;
    ty_live_ended(live, wait_status, run->options->clock, &ended);
    ty_op_exited(&run->op, &run->pods[place], &ended, ty_run_now(run));
    if (run->pods[place].state == TY_OP_ABSENT)
        ty_live_close(live, true); /* gone by a scale: whoever follows its log has all of it */
    run->durable = true;
}

static void hear_control(struct run *run)
{
    struct ty_error ignored;
    ty_auto_fd fd = accept4(run->options->control_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0 && ty_run_watch(run, fd, FROM_CALLER, (size_t)fd, &ignored) == TY_OK)
        ty_steal_fd(&fd);
}

static void hear_caller(struct run *run, int fd)
{
    char command[COMMAND_BYTES] = "";
    ssize_t len = recv(fd, command, sizeof command - 1, MSG_DONTWAIT);
    if (len < 0 && errno == EAGAIN)
        return;
    if (len > 0 && (ty_str_equal(command, "stop") || ty_str_equal(command, "kill")))
        ty_op_stop(&run->op, TY_OP_JOB_STOPPED, command[0] == 'k', ty_run_now(run));
    if (len > 0 && ty_str_equal(command, "scale"))
        ty_run_scale(run);
    close(fd); /* leaves the epoll set with it */
}

/* SIGTERM comes when the machine or the service goes down: nobody asked for this run to stop. */
static void hear_signal(struct run *run)
{
    struct signalfd_siginfo info;
    if (read(run->signal_fd, &info, sizeof info) == (ssize_t)sizeof info &&
        info.ssi_signo == SIGTERM) {
        ty_str_copy(run->op.message, sizeof run->op.message,
                    "the machine or its service was shut down");
        ty_op_stop(&run->op, TY_OP_JOB_LOST, false, ty_run_now(run));
    }
}

static void take_in(struct run *run, uint64_t tag)
{
    size_t place = tag & UINT32_MAX;
    source from = (source)(tag >> 32);
    bool of_replica = from == FROM_INIT || from == FROM_OUTPUT || from == FROM_PROCESS;
    if (of_replica && run->live[place].process.pid <= 0)
        return; /* it ended earlier in this turn */
    switch (from) {
    case FROM_INIT:
        hear_init(run, place);
        break;
    case FROM_OUTPUT:
        if (run->live[place].process.output_fd >= 0)
            hear_output(run, place);
        break;
    case FROM_PROCESS:
        hear_process(run, place);
        break;
    case FROM_CONTROL:
        hear_control(run);
        break;
    case FROM_CALLER:
        hear_caller(run, (int)place);
        break;
    case FROM_SIGNAL:
        hear_signal(run);
        break;
    }
}

static int wait_ms(const struct run *run)
{
    int64_t wake = ty_op_wake(&run->op);
    if (run->plan_changed)
        return PLAN_AGAIN_MS;
    if (wake == 0)
        return -1;
    int64_t left = wake - ty_run_now(run).ms;
    if (left < 0)
        return 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

static void turn(struct run *run)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(run->epoll_fd, events, EVENTS, wait_ms(run));
    for (int i = 0; i < count; i++)
        take_in(run, events[i].data.u64);
    if (run->plan_changed)
        ty_run_scale(run);
    ty_op_tick(&run->op, ty_run_now(run));
    ty_run_carry_out(run);
    if (run->op.changed && !ty_op_over(&run->op))
        tell_state(run);
}

/* --- life --- */

/* Scratch space goes with its replicas, not with the run's folder, which may be kept for long. */
static void clear_scratch(const struct run *run)
{
    struct ty_error why;
    ty_auto_fd folder_fd = open(run->options->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd >= 0 && ty_tree_remove(folder_fd, "scratch", &why) != TY_OK)
        dprintf(STDERR_FILENO, "%s\n", why.text);
}

static void supervise(struct run *run)
{
    ty_op_begin(&run->op, &run->options->plan->rules, run->pods, run->count, ty_run_now(run));
    ty_failpoint("supervisor.before_first");
    ty_run_carry_out(run);
    tell_state(run);
    while (!ty_op_over(&run->op))
        turn(run);
    ty_failpoint("supervisor.before_seal");
    for (size_t i = 0; i < run->count; i++)
        ty_live_close(&run->live[i], true);
    ty_failpoint("supervisor.before_result");
    write_result(run);
    ty_failpoint("supervisor.after_result");
    clear_scratch(run);
}

ty_status ty_run_supervise(const struct ty_run_options *options, struct ty_error *err)
{
    struct run run = {
        .options = options,
        .epoll_fd = -1,
        .signal_fd = -1,
        .network = {.block_fd = -1, .port_fd = -1}
    };
    ty_status status = ty_run_prepare(&run, err);
    if (status == TY_OK)
        supervise(&run);
    ty_run_release(&run);
    return status;
}
