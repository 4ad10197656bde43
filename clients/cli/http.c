/* Calls: one exchange over libcurl, its repeats, and the words for what went wrong. */
#include "http.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/json.h"
#include "trainyard/base/random.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>

enum { TRIES_MS = 120000 };
enum { ANSWER_MAX = 256 * 1024 * 1024, DEFAULT_TIMEOUT_S = 90 };

/* --- one exchange --- */

struct exchange {
    struct http_answer *answer;
    CURL *curl;
    http_sink *sink; /* NULL: into answer->body */
    void *context;
    bool maybe_done; /* an earlier try got no answer, but may have been carried out */
};

static size_t take_head(char *bytes, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    char line[512];
    size_t len = size * count;
    size_t copied = len < sizeof line ? len : sizeof line - 1;
    memcpy(line, bytes, copied);
    line[copied] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    http_read_head(exchange->answer, line);
    return len;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    struct http_answer *answer = exchange->answer;
    size_t len = size * count;
    curl_easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &answer->status);
    if (exchange->sink && answer->status >= 200 && answer->status < 300)
        return exchange->sink(exchange->context, answer, bytes, len) ? len : 0;
    ty_buf_add(&answer->body, bytes, len);
    return answer->body.failed == TY_OK ? len : 0;
}

static struct curl_slist *add_field(struct curl_slist *list, const char *name, const char *value)
{
    ty_auto_buf line = {0};
    ty_buf_init(&line, 16 * 1024);
    if (!value)
        return list;
    ty_buf_addf(&line, "%s: %s", name, value);
    struct curl_slist *longer = line.failed == TY_OK ? curl_slist_append(list, line.data) : NULL;
    return longer ? longer : list;
}

static struct curl_slist *make_fields(const struct cli *cli, const struct http_request *request)
{
    ty_auto_buf bearer = {0};
    struct curl_slist *list = NULL;
    ty_buf_init(&bearer, 4096);
    ty_buf_addf(&bearer, "Bearer %s", cli->token);
    list = add_field(list, "Authorization", bearer.failed == TY_OK ? bearer.data : NULL);
    list = add_field(list, "Accept", request->accept ? request->accept : "application/json");
    list = add_field(list, "Trainyard-Tenant", cli->tenant);
    list = add_field(list, "Idempotency-Key", request->key);
    list = add_field(list, "Range", request->range);
    list = add_field(list, "If-Range", request->if_range);
    list = add_field(list, "If-None-Match", request->if_none_match);
    /* An empty value takes the header away that curl would send. */
    const char *type = request->type ? request->type : "application/json";
    list = add_field(list, "Content-Type", request->body ? type : "");
    return add_field(list, "Expect", ""); /* never wait for 100 Continue */
}

static void reset_answer(struct http_answer *answer)
{
    ty_buf_done(&answer->body);
    *answer = (struct http_answer){.log_offset = -1, .length = -1, .range_start = -1, .total = -1};
    ty_buf_init(&answer->body, ANSWER_MAX);
}

static void set_method(CURL *curl, const struct http_request *request)
{
    const char *body = request->body;
    if (ty_str_equal(request->method, "HEAD"))
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else if (!ty_str_equal(request->method, "GET"))
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    if (body || ty_str_equal(request->method, "POST")) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)(body ? request->body_len : 0));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body ? body : "");
    }
}

/* A proxy of the environment is for the world, not for this machine. */
static void set_connection(CURL *curl, const struct cli *cli, const struct http_request *request)
{
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "trainyard/" TRAINYARD_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, cli->hasty ? 1L : 10L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 30L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 10L);
    if (cli_is_loopback(cli->url))
        curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    if (cli->hasty)
        curl_easy_setopt(curl, CURLOPT_TIMEOUT, 2L);
    else if (request->timeout_s >= 0)
        curl_easy_setopt(curl, CURLOPT_TIMEOUT,
                         (long)(request->timeout_s ? request->timeout_s : DEFAULT_TIMEOUT_S));
}

