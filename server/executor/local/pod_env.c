/* The operator appends its variables after the user's (training-operator 1.9,
 * pkg/controller.v1/pytorch/envvar.go and elastic.go), so they win, and the user's values cannot
 * refer to them while command and args can. The rendezvous port is a token: the supervisor puts in
 * the port it reserved. */
#include "executor/local/pod_env.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <stdio.h>

enum { VALUE_MAX = 1 << 20, TOKEN_TEXT = 192, NAME_BYTES = 512 };

static const char *const role_words[TY_ROLES] = {"master", "worker"};

void ty_pod_name(const struct ty_pod *pod, char *out, size_t size)
{
    snprintf(out, size, "%s-%d", role_words[pod->role], (int)pod->index);
}

/* A token of supervisor/plan.h, such as "port". */
static void pod_token(const struct ty_pod *pod, const char *what, char *out, size_t size)
{
    snprintf(out, size, "\001%s:%s\001", pod->job->name, what);
}

/* A list with a sticky failure, so that the operator's table reads as one. */
struct adder {
    const struct ty_pod *pod;
    struct ty_variables *out;
    struct ty_error *err;
    ty_status status;
};

static void add(struct adder *adder, const char *name, const char *value)
{
    if (adder->status == TY_OK)
        adder->status = ty_variables_add(adder->out, name, value, adder->err);
}

static void add_int(struct adder *adder, const char *name, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    add(adder, name, text);
}

static void refuse(struct adder *adder, const char *what, const char *name)
{
    if (adder->status == TY_OK)
        adder->status =
            ty_fail(adder->err, TY_REFUSED, "%s %s is not available on this machine", what, name);
}

static void add_expanded(struct adder *adder, const char *name, const char *text)
{
    ty_auto_buf value = {0};
    ty_buf_init(&value, VALUE_MAX);
    ty_expand(text, adder->out, &value);
    if (adder->status == TY_OK)
        adder->status = ty_buf_check(&value, name, adder->err);
    add(adder, name, value.data ? value.data : "");
}

/* --- the user's variables --- */

static bool optional(const json_t *source)
{
    return json_is_true(json_object_get(source, "optional"));
}

static void add_from(struct adder *adder, const json_t *source)
{
    const json_t *reference = json_object_get(source, "configMapRef");
    const char *name = ty_object_text(reference, "name", "");
    const char *prefix = ty_object_text(source, "prefix", "");
    const json_t *map =
        reference ? ty_objects_find(adder->pod->job->objects, "ConfigMap", name) : NULL;
    if (!map) {
        const json_t *secret = json_object_get(source, "secretRef");
        if (!optional(reference) && !optional(secret))
            refuse(adder, reference ? "ConfigMap" : "Secret",
                   reference ? name : ty_object_text(secret, "name", ""));
        return;
    }
    const char *key;
    json_t *value;
    json_t *data = json_object_get(map, "data");
    json_object_foreach(data, key, value)
    {
        char full[NAME_BYTES];
        if (snprintf(full, sizeof full, "%s%s", prefix, key) < (int)sizeof full &&
            json_is_string(value))
            add(adder, full, json_string_value(value));
    }
}

static void add_key(struct adder *adder, const char *name, const json_t *reference)
{
    const char *map_name = ty_object_text(reference, "name", "");
    const json_t *map = ty_objects_find(adder->pod->job->objects, "ConfigMap", map_name);
    const char *value = json_string_value(
        json_object_get(json_object_get(map, "data"), ty_object_text(reference, "key", "")));
    if (value)
        add(adder, name, value);
    else if (!optional(reference))
        refuse(adder, "a key of ConfigMap", map_name);
}

static void add_field(struct adder *adder, const char *name, const char *path)
{
    const struct ty_pod *pod = adder->pod;
    char text[TOKEN_TEXT];
    char replica[32];
    ty_pod_name(pod, replica, sizeof replica);
    if (ty_str_equal(path, "metadata.name")) {
        snprintf(text, sizeof text, "%s-%s", pod->job->name, replica);
    } else if (ty_str_equal(path, "metadata.namespace")) {
        snprintf(text, sizeof text, "%s", pod->job->namespace);
    } else if (ty_str_equal(path, "status.podIP") || ty_str_equal(path, "status.hostIP")) {
        char what[64];
        snprintf(what, sizeof what, "ip:%s", replica);
        pod_token(pod, what, text, sizeof text);
    } else if (ty_str_equal(path, "spec.nodeName")) {
        snprintf(text, sizeof text, "localhost");
    } else {
        refuse(adder, "the field", path);
        return;
    }
    add(adder, name, text);
}

