/* POST /v1/jobs: judge, hand the job to the store, answer when it is committed. */
#include "api/draft.h"

#include "api/jobs_import.h"

#include <stdatomic.h>

enum { JOB_USUAL = 1900 /* a job as JSON, without its spec */ };

static void answer_created(struct ty_request *request, struct ty_buf *body, const char *job_id,
                           bool replayed)
{
    char path[API_JOB_PATH];
    char etag[API_ETAG];
    api_job_path(job_id, path);
    api_job_etag(1, 0, etag);
    struct ty_response *response = ty_response_buf(201, "application/json", body);
    ty_response_location(response, path);
    ty_response_etag(response, etag);
    /* A fresh answer is given on the writer thread, which has better to do than to compress. */
    ty_response_compress(response, replayed);
    if (replayed)
        ty_response_header(response, "Idempotency-Replayed", "true");
    ty_request_answer(request, response);
}

/* --- a repeat of a request that made a job already --- */

/* What a job was at first follows from what never changes of it and from its spec. */
static ty_status reset_to_first(struct ty_job_record *record, const struct ty_buf *spec_text,
                                char **labels_out, struct ty_error *err)
{
    ty_auto_json spec = NULL;
    if (ty_json_parse(spec_text->data, spec_text->len, &spec, err) != TY_OK)
        return err->status;
    const json_t *labels = json_object_get(spec, "labels");
    *labels_out = labels ? json_dumps(labels, JSON_COMPACT) : strdup("{}");
    if (!*labels_out)
        return ty_fail(err, TY_NO_MEMORY, "job");
    record->labels = *labels_out;
    record->updated_at = record->created_at;
    record->revision = 1;
    ty_job_begin(json_is_true(json_object_get(spec, "suspended")), &record->status);
    return TY_OK;
}

struct replay {
    struct ty_reader *reader;
    struct ty_buf *body;
    struct ty_error *err;
    ty_status status;
};

/* A job that was scaled since: its first size in the row and in the spec. */
static ty_status reset_size(struct ty_job_record *record, struct ty_buf *spec_text,
                            struct ty_error *err)
{
    ty_auto_json spec = NULL;
    if (record->first_replicas == 0)
        return TY_OK;
    record->gpus = record->gpus / record->replicas * record->first_replicas;
    record->replicas = record->first_replicas;
    if (ty_json_parse(spec_text->data, spec_text->len, &spec, err) != TY_OK)
        return err->status;
    ty_auto_free char *text =
        json_object_set_new(spec, "replicas", json_integer(record->replicas)) == 0
            ? json_dumps(spec, JSON_COMPACT | JSON_REAL_PRECISION(15))
            : NULL;
    if (!text)
        return ty_fail(err, TY_NO_MEMORY, "job");
    ty_buf_clear(spec_text);
    ty_buf_adds(spec_text, text);
    return ty_buf_check(spec_text, "spec", err);
}

static ty_status write_first(struct replay *replay, const struct ty_job_record *stored)
{
    struct ty_job_record record = *stored;
    struct ty_json_writer writer;
    ty_auto_free char *labels = NULL;
    ty_auto_buf spec = {0};
    ty_auto_buf changes = {0};
    ty_buf_init(&spec, ANSWER_MAX);
    if (ty_jobs_spec(replay->reader, record.row, &spec, replay->err) != TY_OK ||
        api_job_changes(replay->reader, &record, &changes, replay->err) != TY_OK ||
        reset_size(&record, &spec, replay->err) != TY_OK ||
        reset_to_first(&record, &spec, &labels, replay->err) != TY_OK)
        return replay->err->status;
    ty_json_writer_init(&writer, replay->body);
    api_write_job(&writer, &record, &spec, 0);
    return ty_buf_check(replay->body, "job", replay->err);
}

static bool visit_replayed(void *context, const struct ty_job_record *stored)
{
    struct replay *replay = context;
    replay->status = write_first(replay, stored);
    return false;
}

ty_status api_draft_replay(struct api_draft *draft, struct ty_reader *reader, struct ty_buf *body,
                           struct ty_error *err)
{
    struct replay replay = {reader, body, err, TY_OK};
    ty_status status = ty_jobs_get(reader, draft->session.principal.tenant,
                                   draft->submit.replayed_id, visit_replayed, &replay, err);
    if (status == TY_NOT_FOUND)
        return ty_fail_code(err, TY_GONE, "job_deleted",
                            "the job that this key made has been removed");
    return status == TY_OK ? replay.status : status;
}

