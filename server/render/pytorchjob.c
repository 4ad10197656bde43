/* A job as a PyTorchJob of kubeflow.org/v1, by the rules that keep its users away from what goes
 * wrong with one: Master(1) and Worker(N-1), which is left out when it would be 0, or Workers alone
 * when the job is elastic, whose rendezvous is on the first of them and never counts a Master; an
 * explicit nprocPerNode; a finite backoffLimit; no ttl, since the gateway keeps its own timers. */
#include "annotations.h"
#include "parts.h"

#include <stdio.h>

static const char *const clean_pods[] = {
    [TY_CLEAN_RUNNING] = "Running", [TY_CLEAN_NONE] = "None", [TY_CLEAN_ALL] = "All"};

static const char *const rendezvous_backends[] = {[TY_RENDEZVOUS_C10D] = "c10d",
                                                  [TY_RENDEZVOUS_ETCD] = "etcd",
                                                  [TY_RENDEZVOUS_ETCD_V2] = "etcd-v2"};

/* The operator's webhook wants that name, and its services are made of ports by name. */
static const struct ty_container_rules container = {"pytorch", "pytorchjob-port", 23456};

struct policy {
    const char *master;
    const char *worker;
};

/* A Master that always restarts never succeeds, so `always` is for the workers alone. */
static const struct policy policies[] = {
    [TY_RESTART_ON_FAILURE] = {"OnFailure", "OnFailure"},
    [TY_RESTART_NEVER] = {"Never",     "Never"    },
    [TY_RESTART_ALWAYS] = {"OnFailure", "Always"   },
    [TY_RESTART_EXIT_CODE] = {"ExitCode",  "ExitCode" },
};

static void render_role(struct ty_tree *tree, const struct ty_render_input *input,
                        const struct ty_spec_role *role, const char *policy, json_t *replica_spec)
{
    ty_tree_put_int(tree, replica_spec, "replicas", role->replicas);
    ty_tree_put_text(tree, replica_spec, "restartPolicy", policy);
    ty_tree_put(tree, replica_spec, "template", ty_render_pod(tree, input, role, &container));
}

static void render_gang(struct ty_tree *tree, const struct ty_job_spec *spec, json_t *policy)
{
    ty_tree_put_int(tree, policy, "minAvailable", spec->gang.min_available);
    if (spec->gang.timeout_seconds > 0)
        ty_tree_put_int(tree, policy, "scheduleTimeoutSeconds", spec->gang.timeout_seconds);
    if (spec->queue)
        ty_tree_put_text(tree, policy, "queue", spec->queue);
    if (spec->priority_class)
        ty_tree_put_text(tree, policy, "priorityClass", spec->priority_class);
}

/* The operator fails a job at its backoffLimit-th restart in place, so r retries need r + 1. With
 * Never it must be absent: 0 would take the path that deletes all pods. */
static void render_run_policy(struct ty_tree *tree, const struct ty_job_spec *spec,
                              json_t *run_policy)
{
    ty_tree_put_text(tree, run_policy, "cleanPodPolicy", clean_pods[spec->clean_pods]);
    if (spec->restart != TY_RESTART_NEVER)
        ty_tree_put_int(tree, run_policy, "backoffLimit", (int64_t)spec->max_retries + 1);
    if (spec->timeout_seconds > 0)
        ty_tree_put_int(tree, run_policy, "activeDeadlineSeconds", spec->timeout_seconds);
    if (spec->gang.on)
        render_gang(tree, spec, ty_tree_put_object(tree, run_policy, "schedulingPolicy"));
}

/* No empty rdzvConf, which would crash the operator, and no standalone, which crashes torchrun
 * (contract 1.4). The id tells the rendezvous of one attempt from those of others, since a store
 * outside the job would find that of an earlier attempt closed. */
