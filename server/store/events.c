#include "trainyard/store/events.h"

#include "inside.h"
#include "jobs_inside.h"

static const char *const type_names[] = {
    [TY_EVENT_JOB_CREATED] = "job.created",
    [TY_EVENT_JOB_STATE_CHANGED] = "job.state_changed",
    [TY_EVENT_JOB_UPDATED] = "job.updated",
    [TY_EVENT_JOB_DELETED] = "job.deleted",
    [TY_EVENT_VOLUME_CREATED] = "volume.created",
    [TY_EVENT_VOLUME_DELETED] = "volume.deleted",
};

const char *ty_event_type_name(ty_event_type type)
{
    size_t index = (size_t)type;
    if (index >= sizeof(type_names) / sizeof(type_names[0]) || !type_names[index])
        return "unknown";
    return type_names[index];
}

ty_status ty_event_store(struct ty_writer *writer, const struct ty_event *event,
                         struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_EVENT_INSERT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, event->tenant);
    ty_bind_int(&bind, event->sequence);
    ty_bind_int(&bind, event->type);
    ty_bind_int(&bind, event->at);
    ty_bind_int(&bind, event->job);
    ty_bind_text(&bind, event->job_id);
    ty_bind_int(&bind, event->job_sequence);
    ty_bind_int(&bind, event->state);
    ty_bind_int(&bind, event->cause);
    ty_bind_int(&bind, event->attempt);
    ty_bind_text(&bind, event->message ? event->message : "");
    ty_bind_text(&bind, event->extra ? event->extra : "{}");
    return ty_bind_step(&writer->conn, &bind, NULL, "store the event", err);
}

static ty_status next_sequence(struct ty_writer *writer, int64_t tenant, int64_t *sequence_out,
                               struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_COUNTERS_NEXT_EVENT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant);
    status = ty_bind_step(&writer->conn, &bind, &row, "number the event", err);
    if (status == TY_OK && !row)
        return ty_fail_code(err, TY_NOT_FOUND, "tenant_not_found", "no such tenant");
    if (status == TY_OK)
        *sequence_out = sqlite3_column_int64(stmt, 0);
    return status;
}

ty_status ty_events_append(struct ty_writer *writer, struct ty_event *event, struct ty_error *err)
{
    struct ty_event numbered = *event;
    ty_status status = ty_writer_begin(writer, err);
    if (status == TY_OK)
        status = next_sequence(writer, event->tenant, &numbered.sequence, err);
    if (status == TY_OK)
        status = ty_event_store(writer, &numbered, err);
    if (status == TY_OK)
        event->sequence = numbered.sequence;
    return status;
}

/* --- reading --- */

static ty_status decode(sqlite3_stmt *stmt, struct ty_event *out, struct ty_error *err)
{
    bool ok = true;
    *out = (struct ty_event){
        .tenant = sqlite3_column_int64(stmt, 0),
        .sequence = sqlite3_column_int64(stmt, 1),
        .type = (ty_event_type)sqlite3_column_int(stmt, 2),
        .at = sqlite3_column_int64(stmt, 3),
        .job = sqlite3_column_int64(stmt, 4),
        .job_id = ty_column_text(stmt, 5, &ok),
        .job_sequence = sqlite3_column_int64(stmt, 6),
        .state = (ty_job_state)sqlite3_column_int(stmt, 7),
        .cause = (ty_job_cause)sqlite3_column_int(stmt, 8),
        .attempt = sqlite3_column_int(stmt, 9),
        .message = ty_column_text(stmt, 10, &ok),
        .extra = ty_column_text(stmt, 11, &ok),
    };
    return ok ? TY_OK : ty_fail(err, TY_NO_MEMORY, "no memory for an event");
}

static ty_status first_kept(struct ty_reader *reader, int64_t tenant, int64_t otherwise,
                            int64_t *first_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_EVENT_FIRST, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant);
    status = ty_bind_step(&reader->conn, &bind, &row, "read the events", err);
    if (status == TY_OK)
        *first_out = row ? sqlite3_column_int64(stmt, 0) : otherwise;
    return status;
}

