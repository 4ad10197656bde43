/* GET …/logs: where to begin and end, then a stream. */
#include "api/log_stream.h"

#include "trainyard/logs/frame.h"

#include <inttypes.h>

/* Replicas are master-0 and worker-0 … worker-(n-2); of an elastic job worker-0 … worker-(max-1),
 * because a worker that has left keeps its log. */
static ty_status check_replica(const struct ty_job_record *job, const char *replica,
                               struct ty_error *err)
{
    bool elastic = job->elastic_max > 0;
    int64_t last = elastic ? job->elastic_max - 1 : job->replicas - 2;
    int64_t index = 0;
    if (!elastic && ty_str_equal(replica, "master-0"))
        return TY_OK;
    if (ty_str_starts(replica, "worker-") &&
        ty_str_to_int(replica + strlen("worker-"), 0, last, &index) == TY_OK)
        return TY_OK;
    return ty_fail_code(err, TY_NOT_FOUND, "replica_not_found",
                        "the job has no replica of that name");
}

/* The first of Last-Event-ID, offset and tail that is given says where to begin. */
static ty_status choose_offset(struct ty_request *request, struct ty_log_reader *reader,
                               const struct ty_log_extent *extent, struct log_request *wanted,
                               struct ty_error *err)
{
    const struct ty_arguments *arguments = api_arguments(request);
    const char *last_id = ty_argument_text(arguments, "Last-Event-ID");
    wanted->offset = extent->start;
    if (last_id && wanted->events) {
        if (ty_frame_id_parse(last_id, &wanted->offset) != TY_OK)
            return ty_fail_code(err, TY_INVALID, "invalid_parameter",
                                "Last-Event-ID is not an offset");
    } else if (ty_argument_given(arguments, "offset")) {
        wanted->offset = ty_argument_integer(arguments, "offset");
    } else if (ty_argument_given(arguments, "tail")) {
        int64_t lines = ty_argument_integer(arguments, "tail");
        return reader ? ty_log_tail(reader, extent, lines, &wanted->offset, err) : TY_OK;
    }
    if (wanted->offset > extent->end)
        return ty_fail_code(err, TY_INVALID, "offset_out_of_range",
                            "the log has %" PRId64 " bytes so far", extent->end);
    if (wanted->offset < extent->start)
        wanted->offset = extent->start;
    return TY_OK;
}

static ty_status read_request(struct ty_api *api, struct ty_request *request,
                              struct log_request *wanted, struct ty_log_extent *extent,
                              struct ty_error *err)
{
    const struct ty_arguments *arguments = api_arguments(request);
    const char *replica = ty_argument_text(arguments, "replica");
    struct ty_job_record job;
    struct ty_log_reader *reader = NULL;
    if (api_find_job(api, request, &job, err) != TY_OK)
        return err->status;
    if (!replica)
        replica = api_lead_replica(&job);
    if (check_replica(&job, replica, err) != TY_OK)
        return err->status;
    ty_str_copy(wanted->job_id, sizeof wanted->job_id, job.id);
    ty_str_copy(wanted->replica, sizeof wanted->replica, replica);
    wanted->tenant = job.tenant;
    wanted->token = api_caller(request)->token;
    wanted->attempt = (int32_t)ty_argument_integer(arguments, "attempt");
    wanted->follow = api_flag(request, "follow");
    wanted->events = ty_str_equal(ty_request_answer_type(request), "text/event-stream");
    wanted->terminal = ty_job_terminal(job.status.state);
    ty_status status = log_open(api, wanted->job_id, wanted->replica, &reader, err);
    if (status == TY_OK)
        status = ty_log_extent(reader, wanted->attempt, extent, err);
    /* A job that has not started has an empty log, and a follower waits for it. */
    if (status == TY_NOT_FOUND && (wanted->attempt == 0 || !wanted->terminal))
        status = TY_OK;
    if (status == TY_OK)
        status = choose_offset(request, reader, extent, wanted, err);
    wanted->end = extent->end;
    ty_log_reader_close(reader);
    return status;
}

static void add_offset(struct ty_response *response, const char *name, int64_t offset)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, offset);
    ty_response_header(response, name, text);
}

/* A client that has seen everything is told so, so that EventSource stops reconnecting (H16). */
static bool seen_all(struct ty_request *request, const struct log_request *wanted,
                     const struct ty_log_extent *extent)
{
    return wanted->events && ty_argument_given(api_arguments(request), "Last-Event-ID") &&
           (extent->sealed || wanted->terminal) && wanted->offset == extent->end;
}

void jobs_logs(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct log_request wanted = {0};
    struct ty_log_extent extent = {0};
    struct ty_stream *stream = NULL;
    struct ty_error err;
    if (read_request(api, request, &wanted, &extent, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    if (seen_all(request, &wanted, &extent)) {
        api_answer_empty(request, 204);
        return;
    }
    if (log_stream_create(api, &wanted, &stream, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    struct ty_response *response = ty_response_stream(
        200, wanted.events ? "text/event-stream" : "text/plain; charset=utf-8", stream);
    add_offset(response, "Log-Offset", wanted.offset);
    if (!wanted.follow)
        add_offset(response, "Log-Next-Offset", wanted.end);
    ty_request_answer(request, response);
}
