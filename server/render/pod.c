/* The pod template of a role: built from an allow-list; nothing a tenant writes is passed through
 * (standards K1, K2), and no rights beyond those of a plain process. */
#include "parts.h"

#include <stdio.h>

static const char gpu_resource[] = "nvidia.com/gpu";

/* Requests or limits. */
struct quantities {
    const char *cpu;
    const char *memory;
    const char *storage;
    int32_t gpus;
};

static void put_quantities(struct ty_tree *tree, json_t *object, const struct quantities *from)
{
    char count[16];

    if (from->cpu)
        ty_tree_put_text(tree, object, "cpu", from->cpu);
    if (from->memory)
        ty_tree_put_text(tree, object, "memory", from->memory);
    if (from->storage)
        ty_tree_put_text(tree, object, "ephemeral-storage", from->storage);
    snprintf(count, sizeof(count), "%d", from->gpus);
    if (from->gpus > 0)
        ty_tree_put_text(tree, object, gpu_resource, count);
}

/* GPUs from one number, so that request and limit are equal: unequal ones fail only at the pod. */
static void render_resources(struct ty_tree *tree, const struct ty_resources *from,
                             json_t *container)
{
    const struct quantities requests = {from->cpu, from->memory, from->storage, from->gpus};
    const struct quantities limits = {from->cpu_limit, from->memory_limit, from->storage_limit,
                                      from->gpus};
    json_t *resources = ty_tree_put_object(tree, container, "resources");

    put_quantities(tree, ty_tree_put_object(tree, resources, "requests"), &requests);
    put_quantities(tree, ty_tree_put_object(tree, resources, "limits"), &limits);
}

static void render_port(struct ty_tree *tree, const struct ty_container_rules *rules,
                        json_t *container)
{
    json_t *port = ty_tree_append_object(tree, ty_tree_put_array(tree, container, "ports"));

    ty_tree_put_text(tree, port, "name", rules->port_name);
    ty_tree_put_int(tree, port, "containerPort", rules->port);
    ty_tree_put_text(tree, port, "protocol", "TCP");
}

static void render_security(struct ty_tree *tree, json_t *container)
{
    json_t *security = ty_tree_put_object(tree, container, "securityContext");
    json_t *capabilities = ty_tree_put_object(tree, security, "capabilities");

    ty_tree_put_bool(tree, security, "allowPrivilegeEscalation", false);
    ty_tree_append(tree, ty_tree_put_array(tree, capabilities, "drop"), json_string("ALL"));
}

static void render_pod_spec(struct ty_tree *tree, const struct ty_render_input *input,
                            const struct ty_spec_role *role, const struct ty_container_rules *rules,
                            json_t *pod)
{
    json_t *security = ty_tree_put_object(tree, pod, "securityContext");
    json_t *seccomp = ty_tree_put_object(tree, security, "seccompProfile");
    json_t *containers = ty_tree_put_array(tree, pod, "containers");
    json_t *container = ty_tree_append_object(tree, containers);
    json_t *volumes = ty_tree_put_array(tree, pod, "volumes");

    ty_tree_put_text(tree, seccomp, "type", "RuntimeDefault");
    ty_tree_put_bool(tree, pod, "automountServiceAccountToken", false);
    ty_tree_put_bool(tree, pod, "enableServiceLinks", false);
    ty_render_placement(tree, input->spec, role, pod);
    ty_tree_put_text(tree, container, "name", rules->name);
    ty_tree_put_text(tree, container, "image", role->image);
    ty_render_program(tree, input, role, container);
    render_resources(tree, &role->resources, container);
    render_port(tree, rules, container);
    render_security(tree, container);
    ty_render_volumes(tree, input, role, volumes,
                      ty_tree_put_array(tree, container, "volumeMounts"));
}

json_t *ty_render_pod(struct ty_tree *tree, const struct ty_render_input *input,
                      const struct ty_spec_role *role, const struct ty_container_rules *rules)
{
    static const char no_sidecar[] = "sidecar.istio.io/inject";
    json_t *template = ty_tree_object(tree);
    json_t *metadata = ty_tree_put_object(tree, template, "metadata");
    json_t *labels = ty_tree_put_object(tree, metadata, "labels");
    json_t *annotations = ty_tree_put_object(tree, metadata, "annotations");

    ty_render_labels(tree, input, labels);
    /* A mesh's sidecar would keep a finished Master running for ever; both forms are in use. */
    ty_tree_put_text(tree, labels, no_sidecar, "false");
    ty_tree_put_text(tree, annotations, no_sidecar, "false");
    render_pod_spec(tree, input, role, rules, ty_tree_put_object(tree, template, "spec"));
    return template;
}
