/* Any bytes as what a gateway sends to the client: links never lead out of a folder, heads never
 * give numbers below zero, texts never reach a terminal with control characters. */
#include "file_path.h"
#include "http.h"
#include "text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_link(const char *text)
{
    char path[256];
    ty_auto_buf link = {0};
    ty_buf_init(&link, 64 * 1024);
    ty_buf_addf(&link, "/v1/jobs/x/artifacts/%s", text);
    if (link.failed != TY_OK || !cli_path_of_link(link.data, path, sizeof path))
        return;
    require(path[0] != '/' && path[0] != '\0');
    require(!strstr(path, "//") && !strstr(path, "/../") && !ty_str_starts(path, "../"));
    require(!ty_str_ends(path, "/..") && !ty_str_ends(path, "/") && !ty_str_equal(path, ".."));
}

static void check_head(const char *text)
{
    struct http_answer answer = {.log_offset = -1, .length = -1, .range_start = -1, .total = -1};
    http_read_head(&answer, text);
    require(answer.log_offset >= -1 && answer.length >= -1 && answer.range_start >= -1);
    require(answer.total >= -1 && answer.retry_after >= 0 && answer.retry_after <= 86400);
}

static void check_text(const char *text, size_t width)
{
    char cell[64];
    ty_str_copy(cell, sizeof cell, text);
    cli_make_printable(cell);
    for (const char *c = cell; *c; c++)
        require((unsigned char)*c >= 0x20 && *c != 0x7f);
    cli_shorten(cell, sizeof cell, width);
    require(width == 0 || cli_width(cell) <= width);
}

static void check_range(const char *text)
{
    int64_t first = -1;
    int64_t last = -1;
    if (cli_id_range(text, &first, &last))
        require(first >= 0 && last >= first);
    else
        require(first == -1 && last == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ty_auto_free char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    check_link(text);
    check_head(text);
    check_text(text, size % 70);
    check_range(text);
    return 0;
}
