#include "text.h"

#include "trainyard/base/clock.h"

#include <inttypes.h>
#include <stdio.h>

static const json_t *member_of(const json_t *object, const char *member)
{
    char name[64];
    const char *dot = strchr(member, '.');
    if (!dot)
        return json_object_get(object, member);
    snprintf(name, sizeof name, "%.*s", (int)(dot - member), member);
    return member_of(json_object_get(object, name), dot + 1);
}

/* "2026-01-02T03:04:05.000006Z" as "2026-01-02 03:04:05". */
static bool shorten_time(const char *text, char *out, size_t size)
{
    int64_t time_us;
    if (strlen(text) != 27 || ty_time_parse(text, &time_us) != TY_OK)
        return false;
    snprintf(out, size, "%.10s %.8s", text, text + 11);
    return true;
}

/* How many bytes at the end of `text` begin a sequence that is not finished. */
static size_t broken_tail(const char *text, size_t len)
{
    size_t back = 0;
    while (back < len && back < 3 && ((unsigned char)text[len - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back == len)
        return 0;
    unsigned char lead = (unsigned char)text[len - 1 - back];
    size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return wanted > back + 1 ? back + 1 : 0;
}

void cli_make_printable(char *text)
{
    size_t len = strlen(text);
    text[len - broken_tail(text, len)] = '\0';
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        /* U+0080 to U+009F, which some terminals obey as well. */
        if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            c[0] = c[1] = '?';
        else if (*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
}

static void add_part(char *out, size_t size, const char *key, const json_t *value)
{
    char number[32];
    const char *text = "…";
    size_t used = strlen(out);
    if (json_is_string(value)) {
        text = json_string_value(value);
    } else if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        text = number;
    } else if (json_is_boolean(value)) {
        text = json_is_true(value) ? "yes" : "no";
    } else if (json_is_null(value)) {
        text = "-";
    } else if (json_is_string(json_object_get(value, "code"))) {
        text = json_string_value(json_object_get(value, "code")); /* a warning */
    }
    snprintf(out + used, size - used, "%s%s%s%s", used > 0 ? "," : "", key ? key : "",
             key ? "=" : "", text);
}

static void join(const json_t *value, char *out, size_t size)
{
    size_t index;
    const char *key;
    json_t *item;
    out[0] = '\0';
    json_array_foreach((json_t *)(uintptr_t)value, index, item)
    {
        add_part(out, size, NULL, item);
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        add_part(out, size, key, item);
    }
    if (out[0] == '\0')
        ty_str_copy(out, size, "-");
}

const char *cli_text(const json_t *object, const char *member, char *out, size_t size)
{
    const json_t *value = member_of(object, member);
    if (json_is_string(value)) {
        const char *text = json_string_value(value);
        if (!shorten_time(text, out, size))
            ty_str_copy(out, size, text[0] != '\0' ? text : "-");
    } else if (json_is_integer(value)) {
        snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        snprintf(out, size, "%.15g", json_real_value(value));
    } else if (json_is_boolean(value)) {
        ty_str_copy(out, size, json_is_true(value) ? "yes" : "no");
    } else if (json_is_array(value) || json_is_object(value)) {
        join(value, out, size);
    } else {
        ty_str_copy(out, size, "-");
    }
    cli_make_printable(out);
    return out;
}

size_t cli_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

void cli_shorten(char *text, size_t size, size_t width)
{
    static const char sign[] = "…";
    size_t kept = 0;
    char *cut = text;
    if (width == 0 || cli_width(text) <= width)
        return;
    for (; kept < width; cut++)
        kept += ((unsigned char)*cut & 0xc0) != 0x80;
    cut--; /* at the first byte of the last column kept */
    ty_str_copy(cut, size - (size_t)(cut - text), sign);
}

void cli_size_text(int64_t bytes, char out[SIZE_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double size = (double)bytes;
    size_t unit = 0;
    while (size >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        size /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(out, SIZE_TEXT, "%" PRId64 " B", bytes);
    else
        snprintf(out, SIZE_TEXT, "%.*f %s", size < 99.95 ? 1 : 0, size, units[unit]);
}

void cli_duration_text(int64_t seconds, char out[DURATION_TEXT])
{
    int64_t minutes = seconds / 60;
    int64_t hours = minutes / 60;
    int64_t days = hours / 24;
    if (days > 0)
        snprintf(out, DURATION_TEXT, "%" PRId64 "d%02" PRId64 "h", days, hours % 24);
    else if (hours > 0)
        snprintf(out, DURATION_TEXT, "%" PRId64 "h%02" PRId64 "m", hours, minutes % 60);
    else if (minutes > 0)
        snprintf(out, DURATION_TEXT, "%" PRId64 "m%02" PRId64 "s", minutes, seconds % 60);
    else
        snprintf(out, DURATION_TEXT, "%" PRId64 "s", seconds);
}
