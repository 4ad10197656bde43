/* What the training operator and the kubelet would decide: a pure state machine over the pods of
 * one run. It takes events with their times, marks what must be done to each pod, keeps the job's
 * conditions and says when it is over. The rules and texts are those of PyTorchJob v1
 * (training-operator 1.9), with the differences listed in server/executor/README.md. Used by one
 * thread. */
#ifndef TRAINYARD_EXECUTOR_OPERATOR_H
#define TRAINYARD_EXECUTOR_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { TY_OP_ALWAYS, TY_OP_ON_FAILURE, TY_OP_NEVER, TY_OP_EXIT_CODE } ty_op_restart;
typedef enum { TY_OP_CLEAN_NONE, TY_OP_CLEAN_RUNNING, TY_OP_CLEAN_ALL } ty_op_clean;
typedef enum { TY_OP_MASTER, TY_OP_WORKER, TY_OP_ROLE_COUNT } ty_op_role;

/* Fixed for the run. Names are borrowed. */
struct ty_op_rules {
    const char *job;
    const char *namespace;
    ty_op_restart restart[TY_OP_ROLE_COUNT];
    int64_t grace_ms[TY_OP_ROLE_COUNT]; /* between TERM and KILL */
    ty_op_clean clean_pods;
    bool elastic;
    size_t size;           /* how many pods there are at first; the others are absent until the run
                              is scaled; 0 = all */
    int32_t backoff_limit; /* -1 = none */
    int64_t deadline_ms;   /* after the start of the run; 0 = none */
    int64_t backoff_base_ms;
    int64_t backoff_max_ms;
    int64_t backoff_reset_ms; /* so long in good health and the back-off starts afresh */
    int64_t
        init_wait_ms; /* how long a Worker waits for its Master before its init container fails */
};

typedef enum {
    TY_OP_WAIT_MASTER, /* pending: the Master is not running yet */
    TY_OP_STARTING,    /* pending: asked to start, not running yet */
    TY_OP_RUNNING,     /* its process runs */
    TY_OP_BACKOFF,     /* ended, will start again at next_ms */
    TY_OP_SUCCEEDED,
    TY_OP_FAILED,
    TY_OP_REMOVED, /* deleted with nothing left of it */
    TY_OP_ABSENT   /* not part of the run as it is scaled now */
} ty_op_state;

/* What the caller must do to a pod now; it clears the mark. */
typedef enum { TY_OP_NOTHING, TY_OP_DO_START, TY_OP_DO_TERM, TY_OP_DO_KILL } ty_op_todo;

enum { TY_OP_TEXT = 256 };

/* How a start of a pod ended. */
struct ty_op_exit {
    int32_t code;   /* 128 + signal when a signal ended it */
    int32_t signal; /* 0 = it exited by itself */
    bool out_of_memory;
    bool not_started;      /* the sandbox could not be made: `cause` and `text` say why */
    const char *cause;     /* static; only with not_started */
    char text[TY_OP_TEXT]; /* for people */
};

struct ty_op_pod {
    ty_op_role role;
    int32_t index;
    char name[32]; /* "worker-1" */
    ty_op_state state;
    ty_op_todo todo;
    bool alive;       /* a process exists or was asked for */
    bool deleting;    /* being deleted: TERM was sent */
    bool leaving;     /* deleted by a scale-down: its end counts for nothing */
    bool ever_ran;    /* since the pod was created */
    int32_t restarts; /* in place */
    int32_t recreated;
    int64_t next_ms;    /* BACKOFF: when to start; WAIT_MASTER: when to give up */
    int64_t kill_ms;    /* deleting: when to kill, 0 = done */
    int64_t running_ms; /* since when it runs (monotonic) */
    int64_t backoff_ms; /* the next waiting time */
    int64_t started_at; /* wall-clock microseconds of the last start and end, 0 = none */
    int64_t finished_at;
    bool has_exit;
    struct ty_op_exit exit; /* the last one */
};

typedef enum {
    TY_OP_CREATED,
    TY_OP_COND_RUNNING,
    TY_OP_COND_RESTARTING,
    TY_OP_COND_SUCCEEDED,
    TY_OP_COND_FAILED,
    TY_OP_COND_COUNT
} ty_op_condition_type;

