/* Any bytes as a log: frames follow one another without gap or overlap, their repaired text is that
 * of the whole, the JSON is JSON, and a follower that sees the log in pieces gets the same. The
 * first byte says how large the pieces are. */
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/logs/frame.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_json(const struct ty_frame *frame)
{
    ty_auto_buf out = {0};
    ty_buf_init(&out, 6 * TY_FRAME_MAX + 256);
    ty_frame_json(frame, "worker-0", &out);
    require(out.failed == TY_OK);
    require(!memchr(out.data, '\n', out.len) && ty_utf8_valid(out.data, out.len));
    ty_auto_json json =
        json_loadb(out.data, out.len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    require(json != NULL);
    require(json_integer_value(json_object_get(json, "offset")) == frame->offset);
}

/* Append each frame's repaired text and ending. */
static void take_frames(const char *log, size_t len, size_t piece, ty_frames meanwhile,
                        struct ty_buf *out)
{
    size_t at = 0;
    for (size_t known = 0; known < len || at < len;) {
        struct ty_frame frame;
        known = len - known > piece ? known + piece : len;
        while (ty_frame_next(log + at, known - at, (int64_t)at,
                             known == len ? TY_FRAMES_FINAL : meanwhile, &frame)) {
            ty_auto_free char *text = malloc(3 * frame.len + 1);
            size_t used;
            require(frame.offset == (int64_t)at && frame.next > frame.offset &&
                    frame.next <= (int64_t)known);
            require(frame.bytes == log + at && frame.len <= TY_FRAME_MAX);
            ty_buf_add(out, text, ty_utf8_repair(frame.bytes, frame.len, true, text, &used));
            ty_buf_add(out, log + at + frame.len, (size_t)(frame.next - frame.offset) - frame.len);
            check_json(&frame);
            at = (size_t)frame.next;
        }
    }
    require(at == len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *log = (const char *)data + 1;
    size_t len = size - 1;
    size_t used;
    ty_auto_free char *whole = malloc(3 * len + 1);
    size_t expected = ty_utf8_repair(log, len, true, whole, &used);
    static const ty_frames modes[] = {TY_FRAMES_ENDED, TY_FRAMES_OPEN};
    for (size_t at = 0; at < sizeof(modes) / sizeof(*modes); at++) {
        ty_auto_buf out = {0};
        ty_buf_init(&out, 3 * len + 16);
        take_frames(log, len, ((size_t)data[0] + 1) * (1 + len / 256), modes[at], &out);
        require(out.len == expected && (expected == 0 || memcmp(out.data, whole, expected) == 0));
    }
    return 0;
}
