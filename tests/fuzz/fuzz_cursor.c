/* Page cursors as clients send them: whatever the bytes, they are refused or are one of ours, and
 * nothing is read beyond them. The first byte chooses the query the cursor is read for. */
#include "sim_vfs.h"
#include "trainyard/base/clock.h"
#include "trainyard/store/cursor.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct ty_store *store;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct ty_error err;
    struct ty_store_options options = {
        .folder = "sim", .vfs = "sim-fuzz", .clock = ty_clock_system()};
    (void)argc;
    (void)argv;
    if (!sim_vfs_create("sim-fuzz", 1) || ty_store_open(&options, &store, &err) != TY_OK)
        abort();
    return 0;
}

/* What was accepted must come out again as the same text. */
static void check_accepted(const struct ty_cursor_scope *scope, const struct ty_cursor *cursor)
{
    struct ty_error err;
    struct ty_cursor again;
    ty_auto_buf buf = {0};
    ty_buf_init(&buf, 4096);
    if (ty_cursor_write(store, scope, cursor, 0, &buf, &err) != TY_OK ||
        ty_cursor_read(store, scope, buf.data, 0, &again, &err) != TY_OK ||
        again.row != cursor->row || strcmp(again.text, cursor->text) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ty_cursor cursor;
    struct ty_error err;
    struct ty_cursor_scope scope = {.tenant = 1, .query = "jobs", .query_len = 4};
    if (size == 0)
        return 0;
    scope.query_len = data[0] % 5;
    char *text = malloc(size);
    if (!text)
        abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (ty_cursor_read(store, &scope, text, 0, &cursor, &err) == TY_OK)
        check_accepted(&scope, &cursor);
    /* The input as an anchor, too. */
    memset(&cursor, 0, sizeof(cursor));
    memcpy(cursor.text, text, size < sizeof(cursor.text) ? size : sizeof(cursor.text) - 1);
    check_accepted(&scope, &cursor);
    free(text);
    return 0;
}
