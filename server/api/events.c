/* GET /v1/events and GET /v1/jobs/{job_id}/events: where to begin and what to leave out, then a
 * stream. */
#include "api/event_stream.h"

#include "trainyard/store/events.h"

/* What a token may not read elsewhere it is not told of here. */
static const struct {
    ty_event_type type;
    uint64_t scope;
} guarded[] = {
    {TY_EVENT_ARTIFACT_READY,     TY_SCOPE_ARTIFACTS_READ},
    {TY_EVENT_CHECKPOINT_CREATED, TY_SCOPE_ARTIFACTS_READ},
    {TY_EVENT_VOLUME_CREATED,     TY_SCOPE_VOLUMES_READ  },
    {TY_EVENT_VOLUME_DELETED,     TY_SCOPE_VOLUMES_READ  },
};

/* 0 = all of them. */
static uint64_t allowed_types(const struct ty_principal *caller, uint64_t wanted)
{
    uint64_t types = wanted != 0 ? wanted : ~UINT64_C(0);
    for (size_t i = 0; i < sizeof guarded / sizeof guarded[0]; i++)
        if (!(caller->scopes & guarded[i].scope))
            types &= ~ty_event_type_bit(guarded[i].type);
    if (types == 0)
        return ty_event_type_bit((ty_event_type)0); /* nothing: no event has this number */
    return ~types == 0 ? 0 : types;
}

static ty_status read_filter(struct ty_request *request, const char *job_id, bool with_labels,
                             struct ty_event_filter *filter, struct ty_error *err)
{
    const struct ty_arguments *arguments = api_arguments(request);
    uint64_t types = 0;
    for (size_t i = 0; i < ty_argument_count(arguments, "type"); i++) {
        ty_event_type type;
        if (ty_event_type_parse(ty_argument_item(arguments, "type", i), &type) != TY_OK)
            return ty_fail_code(err, TY_INVALID, "invalid_parameter", "type is none of ours");
        types |= ty_event_type_bit(type);
    }
    filter->types = allowed_types(api_caller(request), types);
    /* One job's events have no filter by label. */
    size_t labels = with_labels ? ty_argument_count(arguments, "label") : 0;
    for (size_t i = 0; i < labels; i++)
        if (ty_event_filter_label(filter, ty_argument_item(arguments, "label", i)) != TY_OK)
            return ty_fail_code(err, TY_INVALID, "invalid_parameter", "label must be key=value");
    if (job_id && !ty_str_copy(filter->job_id, sizeof filter->job_id, job_id))
        return ty_fail_code(err, TY_INVALID, "invalid_parameter", "job is no job's id");
    return TY_OK;
}

/* Keep the filter when it leaves anything out. */
static ty_status keep_filter(const struct ty_event_filter *filter, struct event_request *wanted,
                             struct ty_error *err)
{
    if (filter->types == 0 && filter->labels_count == 0 && filter->job_id[0] == '\0')
        return TY_OK;
    wanted->filter = malloc(sizeof *wanted->filter);
    if (!wanted->filter)
        return ty_fail(err, TY_NO_MEMORY, "event filter");
    *wanted->filter = *filter;
    return TY_OK;
}

/* The id the client has seen: Last-Event-ID goes before `after`, which a reconnecting EventSource
 * repeats. NULL: none. */
static const char *seen_id(struct ty_request *request)
{
    const char *last = ty_argument_text(api_arguments(request), "Last-Event-ID");
    return last ? last : ty_argument_text(api_arguments(request), "after");
}

/* Where to begin: behind the id, else at the oldest event kept for what is finite or of one job,
 * else with what comes next. */
static ty_status choose_place(struct ty_api *api, struct ty_request *request,
                              struct event_request *wanted, struct ty_error *err)
{
    const char *id = seen_id(request);
    int64_t first = 0;
    if (ty_events_range(api_reader(api, request), wanted->tenant, &first, &wanted->head, err) !=
        TY_OK)
        return err->status;
    bool from_oldest = id ? ty_str_equal(id, "0") : wanted->with_job || !wanted->follow;
    wanted->after = from_oldest ? first - 1 : wanted->head;
    if (!id || from_oldest)
        return TY_OK;
    ty_status status =
        ty_event_id_read(ty_store_key(api->options.store), wanted->tenant, id, &wanted->after);
    if (status == TY_NO_MEMORY)
        return ty_fail(err, status, "event id");
    if (status != TY_OK || wanted->after > wanted->head)
        return ty_fail_code(err, TY_INVALID, "invalid_parameter",
                            "the id is none of this tenant's events");
    if (wanted->after + 1 < first)
        return ty_fail_code(err, TY_GONE, "event_expired",
                            "events just after this id are no longer kept; read the jobs as they "
                            "stand and begin with after=0");
    return TY_OK;
}

