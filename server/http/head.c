/* The head is cut in place: NULs replace the blanks, colons and line ends between its parts, so
 * that every part is text without a copy. A rule broken anywhere refuses the whole request: what
 * two readers could understand differently is a way to smuggle (RFC 9112 11.2). */
#include "head.h"

#include "fields.h"
#include "trainyard/base/str.h"

#include <stdlib.h>

/* Sorted by nothing but meaning: a field's name finds its row by length first. `single` fields may
 * not repeat. */
static const struct {
    const char *name;
    unsigned char len;
    bool single;
} known_fields[TY_FIELD_KNOWN] = {
    [TY_FIELD_ACCEPT] = {"Accept",                        6,  false},
    [TY_FIELD_ACCEPT_ENCODING] = {"Accept-Encoding",               15, false},
    [TY_FIELD_AUTHORIZATION] = {"Authorization",                 13, true },
    [TY_FIELD_CONNECTION] = {"Connection",                    10, false},
    [TY_FIELD_CONTENT_ENCODING] = {"Content-Encoding",              16, true },
    [TY_FIELD_CONTENT_LENGTH] = {"Content-Length",                14, true },
    [TY_FIELD_CONTENT_TYPE] = {"Content-Type",                  12, true },
    [TY_FIELD_CORS_METHOD] = {"Access-Control-Request-Method", 29, true },
    [TY_FIELD_EXPECT] = {"Expect",                        6,  true },
    [TY_FIELD_HOST] = {"Host",                          4,  true },
    [TY_FIELD_IDEMPOTENCY_KEY] = {"Idempotency-Key",               15, true },
    [TY_FIELD_IF_MATCH] = {"If-Match",                      8,  false},
    [TY_FIELD_IF_NONE_MATCH] = {"If-None-Match",                 13, false},
    [TY_FIELD_IF_RANGE] = {"If-Range",                      8,  true },
    [TY_FIELD_LAST_EVENT_ID] = {"Last-Event-ID",                 13, true },
    [TY_FIELD_ORIGIN] = {"Origin",                        6,  true },
    [TY_FIELD_RANGE] = {"Range",                         5,  true },
    [TY_FIELD_TENANT] = {"Trainyard-Tenant",              16, true },
    [TY_FIELD_TRACEPARENT] = {"traceparent",                   11, false},
    [TY_FIELD_TRACESTATE] = {"tracestate",                    10, false},
    [TY_FIELD_TRANSFER_ENCODING] = {"Transfer-Encoding",             17, true },
};

static const struct {
    const char *name;
    unsigned char len;
} methods[TY_METHOD_COUNT] = {
    [TY_METHOD_GET] = {"GET",     3},
      [TY_METHOD_HEAD] = {"HEAD",    4},
    [TY_METHOD_POST] = {"POST",    4},
      [TY_METHOD_PUT] = {"PUT",     3},
    [TY_METHOD_PATCH] = {"PATCH",   5},
      [TY_METHOD_DELETE] = {"DELETE",  6},
    [TY_METHOD_OPTIONS] = {"OPTIONS", 7},
      [TY_METHOD_TRACE] = {"TRACE",   5},
    [TY_METHOD_CONNECT] = {"CONNECT", 7},
      [TY_METHOD_QUERY] = {"QUERY",   5},
};

const char *ty_method_name(ty_method method)
{
    return method < TY_METHOD_COUNT ? methods[method].name : "";
}

static bool fail(struct ty_wire_fault *fault, const char *code, const char *detail)
{
    *fault = (struct ty_wire_fault){code, detail};
    return false;
}

struct ty_head *ty_head_create(size_t max_bytes)
{
    struct ty_head *head = calloc(1, sizeof *head);

    if (head)
        ty_buf_init(&head->raw, max_bytes);
    return head;
}

void ty_head_destroy(struct ty_head *head)
{
    if (!head)
        return;
    ty_buf_done(&head->raw);
    free(head->fields);
    free(head);
}

void ty_head_clear(struct ty_head *head)
{
    struct ty_buf raw = head->raw;
    struct ty_parameter *fields = head->fields;
    unsigned capacity = head->field_capacity;

    memset(head, 0, sizeof *head);
    ty_buf_clear(&raw);
    head->raw = raw;
    head->fields = fields;
    head->field_capacity = capacity;
}

static ty_method find_method(const char *token, size_t len)
{
    for (unsigned i = 0; i < TY_METHOD_COUNT; i++)
        if (methods[i].len == len && memcmp(methods[i].name, token, len) == 0)
            return (ty_method)i;
    return TY_METHOD_COUNT;
}

