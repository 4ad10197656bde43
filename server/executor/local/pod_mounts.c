#include "executor/local/pod_mounts.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/domain/spec.h"

#include <limits.h>
#include <stdio.h>

enum { DEFAULT_FILE_MODE = 0644 };

/* One volumeMount with the volume it names. */
struct mount {
    const struct ty_pod *pod;
    struct ty_mount_plan *plan;
    const json_t *volume;
    const char *name; /* of the volume */
    const char *sub_path;
    char target[PATH_MAX];
    bool read_only;
};

static ty_status no_memory(struct ty_error *err)
{
    return ty_fail(err, TY_NO_MEMORY, "no memory for a mount");
}

static ty_status put_mount(struct mount *mount, json_t *entry, struct ty_error *err)
{
    if (!entry || json_array_append_new(mount->plan->mounts, entry) != 0)
        return no_memory(err);
    return TY_OK;
}

static ty_status put_bind(struct mount *mount, const char *source, bool with_sub_path,
                          struct ty_error *err)
{
    json_t *entry = json_pack("{s:s, s:s, s:s, s:b, s:s*}", "kind", "bind", "source", source,
                              "target", mount->target, "read_only", mount->read_only, "sub_path",
                              with_sub_path ? mount->sub_path : NULL);
    return put_mount(mount, entry, err);
}

static ty_status note_key(json_t *object, const char *key, struct ty_error *err)
{
    return json_object_set_new(object, key, json_true()) == 0 ? TY_OK : no_memory(err);
}

static ty_status use_claim(struct mount *mount, const json_t *source, struct ty_error *err)
{
    const char *claim = ty_object_text(source, "claimName", "");
    if (!ty_dns1123_subdomain(claim))
        return ty_fail(err, TY_REFUSED, "\"%s\" is not the name of a claim", claim);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", mount->plan->volumes_folder, mount->pod->job->namespace,
             claim);
    mount->read_only |= json_is_true(json_object_get(source, "readOnly"));
    ty_status status = note_key(mount->plan->claims, claim, err);
    return status == TY_OK ? put_bind(mount, path, true, err) : status;
}

static ty_status use_empty_dir(struct mount *mount, const json_t *source, struct ty_error *err)
{
    if (ty_str_equal(ty_object_text(source, "medium", ""), "Memory")) {
        const char *limit = ty_object_text(source, "sizeLimit", NULL);
        int64_t millis = 0;
        if (limit && ty_quantity_parse(limit, &millis) != TY_OK)
            return ty_fail(err, TY_REFUSED, "\"%s\" is not a size", limit);
        return put_mount(mount,
                         json_pack("{s:s, s:s, s:I}", "kind", "tmpfs", "target", mount->target,
                                   "size", (json_int_t)(millis / 1000)),
                         err);
    }
    char replica[32];
    char relative[512];
    char path[PATH_MAX];
    ty_pod_name(mount->pod, replica, sizeof replica);
    snprintf(relative, sizeof relative, "scratch/%s/%s", replica, mount->name);
    snprintf(path, sizeof path, "%s/%s", mount->plan->run_folder, relative);
    ty_status status = note_key(mount->plan->folders, relative, err);
    return status == TY_OK ? put_bind(mount, path, true, err) : status;
}

/* --- ConfigMaps --- */

static ty_status put_file(struct mount *mount, const json_t *map, const char *key, const char *path,
                          int64_t mode, struct ty_error *err)
{
    json_t *text = json_object_get(json_object_get(map, "data"), key);
    json_t *binary = json_object_get(json_object_get(map, "binaryData"), key);
    if (!text && !binary)
        return ty_fail(err, TY_REFUSED, "the ConfigMap has no key \"%s\"", key);
    char relative[PATH_MAX];
    snprintf(relative, sizeof relative, "config/%d-%s/%s", mount->pod->role, mount->name, path);
    json_t *file = json_pack("{s:O, s:I}", text ? "text" : "base64", text ? text : binary, "mode",
                             (json_int_t)mode);
    if (!file || json_object_set_new(mount->plan->files, relative, file) != 0)
        return no_memory(err);
    return TY_OK;
}

static ty_status put_all_keys(struct mount *mount, const json_t *map, int64_t mode,
                              struct ty_error *err)
{
    static const char *const members[] = {"data", "binaryData"};
    ty_status status = TY_OK;
    for (size_t i = 0; i < 2; i++) {
        json_t *values = json_object_get(map, members[i]);
        for (void *at = json_object_iter(values); at && status == TY_OK;
             at = json_object_iter_next(values, at))
            status =
                put_file(mount, map, json_object_iter_key(at), json_object_iter_key(at), mode, err);
    }
    return status;
}

static ty_status use_config_map(struct mount *mount, const json_t *source, struct ty_error *err)
{
    const char *name = ty_object_text(source, "name", "");
    const json_t *map = ty_objects_find(mount->pod->job->objects, "ConfigMap", name);
    if (!map && !json_is_true(json_object_get(source, "optional")))
        return ty_fail(err, TY_REFUSED, "ConfigMap %s is not available on this machine", name);
    int64_t mode = ty_object_int(source, "defaultMode", DEFAULT_FILE_MODE);
    const json_t *items = json_object_get(source, "items");
    ty_status status = items ? TY_OK : put_all_keys(mount, map, mode, err);
    for (size_t i = 0; i < json_array_size(items) && status == TY_OK; i++) {
        const json_t *item = json_array_get(items, i);
        const char *key = ty_object_text(item, "key", "");
        status = put_file(mount, map, key, ty_object_text(item, "path", key),
                          ty_object_int(item, "mode", mode), err);
    }
    char relative[512];
    char path[PATH_MAX];
    snprintf(relative, sizeof relative, "config/%d-%s", mount->pod->role, mount->name);
    if (status == TY_OK)
        status = note_key(mount->plan->folders, relative, err);
    snprintf(path, sizeof path, "%s/%s%s%s", mount->plan->run_folder, relative,
             mount->sub_path ? "/" : "", mount->sub_path ? mount->sub_path : "");
    mount->read_only = true;
    return status == TY_OK ? put_bind(mount, path, false, err) : status;
}

