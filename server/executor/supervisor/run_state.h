/* The inside of a run under supervision, shared by the files that make it:
 *   run_prepare.c  what stands before the first process starts, and its release
 *   run_start.c    carrying out what the operator marked
 *   run_scale.c    another size while it runs
 *   run.c          the loop
 * Single-threaded. */
#ifndef TRAINYARD_EXECUTOR_RUN_STATE_H
#define TRAINYARD_EXECUTOR_RUN_STATE_H

#include "executor/supervisor/network.h"
#include "executor/supervisor/operator.h"
#include "executor/supervisor/replica.h"
#include "executor/supervisor/run.h"

#include <limits.h>

/* Whose descriptor an event of the loop belongs to. */
typedef enum {
    FROM_INIT,
    FROM_OUTPUT,
    FROM_PROCESS,
    FROM_CONTROL,
    FROM_CALLER,
    FROM_SIGNAL
} source;

struct run {
    const struct ty_run_options *options;
    struct ty_op op;
    struct ty_op_pod *pods;
    struct ty_live_replica *live;
    size_t count;
    struct ty_network network;
    struct ty_plan *scaled; /* the plan as it was read last after a change of size; owned */
    bool plan_changed;      /* plan.json says another size: to be read */
    char hosts_path[PATH_MAX];
    char scratch_path[PATH_MAX];
    int epoll_fd;
    int signal_fd;
    bool durable; /* the next line must wait for the disk */
    bool torn;    /* the last line may have been written in part */
    bool memory_unenforced;
    bool cpu_unenforced;
};

struct ty_op_now ty_run_now(const struct run *run);

/* --- run_prepare.c --- */
/* Everything but the processes: memory, network, plan, hosts file, logs, events. A failure leaves
 * what ty_run_release takes. */
ty_status ty_run_prepare(struct run *run, struct ty_error *err) TY_MUST_CHECK;
void ty_run_release(struct run *run);
/* Watch a descriptor for input; `place` is a replica, or the descriptor of a caller. */
ty_status ty_run_watch(struct run *run, int fd, source from, size_t place,
                       struct ty_error *err) TY_MUST_CHECK;
/* Put addresses, port, GPUs and secrets into the places that a plan leaves for them. */
ty_status ty_run_fill_plan(struct run *run, struct ty_plan *plan,
                           struct ty_error *err) TY_MUST_CHECK;
/* Open the log of a replica by the plan in force. */
ty_status ty_run_open_log(struct run *run, size_t place, struct ty_error *err) TY_MUST_CHECK;

/* --- run_start.c --- */
/* Start, ask to end or kill the replicas that the operator marked. A start that fails is an exit.
 */
void ty_run_carry_out(struct run *run);

/* --- run_scale.c --- */
/* plan.json was replaced: take its size. What passes, a shortage say, is tried again by the loop
 * (plan_changed). */
void ty_run_scale(struct run *run);

#endif
