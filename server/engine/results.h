/* What a run leaves behind, told as events: `checkpoint.created` for each checkpoint that is found,
 * `artifact.ready` when a run has ended and its output holds files. Looked for beside the removal
 * of surplus checkpoints (prune.c): once a minute while the job runs, and before its end is told.
 * So the cost is one walk over the folders a minute and a job, none of it on the engine's thread,
 * and a write only when something new is there. */
#ifndef ENGINE_RESULTS_H
#define ENGINE_RESULTS_H

#include "state.h"

struct results_look {
    struct ty_engine *engine;
    const char *job_id;
    const char *namespace;
    struct ty_spec_folder checkpoints;
    struct ty_spec_folder output;
    int64_t since_us;  /* what is older was not made by this job */
    int64_t before_us; /* what is younger may be unfinished; INT64_MAX: everything is finished */
    bool ended;        /* the run is over: tell of its artefacts too */
    uint64_t seen;     /* a mark of what the look before has found, 0 = none; written back */
};

/* On the thread that prunes. TY_UNAVAILABLE, TY_STORAGE_FULL, TY_NO_MEMORY: not told, to be tried
 * again; what is wrong with the folders is logged alone. */
ty_status results_tell(struct results_look *look, struct ty_error *err) TY_MUST_CHECK;

/* Tell the owner of something that ends nothing. */
ty_status results_warn(struct ty_engine *engine, const char *job_id, const char *code,
                       const char *message, struct ty_error *err) TY_MUST_CHECK;

#endif
