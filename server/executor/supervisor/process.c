/* Between fork and exec only async-signal-safe calls are made: everything is laid out before. The
 * options of bwrap go through a memory file, so that the job's environment does not show in the
 * machine's process list. */
#include "executor/supervisor/process.h"

#include "executor/supervisor/parts.h"
#include "executor/supervisor/sandbox.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { OPTIONS_MAX = 16 * 1024 * 1024, OUTPUT_PIPE_BYTES = 256 * 1024 };

/* What the child needs, all laid out. */
struct launch {
    const char *program;
    char **argv;
    char **envp;
    const char *folder; /* to change to, NULL = stay */
    int output_fd;
    int null_fd;
    int keep_fds[3 + TY_PARTS_MAX]; /* to be open in the program */
    size_t keep_count;
    const int *procs_fds;
};

static void join_cgroups(const int *procs_fds)
{
    for (size_t i = 0; i < TY_CGROUP_TREES; i++) {
        if (procs_fds[i] >= 0 && write(procs_fds[i], "0", 1) < 0)
            _exit(125);
    }
}

static _Noreturn void become(const struct launch *launch)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(022); /* as container runtimes do */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    join_cgroups(launch->procs_fds);
    dup2(launch->null_fd, STDIN_FILENO);
    dup2(launch->output_fd, STDOUT_FILENO);
    dup2(launch->output_fd, STDERR_FILENO);
    for (size_t i = 0; i < launch->keep_count; i++)
        fcntl(launch->keep_fds[i], F_SETFD, 0);
    if (launch->folder && chdir(launch->folder) != 0)
        dprintf(STDERR_FILENO, "trainyard: cannot enter the working folder: %s\n",
                strerrordesc_np(errno));
    execve(launch->program, launch->argv, launch->envp);
    dprintf(STDERR_FILENO, "trainyard: cannot start %s: %s\n", launch->program,
            strerrordesc_np(errno));
    _exit(125);
}

static ty_status start_child(const struct launch *launch, struct ty_process *out,
                             struct ty_error *err)
{
    pid_t pid = fork();
    if (pid < 0)
        return ty_fail(err, TY_UNAVAILABLE, "no new process: %s", strerrordesc_np(errno));
    if (pid == 0)
        become(launch);
    out->pid = pid;
    out->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (out->pidfd < 0) {
        kill(pid, SIGKILL);
        return ty_fail(err, TY_UNAVAILABLE, "no descriptor of a process: %s",
                       strerrordesc_np(errno));
    }
    return TY_OK;
}

static void keep(struct launch *launch, int fd)
{
    launch->keep_fds[launch->keep_count++] = fd;
}

/* The run's files are at <data>/runs/<object>/. */
static void cut_to_data(const char *hosts_path, char out[PATH_MAX])
{
    ty_str_copy(out, PATH_MAX, hosts_path);
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(out, '/');
        if (slash)
            *slash = '\0';
    }
}

static ty_status write_options(const struct ty_process_setup *setup, struct ty_plan_mount *mounts,
                               int *fd_out, struct ty_error *err)
{
    struct ty_plan_replica replica = *setup->replica;
    replica.mounts = mounts;
    char hostname[TY_OP_TEXT];
    snprintf(hostname, sizeof hostname, "%s-%s", setup->plan->object, setup->replica->name);
    char data[PATH_MAX];
    cut_to_data(setup->hosts_path, data);
    const struct ty_sandbox sandbox = {
        .hostname = hostname, .hosts_path = setup->hosts_path, .data = data};
    ty_auto_buf options = {0};
    ty_buf_init(&options, OPTIONS_MAX);
    ty_sandbox_options(&replica, &sandbox, &options);
    ty_status status = ty_buf_check(&options, "the sandbox's options", err);
    if (status != TY_OK)
        return status;
    ty_auto_fd fd = memfd_create("options", MFD_CLOEXEC);
    if (fd < 0)
        return ty_fail(err, TY_UNAVAILABLE, "no memory file: %s", strerrordesc_np(errno));
    status = ty_write_all(fd, options.data, options.len, err);
    if (status != TY_OK)
        return status;
    lseek(fd, 0, SEEK_SET);
    *fd_out = ty_steal_fd(&fd);
    return TY_OK;
}

