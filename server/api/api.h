/* What the files of this room share: the API object, and the few steps every handler takes. */
#ifndef TRAINYARD_API_PRIVATE_H
#define TRAINYARD_API_PRIVATE_H

#include "trainyard/api/api.h"

#include "api/access_table.h"
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/http/conditional.h"
#include "trainyard/http/request.h"
#include "trainyard/http/response.h"
#include "trainyard/store/cursor.h"

enum { ANSWER_MAX = 32 * 1024 * 1024, LIST_DEFAULT = 50, LIST_MAX = 500 };

struct api_streams;
struct event_pump;
struct figures;
struct pages;
struct api_draft;

struct ty_api {
    struct ty_api_options options; /* borrowed rooms */
    struct ty_http_server *server; /* borrowed; NULL before ty_api_set_server */
    struct ty_access_table *access;
    struct ty_reader **readers; /* one a pool worker */
    size_t reader_count;
    const struct ty_operation **operations; /* by index into the route table */
    struct api_streams *streams;
    struct event_pump *events;
    struct figures *figures;
    struct pages *pages;
    pthread_t timer;
    bool timer_running;
    _Atomic bool stopping;
    _Atomic bool draining;
    int64_t started_us;
    pthread_mutex_t asking;      /* held by who asks the executor */
    _Atomic bool executor_asked; /* from then on its warnings stay as they are */
    json_t *executor_warnings;   /* through api_executor_warnings */
};

/* What the executor has to say of this machine, an array of {code, message} that lives with the
 * api, NULL when there is nothing. It is asked by the first who needs it, on the pool: its answer
 * may take a sandbox's start, and the start of the service does not wait for that. */
ty_status api_executor_warnings(struct ty_api *api, const json_t **warnings_out,
                                struct ty_error *err) TY_MUST_CHECK;

/* --- requests --- */
static inline int64_t api_now(const struct ty_api *api)
{
    return ty_now_us(api->options.clock);
}

/* What authentication leaves with a request. */
struct api_session {
    struct ty_principal principal; /* first: ty_request_principal gives it */
    bool moved;                    /* api_to_pool took the request to worker `worker` */
    size_t worker;
    struct ty_arguments *arguments; /* as the contract read them */
    struct api_draft *draft;        /* of a replayed request on its way to the pool */
};

static inline const struct ty_principal *api_caller(const struct ty_request *request)
{
    return ty_request_principal(request);
}

/* The database reader of the pool worker that runs this handler. */
struct ty_reader *api_reader(const struct ty_api *api, const struct ty_request *request);

/* The parameters of an authenticated request, as the contract read them. */
static inline const struct ty_arguments *api_arguments(const struct ty_request *request)
{
    const struct api_session *session = ty_request_principal(request);
    return session->arguments;
}

/* A boolean query parameter; false when absent. */
static inline bool api_flag(const struct ty_request *request, const char *name)
{
    return ty_argument_boolean(api_arguments(request), name);
}

/* `limit` clamped to 1..LIST_MAX. */
size_t api_limit(const struct ty_request *request);

/* Run a handler's second half on the pool. False: it will not run and the request was answered with
 * 503, because the pool's queue is full. */
bool api_to_pool(struct ty_api *api, struct ty_request *request, ty_handler *second_half);

/* --- pages --- */
/* Read `cursor` of a list whose identity is `query` (filters and sort in one canonical text); zero
 * without one. */
ty_status api_cursor(const struct ty_api *api, struct ty_request *request, const char *query,
                     struct ty_cursor *cursor_out, struct ty_error *err) TY_MUST_CHECK;

/* A page that a visitor of the store fills, with one row more asked for than it takes. */
struct api_page {
    struct ty_json_writer writer;
    size_t limit;
    size_t count;
    bool more;
    struct ty_cursor next; /* the last item's place in the list */
};

/* Whether this row has no room any more: asked first for each, and a true ends the visit. */
static inline bool api_page_full(struct api_page *page)
{
    page->more = page->count == page->limit;
    return page->more;
}

/* The cursor of what follows the page, NULL at the end of the list. */
static inline const struct ty_cursor *api_page_next(const struct api_page *page)
{
    return page->more ? &page->next : NULL;
}

/* Start a page in `body`, which is made empty: the object and its items array are open. */
void api_begin_page(struct ty_json_writer *writer, struct ty_buf *body);

/* Close the items array, add next_cursor (null when `next` is NULL), close the object, answer 200
 * with Link. */
void api_answer_page(struct ty_api *api, struct ty_request *request, struct ty_json_writer *writer,
                     const char *query, const struct ty_cursor *next);

/* --- answers --- */
void api_answer_error(struct ty_request *request, const struct ty_error *err);
void api_answer_faults(struct ty_request *request, const struct ty_error *err,
                       const struct ty_faults *faults);
void api_answer_json(struct ty_request *request, int status, struct ty_buf *buf, const char *etag);
/* An object as an answer that is not given yet; `path` is its Location, NULL for none. */
struct ty_response *api_object(int status, struct ty_buf *buf, const char *etag, const char *path);
/* End an object with its own ETag and where it is found. */
void api_end_object(struct ty_json_writer *writer, const char *etag, const char *path);
void api_answer_empty(struct ty_request *request, int status);
/* 204 for what is gone; with ?allow_missing=true also for what was never there. */
void api_answer_deletion(struct ty_request *request, ty_status status, const struct ty_error *err);

