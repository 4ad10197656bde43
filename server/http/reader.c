#include "reader.h"

#include "fields.h"
#include "trainyard/base/str.h"

enum {
    CHUNK_LINE_MAX = 256,  /* H26: extensions */
    CHUNK_DIGITS_MAX = 15, /* below 2^60: no overflow anywhere */
    TRAILER_MAX = 8192
};

/* What is left to read, and where the output goes. */
struct pass {
    const char *in;
    size_t len;
    char *out;
    size_t out_len;
};

void ty_reader_init(struct ty_reader *reader, const struct ty_reader_limits *limits)
{
    memset(reader, 0, sizeof *reader);
    reader->limits = limits;
}

static void destroy_list(struct ty_head *head)
{
    while (head) {
        struct ty_head *next = head->next;

        ty_head_destroy(head);
        head = next;
    }
}

void ty_reader_done(struct ty_reader *reader)
{
    ty_head_destroy(reader->filling);
    destroy_list(reader->ready_first);
    destroy_list(reader->spare);
    reader->filling = NULL;
    reader->ready_first = NULL;
    reader->ready_last = NULL;
    reader->spare = NULL;
}

struct ty_head *ty_reader_take(struct ty_reader *reader)
{
    struct ty_head *head = reader->ready_first;

    if (head) {
        reader->ready_first = head->next;
        if (!reader->ready_first)
            reader->ready_last = NULL;
        head->next = NULL;
    }
    return head;
}

void ty_reader_give(struct ty_reader *reader, struct ty_head *head)
{
    if (reader->spare) { /* one is enough for a client that does not pipeline */
        ty_head_destroy(head);
        return;
    }
    ty_head_clear(head);
    reader->spare = head;
}

static void stop(struct ty_reader *reader, const char *code, const char *detail)
{
    reader->phase = TY_READ_FAULT;
    reader->fault = (struct ty_wire_fault){code, detail};
}

static void emit(struct pass *pass, const void *bytes, size_t len)
{
    memmove(pass->out + pass->out_len, bytes, len);
    pass->out_len += len;
}

static void emit_text(struct pass *pass, const char *text)
{
    emit(pass, text, strlen(text));
}

static void skip(struct pass *pass, size_t len)
{
    pass->in += len;
    pass->len -= len;
}

static void end_message(struct ty_reader *reader)
{
    reader->phase = reader->last ? TY_READ_DONE : TY_READ_AWAIT;
    reader->blank = TY_BLANK_NONE;
}

/* ---- heads ---- */

static void emit_number(struct pass *pass, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    emit(pass, digits + at, sizeof digits - at);
}

/* The head as the library sees it. Its method matters only in that the answer to HEAD has no body.
 */
static void emit_head(struct ty_reader *reader, struct pass *pass, const struct ty_head *head)
{
    emit_text(pass, head->method == TY_METHOD_HEAD ? "HEAD / HTTP/1." : "G / HTTP/1.");
    emit_text(pass, head->http10 ? "0\r\n" : "1\r\nHost:h\r\n");
    if (head->chunked) {
        emit_text(pass, "Transfer-Encoding:chunked\r\n");
    } else if (head->content_length) {
        emit_text(pass, "Content-Length:");
        emit_number(pass, head->content_length);
        emit_text(pass, "\r\n");
    }
    if (head->expect_continue)
        emit_text(pass, "Expect:100-continue\r\n");
    if (reader->last)
        emit_text(pass, "Connection:close\r\n");
    else if (head->http10)
        emit_text(pass, "Connection:keep-alive\r\n");
    emit_text(pass, "\r\n");
}

static void finish_head(struct ty_reader *reader, struct pass *pass)
{
    struct ty_head *head = reader->filling;

    if (!ty_head_parse(head, &reader->fault)) {
        /* the method's blank may have become a NUL already */
        reader->fault_on_head_method = ty_str_starts(head->raw.data, "HEAD");
        reader->phase = TY_READ_FAULT;
        return;
    }
    reader->requests++;
    reader->last = head->close || reader->requests >= reader->limits->requests;
    emit_head(reader, pass, head);

    reader->filling = NULL;
    if (reader->ready_last)
        reader->ready_last->next = head;
    else
        reader->ready_first = head;
    reader->ready_last = head;

    if (head->chunked) {
        reader->phase = TY_READ_CHUNK;
        reader->chunk = TY_CHUNK_SIZE;
        reader->line_bytes = 0;
        reader->size_digits = 0;
        reader->left = 0;
    } else if (head->content_length) {
        reader->phase = TY_READ_BODY;
        reader->left = head->content_length;
    } else {
        end_message(reader);
    }
}

