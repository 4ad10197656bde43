/* volumes[]: claims with a name or of the job's own, scratch space, and small files. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

enum { VOLUMES_MAX = 32 };

static const char *const access_modes[] = {
    [TY_READ_WRITE_ONCE] = "read_write_once",
    [TY_READ_WRITE_MANY] = "read_write_many",
    [TY_READ_ONLY_MANY] = "read_only_many",
    [TY_READ_WRITE_ONCE_POD] = "read_write_once_pod",
    NULL,
};

static char *read_size_in(struct ty_spec_reader *reader, const json_t *value)
{
    size_t mark = ty_spec_enter(reader, "size");
    int64_t bytes = 0;
    char *size = ty_spec_read_size(reader, value, &bytes);

    ty_spec_leave(reader, mark);
    return size;
}

/* --- create --- */

struct raw_create {
    const json_t *size;
    int32_t access_mode;
    const char *storage_class;
};

#define CREATE(member) offsetof(struct raw_create, member)

static const struct ty_field create_fields[] = {
    {"size",          TY_FIELD_JSON,     CREATE(size),          0, 0,   NULL        },
    {"access_mode",   TY_FIELD_CHOICE,   CREATE(access_mode),   0, 0,   access_modes},
    {"storage_class", TY_FIELD_BORROWED, CREATE(storage_class), 1, 253, NULL        },
};

static void read_create(struct ty_spec_reader *reader, const json_t *object,
                        struct ty_spec_volume *volume)
{
    struct raw_create raw = {.access_mode = TY_READ_WRITE_ONCE};
    size_t mark = ty_spec_enter(reader, "create");

    ty_spec_read_fields(reader, object, create_fields, 3, &raw);
    if (raw.size)
        volume->size = read_size_in(reader, raw.size);
    else if (json_is_object(object))
        ty_spec_fault_in(reader, "size", "required", "is missing");
    if (raw.storage_class && !ty_dns1123_subdomain(raw.storage_class))
        ty_spec_fault_in(reader, "storage_class", "storage_class_invalid",
                         "must be lower-case letters, digits, - and . as in a DNS name");
    volume->create = true;
    volume->access_mode = (ty_access_mode)raw.access_mode;
    volume->storage_class = ty_spec_dup(reader, raw.storage_class);
    ty_spec_leave(reader, mark);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? ty_str_equal(a, b) : a == b;
}

/* A claim with a name that two mounts would make in two ways. */
static void check_made_once(struct ty_spec_reader *reader, const struct ty_spec_volume *volume,
                            const struct ty_mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++) {
        const struct ty_spec_volume *other = &mounts->items[i];

        if (!other->create || !other->claim || !same_text(other->claim, volume->claim))
            continue;
        if (!same_text(other->size, volume->size) || other->access_mode != volume->access_mode ||
            !same_text(other->storage_class, volume->storage_class)) {
            ty_spec_fault_in(reader, "create", "claim_differs",
                             "differs from what another volume makes of the claim %s",
                             volume->claim);
            return;
        }
    }
}

/* --- scratch --- */

struct raw_scratch {
    const json_t *size;
    bool memory;
};

static const struct ty_field scratch_fields[] = {
    {"size",   TY_FIELD_JSON, offsetof(struct raw_scratch, size),   0, 0, NULL},
    {"memory", TY_FIELD_BOOL, offsetof(struct raw_scratch, memory), 0, 0, NULL},
};

static void read_scratch(struct ty_spec_reader *reader, const json_t *object,
                         struct ty_spec_volume *volume)
{
    struct raw_scratch raw = {0};
    size_t mark = ty_spec_enter(reader, "scratch");

    ty_spec_read_fields(reader, object, scratch_fields, 2, &raw);
    if (raw.size)
        volume->size = read_size_in(reader, raw.size);
    volume->kind = TY_VOLUME_SCRATCH;
    volume->memory = raw.memory;
    ty_spec_leave(reader, mark);
}

/* --- files --- */

static void read_files(struct ty_spec_reader *reader, const json_t *array,
                       struct ty_spec_volume *volume)
{
    size_t mark = ty_spec_enter(reader, "files");

    ty_spec_read_files(reader, array, NULL, &volume->files);
    if (json_is_array(array) && json_array_size(array) == 0)
        ty_spec_fault(reader, "too_short", "must name a file");
    volume->kind = TY_VOLUME_FILES;
    ty_spec_leave(reader, mark);
}

/* --- one volume --- */

struct raw_volume {
    struct ty_claim_mount mount;
    const json_t *create;
    const json_t *scratch;
    const json_t *files;
};

