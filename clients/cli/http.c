#include "http.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/id.h"
#include "trainyard/base/json.h"
#include "trainyard/base/random.h"

#include <curl/curl.h>
#include <strings.h>
#include <time.h>

enum { TRIES = 6, TRIES_MS = 120000, ANSWER_MAX = 256 * 1024 * 1024, DEFAULT_TIMEOUT_S = 90 };

int http_exit_code(long status)
{
    if (status >= 200 && status < 400)
        return EXIT_DONE;
    if (status == 401 || status == 403)
        return EXIT_AUTH;
    if (status == 404 || status == 410)
        return EXIT_NOT_FOUND;
    if (status >= 400 && status < 500 && status != 429 && status != 408)
        return EXIT_REFUSED;
    return EXIT_UNAVAILABLE;
}

void http_encode(struct ty_buf *out, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (const char *c = text; *c; c++) {
        if (strchr(plain, *c))
            ty_buf_addc(out, *c);
        else
            ty_buf_addf(out, "%%%02X", (unsigned)(unsigned char)*c);
    }
}

void http_key(char out[HTTP_KEY])
{
    ty_id_make(ty_random_system(), ty_now_us(ty_clock_system()), "cli_", out);
}

void http_pause(unsigned try, int64_t retry_after)
{
    uint64_t most = 500u << (try < 6 ? try : 6);
    int64_t pause_ms = (int64_t)ty_random_below(ty_random_system(), most < 30000 ? most : 30000);
    if (pause_ms < retry_after * 1000)
        pause_ms = retry_after * 1000;
    struct timespec pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* --- one exchange --- */

struct exchange {
    struct http_answer *answer;
    CURL *curl;
    http_sink *sink; /* NULL: into answer->body */
    void *context;
};

static bool header_is(const char *line, const char *name, const char **value_out)
{
    size_t len = strlen(name);
    if (strncasecmp(line, name, len) != 0 || line[len] != ':')
        return false;
    *value_out = line + len + 1 + strspn(line + len + 1, " ");
    return true;
}

static void read_head(struct http_answer *answer, const char *line)
{
    const char *value;
    if (header_is(line, "ETag", &value))
        ty_str_copy(answer->etag, sizeof answer->etag, value);
    else if (header_is(line, "Repr-Digest", &value))
        ty_str_copy(answer->digest, sizeof answer->digest, value);
    else if (header_is(line, "Log-Offset", &value))
        (void)!ty_str_to_int(value, 0, INT64_MAX, &answer->log_offset);
    else if (header_is(line, "Content-Length", &value))
        (void)!ty_str_to_int(value, 0, INT64_MAX, &answer->length);
    else if (header_is(line, "Retry-After", &value))
        (void)!ty_str_to_int(value, 0, 86400, &answer->retry_after);
}

static size_t take_head(char *bytes, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    char line[512];
    size_t len = size * count;
    size_t copied = len < sizeof line ? len : sizeof line - 1;
    memcpy(line, bytes, copied);
    line[copied] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    read_head(exchange->answer, line);
    return len;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    struct http_answer *answer = exchange->answer;
    size_t len = size * count;
    curl_easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &answer->status);
    if (exchange->sink && answer->status >= 200 && answer->status < 300) {
        answer->partial = answer->status == 206;
        return exchange->sink(exchange->context, answer, bytes, len) ? len : 0;
    }
    ty_buf_add(&answer->body, bytes, len);
    return answer->body.failed == TY_OK ? len : 0;
}

static struct curl_slist *add_field(struct curl_slist *list, const char *name, const char *value)
{
    ty_auto_buf line;
    ty_buf_init(&line, 16 * 1024);
    if (!value)
        return list;
    ty_buf_addf(&line, "%s: %s", name, value);
    struct curl_slist *longer = line.failed == TY_OK ? curl_slist_append(list, line.data) : NULL;
    return longer ? longer : list;
}

