/* Cutting log bytes into frames. Each decision depends only on the bytes from the frame's own
 * offset on, never on where the caller's chunk happens to begin or end, so that every reader of a
 * sealed log gets the same frames. */
#include "trainyard/logs/frame.h"

#include "trainyard/base/json.h"
#include "trainyard/base/str.h"

static const char *const end_names[] = {
    [TY_FRAME_LINE] = "line",
    [TY_FRAME_REDRAW] = "redraw",
    [TY_FRAME_CUT] = "cut",
    [TY_FRAME_PARTIAL] = "partial",
};

const char *ty_frame_end_name(ty_frame_end end)
{
    return end_names[end];
}

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* How many bytes a sequence with this first byte has; 1 for all that begin none. */
static size_t sequence_len(unsigned char byte)
{
    if (byte >= 0xC2 && byte <= 0xDF)
        return 2;
    if (byte >= 0xE0 && byte <= 0xEF)
        return 3;
    return byte >= 0xF0 && byte <= 0xF4 ? 4 : 1;
}

/* The last place at or before `at` that lies inside no UTF-8 sequence which begins before it. Bytes
 * before `at` are read, those from `at` on are not. */
static size_t whole_before(const char *bytes, size_t at)
{
    for (size_t back = 1; back <= 3 && back <= at; back++) {
        unsigned char byte = (unsigned char)bytes[at - back];
        if (!is_continuation(byte))
            return sequence_len(byte) > back ? at - back : at;
    }
    return at;
}

static size_t find_ending(const char *chunk, size_t len)
{
    const char *feed = memchr(chunk, '\n', len);
    size_t until = feed ? (size_t)(feed - chunk) : len;
    const char *carriage = memchr(chunk, '\r', until);
    return carriage ? (size_t)(carriage - chunk) : until;
}

static bool make_frame(const char *chunk, size_t len, size_t ending, int64_t offset,
                       ty_frame_end end, struct ty_frame *frame_out)
{
    *frame_out = (struct ty_frame){
        .offset = offset,
        .next = offset + (int64_t)(len + ending),
        .end = end,
        .bytes = chunk,
        .len = len,
    };
    return true;
}

/* What stands at the end with no ending: `len` bytes, followed by nothing known but perhaps a "\r".
 */
static bool open_frame(const char *chunk, size_t len, int64_t offset, ty_frames which,
                       struct ty_frame *frame_out)
{
    if (which == TY_FRAMES_ENDED)
        return false;
    size_t take = which == TY_FRAMES_FINAL ? len : whole_before(chunk, len);
    return take > 0 && make_frame(chunk, take, 0, offset, TY_FRAME_PARTIAL, frame_out);
}

bool ty_frame_next(const char *chunk, size_t len, int64_t offset, ty_frames which,
                   struct ty_frame *frame_out)
{
    size_t window = len <= TY_FRAME_MAX ? len : TY_FRAME_MAX + 1;
    size_t at = window > 0 ? find_ending(chunk, window) : 0;
    if (at == window && window <= TY_FRAME_MAX)
        return open_frame(chunk, len, offset, which, frame_out);
    if (at == window)
        return make_frame(chunk, whole_before(chunk, TY_FRAME_MAX), 0, offset, TY_FRAME_CUT,
                          frame_out);
    if (chunk[at] == '\n')
        return make_frame(chunk, at, 1, offset, TY_FRAME_LINE, frame_out);
    if (at + 1 < len)
        return chunk[at + 1] == '\n' ? make_frame(chunk, at, 2, offset, TY_FRAME_LINE, frame_out)
                                     : make_frame(chunk, at, 1, offset, TY_FRAME_REDRAW, frame_out);
    if (which == TY_FRAMES_FINAL)
        return make_frame(chunk, at, 1, offset, TY_FRAME_REDRAW, frame_out);
    return open_frame(chunk, at, offset, which, frame_out);
}

void ty_frame_json(const struct ty_frame *frame, const char *replica, struct ty_buf *out)
{
    struct ty_json_writer writer;
    ty_json_writer_init(&writer, out);
    ty_json_object(&writer);
    ty_json_put_int(&writer, "offset", frame->offset);
    ty_json_put_string(&writer, "replica", replica);
    ty_json_key(&writer, "line");
    ty_json_string_len(&writer, frame->bytes, frame->len);
    ty_json_put_string(&writer, "end", end_names[frame->end]);
    ty_json_end(&writer);
}

void ty_frame_event(const struct ty_frame *frame, const char *replica, struct ty_buf *out)
{
    ty_buf_addf(out, "id: %lld\ndata: ", (long long)frame->next);
    ty_frame_json(frame, replica, out);
    ty_buf_adds(out, "\n\n");
}

ty_status ty_frame_id_parse(const char *text, int64_t *offset_out)
{
    return ty_str_to_int(text, 0, (int64_t)1 << 53, offset_out);
}
