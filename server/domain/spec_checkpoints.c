/* Where checkpoints lie. With `volume` that claim at /checkpoints; an absolute `path` is where it
 * is mounted instead, a relative one a folder below it. Without `volume`: below the output or
 * whatever mount an absolute path lies in. Without anything: the folder "checkpoints" of the
 * output, which is mounted at /checkpoints as well, so that scripts written for it just work. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

#include <stdlib.h>

static const char default_mount[] = "/checkpoints";
static const char default_folder[] = "checkpoints";

struct raw_checkpoints {
    const json_t *volume;
    const char *path;
    bool resume;
    int32_t keep_last;
};

static const struct ty_field checkpoint_fields[] = {
    {"volume",    TY_FIELD_JSON,     offsetof(struct raw_checkpoints, volume),    0, 0,    NULL},
    {"path",      TY_FIELD_BORROWED, offsetof(struct raw_checkpoints, path),      1, 255,  NULL},
    {"resume",    TY_FIELD_BOOL,     offsetof(struct raw_checkpoints, resume),    0, 0,    NULL},
    {"keep_last", TY_FIELD_INT32,    offsetof(struct raw_checkpoints, keep_last), 0, 1000, NULL},
};

/* Checkpoints lie in `folder` below the mount of that index. */
static void set_place(struct ty_spec_reader *reader, struct ty_spec_draft *draft, size_t index,
                      const char *folder)
{
    struct ty_job_spec *spec = &draft->spec;

    spec->checkpoint_volume = index;
    free(spec->checkpoint_path);
    spec->checkpoint_path = ty_spec_dup(reader, folder);
}

static void check_path(struct ty_spec_reader *reader, const char *path)
{
    const char *fault =
        path[0] == '/' ? ty_spec_absolute_path_fault(path) : ty_spec_relative_path_fault(path);

    if (fault)
        ty_spec_fault_in(reader, "path", "path_invalid", "%s", fault);
}

static void mount_own_volume(struct ty_spec_reader *reader, const struct raw_checkpoints *raw,
                             struct ty_spec_draft *draft)
{
    size_t mark = ty_spec_enter(reader, "volume");
    struct ty_claim_mount mount = {0};
    const char *at = default_mount;
    const char *folder = "";

    if (!ty_spec_read_claim(reader, raw->volume, false, &mount)) {
        ty_spec_leave(reader, mark);
        return;
    }
    if (mount.mount_path)
        at = mount.mount_path;
    if (raw->path && raw->path[0] != '/') {
        folder = raw->path;
    } else if (raw->path && !mount.mount_path) {
        at = raw->path;
    } else if (raw->path) {
        folder = ty_spec_path_below(raw->path, at);
    }
    struct ty_spec_volume volume = {
        .claim = ty_spec_dup(reader, mount.claim),
        .mount_path = ty_spec_dup(reader, at),
        .sub_path = ty_spec_dup(reader, mount.sub_path),
    };

    set_place(reader, draft, ty_spec_add_mount(reader, &draft->mounts, volume),
              folder ? folder : "");
    ty_spec_leave(reader, mark);
    if (!folder)
        ty_spec_fault_in(reader, "path", "path_outside_volume", "does not lie below %s", at);
}

/* The innermost mount that holds an absolute path. */
static void find_mount_of(struct ty_spec_reader *reader, const char *path,
                          struct ty_spec_draft *draft)
{
    const struct ty_mounts *mounts = &draft->mounts;
    size_t found = mounts->count;

    for (size_t i = 0; i < mounts->count; i++) {
        const char *mount_path = mounts->items[i].mount_path;

        if (ty_spec_path_below(path, mount_path) &&
            (found == mounts->count ||
             strlen(mount_path) > strlen(mounts->items[found].mount_path)))
            found = i;
    }
    if (found == mounts->count) {
        ty_spec_fault_in(reader, "path", "path_outside_volume",
                         "lies below no mounted volume; name one in volume");
        return;
    }
    if (mounts->items[found].kind != TY_VOLUME_CLAIM)
        ty_spec_fault_in(reader, "path", "checkpoints_not_kept",
                         "lies in a volume that is not kept; choose a claim");
    set_place(reader, draft, found, ty_spec_path_below(path, mounts->items[found].mount_path));
}

/* The folder "checkpoints" of the output at /checkpoints too, unless something is there. */
static void default_place(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_mounts *mounts = &draft->mounts;
    size_t taken = ty_spec_find_mount(mounts, default_mount);
    bool free_mount = taken == mounts->count;

    if (!free_mount && mounts->items[taken].kind == TY_VOLUME_CLAIM) {
        set_place(reader, draft, taken, "");
        return;
    }
    set_place(reader, draft, draft->spec.output_volume, default_folder);
    if (!free_mount || draft->spec.output_volume >= mounts->count)
        return; /* scratch space is there, or the output was refused */
    const struct ty_spec_volume *output = &mounts->items[draft->spec.output_volume];
    struct ty_spec_volume alias = {
        .claim = ty_spec_dup(reader, output->claim),
        .suffix = ty_spec_dup(reader, output->suffix),
        .mount_path = ty_spec_dup(reader, default_mount),
        .read_only = output->read_only,
        .create = output->create,
        .access_mode = output->access_mode,
        .size = ty_spec_dup(reader, output->size),
        .storage_class = ty_spec_dup(reader, output->storage_class),
    };

    alias.sub_path = output->sub_path
                         ? ty_spec_format(reader, "%s/%s", output->sub_path, default_folder)
                         : ty_spec_dup(reader, default_folder);
    ty_spec_add_mount(reader, mounts, alias);
}

void ty_spec_read_checkpoints(struct ty_spec_reader *reader, const json_t *object,
                              struct ty_spec_draft *draft)
{
    struct raw_checkpoints raw = {0};
    size_t mark = ty_spec_enter(reader, "checkpoints");

    if (object)
        ty_spec_read_fields(reader, object, checkpoint_fields, 4, &raw);
    if (raw.path)
        check_path(reader, raw.path);
    if (raw.volume)
        mount_own_volume(reader, &raw, draft);
    else if (raw.path && raw.path[0] == '/')
        find_mount_of(reader, raw.path, draft);
    else if (raw.path)
        set_place(reader, draft, draft->spec.output_volume, raw.path);
    else
        default_place(reader, draft);
    draft->spec.checkpoint_resume = raw.resume;
    draft->spec.checkpoint_keep_last = raw.keep_last;
    ty_spec_leave(reader, mark);
}
