/* events: what has happened, and with -f what happens, in the tenant or to one job. One answer
 * whose lines are printed as they come; each has an id, and an answer that breaks off, or a gateway
 * that stops, is asked again behind the last one: no event is missed and none is printed twice. */
#include "commands.h"
#include "http.h"
#include "output.h"
#include "patience.h"
#include "text.h"

#include "trainyard/base/json.h"

#include <stdio.h>

enum { LINE_MAX_BYTES = 256 * 1024 };

struct reading {
    struct cli *cli;
    char job[JOB_ID]; /* "" = the tenant's events */
    bool follow;
    char last_id[64]; /* "" = nothing was read yet */
    struct ty_buf line;
    bool over;    /* the stream said that nothing follows */
    bool back;    /* it said to come back */
    bool unread;  /* a line was none of ours */
    bool written; /* the output takes no more: false */
    struct cli_patience patience;
};

/* --- printing --- */

static const char *member(const json_t *event, const char *name, char *out, size_t size)
{
    return cli_text(json_object_get(event, "data"), name, out, size);
}

static void print_line(const struct cli *cli, const json_t *event)
{
    char time[64];
    char type[64];
    char job[64];
    char name[256];
    char words[1024];
    cli_text(event, "timestamp", time, sizeof time);
    cli_text(event, "type", type, sizeof type);
    member(event, "job_id", job, sizeof job);
    member(event, "name", name, sizeof name);
    if (ty_str_starts(type, "volume."))
        member(event, "volume", name, sizeof name);
    member(event, "path", words, sizeof words);
    if (ty_str_equal(words, "-"))
        member(event, "message", words, sizeof words);
    const char *dot = strchr(type, '.');
    const char *color = cli_color(cli->color, dot ? dot + 1 : type);
    printf("%.19sZ  %s%-18s%s  %-30s  %s  %s\n", time, color ? color : "", type,
           color ? "\033[0m" : "", job, name, words);
}

static void print_event(const struct cli *cli, const json_t *event, const struct ty_buf *line)
{
    char job[64];
    if (cli->format == FORMAT_JSON) {
        fwrite(line->data, 1, line->len, stdout);
        putchar('\n');
    } else if (cli->format == FORMAT_NAME) {
        puts(member(event, "job_id", job, sizeof job));
    } else {
        print_line(cli, event);
    }
}

/* --- reading --- */

/* A word of the stream itself; false when it is an event. */
static bool take_word(struct reading *reading, const char *type, const json_t *word)
{
    if (json_object_get(word, "timestamp"))
        return false;
    reading->over = reading->over || ty_str_equal(type, "end");
    reading->back =
        reading->back || ty_str_equal(type, "reconnect") || ty_str_equal(type, "overflow");
    if (ty_str_equal(type, "gap"))
        cli_say("events %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT " are no longer kept",
                json_integer_value(json_object_get(word, "from")),
                json_integer_value(json_object_get(word, "to")));
    return true;
}

static void take_line(struct reading *reading)
{
    ty_auto_json event = NULL;
    struct ty_error err;
    if (reading->line.len == 0)
        return; /* it only keeps the connection open */
    if (ty_json_parse(reading->line.data, reading->line.len, &event, &err) != TY_OK) {
        reading->unread = true;
        return;
    }
    const char *type = json_string_value(json_object_get(event, "type"));
    const char *id = json_string_value(json_object_get(event, "id"));
    reading->unread = !type || !id || !ty_str_copy(reading->last_id, sizeof reading->last_id, id);
    if (!reading->unread && !take_word(reading, type, event))
        print_event(reading->cli, event, &reading->line);
}

static bool take_bytes(void *context, const struct http_answer *answer, const char *bytes,
                       size_t len)
{
    struct reading *reading = context;
    if (!reading->last_id[0])
        ty_str_copy(reading->last_id, sizeof reading->last_id, answer->events_after);
    cli_patience_heard(&reading->patience);
    while (len > 0 && !reading->unread) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end ? (size_t)(end - bytes) : len;
        ty_buf_add(&reading->line, bytes, part);
        reading->unread = reading->line.failed != TY_OK;
        if (end && !reading->unread) {
            take_line(reading);
            ty_buf_clear(&reading->line);
        }
        part += end != NULL;
        bytes += part;
        len -= part;
    }
    reading->written = fflush(stdout) == 0;
    return reading->written && !reading->unread;
}

