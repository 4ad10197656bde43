/* The loop waits for five kinds of things: a replica's init speaks, its output arrives, its process
 * ends, somebody connects to the control socket, a timer of the operator is due (the wait's
 * time-out). Each turn takes in everything that is ready, lets the operator decide, carries out
 * what it marked, and appends one line if anything changed.
 *
 * "The program runs" gets a line of its own at once, so that no run is over without having been
 * seen running. An exit and the end wait for the disk: at most one wait a turn. */
#include "executor/supervisor/run.h"

#include "executor/supervisor/facts.h"
#include "executor/supervisor/network.h"
#include "executor/supervisor/replica.h"
#include "executor/supervisor/secrets.h"

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

typedef enum {
    FROM_INIT,
    FROM_OUTPUT,
    FROM_PROCESS,
    FROM_CONTROL,
    FROM_CALLER,
    FROM_SIGNAL
} source;

struct run {
    const struct ty_run_options *options;
    struct ty_op op;
    struct ty_op_pod *pods;
    struct ty_live_replica *live;
    size_t count;
    struct ty_network network;
    struct ty_plan *scaled; /* the plan as it was read last after a change of size; owned */
    bool plan_changed;      /* plan.json says another size: to be read */
    char hosts_path[PATH_MAX];
    char scratch_path[PATH_MAX];
    int epoll_fd;
    int signal_fd;
    bool durable; /* the next line must wait for the disk */
    bool torn;    /* the last line may have been written in part */
    bool memory_unenforced;
    bool cpu_unenforced;
};

static struct ty_op_now now(const struct run *run)
{
    return (struct ty_op_now){ty_monotonic_ms(run->options->clock), ty_now_us(run->options->clock)};
}

static ty_status watch(struct run *run, int fd, source from, size_t place, struct ty_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)from << 32 | place};
    if (epoll_ctl(run->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return ty_fail(err, TY_UNAVAILABLE, "watch a descriptor: %s", strerrordesc_np(errno));
    return TY_OK;
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
                                now(run).us, &why);
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

/* --- carrying out --- */

static void make_cgroup(struct run *run, struct ty_live_replica *live)
{
    const struct ty_cgroup_limits limits = {live->plan->memory_bytes, live->plan->cpu_millis};
    char name[TY_OP_TEXT];
    snprintf(name, sizeof name, "%s-%s", run->options->plan->object, live->plan->name);
    ty_cgroup_make_here(name, &limits, &live->cgroup);
    run->memory_unenforced |= limits.memory_bytes > 0 && !live->cgroup.memory[0];
    run->cpu_unenforced |= limits.cpu_millis > 0 && !live->cgroup.cpu[0];
}

/* The plan in force: replicas of a run that was scaled start by the later one. */
static struct ty_plan *plan_of(const struct run *run)
{
    return run->scaled ? run->scaled : run->options->plan;
}

static ty_status open_log(struct run *run, size_t place, struct ty_error *err)
{
    const struct ty_plan *plan = plan_of(run);
    ty_auto_fd fd = open(plan->logs_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ty_fail_errno(err, errno, "open the log folder");
    return ty_live_open(&run->live[place], &plan->replicas[place], fd, err);
}

static ty_status start(struct run *run, size_t place, struct ty_error *err)
{
    struct ty_live_replica *live = &run->live[place];
    if (!live->log && open_log(run, place, err) != TY_OK) /* a replica that came by a scale */
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
        status = watch(run, live->process.socket_fd, FROM_INIT, place, err);
    if (status == TY_OK)
        status = watch(run, live->process.output_fd, FROM_OUTPUT, place, err);
    if (status == TY_OK)
        status = watch(run, live->process.pidfd, FROM_PROCESS, place, err);
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
    ty_op_exited(&run->op, &run->pods[place], &ended, now(run));
}

static void carry_out(struct run *run)
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

/* --- taking in --- */

static void note_started(struct run *run, size_t place, pid_t init_pid)
{
    struct ty_live_replica *live = &run->live[place];
    struct ty_error why;
    if (run->options->plan->bwrap && init_pid > 0)
        live->init_pidfd = (int)syscall(SYS_pidfd_open, init_pid, 0);
    if (ty_facts_process(run->options->status_fd, live->plan->name, init_pid, now(run).us, &why) !=
        TY_OK)
        dprintf(STDERR_FILENO, "%s\n", why.text);
    ty_failpoint("supervisor.after_process_fact");
    ty_live_started(live, now(run).us);
    ty_op_started(&run->op, &run->pods[place], now(run));
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
    ty_op_exited(&run->op, &run->pods[place], &ended, now(run));
    if (run->pods[place].state == TY_OP_ABSENT)
        ty_live_close(live, true); /* gone by a scale: whoever follows its log has all of it */
    run->durable = true;
}

/* --- scaling: plan.json was replaced, and the call only says so --- */

static ty_status fill_plan(struct run *run, struct ty_plan *plan, struct ty_error *err);

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
    ty_status status = fill_plan(run, plan, err);
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

static void scale(struct run *run)
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
    ty_op_scale(&run->op, size, now(run));
}

static void hear_control(struct run *run)
{
    struct ty_error ignored;
    ty_auto_fd fd = accept4(run->options->control_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0 && watch(run, fd, FROM_CALLER, (size_t)fd, &ignored) == TY_OK)
        ty_steal_fd(&fd);
}

static void hear_caller(struct run *run, int fd)
{
    char command[COMMAND_BYTES] = "";
    ssize_t len = recv(fd, command, sizeof command - 1, MSG_DONTWAIT);
    if (len < 0 && errno == EAGAIN)
        return;
    if (len > 0 && (ty_str_equal(command, "stop") || ty_str_equal(command, "kill")))
        ty_op_stop(&run->op, TY_OP_JOB_STOPPED, command[0] == 'k', now(run));
    if (len > 0 && ty_str_equal(command, "scale"))
        scale(run);
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
        ty_op_stop(&run->op, TY_OP_JOB_LOST, false, now(run));
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
    int64_t left = wake - now(run).ms;
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
        scale(run);
    ty_op_tick(&run->op, now(run));
    carry_out(run);
    if (run->op.changed && !ty_op_over(&run->op))
        tell_state(run);
}

/* --- life --- */

static ty_status write_hosts(struct run *run, struct ty_error *err)
{
    const struct ty_plan *plan = run->options->plan;
    ty_auto_buf text = {0};
    ty_buf_init(&text, 1 << 20);
    ty_buf_adds(&text, "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n");
    for (size_t i = 0; i < run->count; i++) {
        char address[TY_ADDRESS_TEXT];
        ty_network_address(&run->network, i, address);
        ty_buf_addf(&text, "%s\t%s-%s\n", address, plan->object, plan->replicas[i].name);
    }
    ty_status status = ty_buf_check(&text, "the hosts file", err);
    if (status != TY_OK)
        return status;
    ty_auto_fd fd = open(run->hosts_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return ty_fail_errno(err, errno, "write the hosts file");
    fchmod(fd, 0644);
    return ty_write_all(fd, text.data, text.len, err);
}

static ty_status fill_plan(struct run *run, struct ty_plan *plan, struct ty_error *err)
{
    char text[TY_ADDRESS_TEXT];
    snprintf(text, sizeof text, "%u", run->network.port);
    ty_status status = ty_plan_fill(plan, "port", text, err);
    for (size_t i = 0; status == TY_OK && i < run->count; i++) {
        char token[TY_OP_TEXT];
        snprintf(token, sizeof token, "ip:%s", plan->replicas[i].name);
        ty_network_address(&run->network, i, text);
        status = ty_plan_fill(plan, token, text, err);
        const char *gpus = json_string_value(
            json_object_get(json_object_get(plan->document, "gpu_map"), plan->replicas[i].name));
        snprintf(token, sizeof token, "gpus:%s", plan->replicas[i].name);
        if (status == TY_OK && gpus)
            status = ty_plan_fill(plan, token, gpus, err);
    }
    return status == TY_OK ? ty_secrets_fill(plan, err) : status;
}

static ty_status open_logs(struct run *run, struct ty_error *err)
{
    const struct ty_plan *plan = run->options->plan;
    ty_status status = ty_folder_make(plan->logs_folder, err);
    for (size_t i = 0; status == TY_OK && i < plan->rules.size; i++)
        status = open_log(run, i, err);
    return status;
}

static ty_status open_events(struct run *run, struct ty_error *err)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    run->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    run->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->epoll_fd < 0 || run->signal_fd < 0)
        return ty_fail(err, TY_UNAVAILABLE, "no descriptors: %s", strerrordesc_np(errno));
    ty_status status = watch(run, run->signal_fd, FROM_SIGNAL, 0, err);
    return status == TY_OK ? watch(run, run->options->control_fd, FROM_CONTROL, 0, err) : status;
}

