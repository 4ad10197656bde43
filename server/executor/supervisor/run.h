/* One run under supervision: starts and ends processes as the operator (operator.h) decides,
 * carries their output to the log archive and their fate to status.jsonl, and listens for stop on
 * the control socket. Single-threaded. */
#ifndef TRAINYARD_EXECUTOR_RUN_H
#define TRAINYARD_EXECUTOR_RUN_H

#include "executor/supervisor/plan.h"

/* All borrowed. The working folder of the process is the run folder. */
struct ty_run_options {
    struct ty_plan *plan;
    const struct ty_clock *clock;
    const char *folder; /* absolute path of the run folder */
    int init_fd;        /* trainyard-init, open for reading */
    int status_fd;      /* status.jsonl, for appending */
    int control_fd;     /* a listening SOCK_SEQPACKET socket */
};

/* Supervise until the run is over and its terminal line is on the disk.
 *   TY_UNAVAILABLE, TY_STORAGE_FULL, TY_NO_MEMORY   no process is left, but there is no terminal
 * line either */
ty_status ty_run_supervise(const struct ty_run_options *options,
                           struct ty_error *err) TY_MUST_CHECK;

#endif
