/* What must hold of every rendered manifest, whatever the spec: NULL, or the first rule broken.
 * Shared by the unit tests and the fuzz target; knows nothing of either. */
#ifndef TRAINYARD_TESTS_UNIT_RENDER_MANIFEST_CHECK_H
#define TRAINYARD_TESTS_UNIT_RENDER_MANIFEST_CHECK_H

#include "trainyard/base/digest.h"
#include "trainyard/base/str.h"
#include "trainyard/render/render.h"

#include <stdio.h>
#include <stdlib.h>

#define MANIFEST_RULE(rule, text)                                                                  \
    do {                                                                                           \
        if (!(rule))                                                                               \
            return (text);                                                                         \
    } while (0)

/* A member by path: "metadata.name". */
static inline json_t *manifest_at(const json_t *json, const char *path)
{
    char key[64];

    while (json && *path) {
        size_t len = strcspn(path, ".");

        snprintf(key, sizeof(key), "%.*s", (int)len, path);
        json = json_object_get(json, key);
        path += len + (path[len] == '.' ? 1 : 0);
    }
    return (json_t *)(uintptr_t)json;
}

static inline const char *manifest_text(const json_t *json, const char *path)
{
    return json_string_value(manifest_at(json, path));
}

/* How many objects of `array` hold `value` in the text member `path`. */
static inline size_t manifest_count(const json_t *array, const char *path, const char *value)
{
    size_t count = 0;
    size_t i;
    json_t *item;

    json_array_foreach(array, i, item)
    {
        const char *text = manifest_text(item, path);

        count += text && ty_str_equal(text, value) ? 1 : 0;
    }
    return count;
}

static inline bool manifest_all_texts(const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!json_is_string(value))
            return false;
    }
    return true;
}

static inline const char *check_metadata(const json_t *object, const char *object_name)
{
    const char *name = manifest_text(object, "metadata.name");
    const char *hash = json_string_value(
        json_object_get(manifest_at(object, "metadata.annotations"), "trainyard.dev/spec-hash"));

    MANIFEST_RULE(name && ty_dns1123_subdomain(name), "an object has a legal name");
    /* Only a claim by its own name outlives the job and so carries no mark of it. */
    MANIFEST_RULE(
        ty_str_equal(manifest_text(object, "kind"), "PersistentVolumeClaim") ||
            json_object_get(manifest_at(object, "metadata.labels"), "trainyard.dev/job-id"),
        "an object carries the job's id");
    MANIFEST_RULE(hash && strlen(hash) == TY_SHA256_HEX - 1, "an object carries its hash");
    MANIFEST_RULE(
        !json_object_get(manifest_at(object, "metadata.labels"), "trainyard.dev/job-id") ||
            ty_str_starts(name, object_name),
        "the name of an object of the job begins with the job's");
    MANIFEST_RULE(manifest_all_texts(manifest_at(object, "metadata.labels")), "labels are texts");
    MANIFEST_RULE(manifest_all_texts(manifest_at(object, "metadata.annotations")),
                  "annotations are texts");
    return NULL;
}

static inline size_t texts_size(const json_t *map, bool base64)
{
    const char *key;
    json_t *value;
    size_t size = 0;

    json_object_foreach((json_t *)(uintptr_t)map, key, value)
    {
        const char *text = json_string_value(value);
        size_t len = json_string_length(value);

        if (base64)
            len = len / 4 * 3 - (ty_str_ends(text, "==") ? 2U : ty_str_ends(text, "=") ? 1U : 0U);
        size += strlen(key) + len;
    }
    return size;
}

static inline const char *check_config_map(const json_t *map)
{
    const json_t *data = json_object_get(map, "data");
    const json_t *binary = json_object_get(map, "binaryData");
    size_t size = texts_size(data, false) + texts_size(binary, true);
    const char *key;
    json_t *value;

    MANIFEST_RULE(size <= TY_CONFIG_MAP_MAX, "a ConfigMap stays within 1 MiB");
    json_object_foreach((json_t *)(uintptr_t)data, key, value)
    {
        MANIFEST_RULE(!json_object_get(binary, key), "a key lies in one section");
        MANIFEST_RULE(strlen(key) <= 253 &&
                          strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
                                      "NOPQRSTUVWXYZ0123456789-._") == strlen(key),
                      "a key is legal");
    }
    return NULL;
}

