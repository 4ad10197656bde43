/* Any objects, as a user's manifest may bring them: a plan is made, or they are refused; what was
 * made reads back. */
#include "executor/local/make_plan.h"
#include "executor/supervisor/plan.h"
#include "executor/supervisor/sandbox.h"

#include "trainyard/base/scope.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char *everywhere(const void *context, const char *image)
{
    (void)context;
    return image[0] == 'm' ? NULL : "/nonexistent";
}

static void check(json_t *document)
{
    struct ty_plan *plan = NULL;
    struct ty_error err;
    if (ty_plan_parse(document, &plan, &err) != TY_OK)
        abort();
    for (size_t i = 0; i < plan->replica_count; i++) {
        const struct ty_sandbox sandbox = {.hostname = "h", .hosts_path = "/h", .data = "/opt/d"};
        ty_auto_buf options = {0};
        ty_buf_init(&options, 1 << 20);
        ty_sandbox_options(&plan->replicas[i], &sandbox, &options);
        for (size_t j = 0; j < plan->replicas[i].mount_count; j++) {
            if (plan->replicas[i].mounts[j].target[0] != '/')
                abort();
        }
    }
    if (ty_plan_fill(plan, "port", "1", &err) == TY_INTERNAL)
        abort();
    ty_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    ty_auto_json objects = json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_array(objects))
        return 0;
    const struct ty_manifest manifest = {objects};
    const struct ty_run run = {.job_id = "job_1",
                               .namespace = "ns",
                               .object_name = "j",
                               .attempt = 1,
                               .manifest = &manifest};
    for (int plain = 0; plain < 2; plain++) {
        const struct ty_plan_setting setting = {.data_folder = "/d",
                                                .bwrap = plain ? NULL : "/usr/bin/bwrap",
                                                .boot_id = "b",
                                                .backoff_base_ms = 1,
                                                .grace_ms = 1,
                                                .find_root = everywhere};
        struct ty_made_plan made;
        struct ty_error err;
        if (ty_plan_make(&run, &setting, &made, &err) != TY_OK)
            continue;
        check(made.plan);
        ty_made_plan_done(&made);
    }
    return 0;
}