/* A line of the head is complete in `raw`. */
static void end_line(struct ty_reader *reader, struct pass *pass)
{
    const struct ty_buf *raw = &reader->filling->raw;
    size_t len = raw->len - reader->line_start;
    bool first = reader->line_start == 0;

    if (len < 2 || raw->data[raw->len - 2] != '\r') {
        stop(reader, first ? "bad_request_line" : "bad_header",
             "a line ends with a bare line feed");
        return;
    }
    if (len == 2) {
        finish_head(reader, pass);
        return;
    }
    reader->lines++;
    if (reader->lines > reader->limits->fields + 1) {
        stop(reader, "headers_too_large", "the request has too many header fields");
        return;
    }
    reader->line_start = raw->len;
}

/* Whether `more` bytes still fit the limits; stops the reader when they do not. */
static bool fits(struct ty_reader *reader, size_t more)
{
    const struct ty_buf *raw = &reader->filling->raw;
    size_t line = raw->len - reader->line_start + more;
    bool first = reader->line_start == 0;
    enum { AROUND_TARGET = 7 + 1 + 1 + 8 + 2 }; /* OPTIONS, blanks, HTTP/1.1, CR LF */

    if (first && line > reader->limits->target_bytes + AROUND_TARGET) {
        stop(reader, "target_too_long", NULL);
        return false;
    }
    if (raw->len + more > reader->limits->head_bytes) {
        stop(reader, "headers_too_large", "the request head is too long");
        return false;
    }
    return true;
}

static void start_head(struct ty_reader *reader)
{
    reader->filling =
        reader->spare ? reader->spare : ty_head_create(reader->limits->head_bytes + 1);
    reader->spare = NULL;
    reader->lines = 0;
    reader->line_start = 0;
    reader->fault_on_head_method = false;
    reader->phase = TY_READ_HEAD;
    if (!reader->filling)
        stop(reader, "out_of_memory", NULL);
}

static void read_head(struct ty_reader *reader, struct pass *pass)
{
    const char *newline = memchr(pass->in, '\n', pass->len);
    size_t take = newline ? (size_t)(newline - pass->in) + 1 : pass->len;

    if (!fits(reader, take))
        return;
    ty_buf_add(&reader->filling->raw, pass->in, take);
    if (reader->filling->raw.failed) {
        stop(reader, "out_of_memory", NULL);
        return;
    }
    skip(pass, take);
    if (newline)
        end_line(reader, pass);
}

/* Between messages: one empty line is passed over (RFC 9112 2.2), then a head begins. */
static void read_await(struct ty_reader *reader, struct pass *pass)
{
    char c = *pass->in;

    if (reader->blank == TY_BLANK_NONE && c == '\r') {
        reader->blank = TY_BLANK_CR;
        skip(pass, 1);
    } else if (reader->blank == TY_BLANK_CR && c == '\n') {
        reader->blank = TY_BLANK_LINE;
        skip(pass, 1);
    } else if (reader->blank == TY_BLANK_CR || c == '\r' || c == '\n') {
        stop(reader, "bad_request_line", "more than one empty line before the request");
    } else {
        start_head(reader);
    }
}

/* ---- bodies ---- */

static void read_body(struct ty_reader *reader, struct pass *pass)
{
    size_t take = pass->len < reader->left ? pass->len : (size_t)reader->left;

    emit(pass, pass->in, take);
    skip(pass, take);
    reader->left -= take;
    if (reader->left == 0)
        end_message(reader);
}

/* One byte of the line before a chunk. */
static void read_size(struct ty_reader *reader, struct pass *pass, unsigned char c)
{
    int digit = ty_hex_digit(c);

    if (reader->chunk == TY_CHUNK_SIZE && digit >= 0) {
        if (++reader->size_digits > CHUNK_DIGITS_MAX) {
            stop(reader, "bad_chunk", "a chunk size has too many digits");
            return;
        }
        reader->left = reader->left * 16 + (uint64_t)digit;
        emit(pass, &c, 1);
    } else if (reader->size_digits == 0) {
        stop(reader, "bad_chunk", "a chunk size is not a hexadecimal number");
    } else if (c == '\r') {
        reader->chunk = TY_CHUNK_SIZE_LF;
    } else if (reader->chunk == TY_CHUNK_SIZE && c != ';') {
        stop(reader, "bad_chunk", "a chunk size is not a hexadecimal number");
    } else if (!ty_is_value_byte(c) || ++reader->line_bytes > CHUNK_LINE_MAX) {
        stop(reader, "bad_chunk", "a chunk extension is too long or holds a control byte");
    } else {
        reader->chunk = TY_CHUNK_EXTENSION;
    }
}