static CURLcode exchange_once(const struct cli *cli, const struct http_request *request,
                              struct exchange *exchange)
{
    ty_auto_buf url = {0};
    CURL *curl = exchange->curl;
    struct curl_slist *fields = make_fields(cli, request);
    ty_buf_init(&url, 64 * 1024);
    ty_buf_addf(&url, "%s%s", cli->url, request->path);
    reset_answer(exchange->answer);
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url.data);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
    set_connection(curl, cli, request);
    set_method(curl, request);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &exchange->answer->status);
    curl_slist_free_all(fields);
    return code;
}

/* --- saying what went wrong --- */

static void say_fault(const json_t *fault)
{
    static const char *const places[] = {"pointer", "parameter", "header"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *where = json_string_value(json_object_get(fault, places[i]));
        const json_t *line = json_object_get(fault, "line");
        const char *detail = json_string_value(json_object_get(fault, "detail"));
        if (where && line)
            cli_say("  %lld:%lld: %s: %s", (long long)json_integer_value(line),
                    (long long)json_integer_value(json_object_get(fault, "column")),
                    where[0] != '\0' ? where : "the document", detail);
        else if (where)
            cli_say("  %s: %s", where[0] != '\0' ? where : "the body", detail);
    }
}

static void say_problem(const struct http_answer *answer)
{
    struct ty_error err;
    ty_auto_json problem = NULL;
    if (!answer->body.data ||
        ty_json_parse(answer->body.data, answer->body.len, &problem, &err) != TY_OK) {
        cli_say("the gateway answered %ld", answer->status);
        return;
    }
    const char *title = json_string_value(json_object_get(problem, "title"));
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    const char *code = json_string_value(json_object_get(problem, "code"));
    cli_say("%s: %s (%s)", title ? title : "error", detail ? detail : "", code ? code : "");
    size_t index;
    json_t *fault;
    json_array_foreach(json_object_get(problem, "errors"), index, fault)
    {
        say_fault(fault);
    }
}

/* --- calls --- */

static bool repeatable(const struct http_request *request)
{
    bool changes_each_time =
        ty_str_equal(request->method, "POST") || ty_str_equal(request->method, "PATCH");
    return !changes_each_time || request->key != NULL;
}

static bool worth_another_try(CURLcode code, const struct http_answer *answer)
{
    if (code != CURLE_OK)
        return code != CURLE_WRITE_ERROR && code != CURLE_URL_MALFORMAT &&
               code != CURLE_UNSUPPORTED_PROTOCOL && code != CURLE_PEER_FAILED_VERIFICATION &&
               code != CURLE_FAILED_INIT && code != CURLE_OUT_OF_MEMORY;
    return http_is_busy(answer->status);
}

static void say_again(const struct http_request *request, const struct http_answer *answer,
                      int64_t pause_ms)
{
    if (request->quiet || pause_ms < 1000)
        return;
    if (answer->status != 0)
        cli_say("the gateway answered %ld; again in %" PRId64 " s", answer->status,
                (pause_ms + 999) / 1000);
    else
        cli_say("no answer; again in %" PRId64 " s", (pause_ms + 999) / 1000);
}

/* Try until something is final, within HTTP_TRIES and TRIES_MS (H27). */
static CURLcode exchange_often(const struct cli *cli, const struct http_request *request,
                               struct exchange *exchange)
{
    int64_t end = ty_monotonic_ms(ty_clock_system()) + TRIES_MS;
    unsigned tries = request->once || cli->hasty || !repeatable(request) ? 1 : HTTP_TRIES;
    for (unsigned try = 0;; try++) {
        CURLcode code = exchange_once(cli, request, exchange);
        if (!worth_another_try(code, exchange->answer) || try + 1 == tries)
            return code;
        exchange->maybe_done |= code != CURLE_OK;
        int64_t pause_ms = http_pause_ms(ty_random_system(), try, exchange->answer->retry_after);
        if (ty_monotonic_ms(ty_clock_system()) + pause_ms > end)
            return code;
        say_again(request, exchange->answer, pause_ms);
        http_sleep_ms(pause_ms);
    }
}

