#include "watch.h"

#include "http.h"

#include "trainyard/base/json.h"

void cli_watch_init(struct cli_watch *watch, const struct cli *cli, const char *id)
{
    *watch = (struct cli_watch){.cli = cli};
    ty_str_copy(watch->id, sizeof watch->id, id);
}

void cli_watch_done(struct cli_watch *watch)
{
    json_decref(watch->job);
    watch->job = NULL;
}

static int take_answer(struct cli_watch *watch, const struct http_answer *answer, bool *changed_out)
{
    struct ty_error err;
    json_t *job = NULL;
    cli_patience_heard(&watch->patience);
    *changed_out = answer->status != 304 &&
                   !(watch->job && answer->etag[0] && ty_str_equal(answer->etag, watch->etag));
    if (!*changed_out)
        return EXIT_DONE;
    if (ty_json_parse(answer->body.data, answer->body.len, &job, &err) != TY_OK) {
        cli_say("the gateway's answer cannot be read: %s", err.text);
        return EXIT_UNAVAILABLE;
    }
    json_decref(watch->job);
    watch->job = job;
    ty_str_copy(watch->etag, sizeof watch->etag, answer->etag);
    return EXIT_DONE;
}

int cli_watch_next(struct cli_watch *watch, int64_t seconds, bool *changed_out)
{
    struct http_answer answer;
    ty_auto_buf path = {0};
    ty_buf_init(&path, 4096);
    cli_job_path(&path, watch->id, "");
    if (watch->job && seconds > 0)
        http_add_query_int(&path, "wait", seconds);
    struct http_request request = {
        .method = "GET",
        .path = path.data,
        .if_none_match = watch->job ? watch->etag : NULL,
        .timeout_s = seconds + 30,
        .quiet = true,
        .once = true,
    };
    *changed_out = false;
    int code = http_call(watch->cli, &request, &answer);
    if (code == EXIT_DONE)
        code = take_answer(watch, &answer, changed_out);
    else if (code == EXIT_UNAVAILABLE && http_is_passing(answer.status) &&
             cli_patience_pause(&watch->patience, watch->cli, answer.retry_after,
                                seconds > 0 ? seconds * 1000 : 1000))
        code = EXIT_DONE;
    ty_buf_done(&answer.body);
    return code;
}