static ty_status prepare(struct run *run, struct ty_error *err)
{
    const struct ty_plan *plan = run->options->plan;
    snprintf(run->hosts_path, sizeof run->hosts_path, "%s/hosts", run->options->folder);
    snprintf(run->scratch_path, sizeof run->scratch_path, "%s/scratch", run->options->folder);
    run->count = plan->replica_count;
    run->pods = calloc(run->count, sizeof *run->pods);
    run->live = calloc(run->count, sizeof *run->live);
    if (!run->pods || !run->live)
        return ty_fail(err, TY_NO_MEMORY, "no memory for %zu replicas", run->count);
    for (size_t i = 0; i < run->count; i++) {
        ty_live_init(&run->live[i], &plan->replicas[i]);
        run->pods[i].role = plan->replicas[i].role;
        run->pods[i].index = plan->replicas[i].index;
        ty_str_copy(run->pods[i].name, sizeof run->pods[i].name, plan->replicas[i].name);
    }
    ty_status status = ty_network_reserve(plan->object, plan->port, &run->network, err);
    if (status == TY_OK)
        status = fill_plan(run, run->options->plan, err);
    if (status == TY_OK)
        status = write_hosts(run, err);
    if (status == TY_OK)
        status = open_logs(run, err);
    if (status == TY_OK)
        status = open_events(run, err);
    return status;
}

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
    ty_op_begin(&run->op, &run->options->plan->rules, run->pods, run->count, now(run));
    ty_failpoint("supervisor.before_first");
    carry_out(run);
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

static void release(struct run *run)
{
    for (size_t i = 0; run->live && i < run->count; i++)
        ty_live_close(&run->live[i], false);
    ty_plan_destroy(run->scaled);
    ty_network_done(&run->network);
    if (run->epoll_fd >= 0)
        close(run->epoll_fd);
    if (run->signal_fd >= 0)
        close(run->signal_fd);
    free(run->live);
    free(run->pods);
}

ty_status ty_run_supervise(const struct ty_run_options *options, struct ty_error *err)
{
    struct run run = {
        .options = options,
        .epoll_fd = -1,
        .signal_fd = -1,
        .network = {.block_fd = -1, .port_fd = -1}
    };
    ty_status status = prepare(&run, err);
    if (status == TY_OK)
        supervise(&run);
    release(&run);
    return status;
}
