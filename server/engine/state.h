/* What the engine holds, and which of its files does what with it. All of it belongs to the
 * engine's thread (whoever calls ty_engine_step) but for the inbox and the view, which have locks
 * of their own.
 *
 *   engine.c   life cycle and the step: letters, timers, driving, admission, sweeping
 *   live.c     the table of live jobs, what is held, figures
 *   drive.c    one job: what its plan asks for is asked of the executor
 *   launch.c   spec -> manifest -> executor->apply
 *   observe.c  observations -> the store, through the machine
 *   line.c     the waiting line: rounds of admission; its order is queue.c's
 *   scale.c    other sizes of elastic jobs
 *   prune.c    what a run leaves, told and kept by keep_last
 *   submit.c, act.c, removal.c, trash.c, remains.c, wishes.c, sweep.c   what clients and retention
 * ask for */
#ifndef TRAINYARD_ENGINE_STATE_H
#define TRAINYARD_ENGINE_STATE_H

#include "admit.h"
#include "backoff.h"
#include "inbox.h"
#include "queue.h"
#include "timers.h"
#include "trainyard/base/map.h"
#include "trainyard/base/thread.h"
#include "trainyard/engine/engine.h"

#include <stdatomic.h>

struct observe_write;

/* A job that is not terminal, or whose run may still exist. */
struct live_job {
    struct job_facts facts; /* as last committed */

    /* What is on its way to the store: at most one write at a time, so that words stay in order. */
    struct seen *pending; /* oldest first */
    struct seen **pending_last;
    size_t pending_count;
    struct observe_write *writing;
    struct backoff write_backoff;

    /* What was asked of the executor; forgotten by a crash and then asked again, which is harmless.
     */
    int32_t applied_attempt; /* apply succeeded for it */
    int32_t scaled_attempt;  /* the executor was given the size below for it */
    int32_t scaled_replicas;
    bool check_due; /* found in the records at start: ask how its run stands */
    struct backoff call_backoff;
    int64_t hindered_since; /* wall clock: starting, with a cause that hinders; 0 = is not */
    bool rules_known;       /* the next two were read from the spec */
    int32_t restart_limit;
    bool prunes; /* keep_last: older checkpoints are removed */

    bool pruning;           /* under way */
    int32_t pruned_attempt; /* its end may be told */
    uint64_t results_seen;  /* a mark of the checkpoints that were told; 0 = none */
    int64_t prune_due_ms;   /* monotonic; 0 = not known yet */

    /* The line. */
    struct queue_item place;
    bool admitting;           /* ADMITTED is on its way: what it needs is held already */
    bool holds;               /* counted in the engine's use */
    int64_t tell_due_ms;      /* not before: the next word on why it waits */
    _Atomic int64_t position; /* read by any thread under the view's lock */

    bool remove_wanted; /* when it has ended: it stays in the table until it is removed */
    bool removing;      /* its removal is on its way to the store */
    bool gone;          /* its row was removed */
    bool dirty;
    struct live_job *dirty_next;
    struct live_job *hold_next; /* of those that hold */
    struct live_job *hold_previous;
    struct live_job
        *all_next; /* of all, so that walks have an order that does not depend on hashes */
    struct live_job *all_previous;
    struct timer timer;
};

struct tenant_quota {
    int64_t row;
    struct ty_quota quota;
};

struct ty_engine {
    struct ty_engine_options options;
    struct inbox inbox;
    pthread_t thread;
    bool threaded;
    atomic_int writes_in_flight; /* whose `done` has not run */

    /* Jobs and figures as other threads may read them. */
    pthread_mutex_t view_lock;
    struct ty_map *jobs; /* id -> live_job; changed by the engine's thread under the lock */
    struct ty_engine_figures figures;

    struct ty_reader *reader;
    int64_t now;    /* wall clock of this step */
    int64_t now_ms; /* monotonic clock of this step */
    int64_t skew;   /* wall minus monotonic, to notice a clock that was set */
    struct timers timers;
    struct live_job *all;
    struct live_job *dirty;
    struct live_job **dirty_last;

    bool executor_started;
    struct backoff executor_backoff;

    struct queue queue;     /* everyone in the line */
    atomic_uint growths;    /* of jobs, as the store's thread has seen them (scale.c) */
    unsigned growths_taken; /* of them, those that the engine knows of */
    struct live_job *holders;
    struct admit_use use;
    bool round_wanted;            /* something changed since the last round */
    bool whole_wanted;            /* since the last round over the whole line */
    int64_t round_again_ms;       /* look again without a change; 0 = never */
    int64_t whole_again_ms;       /* the same at the whole line */
    int64_t round_pause_ms;       /* no round before */
    int64_t whole_pause_ms;       /* no round over the whole line before */
    struct admit_job *round_jobs; /* room for a round's */
    size_t round_room;
    struct tenant_quota *tenants; /* by row */
    size_t tenants_count;
    bool tenants_stale;
    struct backoff tenants_backoff;
    int64_t tenants_read_ms;

