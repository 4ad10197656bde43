/* Starting the process tree of one replica, in a bwrap sandbox or plainly, with its ends in the
 * supervisor's hands. */
#ifndef TRAINYARD_EXECUTOR_PROCESS_H
#define TRAINYARD_EXECUTOR_PROCESS_H

#include "executor/supervisor/cgroup.h"
#include "executor/supervisor/plan.h"

#include <sys/types.h>

struct ty_process {
    pid_t pid;     /* bwrap, or the init itself when plain */
    int pidfd;     /* readable when it has ended */
    int socket_fd; /* to the init: messages of init/init.c */
    int output_fd; /* standard output and error, one pipe, non-blocking */
};

/* Borrowed for the call. */
struct ty_process_setup {
    const struct ty_plan *plan;
    const struct ty_plan_replica *replica;
    const struct ty_cgroup *cgroup;
    const char *hosts_path;
    const char *scratch_path; /* working folder of a plain process */
    int init_fd;              /* trainyard-init, open for reading */
};

/* TY_UNAVAILABLE when the process cannot be made. On success the caller closes the descriptors
 * (ty_process_done) and waits for the pid. */
ty_status ty_process_start(const struct ty_process_setup *setup, struct ty_process *out,
                           struct ty_error *err) TY_MUST_CHECK;
void ty_process_done(struct ty_process *process);

/* What an init says. */
typedef enum { TY_INIT_NOTHING, TY_INIT_STARTED, TY_INIT_ENDED, TY_INIT_CLOSED } ty_init_word;
struct ty_init_message {
    ty_init_word word;
    pid_t pid; /* the init's, as seen here */
    int32_t code;
    int32_t signal;
};
struct ty_init_message ty_process_listen(const struct ty_process *process);

/* "T" or "K" to the init. */
void ty_process_tell(const struct ty_process *process, char command);

/* Start time of a process in clock ticks since boot (field 22 of /proc/PID/stat), 0 when it is
 * gone. */
int64_t ty_process_birth(pid_t pid);

#endif
