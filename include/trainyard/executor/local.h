/* The executor of this machine: each replica a process tree in a bwrap sandbox, each run under a
 * supervisor process that outlives the daemon. server/executor/README.md says where it differs from
 * a cluster. */
#ifndef TRAINYARD_EXECUTOR_LOCAL_H
#define TRAINYARD_EXECUTOR_LOCAL_H

#include "trainyard/base/clock.h"
#include "trainyard/base/log.h"
#include "trainyard/executor/executor.h"

/* Images whose reference matches `pattern` (fnmatch: `*`, `?`, `[…]`; `*` also matches `/`) run in
 * the folder `root`; "/" is this machine's own root. The first match counts; an image without one
 * waits with image_pull_failed. */
struct ty_local_image {
    const char *pattern;
    const char *root;
};

typedef enum {
    TY_LOCAL_AUTO,  /* a sandbox when namespaces are permitted, else plain processes */
    TY_LOCAL_BWRAP, /* always a sandbox */
    TY_LOCAL_PLAIN  /* never one */
} ty_local_sandbox;

/* Texts are copied; clock and log are borrowed for the executor's life. */
struct ty_local_options {
    const char *data_folder;     /* absolute; runs/, volumes/ and logs/ are made below it */
    const char *supervisor_path; /* trainyard-supervisor; trainyard-init stands beside it */
    const struct ty_clock *clock;
    const struct ty_log *log; /* may be NULL */
    const struct ty_local_image *images;
    size_t image_count; /* 0 = every image runs in this machine's own root */
    int32_t gpus;       /* -1 = count /dev/nvidia0, … */
    ty_local_sandbox sandbox;
    int64_t backoff_base_ms; /* first wait before a restart in place; 0 = 10 s */
    int64_t grace_ms;        /* between TERM and KILL unless the objects say; -1 = 30 s */
    int64_t log_bytes;       /* how long the log of one replica may grow; 0 = without end */
};

/* Make the executor; nothing runs or is observed before its `start`.
 *   TY_INVALID      a path is not absolute
 *   TY_UNAVAILABLE  the data folder cannot be used
 *   TY_UNSUPPORTED  TY_LOCAL_BWRAP and no sandbox can be made here
 * On success the caller owns *executor_out (ops->destroy). */
ty_status ty_local_create(const struct ty_local_options *options, struct ty_executor **executor_out,
                          struct ty_error *err) TY_MUST_CHECK;

#endif
