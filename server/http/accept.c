#include "trainyard/http/accept.h"

#include "fields.h"

#include <string.h>
#include <strings.h>

/* How well a media range fits an offer: 0 not at all, then "*" + "/" + "*", "type/" + "*", the type
 * itself. A range with parameters of its own (level=1, charset) is taken as the type: our types
 * have no variants. */
static int specificity(struct ty_slice range, const char *offer)
{
    const char *slash = strchr(offer, '/');
    size_t type_len = slash ? (size_t)(slash - offer) : strlen(offer);

    if (ty_slice_equal(range, "*/*"))
        return 1;
    if (range.len == type_len + 2 && strncasecmp(range.data, offer, type_len + 1) == 0 &&
        range.data[range.len - 1] == '*')
        return 2;
    return ty_slice_equal(range, offer) ? 3 : 0;
}

/* The quality that `value` gives to `offer`: that of the most specific range. */
static int quality_of(const char *value, const char *offer)
{
    struct ty_slice element;
    int best = 0;
    int quality = 0;

    while (ty_list_next(&value, &element)) {
        struct ty_slice range;
        struct ty_slice rest;
        int fit;
        int q;

        ty_slice_split(element, &range, &rest);
        fit = specificity(range, offer);
        q = ty_slice_quality(rest);
        if (q >= 0 && (fit > best || (fit == best && fit > 0 && q > quality))) {
            best = fit;
            quality = q;
        }
    }
    return quality;
}

/* Whether the value holds at least one range that can be read. */
static bool readable(const char *value)
{
    struct ty_slice element;

    while (ty_list_next(&value, &element)) {
        struct ty_slice range;
        struct ty_slice rest;

        ty_slice_split(element, &range, &rest);
        if (memchr(range.data, '/', range.len) && ty_slice_quality(rest) >= 0)
            return true;
    }
    return false;
}

int ty_accept_choose(const char *value, const char *const *offers)
{
    int best = -1;
    int best_quality = 0;

    if (!value || !readable(value))
        return 0;
    for (int i = 0; offers[i]; i++) {
        int quality = quality_of(value, offers[i]);

        if (quality > best_quality) {
            best = i;
            best_quality = quality;
        }
    }
    return best;
}

/* The quality of one content coding: its own, else that of "*", else -1 for "not named". */
static int coding_quality(const char *value, const char *coding)
{
    struct ty_slice element;
    int any = -1;
    int named = -1;

    while (ty_list_next(&value, &element)) {
        struct ty_slice name;
        struct ty_slice rest;
        int quality;

        ty_slice_split(element, &name, &rest);
        quality = ty_slice_quality(rest);
        if (quality < 0)
            continue;
        if (ty_slice_equal(name, coding))
            named = quality;
        else if (ty_slice_equal(name, "*"))
            any = quality;
    }
    return named >= 0 ? named : any;
}

bool ty_accept_gzip(const char *value)
{
    int gzip;
    int identity;

    if (!value)
        return false;
    gzip = coding_quality(value, "gzip");
    if (gzip < 0)
        gzip = coding_quality(value, "x-gzip");
    identity = coding_quality(value, "identity");
    return gzip > 0 && gzip >= identity;
}