static struct curl_slist *make_fields(const struct cli *cli, const struct http_request *request)
{
    ty_auto_buf bearer;
    struct curl_slist *list = NULL;
    ty_buf_init(&bearer, 4096);
    ty_buf_addf(&bearer, "Bearer %s", cli->token);
    list = add_field(list, "Authorization", bearer.data);
    list = add_field(list, "Accept", request->accept ? request->accept : "application/json");
    list = add_field(list, "Trainyard-Tenant", cli->tenant);
    list = add_field(list, "Idempotency-Key", request->key);
    list = add_field(list, "Range", request->range);
    list = add_field(list, "If-Range", request->if_range);
    list = add_field(list, "Content-Type", request->body ? "application/json" : NULL);
    return add_field(list, "Expect", ""); /* never wait for 100 Continue */
}

static void reset_answer(struct http_answer *answer)
{
    ty_buf_done(&answer->body);
    *answer = (struct http_answer){.log_offset = -1, .length = -1};
    ty_buf_init(&answer->body, ANSWER_MAX);
}

static void set_method(CURL *curl, const struct http_request *request)
{
    bool get = ty_str_equal(request->method, "GET");
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, get ? NULL : request->method);
    if (request->body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
    } else if (!get) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
    }
}

static CURLcode exchange_once(const struct cli *cli, const struct http_request *request,
                              struct exchange *exchange)
{
    ty_auto_buf url;
    CURL *curl = exchange->curl;
    struct curl_slist *fields = make_fields(cli, request);
    ty_buf_init(&url, 64 * 1024);
    ty_buf_addf(&url, "%s%s", cli->url, request->path);
    reset_answer(exchange->answer);
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url.data);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
    if (request->timeout_s >= 0)
        curl_easy_setopt(curl, CURLOPT_TIMEOUT,
                         request->timeout_s ? request->timeout_s : DEFAULT_TIMEOUT_S);
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
        if (where)
            cli_say("  %s: %s", where[0] != '\0' ? where : "the body",
                    json_string_value(json_object_get(fault, "detail")));
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
    return !ty_str_equal(request->method, "POST") && !ty_str_equal(request->method, "PATCH")
               ? true
               : request->key != NULL;
}

static bool worth_another_try(CURLcode code, const struct http_answer *answer)
{
    long status = answer->status;
    if (code != CURLE_OK)
        return code != CURLE_WRITE_ERROR && code != CURLE_URL_MALFORMAT &&
               code != CURLE_UNSUPPORTED_PROTOCOL;
    return status == 408 || status == 429 || status == 502 || status == 503 || status == 504;
}

int http_call(const struct cli *cli, const struct http_request *request, struct http_answer *answer)
{
    struct exchange exchange = {.answer = answer, .curl = curl_easy_init()};
    int64_t end = ty_monotonic_ms(ty_clock_system()) + TRIES_MS;
    CURLcode code = CURLE_FAILED_INIT;
    *answer = (struct http_answer){0};
    for (unsigned try = 0; exchange.curl && try < TRIES; try++) {
        code = exchange_once(cli, request, &exchange);
        if (!worth_another_try(code, answer) || !repeatable(request) || try + 1 == TRIES ||
            ty_monotonic_ms(ty_clock_system()) + answer->retry_after * 1000 > end)
            break;
        http_pause(try, answer->retry_after);
    }
    curl_easy_cleanup(exchange.curl);
    if (code != CURLE_OK) {
        cli_say("%s cannot be reached: %s", cli->url, curl_easy_strerror(code));
        return EXIT_UNAVAILABLE;
    }
    if (answer->status >= 400)
        say_problem(answer);
    return http_exit_code(answer->status);
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

int http_stream(const struct cli *cli, const struct http_request *request, http_sink *sink,
                void *context, struct http_answer *answer, bool *complete_out)
{
    struct exchange exchange = {
        .answer = answer, .curl = curl_easy_init(), .sink = sink, .context = context};
    *answer = (struct http_answer){0};
    CURLcode code = exchange.curl ? exchange_once(cli, request, &exchange) : CURLE_FAILED_INIT;
    curl_easy_cleanup(exchange.curl);
    *complete_out = code == CURLE_OK && answer->status >= 200 && answer->status < 300;
    if (code == CURLE_OK && answer->status >= 400)
        say_problem(answer);
    return code == CURLE_OK ? http_exit_code(answer->status) : EXIT_UNAVAILABLE;
}
