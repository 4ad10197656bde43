#include "trainyard/base/log.h"

#include "trainyard/base/json.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* A message is cut here; a line can be six times as long, when every byte needs an escape. */
enum { MESSAGE_MAX = 2048, LINE_MAX_BYTES = 16384 };

static const char *const level_names[] = {"debug", "info", "warning", "error"};

static bool is_token_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* The length of a token's public front ("ty_u_") at `text`, or 0. */
static size_t token_front(const char *text)
{
    static const char front[] = "ty_";

    if (strncmp(text, front, 3) != 0 || !text[3] || !strchr("usaj", text[3]) || text[4] != '_')
        return 0;
    return is_token_byte(text[5]) ? 5 : 0;
}

/* Blank out the secret part of every token and whatever could steer a terminal or start a new line.
 * The text never gets longer: a token's digits give way to three stars, or fewer when it has fewer.
 */
static void mask(char *text)
{
    char *out = text;

    for (const char *in = text; *in;) {
        size_t front = token_front(in);
        unsigned char c = (unsigned char)*in;

        if (front > 0) {
            memmove(out, in, front);
            out += front;
            in += front;
            for (int stars = 0; is_token_byte(*in); in++) {
                if (stars++ < 3)
                    *out++ = '*';
            }
        } else if (c == 0xc2 && ((unsigned char)in[1] & 0xe0) == 0x80) {
            *out++ = '?'; /* U+0080 to U+009F */
            in += 2;
        } else {
            *out++ = c < 0x20 || c == 0x7f ? '?' : *in;
            in++;
        }
    }
    *out = '\0';
}

static void write_line(int fd, const char *line, size_t len)
{
    while (write(fd, line, len) < 0 && errno == EINTR)
        continue;
}

static void add_json_line(struct ty_buf *line, const char *time, const char *level,
                          const char *event, const char *message)
{
    struct ty_json_writer writer;

    ty_json_writer_init(&writer, line);
    ty_json_object(&writer);
    ty_json_put_string(&writer, "time", time);
    ty_json_put_string(&writer, "level", level);
    ty_json_put_string(&writer, "event", event);
    ty_json_put_string(&writer, "message", message);
    ty_json_end(&writer);
    ty_buf_addc(line, '\n');
}

void ty_log(const struct ty_log *log, ty_log_level level, const char *event, const char *format,
            ...)
{
    char message[MESSAGE_MAX];
    char time[TY_TIME_TEXT];
    struct ty_buf line;
    va_list args;

    if (!log || log->fd < 0 || level < log->level)
        return;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    mask(message);
    ty_time_format(ty_now_us(log->clock), time);
    ty_buf_init(&line, LINE_MAX_BYTES);
    if (ty_str_equal(log->format, "text"))
        ty_buf_addf(&line, "%s %-7s %s: %s\n", time, level_names[level], event, message);
    else
        add_json_line(&line, time, level_names[level], event, message);
    if (!line.failed)
        write_line(log->fd, line.data, line.len);
    ty_buf_done(&line);
}
