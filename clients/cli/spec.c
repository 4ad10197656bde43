#include "spec.h"

#include "output.h"

#include "trainyard/base/json.h"

#include <inttypes.h>
#include <stdio.h>

typedef enum { MEMBER_TEXT, MEMBER_NUMBER, MEMBER_SECONDS, MEMBER_SWITCH } member_kind;

/* Flags that set one member each. The gateway judges the values; here only their form is read. */
static const struct {
    const char *option;
    const char *group; /* the object within the spec, NULL for the spec itself */
    const char *member;
    member_kind kind;
} members[] = {
    {"name",                   NULL,          "name",                  MEMBER_TEXT   },
    {"description",            NULL,          "description",           MEMBER_TEXT   },
    {"image",                  NULL,          "image",                 MEMBER_TEXT   },
    {"replicas",               NULL,          "replicas",              MEMBER_NUMBER },
    {"gpus",                   NULL,          "gpus",                  MEMBER_NUMBER },
    {"epochs",                 NULL,          "epochs",                MEMBER_NUMBER },
    {"dataset",                NULL,          "dataset",               MEMBER_TEXT   },
    {"output-claim",           NULL,          "output",                MEMBER_TEXT   },
    {"resume",                 "checkpoints", "resume",                MEMBER_SWITCH },
    {"resume-from-checkpoint", "checkpoints", "resume",                MEMBER_SWITCH },
    {"keep-last",              "checkpoints", "keep_last",             MEMBER_NUMBER },
    {"launcher",               NULL,          "launcher",              MEMBER_TEXT   },
    {"processes-per-replica",  NULL,          "processes_per_replica", MEMBER_NUMBER },
    {"backend",                NULL,          "backend",               MEMBER_TEXT   },
    {"restart",                NULL,          "restart",               MEMBER_TEXT   },
    {"max-retries",            NULL,          "max_retries",           MEMBER_NUMBER },
    {"timeout",                NULL,          "timeout_seconds",       MEMBER_SECONDS},
    {"keep",                   NULL,          "keep_seconds",          MEMBER_SECONDS},
    {"priority",               NULL,          "priority",              MEMBER_NUMBER },
    {"suspended",              NULL,          "suspended",             MEMBER_SWITCH },
    {"memory",                 "resources",   "memory",                MEMBER_TEXT   },
    {"cpu",                    "resources",   "cpu",                   MEMBER_TEXT   },
    {"shared-memory",          NULL,          "shared_memory",         MEMBER_TEXT   },
    {"working-dir",            NULL,          "working_dir",           MEMBER_TEXT   },
};

/* Flags that may come often, each KEY=VALUE. */
static const struct {
    const char *option;
    const char *group;
} maps[] = {
    {"param", "parameters"},
    {"env",   "env"       },
    {"label", "labels"    }
};

static int no_memory(void)
{
    cli_say("out of memory");
    return EXIT_JOB_FAILED;
}

/* The object called `group` within the spec, made when it is missing; borrowed. */
static json_t *group_of(json_t *spec, const char *group)
{
    if (!group)
        return spec;
    json_t *object = json_object_get(spec, group);
    if (json_is_object(object))
        return object;
    return json_object_set_new(spec, group, json_object()) == 0 ? json_object_get(spec, group)
                                                                : NULL;
}

static bool make_value(const struct cli *cli, const char *option, member_kind kind,
                       json_t **value_out)
{
    int64_t number = 0;
    switch (kind) {
    case MEMBER_NUMBER:
        if (!cli_number(cli, option, -INT64_C(9007199254740991), INT64_C(9007199254740991),
                        &number))
            return false;
        *value_out = json_integer(number);
        return true;
    case MEMBER_SECONDS:
        if (!cli_seconds(cli, option, INT64_C(9007199254740991), &number))
            return false;
        *value_out = json_integer(number);
        return true;
    case MEMBER_SWITCH:
        *value_out = json_true();
        return true;
    default:
        *value_out = json_string(cli_value(cli, option));
        if (!*value_out)
            cli_say("--%s is not UTF-8", option);
        return *value_out != NULL;
    }
}

