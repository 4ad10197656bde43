/* The local executor's own parts. One thread ("local-runs") owns every run it knows; the operations
 * of executor.h do their file work on the caller's thread and send it commands. */
#ifndef TRAINYARD_EXECUTOR_INSIDE_H
#define TRAINYARD_EXECUTOR_INSIDE_H

#include "executor/local/make_plan.h"
#include "executor/local/pod_secrets.h"

#include "trainyard/base/map.h"
#include "trainyard/executor/local.h"

#include <limits.h>
#include <pthread.h>

enum { LOCAL_GPUS_MAX = 64, LOCAL_BOOT_ID = 64 };

/* What this machine can do, found once. */
struct ty_local_host {
    char bwrap[PATH_MAX]; /* "" = no sandbox */
    char boot_id[LOCAL_BOOT_ID];
    int32_t gpus;
    int64_t cpu_millis;
    int64_t memory_bytes;
    bool memory_limits; /* control groups for memory can be made */
    bool cpu_limits;
    bool torchrun_needs_tee; /* see host.c */
    char trouble[512];       /* why there is no sandbox, and how to get one */
};
/* What is at hand at once; ty_local_host adds what takes a few processes to find out (bwrap,
 * control groups). */
void ty_local_look(const struct ty_local_options *options, struct ty_local_host *out);

typedef enum {
    COMMAND_TRACK,
    COMMAND_STOP,
    COMMAND_SCALE,
    COMMAND_REMOVE,
    COMMAND_CHECK,
    COMMAND_POKE
} local_command_kind;

struct local_command {
    struct local_command *next;
    local_command_kind kind;
    char object[TY_OBJECT_NAME];
    char namespace[TY_OBJECT_NAME];
    char job_id[TY_ID_TEXT];
    int32_t attempt;
    int32_t replicas; /* SCALE */
    json_t *plan;     /* TRACK: the plan just written, owned; NULL = read it */
};

struct tracked;

struct local {
    struct ty_executor base;
    struct ty_local_host host; /* read it through ty_local_host */
    pthread_mutex_t
        probe_lock; /* held while the machine is probed, once: who needs the answer waits for it */
    bool probed;
    bool plain;
    char *data_folder;
    char *supervisor_path;
    struct ty_local_image *images; /* copied */
    size_t image_count;
    const struct ty_clock *clock;
    const struct ty_log *log;
    int64_t backoff_base_ms;
    int64_t grace_ms;
    int64_t log_bytes;
    int runs_fd; /* <data>/runs */
    int volumes_fd;
    /* The channel to the thread. */
    pthread_mutex_t lock; /* of the next three */
    struct local_command *first_command;
    struct local_command *last_command;
    bool stopping;
    int wake_fd;
    pthread_t thread;
    bool thread_runs;
    /* The thread's own. */
    ty_executor_observer *observer;
    void *observer_context;
    int epoll_fd;
    int inotify_fd;    /* -1 = none: runs are looked at by the clock */
    int64_t looked_ms; /* when all runs were last looked at */
    struct local_command
        *deferred;          /* could not be carried out for want of something; tried again */
    struct ty_map *runs;    /* object name -> struct tracked, owned */
    struct ty_map *watches; /* inotify number as text -> struct tracked */
    const struct tracked *gpu_holders[LOCAL_GPUS_MAX];
};

/* --- host.c --- */
/* The machine, probed now unless it has been: the start of the daemon does not wait for it. */
const struct ty_local_host *ty_local_host(struct local *local);

/* --- roots.c --- */
const char *ty_local_find_root(const void *local, const char *image); /* NULL = none */

/* --- claims.c: the claim operations of executor.h --- */
ty_status ty_local_open_claim(struct ty_executor *executor, const char *namespace,
                              const char *claim, int *fd_out, struct ty_error *err);
ty_status ty_local_create_claim(struct ty_executor *executor, const char *namespace,
                                const char *claim, struct ty_error *err);
ty_status ty_local_remove_claim(struct ty_executor *executor, const char *namespace,
                                const char *claim, struct ty_error *err);
