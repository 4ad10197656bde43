/* Which mounts are the job's and which a role's; where output and checkpoints lie.
 *
 * In a manifest of the caller's the order of mounts means nothing: what both roles mount is the
 * job's, and so is what the first role mounts at /output and /checkpoints, for the gateway mounts
 * those everywhere. Our own renderer writes the job's volumes, the output, the checkpoints and then
 * the role's volumes, and says by variables where results go: from that the spec comes back as it
 * was. */
#include "import.h"

#include "trainyard/base/str.h"

#include <stdio.h>

/* --- moving a mount into the spec --- */

/* What a claim's object says of it is noted there. */
static void note_claim(struct import *im, const struct import_object *object)
{
    static const char *const fields[][2] = {
        {"size",          "/spec/resources/requests/storage"},
        {"storage_class", "/spec/storageClassName"          },
        {"access_mode",   "/spec/accessModes"               },
    };
    struct import_target before = {im->target, im->to_len};

    import_go(im, object);
    size_t mark = im->at_len;

    import_note(im, "create");
    im->to_len += (size_t)snprintf(im->to + im->to_len, sizeof(im->to) - im->to_len, "/create");
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        snprintf(im->at + mark, sizeof(im->at) - mark, "%s", fields[i][1]);
        import_note(im, fields[i][0]);
    }
    import_back(im, before);
}

/* The mount's own members are noted where it stands, its source's where the volume does. */
static void note_mount(struct import *im, const json_t *mount)
{
    static const char *const of_source[] = {"claim", "create", "scratch", "files"};

    import_go(im, &im->job);
    im->at_len = (size_t)snprintf(im->at, sizeof(im->at), "%s", import_get_text(mount, "_at"));
    import_note(im, NULL);
    im->at_len =
        (size_t)snprintf(im->at, sizeof(im->at), "%s", import_get_text(mount, "_source_at"));
    for (size_t i = 0; i < sizeof(of_source) / sizeof(of_source[0]); i++)
        if (json_object_get(mount, of_source[i]))
            import_note(im, of_source[i]);
    const json_t *object = json_object_get(mount, "_object");

    if (object)
        note_claim(im, &im->objects[json_integer_value(object)]);
    import_go(im, &im->job);
}

static json_t *plain(struct import *im, const json_t *mount)
{
    json_t *copy = import_copy(im, mount);
    size_t index;
    json_t *file;

    json_object_del(copy, "_at");
    json_object_del(copy, "_source_at");
    json_object_del(copy, "_own");
    json_object_del(copy, "_object");
    json_object_del(copy, "_volume");
    json_array_foreach(json_object_get(copy, "files"), index, file)
    {
        json_object_del(file, "_key");
    }
    return copy;
}

/* A claim of the job's own has no name by which it could be mounted again. */
static void check_once(struct import *im, const json_t *mount)
{
    const char *suffix = json_object_get(mount, "create") && !json_object_get(mount, "claim")
                             ? import_get_text(mount, "_own")
                             : NULL;

    if (suffix && json_object_get(im->placed, suffix)) {
        im->at_len = (size_t)snprintf(im->at, sizeof(im->at), "%s", import_get_text(mount, "_at"));
        import_fault(im, "not_supported", "a claim of the job's own is mounted once");
        import_go(im, &im->job);
    } else if (suffix) {
        import_set(im, im->placed, suffix, json_true());
    }
}

/* Append to volumes[] of the target. */
static void put_volume(struct import *im, const json_t *mount)
{
    check_once(im, mount);
    struct import_target list = import_into(im, "volumes", true);
    struct import_target before;
    size_t index = json_array_size(im->target);
    char token[24];

    import_append(im, plain(im, mount));
    before = (struct import_target){im->target, im->to_len};
    snprintf(token, sizeof(token), "%zu", index);
    im->to_len += (size_t)snprintf(im->to + im->to_len, sizeof(im->to) - im->to_len, "/%s", token);
    note_mount(im, mount);
    import_back(im, before);
    import_back(im, list);
}

