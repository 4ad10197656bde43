/* What the daemon asks of a supervisor: plan.json of the run folder as typed values. The daemon
 * writes it (local/plan.h), the supervisor reads it once. */
#ifndef TRAINYARD_EXECUTOR_PLAN_H
#define TRAINYARD_EXECUTOR_PLAN_H

#include "executor/supervisor/operator.h"

#include "trainyard/base/json.h"

enum { TY_PLAN_VERSION = 1, TY_PLAN_BYTES = 64 * 1024 * 1024, TY_PLAN_REPLICAS = 250 };

typedef enum { TY_MOUNT_BIND, TY_MOUNT_DEVICE, TY_MOUNT_TMPFS } ty_mount_kind;

struct ty_plan_mount {
    ty_mount_kind kind;
    const char *source;   /* host path; NULL for tmpfs */
    const char *sub_path; /* of the source, NULL = all of it; links are not followed */
    const char *make;     /* a folder below that to make first, NULL = none; the same holds */
    const char *target;   /* absolute path inside */
    bool read_only;
    int64_t size_bytes; /* tmpfs; 0 = unlimited */
};

struct ty_plan_env {
    const char *name;
    const char *value;
};

struct ty_plan_replica {
    const char *name; /* "worker-1" */
    ty_op_role role;
    int32_t index;
    const char *root; /* folder that becomes "/" inside; "/" = this machine's */
    const char *working_dir;
    const char **argv; /* NULL-ended */
    size_t argc;
    struct ty_plan_env *env;
    size_t env_count;
    struct ty_plan_mount *mounts;
    size_t mount_count;
    int64_t memory_bytes; /* 0 = no limit */
    int64_t log_bytes;    /* the same */
    int64_t cpu_millis;   /* 0 = no limit */
};

struct ty_plan {
    json_t *document; /* owns every text below */
    const char *job_id;
    const char *object;
    const char *namespace;
    const char *logs_folder;
    const char *bwrap; /* NULL = plain processes */
    int32_t attempt;
    uint16_t port; /* wanted for the rendezvous */
    struct ty_op_rules rules;
    struct ty_plan_replica *replicas; /* Master first, then Workers by index */
    size_t replica_count; /* all that there can be; rules.size says how many there are */
};

/* Read `name` in the folder. TY_NOT_FOUND, TY_CORRUPT (not a plan of this version), TY_NO_MEMORY.
 * On success the caller owns *plan_out. */
ty_status ty_plan_read(int folder_fd, const char *name, struct ty_plan **plan_out,
                       struct ty_error *err) TY_MUST_CHECK;

/* Take the document (a new reference is made) as a plan. */
ty_status ty_plan_parse(json_t *document, struct ty_plan **plan_out,
                        struct ty_error *err) TY_MUST_CHECK;
/* What only the supervisor knows stands in texts of the plan as tokens: the byte 0x01,
 * `<object>:port` or
 * `<object>:ip:<replica>`, the byte 0x01. Replace one everywhere in environments and arguments. */
ty_status ty_plan_fill(struct ty_plan *plan, const char *token, const char *text,
                       struct ty_error *err) TY_MUST_CHECK;

void ty_plan_destroy(struct ty_plan *plan); /* takes NULL */

#endif
