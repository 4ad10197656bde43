/* get: one job, or what belongs to it. */
#include "commands.h"
#include "http.h"
#include "output.h"
#include "text.h"

#include <stdio.h>

static const struct cli_column transition_columns[] = {
    {"SEQUENCE", "sequence", SHOW_TEXT, 0,  false},
    {"AT",       "at",       SHOW_TEXT, 0,  false},
    {"FROM",     "from",     SHOW_TEXT, 0,  false},
    {"TO",       "to",       SHOW_TEXT, 0,  false},
    {"CAUSE",    "cause",    SHOW_TEXT, 0,  false},
    {"MESSAGE",  "message",  SHOW_TEXT, 80, false},
    {NULL,       NULL,       SHOW_TEXT, 0,  false},
};

static const struct cli_column replica_columns[] = {
    {"NAME",     "name",        SHOW_TEXT, 0, false},
    {"STATE",    "state",       SHOW_TEXT, 0, false},
    {"REASON",   "reason",      SHOW_TEXT, 0, false},
    {"RESTARTS", "restarts",    SHOW_TEXT, 0, false},
    {"EXIT",     "exit_code",   SHOW_TEXT, 0, false},
    {"SIGNAL",   "exit_signal", SHOW_TEXT, 0, false},
    {"STARTED",  "started_at",  SHOW_TEXT, 0, false},
    {"FINISHED", "finished_at", SHOW_TEXT, 0, false},
    {NULL,       NULL,          SHOW_TEXT, 0, false},
};

/* As YAML, the stream of documents that kubectl takes, unless JSON is asked for. */
static int print_manifest(const struct cli *cli, const char *path)
{
    struct http_answer answer;
    struct http_request request = {
        .method = "GET",
        .path = path,
        .accept = cli->format == FORMAT_JSON ? "application/json" : "application/yaml",
    };
    int code = http_call(cli, &request, &answer);
    if (code == EXIT_DONE && answer.body.len > 0)
        fwrite(answer.body.data, 1, answer.body.len, stdout);
    ty_buf_done(&answer.body);
    return code;
}

static void print_side(const json_t *change, const char *side)
{
    char bytes[16];
    const json_t *value = json_object_get(change, side);
    snprintf(bytes, sizeof bytes, "%s_bytes", side);
    const json_t *length = json_object_get(change, bytes);
    if (value)
        json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
    else if (length)
        printf("(%" JSON_INTEGER_FORMAT " bytes)", json_integer_value(length));
    else
        fputs("(nothing)", stdout);
}

/* For people: how the job differs from its origin, a line each, below the rest. */
static void print_changes(const json_t *changes)
{
    size_t index;
    json_t *change;
    char pointer[256];
    json_array_foreach((json_t *)(uintptr_t)changes, index, change)
    {
        cli_text(change, "pointer", pointer, sizeof pointer);
        printf("%-18s %s: ", "changed", pointer);
        print_side(change, "from");
        fputs(" -> ", stdout);
        print_side(change, "to");
        putchar('\n');
    }
}

static int print_one(const struct cli *cli, const char *path)
{
    ty_auto_json job = NULL;
    int code = http_get(cli, path, &job);
    if (code != EXIT_DONE)
        return code;
    json_t *origin = json_object_get(job, "origin");
    ty_auto_json changes = json_incref(json_object_get(origin, "changes"));
    bool for_people = cli->format == FORMAT_TABLE || cli->format == FORMAT_WIDE;
    if (for_people)
        json_object_del(origin, "changes");
    code = cli_print_object(cli, job, "id");
    if (for_people)
        print_changes(changes);
    return code;
}

static int run_get(struct cli *cli)
{
    char id[JOB_ID];
    ty_auto_buf path = {0};
    ty_buf_init(&path, 4096);
    int code = cli_find_job(cli, cli->arguments.plain[0], id);
    if (code != EXIT_DONE)
        return code;
    if (cli_has(cli, "manifest")) {
        cli_job_path(&path, id, "/manifest");
        return print_manifest(cli, path.data);
    }
    if (cli_has(cli, "transitions")) {
        cli_job_path(&path, id, "/transitions");
        return cli_print_pages(cli, path.data, transition_columns, "to");
    }
    if (cli_has(cli, "replicas")) {
        cli_job_path(&path, id, "/replicas");
        return cli_print_pages(cli, path.data, replica_columns, "name");
    }
    cli_job_path(&path, id, "");
    return print_one(cli, path.data);
}

static const struct cli_option get_options[] = {
    {"transitions", 0, NULL, "its way through the states",                NULL, false},
    {"replicas",    0, NULL, "its replicas",                              NULL, false},
    {"manifest",    0, NULL, "the Kubernetes objects it is rendered to",  NULL, false},
    {"limit",       0, "N",  "of those lists, show at most so many (50)", NULL, false},
    {"all",         0, NULL, "show all",                                  NULL, false},
    {NULL,          0, NULL, NULL,                                        NULL, false},
};

const struct cli_command command_get = {
    .name = "get",
    .usage = "JOB [--transitions | --replicas | --manifest]",
    .help = "Show a job",
    .run = run_get,
    .options = get_options,
    .least = 1,
    .most = 1,
    .words = WORDS_JOBS,
};