/* "HTTP/d.d": true with the version, both digits. */
static bool parse_version(const char *text, size_t len, int *major_out, int *minor_out)
{
    if (len != 8 || memcmp(text, "HTTP/", 5) != 0 || text[6] != '.' || text[5] < '0' ||
        text[5] > '9' || text[7] < '0' || text[7] > '9')
        return false;
    *major_out = text[5] - '0';
    *minor_out = text[7] - '0';
    return true;
}

/* The request line is [line, end), its CR LF cut off already. */
static bool parse_request_line(struct ty_head *head, char *line, char *end,
                               struct ty_wire_fault *fault)
{
    char *at = line;
    char *target;
    int major;
    int minor;

    while (at < end && ty_is_tchar((unsigned char)*at))
        at++;
    if (at == line || at == end || *at != ' ')
        return fail(fault, "bad_request_line",
                    "the request line must start with a method and a blank");
    head->method = find_method(line, (size_t)(at - line));
    *at++ = '\0';
    target = at;
    while (at < end && (ty_byte_classes[(unsigned char)*at] & TY_BYTE_TARGET))
        at++;
    if (at == target || at == end)
        return fail(fault, "bad_request_line", "the request line must be METHOD target HTTP/1.1");
    if (*at != ' ')
        return fail(fault, "bad_target", "the target holds a byte that must be percent-encoded");
    *at++ = '\0';
    if (!parse_version(at, (size_t)(end - at), &major, &minor))
        return fail(fault, "bad_request_line", "the request line must end with HTTP/1.1");
    if (major != 1)
        return fail(fault, "version_not_supported", NULL);
    head->target = target;
    head->http10 = minor == 0;
    return true;
}

ty_field_id ty_field_find(const char *name, size_t len)
{
    unsigned i = 0;

    while (i < TY_FIELD_KNOWN &&
           (known_fields[i].len != len || (known_fields[i].name[0] | 0x20) != (name[0] | 0x20) ||
            strncasecmp(known_fields[i].name, name, len) != 0))
        i++;
    return (ty_field_id)i;
}

/* Remember a field the server knows; false when it may not be given twice. */
static bool note_known(struct ty_head *head, const char *name, size_t len, const char *value)
{
    ty_field_id id = ty_field_find(name, len);

    if (id == TY_FIELD_KNOWN)
        return true;
    if (head->known[id]) {
        head->repeated |= 1u << id;
        return !known_fields[id].single;
    }
    head->known[id] = value;
    return true;
}

static bool add_field(struct ty_head *head, const char *name, const char *value)
{
    if (head->field_count == head->field_capacity) {
        unsigned capacity = head->field_capacity ? head->field_capacity * 2 : 16;
        struct ty_parameter *fields = realloc(head->fields, capacity * sizeof *fields);

        if (!fields)
            return false;
        head->fields = fields;
        head->field_capacity = capacity;
    }
    head->fields[head->field_count++] = (struct ty_parameter){name, value};
    return true;
}

/* Whether none of eight bytes is a control byte (then all are value bytes; a tab is looked at one
 * by one). */
static bool eight_value_bytes(const char *at)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t tops = ones << 7;
    uint64_t word;
    uint64_t del;

    memcpy(&word, at, sizeof word);
    del = word ^ (ones * 0x7f);
    return !((((word - ones * 0x20) & ~word) | ((del - ones) & ~del)) & tops);
}

/* The first byte in [at, end) that may not stand in a value, or `end`. */
static char *skip_value(char *at, const char *end)
{
    for (; at < end; at++) {
        while (end - at >= 8 && eight_value_bytes(at))
            at += 8;
        if (at == end || !ty_is_value_byte((unsigned char)*at))
            break;
    }
    return at;
}

/* One field line [line, end) without its CR LF. */
static bool parse_field(struct ty_head *head, char *line, char *end, struct ty_wire_fault *fault)
{
    char *at = line;
    char *value;
    size_t name_len;

    if (*line == ' ' || *line == '\t')
        return fail(fault, "bad_header", "a header field is folded over two lines");
    while (at < end && ty_is_tchar((unsigned char)*at))
        at++;
    if (at == line || at == end || *at != ':')
        return fail(fault, "bad_header", "a header field must be a name, a colon and a value");
    name_len = (size_t)(at - line);
    *at++ = '\0';
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    value = at;
    if (skip_value(at, end) < end)
        return fail(fault, "bad_header", "a header field's value holds a control byte");
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    if (!note_known(head, line, name_len, value))
        return fail(fault, "bad_header", "a header field that has one value is given twice");
    if (!add_field(head, line, value))
        return fail(fault, "out_of_memory", NULL);
    return true;
}

