/* Memory and CPU limits of one replica, where this process may make control groups: version 2 (one
 * tree) or version 1 (memory and cpu trees). */
#ifndef TRAINYARD_EXECUTOR_CGROUP_H
#define TRAINYARD_EXECUTOR_CGROUP_H

#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { TY_CGROUP_PATH = 512, TY_CGROUP_TREES = 2 };

struct ty_cgroup {
    char memory[TY_CGROUP_PATH]; /* "" = no memory limit in force */
    char cpu[TY_CGROUP_PATH];    /* "" = no CPU limit in force; equal to `memory` in version 2 */
    bool unified;
    int procs_fds[TY_CGROUP_TREES]; /* cgroup.procs to write "0" to before exec; -1 = unused */
};

struct ty_cgroup_limits {
    int64_t memory_bytes; /* 0 = none */
    int64_t cpu_millis;   /* 0 = none */
};

/* Where control groups are mounted and which this process is in; the texts of /proc/self/mountinfo
 * and /proc/self/cgroup, so that tests can bring their own. */
struct ty_cgroup_host {
    const char *mountinfo;
    const char *membership;
};

/* Make the group `name`. Limits that cannot be set stay out of force: *out says which. Never fails;
 * a group without any limit in force has no descriptors and no folder. */
void ty_cgroup_make(const struct ty_cgroup_host *host, const char *name,
                    const struct ty_cgroup_limits *limits, struct ty_cgroup *out);

/* The same with this machine's texts. */
void ty_cgroup_make_here(const char *name, const struct ty_cgroup_limits *limits,
                         struct ty_cgroup *out);

/* How many processes of the group were killed because it ran out of memory. */
int64_t ty_cgroup_oom_kills(const struct ty_cgroup *group);

/* Close and remove; the group must be empty. */
void ty_cgroup_done(struct ty_cgroup *group);

#endif
