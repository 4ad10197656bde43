/* What the user asked for: the job spec of DESIGN 5 as a typed value, read from checked JSON. Pure.
 */
#ifndef TRAINYARD_DOMAIN_SPEC_H
#define TRAINYARD_DOMAIN_SPEC_H

#include "trainyard/base/faults.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum { TY_LAUNCHER_PYTHON, TY_LAUNCHER_TORCHRUN } ty_launcher;
typedef enum { TY_BACKEND_NCCL, TY_BACKEND_GLOO, TY_BACKEND_MPI } ty_backend;
typedef enum {
    TY_RESTART_ON_FAILURE,
    TY_RESTART_NEVER,
    TY_RESTART_ALWAYS,
    TY_RESTART_EXIT_CODE
} ty_restart;
typedef enum { TY_CLEAN_RUNNING, TY_CLEAN_NONE, TY_CLEAN_ALL } ty_clean_pods;
typedef enum { TY_PARAMETERS_BOTH, TY_PARAMETERS_FLAGS, TY_PARAMETERS_ENV } ty_parameter_style;
typedef enum {
    TY_READ_WRITE_ONCE,
    TY_READ_WRITE_MANY,
    TY_READ_ONLY_MANY,
    TY_READ_WRITE_ONCE_POD
} ty_access_mode;

/* Where the script and `files` lie inside the containers, read-only: the script can import the
 * files beside it. */
#define TY_SCRIPTS_MOUNT "/trainyard/scripts"

enum {
    TY_CONFIG_MAP_MAX = 1024 * 1024, /* keys and values of script, files and parameters together */
    TY_CLAIM_NAME = 254,
    TY_MOUNT_PATH = 256
};

struct ty_pair {
    char *name;
    char *value;
};

struct ty_pairs {
    struct ty_pair *items;
    size_t count;
};

/* A file put into every replica through a ConfigMap; `bytes` may hold anything, NUL included. */
struct ty_spec_file {
    char *name; /* relative path below the scripts folder, as the user wrote it */
    char *key;  /* its key in the ConfigMap: the name where that is a legal key, else "file.<n>" */
    char *bytes;
    size_t len;
};

struct ty_spec_files {
    struct ty_spec_file *items;
    size_t count;
};

typedef enum {
    TY_VOLUME_CLAIM,
    TY_VOLUME_SCRATCH, /* empty, each replica's own */
    TY_VOLUME_FILES    /* a ConfigMap of the job's own, "<object name>-<suffix>" */
} ty_volume_kind;

struct ty_spec_volume {
    ty_volume_kind kind;
    char *claim;  /* NULL: the job's own claim, "<object name>-<suffix>"; see ty_spec_volume_claim.
                   * With `create` too: made where it is missing, never removed with the job */
    char *suffix; /* NULL for a claim with a name: "output", "volume-0", "master-volume-0"… */
    char *mount_path;
    char *sub_path; /* NULL = the root of the claim */
    bool read_only;
    bool create; /* make the claim with the job */
    ty_access_mode access_mode;
    char
        *size; /* quantity; of a claim to create, or the most a scratch volume holds (NULL = any) */
    char *storage_class;
    bool memory;  /* scratch: kept in memory */
    bool of_role; /* of master.volumes or worker.volumes */
    size_t place; /* in volumes[], counted from 1; 0 = dataset, output or checkpoints */
    struct ty_spec_files files;
};

/* One key of a Secret: exactly one of `env` and `path` is set. */
struct ty_spec_secret {
    char *name;
    char *key;
    char *env;  /* the variable */
    char *path; /* the absolute path of the file */
};

struct ty_spec_secrets {
    struct ty_spec_secret *items;
    size_t count;
};

/* --- placement, in the terms of Kubernetes --- */

typedef enum {
    TY_MATCH_IN,
    TY_MATCH_NOT_IN,
    TY_MATCH_EXISTS,
    TY_MATCH_DOES_NOT_EXIST,
    TY_MATCH_GT,
    TY_MATCH_LT
} ty_match_operator;

struct ty_match {
    char *key;
    ty_match_operator op;
    char **values;
    size_t values_count;
};

struct ty_matches {
    struct ty_match *items;
    size_t count;
};

struct ty_node_term {
    int32_t weight; /* 1..100 of a preferred term, 0 of a required one */
    struct ty_matches match;
    struct ty_matches match_fields;
};

struct ty_node_terms {
    struct ty_node_term *items;
    size_t count;
};

struct ty_pod_term {
    int32_t weight;         /* as above */
    struct ty_pairs labels; /* with no `match` either: every pod */
    struct ty_matches match;
    char *topology_key;
    char **namespaces; /* none = the job's own */
    size_t namespaces_count;
};

struct ty_pod_terms {
    struct ty_pod_term *items;
    size_t count;
};

struct ty_affinity {
    struct ty_node_terms node_required; /* one of them is enough */
    struct ty_node_terms node_preferred;
    struct ty_pod_terms pods_required; /* all of them */
    struct ty_pod_terms pods_preferred;
    struct ty_pod_terms apart_required;
    struct ty_pod_terms apart_preferred;
};

