/* What this machine can do is found by doing it once: a sandbox like those of the runs is made
 * around /bin/true. */
#include "executor/local/inside.h"

#include "executor/supervisor/cgroup.h"
#include "executor/supervisor/sandbox.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

static const char *const bwrap_places[] = {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"};

static void read_small(const char *path, char *out, size_t size)
{
    ty_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, out, size - 1) : 0;
    out[len > 0 ? len : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

static bool find_bwrap(char out[PATH_MAX])
{
    for (size_t i = 0; i < sizeof bwrap_places / sizeof *bwrap_places; i++) {
        if (access(bwrap_places[i], X_OK) == 0)
            return ty_str_copy(out, PATH_MAX, bwrap_places[i]);
    }
    return false;
}

/* Run a command with its output thrown away. True when it exits 0. */
static bool runs(char *const argv[])
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    char *envp[] = {NULL};
    pid_t pid;
    int failure = posix_spawn(&pid, argv[0], &actions, NULL, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    int status = -1;
    while (failure == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return failure == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool sandbox_works(const char *bwrap)
{
    const char *const words[] = {bwrap,
                                 TY_SANDBOX_ISOLATION,
                                 "--tmpfs",
                                 "/",
                                 "--ro-bind",
                                 "/usr",
                                 "/usr",
                                 "--ro-bind-try",
                                 "/lib",
                                 "/lib",
                                 "--ro-bind-try",
                                 "/lib64",
                                 "/lib64",
                                 "--proc",
                                 "/proc",
                                 "--dev",
                                 "/dev",
                                 "--tmpfs",
                                 "/dev/shm",
                                 "/usr/bin/true",
                                 NULL};
    char *argv[sizeof words / sizeof *words];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        argv[i] = (char *)(uintptr_t)words[i];
    return runs(argv);
}

/* Switches of the kernel that forbid namespaces to ordinary users, and what to do about each. */
static const struct {
    const char *path;
    const char *forbids;
    const char *advice;
} switches[] = {
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
     "AppArmor restricts user namespaces: install an AppArmor profile that allows them to bwrap, "
     "or set "
     "kernel.apparmor_restrict_unprivileged_userns=0"                          },
    {"/proc/sys/kernel/unprivileged_userns_clone",             "0",
     "user namespaces are switched off: set kernel.unprivileged_userns_clone=1"},
    {"/proc/sys/user/max_user_namespaces",                     "0",
     "no user namespace is allowed: raise user.max_user_namespaces"            },
};

static void explain_trouble(bool has_bwrap, char *out, size_t size)
{
    if (!has_bwrap) {
        ty_str_copy(out, size, "bwrap is not installed: install the package bubblewrap");
        return;
    }
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        char value[32];
        read_small(switches[i].path, value, sizeof value);
        if (ty_str_equal(value, switches[i].forbids)) {
            ty_str_copy(out, size, switches[i].advice);
            return;
        }
    }
    ty_str_copy(out, size,
                "the system refuses namespaces to this process (in a container: allow them, or run "
                "it privileged)");
}

static int32_t count_gpus(void)
{
    int32_t count = 0;
    for (int i = 0; i < LOCAL_GPUS_MAX; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        count += access(path, F_OK) == 0;
    }
    return count;
}

/* torchrun of PyTorch up to 1.13 fails under Python 3.11 and later (Debian 12 has this pair): it
 * looks for its default, "no redirection", among the members of an enumeration, which no longer
 * list the zero. "Standard output" is among them, so such a torchrun is told to tee that; lines
 * then begin with "[default0]:". */
static bool torchrun_needs_tee(void)
{
    static const char path[] =
        "/usr/lib/python3/dist-packages/torch/distributed/elastic/multiprocessing/api.py";
    if (access("/usr/bin/python3.9", X_OK) == 0 || access("/usr/bin/python3.10", X_OK) == 0)
        return false;
    ty_auto_buf text = {0};
    struct ty_error ignored;
    ty_buf_init(&text, 1 << 20);
    return ty_file_read(AT_FDCWD, path, &text, &ignored) == TY_OK &&
           strstr(text.data, "for s in Std:") != NULL;
}

/* Make a control group with both limits and remove it. */
static void probe_limits(struct ty_local_host *out)
{
    const struct ty_cgroup_limits limits = {.memory_bytes = 64 << 20, .cpu_millis = 1000};
    char name[64];
    struct ty_cgroup group;
    snprintf(name, sizeof name, "probe-%d", (int)getpid());
    ty_cgroup_make_here(name, &limits, &group);
    out->memory_limits = group.memory[0] != '\0';
    out->cpu_limits = group.cpu[0] != '\0';
    ty_cgroup_done(&group);
}

void ty_local_look(const struct ty_local_options *options, struct ty_local_host *out)
{
    *out = (struct ty_local_host){0};
    read_small("/proc/sys/kernel/random/boot_id", out->boot_id, sizeof out->boot_id);
    int32_t gpus = options->gpus < 0 ? count_gpus() : options->gpus;
    out->gpus = gpus > LOCAL_GPUS_MAX ? LOCAL_GPUS_MAX : gpus;
    out->cpu_millis = (int64_t)get_nprocs() * 1000;
    struct sysinfo info;
    if (sysinfo(&info) == 0)
        out->memory_bytes = (int64_t)info.totalram * info.mem_unit;
}

static void probe(bool plain, struct ty_local_host *host)
{
    bool has_bwrap = find_bwrap(host->bwrap);
    if (plain) {
        host->bwrap[0] = '\0';
        ty_str_copy(host->trouble, sizeof host->trouble,
                    "the sandbox is switched off by configuration");
    } else if (!has_bwrap || !sandbox_works(host->bwrap)) {
        host->bwrap[0] = '\0';
        explain_trouble(has_bwrap, host->trouble, sizeof host->trouble);
    }
    host->torchrun_needs_tee = torchrun_needs_tee();
    probe_limits(host);
}

const struct ty_local_host *ty_local_host(struct local *local)
{
    pthread_mutex_lock(&local->probe_lock);
    if (!local->probed)
        probe(local->plain, &local->host);
    local->probed = true;
    pthread_mutex_unlock(&local->probe_lock);
    return &local->host;
}
