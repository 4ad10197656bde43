/* The parts of reading a job spec. Each reads its members of the body, notes faults and fills the
 * draft; ty_job_spec_parse calls them in order. */
#ifndef TRAINYARD_DOMAIN_SPEC_PARTS_H
#define TRAINYARD_DOMAIN_SPEC_PARTS_H

#include "spec_reader.h"
#include "trainyard/domain/spec.h"

enum {
    TY_SPEC_ENV_MAX = 128 * 1024,       /* names and values of one role's environment (K9) */
    TY_SPEC_ARGUMENTS_MAX = 128 * 1024, /* command, flags and args of one role */
    TY_SPEC_MOUNTS_MAX = 80
};

/* What a number holds that was not given. */
#define TY_NOT_GIVEN (-1)

struct ty_mounts {
    struct ty_spec_volume items[TY_SPEC_MOUNTS_MAX];
    size_t count;
};

/* The members of struct ty_spec_shared as written; NULL = not given. */
struct ty_raw_shared {
    const json_t *secrets;
    const json_t *node_selector;
    const json_t *affinity;
    const json_t *tolerations;
};

/* What a role runs instead of the script; all zero: the script. */
struct ty_raw_command {
    ty_program program;
    char **texts;
    size_t count;
};

/* The body as written, on its way to the spec. */
struct ty_spec_draft {
    struct ty_job_spec spec; /* owned until it is handed out */
    const char *image;
    int32_t gpus;
    int32_t launcher; /* TY_NOT_GIVEN or ty_launcher; likewise the next */
    int32_t backend;
    const char *working_dir;
    const json_t *script;
    const json_t *command;
    const json_t *args;
    const json_t *files;
    const json_t *labels;
    const json_t *parameters;
    const json_t *env;
    const json_t *resources;
    const json_t *shared_memory;
    const json_t *master;
    const json_t *worker;
    const json_t *dataset;
    const json_t *volumes;
    const json_t *output;
    const json_t *checkpoints;
    const json_t *elastic;
    const json_t *gang;
    const json_t *tensorboard;
    const json_t *mlflow;
    struct ty_raw_shared shared;
    struct ty_mounts mounts; /* of every role; copied into the roles */
};

/* spec_program.c: script, files, command. */
void ty_spec_read_program(struct ty_spec_reader *reader, struct ty_spec_draft *draft);
void ty_spec_read_texts(struct ty_spec_reader *reader, const json_t *array, char ***texts_out,
                        size_t *count_out);
void ty_spec_read_command(struct ty_spec_reader *reader, const json_t *value,
                          struct ty_raw_command *command_out);
/* Files beside a script of that name (NULL = none is there). */
void ty_spec_read_files(struct ty_spec_reader *reader, const json_t *array, const char *script_name,
                        struct ty_spec_files *files_out);
void ty_spec_check_sizes(struct ty_spec_reader *reader, const struct ty_spec_draft *draft);

/* spec_pairs.c: labels, env, parameters; always sorted by name. */
void ty_spec_read_labels(struct ty_spec_reader *reader, const json_t *object,
                         struct ty_pairs *pairs_out);
void ty_spec_read_env(struct ty_spec_reader *reader, const json_t *object,
                      struct ty_pairs *pairs_out);
void ty_spec_read_parameters(struct ty_spec_reader *reader, const json_t *object,
                             struct ty_pairs *pairs_out);
/* Labels of nodes and pods: keys may have a prefix. */
void ty_spec_read_qualified(struct ty_spec_reader *reader, const json_t *object,
                            struct ty_pairs *pairs_out);
bool ty_spec_qualified_name_valid(const char *name);
bool ty_spec_label_value_valid(const char *text);
/* Options of a rendezvous. */
void ty_spec_read_options(struct ty_spec_reader *reader, const json_t *object,
                          struct ty_pairs *pairs_out);
/* A variable's name, without and with the rule that some are the launcher's. */
bool ty_spec_variable_valid(const char *name);
void ty_spec_check_variable(struct ty_spec_reader *reader, const char *name);
/* Both sets; where a name is in both, the value of `over`. */
void ty_spec_merge_pairs(struct ty_spec_reader *reader, const struct ty_pairs *base,
                         const struct ty_pairs *over, struct ty_pairs *pairs_out);

/* spec_resources.c */
void ty_spec_read_resources(struct ty_spec_reader *reader, const json_t *object,
                            struct ty_resources *resources_out);
/* The size of /dev/shm: as given, or by the memory limit. */
void ty_spec_read_shared_memory(struct ty_spec_reader *reader, const json_t *value,
                                struct ty_resources *resources);