/* --- jobs, shared by several files --- */
enum { API_ETAG = 64 };

/* A job's ETag: its revision, and the queue position where one is shown. */
void api_job_etag(int64_t revision, int64_t queue_position, char out[API_ETAG]);

/* If-Match against a job that was read: the revision that the change must find, untouched when
 * there is no such field. TY_PRECONDITION. */
ty_status api_if_match(struct ty_request *request, const struct ty_job_record *record,
                       int64_t *revision_out, struct ty_error *err) TY_MUST_CHECK;

/* Write one job; `spec` NULL leaves it out, `queue_position` 0 too. */
void api_write_job(struct ty_json_writer *writer, const struct ty_job_record *record,
                   const struct ty_buf *spec, int64_t queue_position);

/* Where the job is found: /v1/jobs/{id}. */
enum { API_JOB_PATH = 64 };
void api_job_path(const char *job_id, char out[API_JOB_PATH]);

/* The replica whose log is meant when none is named: worker-0 of an elastic job, else master-0. */
const char *api_lead_replica(const struct ty_job_record *record);

/* A job read for a handler: the record's texts are copies that live as long as the request. */
ty_status api_find_job(struct ty_api *api, struct ty_request *request,
                       struct ty_job_record *record_out, struct ty_error *err) TY_MUST_CHECK;

/* The stored spec of a job, as JSON and as the typed value. */
ty_status api_job_spec_json(struct ty_api *api, struct ty_request *request, int64_t job_row,
                            json_t **spec_out, struct ty_error *err) TY_MUST_CHECK;
ty_status api_job_spec(struct ty_api *api, struct ty_request *request, int64_t job_row,
                       struct ty_job_spec **spec_out, struct ty_error *err) TY_MUST_CHECK;

/* Read into `text`, and name in the record, how a job's spec differs from its origin's. */
ty_status api_job_changes(struct ty_reader *reader, struct ty_job_record *record,
                          struct ty_buf *text, struct ty_error *err) TY_MUST_CHECK;

/* A new reference to the ready answer of GET for a job, from the cache or the database; it is
 * cached then, so that ty_hub_wait for what comes after its revision may follow. TY_NOT_FOUND. */
ty_status api_load_body(struct ty_api *api, struct ty_reader *reader, int64_t tenant,
                        const char *job_id, struct ty_job_body **body_out,
                        struct ty_error *err) TY_MUST_CHECK;

/* After a change: answer with the job as it was loaded (takes the reference), or as it stands now.
 */
void api_answer_job_body(struct ty_request *request, int status, const char *job_id,
                         struct ty_job_body *body);
void api_answer_job(struct ty_api *api, struct ty_request *request, int status, const char *job_id);

/* --- open streams (streams.c) --- */
struct api_streams *api_streams_create(void);
void api_streams_destroy(struct api_streams *streams);
/* The timer's turn: wake the streams that are due, and end those whose token is gone. */
void api_streams_tick(struct ty_api *api, bool look_at_tokens);

/* --- events in memory (event_pump.c) --- */
ty_status event_pump_create(struct ty_api *api, struct event_pump **pump_out,
                            struct ty_error *err) TY_MUST_CHECK;
ty_status event_pump_start(struct event_pump *pump, struct ty_error *err) TY_MUST_CHECK;
void event_pump_stop(struct event_pump *pump);
void event_pump_destroy(struct event_pump *pump); /* all streams have ended; takes NULL */

/* --- handlers, one a route; names are the contract's operation ids --- */
ty_handler jobs_create, jobs_list, jobs_batch, jobs_get, jobs_update, jobs_delete, jobs_cancel,
    jobs_suspend, jobs_resume, jobs_scale, jobs_restart, jobs_clone, jobs_manifest,
    jobs_transitions, jobs_replicas, jobs_logs, jobs_artifacts, jobs_artifact_get, jobs_checkpoints,
    volumes_create, volumes_list, volumes_get, volumes_delete, tokens_create, tokens_list,
    tokens_get, tokens_delete, tokens_rotate, whoami, tenants_create, tenants_list, tenants_get,
    tenants_update, tenants_delete, executors_list, livez, readyz, metrics, openapi, docs,
    docs_plain, docs_asset, docs_errors, docs_style;
ty_handler events_list, jobs_events, jobs_wait;

/* --- hooks (authenticate.c, figures.c) --- */
ty_status api_authenticate(void *context, struct ty_request *request, struct ty_error *err);
void api_scope_text(void *context, const struct ty_route *route, char *out, size_t size);
ty_status api_check(void *context, struct ty_request *request, struct ty_faults *faults,
                    struct ty_error *err);
void api_observe(void *context, const struct ty_http_observation *seen);

struct figures *figures_create(size_t route_count);
void figures_destroy(struct figures *figures);

/* --- the contract's pages as they are sent (docs.c) --- */
struct pages *pages_create(void);
void pages_destroy(struct pages *pages); /* takes NULL */

#endif