ty_status ty_local_measure_claim(struct ty_executor *executor, const char *namespace,
                                 const char *claim, int64_t *used_bytes_out, struct ty_error *err);
bool ty_local_has_claim(const struct local *local, const char *namespace, const char *claim);

/* --- run_folder.c --- */
/* Make the folder of a run as a whole: it is there with everything, or not at all. TY_CONFLICT when
 * one is there. */
ty_status ty_run_folder_write(struct local *local, const char *object,
                              const struct ty_made_plan *made, struct ty_error *err) TY_MUST_CHECK;
/* TY_NOT_FOUND, TY_CORRUPT: there is no run of that name that anybody could follow; all else says
 * nothing about the run (TY_NO_MEMORY, TY_UNAVAILABLE: no descriptors). */
ty_status ty_run_folder_plan(struct local *local, const char *object, json_t **plan_out,
                             struct ty_error *err) TY_MUST_CHECK;
/* Whether the folder is certainly not there: somebody took it away. */
bool ty_run_folder_gone(const struct local *local, const char *object);
/* Put another plan.json in the place of the present one. */
ty_status ty_run_folder_replace(struct local *local, const char *object, const json_t *plan,
                                struct ty_error *err) TY_MUST_CHECK;
/* Whether a supervisor holds the run's lock, unknown for want of descriptors, say. */
typedef enum { RUN_LOCK_FREE, RUN_LOCK_HELD, RUN_LOCK_UNKNOWN } run_lock;
run_lock ty_run_folder_lock(struct local *local, const char *object);
/* The same with caution: true also when that cannot be found out now. */
bool ty_run_folder_locked(struct local *local, const char *object);
/* Let no supervisor begin this run any more, also after a restart: its status gets an empty line,
 * and a status that is not empty says that the run was begun. */
void ty_run_folder_close(struct local *local, const char *object);
/* Take the folder's name away, so that it is no run any more; a start sweeps what is left. A
 * missing one is success. */
ty_status ty_run_folder_set_aside(struct local *local, const char *object,
                                  struct ty_error *err) TY_MUST_CHECK;
/* Take away the folder that was set aside. A missing one is success. */
ty_status ty_run_folder_clear(struct local *local, const char *object,
                              struct ty_error *err) TY_MUST_CHECK;
/* Remove the folder of a run: set it aside, then take it away; a crash leaves all of it or nothing
 * that counts. A missing one is success. */
ty_status ty_run_folder_remove(struct local *local, const char *object,
                               struct ty_error *err) TY_MUST_CHECK;
/* Remove what half-made and half-removed folders a crash left. */
void ty_run_folder_sweep(struct local *local);

/* --- spawn.c --- */
/* Start the supervisor; returns its exit code (supervisor/main.c), -1 when it cannot be started. */
int ty_local_spawn(const struct local *local, const char *object);
/* Send "stop", "kill" or "scale" to the supervisor. False when nobody listens. */
bool ty_local_tell(struct local *local, const char *object, const char *command);
/* Kill what a dead supervisor left: the processes noted in status.jsonl that are still the same,
 * and without a sandbox all that carry the run's mark. Returns when they are gone. */
void ty_local_kill_leftovers(const struct tracked *run);
/* Kill a supervisor whose folder was taken away under it, with what it runs. */
void ty_local_kill_orphans(const struct local *local, const char *object);

/* --- describe.c --- */
struct ty_capacity ty_local_capacity(struct ty_executor *executor);
ty_status ty_local_describe(struct ty_executor *executor, json_t **object_out,
                            struct ty_error *err);

/* --- follow.c --- */
void *ty_local_follow(void *local);      /* the thread's body */
void ty_local_free_tracked(void *run);   /* a struct tracked or NULL */
void ty_local_wake(struct local *local); /* the thread looks at what is new */
/* Queue a command and wake the thread. Takes the command's plan in any case: no other thread may
 * hold it. */
ty_status ty_local_send(struct local *local, const struct local_command *command,
                        struct ty_error *err) TY_MUST_CHECK;

#endif
