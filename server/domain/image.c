/* Image references by the grammar of the OCI distribution project (reference/regexp.go, normalised
 * form): reference := [domain "/"] path *("/" path) [":" tag] ["@" digest] The first component is a
 * domain when it holds a dot, a colon or an upper-case letter, or is "localhost". */
#include "trainyard/base/str.h"
#include "trainyard/domain/spec.h"

#include <ctype.h>

enum { NAME_MAX_BYTES = 255, TAG_MAX = 128, HEX_MIN = 32, SHA256_HEX = 64, PORT_DIGITS = 5 };

/* A piece of the reference, not NUL-ended. */
struct piece {
    const char *at;
    size_t len;
};

static bool lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool alnum(char c)
{
    return lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

static bool hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* alphanumerics joined by one of: ".", "_", "__", or any number of "-". */
static bool valid_path_component(struct piece p)
{
    size_t i = 0;

    while (i < p.len) {
        size_t start = i;

        while (i < p.len && lower_alnum(p.at[i]))
            i++;
        if (i == start)
            return false;
        if (i == p.len)
            return true;
        char separator = p.at[i];
        size_t run = 0;

        while (i < p.len && p.at[i] == separator) {
            i++;
            run++;
        }
        bool fits =
            separator == '-' || (separator == '.' && run == 1) || (separator == '_' && run <= 2);
        if (!fits || i == p.len)
            return false;
    }
    return false;
}

static bool valid_host_label(struct piece p)
{
    if (p.len == 0 || !alnum(p.at[0]) || !alnum(p.at[p.len - 1]))
        return false;
    for (size_t i = 0; i < p.len; i++)
        if (!alnum(p.at[i]) && p.at[i] != '-')
            return false;
    return true;
}

static bool valid_port(struct piece p)
{
    if (p.len == 0 || p.len > PORT_DIGITS)
        return false;
    for (size_t i = 0; i < p.len; i++)
        if (!isdigit((unsigned char)p.at[i]))
            return false;
    return true;
}

static bool valid_ipv6(struct piece p)
{
    bool colon = false;

    for (size_t i = 0; i < p.len; i++) {
        if (!hex(p.at[i]) && p.at[i] != ':')
            return false;
        colon = colon || p.at[i] == ':';
    }
    return colon;
}

static bool valid_host_name(struct piece host)
{
    size_t start = 0;

    for (size_t i = 0; i <= host.len; i++) {
        if (i < host.len && host.at[i] != '.')
            continue;
        if (!valid_host_label((struct piece){host.at + start, i - start}))
            return false;
        start = i + 1;
    }
    return true;
}

static bool valid_domain(struct piece p)
{
    struct piece host = p;
    struct piece port = {"0", 1};

    if (p.len > 0 && p.at[0] == '[') {
        const char *end = memchr(p.at, ']', p.len);

        if (!end)
            return false;
        host.len = (size_t)(end - p.at) + 1;
    } else {
        const char *colon = memchr(p.at, ':', p.len);

        host.len = colon ? (size_t)(colon - p.at) : p.len;
    }
    if (host.len < p.len) {
        if (p.at[host.len] != ':')
            return false;
        port = (struct piece){p.at + host.len + 1, p.len - host.len - 1};
    }
    if (host.at[0] == '[')
        return valid_ipv6((struct piece){host.at + 1, host.len - 2}) && valid_port(port);
    return valid_host_name(host) && valid_port(port);
}

static bool looks_like_domain(struct piece p)
{
    if (p.len == strlen("localhost") && memcmp(p.at, "localhost", p.len) == 0)
        return true;
    for (size_t i = 0; i < p.len; i++)
        if (p.at[i] == '.' || p.at[i] == ':' || (p.at[i] >= 'A' && p.at[i] <= 'Z'))
            return true;
    return false;
}

static bool valid_name(struct piece name)
{
    const char *slash = memchr(name.at, '/', name.len);
    size_t start = 0;

    if (name.len == 0 || name.len > NAME_MAX_BYTES)
        return false;
    if (slash) {
        struct piece first = {name.at, (size_t)(slash - name.at)};

        /* What could be a domain but is none may still be a path: "a__b.c/d". */
        if (looks_like_domain(first) && valid_domain(first))
            start = first.len + 1;
    }
    for (size_t i = start; i <= name.len; i++) {
        if (i < name.len && name.at[i] != '/')
            continue;
        if (!valid_path_component((struct piece){name.at + start, i - start}))
            return false;
        start = i + 1;
    }
    return true;
}

static bool valid_tag(struct piece tag)
{
    if (tag.len == 0 || tag.len > TAG_MAX || tag.at[0] == '.' || tag.at[0] == '-')
        return false;
    for (size_t i = 0; i < tag.len; i++)
        if (!alnum(tag.at[i]) && !strchr("_.-", tag.at[i]))
            return false;
    return true;
}

static bool valid_algorithm(struct piece p)
{
    bool start = true; /* of a component, which begins with a letter */

    for (size_t i = 0; i < p.len; i++) {
        bool separator = strchr("+.-_", p.at[i]) != NULL;

        if (start && (!alnum(p.at[i]) || isdigit((unsigned char)p.at[i])))
            return false;
        if (!separator && !alnum(p.at[i]))
            return false;
        start = separator;
    }
    return !start;
}

static bool valid_digest(const char *text)
{
    const char *colon = strchr(text, ':');

    if (!colon || !valid_algorithm((struct piece){text, (size_t)(colon - text)}))
        return false;
    size_t len = strlen(colon + 1);

    if (len < HEX_MIN)
        return false;
    for (const char *p = colon + 1; *p; p++)
        if (!hex(*p))
            return false;
    return !ty_str_starts(text, "sha256:") || len == SHA256_HEX;
}

bool ty_image_reference_valid(const char *text)
{
    const char *at = strchr(text, '@');
    struct piece name = {text, at ? (size_t)(at - text) : strlen(text)};

    if (at && !valid_digest(at + 1))
        return false;
    /* A colon behind the last slash begins the tag; one before it belongs to a port. */
    for (size_t i = name.len; i > 0 && name.at[i - 1] != '/'; i--) {
        if (name.at[i - 1] != ':')
            continue;
        if (!valid_tag((struct piece){name.at + i, name.len - i}))
            return false;
        name.len = i - 1;
        break;
    }
    return valid_name(name);
}
