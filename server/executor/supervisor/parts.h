/* Parts of volumes (sub_path) as descriptors: what a job may have made of the path meanwhile, a
 * link that leads out say, does not matter to bwrap, which binds the descriptor. */
#ifndef TRAINYARD_EXECUTOR_PARTS_H
#define TRAINYARD_EXECUTOR_PARTS_H

#include "executor/supervisor/plan.h"

enum { TY_PARTS_MAX = 64 };

struct ty_parts {
    struct ty_plan_mount *mounts; /* the replica's, with the descriptors as sources; owned */
    int fds[TY_PARTS_MAX];
    char sources[TY_PARTS_MAX][32];
    size_t count;
};

/* Open the parts of a replica's mounts; missing folders are made unless the mount is read-only,
 * links are never followed. TY_NOT_FOUND code mount_failed · TY_REFUSED (too many) · TY_NO_MEMORY
 * On success release with ty_parts_done; *out must not move meanwhile. */
ty_status ty_parts_open(const struct ty_plan_replica *replica, struct ty_parts *out,
                        struct ty_error *err) TY_MUST_CHECK;
void ty_parts_done(struct ty_parts *parts);

#endif
