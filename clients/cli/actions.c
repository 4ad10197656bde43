/* cancel, suspend, resume, scale, restart, delete: one call for each job named. */
#include "commands.h"
#include "http.h"

enum { REPLICAS_MAX = 1000 };

/* Several jobs: all are tried, the first failure is the result. */
static int for_each_job(struct cli *cli, int (*act)(struct cli *cli, const char *id))
{
    int result = EXIT_DONE;
    for (size_t i = 0; i < cli->arguments.plain_count; i++) {
        char id[JOB_ID];
        int code = cli_find_job(cli, cli->arguments.plain[i], id);
        if (code == EXIT_DONE)
            code = act(cli, id);
        else if (code == EXIT_NOT_FOUND && cli_has(cli, "allow-missing"))
            code = EXIT_DONE;
        if (result == EXIT_DONE)
            result = code;
    }
    return result;
}

static int post_action(struct cli *cli, const char *id, const char *action, const json_t *body)
{
    ty_auto_json job = NULL;
    ty_auto_buf path = {0};
    ty_buf_init(&path, 4096);
    cli_job_path(&path, id, action);
    int code = http_send(cli, "POST", path.data, body, NULL, &job);
    return code == EXIT_DONE ? cli_print_job(cli, job) : code;
}

static int cancel(struct cli *cli, const char *id)
{
    return post_action(cli, id, "/cancel", NULL);
}

static int suspend(struct cli *cli, const char *id)
{
    return post_action(cli, id, "/suspend", NULL);
}

static int resume(struct cli *cli, const char *id)
{
    return post_action(cli, id, "/resume", NULL);
}

static int restart(struct cli *cli, const char *id)
{
    ty_auto_json job = NULL;
    ty_auto_buf path = {0};
    ty_buf_init(&path, 4096);
    cli_job_path(&path, id, "/restart");
    int code = http_send(cli, "POST", path.data, NULL, NULL, &job);
    return code == EXIT_DONE ? cli_present_job(cli, job) : code;
}

/* 204 has no body: the job is gone. 202 gives the job, which goes away once it has stopped. */
static int delete_job(struct cli *cli, const char *id)
{
    ty_auto_json job = NULL;
    ty_auto_buf path = {0};
    ty_buf_init(&path, 4096);
    cli_job_path(&path, id, "");
    if (cli_has(cli, "force"))
        http_add_query(&path, "force", "true");
    int code = http_delete(cli, &path, &job);
    return code == EXIT_DONE && job ? cli_print_job(cli, job) : code;
}

static int run_cancel(struct cli *cli)
{
    return for_each_job(cli, cancel);
}

static int run_suspend(struct cli *cli)
{
    return for_each_job(cli, suspend);
}

static int run_resume(struct cli *cli)
{
    return for_each_job(cli, resume);
}

static int run_restart(struct cli *cli)
{
    return for_each_job(cli, restart);
}

static int run_delete(struct cli *cli)
{
    return for_each_job(cli, delete_job);
}

static int run_scale(struct cli *cli)
{
    char id[JOB_ID];
    int64_t replicas;
    if (ty_str_to_int(cli->arguments.plain[1], 1, REPLICAS_MAX, &replicas) != TY_OK)
        return cli_misuse("the number of replicas must be a whole number from 1 to %d",
                          REPLICAS_MAX);
    int code = cli_find_job(cli, cli->arguments.plain[0], id);
    if (code != EXIT_DONE)
        return code;
    ty_auto_json body = json_pack("{s:I}", "replicas", (json_int_t)replicas);
    if (!body) {
        cli_say("no memory");
        return EXIT_JOB_FAILED;
    }
    return post_action(cli, id, "/scale", body);
}

static const struct cli_option restart_options[] = {
    {"follow",    'f', NULL, "follow the new job (by default on a terminal)", NULL, false},
    {"no-follow", 0,   NULL, "do not follow it",                              NULL, false},
    {NULL,        0,   NULL, NULL,                                            NULL, false},
};

static const struct cli_option delete_options[] = {
    {"force",         0, NULL, "cancel a live job first; it goes away once it has stopped", NULL, false},
    {"allow-missing", 0, NULL, "be content when there is no such job",                      NULL, false},
    {NULL,            0, NULL, NULL,                                                        NULL, false},
};

const struct cli_command command_cancel = {
    .name = "cancel",
    .usage = "JOB…",
    .help = "Stop jobs for good",
    .run = run_cancel,
    .least = 1,
    .most = ARGUMENTS_MAX,
    .words = WORDS_JOBS,
};

const struct cli_command command_suspend = {
    .name = "suspend",
    .usage = "JOB…",
    .help = "Stop jobs until they are resumed",
    .run = run_suspend,
    .least = 1,
    .most = ARGUMENTS_MAX,
    .words = WORDS_JOBS,
};

const struct cli_command command_resume = {
    .name = "resume",
    .usage = "JOB…",
    .help = "Queue suspended jobs again",
    .run = run_resume,
    .least = 1,
    .most = ARGUMENTS_MAX,
    .words = WORDS_JOBS,
};

const struct cli_command command_scale = {
    .name = "scale",
    .usage = "JOB REPLICAS",
    .help = "Change the number of workers of an elastic job",
    .more = "The highest workers come or go; those that stay form their group anew.",
    .run = run_scale,
    .least = 2,
    .most = 2,
    .words = WORDS_JOBS,
};

const struct cli_command command_restart = {
    .name = "restart",
    .usage = "JOB [flags]",
    .help = "Run a finished job again, as a new job",
    .run = run_restart,
    .options = restart_options,
    .least = 1,
    .most = 1,
    .words = WORDS_JOBS,
};

const struct cli_command command_delete = {
    .name = "delete",
    .usage = "JOB… [flags]",
    .help = "Remove finished jobs with their logs and own claims",
    .run = run_delete,
    .options = delete_options,
    .least = 1,
    .most = ARGUMENTS_MAX,
    .words = WORDS_JOBS,
};
