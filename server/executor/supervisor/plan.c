/* Reading is strict: the plan is ours, so anything unexpected means that it cannot be trusted. */
#include "executor/supervisor/plan.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

/* A reader with a sticky failure, so that fields can be listed one after the other. */
struct reader {
    bool failed;
    char what[64];
};

static void note(struct reader *reader, const char *what)
{
    if (!reader->failed)
        ty_str_copy(reader->what, sizeof reader->what, what);
    reader->failed = true;
}

static const char *read_text(struct reader *reader, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text)
        note(reader, key);
    return text ? text : "";
}

static const char *read_optional(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int64_t read_int(struct reader *reader, const json_t *object, const char *key, int64_t min,
                        int64_t max)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max) {
        note(reader, key);
        return min;
    }
    return json_integer_value(value);
}

static const json_t *read_array(struct reader *reader, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_array(value))
        note(reader, key);
    return value;
}

static void *make_array(struct reader *reader, size_t count, size_t size)
{
    void *items = calloc(count + 1, size);
    if (!items)
        note(reader, "memory");
    return items;
}

static int read_choice(struct reader *reader, const json_t *object, const char *key,
                       const char *const *names, size_t count)
{
    const char *text = read_text(reader, object, key);
    for (size_t i = 0; i < count; i++) {
        if (ty_str_equal(text, names[i]))
            return (int)i;
    }
    note(reader, key);
    return 0;
}

static const char *const restart_names[] = {"Always", "OnFailure", "Never", "ExitCode"};
static const char *const clean_names[] = {"None", "Running", "All"};
static const char *const mount_names[] = {"bind", "device", "tmpfs"};

static void read_argv(struct reader *reader, const json_t *object, struct ty_plan_replica *out)
{
    const json_t *argv = read_array(reader, object, "argv");
    size_t count = json_array_size(argv);
    out->argv = make_array(reader, count, sizeof *out->argv);
    if (count == 0)
        note(reader, "argv");
    for (size_t i = 0; i < count && !reader->failed; i++) {
        out->argv[i] = json_string_value(json_array_get(argv, i));
        if (!out->argv[i])
            note(reader, "argv");
    }
    out->argc = count;
}

static void read_env(struct reader *reader, const json_t *object, struct ty_plan_replica *out)
{
    const json_t *env = read_array(reader, object, "env");
    size_t count = json_array_size(env);
    out->env = make_array(reader, count, sizeof *out->env);
    for (size_t i = 0; i < count && !reader->failed; i++) {
        const json_t *pair = json_array_get(env, i);
        out->env[i].name = json_string_value(json_array_get(pair, 0));
        out->env[i].value = json_string_value(json_array_get(pair, 1));
        if (!out->env[i].name || !out->env[i].value)
            note(reader, "env");
    }
    out->env_count = count;
}

static void read_mounts(struct reader *reader, const json_t *object, struct ty_plan_replica *out)
{
    const json_t *mounts = read_array(reader, object, "mounts");
    size_t count = json_array_size(mounts);
    out->mounts = make_array(reader, count, sizeof *out->mounts);
    for (size_t i = 0; i < count && !reader->failed; i++) {
        const json_t *item = json_array_get(mounts, i);
        struct ty_plan_mount *mount = &out->mounts[i];
        mount->kind = (ty_mount_kind)read_choice(reader, item, "kind", mount_names, 3);
        mount->target = read_text(reader, item, "target");
        if (mount->kind == TY_MOUNT_TMPFS)
            mount->size_bytes = read_int(reader, item, "size", 0, INT64_MAX);
        else
            mount->source = read_text(reader, item, "source");
        mount->sub_path = read_optional(item, "sub_path");
        mount->make = read_optional(item, "make");
        mount->read_only = json_is_true(json_object_get(item, "read_only"));
    }
    out->mount_count = count;
}

static void read_replica(struct reader *reader, const json_t *object, struct ty_plan_replica *out)
{
    out->name = read_text(reader, object, "name");
    out->role = (ty_op_role)read_choice(reader, object, "role", ty_op_role_names, TY_OP_ROLE_COUNT);
    out->index = (int32_t)read_int(reader, object, "index", 0, TY_PLAN_REPLICAS);
    out->root = read_text(reader, object, "root");
    out->working_dir = read_text(reader, object, "working_dir");
    out->memory_bytes = read_int(reader, object, "memory_bytes", 0, INT64_MAX);
    if (json_object_get(object, "log_bytes")) /* a plan of an earlier version has none */
        out->log_bytes = read_int(reader, object, "log_bytes", 0, INT64_MAX);
    out->cpu_millis = read_int(reader, object, "cpu_millis", 0, INT64_MAX);
    read_argv(reader, object, out);
    read_env(reader, object, out);
    read_mounts(reader, object, out);
}

static void read_replicas(struct reader *reader, const json_t *document, struct ty_plan *out)
{
    const json_t *replicas = read_array(reader, document, "replicas");
    size_t count = json_array_size(replicas);
    if (count == 0 || count > TY_PLAN_REPLICAS)
        note(reader, "replicas");
    out->replicas = make_array(reader, count, sizeof *out->replicas);
    if (reader->failed)
        return;
    out->replica_count = count;
    for (size_t i = 0; i < count && !reader->failed; i++)
        read_replica(reader, json_array_get(replicas, i), &out->replicas[i]);
    out->rules.size = count;
    if (json_object_get(document, "size")) /* only an elastic run has one */
        out->rules.size = (size_t)read_int(reader, document, "size", 1, (int64_t)count);
}