static void end_size(struct ty_reader *reader, struct pass *pass, unsigned char c)
{
    if (c != '\n') {
        stop(reader, "bad_chunk", "a chunk line does not end with CR LF");
        return;
    }
    emit_text(pass, "\r\n");
    reader->chunk = reader->left ? TY_CHUNK_DATA : TY_CHUNK_LINE;
    reader->line_bytes = 0;
    reader->size_digits = 0;
}

static void end_data(struct ty_reader *reader, struct pass *pass, unsigned char c)
{
    bool cr = reader->chunk == TY_CHUNK_DATA_CR;

    if (c != (cr ? '\r' : '\n')) {
        stop(reader, "bad_chunk", "a chunk is longer or shorter than its size");
        return;
    }
    reader->chunk = cr ? TY_CHUNK_DATA_LF : TY_CHUNK_SIZE;
    emit(pass, &c, 1);
}

/* One byte behind the last chunk: trailer fields are judged like any and dropped (RFC 9110 6.5 lets
 * us). */
static void read_trailer(struct ty_reader *reader, struct pass *pass, unsigned char c)
{
    bool good = ++reader->line_bytes <= TRAILER_MAX;

    switch (reader->chunk) {
    case TY_CHUNK_LINE:
        good = good && (c == '\r' || ty_is_tchar(c));
        reader->chunk = c == '\r' ? TY_CHUNK_END_LF : TY_CHUNK_NAME;
        break;
    case TY_CHUNK_NAME:
        good = good && (c == ':' || ty_is_tchar(c));
        reader->chunk = c == ':' ? TY_CHUNK_VALUE : TY_CHUNK_NAME;
        break;
    case TY_CHUNK_VALUE:
        good = good && (c == '\r' || ty_is_value_byte(c));
        reader->chunk = c == '\r' ? TY_CHUNK_VALUE_LF : TY_CHUNK_VALUE;
        break;
    default: /* after a CR */
        good = good && c == '\n';
        if (good && reader->chunk == TY_CHUNK_END_LF) {
            emit_text(pass, "\r\n");
            end_message(reader);
        }
        reader->chunk = TY_CHUNK_LINE;
        break;
    }
    if (!good)
        stop(reader, "bad_chunk", "the trailer section is not made of header fields");
}

static void read_chunk_byte(struct ty_reader *reader, struct pass *pass)
{
    unsigned char c = (unsigned char)*pass->in;

    skip(pass, 1);
    switch (reader->chunk) {
    case TY_CHUNK_SIZE:
    case TY_CHUNK_EXTENSION:
        read_size(reader, pass, c);
        break;
    case TY_CHUNK_SIZE_LF:
        end_size(reader, pass, c);
        break;
    case TY_CHUNK_DATA_CR:
    case TY_CHUNK_DATA_LF:
        end_data(reader, pass, c);
        break;
    default:
        read_trailer(reader, pass, c);
        break;
    }
}

static void read_chunk(struct ty_reader *reader, struct pass *pass)
{
    size_t take;

    if (reader->chunk != TY_CHUNK_DATA) {
        read_chunk_byte(reader, pass);
        return;
    }
    take = pass->len < reader->left ? pass->len : (size_t)reader->left;
    emit(pass, pass->in, take);
    skip(pass, take);
    reader->left -= take;
    if (reader->left == 0)
        reader->chunk = TY_CHUNK_DATA_CR;
}

size_t ty_reader_feed(struct ty_reader *reader, const char *in, size_t len, char *out)
{
    struct pass pass = {in, len, out, 0};

    while (pass.len) {
        switch (reader->phase) {
        case TY_READ_AWAIT:
            read_await(reader, &pass);
            break;
        case TY_READ_HEAD:
            read_head(reader, &pass);
            break;
        case TY_READ_BODY:
            read_body(reader, &pass);
            break;
        case TY_READ_CHUNK:
            read_chunk(reader, &pass);
            break;
        default:
            pass.len = 0;
            break;
        }
    }
    return pass.out_len;
}
