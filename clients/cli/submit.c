/* submit and clone: a new job from flags and files, or from another job. */
#include "commands.h"
#include "http.h"
#include "output.h"
#include "spec.h"

#include "trainyard/base/yaml.h"

#include <stdio.h>

/* A dry run: what would run. As a table that is the YAML that kubectl takes. */
static int print_preview(const struct cli *cli, const json_t *preview)
{
    ty_auto_buf text = {0};
    size_t index;
    json_t *object;
    cli_say_warnings(preview);
    if (cli->format != FORMAT_TABLE && cli->format != FORMAT_WIDE)
        return cli_print_object(cli, preview, "name");
    ty_buf_init(&text, 64 * 1024 * 1024);
    json_array_foreach(json_object_get(json_object_get(preview, "manifest"), "items"), index,
                       object)
    {
        ty_buf_adds(&text, "---\n");
        ty_yaml_write(&text, object);
    }
    if (text.failed != TY_OK)
        return EXIT_JOB_FAILED;
    if (text.len > 0)
        fwrite(text.data, 1, text.len, stdout);
    return EXIT_DONE;
}

static int present(struct cli *cli, const json_t *answer)
{
    return json_is_true(json_object_get(answer, "dry_run")) ? print_preview(cli, answer)
                                                            : cli_present_job(cli, answer);
}

static int send_new(struct cli *cli, const char *path, const json_t *spec)
{
    ty_auto_json answer = NULL;
    int code = http_send(cli, "POST", path, spec, cli_value(cli, "key"), &answer);
    return code == EXIT_DONE ? present(cli, answer) : code;
}

/* A manifest goes as it is, so that the gateway tells its faults by the manifest's lines. */
static int send_manifest(struct cli *cli, const char *path, const struct cli_source *source)
{
    char own_key[HTTP_KEY];
    const char *key = cli_value(cli, "key");
    ty_auto_json answer = NULL;
    http_key(own_key);
    struct http_request request = {
        .method = "POST",
        .path = path,
        .body = source->text.data,
        .body_len = source->text.len,
        .type = "application/yaml",
        .key = key ? key : own_key,
    };
    int code = http_json(cli, &request, &answer);
    return code == EXIT_DONE ? present(cli, answer) : code;
}

static int submit(struct cli *cli, json_t *spec, struct cli_source *source)
{
    const char *path = cli_has(cli, "dry-run") ? "/v1/jobs?dry_run=true" : "/v1/jobs";
    int code = cli_spec_source(cli, spec, source);
    if (code == EXIT_DONE && source->manifest && !cli_spec_changed(cli) &&
        cli->arguments.plain_count == 1)
        return send_manifest(cli, path, source);
    if (code == EXIT_DONE)
        code = cli_spec_flags(cli, spec);
    if (code == EXIT_DONE)
        code = cli_spec_image(spec);
    return code == EXIT_DONE ? send_new(cli, path, spec) : code;
}

static int run_submit(struct cli *cli)
{
    ty_auto_json spec = json_object();
    struct cli_source source = {0};
    int code = submit(cli, spec, &source);
    cli_source_done(&source);
    return code;
}

static int run_clone(struct cli *cli)
{
    char id[JOB_ID];
    ty_auto_buf path = {0};
    ty_auto_json patch = json_object();
    int code = cli_spec_flags(cli, patch);
    if (code == EXIT_DONE)
        code = cli_spec_files(cli, NULL, patch);
    if (code == EXIT_DONE)
        code = cli_find_job(cli, cli->arguments.plain[0], id);
    if (code != EXIT_DONE)
        return code;
    ty_buf_init(&path, 4096);
    cli_job_path(&path, id, "/clone");
    return send_new(cli, path.data, patch);
}

static const struct cli_option submit_options[] = {
    {"command",   0,   NULL,  "run the words after -- as they are, without a script",       NULL, false},
    {"dry-run",   0,   NULL,  "check and print what would run; nothing is stored",          NULL, false},
    {"follow",    'f', NULL,  "follow the job (by default on a terminal)",                  NULL, false},
    {"no-follow", 0,   NULL,  "do not follow it",                                           NULL, false},
    {"key",       0,   "KEY", "idempotency key: the same key makes the same job only once", NULL, false},
    {NULL,        0,   NULL,  NULL,                                                         NULL, false},
};

static const struct cli_option clone_options[] = {
    {"follow",    'f', NULL,  "follow the job (by default on a terminal)",                  NULL, false},
    {"no-follow", 0,   NULL,  "do not follow it",                                           NULL, false},
    {"key",       0,   "KEY", "idempotency key: the same key makes the same job only once", NULL, false},
    {NULL,        0,   NULL,  NULL,                                                         NULL, false},
};

const struct cli_command command_submit = {
    .name = "submit",
    .usage = "SCRIPT.py | SPEC.json | MANIFEST.yaml | --command [flags] [-- ARGUMENTS…]",
    .help = "Submit a job",
    .more =
        "A script is sent with the job. A spec (JSON or YAML, - for standard input) is a whole\n"
        "job as in POST /v1/jobs; flags replace its members. A Kubernetes manifest (one "
        "PyTorchJob\n"
        "with its ConfigMaps and claims) is sent as it is, or with flags as the spec it stands "
        "for.\n"
        "What follows -- reaches the script, or with --command is the program itself.\n\n"
        "On a terminal the job is followed: the master's log on standard output, changes of state\n"
        "on standard error, and the exit code tells how the job ended. Ctrl-C leaves it running.\n"
        "Otherwise, and with --no-follow, the new job is printed; -o name prints its id alone.",
    .run = run_submit,
    .options = submit_options,
    .shared = spec_options,
    .most = ARGUMENTS_MAX,
    .words = WORDS_FILES,
};

const struct cli_command command_clone = {
    .name = "clone",
    .usage = "JOB [flags]",
    .help = "Submit a copy of a job, changed by flags",
    .run = run_clone,
    .options = clone_options,
    .shared = spec_options,
    .least = 1,
    .most = 1,
    .words = WORDS_JOBS,
};
