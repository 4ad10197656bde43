/* The daemon's configuration: one table of keys from which come flags, environment names, the
 * file's members, the help text and `config print`. Precedence: flag, environment, file, default.
 */
#ifndef TRAINYARD_APP_CONFIG_H
#define TRAINYARD_APP_CONFIG_H

#include "trainyard/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Texts belong to the configuration; "" stands for "not set". */
struct ty_config {
    char *listen;
    char *data;
    char *config;
    char *executor;
    char *log_level;
    char *log_format;
    char *cors_origins; /* comma-separated */
    char *image_roots;  /* comma-separated pattern=folder */
    char *supervisor;
    int64_t http_threads;
    int64_t worker_threads;
    int64_t max_connections;
    int64_t max_connections_per_address;
    int64_t streams_per_token;
    int64_t streams_per_tenant;
    int64_t drain_seconds;
    int64_t drain_delay_seconds;
    int64_t grace_seconds;
    int64_t start_deadline_seconds;
    int64_t keep_seconds;
    int64_t gpus; /* -1 = find out */
    int64_t restart_backoff_ms;
    int64_t log_limit_bytes;
    bool allow_plain_http;
};

/* Everything that configures one start. `environment` is a NULL-ended list of NAME=value (environ).
 */
struct ty_config_sources {
    int argc; /* the arguments after the subcommand */
    char *const *argv;
    char *const *environment;
};

/* Read flags, environment and file over the defaults.
 *   TY_INVALID    an unknown flag, a key the file may not have, a value out of range; the text
 * names the key and where it was set TY_NOT_FOUND  the file named by --config does not exist On
 * success the caller owns *config_out (ty_config_done). */
ty_status ty_config_load(const struct ty_config_sources *sources, struct ty_config *config_out,
                         struct ty_error *err) TY_MUST_CHECK;
void ty_config_done(struct ty_config *config);

/* Append the effective configuration as YAML, keys in table order. */
void ty_config_print(const struct ty_config *config, struct ty_buf *out);

/* Append one line a key: flag, environment name, default, meaning; as plain text or as a Markdown
 * table. */
void ty_config_help(struct ty_buf *out);
void ty_config_markdown(struct ty_buf *out);

#endif
