#include "trainyard/store/events.h"

#include "inside.h"
#include "jobs_inside.h"

static const char *text_or(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

static void bind_numbers(struct ty_bind *bind, const struct ty_event *event)
{
    const int64_t numbers[] = {event->job_sequence,
                               event->state,
                               event->cause,
                               event->attempt,
                               event->has_from ? (int64_t)event->from : -1,
                               event->has_exit ? event->exit_signal : 0};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ty_bind_int(bind, numbers[i]);
    if (event->has_exit)
        ty_bind_int(bind, event->exit_code);
    else
        ty_bind_text(bind, NULL);
}

/* Note whose events the group has, for who listens; too many different ones are told as all. */
static void note_tenant(struct ty_writer *writer, int64_t tenant)
{
    struct ty_told *told = &writer->told;
    size_t i = 0;
    while (i < told->count && told->tenants[i] != tenant)
        i++;
    if (i == told->count && told->count < TY_TOLD_MAX)
        told->tenants[told->count++] = tenant;
    else if (i == told->count)
        told->tenants[0] = 0; /* no tenant: all */
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
    bind_numbers(&bind, event);
    ty_bind_text(&bind, text_or(event->exit_replica, ""));
    ty_bind_text(&bind, text_or(event->name, ""));
    ty_bind_text(&bind, text_or(event->labels, "{}"));
    ty_bind_text(&bind, text_or(event->message, ""));
    ty_bind_text(&bind, text_or(event->extra, "{}"));
    note_tenant(writer, event->tenant);
    return ty_bind_step(&writer->conn, &bind, NULL, "store the event", err);
}

static ty_status next_sequence(struct ty_writer *writer, int64_t tenant, int64_t *sequence_out,
                               struct ty_error *err)
{
    struct ty_counters counters;
    ty_status status = ty_counters_find(writer, tenant, &counters, err);
    if (status != TY_OK)
        return status;
    *sequence_out = ++counters.last_event;
    return ty_counters_save(writer, tenant, &counters, err);
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

/* The order of EVENT_COLUMNS in statements.c. */
enum event_column {
    COLUMN_TENANT,
    COLUMN_SEQUENCE,
    COLUMN_TYPE,
    COLUMN_AT,
    COLUMN_JOB,
    COLUMN_JOB_ID,
    COLUMN_JOB_SEQUENCE,
    COLUMN_STATE,
    COLUMN_CAUSE,
    COLUMN_ATTEMPT,
    COLUMN_FROM_STATE,
    COLUMN_EXIT_SIGNAL,
    COLUMN_EXIT_CODE,
    COLUMN_EXIT_REPLICA,
    COLUMN_NAME,
    COLUMN_LABELS,
    COLUMN_MESSAGE,
    COLUMN_EXTRA
};

static ty_status decode(sqlite3_stmt *stmt, struct ty_event *out, struct ty_error *err)
{
    bool ok = true;
    *out = (struct ty_event){
        .tenant = sqlite3_column_int64(stmt, COLUMN_TENANT),
        .sequence = sqlite3_column_int64(stmt, COLUMN_SEQUENCE),
        .type = (ty_event_type)sqlite3_column_int(stmt, COLUMN_TYPE),
        .at = sqlite3_column_int64(stmt, COLUMN_AT),
        .job = sqlite3_column_int64(stmt, COLUMN_JOB),
        .job_id = ty_column_text(stmt, COLUMN_JOB_ID, &ok),
        .job_sequence = sqlite3_column_int64(stmt, COLUMN_JOB_SEQUENCE),
        .state = (ty_job_state)sqlite3_column_int(stmt, COLUMN_STATE),
        .cause = (ty_job_cause)sqlite3_column_int(stmt, COLUMN_CAUSE),
        .attempt = sqlite3_column_int(stmt, COLUMN_ATTEMPT),
        .has_from = sqlite3_column_int(stmt, COLUMN_FROM_STATE) >= 0,
        .has_exit = sqlite3_column_type(stmt, COLUMN_EXIT_CODE) != SQLITE_NULL,
        .exit_code = sqlite3_column_int(stmt, COLUMN_EXIT_CODE),
        .exit_signal = sqlite3_column_int(stmt, COLUMN_EXIT_SIGNAL),
        .exit_replica = ty_column_text(stmt, COLUMN_EXIT_REPLICA, &ok),
        .name = ty_column_text(stmt, COLUMN_NAME, &ok),
        .labels = ty_column_text(stmt, COLUMN_LABELS, &ok),
        .message = ty_column_text(stmt, COLUMN_MESSAGE, &ok),
        .extra = ty_column_text(stmt, COLUMN_EXTRA, &ok),
    };
    if (out->has_from)
        out->from = (ty_job_state)sqlite3_column_int(stmt, COLUMN_FROM_STATE);
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

static void bind_query(struct ty_bind *bind, const struct ty_event_query *query)
{
    ty_bind_int(bind, query->tenant);
    ty_bind_int(bind, query->after);
    ty_bind_int(bind, (int64_t)query->limit);
    if (query->job > 0)
        ty_bind_int(bind, query->job);
}

/* *seen is the newest sequence of all, and stays so when the walk comes to its end. */
static ty_status walk(struct ty_reader *reader, const struct ty_event_query *query,
                      ty_event_visitor *visit, void *context, int64_t *seen, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_sql sql = query->job > 0 ? TY_SQL_EVENT_LIST_JOB : TY_SQL_EVENT_LIST;
    ty_status status = ty_conn_stmt(&reader->conn, sql, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    bind_query(&bind, query);
    for (size_t count = 1;; count++) {
        bool row = false;
        struct ty_event event;
        status = ty_bind_step(&reader->conn, &bind, &row, "read the events", err);
        if (status != TY_OK || !row)
            return status;
        status = decode(stmt, &event, err);
        if (status != TY_OK)
            return status;
        if (!visit(context, &event) || count == query->limit) {
            *seen = event.sequence;
            return TY_OK;
        }
    }
}

ty_status ty_events_list(struct ty_reader *reader, const struct ty_event_query *query,
                         ty_event_visitor *visit, void *context, int64_t *seen_out,
                         struct ty_error *err)
{
    int64_t first = 0;
    int64_t last = 0;
    ty_status status = ty_reader_begin(reader, err);
    if (status != TY_OK)
        return status;
    status = read_range(reader, query->tenant, &first, &last, err);
    if (status == TY_OK && query->after + 1 < first)
        status = ty_fail_code(err, TY_GONE, "event_expired", "events up to %lld are no longer kept",
                              (long long)first - 1);
    if (status == TY_OK)
        status = walk(reader, query, visit, context, &last, err);
    if (status == TY_OK)
        *seen_out = last;
    ty_reader_end(reader);
    return status;
}

/* --- listening --- */

void ty_events_listen(struct ty_store *store, const struct ty_event_listener *listener)
{
    atomic_store(&store->listener, listener);
}

void ty_events_tell(struct ty_store *store)
{
    struct ty_told *told = &store->writer.told;
    const struct ty_event_listener *listener = atomic_load(&store->listener);
    if (listener && told->count > 0)
        listener->committed(listener->context, told->tenants, told->count);
    told->count = 0;
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