static const struct ty_field volume_fields[] = {
    {"claim",      TY_FIELD_BORROWED, offsetof(struct raw_volume, mount.claim),      1, 0, NULL},
    {"mount_path", TY_FIELD_BORROWED, offsetof(struct raw_volume, mount.mount_path), 1, 0, NULL},
    {"sub_path",   TY_FIELD_BORROWED, offsetof(struct raw_volume, mount.sub_path),   1, 0, NULL},
    {"read_only",  TY_FIELD_BOOL,     offsetof(struct raw_volume, mount.read_only),  0, 0, NULL},
    {"create",     TY_FIELD_JSON,     offsetof(struct raw_volume, create),           0, 0, NULL},
    {"scratch",    TY_FIELD_JSON,     offsetof(struct raw_volume, scratch),          0, 0, NULL},
    {"files",      TY_FIELD_JSON,     offsetof(struct raw_volume, files),            0, 0, NULL},
};

enum { VOLUME_FIELDS = 7 };

static void check_kind(struct ty_spec_reader *reader, const json_t *value,
                       const struct raw_volume *raw)
{
    int claim = json_object_get(value, "claim") || raw->create ? 1 : 0;
    const json_t *read_only = json_object_get(value, "read_only");

    if (claim + (raw->scratch ? 1 : 0) + (raw->files ? 1 : 0) != 1)
        ty_spec_fault(reader, "volume_kind",
                      "exactly one of claim, create, scratch and files must be given (claim and "
                      "create may go together)");
    if ((raw->scratch || raw->files) && json_object_get(value, "sub_path"))
        ty_spec_fault_in(reader, "sub_path", "sub_path_unused", "goes with a claim only");
    if (raw->scratch && json_is_true(read_only))
        ty_spec_fault_in(reader, "read_only", "scratch_read_only",
                         "must be false, nobody could write to it");
    if (raw->files && json_is_false(read_only))
        ty_spec_fault_in(reader, "read_only", "files_read_only",
                         "must be true, files are always read-only");
}

static void read_kind(struct ty_spec_reader *reader, const struct raw_volume *raw,
                      const char *suffix, const struct ty_mounts *mounts,
                      struct ty_spec_volume *volume)
{
    volume->claim = ty_spec_dup(reader, raw->mount.claim);
    volume->read_only = raw->mount.read_only;
    if (raw->create)
        read_create(reader, raw->create, volume);
    if (raw->create && raw->mount.claim)
        check_made_once(reader, volume, mounts);
    if (raw->scratch && !raw->create)
        read_scratch(reader, raw->scratch, volume);
    if (raw->files) {
        read_files(reader, raw->files, volume);
        volume->read_only = true;
    }
    if (!raw->mount.claim)
        volume->suffix = ty_spec_dup(reader, suffix);
}

static void read_volume(struct ty_spec_reader *reader, const json_t *value, const char *suffix,
                        size_t index, struct ty_mounts *mounts)
{
    struct raw_volume raw = {0};
    struct ty_spec_volume volume = {.place = index + 1};

    ty_spec_read_fields(reader, value, volume_fields, VOLUME_FIELDS, &raw);
    if (!json_is_object(value))
        return;
    check_kind(reader, value, &raw);
    if (!json_object_get(value, "mount_path"))
        ty_spec_fault_in(reader, "mount_path", "required", "is missing");
    if (raw.mount.claim)
        ty_spec_check_claim(reader, "claim", raw.mount.claim);
    ty_spec_check_paths(reader, raw.mount.mount_path, raw.mount.sub_path);
    read_kind(reader, &raw, suffix, mounts, &volume);
    volume.mount_path = ty_spec_dup(reader, raw.mount.mount_path);
    volume.sub_path = ty_spec_dup(reader, raw.mount.sub_path);
    size_t mark = ty_spec_enter(reader, "mount_path");

    ty_spec_add_mount(reader, mounts, volume);
    ty_spec_leave(reader, mark);
}

void ty_spec_read_volumes(struct ty_spec_reader *reader, const json_t *array,
                          const char *suffix_prefix, struct ty_mounts *mounts)
{
    if (!ty_spec_is_array(reader, array))
        return;
    if (json_array_size(array) > VOLUMES_MAX) {
        ty_spec_fault(reader, "too_many", "has %zu items; at most %d are allowed",
                      json_array_size(array), VOLUMES_MAX);
        return;
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        size_t mark = ty_spec_enter_index(reader, i);
        char suffix[40];

        snprintf(suffix, sizeof(suffix), "%s-%zu", suffix_prefix, i);
        read_volume(reader, json_array_get(array, i), suffix, i, mounts);
        ty_spec_leave(reader, mark);
    }
}
