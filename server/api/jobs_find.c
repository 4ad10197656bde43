/* Reading one job for a handler. */
#include "api/api.h"

struct found {
    struct ty_request *request;
    struct ty_job_record record;
    bool failed;
};

/* The texts of a record point into the row; a handler wants them for longer. */
static bool copy_record(void *context, const struct ty_job_record *record)
{
    struct found *found = context;
    found->record = *record;
    const char **texts[] = {
        &found->record.id,           &found->record.name,        &found->record.object_name,
        &found->record.namespace,    &found->record.tenant_name, &found->record.image,
        &found->record.description,  &found->record.labels,      &found->record.warnings,
        &found->record.replica_list, &found->record.executor,    &found->record.origin_id,
        &found->record.origin_kind};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!*texts[i])
            continue;
        *texts[i] = ty_request_dup(found->request, *texts[i]);
        if (!*texts[i])
            found->failed = true;
    }
    return false;
}

ty_status api_find_job(struct ty_api *api, struct ty_request *request,
                       struct ty_job_record *record_out, struct ty_error *err)
{
    struct found found = {.request = request};
    ty_status status =
        ty_jobs_get(api_reader(api, request), api_caller(request)->tenant,
                    ty_request_variable(request, "job_id"), copy_record, &found, err);
    if (status != TY_OK)
        return status;
    if (found.failed)
        return ty_fail(err, TY_NO_MEMORY, "job");
    *record_out = found.record;
    return TY_OK;
}

ty_status api_job_spec_json(struct ty_api *api, struct ty_request *request, int64_t job_row,
                            json_t **spec_out, struct ty_error *err)
{
    ty_auto_buf text = {0};
    ty_buf_init(&text, ANSWER_MAX);
    if (ty_jobs_spec(api_reader(api, request), job_row, &text, err) != TY_OK ||
        ty_buf_check(&text, "spec", err) != TY_OK)
        return err->status;
    return ty_json_parse(text.data, text.len, spec_out, err);
}

ty_status api_job_spec(struct ty_api *api, struct ty_request *request, int64_t job_row,
                       struct ty_job_spec **spec_out, struct ty_error *err)
{
    ty_auto_json body = NULL;
    struct ty_faults faults;
    ty_faults_init(&faults);
    if (api_job_spec_json(api, request, job_row, &body, err) != TY_OK)
        return err->status;
    return ty_job_spec_parse(body, spec_out, &faults, err);
}

ty_status api_job_changes(struct ty_reader *reader, struct ty_job_record *record,
                          struct ty_buf *text, struct ty_error *err)
{
    ty_buf_init(text, ANSWER_MAX);
    if (!record->origin_id)
        return TY_OK;
    if (ty_jobs_changes(reader, record->row, text, err) != TY_OK)
        return err->status;
    record->origin_changes = text->data; /* NULL for a job from before changes were kept */
    return TY_OK;
}

ty_status api_if_match(struct ty_request *request, const struct ty_job_record *record,
                       int64_t *revision_out, struct ty_error *err)
{
    char etag[API_ETAG];
    if (!ty_request_header(request, "If-Match"))
        return TY_OK;
    api_job_etag(record->revision, 0, etag);
    if (ty_precondition_check(request, etag, err) != TY_OK)
        return err->status;
    *revision_out = record->revision;
    return TY_OK;
}

const char *api_lead_replica(const struct ty_job_record *record)
{
    return record->elastic_max > 0 ? "worker-0" : "master-0";
}
