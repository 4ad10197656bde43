/* An event's JSON, and its frame as a server-sent event around it, in one piece of memory. */
#include "trainyard/events/text.h"

#include "trainyard/base/json.h"
#include "trainyard/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 64 * 1024 };

static const char *text_or(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

static void put_raw(struct ty_json_writer *writer, const char *key, const char *json)
{
    ty_json_key(writer, key);
    ty_json_raw(writer, json, strlen(json));
}

static void put_int_if(struct ty_json_writer *writer, const char *key, bool known, int64_t value)
{
    ty_json_key(writer, key);
    if (known)
        ty_json_int(writer, value);
    else
        ty_json_null(writer);
}

static void write_links(struct ty_json_writer *writer, const char *job_id)
{
    static const char *const parts[] = {"logs", "artifacts", "checkpoints", "events"};
    char path[TY_ID_TEXT + 32];
    ty_json_key(writer, "links");
    ty_json_object(writer);
    snprintf(path, sizeof path, "/v1/jobs/%s", job_id);
    ty_json_put_string(writer, "job", path);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(path, sizeof path, "/v1/jobs/%s/%s", job_id, parts[i]);
        ty_json_put_string(writer, parts[i], path);
    }
    ty_json_end(writer);
}

static void write_job(struct ty_json_writer *writer, const struct ty_event *event)
{
    bool caused = event->cause != TY_CAUSE_NONE;
    ty_json_put_string(writer, "job_id", event->job_id);
    ty_json_put_string(writer, "name", event->name);
    put_raw(writer, "labels", text_or(event->labels, "{}"));
    ty_json_put_string(writer, "state", ty_job_state_name(event->state));
    ty_json_put_string(writer, "previous_state",
                       event->has_from ? ty_job_state_name(event->from) : NULL);
    ty_json_put_string(writer, "cause", caused ? ty_job_cause_name(event->cause) : NULL);
    ty_json_put_string(writer, "message", text_or(event->message, ""));
    ty_json_put_int(writer, "sequence", event->job_sequence);
    ty_json_put_int(writer, "attempt", event->attempt);
    put_int_if(writer, "exit_code", event->has_exit, event->exit_code);
    put_int_if(writer, "exit_signal", event->has_exit && event->exit_signal != 0,
               event->exit_signal);
    ty_json_put_string(writer, "failed_replica", event->has_exit ? event->exit_replica : NULL);
}

static void write_volume(struct ty_json_writer *writer, const struct ty_event *event)
{
    ty_json_put_string(writer, "volume", event->name);
    ty_json_put_string(writer, "created_by_job", event->job_id);
}

/* The members of a JSON object's text, after others. */
static void write_extra(struct ty_buf *buf, const char *extra)
{
    size_t len = extra ? strlen(extra) : 0;
    if (len <= 2)
        return;
    ty_buf_addc(buf, ',');
    ty_buf_add(buf, extra + 1, len - 2);
}

static void write_data(struct ty_json_writer *writer, const struct ty_event *event)
{
    ty_json_key(writer, "data");
    ty_json_object(writer);
    if (event->job != 0) {
        write_job(writer, event);
        write_links(writer, event->job_id);
    } else {
        write_volume(writer, event);
    }
    write_extra(writer->buf, event->extra);
    ty_json_end(writer);
}

static void write_event(struct ty_buf *buf, const struct ty_event *event, const char *tenant_name,
                        const char *id)
{
    struct ty_json_writer writer;
    ty_json_writer_init(&writer, buf);
    ty_json_object(&writer);
    ty_json_put_string(&writer, "id", id);
    ty_json_put_string(&writer, "type", ty_event_type_name(event->type));
    ty_json_put_time(&writer, "timestamp", event->at);
    ty_json_put_string(&writer, "tenant", tenant_name);
    ty_json_put_int(&writer, "sequence", event->sequence);
    write_data(&writer, event);
    ty_json_end(&writer);
}

/* The frame in `buf` becomes a text; the labels stand behind it. */
static struct ty_event_text *take(const struct ty_event *event, const struct ty_buf *buf,
                                  size_t head_len)
{
    const char *labels = text_or(event->labels, "{}");
    size_t labels_len = strlen(labels) + 1;
    struct ty_event_text *text = malloc(sizeof *text + buf->len + labels_len);
    if (!text)
        return NULL;
    *text = (struct ty_event_text){.refs = 1,
                                   .sequence = event->sequence,
                                   .type = event->type,
                                   .of_job = event->job != 0,
                                   .head_len = head_len,
                                   .json_len = buf->len - head_len - 2,
                                   .len = buf->len};
    text->ends_job =
        text->of_job && event->type >= TY_EVENT_JOB_STATE && ty_job_terminal(event->state);
    if (text->of_job)
        (void)ty_str_copy(text->job_id, sizeof text->job_id, event->job_id);
    memcpy(text->bytes, buf->data, buf->len);
    memcpy(text->bytes + buf->len, labels, labels_len);
    text->labels = text->bytes + buf->len;
    return text;
}

ty_status ty_event_text_make(const struct ty_event *event, const struct ty_event_owner *owner,
                             struct ty_event_text **text_out, struct ty_error *err)
{
    char id[TY_EVENT_ID];
    ty_auto_buf buf = {0};
    ty_buf_init(&buf, TEXT_MAX);
    if (ty_event_id_make(owner->key, event->tenant, event->sequence, id) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "no memory for an event");
    ty_buf_addf(&buf, "id: %s\nevent: %s\ndata: ", id, ty_event_type_name(event->type));
    size_t head_len = buf.len;
    write_event(&buf, event, owner->tenant_name, id);
    ty_buf_adds(&buf, "\n\n");
    if (ty_buf_check(&buf, "event", err) != TY_OK)
        return err->status;
    struct ty_event_text *text = take(event, &buf, head_len);
    if (!text)
        return ty_fail(err, TY_NO_MEMORY, "no memory for an event");
    *text_out = text;
    return TY_OK;
}

struct ty_event_text *ty_event_text_ref(struct ty_event_text *text)
{
    __atomic_fetch_add(&text->refs, 1, __ATOMIC_RELAXED);
    return text;
}

void ty_event_text_unref(struct ty_event_text *text)
{
    if (text && __atomic_fetch_sub(&text->refs, 1, __ATOMIC_ACQ_REL) == 1)
        free(text);
}
