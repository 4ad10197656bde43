/* Log bytes as frames for people and programs: lines, progress redraws and unfinished ends, each
 * with the offset that follows it. Pure and without state: give the bytes that are at an offset,
 * get the first frame among them; what is left over is simply read again. So a follower costs one
 * offset, and its chunks may be cut anywhere.
 *
 * The rule, from any offset on:
 *
 * "\n" ends a frame; "\r\n" is one ending; a "\r" that is not followed by "\n" ends a redraw (what
 * follows is drawn over it). Whether a "\r" is one or the other is known with the byte after it.
 *
 * A frame holds at most TY_FRAME_MAX bytes; a longer line is cut into frames that end in
 * TY_FRAME_CUT.
 *
 * What has no ending yet is a frame only when asked for: TY_FRAMES_OPEN, which a live follower uses
 * when the log is quiet, so that a prompt or a progress bar is seen; TY_FRAMES_FINAL when nothing
 * follows any more.
 *
 * No frame begins or ends inside a UTF-8 sequence, so that repairing each frame gives what
 * repairing the whole would: each ill-formed sequence becomes U+FFFD. NUL is text.
 *
 * frame.next of one frame is frame.offset of the next: a reader that resumes at any frame's `next`
 * gets every later byte exactly once. */
#ifndef TRAINYARD_LOGS_FRAME_H
#define TRAINYARD_LOGS_FRAME_H

#include "trainyard/base/buf.h"
#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TY_FRAME_MAX = 65536,
    TY_FRAME_CHUNK = TY_FRAME_MAX + 2 /* read no less, or a long line never shows that it is */
};

typedef enum {
    TY_FRAME_LINE,   /* ended by "\n" or "\r\n" */
    TY_FRAME_REDRAW, /* ended by a lone "\r": the next frame is drawn over it */
    TY_FRAME_CUT,    /* longer than TY_FRAME_MAX: the line goes on in the next frame */
    TY_FRAME_PARTIAL /* no ending yet: the line goes on in the next frame, if anything comes */
} ty_frame_end;

/* "line", "redraw", "cut", "partial"; a static string. */
const char *ty_frame_end_name(ty_frame_end end);

typedef enum {
    TY_FRAMES_ENDED, /* only what has its ending */
    TY_FRAMES_OPEN,  /* also what has none yet; a "\r" or a UTF-8 sequence that the last byte leaves
                        open is kept back */
    TY_FRAMES_FINAL  /* everything: no byte will follow */
} ty_frames;

struct ty_frame {
    int64_t offset; /* of its first byte */
    int64_t next;   /* of the first byte after its ending */
    ty_frame_end end;
    const char
        *bytes; /* the frame without its ending, inside the caller's chunk; raw, not NUL-ended */
    size_t len; /* 0..TY_FRAME_MAX */
};

/* The first frame of `chunk`, whose `len` bytes are the log's at `offset`. False when there is
 * none: read on from `offset` when more is there. A chunk of TY_FRAME_CHUNK bytes or more always
 * holds one. *frame_out is untouched then. The loop: while (ty_frame_next(…, &f)) { use f; skip
 * (size_t)(f.next - f.offset) bytes; }. */
bool ty_frame_next(const char *chunk, size_t len, int64_t offset, ty_frames which,
                   struct ty_frame *frame_out);

/* --- on the wire: one JSON object on one line, without a line end; text repaired to UTF-8:
 * {"offset":0,"replica":"worker-0","line":"loss 0.1","end":"line"}. At most 6 * TY_FRAME_MAX + 256
 * bytes; failure is sticky in `out`. */
void ty_frame_json(const struct ty_frame *frame, const char *replica, struct ty_buf *out);

/* The frame as a server-sent event: "id: <next>\ndata: <JSON>\n\n" (WHATWG HTML 9.2). */
void ty_frame_event(const struct ty_frame *frame, const char *replica, struct ty_buf *out);

/* The offset that a Last-Event-ID names: decimal, 0 to 2^53. TY_INVALID, *offset_out untouched
 * then. */
ty_status ty_frame_id_parse(const char *text, int64_t *offset_out) TY_MUST_CHECK;

#endif
