/* The live side of one replica: its process, its log and what is known of its end. Private to the
 * supervisor. */
#ifndef TRAINYARD_EXECUTOR_REPLICA_H
#define TRAINYARD_EXECUTOR_REPLICA_H

#include "executor/supervisor/process.h"

#include "trainyard/logs/archive.h"

enum { TY_REPLICA_HEAD = 16 * 1024 };

struct ty_live_replica {
    const struct ty_plan_replica *plan;
    struct ty_log_writer *log;
    int32_t log_attempt;
    struct ty_process process; /* pid 0 = none */
    struct ty_cgroup cgroup;
    bool started;   /* the program runs; before that output is the sandbox's own */
    bool end_known; /* the init told how it ended */
    int32_t code;
    int32_t signal;
    int init_pidfd;             /* -1 until the init spoke */
    char head[TY_REPLICA_HEAD]; /* what came before `started` */
    size_t head_len;
};

/* A replica without a process or a log. */
void ty_live_init(struct ty_live_replica *replica, const struct ty_plan_replica *plan);

/* Open the replica's log, continuing after what earlier runs of the job wrote. */
ty_status ty_live_open(struct ty_live_replica *replica, const struct ty_plan_replica *plan,
                       int logs_fd, struct ty_error *err) TY_MUST_CHECK;

/* The program runs: note the new attempt and write out what came early. A log that cannot be
 * written does not stop the run; the archive keeps count of the gap. */
void ty_live_started(struct ty_live_replica *replica, int64_t wall_us);

/* Read what the pipe holds, at most a megabyte. False at its end. */
bool ty_live_read(struct ty_live_replica *replica, const struct ty_clock *clock);

/* Ask to end, or kill, the whole tree. */
void ty_live_terminate(struct ty_live_replica *replica);
void ty_live_kill(struct ty_live_replica *replica);

/* After the process was reaped with `wait_status`: how the start ended. Releases everything but the
 * log. */
void ty_live_ended(struct ty_live_replica *replica, int wait_status, const struct ty_clock *clock,
                   struct ty_op_exit *out);

/* Seal (when `seal`) and close the log. */
void ty_live_close(struct ty_live_replica *replica, bool seal);

#endif