static int set_members(const struct cli *cli, json_t *spec)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        json_t *value = NULL;
        if (!cli_has(cli, members[i].option))
            continue;
        json_t *group = group_of(spec, members[i].group);
        if (!group)
            return no_memory();
        if (!make_value(cli, members[i].option, members[i].kind, &value))
            return EXIT_USAGE;
        if (json_object_set_new(group, members[i].member, value) != 0)
            return no_memory();
    }
    return EXIT_DONE;
}

json_t *cli_parameter_value(const char *text)
{
    struct ty_error err;
    struct ty_json_writer writer;
    ty_auto_json value = NULL;
    ty_auto_buf again = {0};
    ty_status status = ty_json_parse(text, strlen(text), &value, &err);
    if (status == TY_NO_MEMORY)
        return NULL;
    if (status != TY_OK || !(json_is_number(value) || json_is_boolean(value)))
        return json_string(text);
    ty_buf_init(&again, 4096);
    ty_json_writer_init(&writer, &again);
    ty_json_value(&writer, value);
    if (again.failed == TY_NO_MEMORY)
        return NULL;
    double size = json_number_value(value);
    bool exact = size > -9007199254740992.0 && size < 9007199254740992.0;
    bool same = exact && again.failed == TY_OK && ty_str_equal(again.data, text);
    return same ? json_incref(value) : json_string(text);
}

/* KEY=VALUE; --env KEY alone takes the variable of this environment, as docker does. */
static int set_pair(json_t *group, const char *option, const char *pair)
{
    char key[256];
    size_t len = strcspn(pair, "=");
    bool is_env = ty_str_equal(option, "env");
    const char *text = pair[len] == '=' ? pair + len + 1 : NULL;
    if (len == 0 || len >= sizeof key || (!text && !is_env))
        return cli_misuse("--%s must be KEY=VALUE", option);
    memcpy(key, pair, len);
    key[len] = '\0';
    if (!text)
        text = getenv(key);
    if (!text)
        return cli_misuse("--env %s: there is no such variable here", key);
    json_t *value = ty_str_equal(option, "param") ? cli_parameter_value(text) : json_string(text);
    if (!value || json_object_set_new(group, key, value) != 0)
        return cli_misuse("--%s %s is not UTF-8", option, key);
    return EXIT_DONE;
}

static int set_maps(const struct cli *cli, json_t *spec)
{
    for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
        const char *pair;
        for (size_t i = 0; (pair = cli_nth(cli, maps[m].option, i)) != NULL; i++) {
            json_t *group = group_of(spec, maps[m].group);
            int code = group ? set_pair(group, maps[m].option, pair) : no_memory();
            if (code != EXIT_DONE)
                return code;
        }
    }
    return EXIT_DONE;
}

/* --checkpoints CLAIM, CLAIM:PATH, :PATH or an absolute path. */
static int set_checkpoints(const struct cli *cli, json_t *spec)
{
    const char *where = cli_value(cli, "checkpoints");
    if (!where)
        return EXIT_DONE;
    json_t *group = group_of(spec, "checkpoints");
    size_t len = where[0] == '/' ? 0 : strcspn(where, ":");
    const char *path = where[len] == ':' ? where + len + 1 : where + len;
    if (!group)
        return no_memory();
    if ((len > 0 && json_object_set_new(group, "volume", json_stringn(where, len)) != 0) ||
        (path[0] != '\0' && json_object_set_new(group, "path", json_string(path)) != 0))
        return cli_misuse("--checkpoints is not UTF-8");
    return EXIT_DONE;
}

/* --volume CLAIM:PATH[:ro], each added to those that the spec has. */
static int add_volume(json_t *volumes, const char *text)
{
    const char *path = strchr(text, ':');
    bool read_only = ty_str_ends(text, ":ro");
    if (!path || path == text)
        return cli_misuse("--volume must be CLAIM:PATH or CLAIM:PATH:ro");
    size_t path_len = strlen(path + 1) - (read_only ? strlen(":ro") : 0);
    json_t *volume = json_pack("{s:s%,s:s%}", "claim", text, (size_t)(path - text), "mount_path",
                               path + 1, path_len);
    if (volume && read_only && json_object_set_new(volume, "read_only", json_true()) != 0) {
        json_decref(volume);
        return no_memory();
    }
    return json_array_append_new(volumes, volume) == 0 ? EXIT_DONE
                                                       : cli_misuse("--volume is not UTF-8");
}