/* As the member `member` of the target: a claim and where it is mounted. Who creates it stands in
 * volumes[]. */
static void put_place(struct import *im, const char *member, const json_t *mount)
{
    json_t *value = plain(im, mount);

    json_object_del(value, "create");
    import_put(im, member, value);
    struct import_target before = import_into(im, member, false);

    note_mount(im, mount);
    import_back(im, before);
}

/* Role-level volumes; the role's values become its override later. */
static void put_rest(struct import *im, struct import_role *role, size_t from)
{
    import_aim(im, role);
    for (size_t i = from; i < json_array_size(role->mounts); i++)
        put_volume(im, json_array_get(role->mounts, i));
    import_aim(im, NULL);
}

/* --- comparing --- */

static const json_t *at(const struct import_role *role, size_t index)
{
    return json_array_get(role->mounts, index);
}

static bool same(struct import *im, const json_t *a, const json_t *b)
{
    json_t *x = plain(im, a);
    json_t *y = plain(im, b);
    bool equal = json_equal(x, y);

    json_decref(x);
    json_decref(y);
    return equal;
}

static bool text_is(const json_t *object, const char *member, const char *text)
{
    const char *known = import_get_text(object, member);

    return known && text && ty_str_equal(known, text);
}

static size_t find_path(const struct import_role *role, const char *path)
{
    size_t i = 0;

    while (i < json_array_size(role->mounts) && !text_is(at(role, i), "mount_path", path))
        i++;
    return i;
}

/* Whether `path` is `folder` or lies below it. */
static bool below(const char *path, const char *folder)
{
    size_t len = folder ? strlen(folder) : 0;

    return folder && path && strncmp(path, folder, len) == 0 &&
           (path[len] == '\0' || path[len] == '/');
}

/* --- ours --- */

struct layout {
    struct import_role *lead;
    struct import_role *other; /* NULL without one */
    const char *output;
    const char *checkpoints;
    size_t output_at;
    size_t shared; /* the job's mounts come first */
};

/* N of a volume of the job's own that is called "<prefix>-N". */
static bool own_index(const json_t *mount, const char *prefix, size_t *index_out)
{
    const char *suffix = import_get_text(mount, "_own");
    size_t len = strlen(prefix);
    int64_t number = 0;

    if (!suffix || !ty_str_starts(suffix, prefix) || suffix[len] != '-' ||
        ty_str_to_int(suffix + len + 1, 0, 1000, &number) != TY_OK)
        return false;
    *index_out = (size_t)number;
    return true;
}

/* `volumes` counts without the dataset, which stands before it: seen by a number that is too low.
 */
static bool has_dataset(const struct layout *layout)
{
    size_t index = 0;

    for (size_t i = 0; i < layout->shared; i++)
        if (own_index(at(layout->lead, i), "volume", &index))
            return index + 1 == i;
    return false;
}

static void put_job_volumes(struct import *im, const struct layout *layout, size_t count)
{
    size_t first = has_dataset(layout) ? 1 : 0;

    if (first == 1) {
        json_t *dataset = import_copy(im, at(layout->lead, 0));

        if (!json_object_get(dataset, "read_only"))
            import_set(im, dataset, "read_only", json_false());
        put_place(im, "dataset", dataset);
        json_decref(dataset);
    }
    for (size_t i = first; i < count; i++)
        put_volume(im, at(layout->lead, i));
}

static void put_checkpoint_path(struct import *im, const char *path)
{
    struct import_target before = import_into(im, "checkpoints", false);

    import_put(im, "path", json_string(path));
    import_back(im, before);
}

