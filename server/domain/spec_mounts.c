/* The claims a job mounts: dataset, volumes, output. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

#include <stdlib.h>

enum { VOLUMES_MAX = 32 };

static const char *const access_modes[] = {
    [TY_READ_WRITE_ONCE] = "read_write_once",
    [TY_READ_WRITE_MANY] = "read_write_many",
    [TY_READ_ONLY_MANY] = "read_only_many",
    [TY_READ_WRITE_ONCE_POD] = "read_write_once_pod",
    NULL,
};

static void check_claim(struct ty_spec_reader *reader, const char *token, const char *claim)
{
    if (!ty_dns1123_subdomain(claim))
        ty_spec_fault_in(reader, token, "claim_name_invalid",
                         "a claim's name is lower-case letters, digits, - and . as in a DNS name, "
                         "at most 253");
}

static void check_paths(struct ty_spec_reader *reader, const char *mount_path, const char *sub_path)
{
    const char *fault = mount_path ? ty_spec_absolute_path_fault(mount_path) : NULL;

    if (fault)
        ty_spec_fault_in(reader, "mount_path", "mount_path_invalid", "%s", fault);
    fault = sub_path ? ty_spec_relative_path_fault(sub_path) : NULL;
    if (fault)
        ty_spec_fault_in(reader, "sub_path", "sub_path_invalid", "%s", fault);
}

static const struct ty_field claim_fields[] = {
    {"claim",      TY_FIELD_BORROWED, offsetof(struct ty_claim_mount, claim),      1, 0, NULL},
    {"mount_path", TY_FIELD_BORROWED, offsetof(struct ty_claim_mount, mount_path), 1, 0, NULL},
    {"sub_path",   TY_FIELD_BORROWED, offsetof(struct ty_claim_mount, sub_path),   1, 0, NULL},
    {"read_only",  TY_FIELD_BOOL,     offsetof(struct ty_claim_mount, read_only),  0, 0, NULL},
};

enum { CLAIM_FIELDS = 4 };

bool ty_spec_read_claim(struct ty_spec_reader *reader, const json_t *value, bool read_only_allowed,
                        struct ty_claim_mount *mount_out)
{
    if (!json_is_object(value)) {
        mount_out->claim = ty_spec_text(reader, value);
        if (mount_out->claim && !ty_dns1123_subdomain(mount_out->claim))
            ty_spec_fault(reader, "claim_name_invalid",
                          "a claim's name is lower-case letters, digits, - and . as in a DNS name");
        return mount_out->claim != NULL;
    }
    ty_spec_read_fields(reader, value, claim_fields,
                        read_only_allowed ? CLAIM_FIELDS : CLAIM_FIELDS - 1, mount_out);
    if (!json_object_get(value, "claim"))
        ty_spec_fault_in(reader, "claim", "required", "is missing");
    else if (mount_out->claim)
        check_claim(reader, "claim", mount_out->claim);
    check_paths(reader, mount_out->mount_path, mount_out->sub_path);
    return mount_out->claim != NULL;
}

size_t ty_spec_find_mount(const struct ty_mounts *mounts, const char *path)
{
    size_t i = 0;

    while (i < mounts->count && !ty_str_equal(mounts->items[i].mount_path, path))
        i++;
    return i;
}

size_t ty_spec_add_mount(struct ty_spec_reader *reader, struct ty_mounts *mounts,
                         struct ty_spec_volume volume)
{
    if (!volume.mount_path || mounts->count == TY_SPEC_MOUNTS_MAX) {
        ty_spec_volume_done(&volume); /* out of memory, which is noted, or a fault above */
        return 0;
    }
    if (ty_spec_find_mount(mounts, volume.mount_path) < mounts->count)
        ty_spec_fault(reader, "mount_path_taken", "something else is mounted at %s already",
                      volume.mount_path);
    mounts->items[mounts->count] = volume;
    return mounts->count++;
}

/* --- volumes[] --- */

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
    int64_t bytes = 0;

    ty_spec_read_fields(reader, object, create_fields, 3, &raw);
    if (raw.size) {
        size_t inner = ty_spec_enter(reader, "size");

        volume->size = ty_spec_read_size(reader, raw.size, &bytes);
        ty_spec_leave(reader, inner);
    } else if (json_is_object(object)) {
        ty_spec_fault_in(reader, "size", "required", "is missing");
    }
    if (raw.storage_class && !ty_dns1123_subdomain(raw.storage_class))
        ty_spec_fault_in(reader, "storage_class", "storage_class_invalid",
                         "must be lower-case letters, digits, - and . as in a DNS name");
    volume->create = true;
    volume->access_mode = (ty_access_mode)raw.access_mode;
    volume->storage_class = ty_spec_dup(reader, raw.storage_class);
    ty_spec_leave(reader, mark);
}