/* Whether every member of `object` is one of `names`, which ends with NULL: what stands in an
 * object is what the gateway put there (standards K1, K2). */
static inline bool manifest_only(const json_t *object, const char *const *names)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;

        while (names[i] && !ty_str_equal(names[i], key))
            i++;
        if (!names[i])
            return false;
    }
    return true;
}

#define MANIFEST_ONLY(object, ...) manifest_only((object), (const char *const[]){__VA_ARGS__, NULL})

static inline const char *check_volume(const json_t *volume)
{
    MANIFEST_RULE(
        MANIFEST_ONLY(volume, "name", "persistentVolumeClaim", "configMap", "emptyDir", "secret"),
        "a volume is a claim, a ConfigMap, a Secret's key or empty");
    MANIFEST_RULE(json_object_size(volume) == 2, "a volume is one thing");
    MANIFEST_RULE(
        MANIFEST_ONLY(json_object_get(volume, "persistentVolumeClaim"), "claimName", "readOnly") &&
            MANIFEST_ONLY(json_object_get(volume, "emptyDir"), "medium", "sizeLimit") &&
            MANIFEST_ONLY(json_object_get(volume, "configMap"), "name", "items", "defaultMode") &&
            MANIFEST_ONLY(json_object_get(volume, "secret"), "secretName", "items", "defaultMode"),
        "a volume has known members");
    return NULL;
}

static inline const char *check_mounts(const json_t *pod, const json_t *container)
{
    const json_t *volumes = json_object_get(pod, "volumes");
    const json_t *mounts = json_object_get(container, "volumeMounts");
    size_t i;
    json_t *item;

    json_array_foreach(volumes, i, item)
    {
        const char *name = manifest_text(item, "name");
        const char *claim = manifest_text(item, "persistentVolumeClaim.claimName");

        const char *broken = check_volume(item);

        if (broken)
            return broken;
        MANIFEST_RULE(name && ty_dns1123_label(name), "a volume has a legal name");
        MANIFEST_RULE(manifest_count(volumes, "name", name) == 1, "volume names differ");
        MANIFEST_RULE(!claim ||
                          manifest_count(volumes, "persistentVolumeClaim.claimName", claim) == 1,
                      "a claim is one volume");
        MANIFEST_RULE(manifest_count(mounts, "name", name) > 0, "a volume is mounted");
    }
    json_array_foreach(mounts, i, item)
    {
        const char *path = manifest_text(item, "mountPath");

        MANIFEST_RULE(manifest_count(volumes, "name", manifest_text(item, "name")) == 1,
                      "a mount names a volume");
        MANIFEST_RULE(path && path[0] == '/', "a mount has an absolute path");
        MANIFEST_RULE(manifest_count(mounts, "mountPath", path) == 1, "mount paths differ");
        MANIFEST_RULE(!strstr(path, ".."), "a mount stays where it is");
    }
    MANIFEST_RULE(manifest_count(mounts, "mountPath", "/dev/shm") == 1, "/dev/shm is mounted");
    MANIFEST_RULE(manifest_count(mounts, "mountPath", "/output") <= 1, "one output");
    return NULL;
}

static inline const char *check_env(const json_t *container)
{
    const json_t *env = json_object_get(container, "env");
    size_t i;
    json_t *item;

    json_array_foreach(env, i, item)
    {
        const char *name = manifest_text(item, "name");

        MANIFEST_RULE(name && (manifest_text(item, "value") ||
                               (manifest_text(item, "valueFrom.secretKeyRef.name") &&
                                manifest_text(item, "valueFrom.secretKeyRef.key"))),
                      "a variable has a name and a text, or a secret");
        MANIFEST_RULE(manifest_count(env, "name", name) == 1, "no variable occurs twice");
        MANIFEST_RULE(!ty_str_starts(name, "MASTER_") && !ty_str_starts(name, "PET_") &&
                          !ty_str_equal(name, "RANK") && !ty_str_equal(name, "WORLD_SIZE"),
                      "the operator's variables are left to it");
    }
    MANIFEST_RULE(manifest_count(env, "name", "TRAINYARD_JOB_ID") == 1, "the job's id is given");
    MANIFEST_RULE(manifest_count(env, "name", "TRAINYARD_OUTPUT_DIR") == 1, "the output is given");
    return NULL;
}

