/* The container's mounts: what each makes of its volume. */
#include "import.h"

#include "trainyard/domain/spec.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <stdio.h>

static const char shared_memory[] = "/dev/shm";

/* clang-format off */
static const struct import_rule mount_rules[] = {
    FIELD_AS(IMPORT_TEXT, "name", "_volume"),
    FIELD_AS(IMPORT_TEXT, "mountPath", "mount_path"),
    FIELD_AS(IMPORT_TEXT, "subPath", "sub_path"),
    FIELD_AS(IMPORT_BOOLEAN, "readOnly", "read_only"),
    FIELD_REFUSED("mountPropagation", "\"None\"", "is not for jobs of a tenant"),
    FIELD_REFUSED("recursiveReadOnly", "\"Disabled\"", "the gateway has no such setting"),
    FIELD_REFUSED("subPathExpr", "\"\"", "use subPath"),
};
/* clang-format on */

/* --- /dev/shm --- */

static void read_shared_memory(struct import *im, const json_t *mount, const json_t *volume)
{
    const json_t *scratch = json_object_get(volume, "scratch");
    json_t *size = json_object_get(scratch, "size");

    if (!json_is_true(json_object_get(scratch, "memory")) || json_object_get(mount, "sub_path") ||
        json_is_true(json_object_get(mount, "read_only")))
        import_fault(im, "not_supported", "/dev/shm is an emptyDir with medium Memory");
    else if (size)
        import_put(im, "shared_memory", json_incref(size));
    else
        import_warn(im, "shared_memory_limited",
                    "without a sizeLimit the gateway's default holds: half the memory limit up to "
                    "8Gi, 2Gi without one");
}

/* --- Secrets --- */

static void add_secret(struct import *im, const char *secret, const char *key, const char *path)
{
    struct import_target list = import_into(im, "secrets", true);
    struct import_target before = import_into_last(im);

    import_put(im, "name", json_string(secret));
    import_put(im, "key", json_string(key));
    import_put(im, "path", json_string(path));
    import_back(im, before);
    import_back(im, list);
}

static void add_secret_below(struct import *im, const char *secret, const char *mount_path,
                             const json_t *item)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", mount_path, import_get_text(item, "path"));
    add_secret(im, secret, import_get_text(item, "key"), path);
}

static void read_secret(struct import *im, const json_t *mount, const json_t *volume)
{
    const char *secret = import_get_text(volume, "_secret");
    const char *path = import_get_text(mount, "mount_path");
    const char *sub_path = import_get_text(mount, "sub_path");
    const json_t *items = json_object_get(volume, "_items");
    const char *key = json_array_size(items) == 0 ? sub_path : NULL;
    size_t index;
    json_t *item;

    json_array_foreach(items, index, item)
    {
        if (!sub_path)
            add_secret_below(im, secret, path, item);
        else if (ty_str_equal(sub_path, import_get_text(item, "path")))
            key = import_get_text(item, "key");
    }
    if (key)
        add_secret(im, secret, key, path);
    else if (sub_path)
        import_fault_in(im, "subPath", "not_found", "no item of the Secret goes there");
    else if (json_array_size(items) == 0)
        import_fault(im, "not_supported", "name the keys of the Secret, in items of its volume");
}

/* --- what goes into volumes[] --- */

/* What a mount needs to be told apart from: a clean copy without what is ours on the way. */
static json_t *plain_files(struct import *im, const json_t *files)
{
    json_t *copy = import_copy(im, files);
    size_t index;
    json_t *file;

    json_array_foreach(copy, index, file)
    {
        json_object_del(file, "_key");
    }
    return copy;
}

static size_t size_of(const json_t *files)
{
    size_t size = 0;
    size_t index;
    json_t *file;

    json_array_foreach(files, index, file)
    {
        size += json_string_length(json_object_get(file, "content"));
    }
    return size;
}

