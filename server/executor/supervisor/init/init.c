/* The first process of a replica: starts the program, reports how it ended, and leaves nothing
 * behind.
 *
 *     trainyard-init FD PLAIN PROGRAM [ARGUMENT…]
 *
 * FD is one end of a SOCK_SEQPACKET pair; the supervisor holds the other. Messages out: "S" (the
 * program runs), "X <code> <signal>" (it ended; signal 0 = by itself). Messages in: "T" (ask
 * everything to end), "K" (kill everything). End of file = the supervisor is gone: kill everything,
 * as "K" does. PLAIN is 0 as PID 1 of its own PID namespace, 1 without one: then the process makes
 * itself a subreaper and walks its children.
 *
 * Static and without allocation, so that it starts in any root in well under a millisecond. When
 * the main program ends, everything it left running is killed: a replica is over when its program
 * is. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_FOUND = 127, EXIT_NOT_EXECUTABLE = 126, CHILDREN_BYTES = 64 * 1024 };

static void say(int fd, const char *text)
{
    ssize_t sent = send(fd, text, strlen(text), MSG_NOSIGNAL);
    (void)sent; /* a supervisor that is gone shows as end of file */
}

/* --- signals to everything --- */

/* Send `number` to each direct child outside the group `but_group`. Orphans become children of the
 * subreaper, so repeating it while reaping reaches every descendant. */
static void signal_children(int number, pid_t but_group)
{
    static char text[CHILDREN_BYTES];
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    if (len <= 0)
        return;
    text[len] = '\0';
    char *next = text;
    for (long pid = strtol(text, &next, 10); pid > 0; pid = strtol(next, &next, 10)) {
        if (getpgid((pid_t)pid) != but_group)
            kill((pid_t)pid, number);
    }
}

static void signal_group(pid_t main_pid, int number)
{
    kill(-main_pid, number);
    signal_children(number, main_pid); /* nobody gets it twice */
}

static void terminate_all(bool plain, pid_t main_pid)
{
    if (plain)
        signal_group(main_pid, SIGTERM);
    else
        kill(-1, SIGTERM); /* everything in this PID namespace but this process */
}

/* Returns when nothing is left; the main program's wait status into *status_out when it was among
 * them. */
static void kill_all(bool plain, pid_t main_pid, int *status_out)
{
    for (;;) {
        if (plain)
            signal_group(main_pid, SIGKILL);
        else
            kill(-1, SIGKILL);
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid == main_pid)
            *status_out = status;
        if (pid < 0 && errno != EINTR)
            return;
    }
}

/* --- the program --- */

static _Noreturn void run_program(char **argv, int started)
{
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < SIGRTMIN; number++)
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(argv[0], argv);
    int failure = errno;
    dprintf(STDERR_FILENO, "trainyard: cannot start %s: %s\n", argv[0], strerror(failure));
    ssize_t written = write(started, "!", 1);
    (void)written;
    _exit(failure == ENOENT || failure == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* Fork and exec; returns once the exec has happened or failed. */
static pid_t start_program(char **argv)
{
    int started[2];
    if (pipe2(started, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        run_program(argv, started[1]);
    close(started[1]);
    char byte;
    ssize_t got = pid > 0 ? read(started[0], &byte, 1) : 0;
    (void)got;
    close(started[0]);
    return pid;
}

static void report_end(int socket_fd, int status)
{
    char text[64];
    if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "X %d %d", 128 + WTERMSIG(status), WTERMSIG(status));
    else
        snprintf(text, sizeof text, "X %d 0", WEXITSTATUS(status));
    say(socket_fd, text);
}

/* Reap until the main program is among them; its status into *status_out. */
static bool reap(pid_t main_pid, int *status_out)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == main_pid) {
            *status_out = status;
            return true;
        }
        if (pid <= 0)
            return false;
    }
}

/* Returns the wait status of the main program, or -1 when everything must be killed first. */
static int serve(int socket_fd, int signal_fd, bool plain, pid_t main_pid)
{
    struct pollfd waits[] = {
        {.fd = socket_fd, .events = POLLIN},
        {.fd = signal_fd, .events = POLLIN}
    };
    for (;;) {
        if (poll(waits, 2, -1) < 0)
            continue;
        struct signalfd_siginfo info;
        if (waits[1].revents && read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info &&
            info.ssi_signo == SIGTERM)
            terminate_all(plain, main_pid);
        int status;
        if (reap(main_pid, &status))
            return status;
        char command;
        if (!waits[0].revents)
            continue;
        if (recv(socket_fd, &command, 1, 0) <= 0 || command == 'K')
            return -1;
        terminate_all(plain, main_pid);
    }
}

/* What was open for making the sandbox leads out of it: folders and this program's file on the
 * machine. The program has this process's user, so by /proc/1 it could reach all that this process
 * can, stop it, or take its place: an undumpable process is closed to whoever has no
 * capabilities. */
static void shut_the_way_out(int socket_fd, bool plain)
{
    if (socket_fd > 3)
        close_range(3, (unsigned)socket_fd - 1, 0);
    close_range((unsigned)socket_fd + 1, ~0U, 0);
    fcntl(socket_fd, F_SETFD, FD_CLOEXEC); /* the program gets three descriptors */
    if (!plain)
        prctl(PR_SET_DUMPABLE, 0);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int socket_fd = (int)strtol(argv[1], NULL, 10);
    bool plain = argv[2][0] == '1';
    if (socket_fd < 3)
        return 2;
    shut_the_way_out(socket_fd, plain);
    prctl(PR_SET_NAME, "trainyard-init");
    if (plain)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    else if (getpid() != 1)
        return 2; /* kill(-1) is meant for a namespace of our own */
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    int signal_fd = signalfd(-1, &mask, SFD_CLOEXEC);
    pid_t main_pid = start_program(argv + 3);
    if (main_pid < 0)
        return 2;
    say(socket_fd, "S");
    int status = serve(socket_fd, signal_fd, plain, main_pid);
    kill_all(plain, main_pid, &status);
    report_end(socket_fd, status); /* only now is the replica over */
    return 0;
}