static inline const char *check_container(const json_t *pod, const json_t *container)
{
    const json_t *requests = manifest_at(container, "resources.requests");
    const json_t *limits = manifest_at(container, "resources.limits");
    const char *broken = check_env(container);
    size_t i;
    json_t *item;

    MANIFEST_RULE(ty_str_equal(manifest_text(container, "name"), "pytorch"),
                  "the container is called pytorch");
    MANIFEST_RULE(MANIFEST_ONLY(container, "name", "image", "command", "args", "workingDir", "env",
                                "envFrom", "resources", "ports", "securityContext", "volumeMounts"),
                  "a container has known members");
    MANIFEST_RULE(MANIFEST_ONLY(manifest_at(container, "securityContext"),
                                "allowPrivilegeEscalation", "capabilities"),
                  "a container's rights are the gateway's");
    MANIFEST_RULE(ty_image_reference_valid(manifest_text(container, "image")), "an image");
    MANIFEST_RULE(!json_object_get(container, "command") ||
                      json_array_size(json_object_get(container, "command")) > 0,
                  "a command, or the image's own");
    json_array_foreach(json_object_get(container, "command"), i, item)
    {
        MANIFEST_RULE(json_is_string(item), "command is texts");
    }
    json_array_foreach(json_object_get(container, "args"), i, item)
    {
        MANIFEST_RULE(json_is_string(item), "args are texts");
    }
    MANIFEST_RULE(manifest_all_texts(requests) && manifest_all_texts(limits),
                  "quantities are texts");
    MANIFEST_RULE(json_equal(json_object_get(requests, "nvidia.com/gpu"),
                             json_object_get(limits, "nvidia.com/gpu")) ||
                      (!json_object_get(requests, "nvidia.com/gpu") &&
                       !json_object_get(limits, "nvidia.com/gpu")),
                  "GPUs: request and limit are equal");
    MANIFEST_RULE(json_is_false(manifest_at(container, "securityContext.allowPrivilegeEscalation")),
                  "no more rights");
    return broken ? broken : check_mounts(pod, container);
}

static inline const char *check_role(const json_t *role, bool master)
{
    const json_t *template = json_object_get(role, "template");
    const json_t *pod = json_object_get(template, "spec");
    const json_t *containers = json_object_get(pod, "containers");
    json_int_t replicas = json_integer_value(json_object_get(role, "replicas"));

    MANIFEST_RULE(master ? replicas == 1 : replicas >= 1, "replicas");
    MANIFEST_RULE(!json_object_get(pod, "nodeSelector") ||
                      manifest_all_texts(json_object_get(pod, "nodeSelector")),
                  "node labels are texts");
    MANIFEST_RULE(!json_object_get(pod, "affinity") ||
                      json_object_size(json_object_get(pod, "affinity")) > 0,
                  "no empty affinity");
    MANIFEST_RULE(!json_object_get(pod, "tolerations") ||
                      json_array_size(json_object_get(pod, "tolerations")) > 0,
                  "no empty tolerations");
    MANIFEST_RULE(!master || !ty_str_equal(manifest_text(role, "restartPolicy"), "Always"),
                  "a master that always restarts cannot succeed");
    MANIFEST_RULE(json_is_false(json_object_get(pod, "automountServiceAccountToken")),
                  "no service account token");
    MANIFEST_RULE(json_is_false(json_object_get(pod, "enableServiceLinks")), "no service links");
    MANIFEST_RULE(json_array_size(containers) == 1, "one container");
    MANIFEST_RULE(MANIFEST_ONLY(role, "replicas", "restartPolicy", "template") &&
                      MANIFEST_ONLY(template, "metadata", "spec") &&
                      MANIFEST_ONLY(json_object_get(template, "metadata"), "labels", "annotations"),
                  "a role has known members");
    MANIFEST_RULE(MANIFEST_ONLY(pod, "automountServiceAccountToken", "enableServiceLinks",
                                "securityContext", "containers", "volumes", "nodeSelector",
                                "affinity", "tolerations", "priorityClassName", "schedulerName"),
                  "a pod has known members");
    MANIFEST_RULE(
        ty_str_equal(manifest_text(pod, "securityContext.seccompProfile.type"), "RuntimeDefault") &&
            MANIFEST_ONLY(json_object_get(pod, "securityContext"), "seccompProfile"),
        "a pod's rights are the gateway's");
    return check_container(pod, json_array_get(containers, 0));
}

