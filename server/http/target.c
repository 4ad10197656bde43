/* A target is split first and decoded per piece afterwards, so that an encoded slash, question mark
 * or ampersand never becomes a separator. Nothing is normalised: what a proxy in front could read
 * differently is refused. */
#include "target.h"

#include "fields.h"

#include "trainyard/base/str.h"

/* Where decoded text is written, one NUL-ended piece after the other. */
struct writer {
    char *at;
};

/* Decode [from, end) behind the writer. Returns the piece, or NULL with the reason. `form`: '+' is
 * a blank. */
static const char *decode(struct writer *writer, const char *from, const char *end, bool form,
                          const char **reason)
{
    char *start = writer->at;
    char *out = start;

    for (const char *in = from; in < end; in++) {
        if (*in == '%') {
            int high = end - in > 2 ? ty_hex_digit((unsigned char)in[1]) : -1;
            int low = end - in > 2 ? ty_hex_digit((unsigned char)in[2]) : -1;

            if (high < 0 || low < 0) {
                *reason = "an escape is not % and two hexadecimal digits";
                return NULL;
            }
            if (high == 0 && low == 0) {
                *reason = "the target holds an encoded NUL";
                return NULL;
            }
            *out++ = (char)(high * 16 + low);
            in += 2;
        } else {
            *out++ = form && *in == '+' ? ' ' : *in;
        }
    }
    *out = '\0';
    if (form && !ty_utf8_valid(start, (size_t)(out - start))) {
        *reason = "the decoded query is not UTF-8";
        return NULL;
    }
    writer->at = out + 1;
    return start;
}

static const char *parse_path(struct writer *writer, const char *path, const char *end,
                              struct ty_target *target)
{
    const char *reason = NULL;

    for (const char *at = path; at < end;) {
        const char *start = at + 1; /* past the '/' */
        const char *slash = memchr(start, '/', (size_t)(end - start));
        const char *stop = slash ? slash : end;
        const char *segment;

        if (target->segment_count == TY_TARGET_SEGMENTS)
            return "the path has too many segments";
        segment = decode(writer, start, stop, false, &reason);
        if (!segment)
            return reason;
        if (ty_str_equal(segment, ".") || ty_str_equal(segment, ".."))
            return "the path holds a `.` or `..` segment";
        target->encoded_slash[target->segment_count] = strchr(segment, '/') != NULL;
        target->segments[target->segment_count++] = segment;
        at = stop;
    }
    return NULL;
}

static const char *parse_query(struct writer *writer, const char *query, struct ty_parameter *out,
                               struct ty_target *target)
{
    const char *reason = NULL;

    target->parameters = out;
    for (const char *at = query; *at;) {
        size_t len = strcspn(at, "&");
        const char *equals = memchr(at, '=', len);
        const char *name_end = equals ? equals : at + len;
        struct ty_parameter *parameter = &out[target->parameter_count];

        if (len > 0) { /* "a=1&&b=2" has two */
            if (target->parameter_count == TY_TARGET_PARAMETERS)
                return "the query has too many parameters";
            parameter->name = decode(writer, at, name_end, true, &reason);
            if (!parameter->name)
                return reason;
            parameter->value = equals ? decode(writer, equals + 1, at + len, true, &reason) : "";
            if (!parameter->value)
                return reason;
            target->parameter_count++;
        }
        at += len;
        if (*at == '&')
            at++;
    }
    return NULL;
}

size_t ty_target_parameter_bound(const char *target)
{
    const char *query = strchr(target, '?');
    size_t bound = 0;

    if (!query)
        return 0;
    for (const char *at = query; at; at = strchr(at + 1, '&'))
        bound++;
    return bound < TY_TARGET_PARAMETERS ? bound : TY_TARGET_PARAMETERS;
}

ty_status ty_target_parse(const char *target, char *work, struct ty_parameter *parameters,
                          struct ty_target *target_out, struct ty_error *err)
{
    struct writer writer = {work};
    struct ty_target parsed = {0};
    bool absolute = strncasecmp(target, "http://", 7) == 0;
    const char *path = absolute ? target + 7 + strcspn(target + 7, "/?") : target;
    size_t path_len = strcspn(path, "?");
    const char *reason = NULL;

    parsed.asterisk = ty_str_equal(target, "*");
    if (*path != '/' && !parsed.asterisk && !(absolute && path_len == 0))
        return ty_fail_code(err, TY_INVALID, "bad_target", "the target must be an absolute path");
    memcpy(writer.at, path, path_len);
    writer.at[path_len] = '\0';
    parsed.path = path_len ? writer.at : "/";
    writer.at += path_len + 1;

    if (path_len == 0)
        parsed.segments[parsed.segment_count++] = "";
    else if (!parsed.asterisk)
        reason = parse_path(&writer, path, path + path_len, &parsed);
    if (!reason && path[path_len] == '?')
        reason = parse_query(&writer, path + path_len + 1, parameters, &parsed);
    if (reason)
        return ty_fail_code(err, TY_INVALID, "bad_target", "%s", reason);
    *target_out = parsed;
    return TY_OK;
}
