#include "app/config.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/base/yaml.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>

enum { CONFIG_FILE_MAX = 256 * 1024 };

typedef enum { KEY_TEXT, KEY_INTEGER, KEY_BOOLEAN } key_type;

struct config_key {
    const char
        *name; /* snake_case; the flag has '-' for '_', the environment TRAINYARD_ and capitals */
    key_type type;
    size_t offset;
    const char *fallback;
    int64_t min;
    int64_t max;
    const char *help;
};

#define AT(member) offsetof(struct ty_config, member)

static const struct config_key keys[] = {
    {"listen",                      KEY_TEXT,    AT(listen),                      "127.0.0.1:8080", 0,  0,
     "addresses to serve, HOST:PORT, comma-separated; port 0 takes any free one"                                                                                },
    {"data",                        KEY_TEXT,    AT(data),                        "",               0,  0,
     "data folder; default /var/lib/trainyard as root, else the XDG state folder"                                                                               },
    {"config",                      KEY_TEXT,    AT(config),                      "",               0,  0,                       "YAML file with these keys"    },
    {"executor",                    KEY_TEXT,    AT(executor),                    "local",          0,  0,                       "where jobs run: local"        },
    {"log_level",                   KEY_TEXT,    AT(log_level),                   "info",           0,  0,                       "debug, info, warning or error"},
    {"log_format",                  KEY_TEXT,    AT(log_format),                  "json",           0,  0,                       "json or text"                 },
    {"cors_origins",                KEY_TEXT,    AT(cors_origins),                "",               0,  0,
     "origins that browsers may call from, comma-separated; empty: none"                                                                                        },
    {"allow_plain_http",            KEY_BOOLEAN, AT(allow_plain_http),            "false",          0,  0,
     "serve plain HTTP beyond loopback, behind a proxy that speaks TLS"                                                                                         },
    {"http_threads",                KEY_INTEGER, AT(http_threads),                "0",              0,  256,
     "HTTP threads; 0: one a core, at least 2"                                                                                                                  },
    {"worker_threads",              KEY_INTEGER, AT(worker_threads),              "8",              2,  256,
     "threads for requests that read files or the database"                                                                                                     },
    {"max_connections",             KEY_INTEGER, AT(max_connections),             "4096",           16, 100000,
     "open connections in all"                                                                                                                                  },
    {"max_connections_per_address", KEY_INTEGER, AT(max_connections_per_address), "1024",           1,  100000,
     "open connections of one address"                                                                                                                          },
    {"streams_per_token",           KEY_INTEGER, AT(streams_per_token),           "20",             1,  100000,
     "event streams and followed logs that one token may hold open"                                                                                             },
    {"streams_per_tenant",          KEY_INTEGER, AT(streams_per_tenant),          "100",            1,  100000,
     "event streams and followed logs that one tenant may hold open"                                                                                            },
    {"drain_seconds",               KEY_INTEGER, AT(drain_seconds),               "30",             0,  3600,
     "time for open requests to end at SIGTERM"                                                                                                                 },
    {"drain_delay_seconds",         KEY_INTEGER, AT(drain_delay_seconds),         "-1",             -1, 3600,
     "time between failing /readyz and closing the door at SIGTERM; -1: 5 beyond loopback, else 0"                                                              },
    {"grace_seconds",               KEY_INTEGER, AT(grace_seconds),               "30",             0,  3600,
     "time between TERM and KILL when a job is stopped"                                                                                                         },
    {"start_deadline_seconds",      KEY_INTEGER, AT(start_deadline_seconds),      "3600",           0,  31536000,
     "how long a fault (image, mount, sandbox) may keep a job from starting before it fails; a "
     "volume, GPUs or room are waited for without end; 0: without end, too"                                                                                     },
    {"keep_seconds",                KEY_INTEGER, AT(keep_seconds),                "2592000",        0,  INT64_C(31536000) * 100,
     "how long finished jobs, their logs and runs are kept unless a job or its tenant says "
     "otherwise; 0: for ever"                                                                                                                                   },
    {"gpus",                        KEY_INTEGER, AT(gpus),                        "-1",             -1, 1024,
     "GPUs the local executor may give out; -1: those it finds"                                                                                                 },
    {"restart_backoff_ms",          KEY_INTEGER, AT(restart_backoff_ms),          "10000",          1,  300000,
     "first pause before a failed replica starts again; doubles up to 300 s"                                                                                    },
    {"log_limit_bytes",             KEY_INTEGER, AT(log_limit_bytes),             "10737418240",    0,  INT64_MAX,
     "how long the log of one replica may grow; what would pass it is lost and the gap is noted; "
     "0: without end"                                                                                                                                           },
    {"image_roots",                 KEY_TEXT,    AT(image_roots),                 "",               0,  0,
     "local executor: PATTERN=FOLDER pairs, comma-separated: an image runs in the folder of the "
     "first pattern that fits, and waits when none does (end with *=/ for the rest); without pairs "
     "all run on this machine's own system"                                                                                                                     },
    {"supervisor",                  KEY_TEXT,    AT(supervisor),                  "",               0,  0,
     "the trainyard-supervisor program; default: beside trainyardd"                                                                                             },
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

static ty_status set_text(struct ty_config *config, const struct config_key *key, const char *value,
                          struct ty_error *err)
{
    char **slot = (char **)((char *)config + key->offset);
    char *copy = strdup(value);
    if (!copy)
        return ty_fail(err, TY_NO_MEMORY, "configuration");
    free(*slot);
    *slot = copy;
    return TY_OK;
}

static ty_status set_boolean(struct ty_config *config, const struct config_key *key,
                             const char *value, const char *origin, struct ty_error *err)
{
    bool *slot = (bool *)((char *)config + key->offset);
    if (ty_str_equal(value, "true") || ty_str_equal(value, "1"))
        *slot = true;
    else if (ty_str_equal(value, "false") || ty_str_equal(value, "0"))
        *slot = false;
    else
        return ty_fail(err, TY_INVALID, "%s (%s) must be true or false", key->name, origin);
    return TY_OK;
}

static ty_status set_key(struct ty_config *config, const struct config_key *key, const char *value,
                         const char *origin, struct ty_error *err)
{
    if (key->type == KEY_TEXT)
        return set_text(config, key, value, err);
    if (key->type == KEY_BOOLEAN)
        return set_boolean(config, key, value, origin, err);
    int64_t *slot = (int64_t *)((char *)config + key->offset);
    if (ty_str_to_int(value, key->min, key->max, slot) != TY_OK)
        return ty_fail(err, TY_INVALID,
                       "%s (%s) must be a whole number from %" PRId64 " to %" PRId64, key->name,
                       origin, key->min, key->max);
    return TY_OK;
}

/* "max_connections" as "--max-connections" or "TRAINYARD_MAX_CONNECTIONS". */
static void flag_name(const struct config_key *key, char out[64])
{
    snprintf(out, 64, "--%s", key->name);
    for (char *c = out; *c; c++)
        if (*c == '_')
            *c = '-';
}

static void environment_name(const struct config_key *key, char out[64])
{
    snprintf(out, 64, "TRAINYARD_%s", key->name);
    for (char *c = out; *c; c++)
        *c = (char)toupper((unsigned char)*c);
}

static ty_status apply_defaults(struct ty_config *config, struct ty_error *err)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (set_key(config, &keys[i], keys[i].fallback, "default", err) != TY_OK)
            return err->status;
    return TY_OK;
}

