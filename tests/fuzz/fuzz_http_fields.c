/* Any text as a field value: ranges, Accept, Accept-Encoding, entity-tag lists, content types,
 * traceparents. */
#include "../../server/http/etag.h"
#include "../../server/http/fields.h"
#include "../../server/http/head.h"
#include "../../server/http/media.h"
#include "../../server/http/trace.h"
#include "trainyard/http/accept.h"
#include "trainyard/http/range.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_range(const char *text)
{
    static const uint64_t sizes[] = {0, 1, 1000, UINT64_MAX};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t first = 0;
        uint64_t length = 0;

        if (ty_range_judge(text, sizes[i], &first, &length) == TY_RANGE_PART)
            if (length == 0 || first >= sizes[i] || length > sizes[i] - first)
                abort();
    }
}

static void check_tags(const char *text)
{
    bool weak = false;
    bool strong = false;
    char gzip[TY_ETAG_TEXT];

    if (ty_etag_list_matches(text, "\"a\"", false, &weak) !=
        ty_etag_list_matches(text, "\"a\"", true, &strong))
        abort();
    if (strong && !weak) /* what matches strongly matches weakly */
        abort();
    if (ty_etag_valid(text) && ty_etag_with_gzip(text, gzip)) {
        bool same = false;

        if (!ty_etag_valid(gzip) || ty_etag_list_matches(gzip, text, false, &same))
            abort();
    }
}

static void check_accept(const char *text)
{
    static const char *const offers[] = {"application/json", "text/plain", NULL};
    int chosen = ty_accept_choose(text, offers);

    if (chosen < -1 || chosen > 1)
        abort();
    (void)ty_accept_gzip(text);
    (void)ty_media_match(text, offers);
    (void)ty_media_compressible(text);
    (void)ty_list_has(text, "close");
    (void)ty_host_valid(text);
}

static void check_trace(const char *text)
{
    struct ty_seeded seed;
    struct ty_random random = ty_random_seeded(&seed, 7);
    char next[TY_TRACEPARENT_TEXT];

    ty_trace_next(text, &random, next);
    if (!ty_trace_valid(next) || strlen(next) != TY_TRACEPARENT_TEXT - 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    check_range(text);
    check_tags(text);
    check_accept(text);
    check_trace(text);
    free(text);
    return 0;
}
