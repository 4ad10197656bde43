/* The environment and command line of one replica, as kubelet and training operator make them. */
#ifndef TRAINYARD_EXECUTOR_POD_ENV_H
#define TRAINYARD_EXECUTOR_POD_ENV_H

#include "executor/local/expand.h"
#include "executor/local/objects.h"
#include "executor/local/pod_secrets.h"

struct ty_pod {
    const struct ty_job_object *job;
    int role;
    int32_t index;
    int32_t gpus;
    bool plain;                           /* no hosts file: addresses instead of names */
    const struct ty_secret_plan *secrets; /* where those used are noted */
};

/* Append HOSTNAME, the user's variables (envFrom, then env, with $(VAR) of what came before), then
 * the operator's in its order, then the devices. Later entries win. Of a secret there is a token:
 * the supervisor puts in its value. TY_REFUSED for a source that does not exist here. */
ty_status ty_pod_environment(const struct ty_pod *pod, struct ty_variables *out,
                             struct ty_error *err) TY_MUST_CHECK;

/* `command` and `args` with $(VAR) replaced, as a new JSON array. TY_REFUSED when there is no
 * command: this machine does not know an image's own entry point. */
ty_status ty_pod_command(const struct ty_pod *pod, const struct ty_variables *variables,
                         json_t **argv_out, struct ty_error *err) TY_MUST_CHECK;

/* "worker-1" */
void ty_pod_name(const struct ty_pod *pod, char *out, size_t size);

#endif
