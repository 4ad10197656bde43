/* A job as JSON, written straight from its row. */
#include "api/api.h"

#include <inttypes.h>

void api_job_etag(int64_t revision, int64_t queue_position, char out[API_ETAG])
{
    /* The version of the program stands in it because a newer one may write the same row
     * differently. */
    if (queue_position > 0)
        snprintf(out, API_ETAG, "\"%" PRId64 "-%s-q%" PRId64 "\"", revision, TRAINYARD_VERSION,
                 queue_position);
    else
        snprintf(out, API_ETAG, "\"%" PRId64 "-%s\"", revision, TRAINYARD_VERSION);
}

void api_job_path(const char *job_id, char out[API_JOB_PATH])
{
    snprintf(out, API_JOB_PATH, "/v1/jobs/%s", job_id);
}

static void write_links(struct ty_json_writer *writer, const char *job_id)
{
    static const char *const parts[] = {"logs",     "artifacts",   "checkpoints",
                                        "manifest", "transitions", "replicas"};
    char path[API_JOB_PATH + 16];
    api_job_path(job_id, path);
    size_t len = strlen(path);
    ty_json_key(writer, "links");
    ty_json_object(writer);
    ty_json_put_string(writer, "self", path);
    path[len++] = '/';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        memcpy(path + len, parts[i], strlen(parts[i]) + 1);
        ty_json_put_string(writer, parts[i], path);
    }
    ty_json_end(writer);
}

static void put_raw(struct ty_json_writer *writer, const char *key, const char *json)
{
    ty_json_key(writer, key);
    ty_json_raw(writer, json, strlen(json));
}

static void write_origin(struct ty_json_writer *writer, const struct ty_job_record *record)
{
    ty_json_key(writer, "origin");
    if (!record->origin_id) {
        ty_json_null(writer);
        return;
    }
    ty_json_object(writer);
    ty_json_put_string(writer, "job_id", record->origin_id);
    ty_json_put_string(writer, "kind", record->origin_kind);
    if (record->origin_changes)
        put_raw(writer, "changes", record->origin_changes);
    ty_json_end(writer);
}

static void write_state(struct ty_json_writer *writer, const struct ty_job_record *record,
                        int64_t queue_position)
{
    const struct ty_job_status *status = &record->status;
    ty_json_put_string(writer, "state", ty_job_state_name(status->state));
    ty_json_put_string(writer, "cause",
                       status->cause == TY_CAUSE_NONE ? NULL : ty_job_cause_name(status->cause));
    ty_json_put_string(writer, "message", status->message);
    ty_json_put_int(writer, "sequence", status->sequence);
    ty_json_put_int(writer, "attempt", status->attempt);
    ty_json_put_int(writer, "restarts", status->restarts);
    if (queue_position > 0)
        ty_json_put_int(writer, "queue_position", queue_position);
    ty_json_put_int_or_null(writer, "exit_code", status->exit.known, status->exit.code);
    ty_json_put_int_or_null(writer, "exit_signal", status->exit.known && status->exit.signal != 0,
                            status->exit.signal);
    ty_json_put_string(writer, "failed_replica", status->exit.known ? status->exit.replica : NULL);
}

static void write_times(struct ty_json_writer *writer, const struct ty_job_record *record)
{
    const struct ty_job_status *status = &record->status;
    bool ended = status->started_at != 0 && status->finished_at >= status->started_at;
    ty_json_put_time(writer, "created_at", record->created_at);
    ty_json_put_time(writer, "updated_at", record->updated_at);
    ty_json_put_time(writer, "started_at", status->started_at);
    ty_json_put_time(writer, "finished_at", status->finished_at);
    ty_json_put_int_or_null(writer, "duration_seconds", ended,
                            (status->finished_at - status->started_at) / 1000000);
    ty_json_put_time(writer, "deadline_at", status->deadline_at);
}

void api_write_job(struct ty_json_writer *writer, const struct ty_job_record *record,
                   const struct ty_buf *spec, int64_t queue_position)
{
    char etag[API_ETAG];
    api_job_etag(record->revision, queue_position, etag);
    ty_json_object(writer);
    ty_json_put_string(writer, "id", record->id);
    ty_json_put_string(writer, "name", record->name);
    ty_json_put_string(writer, "description", record->description ? record->description : "");
    put_raw(writer, "labels", record->labels);
    write_state(writer, record, queue_position);
    ty_json_put_string(writer, "executor", record->executor);
    ty_json_put_string(writer, "object_name", record->object_name);
    ty_json_put_string(writer, "namespace", record->namespace);
    ty_json_put_string(writer, "tenant", record->tenant_name);
    ty_json_put_string(writer, "image", record->image);
    ty_json_put_int(writer, "replicas", record->replicas);
    ty_json_put_int(writer, "gpus", record->gpus / record->replicas); /* the row has their sum */
    if (record->epochs > 0)
        ty_json_put_int(writer, "epochs", record->epochs);
    ty_json_put_int(writer, "priority", record->priority);
    write_times(writer, record);
    write_origin(writer, record);
    put_raw(writer, "warnings", record->warnings);
    ty_json_put_string(writer, "etag", etag);
    write_links(writer, record->id);
    if (spec) {
        ty_json_key(writer, "spec");
        ty_json_raw(writer, spec->data, spec->len);
    }
    ty_json_end(writer);
}