struct ty_op_condition {
    ty_op_condition_type type;
    bool status;
    char message[TY_OP_TEXT];
    int64_t changed_at; /* wall-clock microseconds */
};

typedef enum {
    TY_OP_OPEN,
    TY_OP_JOB_SUCCEEDED,
    TY_OP_JOB_FAILED,
    TY_OP_JOB_STOPPED,
    TY_OP_JOB_LOST
} ty_op_result;

struct ty_op {
    struct ty_op_rules rules;
    struct ty_op_pod *pods; /* borrowed; Master first, then Workers by index */
    size_t pod_count;
    size_t size; /* the first so many are the run's; those after them leave or are absent */
    struct ty_op_condition conditions[TY_OP_COND_COUNT]; /* in the operator's order */
    size_t condition_count;
    ty_op_result result;
    const char *cause;        /* of a failure; static */
    char message[TY_OP_TEXT]; /* of a failure, for people */
    const struct ty_op_pod *culprit;
    int64_t deadline_at_ms; /* 0 = none */
    int64_t restarts;       /* all replica restarts, re-creations included */
    bool changed;           /* something worth reporting changed; the caller clears it */
};

/* Time as both clocks see it. */
struct ty_op_now {
    int64_t ms; /* monotonic */
    int64_t us; /* wall clock */
};

/* `pods` has role, index and name filled and is zero otherwise. Marks the pods that start at once.
 */
void ty_op_begin(struct ty_op *op, const struct ty_op_rules *rules, struct ty_op_pod *pods,
                 size_t pod_count, struct ty_op_now now);

void ty_op_started(struct ty_op *op, struct ty_op_pod *pod, struct ty_op_now now);
void ty_op_exited(struct ty_op *op, struct ty_op_pod *pod, const struct ty_op_exit *ended,
                  struct ty_op_now now);

/* End everything: TERM, grace, KILL; `force` skips TERM and grace. The result is `result` (STOPPED
 * or LOST) unless the job had one before. Repeating is harmless. */
void ty_op_stop(struct ty_op *op, ty_op_result result, bool force, struct ty_op_now now);

/* Give an elastic run `size` pods (1 to pod_count). The highest indices go, with TERM, grace and
 * KILL, and come: a pod of theirs is a new one, which begins when the old one of that name has
 * ended. Repeating is harmless; a run that has its result stays as it is. */
void ty_op_scale(struct ty_op *op, size_t size, struct ty_op_now now);

/* Timers that are due. */
void ty_op_tick(struct ty_op *op, struct ty_op_now now);

/* Monotonic time of the next timer, 0 = none. */
int64_t ty_op_wake(const struct ty_op *op);

/* There is a result and no process is left. */
bool ty_op_over(const struct ty_op *op);

/* How the run looks from outside: a kind of observation (machine.h) as a name, its cause ("" =
 * none), a message and the pod whose exit explains it (NULL = none). Texts live as long as *op is
 * not changed. */
struct ty_op_view {
    const char *kind; /* "starting" "running" "restarting" "succeeded" "failed" "stopped" "gone" */
    const char *cause;
    char message[TY_OP_TEXT];
    const struct ty_op_pod *culprit;
};
void ty_op_look(const struct ty_op *op, struct ty_op_view *out);

/* Names for reports; static strings. */
extern const char *const ty_op_role_names[TY_OP_ROLE_COUNT]; /* "Master" */
const char *
ty_op_pod_phase(const struct ty_op_pod *pod); /* "pending" "running" "succeeded" "failed" */
const char *ty_op_pod_reason(
    const struct ty_op_pod *pod); /* "CrashLoopBackOff", "OOMKilled", "Error", … or "" */
const char *ty_op_condition_name(ty_op_condition_type type);   /* "Created" */
const char *ty_op_condition_reason(ty_op_condition_type type); /* "PyTorchJobCreated" */

/* Set a condition by the operator's rules: same status keeps the entry, Running and Restarting
 * replace one another, an end turns Running to False, nothing changes after Failed. */
void ty_op_set_condition(struct ty_op *op, ty_op_condition_type type, const char *message,
                         int64_t wall_us);

#endif
