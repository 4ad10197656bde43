/* Which job a word means, and how a job is shown. */
#include "jobs.h"
#include "http.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/id.h"

const struct cli_column job_columns[] = {
    {"ID",       "id",               SHOW_TEXT,     0, false},
    {"NAME",     "name",             SHOW_TEXT,     0, false},
    {"STATE",    "state",            SHOW_TEXT,     0, false},
    {"REPLICAS", "replicas",         SHOW_TEXT,     0, false},
    {"GPUS",     "gpus",             SHOW_TEXT,     0, false},
    {"CREATED",  "created_at",       SHOW_TEXT,     0, false},
    {"DURATION", "duration_seconds", SHOW_DURATION, 0, false},
    {"CAUSE",    "cause",            SHOW_TEXT,     0, true },
    {"QUEUE",    "queue_position",   SHOW_TEXT,     0, true },
    {"PRIORITY", "priority",         SHOW_TEXT,     0, true },
    {"RESTARTS", "restarts",         SHOW_TEXT,     0, true },
    {"TENANT",   "tenant",           SHOW_TEXT,     0, true },
    {"IMAGE",    "image",            SHOW_TEXT,     0, true },
    {"LABELS",   "labels",           SHOW_TEXT,     0, true },
    {NULL,       NULL,               SHOW_TEXT,     0, false},
};

static const char id_prefix[] = "job_";
enum { ID_DIGITS = 26, TIME_DIGITS = 10, DIGIT_BITS = 5 };

bool cli_id_range(const char *beginning, int64_t *first_ms_out, int64_t *last_ms_out)
{
    static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
    if (ty_str_starts(beginning, id_prefix))
        beginning += strlen(id_prefix);
    size_t len = strlen(beginning);
    if (len > ID_DIGITS || strspn(beginning, digits) != len || (len > 0 && beginning[0] > '7'))
        return false;
    int64_t first = 0;
    size_t used = len < TIME_DIGITS ? len : TIME_DIGITS;
    for (size_t i = 0; i < used; i++)
        first = first << DIGIT_BITS | (strchr(digits, beginning[i]) - digits);
    unsigned open_bits = (unsigned)(TIME_DIGITS - used) * DIGIT_BITS;
    *first_ms_out = first << open_bits;
    *last_ms_out = *first_ms_out + (INT64_C(1) << open_bits) - 1;
    return true;
}

void cli_job_path(struct ty_buf *out, const char *id, const char *tail)
{
    ty_buf_addf(out, "/v1/jobs/%s%s", id, tail);
}

static bool has_beginning(const json_t *job, const char *beginning, const char **id_out)
{
    const char *id = json_string_value(json_object_get(job, "id"));
    if (!id || !ty_str_starts(id, id_prefix))
        return false;
    bool whole = ty_str_starts(beginning, id_prefix);
    if (!ty_str_starts(whole ? id : id + strlen(id_prefix), beginning))
        return false;
    *id_out = id;
    return true;
}

/* The jobs of the page whose ids begin so; false when a second one does. */
static bool take_only_one(const json_t *page, const char *beginning, char id_out[JOB_ID])
{
    size_t index;
    json_t *job;
    const char *id;
    json_array_foreach(json_object_get(page, "items"), index, job)
    {
        if (!has_beginning(job, beginning, &id))
            continue;
        if (id_out[0] != '\0')
            return false;
        ty_str_copy(id_out, JOB_ID, id);
    }
    return true;
}

/* An id tells its time to the millisecond, so only jobs created about then need to be looked at. */
static void add_time_filters(struct ty_buf *path, int64_t first_ms, int64_t last_ms)
{
    enum { MARGIN_MS = 60000 };
    const int64_t latest_ms = INT64_C(253402300799000); /* the end of the year 9999 */
    char text[TY_TIME_TEXT];
    if (first_ms > MARGIN_MS && first_ms < latest_ms) {
        ty_time_format((first_ms - MARGIN_MS) * 1000, text);
        http_add_query(path, "created_after", text);
    }
    if (last_ms < latest_ms - MARGIN_MS) {
        ty_time_format((last_ms + MARGIN_MS) * 1000, text);
        http_add_query(path, "created_before", text);
    }
}

