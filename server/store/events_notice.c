/* Events that must be told once although what they tell of is noticed again and again: by each look
 * at a folder, and anew after a crash. The log itself remembers. */
#include "jobs_inside.h"
#include "trainyard/base/str.h"

#include <stdlib.h>

static bool is_same(const struct ty_event_notice *notice, int32_t attempt,
                    const struct ty_event *told)
{
    if (notice->type != told->type)
        return false;
    if (notice->type != TY_EVENT_CHECKPOINT_CREATED && attempt != told->attempt)
        return false;
    return notice->type == TY_EVENT_ARTIFACT_READY || ty_str_equal(notice->extra, told->extra);
}

/* Mark the notices that are in the log. */
static ty_status find_told(struct ty_writer *writer, const struct ty_job_record *record,
                           const struct ty_event_notice *notices, size_t count, bool *told,
                           struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_EVENT_NOTICED, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, record->row);
    ty_bind_int(&bind, record->tenant);
    for (;;) {
        bool row = false;
        bool ok = true;
        status = ty_bind_step(&writer->conn, &bind, &row, "read the events", err);
        if (status != TY_OK || !row)
            return status;
        const struct ty_event event = {.type = (ty_event_type)sqlite3_column_int(stmt, 0),
                                       .attempt = sqlite3_column_int(stmt, 1),
                                       .extra = ty_column_text(stmt, 2, &ok)};
        if (!ok)
            return ty_fail(err, TY_NO_MEMORY, "no memory for an event");
        for (size_t i = 0; i < count; i++)
            told[i] = told[i] || is_same(&notices[i], record->status.attempt, &event);
    }
}

static ty_status append(struct ty_writer *writer, const struct ty_job_record *record,
                        const struct ty_event_notice *notice, struct ty_error *err)
{
    const struct ty_job_status *now = &record->status;
    struct ty_event event = {.tenant = record->tenant,
                             .type = notice->type,
                             .at = ty_now_us(&writer->store->clock),
                             .job = record->row,
                             .job_id = record->id,
                             .name = record->name,
                             .labels = record->labels,
                             .job_sequence = now->sequence,
                             .state = now->state,
                             .cause = now->cause,
                             .attempt = now->attempt,
                             .message = notice->message ? notice->message : now->message,
                             .extra = notice->extra};
    return ty_events_append(writer, &event, err);
}

ty_status ty_events_notice(struct ty_writer *writer, const struct ty_job_record *record,
                           const struct ty_event_notice *notices, size_t count,
                           struct ty_error *err)
{
    if (count == 0)
        return TY_OK;
    bool *told = calloc(count, sizeof *told);
    if (!told)
        return ty_fail(err, TY_NO_MEMORY, "no memory for events");
    ty_status status = find_told(writer, record, notices, count, told, err);
    for (size_t i = 0; i < count && status == TY_OK; i++)
        if (!told[i])
            status = append(writer, record, &notices[i], err);
    free(told);
    return status;
}