static ty_status apply_environment(struct ty_config *config, char *const *environment,
                                   struct ty_error *err)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        char name[64];
        environment_name(&keys[i], name);
        size_t len = strlen(name);
        for (char *const *entry = environment; entry && *entry; entry++)
            if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=' &&
                set_key(config, &keys[i], *entry + len + 1, name, err) != TY_OK)
                return err->status;
    }
    return TY_OK;
}

/* One argument is either "--name=value", "--name value", or for booleans "--name" alone. */
static ty_status apply_flag(struct ty_config *config, const struct ty_config_sources *sources,
                            int *index, struct ty_error *err)
{
    const char *argument = sources->argv[*index];
    for (size_t i = 0; i < KEY_COUNT; i++) {
        char name[64];
        flag_name(&keys[i], name);
        size_t len = strlen(name);
        if (strncmp(argument, name, len) != 0)
            continue;
        if (argument[len] == '=')
            return set_key(config, &keys[i], argument + len + 1, name, err);
        if (argument[len] != '\0')
            continue;
        if (keys[i].type == KEY_BOOLEAN)
            return set_key(config, &keys[i], "true", name, err);
        if (*index + 1 >= sources->argc)
            return ty_fail(err, TY_INVALID, "%s needs a value", name);
        *index += 1;
        return set_key(config, &keys[i], sources->argv[*index], name, err);
    }
    return ty_fail(err, TY_INVALID, "unknown argument %s (see trainyardd --help)", argument);
}

