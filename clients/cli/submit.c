/* submit and clone: a new job from flags and files, or from another job. */
#include "commands.h"
#include "http.h"
#include "output.h"
#include "spec.h"

#include "trainyard/base/yaml.h"

#include <stdio.h>

static const char default_image[] = "pytorch/pytorch:2.0.0";

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

static int set_image(json_t *spec)
{
    const char *image = getenv("TRAINYARD_IMAGE");
    if (json_object_get(spec, "image"))
        return EXIT_DONE;
    json_t *value = json_string(image && image[0] != '\0' ? image : default_image);
    return json_object_set_new(spec, "image", value) == 0 ? EXIT_DONE : EXIT_JOB_FAILED;
}

static int send_new(struct cli *cli, const char *path, const json_t *spec)
{
    ty_auto_json answer = NULL;
    int code = http_send(cli, "POST", path, spec, cli_value(cli, "key"), &answer);
    if (code != EXIT_DONE)
        return code;
    return json_is_true(json_object_get(answer, "dry_run")) ? print_preview(cli, answer)
                                                            : cli_present_job(cli, answer);
}

static int run_submit(struct cli *cli)
{
    ty_auto_json spec = json_object();
    int code = cli_spec_source(cli, spec);
    if (code == EXIT_DONE)
        code = cli_spec_flags(cli, spec);
    if (code == EXIT_DONE)
        code = set_image(spec);
    if (code != EXIT_DONE)
        return code;
    return send_new(cli, cli_has(cli, "dry-run") ? "/v1/jobs?dry_run=true" : "/v1/jobs", spec);
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
    .usage = "SCRIPT.py | SPEC.json | --command [flags] [-- ARGUMENTS…]",
    .help = "Submit a job",
    .more =
        "A script is sent with the job. A spec (JSON or YAML, - for standard input) is a whole\n"
        "job as in POST /v1/jobs; flags replace its members. What follows -- reaches the script,\n"
        "or with --command is the program itself.\n\n"
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