/* The second half of a replayed request, on the pool. */
static void answer_replay(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct api_draft *draft = ((struct api_session *)ty_request_principal(request))->draft;
    struct ty_error err;
    ty_auto_buf body = {0};
    ty_buf_init(&body, ANSWER_MAX);
    if (api_draft_replay(draft, api_reader(api, request), &body, &err) == TY_OK)
        answer_created(request, &body, draft->submit.replayed_id, true);
    else
        api_answer_error(request, &err);
    api_draft_destroy(draft);
}

/* --- the engine's word, on the writer thread --- */

static void answered(struct ty_submit *submit, ty_status status, const struct ty_error *err)
{
    struct api_draft *draft = (struct api_draft *)submit;
    struct ty_error rename_error;
    if (status == TY_CONFLICT && ty_str_equal(err->code, "object_name_taken") &&
        api_draft_rename(draft, &rename_error) == TY_OK) {
        api_draft_submit(draft);
        return;
    }
    if (status == TY_OK && submit->replayed) {
        ((struct api_session *)ty_request_principal(draft->request))->draft = draft;
        if (!api_to_pool(draft->api, draft->request, answer_replay))
            api_draft_destroy(draft);
        return;
    }
    if (status == TY_OK) {
        struct ty_json_writer writer;
        struct ty_buf spec = {.data = draft->spec_text, .len = submit->insert.spec_len};
        ty_auto_buf body = {0};
        ty_buf_init(&body, ANSWER_MAX);
        (void)ty_buf_reserve(&body, spec.len + JOB_USUAL); /* in one step */
        ty_json_writer_init(&writer, &body);
        api_write_job(&writer, &submit->insert.record, &spec, 0);
        answer_created(draft->request, &body, draft->id, false);
    } else {
        api_answer_error(draft->request, err);
    }
    api_draft_destroy(draft);
}

void api_draft_submit(struct api_draft *draft)
{
    struct ty_error err;
    struct ty_request *request = draft->request;
    draft->submit.answered = answered;
    if (ty_engine_submit(draft->api->options.engine, &draft->submit, &err) == TY_OK)
        return;
    api_answer_error(request, &err);
    api_draft_destroy(draft);
}

/* --- dry runs --- */

static void answer_preview(struct ty_request *request, struct api_draft *draft,
                           const struct ty_manifest *manifest)
{
    struct ty_buf body;
    struct ty_json_writer writer;
    ty_buf_init(&body, ANSWER_MAX);
    ty_json_writer_init(&writer, &body);
    ty_json_object(&writer);
    ty_json_put_bool(&writer, "dry_run", true);
    ty_json_put_string(&writer, "name", draft->spec->name);
    ty_json_key(&writer, "spec");
    ty_json_raw(&writer, draft->spec_text, strlen(draft->spec_text));
    ty_json_key(&writer, "manifest");
    api_write_manifest(&writer, manifest);
    ty_json_key(&writer, "warnings");
    ty_json_raw(&writer, draft->warnings, strlen(draft->warnings));
    ty_json_end(&writer);
    api_answer_json(request, 200, &body, NULL);
    ty_buf_done(&body);
}

static void preview(struct ty_request *request, struct api_draft *draft)
{
    struct ty_manifest manifest = {0};
    struct ty_faults faults;
    struct ty_error err;
    ty_faults_init(&faults);
    if (api_draft_render(draft, &manifest, &faults, &err) == TY_OK)
        answer_preview(request, draft, &manifest);
    else
        api_answer_faults(request, &err, &faults);
    ty_manifest_done(&manifest);
}

static void create(struct ty_api *api, struct ty_request *request, bool memory_only)
{
    bool dry_run = api_flag(request, "dry_run");
    struct api_draft_input input = {.body = api_job_body(request),
                                    .asked = api_job_body(request),
                                    .warnings = api_import_warnings(request),
                                    .route = "POST /v1/jobs",
                                    .use_idempotency_key = !dry_run,
                                    .memory_only = memory_only};
    struct api_draft *draft = NULL;
    struct ty_faults faults;
    struct ty_error err;
    ty_faults_init(&faults);
    input.text = api_job_text(request, &input.text_len);
    if (api_draft_create(api, request, &input, &draft, &faults, &err) != TY_OK) {
        api_place_faults(request, &faults);
        api_answer_faults(request, &err, &faults);
        return;
    }
    if (!dry_run) {
        api_draft_submit(draft);
        return;
    }
    preview(request, draft);
    api_draft_destroy(draft);
}

static void create_on_pool(void *context, struct ty_request *request)
{
    create(context, request, false);
}

/* A small body is judged on the HTTP thread, where nothing may wait: rendering, asking the executor
 * for the first time and whatever reads the database are the pool's. */
void jobs_create(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    if (atomic_load(&api->executor_asked) && !api_flag(request, "dry_run") &&
        !api_policy_asks(api, request))
        create(api, request, true);
    else
        (void)api_to_pool(api, request, create_on_pool);
}