static int set_volumes(const struct cli *cli, json_t *spec)
{
    const char *text;
    for (size_t i = 0; (text = cli_nth(cli, "volume", i)) != NULL; i++) {
        if (!json_is_array(json_object_get(spec, "volumes")) &&
            json_object_set_new(spec, "volumes", json_array()) != 0)
            return no_memory();
        int code = add_volume(json_object_get(spec, "volumes"), text);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

/* --secret NAME:KEY[=WHERE]: the variable WHERE (by default called as the key), or the file. */
static int add_secret(json_t *secrets, const char *text)
{
    const char *key = strchr(text, ':');
    const char *where = key ? strchr(key, '=') : NULL;
    size_t key_len = key ? (where ? (size_t)(where - key) : strlen(key)) - 1 : 0;
    if (!key || key == text || key_len == 0 || (where && where[1] == '\0'))
        return cli_misuse("--secret must be NAME:KEY, NAME:KEY=VARIABLE or NAME:KEY=/PATH");
    json_t *secret =
        json_pack("{s:s%,s:s%}", "name", text, (size_t)(key - text), "key", key + 1, key_len);
    if (secret && where &&
        json_object_set_new(secret, where[1] == '/' ? "path" : "env", json_string(where + 1)) !=
            0) {
        json_decref(secret);
        secret = NULL;
    }
    return json_array_append_new(secrets, secret) == 0 ? EXIT_DONE
                                                       : cli_misuse("--secret is not UTF-8");
}

static int set_secrets(const struct cli *cli, json_t *spec)
{
    const char *text;
    for (size_t i = 0; (text = cli_nth(cli, "secret", i)) != NULL; i++) {
        if (!json_is_array(json_object_get(spec, "secrets")) &&
            json_object_set_new(spec, "secrets", json_array()) != 0)
            return no_memory();
        int code = add_secret(json_object_get(spec, "secrets"), text);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

/* MIN:MAX */
static int set_elastic(const struct cli *cli, json_t *spec)
{
    const char *text = cli_value(cli, "elastic");
    const char *colon = text ? strchr(text, ':') : NULL;
    char least[16];
    int64_t min;
    int64_t max;
    if (!text)
        return EXIT_DONE;
    snprintf(least, sizeof least, "%.*s", colon ? (int)(colon - text) : 0, text);
    if (!colon || ty_str_to_int(least, 1, INT32_MAX, &min) != TY_OK ||
        ty_str_to_int(colon + 1, 1, INT32_MAX, &max) != TY_OK)
        return cli_misuse("--elastic must be MIN:MAX, two whole numbers");
    json_t *elastic = group_of(spec, "elastic");
    if (!elastic || json_object_set_new(elastic, "min", json_integer(min)) != 0 ||
        json_object_set_new(elastic, "max", json_integer(max)) != 0)
        return no_memory();
    return EXIT_DONE;
}

int cli_spec_flags(const struct cli *cli, json_t *spec)
{
    int code = set_members(cli, spec);
    if (code == EXIT_DONE)
        code = set_maps(cli, spec);
    if (code == EXIT_DONE)
        code = set_checkpoints(cli, spec);
    if (code == EXIT_DONE)
        code = set_volumes(cli, spec);
    if (code == EXIT_DONE)
        code = set_elastic(cli, spec);
    return code == EXIT_DONE ? set_secrets(cli, spec) : code;
}

bool cli_spec_changed(const struct cli *cli)
{
    for (const struct cli_option *option = spec_options; option->name; option++)
        if (cli_has(cli, option->name))
            return true;
    return false;
}

int cli_spec_image(json_t *spec)
{
    static const char default_image[] = "pytorch/pytorch:2.0.0";
    const char *image = getenv("TRAINYARD_IMAGE");
    if (json_object_get(spec, "image"))
        return EXIT_DONE;
    json_t *value = json_string(image && image[0] != '\0' ? image : default_image);
    return json_object_set_new(spec, "image", value) == 0 ? EXIT_DONE : EXIT_JOB_FAILED;
}

int cli_print_spec(const struct cli *cli, const json_t *spec)
{
    struct cli as_json = *cli;
    if (cli->format != FORMAT_YAML)
        as_json.format = FORMAT_JSON;
    return cli_print_object(&as_json, spec, "name");
}

const struct cli_option spec_options[] = {
    {"name",                   0,   "NAME",       "the job's name, by default the script's",                        NULL,                                false},
    {"image",                  0,   "IMAGE",      "container image ($TRAINYARD_IMAGE, else pytorch/pytorch:2.0.0)", NULL,
     false                                                                                                                                                    },
    {"replicas",               0,   "N",          "replicas in all: a master and N - 1 workers (1)",                NULL,                                false},
    {"elastic",                0,   "MIN:MAX",    "workers alone, so many at least and at most; see scale",         NULL,
     false                                                                                                                                                    },
    {"gpus",                   0,   "N",          "whole GPUs for each replica (0)",                                NULL,                                false},
    {"epochs",                 0,   "N",          "reaches the script as --epochs=N",                               NULL,                                false},
    {"param",                  'p', "KEY=VALUE",  "reaches the script as --KEY=VALUE and in its environment",       NULL,
     true                                                                                                                                                     },
    {"env",                    'e', "KEY=VALUE",  "an environment variable; KEY alone passes yours on",             NULL,                                true },
    {"label",                  'l', "KEY=VALUE",  "a label",                                                        NULL,                                true },
    {"description",            0,   "TEXT",       "free text",                                                      NULL,                                false},
    {"file",                   0,   "PATH",       "one more file, put beside the script",                           NULL,                                true },
    {"dataset",                0,   "CLAIM",      "the claim with the data, read-only at /data",                    NULL,                                false},
    {"output-claim",           0,   "CLAIM",      "the claim for results at /output (one is made for the job)",     NULL,
     false                                                                                                                                                    },
    {"volume",                 0,   "CLAIM:PATH", "one more claim; CLAIM:PATH:ro for reading only",                 NULL,                                true },
    {"secret",                 0,   "NAME:KEY",   "a secret's key as a variable; NAME:KEY=VARIABLE or =/PATH",      NULL,
     true                                                                                                                                                     },
    {"checkpoints",            0,   "WHERE",      "CLAIM, CLAIM:FOLDER, :FOLDER of the output, or /PATH",           NULL,
     false                                                                                                                                                    },
    {"resume",                 0,   NULL,         "hand the newest checkpoint to the script when it starts",        NULL,                                false},
    {"resume-from-checkpoint", 0,   NULL,         "the same",                                                       NULL,                                false},
    {"keep-last",              0,   "N",          "keep only the newest N checkpoints",                             NULL,                                false},
    {"launcher",               0,   "NAME",       "python or torchrun",                                             "python torchrun",                   false},
    {"processes-per-replica",  0,   "N",          "processes of each replica (torchrun)",                           NULL,                                false},
    {"backend",                0,   "NAME",       "nccl, gloo or mpi",                                              "nccl gloo mpi",                     false},
    {"restart",                0,   "RULE",       "when a replica is started again",                                "on_failure never always exit_code",
     false                                                                                                                                                    },
    {"max-retries",            0,   "N",          "restarts that the job survives (3)",                             NULL,                                false},
    {"timeout",                0,   "TIME",       "stop the job so long after its start (90, 15m, 2h)",             NULL,                                false},
    {"keep",                   0,   "TIME",       "remove the finished job after this time",                        NULL,                                false},
    {"priority",               0,   "N",          "higher goes first, -100 to 100 (0)",                             NULL,                                false},
    {"memory",                 0,   "SIZE",       "memory of each replica, 16Gi",                                   NULL,                                false},
    {"cpu",                    0,   "N",          "processors of each replica, 4 or 500m",                          NULL,                                false},
    {"shared-memory",          0,   "SIZE",       "size of /dev/shm",                                               NULL,                                false},
    {"working-dir",            0,   "PATH",       "where the program starts (/workspace)",                          NULL,                                false},
    {"suspended",              0,   NULL,         "store it suspended; resume queues it",                           NULL,                                false},
    {NULL,                     0,   NULL,         NULL,                                                             NULL,                                false},
};
