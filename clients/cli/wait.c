/* wait: until all jobs have ended, or any; the exit code tells how. One call is parked at the
 * gateway for all of them, again and again until the end or the time given is over, through breaks
 * of the connection and restarts of the gateway. */
#include "commands.h"
#include "http.h"
#include "jobs.h"
#include "patience.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/json.h"

enum { POLL_S = 50, TIMEOUT_MOST_S = 366 * 86400, AT_ONCE = 500 };

struct waited {
    char id[JOB_ID];
    int code; /* why it is not waited for; EXIT_DONE = it is */
    bool over;
};

struct waiting {
    struct cli *cli;
    int64_t end_ms;
    bool any;
    bool done; /* what was waited for has come */
    struct cli_patience patience;
    size_t count;
    struct waited jobs[ARGUMENTS_MAX];
};

/* Ask for at most AT_ONCE jobs that have not ended; the next ones follow when these have. */
static char *make_body(const struct waiting *waiting, int64_t seconds)
{
    ty_auto_json body = json_pack("{s:[], s:s, s:I}", "ids", "mode", waiting->any ? "any" : "all",
                                  "timeout_seconds", (json_int_t)seconds);
    json_t *ids = json_object_get(body, "ids");
    for (size_t i = 0; i < waiting->count && json_array_size(ids) < AT_ONCE; i++)
        if (waiting->jobs[i].code == EXIT_DONE && !waiting->jobs[i].over)
            (void)json_array_append_new(ids, json_string(waiting->jobs[i].id));
    return json_array_size(ids) > 0 ? json_dumps(body, JSON_COMPACT) : NULL;
}

static struct waited *find_waited(struct waiting *waiting, const char *id)
{
    for (size_t i = 0; id && i < waiting->count; i++)
        if (ty_str_equal(waiting->jobs[i].id, id))
            return &waiting->jobs[i];
    return NULL;
}

static void mark_over(struct waiting *waiting, const char *id, int code)
{
    for (size_t i = 0; i < waiting->count; i++)
        if (ty_str_equal(waiting->jobs[i].id, id)) { /* a job may be named twice */
            waiting->jobs[i].over = true;
            waiting->jobs[i].code = code;
        }
}

static int take_answer(struct waiting *waiting, const struct http_answer *answer)
{
    ty_auto_json body = NULL;
    struct ty_error err;
    size_t index;
    json_t *item;
    cli_patience_heard(&waiting->patience);
    if (ty_json_parse(answer->body.data, answer->body.len, &body, &err) != TY_OK) {
        cli_say("the gateway's answer cannot be read: %s", err.text);
        return EXIT_UNAVAILABLE;
    }
    json_array_foreach(json_object_get(body, "items"), index, item)
    {
        const char *id = json_string_value(json_object_get(item, "id"));
        bool removed = json_is_null(json_object_get(item, "state"));
        if (!find_waited(waiting, id) || (!removed && !cli_job_terminal(item)))
            continue;
        if (removed)
            cli_say("%s was removed", id);
        mark_over(waiting, id, removed ? EXIT_NOT_FOUND : EXIT_DONE);
        waiting->done = waiting->done || waiting->any;
    }
    return EXIT_DONE;
}

static int ask(struct waiting *waiting, const char *body, int64_t seconds)
{
    struct http_answer answer;
    struct http_request request = {
        .method = "POST",
        .path = "/v1/jobs:wait",
        .body = body,
        .body_len = strlen(body),
        .timeout_s = seconds + 30,
        .quiet = true,
        .once = true,
    };
    int code = http_call(waiting->cli, &request, &answer);
    if (code == EXIT_DONE)
        code = take_answer(waiting, &answer);
    else if (code == EXIT_UNAVAILABLE && http_is_passing(answer.status) &&
             cli_patience_pause(&waiting->patience, waiting->cli, answer.retry_after,
                                seconds > 0 ? seconds * 1000 : 1000))
        code = EXIT_DONE;
    ty_buf_done(&answer.body);
    return code;
}

