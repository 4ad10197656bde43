/* artifacts and checkpoints: what a job left behind. */
#include "commands.h"
#include "http.h"
#include "output.h"

static const struct cli_column artifact_columns[] = {
    {"PATH",     "path",        SHOW_TEXT, 0, false},
    {"SIZE",     "size",        SHOW_SIZE, 0, false},
    {"MODIFIED", "modified_at", SHOW_TEXT, 0, false},
    {"ETAG",     "etag",        SHOW_TEXT, 0, true },
    {NULL,       NULL,          SHOW_TEXT, 0, false},
};

static const struct cli_column checkpoint_columns[] = {
    {"PATH",     "path",        SHOW_TEXT, 0, false},
    {"SIZE",     "size",        SHOW_SIZE, 0, false},
    {"MODIFIED", "modified_at", SHOW_TEXT, 0, false},
    {"LATEST",   "latest",      SHOW_TEXT, 0, false},
    {NULL,       NULL,          SHOW_TEXT, 0, false},
};

static int list_files(struct cli *cli, const char *tail, const struct cli_column *columns)
{
    char id[JOB_ID];
    ty_auto_buf path = {0};
    ty_buf_init(&path, 4096);
    int code = cli_find_job(cli, cli->arguments.plain[0], id);
    cli_job_path(&path, id, tail);
    return code == EXIT_DONE ? cli_print_pages(cli, path.data, columns, "path") : code;
}

static int run_artifacts(struct cli *cli)
{
    return list_files(cli, "/artifacts", artifact_columns);
}

static int run_checkpoints(struct cli *cli)
{
    return list_files(cli, "/checkpoints", checkpoint_columns);
}

const struct cli_command command_artifacts = {
    .name = "artifacts",
    .usage = "JOB [flags]",
    .help = "List the files that a job wrote to its output",
    .run = run_artifacts,
    .options = cli_page_options,
    .least = 1,
    .most = 1,
    .words = WORDS_JOBS,
};

const struct cli_command command_checkpoints = {
    .name = "checkpoints",
    .usage = "JOB [flags]",
    .help = "List a job's checkpoints, the oldest first",
    .run = run_checkpoints,
    .options = cli_page_options,
    .least = 1,
    .most = 1,
    .words = WORDS_JOBS,
};
