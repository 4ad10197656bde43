/* logs: a replica's output on standard output. */
#include "commands.h"
#include "log_reader.h"

static int run_logs(struct cli *cli)
{
    char id[JOB_ID];
    struct cli_log log = {
        .cli = cli,
        .replica = cli_value(cli, "replica"),
        .tail = -1,
        .next = -1,
        .follow = cli_has(cli, "follow"),
        .fd = STDOUT_FILENO,
    };
    if (!cli_number(cli, "tail", 0, 1000000000, &log.tail) ||
        !cli_number(cli, "offset", 0, INT64_C(9007199254740991), &log.next) ||
        !cli_number(cli, "attempt", 1, 1000000, &log.attempt))
        return EXIT_USAGE;
    if (cli_has(cli, "tail") && cli_has(cli, "offset"))
        return cli_misuse("--tail and --offset exclude each other");
    int code = cli_find_job(cli, cli->arguments.plain[0], id);
    log.id = id;
    return code == EXIT_DONE ? cli_log_read(&log) : code;
}

static const struct cli_option logs_options[] = {
    {"replica", 'r', "NAME", "whose output: master-0 (of an elastic job worker-0), worker-1 …",
     NULL,                                                                                              false},
    {"follow",  'f', NULL,   "go on with new output until the job ends",                          NULL, false},
    {"tail",    'n', "N",    "begin so many lines before the end",                                NULL, false},
    {"offset",  0,   "N",    "begin at this byte",                                                NULL, false},
    {"attempt", 0,   "N",    "only the output of this attempt, from 1",                           NULL, false},
    {NULL,      0,   NULL,   NULL,                                                                NULL, false},
};

const struct cli_command command_logs = {
    .name = "logs",
    .usage = "JOB [flags]",
    .help = "Print a replica's output, from the first byte on",
    .more = "A connection that breaks is made again; no byte comes twice, none is left out.",
    .run = run_logs,
    .options = logs_options,
    .least = 1,
    .most = 1,
    .words = WORDS_JOBS,
};
