/* Log bytes as frames for people and programs: lines, progress redraws and unfinished ends,
 * repaired to UTF-8, each with the offset that follows it. Pure: no file, no clock.
 *
 * The rule, for the bytes of one replica's log from any offset on:
 *   - "\n" ends a frame; so does "\r" that is not followed by "\n" (a redraw); "\r\n" is one
 * ending. A "\r" at the end of what is known waits for the next byte (flush gives it as a redraw).
 *   - A frame never exceeds TY_FRAME_MAX bytes of log; a longer line is cut, between characters,
 * into frames that end in TY_FRAME_CUT.
 *   - What has no ending yet is delivered only by ty_framer_flush (a live follower calls it when
 * the log is quiet, so that a progress bar without "\r" and a prompt are seen), as
 * TY_FRAME_PARTIAL; what follows continues that line.
 *   - Each ill-formed UTF-8 sequence becomes U+FFFD; a sequence cut by a chunk's end is waited for.
 * NUL is text. Offsets are those of the log's bytes, before repair: frame.next of one frame is
 * frame.offset of the next, so a reader that resumes at any frame's `next` gets every later byte
 * exactly once. */
#ifndef TRAINYARD_LOGS_FRAME_H
#define TRAINYARD_LOGS_FRAME_H

#include "trainyard/base/buf.h"
#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TY_FRAME_MAX = 65536 };

typedef enum {
    TY_FRAME_LINE,    /* ended by "\n" or "\r\n" */
    TY_FRAME_REDRAW,  /* ended by a lone "\r": the next frame is drawn over it */
    TY_FRAME_CUT,     /* the line goes on in the next frame: it is longer than TY_FRAME_MAX */
    TY_FRAME_PARTIAL, /* no ending yet; the line goes on in the next frame, if anything comes */
} ty_frame_end;

/* "line", "redraw", "cut", "partial"; a static string. */
const char *ty_frame_end_name(ty_frame_end end);

struct ty_frame {
    int64_t offset; /* of its first byte */
    int64_t next;   /* of the first byte after its ending */
    ty_frame_end end;
    const char
        *text; /* UTF-8 without the ending, not NUL-ended; valid until the framer is called again */
    size_t len; /* at most 3 * TY_FRAME_MAX */
};

/* Bytes in, frames out. Holds at most TY_FRAME_MAX + 4 bytes of log and its repaired text. One
 * thread at a time. */
struct ty_framer;

/* Begin at `offset` of the log. TY_NO_MEMORY. */
ty_status ty_framer_create(int64_t offset, struct ty_framer **framer_out,
                           struct ty_error *err) TY_MUST_CHECK;
void ty_framer_destroy(struct ty_framer *framer); /* takes NULL */

/* Take bytes that follow those given before. *used_out says how many were taken: fewer than `len`
 * (maybe none) while frames are waiting; ask ty_framer_next until it says false, then give the
 * rest. Never fails. */
void ty_framer_give(struct ty_framer *framer, const char *bytes, size_t len, size_t *used_out);

/* The next frame that is complete; false when more bytes are needed. */
bool ty_framer_next(struct ty_framer *framer, struct ty_frame *frame_out);

/* What is held although it is not ended; false when nothing is. `final`: no byte will follow, so a
 * cut-off UTF-8 sequence is replaced and a held "\r" is given as a redraw; otherwise both are kept
 * back. Call it only after ty_framer_next said false; call it until it says false. */
bool ty_framer_flush(struct ty_framer *framer, bool final, struct ty_frame *frame_out);

/* The offset of the first byte not yet in any frame. */
int64_t ty_framer_offset(const struct ty_framer *framer);

/* --- on the wire ---
 * One JSON object on one line, without a line end:
 * {"offset":0,"replica":"worker-0","line":"loss 0.1","end":"line"}; offsets above 2^53 do not
 * occur. */
void ty_frame_json(const struct ty_frame *frame, const char *replica, struct ty_buf *out);

/* The frame as a server-sent event: "id: <next>\ndata: <JSON>\n\n" (WHATWG HTML 9.2). */
void ty_frame_event(const struct ty_frame *frame, const char *replica, struct ty_buf *out);

/* The offset a Last-Event-ID names: decimal, 0..2^53. TY_INVALID, *offset_out untouched then. */
ty_status ty_frame_id_parse(const char *text, int64_t *offset_out) TY_MUST_CHECK;

#endif