/* --- Secrets --- */

/* The key that a path of the volume shows: by its items, else the path itself. */
static const char *key_at(const json_t *source, const char *path)
{
    const json_t *items = json_object_get(source, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *key = ty_object_text(item, "key", "");
        if (ty_str_equal(ty_object_text(item, "path", key), path))
            return key;
    }
    return items ? NULL : path;
}

/* The administrator's own file, bound: its contents are never copied. */
static ty_status use_secret(struct mount *mount, const json_t *source, struct ty_error *err)
{
    const struct ty_secret_plan *secrets = mount->pod->secrets;
    const char *name = ty_object_text(source, "secretName", "");
    const char *key = mount->sub_path ? key_at(source, mount->sub_path) : NULL;
    char path[PATH_MAX];
    size_t index;
    if (!key)
        return ty_fail(err, TY_REFUSED, "secret %s can be mounted key by key only", name);
    ty_status status = ty_secret_note(secrets->files, name, key, &index, err);
    if (status != TY_OK)
        return status;
    snprintf(path, sizeof path, "%s/%s/%s", secrets->folder, name, key);
    mount->read_only = true;
    return put_bind(mount, path, false, err);
}

/* --- all kinds --- */

static const struct {
    const char *member;
    ty_status (*use)(struct mount *mount, const json_t *source, struct ty_error *err);
} kinds[] = {
    {"persistentVolumeClaim", use_claim     },
    {"configMap",             use_config_map},
    {"emptyDir",              use_empty_dir },
    {"secret",                use_secret    },
};

static const json_t *find_volume(const json_t *pod, const char *name)
{
    const json_t *volumes = json_object_get(pod, "volumes");
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);
        if (ty_str_equal(ty_object_text(volume, "name", ""), name))
            return volume;
    }
    return NULL;
}

/* No empty, "." or ".." part and no leading slash. */
static bool path_inside(const char *path)
{
    while (*path) {
        size_t len = strcspn(path, "/");
        if (len == 0 || (len == 1 && path[0] == '.') ||
            (len == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        path += len + (path[len] == '/');
    }
    return true;
}

static ty_status read_target(struct mount *mount, const json_t *entry, struct ty_error *err)
{
    const char *target = ty_object_text(entry, "mountPath", "");
    ty_str_copy(mount->target, sizeof mount->target, target);
    size_t len = strlen(mount->target);
    while (len > 1 && mount->target[len - 1] == '/')
        mount->target[--len] = '\0';
    if (len < 2 || target[0] != '/' || !path_inside(mount->target + 1))
        return ty_fail(err, TY_REFUSED, "\"%s\" is not a path to mount at", target);
    if (mount->sub_path && !path_inside(mount->sub_path))
        return ty_fail(err, TY_REFUSED, "\"%s\" leads out of its volume", mount->sub_path);
    return TY_OK;
}

static ty_status use_volume(struct mount *mount, struct ty_error *err)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const json_t *source = json_object_get(mount->volume, kinds[i].member);
        if (source)
            return kinds[i].use(mount, source, err);
    }
    return ty_fail(err, TY_REFUSED, "volume %s is of a kind this machine cannot give", mount->name);
}

static ty_status add_mount(const struct ty_pod *pod, const json_t *entry,
                           struct ty_mount_plan *plan, struct ty_error *err)
{
    struct mount mount = {.pod = pod,
                          .plan = plan,
                          .name = ty_object_text(entry, "name", ""),
                          .sub_path = ty_object_text(entry, "subPath", NULL),
                          .read_only = json_is_true(json_object_get(entry, "readOnly"))};
    if (mount.sub_path && !mount.sub_path[0])
        mount.sub_path = NULL;
    mount.volume = find_volume(pod->job->roles[pod->role].pod, mount.name);
    if (!mount.volume || !path_inside(mount.name) || strchr(mount.name, '/'))
        return ty_fail(err, TY_REFUSED, "there is no volume \"%s\"", mount.name);
    ty_status status = read_target(&mount, entry, err);
    return status == TY_OK ? use_volume(&mount, err) : status;
}

/* A mount inside another must come after it. */
static void sort_by_target(json_t *mounts)
{
    for (size_t i = 1; i < json_array_size(mounts); i++) {
        json_t *entry = json_incref(json_array_get(mounts, i));
        const char *target = ty_object_text(entry, "target", "");
        size_t at = i;
        while (at > 0 &&
               strcmp(ty_object_text(json_array_get(mounts, at - 1), "target", ""), target) > 0)
            at--;
        json_array_remove(mounts, i);
        json_array_insert_new(mounts, at, entry);
    }
}

ty_status ty_pod_mounts(const struct ty_pod *pod, struct ty_mount_plan *plan, struct ty_error *err)
{
    const json_t *entries = json_object_get(pod->job->roles[pod->role].container, "volumeMounts");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        ty_status status = add_mount(pod, json_array_get(entries, i), plan, err);
        if (status != TY_OK)
            return status;
    }
    sort_by_target(plan->mounts);
    return TY_OK;
}