/* Contract 1.4 and 8: workers alone, a meeting of this attempt's own, nothing that crashes. */
static inline const char *check_elastic(const json_t *elastic, const json_t *roles)
{
    const json_t *worker = json_object_get(roles, "Worker");
    json_int_t replicas = json_integer_value(json_object_get(worker, "replicas"));
    json_int_t min = json_integer_value(json_object_get(elastic, "minReplicas"));
    json_int_t max = json_integer_value(json_object_get(elastic, "maxReplicas"));
    const json_t *conf = json_object_get(elastic, "rdzvConf");
    const char *id = manifest_text(elastic, "rdzvId");

    MANIFEST_RULE(!json_object_get(roles, "Master"), "an elastic job has no master");
    MANIFEST_RULE(1 <= min && min <= replicas && replicas <= max, "workers between min and max");
    MANIFEST_RULE(id && id[0], "a rendezvous has an id");
    MANIFEST_RULE(manifest_text(elastic, "rdzvBackend"), "a rendezvous has a backend");
    MANIFEST_RULE(!conf || json_array_size(conf) > 0, "rdzvConf is never empty");
    MANIFEST_RULE(!json_object_get(elastic, "standalone"), "never standalone");
    MANIFEST_RULE(!json_object_get(elastic, "nProcPerNode"), "nprocPerNode is said once");
    MANIFEST_RULE(!json_object_get(elastic, "metrics"), "scaled by the gateway alone");
    return check_role(worker, false);
}

static inline const char *check_workload(const json_t *job)
{
    const json_t *roles = manifest_at(job, "spec.pytorchReplicaSpecs");
    const json_t *elastic = manifest_at(job, "spec.elasticPolicy");
    const json_t *worker = json_object_get(roles, "Worker");
    const char *broken = elastic ? check_elastic(elastic, roles)
                                 : check_role(json_object_get(roles, "Master"), true);
    const char *processes = manifest_text(job, "spec.nprocPerNode");
    int64_t number;

    MANIFEST_RULE(processes && ty_str_to_int(processes, 1, 256, &number) == TY_OK,
                  "nprocPerNode is a number");
    MANIFEST_RULE(!manifest_at(job, "spec.runPolicy.ttlSecondsAfterFinished"), "no ttl");
    MANIFEST_RULE(manifest_text(job, "spec.runPolicy.cleanPodPolicy"), "a cleanPodPolicy");
    if (!broken && worker && !elastic)
        broken = check_role(worker, false);
    return broken;
}

/* Claims, then ConfigMaps, then one PyTorchJob. */
static inline const char *manifest_check(const json_t *objects, const char *object_name)
{
    int stage = 0;
    size_t i;
    json_t *object;

    json_array_foreach(objects, i, object)
    {
        static const char *const kinds[] = {"PersistentVolumeClaim", "ConfigMap", "PyTorchJob"};
        const char *kind = manifest_text(object, "kind");
        const char *broken = check_metadata(object, object_name);

        while (stage < 3 && !ty_str_equal(kind, kinds[stage]))
            stage++;
        MANIFEST_RULE(stage < 3, "objects come in order");
        if (!broken && stage == 1)
            broken = check_config_map(object);
        if (!broken && stage == 2)
            broken = check_workload(object);
        if (broken)
            return broken;
    }
    MANIFEST_RULE(stage == 2, "the workload comes last");
    return NULL;
}

#endif
