/* The last lines of a log, found by reading backwards. */
#include "reader.h"

#include "trainyard/base/scope.h"
#include "trainyard/logs/archive.h"

#include <string.h>

enum { BLOCK = 65536 };

/* Count line ends from the end of the block until `*left` are used up: true, and *at_out is just
 * behind the last one counted. */
static bool count_back(const char *block, size_t len, int64_t *left, size_t *at_out)
{
    const char *line_end;
    while ((line_end = memrchr(block, '\n', len))) {
        len = (size_t)(line_end - block);
        if (--*left == 0) {
            *at_out = len + 1;
            return true;
        }
    }
    return false;
}

ty_status ty_log_tail(struct ty_log_reader *reader, const struct ty_log_extent *extent,
                      int64_t lines, int64_t *offset_out, struct ty_error *err)
{
    if (lines < 0)
        return ty_fail(err, TY_INVALID, "a tail has no negative number of lines");
    if (lines == 0 || extent->end <= extent->start) {
        *offset_out = lines == 0 ? extent->end : extent->start;
        return TY_OK;
    }
    ty_auto_free char *block = malloc(BLOCK);
    if (!block)
        return ty_fail(err, TY_NO_MEMORY, "read the log's tail");

    int64_t left = lines; /* line ends to go back over */
    int64_t end = extent->end;
    while (end > extent->start) {
        int64_t begin = end - extent->start > BLOCK ? end - BLOCK : extent->start;
        size_t len;
        size_t at;
        ty_status status = ty_log_read(reader, begin, block, (size_t)(end - begin), &len, err);
        if (status != TY_OK)
            return status;
        /* The end of the last line begins no other. */
        if (end == extent->end && len > 0 && block[len - 1] == '\n')
            len--;
        if (count_back(block, len, &left, &at)) {
            *offset_out = begin + (int64_t)at;
            return TY_OK;
        }
        end = begin;
    }
    *offset_out = extent->start;
    return TY_OK;
}
