/* Names of claims and places of results. */
#include "trainyard/base/str.h"
#include "trainyard/domain/spec.h"

#include <stdio.h>

void ty_spec_volume_claim(const struct ty_spec_volume *volume, const char *object_name,
                          char out[TY_CLAIM_NAME])
{
    if (volume->claim)
        ty_str_copy(out, TY_CLAIM_NAME, volume->claim);
    else
        snprintf(out, TY_CLAIM_NAME, "%s-%s", object_name, volume->suffix);
}

/* `a` and `b` as one path, either of which may be empty. */
static void join(char *out, size_t size, const char *a, const char *b)
{
    snprintf(out, size, "%s%s%s", a, a[0] && b[0] ? "/" : "", b);
}

static void describe(const struct ty_spec_volume *volume, const char *object_name,
                     const char *folder, struct ty_spec_folder *folder_out)
{
    ty_spec_volume_claim(volume, object_name, folder_out->claim);
    join(folder_out->path, sizeof(folder_out->path), volume->sub_path ? volume->sub_path : "",
         folder);
    join(folder_out->mount, sizeof(folder_out->mount), volume->mount_path, folder);
}

void ty_job_spec_output(const struct ty_job_spec *spec, const char *object_name,
                        struct ty_spec_folder *folder_out)
{
    describe(&ty_job_spec_lead(spec)->volumes[spec->output_volume], object_name, "", folder_out);
}

void ty_job_spec_checkpoints(const struct ty_job_spec *spec, const char *object_name,
                             struct ty_spec_folder *folder_out)
{
    describe(&ty_job_spec_lead(spec)->volumes[spec->checkpoint_volume], object_name,
             spec->checkpoint_path, folder_out);
}

int32_t ty_job_spec_gpus(const struct ty_job_spec *spec)
{
    return spec->master.replicas * spec->master.resources.gpus +
           spec->worker.replicas * spec->worker.resources.gpus;
}