static int find_by_beginning(const struct cli *cli, const char *word, char id_out[JOB_ID])
{
    char found[JOB_ID] = "";
    char cursor[512] = "";
    int64_t first_ms = 0;
    int64_t last_ms = 0;
    bool possible = cli_id_range(word, &first_ms, &last_ms);
    while (possible) {
        ty_auto_json page = NULL;
        ty_auto_buf path = {0};
        ty_buf_init(&path, 4096);
        ty_buf_adds(&path, "/v1/jobs?limit=500");
        add_time_filters(&path, first_ms, last_ms);
        if (cursor[0] != '\0')
            http_add_query(&path, "cursor", cursor);
        int code = http_get(cli, path.data, &page);
        if (code != EXIT_DONE)
            return code;
        if (!take_only_one(page, word, found)) {
            cli_say("several jobs begin with %s", word);
            return EXIT_REFUSED;
        }
        const char *next = json_string_value(json_object_get(page, "next_cursor"));
        possible = next && ty_str_copy(cursor, sizeof cursor, next);
    }
    if (found[0] == '\0') {
        cli_say("no job begins with %s", word);
        return EXIT_NOT_FOUND;
    }
    ty_str_copy(id_out, JOB_ID, found);
    return EXIT_DONE;
}

static int find_by_name(const struct cli *cli, const char *word, char id_out[JOB_ID])
{
    ty_auto_json page = NULL;
    ty_auto_buf path = {0};
    ty_buf_init(&path, 4096);
    ty_buf_adds(&path, "/v1/jobs?limit=1");
    http_add_query(&path, "name", word);
    int code = ty_dns1035_label(word) ? http_get(cli, path.data, &page) : EXIT_DONE;
    if (code != EXIT_DONE)
        return code;
    const json_t *job = json_array_get(json_object_get(page, "items"), 0);
    const char *id = json_string_value(json_object_get(job, "id"));
    if (!id) {
        cli_say("no job is called %s", word);
        return EXIT_NOT_FOUND;
    }
    ty_str_copy(id_out, JOB_ID, id);
    return EXIT_DONE;
}

int cli_find_job(const struct cli *cli, const char *word, char id_out[JOB_ID])
{
    if (ty_id_valid(id_prefix, word)) {
        ty_str_copy(id_out, JOB_ID, word);
        return EXIT_DONE;
    }
    /* A name begins with a letter and has no "_". */
    if (ty_str_starts(word, id_prefix) || (word[0] >= '0' && word[0] <= '9'))
        return find_by_beginning(cli, word, id_out);
    return find_by_name(cli, word, id_out);
}

static const char *state_of(const json_t *job)
{
    const char *state = json_string_value(json_object_get(job, "state"));
    return state ? state : "";
}

static const struct {
    const char *state;
    int code;
} results[] = {
    {"succeeded", EXIT_DONE         },
    {"failed",    EXIT_JOB_FAILED   },
    {"cancelled", EXIT_JOB_CANCELLED},
    {"lost",      EXIT_JOB_LOST     },
};

bool cli_job_terminal(const json_t *job)
{
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (ty_str_equal(results[i].state, state_of(job)))
            return true;
    return false;
}

int cli_job_result(const json_t *job)
{
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (ty_str_equal(results[i].state, state_of(job)))
            return results[i].code;
    return EXIT_JOB_FAILED;
}

int cli_print_job(const struct cli *cli, const json_t *job)
{
    if (cli->format != FORMAT_TABLE && cli->format != FORMAT_WIDE)
        return cli_print_object(cli, job, "id");
    ty_auto_json row = json_pack("[O]", job);
    return cli_print_list(cli, row, job_columns, "id");
}

void cli_say_warnings(const json_t *answer)
{
    size_t index;
    json_t *warning;
    json_array_foreach(json_object_get(answer, "warnings"), index, warning)
    {
        const char *pointer = json_string_value(json_object_get(warning, "pointer"));
        const char *message = json_string_value(json_object_get(warning, "message"));
        cli_say("warning: %s%s%s", pointer ? pointer : "", pointer ? ": " : "",
                message ? message : "");
    }
}

/* Whether to follow a job that was just made: --follow, --no-follow, else on a terminal. */
static bool wants_follow(const struct cli *cli)
{
    bool for_people = cli->format == FORMAT_TABLE || cli->format == FORMAT_WIDE;
    return cli_has(cli, "follow") || (!cli_has(cli, "no-follow") && cli->terminal && for_people);
}

/* The replica that speaks for the job; an elastic one has no master. */
static const char *lead_replica(const json_t *job)
{
    const json_t *spec = json_object_get(job, "spec");
    return json_is_object(json_object_get(spec, "elastic")) ? "worker-0" : "master-0";
}

int cli_present_job(struct cli *cli, const json_t *job)
{
    const char *id = json_string_value(json_object_get(job, "id"));
    cli_say_warnings(job);
    if (!id) {
        cli_say("the gateway's answer has no id");
        return EXIT_UNAVAILABLE;
    }
    if (wants_follow(cli))
        return cli_follow(cli, id, lead_replica(job));
    int code = cli_print_job(cli, job);
    if (cli->progress && cli->terminal)
        cli_say("follow it with: trainyard logs %s --follow", id);
    return code;
}