static void read_rules(struct reader *reader, const json_t *document, struct ty_plan *out)
{
    const int64_t day_ms = 24LL * 3600 * 1000;
    const json_t *rules = json_object_get(document, "rules");
    const json_t *restart = json_object_get(rules, "restart");
    const json_t *grace = json_object_get(rules, "grace_ms");
    struct ty_op_rules *to = &out->rules;
    to->job = out->object;
    to->namespace = out->namespace;
    for (int role = 0; role < TY_OP_ROLE_COUNT; role++) {
        to->restart[role] =
            (ty_op_restart)read_choice(reader, restart, ty_op_role_names[role], restart_names, 4);
        to->grace_ms[role] = read_int(reader, grace, ty_op_role_names[role], 0, day_ms);
    }
    to->clean_pods = (ty_op_clean)read_choice(reader, rules, "clean_pods", clean_names, 3);
    to->elastic = json_is_true(json_object_get(rules, "elastic"));
    to->backoff_limit = (int32_t)read_int(reader, rules, "backoff_limit", -1, INT32_MAX);
    to->deadline_ms = read_int(reader, rules, "deadline_ms", 0, INT64_MAX / 4);
    to->backoff_base_ms = read_int(reader, rules, "backoff_base_ms", 1, day_ms);
    to->backoff_max_ms = read_int(reader, rules, "backoff_max_ms", 1, day_ms);
    to->backoff_reset_ms = read_int(reader, rules, "backoff_reset_ms", 1, day_ms);
    to->init_wait_ms = read_int(reader, rules, "init_wait_ms", 1, day_ms);
}

ty_status ty_plan_parse(json_t *document, struct ty_plan **plan_out, struct ty_error *err)
{
    struct ty_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a plan");
    struct reader reader = {0};
    plan->document = json_incref(document);
    read_int(&reader, document, "version", TY_PLAN_VERSION, TY_PLAN_VERSION);
    plan->job_id = read_text(&reader, document, "job_id");
    plan->object = read_text(&reader, document, "object");
    plan->namespace = read_text(&reader, document, "namespace");
    plan->logs_folder = read_text(&reader, document, "logs_folder");
    plan->bwrap = read_optional(document, "bwrap");
    plan->attempt = (int32_t)read_int(&reader, document, "attempt", 1, INT32_MAX);
    plan->port = (uint16_t)read_int(&reader, document, "port", 1, UINT16_MAX);
    read_rules(&reader, document, plan);
    read_replicas(&reader, document, plan);
    if (reader.failed) {
        ty_plan_destroy(plan);
        return ty_fail(err, TY_CORRUPT, "the plan of the run has no good %s", reader.what);
    }
    *plan_out = plan;
    return TY_OK;
}

ty_status ty_plan_read(int folder_fd, const char *name, struct ty_plan **plan_out,
                       struct ty_error *err)
{
    ty_auto_buf text = {0};
    ty_buf_init(&text, TY_PLAN_BYTES);
    ty_status status = ty_file_read(folder_fd, name, &text, err);
    if (status != TY_OK)
        return status;
    json_error_t why = {0};
    ty_auto_json document =
        json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, &why);
    if (!document)
        return ty_fail(err, TY_CORRUPT, "the plan of the run is not JSON: %s", why.text);
    return ty_plan_parse(document, plan_out, err);
}

/* `*text` with every token replaced, owned by the plan's document. */
static ty_status fill_text(struct ty_plan *plan, const char **text, const char *token,
                           const char *by, struct ty_error *err)
{
    const char *at = strstr(*text, token);
    if (!at)
        return TY_OK;
    ty_auto_buf filled = {0};
    ty_buf_init(&filled, TY_PLAN_BYTES);
    const char *rest = *text;
    for (; at; at = strstr(rest, token)) {
        ty_buf_add(&filled, rest, (size_t)(at - rest));
        ty_buf_adds(&filled, by);
        rest = at + strlen(token);
    }
    ty_buf_adds(&filled, rest);
    ty_status status = ty_buf_check(&filled, "a text of the plan", err);
    if (status != TY_OK)
        return status;
    json_t *owner = json_object_get(plan->document, "filled");
    if (!owner) {
        owner = json_array();
        if (json_object_set_new(plan->document, "filled", owner) != 0)
            return ty_fail(err, TY_NO_MEMORY, "no memory for the plan");
    }
    json_t *value = json_stringn(filled.data, filled.len);
    if (json_array_append_new(owner, value) != 0)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the plan");
    *text = json_string_value(value);
    return TY_OK;
}

ty_status ty_plan_fill(struct ty_plan *plan, const char *token, const char *text,
                       struct ty_error *err)
{
    char mark[160];
    snprintf(mark, sizeof mark, "\001%s:%s\001", plan->object, token);
    for (size_t i = 0; i < plan->replica_count; i++) {
        struct ty_plan_replica *replica = &plan->replicas[i];
        ty_status status = TY_OK;
        for (size_t j = 0; status == TY_OK && j < replica->env_count; j++)
            status = fill_text(plan, &replica->env[j].value, mark, text, err);
        for (size_t j = 0; status == TY_OK && j < replica->argc; j++)
            status = fill_text(plan, &replica->argv[j], mark, text, err);
        if (status != TY_OK)
            return status;
    }
    return TY_OK;
}

void ty_plan_destroy(struct ty_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; plan->replicas && i < plan->replica_count; i++) {
        free(plan->replicas[i].argv);
        free(plan->replicas[i].env);
        free(plan->replicas[i].mounts);
    }
    free(plan->replicas);
    json_decref(plan->document);
    free(plan);
}