static void add_mount(struct import *im, json_t *mount, const json_t *volume)
{
    static const char *const members[] = {"claim", "create", "scratch", "_own", "_object"};
    const json_t *files = json_object_get(volume, "files");
    bool scripts = files && ty_str_equal(import_get_text(mount, "mount_path"), TY_SCRIPTS_MOUNT);

    if (files && json_object_get(mount, "sub_path"))
        import_fault_in(im, "subPath", "not_supported",
                        "a single file cannot be mounted: mount the folder that holds it");
    if (json_object_get(volume, "scratch") && json_is_true(json_object_get(mount, "read_only")))
        import_fault_in(im, "readOnly", "not_supported", "nobody could write to it");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        json_t *value = json_object_get(volume, members[i]);

        if (value)
            import_set(im, mount, members[i], import_copy(im, value));
    }
    if (files && import_spend(im, size_of(files)))
        import_set(im, mount, "files", scripts ? import_copy(im, files) : plain_files(im, files));
    if (files || json_is_false(json_object_get(mount, "read_only")))
        json_object_del(mount, "read_only");
    if (json_is_true(json_object_get(volume, "read_only")))
        import_set(im, mount, "read_only", json_true());
    import_set(im, mount, "_at", json_string(im->at));
    import_set(im, mount, "_source_at", json_incref(json_object_get(volume, "_at")));
    if (json_array_append(im->role->mounts, mount) != 0)
        im->no_memory = true;
}

/* The path as everything else has it: without a slash at its end. */
static void trim_path(struct import *im, json_t *mount)
{
    const char *path = import_get_text(mount, "mount_path");
    size_t len = path ? strlen(path) : 0;

    if (len > 1 && path[len - 1] == '/')
        import_set(im, mount, "mount_path", json_stringn(path, len - 1));
    if (ty_str_equal(import_get_text(mount, "sub_path") ? import_get_text(mount, "sub_path") : "-",
                     ""))
        json_object_del(mount, "sub_path");
}

static bool path_taken(const struct import *im, const char *path)
{
    return json_object_get(im->role->paths, path) != NULL;
}

static void place_mount(struct import *im, json_t *mount)
{
    const char *name = import_get_text(mount, "_volume");
    const char *path = import_get_text(mount, "mount_path");
    json_t *volume = name ? json_object_get(im->role->volumes, name) : NULL;

    if (!path || !name) {
        import_fault(im, "required", "must have the name of a volume and a mountPath");
        return;
    }
    if (!volume) {
        import_fault_in(im, "name", "not_found", "the pod has no volume %s", name);
        return;
    }
    if (path_taken(im, path))
        import_fault_in(im, "mountPath", "conflict", "something else is mounted there");
    if (json_object_get(volume, "scratch") && json_object_get(volume, "_used"))
        import_fault_in(im, "name", "not_supported",
                        "an emptyDir has one mount: two of the spec share no files");
    import_set(im, im->role->paths, path, json_true());
    import_set(im, volume, "_used", json_true());
    if (json_object_get(volume, "_refused"))
        return;
    if (json_object_get(volume, "_executable") && !ty_str_equal(path, TY_SCRIPTS_MOUNT))
        import_fault(im, "not_supported",
                     "files of a ConfigMap or Secret are not executable here: start them by their "
                     "interpreter");
    if (ty_str_equal(path, shared_memory))
        read_shared_memory(im, mount, volume);
    else if (json_object_get(volume, "_secret"))
        read_secret(im, mount, volume);
    else
        add_mount(im, mount, volume);
}

void import_mounts(struct import *im, const json_t *value)
{
    size_t index;
    json_t *item;

    if (!import_is_short(im, value))
        return;
    json_array_foreach(value, index, item)
    {
        ty_auto_json mount = import_made(im, json_object());
        size_t mark = import_enter_index(im, index);
        struct import_target before = {im->target, im->to_len};

        im->target = mount;
        if (mount)
            IMPORT_BY(im, item, mount_rules);
        import_back(im, before);
        trim_path(im, mount);
        if (mount && json_is_object(item))
            place_mount(im, mount);
        import_leave(im, mark);
    }
}