/* The init's part of the command line, after `head`. The caller frees the array, not the texts. */
static char **make_argv(const struct ty_plan_replica *replica, const char *const *head,
                        size_t head_count)
{
    char **argv = calloc(head_count + replica->argc + 1, sizeof *argv);
    for (size_t i = 0; argv && i < head_count; i++)
        argv[i] = (char *)(uintptr_t)head[i];
    for (size_t i = 0; argv && i < replica->argc; i++)
        argv[head_count + i] = (char *)(uintptr_t)replica->argv[i];
    return argv;
}

static ty_status start_sandboxed(const struct ty_process_setup *setup, const struct launch *common,
                                 int socket_fd, struct ty_process *out, struct ty_error *err)
{
    ty_auto_fd options_fd = -1;
    __attribute__((cleanup(ty_parts_done))) struct ty_parts parts;
    ty_status status = ty_parts_open(setup->replica, &parts, err);
    if (status == TY_OK)
        status = write_options(setup, parts.mounts, &options_fd, err);
    if (status != TY_OK)
        return status;
    char options[16];
    char socket_text[16];
    char init[32];
    snprintf(options, sizeof options, "%d", options_fd);
    snprintf(socket_text, sizeof socket_text, "%d", socket_fd);
    snprintf(init, sizeof init, "/proc/self/fd/%d", setup->init_fd);
    const char *const head[] = {"bwrap", "--args", options, "--", init, socket_text, "0"};
    ty_auto_free char **argv = make_argv(setup->replica, head, sizeof head / sizeof *head);
    if (!argv)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a command line");
    char *envp[] = {NULL};
    struct launch launch = *common;
    launch.program = setup->plan->bwrap;
    launch.argv = argv;
    launch.envp = envp;
    for (size_t i = 0; i < parts.count; i++)
        keep(&launch, parts.fds[i]);
    keep(&launch, options_fd);
    keep(&launch, socket_fd);
    keep(&launch, setup->init_fd);
    return start_child(&launch, out, err);
}

/* --- without a sandbox --- */

static void free_texts(char ***texts)
{
    for (size_t i = 0; *texts && (*texts)[i]; i++)
        free((*texts)[i]);
    free(*texts);
}

static char *make_pair(const char *name, const char *value)
{
    char *text = NULL;
    return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

/* Later entries come first: getenv finds the first of a name, and the last must win. */
static char **make_environment(const struct ty_process_setup *setup)
{
    const struct ty_plan_replica *replica = setup->replica;
    char **envp = calloc(replica->env_count + 4, sizeof *envp);
    if (!envp)
        return NULL;
    size_t count = 0;
    bool good = true;
    for (size_t i = replica->env_count; i > 0 && good; i--)
        good = (envp[count++] = make_pair(replica->env[i - 1].name, replica->env[i - 1].value)) !=
               NULL;
    good = good && (envp[count++] = make_pair("PATH", "/usr/local/bin:/usr/bin:/bin")) != NULL;
    good = good && (envp[count++] = make_pair("HOME", setup->scratch_path)) != NULL;
    good = good && (envp[count++] = make_pair("TRAINYARD_RUN", setup->plan->object)) != NULL;
    if (!good) {
        free_texts(&envp);
        return NULL;
    }
    return envp;
}

static ty_status start_plain(const struct ty_process_setup *setup, const struct launch *common,
                             int socket_fd, struct ty_process *out, struct ty_error *err)
{
    char socket_text[16];
    char init[32];
    snprintf(socket_text, sizeof socket_text, "%d", socket_fd);
    snprintf(init, sizeof init, "/proc/self/fd/%d", setup->init_fd);
    const char *const head[] = {"trainyard-init", socket_text, "1"};
    __attribute__((cleanup(ty_parts_done))) struct ty_parts parts; /* for the folders they make */
    ty_status status = ty_parts_open(setup->replica, &parts, err);
    if (status != TY_OK)
        return status;
    ty_auto_free char **argv = make_argv(setup->replica, head, sizeof head / sizeof *head);
    __attribute__((cleanup(free_texts))) char **envp = make_environment(setup);
    if (!argv || !envp)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a command line");
    struct launch launch = *common;
    launch.program = init;
    launch.argv = argv;
    launch.envp = envp;
    launch.folder = ty_str_equal(setup->replica->working_dir, "/") ? setup->scratch_path
                                                                   : setup->replica->working_dir;
    keep(&launch, socket_fd);
    keep(&launch, setup->init_fd);
    return start_child(&launch, out, err);
}

/* --- both --- */

/* Our ends: messages with the sender's pid, output without blocking. */
static ty_status open_ends(int sockets[2], int pipe_fds[2], struct ty_error *err)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return ty_fail(err, TY_UNAVAILABLE, "no socket pair: %s", strerrordesc_np(errno));
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        close(sockets[0]);
        close(sockets[1]);
        return ty_fail(err, TY_UNAVAILABLE, "no pipe: %s", strerrordesc_np(errno));
    }
    int on = 1;
    setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    fcntl(sockets[0], F_SETFL, O_NONBLOCK);
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    fcntl(pipe_fds[0], F_SETPIPE_SZ, OUTPUT_PIPE_BYTES);
    return TY_OK;
}