static void render_elastic(struct ty_tree *tree, const struct ty_render_input *input,
                           json_t *policy)
{
    const struct ty_elastic *elastic = &input->spec->elastic;
    char id[TY_OBJECT_NAME + 16];

    snprintf(id, sizeof(id), "%s-%d", input->object_name, input->attempt > 1 ? input->attempt : 1);
    ty_tree_put_int(tree, policy, "minReplicas", elastic->min);
    ty_tree_put_int(tree, policy, "maxReplicas", elastic->max);
    ty_tree_put_text(tree, policy, "rdzvBackend", rendezvous_backends[elastic->backend]);
    ty_tree_put_text(tree, policy, "rdzvId", elastic->id ? elastic->id : id);
    if (elastic->host)
        ty_tree_put_text(tree, policy, "rdzvHost", elastic->host);
    if (elastic->port > 0)
        ty_tree_put_int(tree, policy, "rdzvPort", elastic->port);
    if (elastic->max_restarts >= 0)
        ty_tree_put_int(tree, policy, "maxRestarts", elastic->max_restarts);
    json_t *conf = elastic->conf.count > 0 ? ty_tree_put_array(tree, policy, "rdzvConf") : NULL;

    for (size_t i = 0; i < elastic->conf.count; i++) {
        json_t *option = ty_tree_append_object(tree, conf);

        ty_tree_put_text(tree, option, "key", elastic->conf.items[i].name);
        ty_tree_put(tree, option, "value", ty_render_literal(elastic->conf.items[i].value));
    }
}

/* Kueue finds its jobs by this label; nobody but the gateway sets it. */
static void put_queue(struct ty_tree *tree, const struct ty_job_spec *spec, json_t *object)
{
    json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");

    if (spec->queue)
        ty_tree_put_text(tree, labels, "kueue.x-k8s.io/queue-name", spec->queue);
}

static void put_user_labels(struct ty_tree *tree, const struct ty_job_spec *spec, json_t *object)
{
    json_t *annotations = json_object_get(json_object_get(object, "metadata"), "annotations");
    char key[TY_CLAIM_NAME];

    for (size_t i = 0; i < spec->labels.count; i++) {
        snprintf(key, sizeof(key), TY_LABEL_PREFIX "%s", spec->labels.items[i].name);
        ty_tree_put_text(tree, annotations, key, spec->labels.items[i].value);
    }
}

static void render_job(struct ty_tree *tree, const struct ty_render_input *input, json_t *objects)
{
    const struct ty_job_spec *spec = input->spec;
    const struct policy *policy = &policies[spec->restart];
    json_t *object = ty_render_object(tree, input, "kubeflow.org/v1", ty_renderer_pytorchjob.kind,
                                      input->object_name);
    json_t *body = ty_tree_put_object(tree, object, "spec");
    char processes[16];

    put_user_labels(tree, spec, object);
    put_queue(tree, spec, object);
    ty_render_notes(tree, spec,
                    json_object_get(json_object_get(object, "metadata"), "annotations"));
    snprintf(processes, sizeof(processes), "%d", spec->processes_per_replica);
    ty_tree_put_text(tree, body, "nprocPerNode", processes);
    render_run_policy(tree, spec, ty_tree_put_object(tree, body, "runPolicy"));
    if (spec->elastic.on)
        render_elastic(tree, input, ty_tree_put_object(tree, body, "elasticPolicy"));
    json_t *roles = ty_tree_put_object(tree, body, "pytorchReplicaSpecs");

    if (spec->master.replicas > 0)
        render_role(tree, input, &spec->master, policy->master,
                    ty_tree_put_object(tree, roles, "Master"));
    if (spec->worker.replicas > 0)
        render_role(tree, input, &spec->worker, policy->worker,
                    ty_tree_put_object(tree, roles, "Worker"));
    ty_render_hash(tree, object);
    ty_tree_append(tree, objects, object);
}

static ty_status render(const struct ty_render_input *input, struct ty_manifest *manifest_out,
                        struct ty_faults *faults, struct ty_error *err)
{
    return ty_render_manifest(input, render_job, manifest_out, faults, err);
}

const struct ty_renderer ty_renderer_pytorchjob = {"PyTorchJob", render};
