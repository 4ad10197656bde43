#include "executor/local/tracked.h"

#include "executor/supervisor/process.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { SWEEPS = 50, SWEEP_PAUSE_US = 20 * 1000, GONE_WAIT_MS = 5000, ENVIRON_BYTES = 256 * 1024 };

/* A test's choice reaches the supervisor too: "NAME=value" in `out`, or NULL for none. */
static char *name_failpoint(char *out, size_t size)
{
#ifdef TRAINYARD_FAILPOINTS
    const char *value = getenv(TY_FAILPOINT_ENV);
    if (value) {
        snprintf(out, size, TY_FAILPOINT_ENV "=%s", value);
        return out;
    }
#endif
    (void)out;
    (void)size;
    return NULL;
}

int ty_local_spawn(const struct local *local, const char *object)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/runs/%s", local->data_folder, object);
    char *argv[] = {local->supervisor_path, folder, NULL};
    char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char failpoint[128];
    char *envp[] = {path, name_failpoint(failpoint, sizeof failpoint), NULL};
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid;
    int failure = posix_spawn(&pid, local->supervisor_path, NULL, &attributes, argv, envp);
    posix_spawnattr_destroy(&attributes);
    if (failure != 0)
        return -1;
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The path of a Unix socket is short: reach it through the run folder's descriptor. */
bool ty_local_tell(struct local *local, const char *object, const char *command)
{
    ty_auto_fd folder = openat(local->runs_fd, object, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ty_auto_fd fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (folder < 0 || fd < 0)
        return false;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/control", folder);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return false;
    return send(fd, command, strlen(command), MSG_NOSIGNAL) == (ssize_t)strlen(command);
}

static void kill_noted(const struct noted_process *process)
{
    ty_auto_fd fd = (int)syscall(SYS_pidfd_open, (pid_t)process->pid, 0);
    if (fd < 0 || ty_process_birth((pid_t)process->pid) != process->birth)
        return;
    syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    poll(&wait, 1, GONE_WAIT_MS);
}

/* A file of the process, NUL-ended; 0 when there is nothing to read. */
static size_t read_of_process(pid_t pid, const char *name, char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    ty_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, ENVIRON_BYTES - 1) : -1;
    if (len <= 0)
        return 0;
    text[len] = '\0';
    return (size_t)len;
}

typedef bool process_test(pid_t pid, const char *wanted, char *text);

/* Whether the process carries TRAINYARD_RUN=<object> in its environment. */
static bool has_mark(pid_t pid, const char *mark, char *text)
{
    size_t len = read_of_process(pid, "environ", text);
    size_t mark_len = strlen(mark) + 1; /* its NUL too */
    for (const char *at = text; at < text + len; at += strlen(at) + 1) {
        if ((size_t)(text + len - at) + 1 >= mark_len && ty_str_equal(at, mark))
            return true;
    }
    return false;
}

/* Whether it is a supervisor that was started with this folder (ty_local_spawn). */
static bool supervises(pid_t pid, const char *folder, char *text)
{
    static const char program[] = "trainyard-supervisor";
    size_t len = read_of_process(pid, "cmdline", text);
    if (len == 0)
        return false;
    const char *slash = strrchr(text, '/');
    const char *argument = text + strlen(text) + 1;
    return ty_str_equal(slash ? slash + 1 : text, program) && argument < text + len &&
           ty_str_equal(argument, folder);
}

/* One pass over all processes. Returns how many were killed. */
static int kill_those(process_test *test, const char *wanted, char *text)
{
    DIR *folder = opendir("/proc");
    int killed = 0;
    if (!folder)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int64_t pid;
        if (ty_str_to_int(entry->d_name, 1, INT32_MAX, &pid) != TY_OK || pid == getpid())
            continue;
        if (test((pid_t)pid, wanted, text) && kill((pid_t)pid, SIGKILL) == 0)
            killed++;
    }
    closedir(folder);
    return killed;
}

/* Pass after pass, until none is left. Whether there was any. */
static bool kill_every(process_test *test, const char *wanted)
{
    ty_auto_free char *text = malloc(ENVIRON_BYTES);
    int passes = 0;
    while (text && passes < SWEEPS && kill_those(test, wanted, text) > 0) {
        usleep(SWEEP_PAUSE_US);
        passes++;
    }
    return passes > 0;
}

static void kill_run_marked(const char *object)
{
    char mark[TY_OBJECT_NAME + 32];
    snprintf(mark, sizeof mark, "TRAINYARD_RUN=%s", object);
    (void)kill_every(has_mark, mark);
}

void ty_local_kill_leftovers(const struct tracked *run)
{
    for (size_t i = 0; i < run->process_count; i++)
        kill_noted(&run->processes[i]);
    if (!run->sandboxed) /* else the namespaces' inits took everything along */
        kill_run_marked(run->object);
}

void ty_local_kill_orphans(const struct local *local, const char *object)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/runs/%s", local->data_folder, object);
    if (kill_every(supervises, folder))
        kill_run_marked(object); /* what was no sandbox */
}
