#include "executor/local/inside.h"

#include "trainyard/base/scope.h"

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
    const struct ty_local_host *host = ty_local_host((struct local *)executor);
    ty_auto_json warnings = json_array();
    ty_status status = add_warnings(host, warnings, err);
    if (status != TY_OK)
        return status;
    json_t *object =
        json_pack("{s:s, s:b, s:b, s:{s:i, s:i, s:I, s:I}, s:O}", "name", "local", "ready", 1,
                  "sandbox", host->bwrap[0] != '\0', "capacity", "replicas", (int)REPLICAS_AT_ONCE,
                  "gpus", (int)host->gpus, "cpu_millis", (json_int_t)host->cpu_millis,
                  "memory_bytes", (json_int_t)host->memory_bytes, "warnings", warnings);
    if (!object)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a description");
    *object_out = object;
    return TY_OK;
}
