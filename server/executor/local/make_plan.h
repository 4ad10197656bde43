/* From the rendered objects to plan.json and the files beside it. Reads nothing but its arguments.
 */
#ifndef TRAINYARD_EXECUTOR_MAKE_PLAN_H
#define TRAINYARD_EXECUTOR_MAKE_PLAN_H

#include "executor/local/objects.h"

#include "trainyard/executor/executor.h"

/* How this machine is set up; borrowed. */
struct ty_plan_setting {
    const char *data_folder;
    const char *bwrap; /* NULL = plain processes */
    const char *boot_id;
    bool torchrun_needs_tee; /* on this machine's own root */
    int64_t backoff_base_ms;
    int64_t grace_ms;
    int64_t log_bytes; /* how long the log of one replica may grow; 0 = without end */
    /* The root folder of an image, NULL when there is none. */
    const char *(*find_root)(const void *context, const char *image);
    const void *root_context;
};

struct ty_made_plan {
    json_t *plan;    /* what the supervisor reads, with "claims", "image", "gpus" for the daemon */
    json_t *files;   /* path below the run folder -> {"text"|"base64", "mode"} */
    json_t *folders; /* paths below the run folder, as keys */
};

/* TY_REFUSED: the objects can never run here, err says why. On success ty_made_plan_done frees. */
ty_status ty_plan_make(const struct ty_run *run, const struct ty_plan_setting *setting,
                       struct ty_made_plan *out, struct ty_error *err) TY_MUST_CHECK;
void ty_made_plan_done(struct ty_made_plan *made);

#endif