struct raw_volume {
    struct ty_claim_mount mount;
    const json_t *create;
};

static const struct ty_field volume_fields[] = {
    {"claim",      TY_FIELD_BORROWED, offsetof(struct raw_volume, mount.claim),      1, 0, NULL},
    {"mount_path", TY_FIELD_BORROWED, offsetof(struct raw_volume, mount.mount_path), 1, 0, NULL},
    {"sub_path",   TY_FIELD_BORROWED, offsetof(struct raw_volume, mount.sub_path),   1, 0, NULL},
    {"read_only",  TY_FIELD_BOOL,     offsetof(struct raw_volume, mount.read_only),  0, 0, NULL},
    {"create",     TY_FIELD_JSON,     offsetof(struct raw_volume, create),           0, 0, NULL},
};

static void read_volume(struct ty_spec_reader *reader, const json_t *value, const char *suffix,
                        struct ty_mounts *mounts)
{
    struct raw_volume raw = {0};
    struct ty_spec_volume volume = {0};

    ty_spec_read_fields(reader, value, volume_fields, 5, &raw);
    if (!json_is_object(value))
        return;
    if (!json_object_get(value, "claim") == !raw.create)
        ty_spec_fault(reader, "claim_or_create", "exactly one of claim and create must be given");
    if (!json_object_get(value, "mount_path"))
        ty_spec_fault_in(reader, "mount_path", "required", "is missing");
    if (raw.mount.claim)
        check_claim(reader, "claim", raw.mount.claim);
    check_paths(reader, raw.mount.mount_path, raw.mount.sub_path);
    if (raw.create) {
        read_create(reader, raw.create, &volume);
        volume.suffix = ty_spec_dup(reader, suffix);
    }
    volume.claim = ty_spec_dup(reader, raw.mount.claim);
    volume.mount_path = ty_spec_dup(reader, raw.mount.mount_path);
    volume.sub_path = ty_spec_dup(reader, raw.mount.sub_path);
    volume.read_only = raw.mount.read_only;
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
        read_volume(reader, json_array_get(array, i), suffix, mounts);
        ty_spec_leave(reader, mark);
    }
}

/* --- dataset and output --- */

static void add_claim(struct ty_spec_reader *reader, const struct ty_claim_mount *mount,
                      const char *default_path, struct ty_mounts *mounts, size_t *index_out)
{
    struct ty_spec_volume volume = {
        .claim = ty_spec_dup(reader, mount->claim),
        .mount_path = ty_spec_dup(reader, mount->mount_path ? mount->mount_path : default_path),
        .sub_path = ty_spec_dup(reader, mount->sub_path),
        .read_only = mount->read_only,
    };

    *index_out = ty_spec_add_mount(reader, mounts, volume);
}

static void read_dataset(struct ty_spec_reader *reader, const json_t *value,
                         struct ty_mounts *mounts)
{
    size_t mark = ty_spec_enter(reader, "dataset");
    struct ty_claim_mount mount = {.read_only = true};
    size_t index;

    if (ty_spec_read_claim(reader, value, true, &mount))
        add_claim(reader, &mount, "/data", mounts, &index);
    ty_spec_leave(reader, mark);
}

/* Without `output` the volume that is mounted at /output is it; without that the job gets a claim
 * of its own, so that what a script leaves at /output is kept in any case. */
static void default_output(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_spec_volume volume = {0};

    draft->spec.output_volume = ty_spec_find_mount(&draft->mounts, "/output");
    if (draft->spec.output_volume < draft->mounts.count)
        return;
    volume.suffix = ty_spec_dup(reader, "output");
    volume.mount_path = ty_spec_dup(reader, "/output");
    volume.create = true;
    volume.size = ty_spec_dup(reader, "10Gi");
    /* One node can mount a read_write_once claim; replicas may run on several. */
    volume.access_mode = draft->spec.replicas > 1 ? TY_READ_WRITE_MANY : TY_READ_WRITE_ONCE;
    draft->spec.output_volume = ty_spec_add_mount(reader, &draft->mounts, volume);
}

void ty_spec_read_mounts(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    if (draft->dataset)
        read_dataset(reader, draft->dataset, &draft->mounts);
    if (draft->volumes) {
        size_t mark = ty_spec_enter(reader, "volumes");

        ty_spec_read_volumes(reader, draft->volumes, "volume", &draft->mounts);
        ty_spec_leave(reader, mark);
    }
    if (draft->output) {
        size_t mark = ty_spec_enter(reader, "output");
        struct ty_claim_mount mount = {0};

        if (ty_spec_read_claim(reader, draft->output, false, &mount))
            add_claim(reader, &mount, "/output", &draft->mounts, &draft->spec.output_volume);
        ty_spec_leave(reader, mark);
    } else {
        default_output(reader, draft);
    }
}