static bool note_any(void *context, const struct ty_event *event)
{
    (void)event;
    *(bool *)context = true;
    return false;
}

/* A client that has seen a finished job's last event is told so, so that EventSource stops
 * reconnecting (H16). */
static ty_status check_seen_all(struct ty_api *api, struct ty_request *request,
                                const struct event_request *wanted, bool *seen_all_out,
                                struct ty_error *err)
{
    const struct ty_event_query query = {
        .tenant = wanted->tenant, .job = wanted->job, .after = wanted->after, .limit = 1};
    bool more = false;
    int64_t seen = 0;
    *seen_all_out = false;
    if (!wanted->job_over || !ty_argument_given(api_arguments(request), "Last-Event-ID"))
        return TY_OK;
    ty_status status =
        ty_events_list(api_reader(api, request), &query, note_any, &more, &seen, err);
    if (status == TY_OK)
        *seen_all_out = !more;
    return status;
}

static void answer_stream(struct ty_api *api, struct ty_request *request,
                          const struct event_request *wanted)
{
    struct ty_stream *stream = NULL;
    struct ty_error err;
    char id[TY_EVENT_ID];
    if (event_stream_create(api, wanted, &stream, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    struct ty_response *response = ty_response_stream(
        200, wanted->frames ? "text/event-stream" : "application/x-ndjson", stream);
    if (ty_event_id_make(ty_store_key(api->options.store), wanted->tenant, wanted->after, id) ==
        TY_OK)
        ty_response_header(response, "Events-After", id);
    ty_request_answer(request, response);
}

static ty_status begin_request(struct ty_api *api, struct ty_request *request,
                               struct event_request *wanted, struct ty_error *err)
{
    const struct ty_principal *caller = api_caller(request);
    const struct ty_arguments *arguments = api_arguments(request);
    wanted->tenant = caller->tenant;
    ty_str_copy(wanted->tenant_name, sizeof wanted->tenant_name, caller->tenant_name);
    wanted->token = caller->token;
    wanted->follow = !ty_argument_given(arguments, "follow") || api_flag(request, "follow");
    wanted->frames = ty_str_equal(ty_request_answer_type(request), "text/event-stream");
    return choose_place(api, request, wanted, err);
}

void jobs_events(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct event_request wanted = {.with_job = true};
    struct ty_event_filter filter = {0};
    struct ty_job_record job;
    struct ty_error err;
    bool seen_all = false;
    if (api_find_job(api, request, &job, &err) != TY_OK ||
        begin_request(api, request, &wanted, &err) != TY_OK ||
        read_filter(request, job.id, false, &filter, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    wanted.job = job.row;
    wanted.job_over = ty_job_terminal(job.status.state);
    if (check_seen_all(api, request, &wanted, &seen_all, &err) != TY_OK ||
        (!seen_all && keep_filter(&filter, &wanted, &err) != TY_OK))
        api_answer_error(request, &err);
    else if (seen_all)
        api_answer_empty(request, 204);
    else
        answer_stream(api, request, &wanted);
}

static bool note_row(void *context, const struct ty_job_record *record)
{
    *(int64_t *)context = record->row;
    return false;
}

void events_list(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct event_request wanted = {0};
    struct ty_event_filter filter = {0};
    struct ty_error err;
    const char *job_id = ty_argument_text(api_arguments(request), "job");
    if (begin_request(api, request, &wanted, &err) != TY_OK ||
        read_filter(request, job_id, true, &filter, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    /* A job that is gone has left its events, but no row by which they are found at once. */
    ty_status status = job_id ? ty_jobs_get(api_reader(api, request), wanted.tenant, job_id,
                                            note_row, &wanted.job, &err)
                              : TY_OK;
    if (status == TY_NOT_FOUND)
        status = TY_OK;
    if (status == TY_OK)
        status = keep_filter(&filter, &wanted, &err);
    if (status == TY_OK)
        answer_stream(api, request, &wanted);
    else
        api_answer_error(request, &err);
}
