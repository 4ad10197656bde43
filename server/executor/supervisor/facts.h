/* status.jsonl: what happened in a run, one JSON object a line, appended by the supervisor and
 * followed by the daemon. Its "event" is
 *
 *   supervisor  the first line: pid, birth, attempt, job_id
 *   process     a replica's init, for cleaning up: replica, pid, birth
 *   state       the whole run as it stands: terminal, kind, cause, message, restarts, exit,
 *               replicas, conditions, unenforced
 *
 * "at" and all times are wall-clock microseconds. A torn last line has no newline; one that the
 * disk had no room for is followed by an empty line. */
#ifndef TRAINYARD_EXECUTOR_FACTS_H
#define TRAINYARD_EXECUTOR_FACTS_H

#include "executor/supervisor/operator.h"
#include "executor/supervisor/plan.h"

#include <sys/types.h>

ty_status ty_facts_supervisor(int fd, const struct ty_plan *plan, int64_t wall_us,
                              struct ty_error *err) TY_MUST_CHECK;
ty_status ty_facts_process(int fd, const char *replica, pid_t pid, int64_t wall_us,
                           struct ty_error *err) TY_MUST_CHECK;

/* `durable` waits until the line and all before it are on the disk. `unenforced` (may be NULL) says
 * which limits are not in force, such as "memory". */
ty_status ty_facts_state(int fd, const struct ty_op *op, const char *unenforced, bool durable,
                         int64_t wall_us, struct ty_error *err) TY_MUST_CHECK;

/* The terminal line of a run that could not even begin. */
ty_status ty_facts_not_begun(int fd, const char *message, int64_t wall_us,
                             struct ty_error *err) TY_MUST_CHECK;

#endif
