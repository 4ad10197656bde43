#include "executor/local/objects.h"

#include "trainyard/base/str.h"

enum { DEFAULT_PORT = 23456 };

static const char *const role_names[TY_ROLES] = {"Master", "Worker"};

const char *ty_object_text(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : otherwise;
}

int64_t ty_object_int(const json_t *object, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

const json_t *ty_objects_find(const json_t *objects, const char *kind, const char *name)
{
    for (size_t i = 0; i < json_array_size(objects); i++) {
        const json_t *object = json_array_get(objects, i);
        const json_t *metadata = json_object_get(object, "metadata");
        if (ty_str_equal(ty_object_text(object, "kind", ""), kind) &&
            (!name || ty_str_equal(ty_object_text(metadata, "name", ""), name)))
            return object;
    }
    return NULL;
}

static uint16_t find_port(const json_t *container)
{
    const json_t *ports = json_object_get(container, "ports");
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);
        int64_t number = ty_object_int(port, "containerPort", 0);
        if (ty_str_equal(ty_object_text(port, "name", ""), "pytorchjob-port") && number > 0 &&
            number <= UINT16_MAX)
            return (uint16_t)number;
    }
    return DEFAULT_PORT;
}

static ty_status read_role(const json_t *specs, int role, struct ty_role_object *out,
                           struct ty_error *err)
{
    const json_t *spec = json_object_get(specs, role_names[role]);
    *out =
        (struct ty_role_object){.grace_seconds = -1, .port = DEFAULT_PORT, .restart = "OnFailure"};
    if (!spec)
        return TY_OK;
    int64_t replicas = ty_object_int(spec, "replicas", 1);
    const json_t *template = json_object_get(spec, "template");
    out->pod = json_object_get(template, "spec");
    out->labels = json_object_get(json_object_get(template, "metadata"), "labels");
    out->restart = ty_object_text(spec, "restartPolicy", "OnFailure");
    out->grace_seconds = ty_object_int(out->pod, "terminationGracePeriodSeconds", -1);
    const json_t *containers = json_object_get(out->pod, "containers");
    if (json_array_size(containers) != 1)
        return ty_fail(err, TY_REFUSED, "this machine runs exactly one container a replica");
    if (json_array_size(json_object_get(out->pod, "initContainers")) > 0)
        return ty_fail(err, TY_REFUSED, "this machine runs no init containers");
    if (replicas < 1 || replicas > 250)
        return ty_fail(err, TY_REFUSED, "this machine runs 1 to 250 replicas, not %lld",
                       (long long)replicas);
    out->replicas = (int32_t)replicas;
    out->container = json_array_get(containers, 0);
    out->port = find_port(out->container);
    return TY_OK;
}

ty_status ty_objects_read(const json_t *objects, const char *namespace, struct ty_job_object *out,
                          struct ty_error *err)
{
    struct ty_job_object read = {.objects = objects, .namespace = namespace};
    read.job = ty_objects_find(objects, "PyTorchJob", NULL);
    if (!read.job)
        return ty_fail(err, TY_REFUSED, "there is no PyTorchJob among the objects");
    read.spec = json_object_get(read.job, "spec");
    read.name = ty_object_text(json_object_get(read.job, "metadata"), "name", "");
    const json_t *specs = json_object_get(read.spec, "pytorchReplicaSpecs");
    for (int role = 0; role < TY_ROLES; role++) {
        ty_status status = read_role(specs, role, &read.roles[role], err);
        if (status != TY_OK)
            return status;
        read.total += read.roles[role].replicas;
    }
    if (read.total == 0 || read.total > 250)
        return ty_fail(err, TY_REFUSED, "this machine runs 1 to 250 replicas, not %d",
                       (int)read.total);
    read.elastic = json_object_get(read.spec, "elasticPolicy");
    if (json_is_null(read.elastic))
        read.elastic = NULL;
    read.processes = ty_object_text(read.spec, "nprocPerNode", NULL);
    if (!read.processes && !json_is_integer(json_object_get(read.elastic, "nProcPerNode")))
        read.processes = "auto";
    *out = read;
    return TY_OK;
}
