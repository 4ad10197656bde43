/* Filling the spec, with a note of where each of its values comes from; and the way back. */
#include "import.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

json_t *import_made(struct import *im, json_t *value)
{
    im->no_memory = im->no_memory || !value;
    return value;
}

void import_set(struct import *im, json_t *object, const char *member, json_t *value)
{
    if (json_object_set_new(object, member, value) != 0)
        im->no_memory = true;
}

static json_t *copy_object(struct import *im, const json_t *value)
{
    json_t *copy = import_made(im, json_object());
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        import_set(im, copy, key, import_copy(im, member));
    }
    return copy;
}

static json_t *copy_array(struct import *im, const json_t *value)
{
    json_t *copy = import_made(im, json_array());
    size_t index;
    json_t *item;

    json_array_foreach(value, index, item)
    {
        if (json_array_append_new(copy, import_copy(im, item)) != 0)
            im->no_memory = true;
    }
    return copy;
}

json_t *import_copy(struct import *im, const json_t *value)
{
    if (json_is_object(value))
        return copy_object(im, value);
    if (json_is_array(value))
        return copy_array(im, value);
    return import_made(im, json_copy((json_t *)(uintptr_t)value));
}

static void add_token(struct import *im, const char *token)
{
    size_t room = sizeof(im->to) - 1;

    if (im->to_len < room)
        im->to[im->to_len++] = '/';
    for (; *token && im->to_len < room; token++) {
        if ((*token == '~' || *token == '/') && im->to_len + 1 < room)
            im->to[im->to_len++] = '~';
        im->to[im->to_len++] = *token == '~' ? '0' : *token == '/' ? '1' : *token;
    }
    im->to[im->to_len] = '\0';
}

void import_note(struct import *im, const char *member)
{
    size_t mark = im->to_len;
    json_t *origin = json_pack("[I,s]", (json_int_t)im->document, im->at);

    if (member)
        add_token(im, member);
    import_set(im, im->origins, im->to, origin);
    im->to_len = mark;
    im->to[mark] = '\0';
}

void import_put(struct import *im, const char *member, json_t *value)
{
    import_set(im, im->target, member, value);
    import_note(im, member);
}

void import_append(struct import *im, json_t *value)
{
    char token[24];

    snprintf(token, sizeof(token), "%zu", json_array_size(im->target));
    if (json_array_append_new(im->target, value) != 0)
        im->no_memory = true;
    import_note(im, token);
}

static struct import_target step(struct import *im, const char *member, json_t *target)
{
    struct import_target before = {im->target, im->to_len};

    im->target = target;
    add_token(im, member);
    return before;
}

struct import_target import_into(struct import *im, const char *member, bool array)
{
    json_t *inner = json_object_get(im->target, member);

    if (!inner) {
        import_put(im, member, array ? json_array() : json_object());
        inner = json_object_get(im->target, member);
    }
    return step(im, member, inner);
}

struct import_target import_into_last(struct import *im)
{
    size_t index = json_array_size(im->target);
    char token[24];

    snprintf(token, sizeof(token), "%zu", index);
    import_append(im, json_object());
    return step(im, token, json_array_get(im->target, index));
}

void import_back(struct import *im, struct import_target before)
{
    im->target = before.target;
    im->to_len = before.to_len;
    im->to[im->to_len] = '\0';
}

void import_aim(struct import *im, struct import_role *role)
{
    im->role = role;
    im->target = role ? role->values : im->spec;
    snprintf(im->to, sizeof(im->to), "%s:", role ? role->scope : "");
    im->to_len = strlen(im->to);
}

/* --- the way back --- */

/* The note of a member or of the innermost one around it. `pointer` is cut on the way. */
static const json_t *find_origin(const json_t *origins, const char *scope, char *pointer)
{
    char key[2 * IMPORT_AT]; /* a scope and a pointer */

    for (;;) {
        snprintf(key, sizeof(key), "%s:%s", scope, pointer);
        const json_t *origin = json_object_get(origins, key);
        char *slash = strrchr(pointer, '/');

        if (origin || !slash)
            return origin;
        *slash = '\0';
    }
}

/* A role's member is noted at the role; one of the job may have been both roles'. */
static const json_t *origin_of(const json_t *origins, const char *pointer)
{
    static const char *const scopes[] = {"", "master", "worker"};
    const json_t *best = NULL;
    size_t best_len = 0;
    char rest[IMPORT_AT];

    for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
        size_t skip = strlen(scopes[i]) + 1;
        bool own = i > 0 && pointer[0] == '/' && strncmp(pointer + 1, scopes[i], skip - 1) == 0 &&
                   (pointer[skip] == '/' || pointer[skip] == '\0');

        ty_str_copy(rest, sizeof(rest), own ? pointer + skip : pointer);
        const json_t *origin = find_origin(origins, scopes[i], rest);

        if (origin && own)
            return origin;
        if (origin && strlen(rest) > best_len) {
            best = origin;
            best_len = strlen(rest);
        } else if (origin && !best) {
            best = origin;
        }
    }
    return best;
}

static void map_fault(const json_t *origins, struct ty_fault *fault)
{
    const json_t *document = json_object_get(origins, "document");
    const json_t *origin = fault->place == TY_AT_POINTER ? origin_of(origins, fault->where) : NULL;

    if (document)
        fault->document = (size_t)json_integer_value(document);
    if (!origin)
        return;
    fault->document = (size_t)json_integer_value(json_array_get(origin, 0));
    (void)ty_str_copy(fault->where, sizeof(fault->where),
                      json_string_value(json_array_get(origin, 1)));
}

static bool is_within(const char *pointer, const char *other)
{
    size_t len = strlen(other);

    return strncmp(pointer, other, len) == 0 && (pointer[len] == '\0' || pointer[len] == '/');
}

/* A field that was refused leaves a gap in the spec: what is said of the same place again, or of
 * the manifest as a whole, follows from that. */
static bool follows(const struct ty_faults *faults, size_t own, const struct ty_fault *fault)
{
    if (own > 0 && fault->where[0] == '\0')
        return true;
    for (size_t i = 0; i < own; i++)
        if (faults->items[i].document == fault->document &&
            (is_within(fault->where, faults->items[i].where) ||
             is_within(faults->items[i].where, fault->where)))
            return true;
    return false;
}

/* Several members may come of one place, and each be told the same. */
static bool is_told(const struct ty_faults *faults, size_t from, size_t count,
                    const struct ty_fault *fault)
{
    for (size_t i = from; i < count; i++)
        if (faults->items[i].document == fault->document &&
            ty_str_equal(faults->items[i].where, fault->where) &&
            ty_str_equal(faults->items[i].code, fault->code) &&
            ty_str_equal(faults->items[i].detail, fault->detail))
            return true;
    return false;
}

void ty_import_map_faults(const json_t *origins, struct ty_faults *faults, size_t from)
{
    size_t kept = from;

    for (size_t i = from; i < faults->count; i++) {
        map_fault(origins, &faults->items[i]);
        if (!follows(faults, from, &faults->items[i]) &&
            !is_told(faults, from, kept, &faults->items[i]))
            faults->items[kept++] = faults->items[i];
    }
    faults->count = kept;
}