/* The mount of the output's folder "checkpoints" that the gateway adds by itself. */
static bool is_alias(const struct layout *layout, const json_t *mount)
{
    const json_t *output = at(layout->lead, layout->output_at);
    const char *claim = import_get_text(output, "claim");
    const char *sub_path = import_get_text(output, "sub_path");
    char folder[300];
    char place[300];

    snprintf(folder, sizeof(folder), "%s%scheckpoints", sub_path ? sub_path : "",
             sub_path ? "/" : "");
    snprintf(place, sizeof(place), "%s/checkpoints", layout->output);
    return text_is(mount, "mount_path", "/checkpoints") && text_is(mount, "sub_path", folder) &&
           (claim ? text_is(mount, "claim", claim)
                  : text_is(mount, "_own", import_get_text(output, "_own"))) &&
           ty_str_equal(layout->checkpoints, place);
}

static void put_checkpoint_volume(struct import *im, const struct layout *layout,
                                  const json_t *mount)
{
    const char *folder = import_get_text(mount, "mount_path");
    const char *rest = layout->checkpoints + strlen(folder);
    struct import_target before = import_into(im, "checkpoints", false);

    put_place(im, "volume", mount);
    if (rest[0] == '/')
        import_put(im, "path", json_string(rest + 1));
    import_back(im, before);
}

/* Behind the output: the checkpoints, in one of the ways the spec can say it. */
static void put_checkpoints(struct import *im, struct layout *layout)
{
    const json_t *next = at(layout->lead, layout->output_at + 1);
    size_t taken = find_path(layout->lead, "/checkpoints");

    layout->shared = layout->output_at + 1;
    if (next && is_alias(layout, next)) {
        layout->shared++;
    } else if (next && import_get_text(next, "claim") && !json_object_get(next, "create") &&
               !json_object_get(next, "read_only") &&
               below(layout->checkpoints, import_get_text(next, "mount_path"))) {
        put_checkpoint_volume(im, layout, next);
        layout->shared++;
    } else if (taken > layout->output_at || !ty_str_equal(layout->checkpoints, "/checkpoints")) {
        put_checkpoint_path(im, layout->checkpoints);
    }
}

/* What the job gets without `output`: anything else of that name was changed by hand. */
static bool is_default_output(const struct import *im, const struct layout *layout,
                              const json_t *mount)
{
    const json_t *create = json_object_get(mount, "create");
    const json_t *most = json_object_get(json_object_get(im->spec, "elastic"), "max");
    bool many = layout->other || json_integer_value(most) > 1;

    return text_is(mount, "_own", "output") && text_is(mount, "mount_path", "/output") &&
           !json_object_get(mount, "sub_path") && !json_object_get(mount, "read_only") &&
           text_is(create, "size", "10Gi") && !json_object_get(create, "storage_class") &&
           (many ? text_is(create, "access_mode", "read_write_many")
                 : !json_object_get(create, "access_mode"));
}

/* The output is the job's own claim, or one that stands behind `volumes`. */
static void lay_out_behind(struct import *im, struct layout *layout)
{
    const json_t *output = at(layout->lead, layout->output_at);

    layout->shared = layout->output_at;
    put_job_volumes(im, layout, layout->output_at);
    if (!is_default_output(im, layout, output))
        put_place(im, "output", output);
    put_checkpoints(im, layout);
}

/* How many mounts are the job's: what a role's own claim says by its number, else what both have.
 */
static size_t count_shared(struct import *im, const struct layout *layout)
{
    size_t count = json_array_size(layout->lead->mounts);
    char prefix[32];
    size_t index = 0;

    snprintf(prefix, sizeof(prefix), "%s-volume", layout->lead->scope);
    for (size_t i = 0; i < count; i++)
        if (own_index(at(layout->lead, i), prefix, &index) && index <= i)
            return i - index;
    if (!layout->other)
        return count;
    for (size_t i = 0; i < count; i++)
        if (i >= json_array_size(layout->other->mounts) ||
            !same(im, at(layout->lead, i), at(layout->other, i)))
            return i;
    return count;
}

/* The output is a volume like any other, at /output: all in their order. The gateway's own mount at
 * /checkpoints is the last of the job's. */
