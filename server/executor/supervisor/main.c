/* trainyard-supervisor RUN_FOLDER
 *
 * Takes the run folder's lock, reads plan.json, and goes into the background: the caller gets its
 * answer as an exit code as soon as the lock is held for good, and never has to wait for anything
 * else of this program.
 *   0 the run is under supervision      4 the plan cannot be read
 *   2 usage                             5 a supervisor was here before
 *   3 another one holds the lock        6 no descriptors, no process */
#include "executor/supervisor/facts.h"
#include "executor/supervisor/process.h"
#include "executor/supervisor/run.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/failpoint.h"
#include "trainyard/base/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { DESCRIPTORS = 65536 };

enum { UNDER_WAY = 0, USAGE = 2, LOCKED = 3, BAD_PLAN = 4, USED = 5, NO_MEANS = 6 };

struct started {
    char folder[PATH_MAX];
    struct ty_plan *plan;
    int init_fd;
    int status_fd;
    int control_fd;
};

static int say(int code, const char *text)
{
    dprintf(STDERR_FILENO, "trainyard-supervisor: %s\n", text);
    return code;
}

/* The init stands beside this program. */
static int open_init(void)
{
    char path[PATH_MAX + 32];
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (len <= 0)
        return -1;
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return -1;
    snprintf(slash, sizeof path - (size_t)(slash - path), "/trainyard-init");
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_control(void)
{
    ty_auto_fd fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "control"};
    unlink(address.sun_path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 16) != 0)
        return -1;
    return ty_steal_fd(&fd);
}

/* Each replica takes four descriptors, and programs inherit the limit: more than the usual 1024, as
 * in a container. */
static void raise_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS) {
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Descriptor 3 onwards are nobody's business here; the lock stays open for the life of the process.
 */
static int prepare(const char *folder, struct started *out)
{
    struct ty_error why;
    umask(077);
    raise_limits();
    close_range(3, ~0U, 0);
    if (chdir(folder) != 0 || !realpath(".", out->folder))
        return say(NO_MEANS, strerrordesc_np(errno));
    int lock_fd = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd < 0 || flock(lock_fd, LOCK_EX | LOCK_NB) != 0)
        return say(LOCKED, "another supervisor has this run");
    ty_failpoint("supervisor.after_lock");
    if (ty_plan_read(AT_FDCWD, "plan.json", &out->plan, &why) != TY_OK)
        return say(BAD_PLAN, why.text);
    struct stat before;
    out->status_fd = open("status.jsonl", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (out->status_fd < 0 || fstat(out->status_fd, &before) != 0)
        return say(NO_MEANS, strerrordesc_np(errno));
    if (before.st_size > 0)
        return say(USED, "this run was supervised before");
    out->init_fd = open_init();
    out->control_fd = open_control();
    if (out->init_fd < 0 || out->control_fd < 0)
        return say(NO_MEANS, strerrordesc_np(errno));
    return UNDER_WAY;
}

/* Leave the caller's session and standard streams. */
static void detach(void)
{
    setsid();
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log_fd = open("supervisor.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(null_fd, STDIN_FILENO);
    dup2(null_fd, STDOUT_FILENO);
    dup2(log_fd >= 0 ? log_fd : null_fd, STDERR_FILENO);
    close(null_fd);
    if (log_fd >= 0)
        close(log_fd);
}

static int supervise(const struct started *started)
{
    const struct ty_clock *clock = ty_clock_system();
    struct ty_error why;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    ty_failpoint("supervisor.before_first_fact");
    ty_status status =
        ty_facts_supervisor(started->status_fd, started->plan, ty_now_us(clock), &why);
    const struct ty_run_options options = {.plan = started->plan,
                                           .clock = clock,
                                           .folder = started->folder,
                                           .init_fd = started->init_fd,
                                           .status_fd = started->status_fd,
                                           .control_fd = started->control_fd};
    if (status == TY_OK)
        status = ty_run_supervise(&options, &why);
    if (status != TY_OK) {
        say(NO_MEANS, why.text);
        ty_status told = ty_facts_not_begun(started->status_fd, why.text, ty_now_us(clock), &why);
        (void)told; /* without it the run counts as lost */
    }
    unlink("control");
    ty_plan_destroy(started->plan);
    return status == TY_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return say(USAGE, "usage: trainyard-supervisor RUN_FOLDER");
    struct started started = {.init_fd = -1, .status_fd = -1, .control_fd = -1};
    int code = prepare(argv[1], &started);
    if (code != UNDER_WAY)
        return code;
    pid_t pid = fork();
    if (pid < 0)
        return say(NO_MEANS, strerrordesc_np(errno));
    if (pid > 0)
        _exit(UNDER_WAY);
    detach();
    return supervise(&started);
}
