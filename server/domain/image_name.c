/* References made explicit and matched. What two runtimes could read in two ways is read in the way
 * that names the other registry, so that a pattern never allows more than it says. */
#include "trainyard/base/str.h"
#include "trainyard/domain/image.h"
#include "trainyard/domain/spec.h"

#include <ctype.h>
#include <stdio.h>

#define DEFAULT_REGISTRY "docker.io"
#define LEGACY_REGISTRY  "index.docker.io" /* Docker's own older name of it */
#define OFFICIAL         "library/"

enum { REFERENCE_MAX = 512 };

static bool names_registry(const char *first, size_t len)
{
    if (len == strlen("localhost") && memcmp(first, "localhost", len) == 0)
        return true;
    for (size_t i = 0; i < len; i++)
        if (first[i] == '.' || first[i] == ':' || isupper((unsigned char)first[i]))
            return true;
    return false;
}

static void lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* Split "[registry/]path"; false when a part is too long. An empty path is a whole registry. */
static bool split_name(const char *name, struct ty_image *image)
{
    const char *slash = strchr(name, '/');
    size_t first = slash ? (size_t)(slash - name) : 0;
    const char *path = name;
    bool given = slash && names_registry(name, first);

    if (given) {
        if (first >= sizeof(image->registry))
            return false;
        memcpy(image->registry, name, first);
        image->registry[first] = '\0';
        lower(image->registry);
        path = slash + 1;
    }
    if (!given || ty_str_equal(image->registry, LEGACY_REGISTRY))
        ty_str_copy(image->registry, sizeof(image->registry), DEFAULT_REGISTRY);
    bool official = ty_str_equal(image->registry, DEFAULT_REGISTRY) && *path && !strchr(path, '/');
    int len = snprintf(image->repository, sizeof(image->repository), "%s%s",
                       official ? OFFICIAL : "", path);

    return len >= 0 && (size_t)len < sizeof(image->repository);
}

/* Take the digest and the tag off the end of `text`, which is cut there. */
static bool split_end(char *text, struct ty_image *image)
{
    char *at = strchr(text, '@');
    char *slash;
    char *colon;

    if (at) {
        *at = '\0';
        if (!ty_str_copy(image->digest, sizeof(image->digest), at + 1))
            return false;
    }
    slash = strrchr(text, '/');
    colon = strrchr(slash ? slash : text, ':');
    if (!colon)
        return true;
    *colon = '\0';
    return ty_str_copy(image->tag, sizeof(image->tag), colon + 1);
}

ty_status ty_image_parse(const char *text, struct ty_image *image_out)
{
    struct ty_image image = {0};
    char copy[REFERENCE_MAX];

    if (!ty_image_reference_valid(text) || !ty_str_copy(copy, sizeof(copy), text) ||
        !split_end(copy, &image) || !split_name(copy, &image))
        return TY_INVALID;
    if (image.tag[0] == '\0' && image.digest[0] == '\0')
        ty_str_copy(image.tag, sizeof(image.tag), "latest");
    *image_out = image;
    return TY_OK;
}

/* "<prefix>/" followed by the star: the prefix must be one of a reference. */
static ty_status parse_below(const char *prefix, struct ty_image_pattern *pattern_out)
{
    struct ty_image_pattern pattern = {.below = true};
    char probe[REFERENCE_MAX];

    if (snprintf(probe, sizeof(probe), "%sx", prefix) >= (int)sizeof(probe) ||
        !ty_image_reference_valid(probe) || !split_name(prefix, &pattern.image))
        return TY_INVALID;
    *pattern_out = pattern;
    return TY_OK;
}

/* A tag that was not written is any tag. */
static ty_status parse_exact(const char *text, struct ty_image_pattern *pattern_out)
{
    struct ty_image_pattern pattern = {0};
    const char *slash = strrchr(text, '/');

    if (ty_image_parse(text, &pattern.image) != TY_OK)
        return TY_INVALID;
    /* "ghcr.io" alone would be docker.io/library/ghcr.io, which nobody means. */
    if (!slash && strchr(text, '.') && pattern.image.digest[0] == '\0' && !strchr(text, ':'))
        return TY_INVALID;
    if (!strchr(text, '@') && !strchr(slash ? slash : text, ':'))
        pattern.image.tag[0] = '\0';
    *pattern_out = pattern;
    return TY_OK;
}

ty_status ty_image_pattern_parse(const char *text, struct ty_image_pattern *pattern_out)
{
    char prefix[REFERENCE_MAX];
    size_t len = strlen(text);

    if (ty_str_equal(text, "*")) {
        *pattern_out = (struct ty_image_pattern){.all = true};
        return TY_OK;
    }
    if (len >= sizeof(prefix))
        return TY_INVALID;
    if (!ty_str_ends(text, "/*"))
        return parse_exact(text, pattern_out);
    memcpy(prefix, text, len - 1);
    prefix[len - 1] = '\0';
    return parse_below(prefix, pattern_out);
}

bool ty_image_matches(const struct ty_image_pattern *pattern, const struct ty_image *image)
{
    const struct ty_image *allowed = &pattern->image;

    if (pattern->all)
        return true;
    if (!ty_str_equal(allowed->registry, image->registry))
        return false;
    if (pattern->below)
        return ty_str_starts(image->repository, allowed->repository);
    if (!ty_str_equal(allowed->repository, image->repository))
        return false;
    if (allowed->digest[0] != '\0')
        return ty_str_equal(allowed->digest, image->digest);
    return allowed->tag[0] == '\0' ||
           (image->digest[0] == '\0' && ty_str_equal(allowed->tag, image->tag));
}