static ty_status apply_flags(struct ty_config *config, const struct ty_config_sources *sources,
                             struct ty_error *err)
{
    for (int i = 0; i < sources->argc; i++)
        if (apply_flag(config, sources, &i, err) != TY_OK)
            return err->status;
    return TY_OK;
}

static const struct config_key *find_key(const char *name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (ty_str_equal(keys[i].name, name))
            return &keys[i];
    return NULL;
}

static ty_status apply_file_member(struct ty_config *config, const char *name, const json_t *value,
                                   struct ty_error *err)
{
    const struct config_key *key = find_key(name);
    if (!key || ty_str_equal(name, "config"))
        return ty_fail(err, TY_INVALID, "the configuration file has no key \"%s\"", name);
    char number[32];
    const char *text = json_string_value(value);
    if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        text = number;
    } else if (json_is_boolean(value)) {
        text = json_is_true(value) ? "true" : "false";
    }
    if (!text)
        return ty_fail(err, TY_INVALID, "%s (configuration file) must be a single value", name);
    return set_key(config, key, text, "configuration file", err);
}

static ty_status apply_file(struct ty_config *config, const char *path, struct ty_error *err)
{
    ty_auto_buf text = {0};
    ty_buf_init(&text, CONFIG_FILE_MAX);
    ty_auto_json document = NULL;
    if (ty_file_read(AT_FDCWD, path, &text, err) != TY_OK)
        return ty_wrap(err, "configuration file %s", path);
    if (text.len == 0)
        return TY_OK;
    if (ty_yaml_parse(text.data, text.len, &document, err) != TY_OK)
        return ty_wrap(err, "configuration file %s", path);
    if (!json_is_object(document))
        return ty_fail(err, TY_INVALID,
                       "configuration file %s: must be a mapping of keys to values", path);
    const char *name;
    json_t *value;
    json_object_foreach(document, name, value)
    {
        if (apply_file_member(config, name, value, err) != TY_OK)
            return err->status;
    }
    return TY_OK;
}

static ty_status load(const struct ty_config_sources *sources, struct ty_config *config,
                      struct ty_error *err)
{
    /* The file's own name comes from flag or environment, so those are read twice: once to find it,
     * once over it. */
    if (apply_defaults(config, err) != TY_OK ||
        apply_environment(config, sources->environment, err) != TY_OK ||
        apply_flags(config, sources, err) != TY_OK)
        return err->status;
    if (!config->config || config->config[0] == '\0')
        return TY_OK;
    if (apply_file(config, config->config, err) != TY_OK ||
        apply_environment(config, sources->environment, err) != TY_OK)
        return err->status;
    return apply_flags(config, sources, err);
}

ty_status ty_config_load(const struct ty_config_sources *sources, struct ty_config *config_out,
                         struct ty_error *err)
{
    struct ty_config config = {0};
    struct ty_error local;
    ty_status status = load(sources, &config, err ? err : &local);
    if (status != TY_OK) {
        ty_config_done(&config);
        return status;
    }
    *config_out = config;
    return TY_OK;
}

void ty_config_done(struct ty_config *config)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (keys[i].type == KEY_TEXT)
            free(*(char **)((char *)config + keys[i].offset));
    *config = (struct ty_config){0};
}

void ty_config_print(const struct ty_config *config, struct ty_buf *out)
{
    ty_auto_json document = json_object();
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *slot = (const char *)config + keys[i].offset;
        json_t *value = keys[i].type == KEY_TEXT ? json_string(*(char *const *)(const void *)slot)
                        : keys[i].type == KEY_BOOLEAN
                            ? json_boolean(*(const bool *)slot)
                            : json_integer(*(const int64_t *)(const void *)slot);
        if (json_object_set_new(document, keys[i].name, value) != 0)
            out->failed = TY_NO_MEMORY;
    }
    ty_yaml_write(out, document);
}

void ty_config_help(struct ty_buf *out)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        char flag[64];
        flag_name(&keys[i], flag);
        ty_buf_addf(out, "  %-30s %s", flag, keys[i].help);
        if (keys[i].fallback[0] != '\0')
            ty_buf_addf(out, " [%s]", keys[i].fallback);
        ty_buf_addc(out, '\n');
    }
}

void ty_config_markdown(struct ty_buf *out)
{
    ty_buf_adds(out, "| flag | environment | default | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        char flag[64];
        char name[64];
        flag_name(&keys[i], flag);
        environment_name(&keys[i], name);
        ty_buf_addf(out, "| `%s` | `%s` | `%s` | %s |\n", flag, name, keys[i].fallback,
                    keys[i].help);
    }
}