    int64_t sweep_due_ms;
    struct letter
        *wishes;     /* to be taken again with the next sweep: the database could not be read */
    size_t removals; /* on their way to the store */

    struct ty_pool *pruner; /* one thread; NULL = none was started */
    atomic_bool pruner_stop;
    int logs_fd;    /* the log archive's root; -1 = none */
    int removed_fd; /* logs of jobs that are being removed */
};

/* --- engine.c --- */
/* Hand a write to the store without waiting. It counts as in flight until its `done` takes that
 * back, as its last word to the engine; one that is refused does not count. */
ty_status engine_write(struct ty_engine *engine, struct ty_write *write,
                       struct ty_error *err) TY_MUST_CHECK;

/* --- live.c --- */
struct live_job *live_find(struct ty_engine *engine, const char *id);

/* Take in a committed record: a new job enters the table, a known one is updated; one that is over
 * leaves as soon as nothing is on its way. TY_NO_MEMORY: the job could not be taken in. */
ty_status live_take(struct ty_engine *engine, const struct job_facts *facts) TY_MUST_CHECK;
struct live_job *live_add(struct ty_engine *engine,
                          const struct job_facts *facts); /* NULL: no memory */
void live_remove(struct ty_engine *engine, struct live_job *job);
void live_mark(struct ty_engine *engine, struct live_job *job); /* drive it in this step */
void live_settle(struct ty_engine *engine,
                 struct live_job *job); /* hold or release, as it stands */
void live_wake_at(struct ty_engine *engine, struct live_job *job,
                  int64_t due_ms); /* the earliest wins */
/* A job's run, as the executor knows it; good as long as `facts` are. */
struct ty_run_ref live_run_ref(const struct job_facts *facts);
static inline bool live_is_over(const struct job_facts *facts)
{
    return ty_job_terminal(facts->status.state) && !facts->status.run_active;
}

/* --- drive.c --- */
void drive_job(struct ty_engine *engine, struct live_job *job);

/* --- launch.c --- */
/* Render the job and hand it to the executor. TY_REFUSED: never here; all else: try again later. */
ty_status launch_job(struct ty_engine *engine, struct live_job *job,
                     struct ty_error *err) TY_MUST_CHECK;
/* The stored spec of a job. */
ty_status launch_read_spec(struct ty_reader *reader, int64_t row, struct ty_job_spec **spec_out,
                           struct ty_error *err) TY_MUST_CHECK;
void launch_destroy_spec(struct ty_job_spec **spec);
#define auto_spec __attribute__((cleanup(launch_destroy_spec))) struct ty_job_spec *
/* Read from the spec what the machine needs to know of it. */
ty_status launch_read_rules(struct ty_engine *engine, struct live_job *job,
                            struct ty_error *err) TY_MUST_CHECK;

/* --- scale.c --- */
/* Give the run of an elastic job the size that was committed last, unless that was done. TY_OK when
 * nothing is to be done, too. */
ty_status scale_run(struct ty_engine *engine, struct live_job *job,
                    struct ty_error *err) TY_MUST_CHECK;

/* --- observe.c --- */
void observe_from_executor(void *context, const char *job_id, const struct ty_observation *seen,
                           const struct ty_replica *replicas, size_t replica_count);
/* Note one observation of the engine's own, or one that came by letter (owned from here on). */
ty_status observe_add(struct live_job *job, const struct ty_observation *observation) TY_MUST_CHECK;
void observe_take(struct live_job *job, struct seen *seen);
/* Send all pending ones as one write. When the store takes none at this time they stay, and the
 * job's timer is set. */
void observe_flush(struct ty_engine *engine, struct live_job *job);
void observe_written(struct ty_engine *engine, struct observe_write *written);
void observe_write_destroy(struct observe_write *written);
struct observe_write *observe_write_of(struct letter *letter);
void observe_drop_pending(struct live_job *job);
/* The first pending word that the current attempt's run is over; NULL = none. */
const struct ty_observation *observe_find_end(const struct live_job *job);

/* --- line.c --- */
void line_enter(struct ty_engine *engine, struct live_job *job);
void line_leave(struct ty_engine *engine, struct live_job *job);
/* Judge who waits, if that is due. */
void line_round(struct ty_engine *engine);
/* When the next round is due; 0 = not before something changes. */
int64_t line_due_ms(const struct ty_engine *engine);
/* Read the tenants' quotas again, if that is due. */
void line_read_quotas(struct ty_engine *engine);

/* --- removal.c --- */
struct removal;
/* Begin to remove a finished job: its run, its row, then its logs. TY_CONFLICT code job_active: it
 * is not over. */
ty_status removal_begin(struct ty_engine *engine, const struct job_facts *facts,
                        struct ty_error *err) TY_MUST_CHECK;
void removal_ended(struct ty_engine *engine, struct removal *removal);
void removal_destroy(struct removal *removal);
struct removal *removal_of(struct letter *letter);
/* The same at once, on a caller's thread that may wait. */
ty_status removal_run(struct ty_engine *engine, const struct job_facts *facts, int64_t if_revision,
                      struct ty_error *err) TY_MUST_CHECK;