/* Until nothing is left to wait for, the time is over, or nobody answers. */
static int wait_for_all(struct waiting *waiting)
{
    for (bool first = true; !waiting->done; first = false) {
        int64_t left_ms = waiting->end_ms - ty_monotonic_ms(ty_clock_system());
        int64_t seconds = left_ms <= 0 ? 0 : left_ms / 1000 + 1;
        ty_auto_free char *body = make_body(waiting, seconds < POLL_S ? seconds : POLL_S);
        if (!body)
            return EXIT_DONE;
        if (left_ms <= 0 && waiting->patience.failures > 0) {
            cli_say("%s cannot be reached", waiting->cli->url);
            return EXIT_UNAVAILABLE;
        }
        if (left_ms <= 0 && !first)
            return EXIT_DONE;
        int code = ask(waiting, body, seconds < POLL_S ? seconds : POLL_S);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

/* What one job comes to, and its row. */
static int tell(struct waiting *waiting, const struct waited *waited, struct cli_listing *listing)
{
    ty_auto_buf path = {0};
    ty_auto_json job = NULL;
    if (waited->code != EXIT_DONE)
        return waited->code;
    if (!waited->over && waiting->done)
        return EXIT_DONE; /* another one was enough */
    ty_buf_init(&path, 4096);
    cli_job_path(&path, waited->id, "");
    int code = http_get(waiting->cli, path.data, &job);
    if (code != EXIT_DONE)
        return code;
    ty_auto_json row = json_pack("[O]", job);
    if (row)
        cli_listing_add(listing, row);
    if (cli_job_terminal(job))
        return cli_job_result(job);
    cli_say("%s is still %s", waited->id, json_string_value(json_object_get(job, "state")));
    return EXIT_TIMEOUT;
}

static int run_wait(struct cli *cli)
{
    int64_t timeout_s = TIMEOUT_MOST_S;
    struct waiting waiting = {
        .cli = cli, .any = cli_has(cli, "any"), .count = cli->arguments.plain_count};
    struct cli_listing listing = {.cli = cli, .columns = job_columns, .name = "id", .out = stdout};
    if (!cli_seconds(cli, "timeout", TIMEOUT_MOST_S, &timeout_s))
        return EXIT_USAGE;
    if (waiting.any && waiting.count > AT_ONCE)
        return cli_misuse("--any takes at most %d jobs", AT_ONCE);
    waiting.end_ms = ty_monotonic_ms(ty_clock_system()) + timeout_s * 1000;
    for (size_t i = 0; i < waiting.count; i++)
        waiting.jobs[i].code = cli_find_job(cli, cli->arguments.plain[i], waiting.jobs[i].id);
    int result = wait_for_all(&waiting);
    if (result != EXIT_DONE)
        return result;
    for (size_t i = 0; i < waiting.count; i++) {
        int code = tell(&waiting, &waiting.jobs[i], &listing);
        result = result == EXIT_DONE ? code : result;
    }
    int written = cli_listing_end(&listing);
    return result == EXIT_DONE ? written : result;
}

static const struct cli_option wait_options[] = {
    {"any",     0, NULL,   "until one of them has ended, whichever is first",  NULL, false},
    {"timeout", 0, "TIME", "give up after so long (90, 15m, 2h): exit code 9", NULL, false},
    {NULL,      0, NULL,   NULL,                                               NULL, false},
};

const struct cli_command command_wait = {
    .name = "wait",
    .usage = "JOB… [flags]",
    .help = "Wait until jobs have ended; the exit code tells how",
    .more =
        "With several jobs the exit code is that of the first that did not succeed, in the order "
        "given.\nWith --any only the jobs that have ended are told and counted.",
    .run = run_wait,
    .options = wait_options,
    .least = 1,
    .most = ARGUMENTS_MAX,
    .words = WORDS_JOBS,
};
