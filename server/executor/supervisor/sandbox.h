/* The command line of bwrap for one replica: its root, mounts, environment and limits of /dev/shm.
 * Reads the file system (what the root holds), changes nothing. */
#ifndef TRAINYARD_EXECUTOR_SANDBOX_H
#define TRAINYARD_EXECUTOR_SANDBOX_H

#include "executor/supervisor/plan.h"

/* How a replica is set apart from the machine, mounts aside; the test of whether a sandbox works
 * here asks for the same. Words for bwrap, to stand in an array. */
#define TY_SANDBOX_ISOLATION                                                                       \
    "--unshare-user-try", "--uid", "0", "--gid", "0", "--unshare-pid", "--unshare-uts",            \
        "--unshare-ipc", "--die-with-parent", "--new-session", "--cap-drop", "ALL"

struct ty_sandbox {
    const char *hostname;   /* "job-abc-worker-1" */
    const char *hosts_path; /* the run's hosts file on this machine */
    const char *data;       /* the gateway's folder, without links; never shown */
};

/* Append the options to `args`, each ended by NUL, for `bwrap --args FD`. Everything but the
 * program. */
void ty_sandbox_options(const struct ty_plan_replica *replica, const struct ty_sandbox *sandbox,
                        struct ty_buf *args);

#endif
