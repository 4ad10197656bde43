/* A manifest of any workload kind: what the job brings along is the same for all of them, and the
 * workload comes last, so that it finds the rest in place. */
#include "parts.h"

#include "trainyard/base/scope.h"

ty_status ty_render_manifest(const struct ty_render_input *input, ty_render_workload *workload,
                             struct ty_manifest *manifest_out, struct ty_faults *faults,
                             struct ty_error *err)
{
    struct ty_tree tree = {false};
    size_t before = faults->count + faults->dropped;
    ty_auto_json objects = ty_tree_array(&tree);

    ty_render_claims(&tree, input, objects);
    ty_render_config_maps(&tree, input, objects, faults);
    workload(&tree, input, objects);
    if (tree.no_memory)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the objects of a job");
    if (faults->count + faults->dropped > before)
        return ty_fail_code(err, TY_REFUSED, "configmap_too_large",
                            "script, files or parameters are too large");
    manifest_out->objects = ty_steal(&objects);
    return TY_OK;
}

size_t ty_manifest_workload_bytes(const struct ty_manifest *manifest)
{
    size_t count = json_array_size(manifest->objects);

    return count > 0
               ? json_dumpb(json_array_get(manifest->objects, count - 1), NULL, 0, JSON_COMPACT)
               : 0;
}

void ty_manifest_done(struct ty_manifest *manifest)
{
    json_decref(manifest->objects);
    manifest->objects = NULL;
}