static void add_all(const struct cli *cli, struct ty_buf *path, const char *option)
{
    const char *value;
    for (size_t i = 0; (value = cli_nth(cli, option, i)) != NULL; i++)
        http_add_query(path, option, value);
}

static void make_path(const struct reading *reading, struct ty_buf *path)
{
    if (reading->job[0])
        cli_job_path(path, reading->job, "/events");
    else
        ty_buf_adds(path, "/v1/events");
    if (!reading->follow)
        http_add_query(path, "follow", "false");
    if (reading->last_id[0])
        http_add_query(path, "after", reading->last_id);
    add_all(reading->cli, path, "type");
    add_all(reading->cli, path, "label");
}

static int read_once(struct reading *reading, struct http_answer *answer, bool *complete_out)
{
    ty_auto_buf path = {0};
    ty_buf_init(&path, 64 * 1024);
    make_path(reading, &path);
    if (path.failed != TY_OK)
        return cli_misuse("the filters are too long");
    struct http_request request = {
        .method = "GET",
        .path = path.data,
        .accept = "application/x-ndjson",
        .timeout_s = -1,
        .quiet = true,
    };
    reading->back = false;
    ty_buf_clear(&reading->line); /* a line that broke off is sent again */
    int code = http_stream(reading->cli, &request, take_bytes, reading, answer, complete_out);
    ty_buf_done(&answer->body);
    return code;
}

/* Whether to ask again; else *code is what the reading comes to. */
static bool goes_on(struct reading *reading, const struct http_answer *answer, bool complete,
                    int *code)
{
    if (!reading->written || reading->unread) {
        cli_say(reading->written ? "the gateway's events cannot be read"
                                 : "the output cannot be written");
        *code = EXIT_JOB_FAILED;
        return false;
    }
    if (reading->over)
        *code = EXIT_DONE;
    else if (reading->back || complete ||
             (*code == EXIT_UNAVAILABLE && http_is_passing(answer->status)))
        return cli_patience_pause(&reading->patience, reading->cli, answer->retry_after, INT64_MAX);
    return false;
}

static int read_events(struct reading *reading)
{
    for (;;) {
        struct http_answer answer = {0};
        bool complete = false;
        int code = read_once(reading, &answer, &complete);
        if (!goes_on(reading, &answer, complete, &code))
            return code;
    }
}

static int run_events(struct cli *cli)
{
    struct reading reading = {.cli = cli, .follow = cli_has(cli, "follow"), .written = true};
    const char *job = cli_value(cli, "job");
    const char *after = cli_value(cli, "after");
    if (cli->format == FORMAT_YAML)
        return cli_misuse("events are printed as table, json or name");
    if (job && cli_has(cli, "label"))
        return cli_misuse("--job and --label do not go together");
    if (after && !ty_str_copy(reading.last_id, sizeof reading.last_id, after))
        return cli_misuse("--after must be an event's id");
    int code = job ? cli_find_job(cli, job, reading.job) : EXIT_DONE;
    if (code != EXIT_DONE)
        return code;
    ty_buf_init(&reading.line, LINE_MAX_BYTES);
    code = read_events(&reading);
    ty_buf_done(&reading.line);
    return code;
}

static const struct cli_option events_options[] = {
    {"follow", 'f', NULL,        "go on with what happens; of a job: until it has ended", NULL, false},
    {"job",    'j', "JOB",       "only of this job",                                      NULL, false},
    {"type",   't', "TYPE",      "only events of this type",
     "job.queued job.starting job.running job.restarting job.suspended job.cancelling "
     "job.succeeded job.failed job.cancelled job.lost job.updated job.deleted artifact.ready "
     "checkpoint.created warning volume.created volume.deleted",                                true },
    {"label",  'l', "KEY=VALUE", "only of jobs with this label",                          NULL, true },
    {"after",  0,   "ID",        "only what came after the event of this id",             NULL, false},
    {NULL,     0,   NULL,        NULL,                                                    NULL, false},
};

const struct cli_command command_events = {
    .name = "events",
    .usage = "[flags]",
    .help = "Show what has happened, and what happens",
    .more = "Without -f all events that are kept (75 hours); with it what comes from now on, of a "
            "job\nits first events too. -o json prints each event as it was sent, one a line.",
    .run = run_events,
    .options = events_options,
};
