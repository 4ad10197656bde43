/* Any bytes as what a client sends: however they are cut into packets, the reader must pass on the
 * same bytes, keep the same heads and stop for the same reason; and what it passes on must be its
 * own normal form. */
#include "../../server/http/reader.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ty_reader_limits limits = {
    .head_bytes = 1024, .target_bytes = 128, .fields = 12, .requests = 5};

struct run {
    struct ty_reader reader;
    struct ty_buf out;
};

static void feed(struct run *run, const uint8_t *data, size_t size, size_t step)
{
    ty_reader_init(&run->reader, &limits);
    ty_buf_init(&run->out, size + 4096);
    for (size_t at = 0; at < size; at += step) {
        size_t take = size - at < step ? size - at : step;
        char *room = malloc(TY_READER_RESERVE + take); /* exact, so that a byte beyond is found */
        size_t got;

        if (!room)
            abort();
        memcpy(room + TY_READER_RESERVE, data + at, take);
        got = ty_reader_feed(&run->reader, room + TY_READER_RESERVE, take, room);
        if (got > TY_READER_RESERVE + take)
            abort();
        ty_buf_add(&run->out, room, got);
        free(room);
    }
}

static void compare_heads(struct ty_head *a, struct ty_head *b)
{
    if (!a != !b)
        abort();
    if (!a)
        return;
    if (a->method != b->method || strcmp(a->target, b->target) != 0 ||
        a->field_count != b->field_count || a->content_length != b->content_length ||
        a->chunked != b->chunked || a->close != b->close)
        abort();
    for (unsigned i = 0; i < a->field_count; i++)
        if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
            strcmp(a->fields[i].value, b->fields[i].value) != 0)
            abort();
}

static void compare(struct run *a, struct run *b)
{
    bool more = true;

    if (a->out.len != b->out.len ||
        (a->out.len && memcmp(a->out.data, b->out.data, a->out.len) != 0))
        abort();
    if (a->reader.phase != b->reader.phase || a->reader.requests != b->reader.requests)
        abort();
    if (a->reader.fault.code != b->reader.fault.code) /* the same static text */
        if (!a->reader.fault.code || !b->reader.fault.code ||
            strcmp(a->reader.fault.code, b->reader.fault.code) != 0)
            abort();
    while (more) {
        struct ty_head *x = ty_reader_take(&a->reader);
        struct ty_head *y = ty_reader_take(&b->reader);

        compare_heads(x, y);
        more = x != NULL;
        ty_head_destroy(x);
        ty_head_destroy(y);
    }
}

/* No head of a client's reaches the library: what is passed on starts with a normal form. */
static void check_form(const struct run *run)
{
    const char *out = run->out.data;

    if (run->out.len == 0)
        return;
    if (strncmp(out, "G / HTTP/1.", 11) != 0 && strncmp(out, "HEAD / HTTP/1.", 14) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run whole;
    struct run cut;
    size_t step;

    if (size < 2)
        return 0;
    step = 1 + data[0] % 16;
    data++;
    size--;
    feed(&whole, data, size, size);
    feed(&cut, data, size, step);
    check_form(&whole);
    compare(&whole, &cut);
    ty_reader_done(&whole.reader);
    ty_reader_done(&cut.reader);
    ty_buf_done(&whole.out);
    ty_buf_done(&cut.out);
    return 0;
}
