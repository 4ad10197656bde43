/* Page cursors (H7): opaque, URL-safe, authenticated. A cursor says after which item a page ends;
 * it proves nothing about rights, and is refused when the query it belongs to has changed or when
 * it is older than 72 hours. */
#ifndef TRAINYARD_STORE_CURSOR_H
#define TRAINYARD_STORE_CURSOR_H

#include "trainyard/base/buf.h"
#include "trainyard/base/digest.h"
#include "trainyard/store/store.h"

#define TY_CURSOR_KEEP_US (INT64_C(72) * 3600 * 1000000)
enum { TY_CURSOR_TEXT_ANCHOR = 1024 };

/* Which query a cursor belongs to. */
struct ty_cursor_scope {
    int64_t tenant;    /* rowid, 0 for lists of no tenant */
    const char *query; /* route, filters and sort as one text, in a canonical order; any bytes */
    size_t query_len;
};

struct ty_cursor {
    int64_t row; /* the last item's row; 0 when `text` is the anchor */
    char
        text[TY_CURSOR_TEXT_ANCHOR]; /* the last item's name or path, "" when `row` is the anchor */
};

/* Append the cursor's text (56 characters or more) to `out`; its sticky failure tells the rest. */
ty_status ty_cursor_write(const struct ty_store *store, const struct ty_cursor_scope *scope,
                          const struct ty_cursor *cursor, int64_t now, struct ty_buf *out,
                          struct ty_error *err) TY_MUST_CHECK;

/* Read one back.
 *   TY_INVALID  not a cursor of ours (code "cursor_invalid"), or of another query (code
 * "cursor_mismatch") TY_GONE     older than 72 h (code "cursor_expired") *cursor_out is untouched
 * on failure. */
ty_status ty_cursor_read(const struct ty_store *store, const struct ty_cursor_scope *scope,
                         const char *text, int64_t now, struct ty_cursor *cursor_out,
                         struct ty_error *err) TY_MUST_CHECK;

#endif