/* What an exchange comes to, with its words. */
static int conclude(const struct cli *cli, const struct http_request *request, CURLcode code,
                    const struct http_answer *answer)
{
    if (code != CURLE_OK) {
        if (!request->quiet && !cli->hasty)
            cli_say("%s cannot be reached: %s", cli->url, curl_easy_strerror(code));
        return EXIT_UNAVAILABLE;
    }
    int result = http_exit_code(answer->status);
    bool has_words = !ty_str_equal(request->method, "HEAD");
    if (result != EXIT_DONE && has_words && !(request->quiet && http_is_busy(answer->status)))
        say_problem(answer);
    return result;
}

int http_call(const struct cli *cli, const struct http_request *request, struct http_answer *answer)
{
    struct exchange exchange = {.answer = answer, .curl = curl_easy_init()};
    *answer = (struct http_answer){0};
    CURLcode code = exchange.curl ? exchange_often(cli, request, &exchange) : CURLE_FAILED_INIT;
    curl_easy_cleanup(exchange.curl);
    if (code == CURLE_OK && answer->status == 404 && exchange.maybe_done &&
        ty_str_equal(request->method, "DELETE")) {
        ty_buf_clear(&answer->body);
        return EXIT_DONE; /* by the try before */
    }
    return conclude(cli, request, code, answer);
}

int http_json(const struct cli *cli, const struct http_request *request, json_t **json_out)
{
    struct http_answer answer;
    struct ty_error err;
    json_t *json = NULL;
    int code = http_call(cli, request, &answer);
    if (code == EXIT_DONE && answer.body.len > 0 && json_out &&
        ty_json_parse(answer.body.data, answer.body.len, &json, &err) != TY_OK) {
        cli_say("the gateway's answer cannot be read: %s", err.text);
        code = EXIT_UNAVAILABLE;
    }
    ty_buf_done(&answer.body);
    if (code == EXIT_DONE && json_out)
        *json_out = json;
    return code;
}

int http_get(const struct cli *cli, const char *path, json_t **json_out)
{
    struct http_request request = {.method = "GET", .path = path};
    return http_json(cli, &request, json_out);
}

int http_send(const struct cli *cli, const char *method, const char *path, const json_t *body,
              const char *key, json_t **json_out)
{
    char own_key[HTTP_KEY];
    ty_auto_free char *text =
        body ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    http_key(own_key);
    if (body && !text) {
        cli_say("out of memory");
        return EXIT_JOB_FAILED;
    }
    struct http_request request = {
        .method = method,
        .path = path,
        .body = text,
        .body_len = text ? strlen(text) : 0,
        .key = ty_str_equal(method, "POST") ? (key ? key : own_key) : NULL,
    };
    return http_json(cli, &request, json_out);
}

int http_delete(const struct cli *cli, struct ty_buf *path, json_t **json_out)
{
    if (cli_has(cli, "allow-missing"))
        http_add_query(path, "allow_missing", "true");
    return http_send(cli, "DELETE", path->data, NULL, NULL, json_out);
}

int http_stream(const struct cli *cli, const struct http_request *request, http_sink *sink,
                void *context, struct http_answer *answer, bool *complete_out)
{
    struct exchange exchange = {
        .answer = answer, .curl = curl_easy_init(), .sink = sink, .context = context};
    *answer = (struct http_answer){0};
    CURLcode code = exchange.curl ? exchange_once(cli, request, &exchange) : CURLE_FAILED_INIT;
    curl_easy_cleanup(exchange.curl);
    *complete_out = code == CURLE_OK && answer->status >= 200 && answer->status < 300;
    return conclude(cli, request, code, answer);
}