static void add_secret(struct adder *adder, const char *name, const json_t *reference)
{
    char what[32];
    char token[TOKEN_TEXT];
    size_t index = 0;
    if (adder->status == TY_OK)
        adder->status =
            ty_secret_note(adder->pod->secrets->variables, ty_object_text(reference, "name", ""),
                           ty_object_text(reference, "key", ""), &index, adder->err);
    snprintf(what, sizeof what, "secret:%zu", index);
    pod_token(adder->pod, what, token, sizeof token);
    add(adder, name, token);
}

static void add_variable(struct adder *adder, const json_t *entry)
{
    const char *name = ty_object_text(entry, "name", "");
    const json_t *source = json_object_get(entry, "valueFrom");
    if (!source) {
        add_expanded(adder, name, ty_object_text(entry, "value", ""));
    } else if (json_object_get(source, "configMapKeyRef")) {
        add_key(adder, name, json_object_get(source, "configMapKeyRef"));
    } else if (json_object_get(source, "fieldRef")) {
        add_field(adder, name,
                  ty_object_text(json_object_get(source, "fieldRef"), "fieldPath", ""));
    } else if (json_object_get(source, "secretKeyRef")) {
        add_secret(adder, name, json_object_get(source, "secretKeyRef"));
    } else {
        refuse(adder, "the source of", name);
    }
}

/* --- the operator's variables --- */

/* The address of a replica as others name it. */
static void replica_host(const struct ty_pod *pod, const char *replica, char *out, size_t size)
{
    char what[64];
    snprintf(what, sizeof what, "ip:%s", replica);
    if (pod->plain)
        pod_token(pod, what, out, size);
    else
        snprintf(out, size, "%s-%s", pod->job->name, replica);
}

static int64_t processes_as_number(const char *processes)
{
    int64_t value;
    if (!processes || ty_str_to_int(processes, INT32_MIN, INT32_MAX, &value) != TY_OK)
        return 1;
    return value;
}

static void add_static(struct adder *adder)
{
    const struct ty_pod *pod = adder->pod;
    char host[TOKEN_TEXT];
    char port[TOKEN_TEXT];
    int32_t rank = pod->role == TY_ROLE_MASTER ? 0 : pod->index + 1;
    replica_host(pod, "master-0", host, sizeof host);
    pod_token(pod, "port", port, sizeof port);
    add(adder, "MASTER_PORT", port);
    add(adder, "PET_MASTER_PORT", port);
    add(adder, "MASTER_ADDR", host);
    add(adder, "PET_MASTER_ADDR", host);
    add_int(adder, "WORLD_SIZE", pod->job->total * processes_as_number(pod->job->processes));
    add_int(adder, "RANK", rank);
    add_int(adder, "PET_NODE_RANK", rank);
}

static void add_rendezvous_conf(struct adder *adder, const json_t *conf)
{
    ty_auto_buf text = {0};
    ty_buf_init(&text, VALUE_MAX);
    for (size_t i = 0; i < json_array_size(conf); i++) {
        const json_t *item = json_array_get(conf, i);
        ty_buf_addf(&text, "%s%s=%s", i ? "," : "", ty_object_text(item, "key", ""),
                    ty_object_text(item, "value", ""));
    }
    if (text.len > 0)
        add(adder, "PET_RDZV_CONF", text.data);
}

/* A store elsewhere is named as it is; the first worker's port is the one that the supervisor
 * reserves. */
static void add_rendezvous_endpoint(struct adder *adder, const json_t *elastic)
{
    const struct ty_pod *pod = adder->pod;
    const char *elsewhere = ty_object_text(elastic, "rdzvHost", NULL);
    char host[TOKEN_TEXT];
    char port[TOKEN_TEXT];
    char text[TOKEN_TEXT * 2 + 2];
    if (elsewhere) {
        snprintf(
            text, sizeof text, "%s:%lld", elsewhere,
            (long long)ty_object_int(elastic, "rdzvPort", pod->job->roles[TY_ROLE_WORKER].port));
    } else {
        replica_host(pod, "worker-0", host, sizeof host);
        pod_token(pod, "port", port, sizeof port);
        snprintf(text, sizeof text, "%s:%s", host, port);
    }
    add(adder, "PET_RDZV_ENDPOINT", text);
}

