/* GET …/manifest, …/transitions and …/replicas. */
#include "api/draft.h"

#include "trainyard/base/yaml.h"

#include <inttypes.h>

/* --- manifest: exactly what the executor is given --- */

static ty_status render_job(struct ty_api *api, struct ty_request *request,
                            struct ty_manifest *manifest_out, char etag[API_ETAG],
                            struct ty_error *err)
{
    struct ty_job_record record;
    struct ty_job_spec *spec = NULL;
    struct ty_faults faults;
    ty_faults_init(&faults);
    if (api_find_job(api, request, &record, err) != TY_OK ||
        api_job_spec(api, request, record.row, &spec, err) != TY_OK)
        return err->status;
    struct ty_render_input input = {.spec = spec,
                                    .job_id = record.id,
                                    .object_name = record.object_name,
                                    .namespace = record.namespace,
                                    .tenant = record.tenant_name,
                                    .attempt = record.status.attempt};
    ty_status status = api_render(api, &input, manifest_out, &faults, err);
    /* Only an elastic job's objects ever change: with each attempt, and with its workers. */
    (void)snprintf(etag, API_ETAG, "\"m-%s-%s-%d-%d\"", TRAINYARD_VERSION,
                   record.id + strlen(record.id) - 8, spec->elastic.on ? record.status.attempt : 0,
                   record.replicas);
    ty_job_spec_destroy(spec);
    return status;
}

/* One YAML stream: a document an object, as `kubectl apply -f` takes it. */
static void write_stream(struct ty_buf *out, const struct ty_manifest *manifest)
{
    for (size_t i = 0; i < json_array_size(manifest->objects); i++) {
        ty_buf_adds(out, "---\n");
        ty_yaml_write(out, json_array_get(manifest->objects, i));
    }
}

/* `format` is for those who cannot set Accept: a browser, a shell. */
static const char *manifest_type(const struct ty_request *request)
{
    const char *format = ty_argument_text(api_arguments(request), "format");
    if (!format)
        return ty_request_answer_type(request);
    return ty_str_equal(format, "yaml") ? "application/yaml" : "application/json";
}

void jobs_manifest(void *context, struct ty_request *request)
{
    struct ty_manifest manifest = {0};
    struct ty_error err;
    struct ty_json_writer writer;
    char etag[API_ETAG];
    if (render_job(context, request, &manifest, etag, &err) != TY_OK) {
        api_answer_error(request, &err);
        ty_manifest_done(&manifest);
        return;
    }
    const char *type = manifest_type(request);
    ty_auto_buf body = {0};
    ty_buf_init(&body, ANSWER_MAX);
    if (ty_str_equal(type, "application/yaml")) {
        write_stream(&body, &manifest);
        etag[1] = 'y';
    } else {
        ty_json_writer_init(&writer, &body);
        api_write_manifest(&writer, &manifest);
    }
    ty_manifest_done(&manifest);
    struct ty_response *response = ty_response_buf(200, type, &body);
    ty_response_etag(response, etag);
    ty_request_answer(request, response);
}

/* --- transitions --- */

static bool write_transition(void *context, const struct ty_transition *transition)
{
    struct api_page *page = context;
    struct ty_json_writer *writer = &page->writer;
    if (api_page_full(page))
        return false;
    ty_json_object(writer);
    ty_json_put_int(writer, "sequence", transition->sequence);
    ty_json_put_time(writer, "at", transition->at);
    ty_json_put_string(writer, "from",
                       transition->sequence == 1 ? NULL : ty_job_state_name(transition->from));
    ty_json_put_string(writer, "to", ty_job_state_name(transition->to));
    ty_json_put_string(writer, "cause",
                       transition->cause == TY_CAUSE_NONE ? NULL
                                                          : ty_job_cause_name(transition->cause));
    ty_json_put_string(writer, "message", transition->message);
    ty_json_put_int(writer, "attempt", transition->attempt);
    ty_json_end(writer);
    page->next.row = transition->sequence;
    page->count++;
    return true;
}

