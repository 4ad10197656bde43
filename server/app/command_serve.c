/* `trainyardd serve`: start, say where, wait for a signal, stop. */
#include "app/commands.h"
#include "app/daemon.h"

#include "trainyard/base/str.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static ty_status set_up_log(struct daemon *daemon, struct ty_error *err)
{
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    daemon->log = (struct ty_log){
        .clock = ty_clock_system(), .fd = STDERR_FILENO, .format = daemon->config.log_format};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (ty_str_equal(levels[i], daemon->config.log_level)) {
            daemon->log.level = (ty_log_level)i;
            return TY_OK;
        }
    return ty_fail(err, TY_INVALID, "log_level must be debug, info, warning or error");
}

/* Streams and files want more descriptors than the usual soft limit. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Wait for SIGTERM or SIGINT. A second one ends the process at once: nothing acknowledged is lost
 * by that, and jobs run on under their supervisors. */
static int wait_for_signal(void)
{
    sigset_t set;
    int number = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    while (sigwait(&set, &number) != 0)
        continue;
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return number;
}

static void block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int run(struct daemon *daemon)
{
    struct ty_error err;
    char address[256];
    if (set_up_log(daemon, &err) != TY_OK || daemon_start(daemon, &err) != TY_OK) {
        ty_log(&daemon->log, TY_LOG_ERROR, "start_failed", "%s", err.text);
        fprintf(stderr, "trainyardd: %s\n", err.text);
        return 1;
    }
    daemon_address(daemon, address, sizeof address);
    ty_log(&daemon->log, TY_LOG_INFO, "serving", "http://%s (docs at /docs), data in %s", address,
           daemon->data);
    int number = wait_for_signal();
    ty_log(&daemon->log, TY_LOG_INFO, "stopping",
           "signal %d: letting open requests end; jobs run on", number);
    return 0;
}

int command_serve(int argc, char **argv)
{
    struct daemon daemon = {0};
    struct ty_error err;
    struct ty_config_sources sources = {argc, argv, environ};
    if (ty_config_load(&sources, &daemon.config, &err) != TY_OK) {
        fprintf(stderr, "trainyardd: %s\n", err.text);
        return 2;
    }
    block_signals();
    raise_descriptor_limit();
    int status = run(&daemon);
    daemon_stop(&daemon);
    ty_config_done(&daemon.config);
    return status;
}