/* --- claims.c: the claims made for one job alone go with it --- */
struct own_claims {
    char (*names)[TY_CLAIM_NAME]; /* owned */
    size_t count;
};
/* Read which they are, while the row is there. */
ty_status claims_read(struct ty_engine *engine, const struct job_facts *facts,
                      struct own_claims *claims_out, struct ty_error *err) TY_MUST_CHECK;
/* Remove those that no live job names. */
void claims_remove(struct ty_engine *engine, const struct job_facts *facts,
                   const struct own_claims *claims);
void claims_done(struct own_claims *claims);

/* --- trash.c: the logs of a job on their way out, so that neither a crash nor a failed commit can
 * leave logs without a job or a job without its logs --- */
ty_status trash_open(struct ty_engine *engine, struct ty_error *err) TY_MUST_CHECK;
void trash_close(struct ty_engine *engine);
ty_status trash_set_aside(struct ty_engine *engine, const char *id,
                          struct ty_error *err) TY_MUST_CHECK;
void trash_put_back(struct ty_engine *engine, const char *id);
void trash_empty(struct ty_engine *engine, const char *id);
/* Finish or undo what a crash has interrupted. */
void trash_recover(struct ty_engine *engine);
/* Visit the jobs that have a file of this ending beside the logs that are set aside ("": the logs
 * themselves). A visit may remove the file. */
void trash_each(struct ty_engine *engine, const char *suffix,
                void (*visit)(struct ty_engine *engine, const char *id));

/* --- remains.c: a removed job's run and claims, noted so that they go even over a crash --- */
ty_status remains_note(struct ty_engine *engine, const struct job_facts *facts,
                       const struct own_claims *claims, struct ty_error *err) TY_MUST_CHECK;
void remains_forget(struct ty_engine *engine, const char *id);
/* Finish the removals whose rows have gone. */
void remains_recover(struct ty_engine *engine);

/* --- wishes.c: to remove a job when it has ended, kept over a crash --- */
ty_status wish_note(struct ty_engine *engine, const char *id, struct ty_error *err) TY_MUST_CHECK;
void wish_forget(struct ty_engine *engine, const char *id);
void wish_post(struct ty_engine *engine, struct letter *wish,
               const char *id); /* takes the letter */
void wish_recover(struct ty_engine *engine);

/* --- act.c --- */
/* A change of one job that its caller waits for; the first member of what the kinds of it need. */
struct act {
    struct ty_write write; /* `done` is act_done or ends with it */
    struct ty_engine *engine;
    struct commit_letter *letter; /* owned until it is posted; `apply` puts the facts into it */
    int64_t tenant;
    const char *job_id;
    int64_t if_revision; /* 0 = any */
    bool changed;        /* set by `apply`: something was stored */
};
/* Read the job inside the transaction. TY_NOT_FOUND · TY_PRECONDITION */
ty_status act_find(struct ty_writer *writer, const struct act *act,
                   struct ty_job_record *record_out, struct ty_error *err) TY_MUST_CHECK;
/* TY_CONFLICT: the job's state does not allow it. */
ty_status act_forbidden(const struct ty_job_record *record, struct ty_error *err) TY_MUST_CHECK;
void act_done(struct ty_write *write, ty_status status, const struct ty_error *err);
/* Commit it, then tell the engine and whoever waits for the job. */
ty_status act_run(struct ty_engine *engine, struct act *act, struct ty_error *err) TY_MUST_CHECK;

/* Tell the hub and then the engine of a change that someone else has committed; takes the letter,
 * whose facts are filled in. Any thread. */
void act_announce(struct ty_engine *engine, struct commit_letter *letter);
/* The same of a new job, which the hub need not hear of: nobody can have asked for an id that
 * nobody knows. */
void act_post(struct ty_engine *engine, struct commit_letter *letter);
/* TY_PRECONDITION: the caller spoke of another revision (0 = of any). */
ty_status act_check_revision(int64_t if_revision, int64_t revision,
                             struct ty_error *err) TY_MUST_CHECK;
/* A read of a job's facts for a caller's thread. TY_NOT_FOUND. */
ty_status act_read_facts(struct ty_engine *engine, int64_t tenant, const char *job_id,
                         struct job_facts *facts_out, struct ty_error *err) TY_MUST_CHECK;

/* --- prune.c --- */
struct prune;
ty_status prune_open(struct ty_engine *engine, struct ty_error *err) TY_MUST_CHECK;
void prune_close(struct ty_engine *engine); /* breaks off what is under way */
/* A job with keep_last that runs: remove surplus checkpoints when that is due. */
void prune_while_running(struct ty_engine *engine, struct live_job *job);
/* Whether the end that is pending must wait for them to be removed; the job is driven again then.
 */
bool prune_before_end(struct ty_engine *engine, struct live_job *job);
void prune_ended(struct ty_engine *engine, struct prune *prune);
void prune_destroy(struct prune *prune);
struct prune *prune_of(struct letter *letter);

/* --- sweep.c --- */
void sweep_expired(struct ty_engine *engine);

#endif
