/* The parts of speaking HTTP that need no connection. */
#include "http.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

enum { PAUSE_MOST_MS = 30000 };

bool http_is_busy(long status)
{
    return status == 408 || status == 429 || status == 502 || status == 503 || status == 504;
}

bool http_is_passing(long status)
{
    return status < 300 || http_is_busy(status);
}

int http_exit_code(long status)
{
    if ((status >= 200 && status < 300) || status == 304)
        return EXIT_DONE;
    if (status == 401 || status == 403)
        return EXIT_AUTH;
    if (status == 404 || status == 410)
        return EXIT_NOT_FOUND;
    if (status >= 400 && status < 500 && status != 429 && status != 408)
        return EXIT_REFUSED;
    return EXIT_UNAVAILABLE;
}

static void encode(struct ty_buf *out, const char *text, const char *plain)
{
    for (const char *c = text; *c; c++) {
        if (strchr(plain, *c))
            ty_buf_addc(out, *c);
        else
            ty_buf_addf(out, "%%%02X", (unsigned)(unsigned char)*c);
    }
}

#define UNRESERVED "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

void http_encode(struct ty_buf *out, const char *text)
{
    encode(out, text, UNRESERVED);
}

void http_encode_path(struct ty_buf *out, const char *text)
{
    encode(out, text, UNRESERVED "/");
}

void http_add_query(struct ty_buf *path, const char *name, const char *value)
{
    bool first = !path->data || !strchr(path->data, '?');
    ty_buf_addf(path, "%c%s=", first ? '?' : '&', name);
    http_encode(path, value);
}

void http_add_query_int(struct ty_buf *path, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    http_add_query(path, name, text);
}

void http_key(char out[HTTP_KEY])
{
    ty_id_make(ty_random_system(), ty_now_us(ty_clock_system()), "cli_", out);
}

int64_t http_pause_ms(const struct ty_random *random, unsigned try, int64_t retry_after)
{
    uint64_t most = try < 6 ? 500u <<
    try : PAUSE_MOST_MS
        ;
    if (most > PAUSE_MOST_MS)
        most = PAUSE_MOST_MS;
    int64_t pause_ms = (int64_t)ty_random_below(random, most + 1);
    return pause_ms < retry_after * 1000 ? retry_after * 1000 : pause_ms;
}

void http_sleep_ms(int64_t ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
        continue;
}

/* --- heads --- */

static bool header_is(const char *line, const char *name, const char **value_out)
{
    size_t len = strlen(name);
    if (strncasecmp(line, name, len) != 0 || line[len] != ':')
        return false;
    *value_out = line + len + 1 + strspn(line + len + 1, " ");
    return true;
}

/* "bytes 5-9/10" or "bytes * / 10" (without the blanks). */
static void read_content_range(struct http_answer *answer, const char *value)
{
    char number[24];
    const char *slash = strchr(value, '/');
    if (!ty_str_starts(value, "bytes ") || !slash)
        return;
    (void)!ty_str_to_int(slash + 1, 0, INT64_MAX, &answer->total);
    value += strlen("bytes ");
    snprintf(number, sizeof number, "%.*s", (int)strcspn(value, "-/"), value);
    (void)!ty_str_to_int(number, 0, INT64_MAX, &answer->range_start);
}

void http_read_head(struct http_answer *answer, const char *line)
{
    const char *value;
    if (header_is(line, "ETag", &value))
        ty_str_copy(answer->etag, sizeof answer->etag, value);
    else if (header_is(line, "Repr-Digest", &value))
        ty_str_copy(answer->digest, sizeof answer->digest, value);
    else if (header_is(line, "Events-After", &value))
        ty_str_copy(answer->events_after, sizeof answer->events_after, value);
    else if (header_is(line, "Log-Offset", &value))
        (void)!ty_str_to_int(value, 0, INT64_MAX, &answer->log_offset);
    else if (header_is(line, "Content-Length", &value))
        (void)!ty_str_to_int(value, 0, INT64_MAX, &answer->length);
    else if (header_is(line, "Content-Range", &value))
        read_content_range(answer, value);
    else if (header_is(line, "Retry-After", &value))
        (void)!ty_str_to_int(value, 0, 86400, &answer->retry_after);
}
