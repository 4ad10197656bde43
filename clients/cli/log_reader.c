/* The happy path: one answer, whose bytes are copied as they come; it ends cleanly after the last
 * one. Log-Offset says where its first byte stands, so the place is known at every moment, and an
 * answer that breaks off is asked for again from there. A follower's answer that ends cleanly is
 * the end only when the job has ended: a gateway between us may close idle connections. */
#include "log_reader.h"

#include "http.h"
#include "watch.h"

#include "trainyard/base/file.h"

static bool take_bytes(void *context, const struct http_answer *answer, const char *bytes,
                       size_t len)
{
    struct cli_log *log = context;
    struct ty_error err;
    if (log->next < 0)
        log->next = answer->log_offset >= 0 ? answer->log_offset : 0;
    if (ty_write_all(log->fd, bytes, len, &err) != TY_OK) {
        log->broken = true;
        return false;
    }
    log->next += (int64_t)len;
    return true;
}

static void make_path(const struct cli_log *log, struct ty_buf *path)
{
    cli_job_path(path, log->id, "/logs");
    if (log->replica)
        http_add_query(path, "replica", log->replica);
    if (log->attempt > 0)
        http_add_query_int(path, "attempt", log->attempt);
    if (log->follow)
        http_add_query(path, "follow", "true");
    if (log->next >= 0)
        http_add_query_int(path, "offset", log->next);
    else if (log->tail >= 0)
        http_add_query_int(path, "tail", log->tail);
}

static int read_once(struct cli_log *log, struct http_answer *answer, bool *complete_out)
{
    ty_auto_buf path = {0};
    ty_buf_init(&path, 4096);
    make_path(log, &path);
    struct http_request request = {
        .method = "GET",
        .path = path.data,
        .accept = "text/plain",
        .timeout_s = -1,
        .quiet = true,
    };
    int code = http_stream(log->cli, &request, take_bytes, log, answer, complete_out);
    /* An empty answer tells the place too. */
    if (*complete_out && log->next < 0)
        log->next = answer->log_offset;
    ty_buf_done(&answer->body);
    return code;
}

/* After a clean end: is it the job's? Waits a little, since the log ends before the job does. */
static int is_over(const struct cli_log *log, bool *over_out)
{
    struct cli_watch watch;
    bool changed;
    int code = EXIT_DONE;
    *over_out = !log->follow || log->attempt > 0;
    cli_watch_init(&watch, log->cli, log->id);
    for (int i = 0; i < 2 && code == EXIT_DONE && !*over_out; i++) {
        code = cli_watch_next(&watch, 2, &changed);
        *over_out = watch.job && cli_job_terminal(watch.job);
    }
    cli_watch_done(&watch);
    if (code == EXIT_NOT_FOUND) /* removed meanwhile */
        *over_out = true;
    return code;
}

/* Whether to ask again, after a pause; else *code is what the reading comes to. */
static bool goes_on(struct cli_log *log, const struct http_answer *answer, bool complete, int *code)
{
    bool over = false;
    if (log->broken) {
        cli_say("the output cannot be written");
        *code = EXIT_JOB_FAILED;
        return false;
    }
    if (complete) {
        *code = is_over(log, &over);
        if (over)
            *code = EXIT_DONE;
        return !over && *code == EXIT_DONE;
    }
    return *code == EXIT_UNAVAILABLE && http_is_passing(answer->status) &&
           cli_patience_pause(&log->patience, log->cli, answer->retry_after, INT64_MAX);
}

int cli_log_read(struct cli_log *log)
{
    for (;;) {
        struct http_answer answer;
        bool complete = false;
        int64_t before = log->next;
        int code = read_once(log, &answer, &complete);
        if (complete || log->next != before)
            cli_patience_heard(&log->patience);
        if (!goes_on(log, &answer, complete, &code))
            return code;
    }
}