typedef enum { TY_TOLERATE_EQUAL, TY_TOLERATE_EXISTS } ty_tolerate_operator;
typedef enum {
    TY_TAINT_ANY,
    TY_TAINT_NO_SCHEDULE,
    TY_TAINT_PREFER_NO_SCHEDULE,
    TY_TAINT_NO_EXECUTE
} ty_taint_effect;

struct ty_toleration {
    char *key; /* NULL = every key */
    ty_tolerate_operator op;
    char *value; /* NULL = the empty value */
    ty_taint_effect effect;
    int64_t seconds; /* -1 = for ever */
};

struct ty_tolerations {
    struct ty_toleration *items;
    size_t count;
};

/* What a role replaces as a whole or takes from the job. */
struct ty_spec_shared {
    struct ty_spec_secrets secrets;
    struct ty_pairs node_selector;
    struct ty_affinity affinity;
    struct ty_tolerations tolerations;
};

enum { TY_SHARED_OF_JOB, TY_SHARED_OF_MASTER, TY_SHARED_OF_WORKER, TY_SHARED_COUNT };

/* Quantities as the user wrote them (a cluster gets them unchanged) and as numbers for judging. */
struct ty_resources {
    char *cpu;    /* NULL = unset */
    char *memory; /* NULL = unset */
    char *cpu_limit;
    char *memory_limit;
    int64_t cpu_millis;   /* of the limit, else the request; 0 = unset */
    int64_t memory_bytes; /* of the limit, else the request; 0 = unset */
    char *shared_memory;  /* size of /dev/shm, never NULL after parsing */
    int64_t shared_memory_bytes;
    char *storage; /* ephemeral; NULL = unset */
    char *storage_limit;
    int32_t gpus;
};

typedef enum {
    TY_PROGRAM_SCRIPT,    /* the job's script under its launcher */
    TY_PROGRAM_COMMAND,   /* `command` */
    TY_PROGRAM_ENTRYPOINT /* the image's own: `command` was given and empty */
} ty_program;

/* Where a program starts that is not the image's own. */
#define TY_WORKING_DIR "/workspace"

/* One role after defaults and overrides were applied. */
struct ty_spec_role {
    int32_t
        replicas; /* Master: 1; Worker: replicas - 1 (0 = role absent). Elastic: 0 and replicas */
    char *image;
    ty_program program;
    char **command; /* of TY_PROGRAM_COMMAND */
    size_t command_count;
    char *working_dir;   /* NULL = TY_WORKING_DIR, or the image's own with its entrypoint */
    struct ty_pairs env; /* merged: job-wide, then the role's */
    char **args;         /* role's args replace the job's */
    size_t args_count;
    struct ty_resources resources;
    bool resources_own; /* the role says them, not the job; so the next */
    bool shared_memory_own;
    struct ty_spec_volume *volumes; /* all mounts: output, checkpoints and dataset included, at the
                                     * same indexes in both roles */
    size_t volumes_count;
    /* Never NULL after parsing; they point into the spec's `shared`. */
    const struct ty_spec_secrets *secrets;
    const struct ty_pairs *node_selector;
    const struct ty_affinity *affinity;
    const struct ty_tolerations *tolerations;
};

typedef enum {
    TY_RENDEZVOUS_C10D,
    TY_RENDEZVOUS_ETCD,
    TY_RENDEZVOUS_ETCD_V2
} ty_rendezvous_backend;

/* A job of workers alone that may be scaled; `on` says whether the job is one. */
struct ty_elastic {
    bool on;
    int32_t min;
    int32_t max;
    int32_t max_restarts; /* -1 = torchrun's default */
    ty_rendezvous_backend backend;
    char *host;   /* NULL = the first worker */
    int32_t port; /* 0 = the workers' own */
    char *id;     /* NULL = made for each attempt */
    struct ty_pairs conf;
};

struct ty_gang {
    bool on;
    int32_t min_available;   /* always set when on */
    int64_t timeout_seconds; /* 0 = none */
};

struct ty_mlflow {
    bool on;
    char *tracking_uri; /* NULL = not given; likewise the next */
    char *experiment;
    char *run_name; /* never NULL when on */
};

