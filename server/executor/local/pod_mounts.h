/* What a replica's volumes become on this machine: claims, scratch folders and keys of Secrets
 * bound, ConfigMaps as read-only files, memory as a tmpfs. */
#ifndef TRAINYARD_EXECUTOR_POD_MOUNTS_H
#define TRAINYARD_EXECUTOR_POD_MOUNTS_H

#include "executor/local/pod_env.h"

/* Where things are; borrowed. Collected values are JSON arrays and objects the caller owns. */
struct ty_mount_plan {
    const char *volumes_folder; /* <data>/volumes */
    const char *run_folder;     /* <data>/runs/<object> */
    json_t *mounts;             /* array: the plan's mounts of this replica, by target */
    json_t *claims;             /* object: the names of all claims needed, as keys */
    json_t *files;              /* object: path below the run folder -> {"text"|"base64", "mode"} */
    json_t *folders;            /* object: paths below the run folder to make, as keys */
};

/* TY_REFUSED for a kind of volume this machine cannot give. */
ty_status ty_pod_mounts(const struct ty_pod *pod, struct ty_mount_plan *plan,
                        struct ty_error *err) TY_MUST_CHECK;

#endif