bool ty_host_valid(const char *text)
{
    size_t len = 0;
    size_t digits;

    if (*text == '[') {
        len = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
        if (len < 3 || text[len] != ']')
            return false;
        len++;
    } else {
        while (ty_byte_classes[(unsigned char)text[len]] & TY_BYTE_HOST)
            len++;
        if (len == 0)
            return false;
    }
    if (text[len] == '\0')
        return true;
    if (text[len] != ':')
        return false;
    digits = strspn(text + len + 1, "0123456789");
    return digits <= 5 && text[len + 1 + digits] == '\0';
}

static bool check_length(struct ty_head *head, const char *text, struct ty_wire_fault *fault)
{
    uint64_t value = 0;

    if (!*text || strspn(text, "0123456789") != strlen(text) || (text[0] == '0' && text[1]))
        return fail(fault, "bad_content_length", NULL);
    if (strlen(text) > 18)
        return fail(fault, "body_too_large", "the body is larger than any operation takes");
    for (; *text; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    head->content_length = value;
    return true;
}

/* How the body is framed (RFC 9112 6.3), and by nothing ambiguous. */
static bool check_framing(struct ty_head *head, struct ty_wire_fault *fault)
{
    const char *coding = head->known[TY_FIELD_TRANSFER_ENCODING];
    const char *length = head->known[TY_FIELD_CONTENT_LENGTH];

    if (coding && length)
        return fail(fault, "bad_content_length",
                    "Content-Length and Transfer-Encoding exclude each other");
    if (coding && head->http10)
        return fail(fault, "bad_transfer_encoding", "HTTP/1.0 has no Transfer-Encoding");
    if (coding && strcasecmp(coding, "chunked") != 0)
        return fail(fault, "bad_transfer_encoding", NULL);
    head->chunked = coding != NULL;
    return !length || check_length(head, length, fault);
}

/* The host that an absolute target names ("http://host/path") must be Host's (RFC 9112 3.2.2 would
 * let it win: we take no sides). */
static bool same_host(const char *target, const char *host)
{
    size_t len;

    if (strncasecmp(target, "http://", 7) != 0)
        return true;
    target += 7;
    len = strcspn(target, "/?");
    return host ? strlen(host) == len && strncasecmp(target, host, len) == 0
                : len > 0 && !memchr(target, '@', len);
}

static bool check_fields(struct ty_head *head, struct ty_wire_fault *fault)
{
    const char *host = head->known[TY_FIELD_HOST];
    const char *connection = head->known[TY_FIELD_CONNECTION];
    const char *expect = head->known[TY_FIELD_EXPECT];

    if (!host && !head->http10)
        return fail(fault, "bad_host", "HTTP/1.1 requests name their host");
    if (host && !ty_host_valid(host))
        return fail(fault, "bad_host", NULL);
    if (!same_host(head->target, host))
        return fail(fault, "bad_host", "the target and Host name different hosts");
    if (!check_framing(head, fault))
        return false;
    if (expect && !head->http10) {
        head->expect_continue = strcasecmp(expect, "100-continue") == 0;
        head->expect_unknown = !head->expect_continue;
    }
    head->close = head->http10;
    for (unsigned i = 0; connection && i < head->field_count; i++) {
        const struct ty_parameter *field = &head->fields[i];

        if (strcasecmp(field->name, "Connection") != 0)
            continue;
        if (ty_list_has(field->value, "close")) {
            head->close = true;
            break;
        }
        if (head->http10 && ty_list_has(field->value, "keep-alive"))
            head->close = false;
    }
    return true;
}

bool ty_head_parse(struct ty_head *head, struct ty_wire_fault *fault_out)
{
    char *at = head->raw.data;
    char *end = at + head->raw.len - 2; /* the empty line */
    bool first = true;

    while (at < end) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        char *line_end;

        if (!stop)
            return fail(fault_out, "bad_header", NULL);
        line_end = stop - 1; /* the CR */
        if (first ? !parse_request_line(head, at, line_end, fault_out)
                  : !parse_field(head, at, line_end, fault_out))
            return false;
        first = false;
        at = stop + 1;
    }
    if (first)
        return fail(fault_out, "bad_request_line", NULL);
    return check_fields(head, fault_out);
}