void jobs_transitions(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_job_record record;
    struct ty_cursor cursor;
    struct ty_error err;
    struct api_page page = {.limit = api_limit(request)};
    char identity[TY_ID_TEXT + 16];
    ty_auto_buf body = {0};
    api_begin_page(&page.writer, &body);
    snprintf(identity, sizeof identity, "transitions|%s", ty_request_variable(request, "job_id"));
    if (api_find_job(api, request, &record, &err) != TY_OK ||
        api_cursor(api, request, identity, &cursor, &err) != TY_OK ||
        ty_transitions_list(api_reader(api, request), record.row, cursor.row, page.limit + 1,
                            write_transition, &page, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    api_answer_page(api, request, &page.writer, identity, api_page_next(&page));
}

/* --- replicas: as last observed; before that, those that will be --- */

/* A master and workers; an elastic job has workers alone. */
static void replica_name(const struct ty_job_record *record, int32_t place,
                         char out[TY_REPLICA_NAME])
{
    int32_t worker = record->elastic_max > 0 ? place : place - 1;
    if (worker < 0)
        snprintf(out, TY_REPLICA_NAME, "master-0");
    else
        snprintf(out, TY_REPLICA_NAME, "worker-%" PRId32, worker);
}

/* What the name alone says: role, index, and where the log is. */
static void write_identity(struct ty_json_writer *writer, const char *job_id, const char *name)
{
    const char *dash = strrchr(name, '-');
    int64_t index = 0;
    char role[TY_REPLICA_NAME];
    char path[API_JOB_PATH + TY_REPLICA_NAME + 16];
    if (!dash || ty_str_to_int(dash + 1, 0, INT32_MAX, &index) != TY_OK)
        dash = name + strlen(name);
    snprintf(role, sizeof role, "%.*s", (int)(dash - name), name);
    snprintf(path, sizeof path, "/v1/jobs/%s/logs?replica=%s", job_id, name);
    ty_json_put_string(writer, "role", role);
    ty_json_put_int(writer, "index", index);
    ty_json_key(writer, "links");
    ty_json_object(writer);
    ty_json_put_string(writer, "logs", path);
    ty_json_end(writer);
}

/* The engine stores what the executor observed; an empty reason is none. */
static void write_observed(struct ty_json_writer *writer, const char *job_id, json_t *replica)
{
    const char *key;
    json_t *value;
    const char *name = json_string_value(json_object_get(replica, "name"));
    ty_json_object(writer);
    json_object_foreach(replica, key, value)
    {
        ty_json_key(writer, key);
        if (ty_str_equal(key, "reason") && json_string_length(value) == 0)
            ty_json_null(writer);
        else
            ty_json_value(writer, value);
    }
    write_identity(writer, job_id, name ? name : "");
    ty_json_end(writer);
}

static void write_planned(struct ty_json_writer *writer, const struct ty_job_record *record,
                          int32_t place)
{
    char name[TY_REPLICA_NAME];
    replica_name(record, place, name);
    ty_json_object(writer);
    ty_json_put_string(writer, "name", name);
    ty_json_put_string(writer, "state", "pending");
    ty_json_put_string(writer, "reason", NULL);
    ty_json_put_int(writer, "restarts", 0);
    ty_json_put_string(writer, "exit_code", NULL);
    ty_json_put_string(writer, "exit_signal", NULL);
    ty_json_put_time(writer, "started_at", 0);
    ty_json_put_time(writer, "finished_at", 0);
    write_identity(writer, record->id, name);
    ty_json_end(writer);
}

void jobs_replicas(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_job_record record;
    struct ty_cursor cursor;
    struct ty_error err;
    struct ty_json_writer writer;
    ty_auto_json observed = NULL;
    char identity[TY_ID_TEXT + 16];
    ty_auto_buf body = {0};
    api_begin_page(&writer, &body);
    snprintf(identity, sizeof identity, "replicas|%s", ty_request_variable(request, "job_id"));
    if (api_find_job(api, request, &record, &err) != TY_OK ||
        api_cursor(api, request, identity, &cursor, &err) != TY_OK ||
        ty_json_parse(record.replica_list, strlen(record.replica_list), &observed, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    size_t total =
        json_array_size(observed) > 0 ? json_array_size(observed) : (size_t)record.replicas;
    size_t end = (size_t)cursor.row + api_limit(request);
    for (size_t i = (size_t)cursor.row; i < total && i < end; i++) {
        if (json_array_size(observed) > 0)
            write_observed(&writer, record.id, json_array_get(observed, i));
        else
            write_planned(&writer, &record, (int32_t)i);
    }
    struct ty_cursor next = {.row = (int64_t)end};
    api_answer_page(api, request, &writer, identity, end < total ? &next : NULL);
}