static void add_elastic(struct adder *adder)
{
    const struct ty_pod *pod = adder->pod;
    const json_t *elastic = pod->job->elastic;
    int64_t workers = pod->job->roles[TY_ROLE_WORKER].replicas;
    int64_t min =
        ty_object_int(elastic, "minReplicas", ty_object_int(elastic, "maxReplicas", workers));
    int64_t max = ty_object_int(elastic, "maxReplicas", min);
    char text[TOKEN_TEXT];
    add_rendezvous_endpoint(adder, elastic);
    add(adder, "PET_RDZV_BACKEND", ty_object_text(elastic, "rdzvBackend", "c10d"));
    snprintf(text, sizeof text, "%lld:%lld", (long long)min, (long long)max);
    add(adder, "PET_NNODES", text);
    if (json_object_get(elastic, "maxRestarts"))
        add_int(adder, "PET_MAX_RESTARTS", ty_object_int(elastic, "maxRestarts", 0));
    if (json_object_get(elastic, "nProcPerNode"))
        add_int(adder, "PET_NPROC_PER_NODE", ty_object_int(elastic, "nProcPerNode", 1));
    if (json_object_get(elastic, "rdzvId"))
        add(adder, "PET_RDZV_ID", ty_object_text(elastic, "rdzvId", ""));
    add_rendezvous_conf(adder, json_object_get(elastic, "rdzvConf"));
    if (json_is_true(json_object_get(elastic, "standalone")))
        add(adder, "PET_STANDALONE", "");
}

static void add_devices(struct adder *adder)
{
    char replica[32];
    char what[64];
    char token[TOKEN_TEXT];
    ty_pod_name(adder->pod, replica, sizeof replica);
    snprintf(what, sizeof what, "gpus:%s", replica);
    pod_token(adder->pod, what, token, sizeof token);
    add(adder, "CUDA_VISIBLE_DEVICES", adder->pod->gpus > 0 ? token : "");
}

ty_status ty_pod_environment(const struct ty_pod *pod, struct ty_variables *out,
                             struct ty_error *err)
{
    struct adder adder = {.pod = pod, .out = out, .err = err, .status = TY_OK};
    const json_t *container = pod->job->roles[pod->role].container;
    add_field(&adder, "HOSTNAME", "metadata.name");
    const json_t *from = json_object_get(container, "envFrom");
    for (size_t i = 0; i < json_array_size(from); i++)
        add_from(&adder, json_array_get(from, i));
    const json_t *env = json_object_get(container, "env");
    for (size_t i = 0; i < json_array_size(env); i++)
        add_variable(&adder, json_array_get(env, i));
    add(&adder, "PYTHONUNBUFFERED", "1");
    if (pod->job->roles[TY_ROLE_MASTER].replicas > 0)
        add_static(&adder);
    if (pod->job->processes)
        add(&adder, "PET_NPROC_PER_NODE", pod->job->processes);
    if (pod->job->elastic)
        add_elastic(&adder);
    else
        add_int(&adder, "PET_NNODES", pod->job->total);
    add_devices(&adder);
    return adder.status;
}

static ty_status add_words(const json_t *words, const struct ty_variables *variables, json_t *argv,
                           struct ty_error *err)
{
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        ty_auto_buf text = {0};
        ty_buf_init(&text, VALUE_MAX);
        ty_expand(word ? word : "", variables, &text);
        ty_status status = ty_buf_check(&text, "an argument", err);
        if (status != TY_OK)
            return status;
        if (json_array_append_new(argv, json_stringn(text.data ? text.data : "", text.len)) != 0)
            return ty_fail(err, TY_NO_MEMORY, "no memory for a command line");
    }
    return TY_OK;
}

ty_status ty_pod_command(const struct ty_pod *pod, const struct ty_variables *variables,
                         json_t **argv_out, struct ty_error *err)
{
    const json_t *container = pod->job->roles[pod->role].container;
    const json_t *command = json_object_get(container, "command");
    if (json_array_size(command) == 0)
        return ty_fail(err, TY_REFUSED,
                       "a command is needed: this machine does not know the image's own");
    ty_auto_json argv = json_array();
    if (!argv)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a command line");
    ty_status status = add_words(command, variables, argv, err);
    if (status == TY_OK)
        status = add_words(json_object_get(container, "args"), variables, argv, err);
    if (status == TY_OK)
        *argv_out = ty_steal(&argv);
    return status;
}