ty_status ty_process_start(const struct ty_process_setup *setup, struct ty_process *out,
                           struct ty_error *err)
{
    int sockets[2];
    int pipe_fds[2];
    ty_status status = open_ends(sockets, pipe_fds, err);
    if (status != TY_OK)
        return status;
    ty_auto_fd socket_fd = sockets[0];
    ty_auto_fd init_socket_fd = sockets[1];
    ty_auto_fd output_fd = pipe_fds[0];
    ty_auto_fd write_fd = pipe_fds[1];
    ty_auto_fd null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct launch launch = {
        .output_fd = write_fd, .null_fd = null_fd, .procs_fds = setup->cgroup->procs_fds};
    struct ty_process process = {0};
    status = setup->plan->bwrap ? start_sandboxed(setup, &launch, init_socket_fd, &process, err)
                                : start_plain(setup, &launch, init_socket_fd, &process, err);
    if (status != TY_OK)
        return status;
    process.socket_fd = ty_steal_fd(&socket_fd);
    process.output_fd = ty_steal_fd(&output_fd);
    *out = process;
    return TY_OK;
}

void ty_process_done(struct ty_process *process)
{
    if (process->pid <= 0)
        return;
    close(process->pidfd);
    close(process->socket_fd);
    if (process->output_fd >= 0)
        close(process->output_fd);
    *process = (struct ty_process){.pidfd = -1, .socket_fd = -1, .output_fd = -1};
}

static pid_t sender_pid(struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(part), sizeof sender);
            return sender.pid;
        }
    }
    return 0;
}

struct ty_init_message ty_process_listen(const struct ty_process *process)
{
    struct ty_init_message out = {0};
    char text[64] = "";
    char control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec part = {text, sizeof text - 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t len = recvmsg(process->socket_fd, &message, MSG_CMSG_CLOEXEC);
    if (len < 0)
        return out;
    out.pid = sender_pid(&message);
    if (len == 0) {
        out.word = TY_INIT_CLOSED;
    } else if (text[0] == 'S') {
        out.word = TY_INIT_STARTED;
    } else if (text[0] == 'X') {
        char *rest = text + 1;
        out.word = TY_INIT_ENDED;
        out.code = (int32_t)strtol(rest, &rest, 10);
        out.signal = (int32_t)strtol(rest, &rest, 10);
    }
    return out;
}

void ty_process_tell(const struct ty_process *process, char command)
{
    ssize_t sent = send(process->socket_fd, &command, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; /* an init that is gone shows as closed */
}

int64_t ty_process_birth(pid_t pid)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    ty_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len <= 0)
        return 0;
    text[len] = '\0';
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoll(at, NULL, 10) : 0;
}