static void lay_out_within(struct import *im, struct layout *layout)
{
    size_t taken = find_path(layout->lead, "/checkpoints");

    if (taken > layout->output_at && is_alias(layout, at(layout->lead, taken))) {
        layout->shared = taken;
        put_job_volumes(im, layout, taken);
        layout->shared++;
        return;
    }
    layout->shared = count_shared(im, layout);
    put_job_volumes(im, layout, layout->shared);
    if (taken >= layout->shared || !ty_str_equal(layout->checkpoints, "/checkpoints"))
        put_checkpoint_path(im, layout->checkpoints);
}

static bool lay_out_ours(struct import *im, struct layout *layout)
{
    layout->output = import_get_text(layout->lead->own, "TRAINYARD_OUTPUT_DIR");
    layout->checkpoints = import_get_text(layout->lead->own, "TRAINYARD_CHECKPOINT_DIR");
    if (!im->ours || !layout->output || !layout->checkpoints)
        return false;
    layout->output_at = find_path(layout->lead, layout->output);
    const json_t *output = at(layout->lead, layout->output_at);

    if (!output || json_object_get(output, "scratch") || json_object_get(output, "files"))
        return false;
    if (is_default_output(im, layout, output) || !ty_str_equal(layout->output, "/output"))
        lay_out_behind(im, layout);
    else
        lay_out_within(im, layout);
    put_rest(im, layout->lead, layout->shared);
    if (layout->other)
        put_rest(im, layout->other, layout->shared);
    return true;
}

/* --- the caller's --- */

static void remove_mount(struct import_role *role, size_t index)
{
    json_array_remove(role->mounts, index);
}

/* What both mount goes to the job, what only the first mounts where results go too. */
static void lift_mounts(struct import *im, const struct layout *layout)
{
    size_t i = 0;

    while (layout->other && i < json_array_size(layout->lead->mounts)) {
        const json_t *mount = at(layout->lead, i);
        const char *path = import_get_text(mount, "mount_path");
        size_t twin = find_path(layout->other, path);
        bool both = at(layout->other, twin) && same(im, mount, at(layout->other, twin));
        bool results = ty_str_equal(path, "/output") || ty_str_equal(path, "/checkpoints");

        if (!both && !results) {
            i++;
            continue;
        }
        put_volume(im, mount);
        if (!both && !at(layout->other, twin)) {
            im->at_len =
                (size_t)snprintf(im->at, sizeof(im->at), "%s", import_get_text(mount, "_at"));
            import_warn(im, "mount_shared", "%s is mounted in the workers too", path);
            import_go(im, &im->job);
        }
        if (both)
            remove_mount(layout->other, twin);
        remove_mount(layout->lead, i);
    }
}

static void lay_out(struct import *im, const struct layout *layout)
{
    lift_mounts(im, layout);
    if (layout->other) {
        put_rest(im, layout->lead, 0);
        put_rest(im, layout->other, 0);
        return;
    }
    for (size_t i = 0; i < json_array_size(layout->lead->mounts); i++)
        put_volume(im, at(layout->lead, i));
}

/* What our renderer says of results it says in every role, of a folder that is mounted. */
static void check_own(struct import *im, const struct layout *layout)
{
    const char *output = import_get_text(layout->lead->own, "TRAINYARD_OUTPUT_DIR");
    bool mounted = !output || at(layout->lead, find_path(layout->lead, output));
    bool differ = layout->other && !json_equal(layout->lead->own, layout->other->own);

    if (mounted && !differ)
        return;
    import_go(im, &im->job);
    import_fault_in(im, "spec", "not_supported",
                    differ ? "the gateway's own variables differ between the roles: leave them out"
                           : "TRAINYARD_OUTPUT_DIR names nothing that is mounted: leave it out");
}

void import_layout(struct import *im)
{
    bool master = im->roles[0].given;
    struct layout layout = {
        .lead = master ? &im->roles[0] : &im->roles[1],
        .other = master && im->roles[1].given ? &im->roles[1] : NULL,
    };

    import_aim(im, NULL);
    check_own(im, &layout);
    if (!lay_out_ours(im, &layout))
        lay_out(im, &layout);
}
