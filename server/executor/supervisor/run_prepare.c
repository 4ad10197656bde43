/* What stands before the first process of a run starts, and its release. */
#include "executor/supervisor/run_state.h"

#include "executor/supervisor/secrets.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

ty_status ty_run_watch(struct run *run, int fd, source from, size_t place, struct ty_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)from << 32 | place};
    if (epoll_ctl(run->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return ty_fail(err, TY_UNAVAILABLE, "watch a descriptor: %s", strerrordesc_np(errno));
    return TY_OK;
}

/* The plan in force: replicas of a run that was scaled start by the later one. */
static struct ty_plan *plan_of(const struct run *run)
{
    return run->scaled ? run->scaled : run->options->plan;
}

ty_status ty_run_open_log(struct run *run, size_t place, struct ty_error *err)
{
    const struct ty_plan *plan = plan_of(run);
    ty_auto_fd fd = open(plan->logs_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ty_fail_errno(err, errno, "open the log folder");
    return ty_live_open(&run->live[place], &plan->replicas[place], fd, err);
}

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

ty_status ty_run_fill_plan(struct run *run, struct ty_plan *plan, struct ty_error *err)
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
        status = ty_run_open_log(run, i, err);
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
    ty_status status = ty_run_watch(run, run->signal_fd, FROM_SIGNAL, 0, err);
    return status == TY_OK ? ty_run_watch(run, run->options->control_fd, FROM_CONTROL, 0, err)
                           : status;
}

ty_status ty_run_prepare(struct run *run, struct ty_error *err)
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
        status = ty_run_fill_plan(run, run->options->plan, err);
    if (status == TY_OK)
        status = write_hosts(run, err);
    if (status == TY_OK)
        status = open_logs(run, err);
    if (status == TY_OK)
        status = open_events(run, err);
    return status;
}

void ty_run_release(struct run *run)
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
