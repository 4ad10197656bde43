/* wait: until jobs have ended; the exit code tells how. */
#include "commands.h"
#include "http.h"
#include "jobs.h"
#include "watch.h"

#include "trainyard/base/clock.h"

enum { POLL_S = 50, TIMEOUT_MOST_S = 366 * 86400 };

/* Wait for one job's end; *job_out is its last record. */
static int wait_for(struct cli *cli, const char *id, int64_t end_ms, json_t **job_out)
{
    struct cli_watch watch;
    bool changed;
    int code = EXIT_DONE;
    cli_watch_init(&watch, cli, id);
    while (code == EXIT_DONE && !(watch.job && cli_job_terminal(watch.job))) {
        int64_t left_ms = end_ms - ty_monotonic_ms(ty_clock_system());
        if (left_ms <= 0 && watch.job) {
            cli_say("%s is still %s", id, json_string_value(json_object_get(watch.job, "state")));
            code = EXIT_TIMEOUT;
        } else if (left_ms <= 0 && watch.patience.failures > 0) {
            cli_say("%s cannot be reached", cli->url);
            code = EXIT_UNAVAILABLE;
        } else {
            int64_t poll_s = left_ms <= 0 ? 0 : left_ms / 1000 + 1;
            code = cli_watch_next(&watch, poll_s < POLL_S ? poll_s : POLL_S, &changed);
        }
    }
    *job_out = watch.job;
    return code;
}

static int run_wait(struct cli *cli)
{
    int64_t timeout_s = TIMEOUT_MOST_S;
    struct cli_listing listing = {.cli = cli, .columns = job_columns, .name = "id", .out = stdout};
    if (!cli_seconds(cli, "timeout", TIMEOUT_MOST_S, &timeout_s))
        return EXIT_USAGE;
    int64_t end_ms = ty_monotonic_ms(ty_clock_system()) + timeout_s * 1000;
    int result = EXIT_DONE;
    for (size_t i = 0; i < cli->arguments.plain_count; i++) {
        char id[JOB_ID];
        ty_auto_json job = NULL;
        int code = cli_find_job(cli, cli->arguments.plain[i], id);
        if (code == EXIT_DONE)
            code = wait_for(cli, id, end_ms, &job);
        if (code == EXIT_DONE)
            code = cli_job_result(job);
        ty_auto_json row = job ? json_pack("[O]", job) : NULL;
        if (row)
            cli_listing_add(&listing, row);
        if (result == EXIT_DONE)
            result = code;
    }
    int written = cli_listing_end(&listing);
    return result == EXIT_DONE ? written : result;
}

static const struct cli_option wait_options[] = {
    {"timeout", 0, "TIME", "give up after so long (90, 15m, 2h): exit code 9", NULL, false},
    {NULL,      0, NULL,   NULL,                                               NULL, false},
};

const struct cli_command command_wait = {
    .name = "wait",
    .usage = "JOB… [flags]",
    .help = "Wait until jobs have ended; the exit code tells how",
    .more =
        "With several jobs the exit code is that of the first that did not succeed, in the order "
        "given.",
    .run = run_wait,
    .options = wait_options,
    .least = 1,
    .most = ARGUMENTS_MAX,
    .words = WORDS_JOBS,
};
