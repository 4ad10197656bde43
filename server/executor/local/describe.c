#include "executor/local/inside.h"

#include "trainyard/base/scope.h"

#include <stdio.h>
#include <string.h>

enum { REPLICAS_AT_ONCE = 250 };

struct ty_capacity ty_local_capacity(struct ty_executor *executor)
{
    const struct local *local = (const struct local *)executor;
    return (struct ty_capacity){.replicas = REPLICAS_AT_ONCE,
                                .gpus = local->host.gpus,
                                .cpu_millis = local->host.cpu_millis,
                                .memory_bytes = local->host.memory_bytes};
}

static ty_status add_warning(json_t *warnings, const char *code, json_t *message,
                             struct ty_error *err)
{
    if (!message || json_array_append_new(
                        warnings, json_pack("{s:s, s:o}", "code", code, "message", message)) != 0)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a description");
    return TY_OK;
}

/* Both programs must be there to start anything. */
static bool can_start(const struct local *local)
{
    char init[PATH_MAX];
    const char *slash = strrchr(local->supervisor_path, '/');
    snprintf(init, sizeof init, "%.*s/trainyard-init", (int)(slash - local->supervisor_path),
             local->supervisor_path);
    return access(local->supervisor_path, X_OK) == 0 && access(init, X_OK) == 0;
}

static ty_status add_warnings(const struct ty_local_host *host, json_t *warnings,
                              struct ty_error *err)
{
    ty_status status = TY_OK;
    if (!host->bwrap[0])
        status = add_warning(
            warnings, "sandbox_not_permitted",
            json_sprintf(
                "jobs run as plain processes: volumes are not mounted at their paths (paths "
                "in commands are rewritten, and TRAINYARD_OUTPUT, TRAINYARD_DATA, … name "
                "the folders), and jobs are not shielded from one another; %s",
                host->trouble),
            err);
    if (status == TY_OK && !host->memory_limits)
        status = add_warning(
            warnings, "memory_limits_not_enforced",
            json_string(
                "control groups for memory cannot be made here: memory limits are recorded "
                "but not enforced (run the server as a service with Delegate=yes, or as root)"),
            err);
    if (status == TY_OK && !host->cpu_limits)
        status = add_warning(
            warnings, "cpu_limits_not_enforced",
            json_string(
                "control groups for CPU cannot be made here: CPU limits are recorded but not "
                "enforced"),
            err);
    return status;
}

ty_status ty_local_describe(struct ty_executor *executor, json_t **object_out, struct ty_error *err)
{
    struct local *local = (struct local *)executor;
    const struct ty_local_host *host = ty_local_host(local);
    bool ready = can_start(local);
    ty_auto_json warnings = json_array();
    ty_status status = add_warnings(host, warnings, err);
    if (status == TY_OK && !ready)
        status = add_warning(
            warnings, "supervisor_missing",
            json_string(
                "trainyard-supervisor or trainyard-init is not where it should be: no job can "
                "be started"),
            err);
    if (status != TY_OK)
        return status;
    json_t *object = json_pack("{s:s, s:b, s:b, s:O}", "name", "local", "ready", ready, "sandbox",
                               host->bwrap[0] != '\0', "warnings", warnings);
    if (!object)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a description");
    *object_out = object;
    return TY_OK;
}
