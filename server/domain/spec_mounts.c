/* What a job mounts: dataset, volumes (spec_volumes.c), output. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

#include <stdlib.h>

void ty_spec_check_claim(struct ty_spec_reader *reader, const char *token, const char *claim)
{
    if (!ty_dns1123_subdomain(claim))
        ty_spec_fault_in(reader, token, "claim_name_invalid",
                         "a claim's name is lower-case letters, digits, - and . as in a DNS name, "
                         "at most 253");
}

void ty_spec_check_paths(struct ty_spec_reader *reader, const char *mount_path,
                         const char *sub_path)
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
        ty_spec_check_claim(reader, "claim", mount_out->claim);
    ty_spec_check_paths(reader, mount_out->mount_path, mount_out->sub_path);
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
    size_t taken = ty_spec_find_mount(&draft->mounts, "/output");

    draft->spec.output_volume = taken;
    if (taken < draft->mounts.count) {
        if (draft->mounts.items[taken].kind != TY_VOLUME_CLAIM)
            ty_spec_fault_in(reader, "volumes", "output_not_kept",
                             "what is mounted at /output is not kept: mount a claim there, or name "
                             "one in output with another mount_path");
        return;
    }
    volume.suffix = ty_spec_dup(reader, "output");
    volume.mount_path = ty_spec_dup(reader, "/output");
    volume.create = true;
    volume.size = ty_spec_dup(reader, "10Gi");
    /* One node can mount a read_write_once claim; replicas may run on several. */
    volume.access_mode =
        ty_spec_replicas_max(&draft->spec) > 1 ? TY_READ_WRITE_MANY : TY_READ_WRITE_ONCE;
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