struct ty_job_spec {
    char *name;
    char *description; /* NULL = none */
    struct ty_pairs labels;
    char *script_name; /* and ConfigMap key; "train.py" unless given; NULL with `command` */
    char *script;      /* NULL with `command`; a role may still run a command of its own */
    size_t script_len;
    struct ty_spec_files files;
    ty_launcher launcher;
    int32_t processes_per_replica;
    ty_backend backend;
    int32_t epochs;             /* 0 = not given */
    struct ty_pairs parameters; /* sorted by name, as labels and env are */
    ty_parameter_style parameter_style;
    int32_t replicas; /* total */
    struct ty_spec_role master;
    struct ty_spec_role worker;
    /* To read results use ty_job_spec_output and ty_job_spec_checkpoints, which resolve these. */
    char *output_claim;       /* NULL = the gateway's own per-job claim */
    char *output_path;        /* mount path, "/output" by default */
    char *checkpoint_claim;   /* NULL = checkpoints live below the output mount */
    char *checkpoint_mount;   /* where the mount that holds them lies */
    char *checkpoint_path;    /* below that mount, "" = its root */
    size_t output_volume;     /* index in master.volumes */
    size_t checkpoint_volume; /* index in master.volumes of the mount that holds the checkpoints */
    bool checkpoint_resume;
    int32_t checkpoint_keep_last; /* 0 = keep all */
    ty_restart restart;
    int32_t max_retries;
    int64_t timeout_seconds; /* 0 = none */
    int64_t keep_seconds;    /* -1 = the server's default retention */
    ty_clean_pods clean_pods;
    bool suspended;
    int32_t priority;     /* -1000..1000, default 0, higher first */
    char *priority_class; /* NULL = none; likewise the next */
    char *queue;
    char *scheduler;
    struct ty_gang gang;
    struct ty_elastic elastic;
    char *tensorboard_path; /* below the output; NULL = not asked for */
    struct ty_mlflow mlflow;
    struct ty_spec_shared *shared; /* TY_SHARED_COUNT of them, for the roles */
};

/* Read a body that has passed the contract's schema. Every rule the schema cannot state is judged
 * here and noted in `faults` by RFC 6901 pointer: child names that would be too long
 * (name_too_long), quantities, image references, reserved environment names, clashing mount paths,
 * file names, sizes in bytes. TY_REFUSED    faults say why; *spec_out untouched TY_NO_MEMORY On
 * success *spec_out is owned by the caller. */
ty_status ty_job_spec_parse(const json_t *body, struct ty_job_spec **spec_out,
                            struct ty_faults *faults, struct ty_error *err) TY_MUST_CHECK;
void ty_job_spec_destroy(struct ty_job_spec *spec); /* takes NULL */

/* The role of the replica that leads: the master, or in an elastic job the workers. */
static inline const struct ty_spec_role *ty_job_spec_lead(const struct ty_job_spec *spec)
{
    return spec->elastic.on ? &spec->worker : &spec->master;
}

/* Another number of workers of an elastic job, min to max. */
void ty_job_spec_scale(struct ty_job_spec *spec, int32_t replicas);

/* The claim of a mount of a claim: its name, or "<object name>-<suffix>" of the job's own claims.
 */
void ty_spec_volume_claim(const struct ty_spec_volume *volume, const char *object_name,
                          char out[TY_CLAIM_NAME]);

/* A folder of results: `path` below the root of `claim` ("" = the root) is seen by the containers
 * as `mount`. */
struct ty_spec_folder {
    char claim[TY_CLAIM_NAME];
    char path[2 * TY_MOUNT_PATH];
    char mount[2 * TY_MOUNT_PATH];
};
/* Artefacts: TRAINYARD_OUTPUT_DIR. */
void ty_job_spec_output(const struct ty_job_spec *spec, const char *object_name,
                        struct ty_spec_folder *folder_out);
/* Checkpoints: TRAINYARD_CHECKPOINT_DIR. Without `checkpoints` the folder "checkpoints" of the
 * output volume, which is mounted at /checkpoints as well. */
void ty_job_spec_checkpoints(const struct ty_job_spec *spec, const char *object_name,
                             struct ty_spec_folder *folder_out);

/* What usually goes wrong, for `warnings[]` of the answer. */
struct ty_warning {
    char code[48];
    char pointer[96];
    char message[256];
};
size_t ty_job_spec_warnings(const struct ty_job_spec *spec, struct ty_warning *out, size_t max);

/* On an executor that is one machine, not a cluster: what of a body cannot run there (an image's
 * own entry point), noted by pointer; and what of a spec has no effect there. */
void ty_job_spec_check_machine(const json_t *body, struct ty_faults *faults);
size_t ty_job_spec_machine_warnings(const struct ty_job_spec *spec, struct ty_warning *out,
                                    size_t max);

/* GPUs and replicas a run takes, for quotas and capacity. */
int32_t ty_job_spec_gpus(const struct ty_job_spec *spec);

/* The environment variable of a parameter: upper case, everything but letters and digits as '_'. */
enum { TY_PARAMETER_VARIABLE = 64 };
void ty_parameter_variable(const char *name, char out[TY_PARAMETER_VARIABLE]);

/* "512Mi", "1.5", "1e3", "500m" (Kubernetes quantities): value in thousandths. TY_INVALID for
 * anything else or out of the range of int64; *millis_out untouched. */
ty_status ty_quantity_parse(const char *text, int64_t *millis_out) TY_MUST_CHECK;

/* The same in whole units, rounded up: bytes beyond what thousandths can hold. */
ty_status ty_quantity_parse_whole(const char *text, int64_t *whole_out) TY_MUST_CHECK;

/* Whether `text` is an image reference by the grammar of the OCI distribution reference (at most
 * 255 bytes of name). */
bool ty_image_reference_valid(const char *text);

#endif
