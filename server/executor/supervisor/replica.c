#include "executor/supervisor/replica.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { READ_BYTES = 128 * 1024, READ_ROUNDS = 8 };

/* Attempts count on over all runs of the job. */
static int32_t last_attempt(int logs_fd, const char *name)
{
    struct ty_log_reader *reader = NULL;
    struct ty_log_extent extent = {0};
    struct ty_error ignored;
    if (ty_log_reader_open(logs_fd, name, &reader, &ignored) != TY_OK)
        return 0;
    ty_status status = ty_log_extent(reader, 0, &extent, &ignored);
    ty_log_reader_close(reader);
    return status == TY_OK ? extent.attempts : 0;
}

void ty_live_init(struct ty_live_replica *replica, const struct ty_plan_replica *plan)
{
    *replica = (struct ty_live_replica){.plan = plan, .init_pidfd = -1};
    replica->process = (struct ty_process){.pidfd = -1, .socket_fd = -1, .output_fd = -1};
    replica->cgroup = (struct ty_cgroup){
        .procs_fds = {-1, -1}
    };
}

ty_status ty_live_open(struct ty_live_replica *replica, const struct ty_plan_replica *plan,
                       int logs_fd, struct ty_error *err)
{
    ty_live_init(replica, plan);
    replica->log_attempt = last_attempt(logs_fd, plan->name);
    if (ty_log_writer_open(logs_fd, plan->name, &replica->log, err) != TY_OK)
        return err->status;
    ty_log_writer_limit(replica->log, plan->log_bytes);
    return TY_OK;
}

/* A failing disk must not stop training: the archive counts what it lost and notes the gap itself.
 */
static void append(struct ty_live_replica *replica, const char *bytes, size_t len, int64_t wall_us)
{
    struct ty_error ignored;
    ty_status status = ty_log_writer_append(replica->log, bytes, len, wall_us, &ignored);
    (void)status;
}

void ty_live_started(struct ty_live_replica *replica, int64_t wall_us)
{
    struct ty_error ignored;
    ty_status status =
        ty_log_writer_attempt(replica->log, replica->log_attempt + 1, wall_us, &ignored);
    if (status == TY_OK)
        replica->log_attempt++;
    replica->started = true;
    append(replica, replica->head, replica->head_len, wall_us);
    replica->head_len = 0;
}

/* Before the program runs the bytes are bwrap's and wait in `head`; a full head waits for the
 * start. */
static ssize_t read_head(struct ty_live_replica *replica)
{
    size_t room = sizeof replica->head - replica->head_len;
    if (room == 0) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t len = read(replica->process.output_fd, replica->head + replica->head_len, room);
    if (len > 0)
        replica->head_len += (size_t)len;
    return len;
}

static ssize_t read_output(struct ty_live_replica *replica, const struct ty_clock *clock)
{
    char bytes[READ_BYTES];
    ssize_t len = read(replica->process.output_fd, bytes, sizeof bytes);
    if (len > 0)
        append(replica, bytes, (size_t)len, ty_now_us(clock));
    return len;
}

bool ty_live_read(struct ty_live_replica *replica, const struct ty_clock *clock)
{
    for (int round = 0; round < READ_ROUNDS; round++) {
        ssize_t len = replica->started ? read_output(replica, clock) : read_head(replica);
        if (len == 0)
            return false;
        if (len < 0 && errno != EINTR)
            return errno == EAGAIN;
    }
    return true;
}

void ty_live_terminate(struct ty_live_replica *replica)
{
    ty_process_tell(&replica->process, 'T');
}

/* The init of a PID namespace takes everything in it along; bwrap's end kills an init that has not
 * spoken yet. A plain init must not die before its tree, so it is only told. */
void ty_live_kill(struct ty_live_replica *replica)
{
    ty_process_tell(&replica->process, 'K');
    if (replica->init_pidfd >= 0)
        syscall(SYS_pidfd_send_signal, replica->init_pidfd, SIGKILL, NULL, 0);
    else if (!replica->started)
        syscall(SYS_pidfd_send_signal, replica->process.pidfd, SIGKILL, NULL, 0);
}

static const char *sandbox_cause(const char *text)
{
    static const char *const mount_words[] = {"mount",       "source path", "mkdir",
                                              "create file", "chdir",       "symlink"};
    for (size_t i = 0; i < sizeof mount_words / sizeof *mount_words; i++) {
        if (strstr(text, mount_words[i]))
            return "mount_failed";
    }
    return "gateway_error";
}

/* The sandbox's words hold paths of this machine: they go to the supervisor's own log. */
static void explain_not_started(struct ty_live_replica *replica, struct ty_op_exit *out)
{
    size_t len =
        replica->head_len < sizeof replica->head ? replica->head_len : sizeof replica->head - 1;
    replica->head[len] = '\0';
    dprintf(STDERR_FILENO, "%s: %s\n", replica->plan->name, replica->head);
    out->not_started = true;
    out->cause = sandbox_cause(replica->head);
    ty_str_copy(out->text, sizeof out->text,
                ty_str_equal(out->cause, "mount_failed")
                    ? "a volume could not be mounted into the sandbox"
                    : "the sandbox could not be made");
}

static void explain_wait_status(int wait_status, struct ty_op_exit *out)
{
    out->code = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    out->signal = out->code > 128 ? out->code - 128 : 0;
}

static void release_process(struct ty_live_replica *replica)
{
    ty_process_done(&replica->process);
    if (replica->init_pidfd >= 0)
        close(replica->init_pidfd);
    replica->init_pidfd = -1;
    ty_cgroup_done(&replica->cgroup);
    replica->started = replica->end_known = false;
    replica->head_len = 0;
}

void ty_live_ended(struct ty_live_replica *replica, int wait_status, const struct ty_clock *clock,
                   struct ty_op_exit *out)
{
    for (int round = 0; round < 1024;
         round++) { /* the writers are gone: what the pipe holds is all there is */
        ssize_t len = replica->started ? read_output(replica, clock) : read_head(replica);
        if (len == 0 || (len < 0 && errno != EINTR))
            break;
    }
    *out = (struct ty_op_exit){0};
    if (replica->end_known) {
        out->code = replica->code;
        out->signal = replica->signal;
    } else {
        explain_wait_status(wait_status, out);
        if (!replica->started)
            explain_not_started(replica, out);
    }
    out->out_of_memory = out->code != 0 && ty_cgroup_oom_kills(&replica->cgroup) > 0;
    release_process(replica);
}

void ty_live_close(struct ty_live_replica *replica, bool seal)
{
    struct ty_error why;
    if (seal && replica->log && ty_log_writer_seal(replica->log, &why) != TY_OK)
        dprintf(STDERR_FILENO, "seal the log of %s: %s\n", replica->plan->name, why.text);
    ty_log_writer_close(replica->log);
    replica->log = NULL;
}