/* A quantity of at least 1 MiB as text, or NULL and a fault. The text is owned by the caller. */
char *ty_spec_read_size(struct ty_spec_reader *reader, const json_t *value, int64_t *bytes_out);

/* spec_secrets.c; the check: clashes with the role's variables and mounts, at its secrets. */
void ty_spec_read_secrets(struct ty_spec_reader *reader, const json_t *array,
                          struct ty_spec_secrets *secrets_out);
void ty_spec_check_secrets(struct ty_spec_reader *reader, const struct ty_spec_role *role);

/* spec_placement.c, spec_affinity.c */
void ty_spec_read_shared(struct ty_spec_reader *reader, const struct ty_raw_shared *raw,
                         struct ty_spec_shared *shared_out);
void ty_spec_read_tolerations(struct ty_spec_reader *reader, const json_t *array,
                              struct ty_tolerations *tolerations_out);
void ty_spec_read_affinity(struct ty_spec_reader *reader, const json_t *object,
                           struct ty_affinity *affinity_out);

/* spec_elastic.c: elastic decides how many replicas there are, so it is read early. */
void ty_spec_read_elastic(struct ty_spec_reader *reader, struct ty_spec_draft *draft);
void ty_spec_check_elastic(struct ty_spec_reader *reader, const struct ty_spec_draft *draft);
void ty_spec_read_gang(struct ty_spec_reader *reader, struct ty_spec_draft *draft);
/* The most replicas that the job can have. */
int32_t ty_spec_replicas_max(const struct ty_job_spec *spec);

/* spec_tracking.c: tensorboard and mlflow; the check: clashes with a role's variables. */
void ty_spec_read_tracking(struct ty_spec_reader *reader, struct ty_spec_draft *draft);
void ty_spec_check_tracking(struct ty_spec_reader *reader, const struct ty_job_spec *spec,
                            const struct ty_spec_role *role);

/* spec_mounts.c: dataset, output; spec_volumes.c: volumes; spec_checkpoints.c: checkpoints. */
void ty_spec_read_mounts(struct ty_spec_reader *reader, struct ty_spec_draft *draft);
void ty_spec_read_volumes(struct ty_spec_reader *reader, const json_t *array,
                          const char *suffix_prefix, struct ty_mounts *mounts);
void ty_spec_read_checkpoints(struct ty_spec_reader *reader, const json_t *object,
                              struct ty_spec_draft *draft);
struct ty_claim_mount {
    const char *claim;
    const char *mount_path; /* NULL = the default */
    const char *sub_path;
    bool read_only;
};
/* A claim name, or an object with claim, mount_path, sub_path and (where allowed) read_only. */
bool ty_spec_read_claim(struct ty_spec_reader *reader, const json_t *value, bool read_only_allowed,
                        struct ty_claim_mount *mount_out);
void ty_spec_check_claim(struct ty_spec_reader *reader, const char *token, const char *claim);
void ty_spec_check_paths(struct ty_spec_reader *reader, const char *mount_path,
                         const char *sub_path);
/* Add a mount; a path that is taken is a fault. Returns its index. `volume` is taken over. */
size_t ty_spec_add_mount(struct ty_spec_reader *reader, struct ty_mounts *mounts,
                         struct ty_spec_volume volume);
/* The mount at exactly `path`, or mounts->count. */
size_t ty_spec_find_mount(const struct ty_mounts *mounts, const char *path);

/* spec_roles.c: what Master and Worker are after defaults and overrides. */
void ty_spec_read_roles(struct ty_spec_reader *reader, struct ty_spec_draft *draft);

/* spec_check.c: rules between members. */
void ty_spec_check(struct ty_spec_reader *reader, struct ty_spec_draft *draft);

/* spec_paths.c: NULL when the path is fine, else what is wrong with it. */
const char *ty_spec_absolute_path_fault(const char *path);
const char *ty_spec_secret_path_fault(const char *path);
const char *ty_spec_relative_path_fault(const char *path);
const char *ty_spec_file_path_fault(const char *path);
/* What remains of `path` below `folder` ("" = itself); NULL when it lies elsewhere. */
const char *ty_spec_path_below(const char *path, const char *folder);

/* spec_free.c: parts that are made and moved separately. */
void ty_pairs_done(struct ty_pairs *pairs);
void ty_texts_done(char **texts, size_t count);
void ty_resources_done(struct ty_resources *resources);
void ty_spec_files_done(struct ty_spec_files *files);
void ty_spec_volume_done(struct ty_spec_volume *volume);
void ty_job_spec_done(struct ty_job_spec *spec);

#endif