static ty_status read_range(struct ty_reader *reader, int64_t tenant, int64_t *first_out,
                            int64_t *last_out, struct ty_error *err)
{
    struct ty_counters counters;
    int64_t first = 0;
    ty_status status = ty_counters_get(&reader->conn, tenant, &counters, err);
    if (status == TY_OK)
        status = first_kept(reader, tenant, counters.last_event + 1, &first, err);
    if (status != TY_OK)
        return status;
    *first_out = first;
    *last_out = counters.last_event;
    return TY_OK;
}

ty_status ty_events_range(struct ty_reader *reader, int64_t tenant, int64_t *first_out,
                          int64_t *last_out, struct ty_error *err)
{
    ty_status status = ty_reader_begin(reader, err);
    if (status != TY_OK)
        return status;
    status = read_range(reader, tenant, first_out, last_out, err);
    ty_reader_end(reader);
    return status;
}

static ty_status walk(struct ty_reader *reader, const int64_t key[3], ty_event_visitor *visit,
                      void *context, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_EVENT_LIST, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    for (size_t i = 0; i < 3; i++)
        ty_bind_int(&bind, key[i]);
    for (;;) {
        bool row = false;
        struct ty_event event;
        status = ty_bind_step(&reader->conn, &bind, &row, "read the events", err);
        if (status != TY_OK || !row)
            return status;
        status = decode(stmt, &event, err);
        if (status != TY_OK || !visit(context, &event))
            return status;
    }
}

ty_status ty_events_list(struct ty_reader *reader, int64_t tenant, int64_t after, size_t limit,
                         ty_event_visitor *visit, void *context, struct ty_error *err)
{
    const int64_t key[3] = {tenant, after, (int64_t)limit};
    int64_t first = 0;
    int64_t last = 0;
    ty_status status = ty_reader_begin(reader, err);
    if (status != TY_OK)
        return status;
    status = read_range(reader, tenant, &first, &last, err);
    if (status == TY_OK && after + 1 < first)
        status = ty_fail_code(err, TY_GONE, "events_trimmed",
                              "events up to %lld are no longer kept", (long long)first - 1);
    if (status == TY_OK)
        status = walk(reader, key, visit, context, err);
    ty_reader_end(reader);
    return status;
}

/* --- trimming --- */

/* The tenant after `after`; 0 at the end. */
static ty_status next_tenant(struct ty_writer *writer, int64_t after, int64_t *tenant_out,
                             struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_EVENT_TENANTS, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, after);
    status = ty_bind_step(&writer->conn, &bind, &row, "find old events", err);
    if (status == TY_OK)
        *tenant_out = row ? sqlite3_column_int64(stmt, 0) : 0;
    return status;
}

/* How many of a tenant's oldest events are old; the first young one ends the look. */
static ty_status find_old(struct ty_writer *writer, int64_t tenant, int64_t before, size_t limit,
                          int64_t *last_out, size_t *count_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    ty_status status = ty_conn_stmt(&writer->conn, TY_SQL_EVENT_OLDEST, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant);
    ty_bind_int(&bind, (int64_t)limit);
    while ((status = ty_bind_step(&writer->conn, &bind, &row, "find old events", err)) == TY_OK &&
           row && sqlite3_column_int64(stmt, 1) < before) {
        *last_out = sqlite3_column_int64(stmt, 0);
        (*count_out)++;
    }
    return status;
}

ty_status ty_events_trim(struct ty_writer *writer, int64_t before, size_t limit,
                         size_t *removed_out, struct ty_error *err)
{
    int64_t tenant = 0;
    size_t total = 0;
    ty_status status = next_tenant(writer, 0, &tenant, err);
    while (status == TY_OK && tenant > 0 && total < limit) {
        int64_t last = 0;
        size_t count = 0;
        status = find_old(writer, tenant, before, limit - total, &last, &count, err);
        if (status == TY_OK && count > 0)
            status = ty_writer_begin(writer, err);
        const int64_t values[] = {tenant, last};
        if (status == TY_OK && count > 0)
            status = ty_run_ints(&writer->conn, TY_SQL_EVENT_DELETE_UP_TO, values, 2,
                                 "remove old events", err);
        total += count;
        if (status == TY_OK)
            status = next_tenant(writer, tenant, &tenant, err);
    }
    if (status == TY_OK)
        *removed_out = total;
    return status;
}
