/* One run as the thread knows it. Private to the thread. */
#ifndef TRAINYARD_EXECUTOR_TRACKED_H
#define TRAINYARD_EXECUTOR_TRACKED_H

#include "executor/local/facts_read.h"
#include "executor/local/inside.h"

#define TY_RUN_FOLDER_GONE "the folder of the run is gone"

typedef enum {
    RUN_WAITING, /* not begun: something it needs is missing */
    RUN_ALIVE,   /* a supervisor is at work */
    RUN_OVER     /* its terminal line was seen, or it is lost */
} run_phase;

struct noted_process {
    int64_t pid;
    int64_t birth;
};

struct tracked {
    char object[TY_OBJECT_NAME];
    char namespace[TY_OBJECT_NAME];
    char job_id[TY_ID_TEXT];
    int32_t attempt;
    run_phase phase;
    json_t *plan;            /* until it is over */
    int32_t replicas_wanted; /* a scale that is not carried out yet, 0 = none */
    bool scaled;             /* by this daemon */
    size_t told_size; /* what the supervisor found in plan.json when it looked last, 0 = unknown */
    bool sandboxed;
    bool same_boot;   /* begun since the machine came up: the pids noted mean something */
    bool stop_wanted; /* to be told to the supervisor as soon as it listens */
    int watch;        /* inotify number, -1 = none */
    int status_fd;
    int pid_fd;            /* the supervisor, -1 = not known yet */
    struct ty_buf partial; /* an unfinished line */
    struct noted_process *processes;
    size_t process_count;
    struct ty_observation last; /* what was reported, to be repeated */
    bool reported;
    bool catching_up; /* reading what happened before this daemon */
    bool has_run;
    struct ty_observation first_run;
    struct ty_replica *replicas;
    size_t replica_count;
};

/* --- tracked.c --- */
/* A new record, known under its object's name; NULL without memory. */
struct tracked *ty_tracked_make(struct local *local, const char *object, json_t *plan);
void ty_tracked_forget(struct local *local, struct tracked *run);
/* Say what is known, again or for the first time. */
void ty_tracked_report(struct local *local, struct tracked *run);
/* Say something new of our own; the same twice is said once. */
void ty_tracked_tell(struct local *local, struct tracked *run, ty_seen_kind kind,
                     ty_job_cause cause, const char *message);
/* The run is over: nothing of it is watched any more but its supervisor's end. */
void ty_tracked_end(struct local *local, struct tracked *run);
/* The run is over without a result: kill what it left, say that it is gone. */
void ty_tracked_lose(struct local *local, struct tracked *run, const char *why);
/* The same because somebody took its folder away, with its supervisor perhaps alive. */
void ty_tracked_orphan(struct local *local, struct tracked *run);
void ty_tracked_let_go(struct tracked *run);
void ty_watch_key(int watch, char out[32]);

/* --- status.c --- */
/* Begin to follow; `adopt` when the run was there before this daemon. */
void ty_status_follow(struct local *local, struct tracked *run, bool adopt);
/* Take every whole line that is there. */
void ty_status_read_lines(struct local *local, struct tracked *run);
/* Whether the supervisor still lives; true once the run is over. */
bool ty_status_check(struct local *local, struct tracked *run);

/* --- begin.c --- */
/* Begin if nothing is lacking, else say what. */
void ty_run_try_begin(struct local *local, struct tracked *run);
/* Take up a run that has a folder: follow it, begin it, or know that it is lost. NULL without
 * memory. */
struct tracked *ty_run_take_up(struct local *local, const char *object, json_t *plan);
/* The run of that name, taken up from its folder when it is not known yet. NULL: there is none
 * (*missing_out true), or that cannot be told at this time. */
struct tracked *ty_run_find(struct local *local, const char *object, bool *missing_out);

/* --- scale.c --- */
/* How many of the plan's replicas the run has now. */
size_t ty_plan_size(const json_t *plan);
/* Whether the supervisor is still to be told of the plan's size. */
bool ty_run_scale_untold(const struct tracked *run);
/* Carry out what is left of a scale. */
void ty_run_scale(struct local *local, struct tracked *run);
/* Give back the GPUs of replicas that have left, as the last status line has it. */
void ty_run_release_left(struct local *local, struct tracked *run);

/* --- waiting.c --- */
/* What the run still lacks, as a STARTING observation's cause and message; TY_CAUSE_NONE = nothing.
 * Sets the root of images that have one by now. */
ty_job_cause ty_local_lacks(struct local *local, struct tracked *run, char *message, size_t size);
/* Take GPUs for the first `size` replicas of the run that have none yet; the plan learns which.
 * False when too few are free: nothing is taken then. */
bool ty_local_take_gpus(struct local *local, struct tracked *run, size_t size);
void ty_local_release_gpus(struct local *local, const struct tracked *run);
/* Those of one replica. */
void ty_local_release_replica(struct local *local, const struct tracked *run, const char *replica);
/* Note the GPUs an adopted run holds by its plan. */
void ty_local_adopt_gpus(struct local *local, const struct tracked *run, const json_t *plan);

#endif
