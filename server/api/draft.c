#include "api/draft.h"

#include "api/claim_warnings.h"
#include "api/keys.h"

enum { RENDER_CHECK_FROM = 96 * 1024, WARNINGS_MAX = 64 };

/* The spec as it is stored: the client's own text, unless the policy has changed something. */
static char *spec_text(struct api_draft *draft, const struct api_draft_input *input,
                       struct ty_error *err)
{
    size_t *len = &draft->submit.insert.spec_len;
    char *text;
    if (input->text && draft->body == input->body) {
        struct ty_buf compact;
        ty_buf_init(&compact, input->text_len);
        ty_json_compact(&compact, input->text, input->text_len);
        text = ty_buf_take(&compact, len);
    } else {
        text = json_dumps(draft->body, JSON_COMPACT | JSON_REAL_PRECISION(15));
        *len = text ? strlen(text) : 0;
    }
    if (!text)
        (void)ty_fail(err, TY_NO_MEMORY, "job");
    return text;
}

static char *labels_text(const struct ty_job_spec *spec, struct ty_error *err)
{
    struct ty_buf text;
    struct ty_json_writer writer;
    ty_buf_init(&text, 64 * 1024);
    ty_json_writer_init(&writer, &text);
    ty_json_object(&writer);
    for (size_t i = 0; i < spec->labels.count; i++)
        ty_json_put_string(&writer, spec->labels.items[i].name, spec->labels.items[i].value);
    ty_json_end(&writer);
    if (ty_buf_check(&text, "labels", err) != TY_OK) {
        ty_buf_done(&text);
        return NULL;
    }
    return ty_buf_take(&text, NULL);
}

static void write_warning(struct ty_json_writer *writer, const char *code, const char *pointer,
                          const char *message)
{
    ty_json_object(writer);
    ty_json_put_string(writer, "code", code);
    if (pointer && pointer[0] != '\0')
        ty_json_put_string(writer, "pointer", pointer);
    ty_json_put_string(writer, "message", message);
    ty_json_end(writer);
}

static void write_warnings(struct ty_json_writer *writer, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        write_warning(writer, json_string_value(json_object_get(item, "code")),
                      json_string_value(json_object_get(item, "pointer")),
                      json_string_value(json_object_get(item, "message")));
    }
}

/* What its import changed, what the policy replaced, what the spec makes likely to go wrong, then
 * what this executor cannot do here. */
static char *warnings_text(const struct api_draft *draft, const json_t *of_import,
                           struct ty_error *err)
{
    struct ty_warning warnings[WARNINGS_MAX];
    const struct ty_policy_changes *forced = &draft->policy.changes;
    const json_t *of_executor = NULL;
    if (api_executor_warnings(draft->api, &of_executor, err) != TY_OK)
        return NULL;
    size_t count = ty_job_spec_warnings(draft->spec, warnings, WARNINGS_MAX);
    count += api_claim_warnings(draft->api, &draft->policy, draft->body, draft->spec,
                                warnings + count, WARNINGS_MAX - count);
    if (draft->api->options.executor->ops->one_machine)
        count += ty_job_spec_machine_warnings(draft->spec, warnings + count, WARNINGS_MAX - count);
    struct ty_buf text;
    struct ty_json_writer writer;
    ty_buf_init(&text, 64 * 1024);
    ty_json_writer_init(&writer, &text);
    ty_json_array(&writer);
    write_warnings(&writer, of_import);
    for (size_t i = 0; i < forced->count; i++)
        write_warning(&writer, forced->items[i].code, forced->items[i].pointer,
                      forced->items[i].message);
    for (size_t i = 0; i < count; i++)
        write_warning(&writer, warnings[i].code, warnings[i].pointer, warnings[i].message);
    write_warnings(&writer, of_executor);
    ty_json_end(&writer);
    if (ty_buf_check(&text, "warnings", err) != TY_OK) {
        ty_buf_done(&text);
        return NULL;
    }
    return ty_buf_take(&text, NULL);
}

/* How a job differs from the one it is made from, the policy's hand included. */
static ty_status note_changes(struct api_draft *draft, const struct api_draft_input *input,
                              struct ty_error *err)
{
    ty_auto_buf text = {0};
    ty_buf_init(&text, ANSWER_MAX);
    if (!input->origin_spec)
        return TY_OK;
    if (ty_json_changes(input->origin_spec, draft->body, &text, err) != TY_OK)
        return err->status;
    draft->changes = ty_buf_take(&text, NULL);
    return TY_OK;
}

static bool has_claim(const struct api_draft *draft, const char *claim)
{
    for (size_t i = 0; i < draft->submit.insert.claims_count; i++)
        if (ty_str_equal(draft->claims[i], claim))
            return true;
    return false;
}

static ty_status add_claim(struct api_draft *draft, const struct ty_spec_volume *volume,
                           struct ty_error *err)
{
    char claim[TY_CLAIM_NAME];
    ty_spec_volume_claim(volume, draft->object_name, claim);
    if (has_claim(draft, claim))
        return TY_OK;
    char *copy = strdup(claim);
    if (!copy)
        return ty_fail(err, TY_NO_MEMORY, "job");
    draft->claims[draft->submit.insert.claims_count++] = copy;
    return TY_OK;
}

static bool makes_already(const struct api_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->submit.made_count; i++)
        if (ty_str_equal(draft->made_claims[i].name, name))
            return true;
    return false;
}

/* A claim with a name that the job makes where it is missing. */
static void note_made(struct api_draft *draft, const struct ty_spec_volume *volume)
{
    if (!volume->create || !volume->claim || makes_already(draft, volume->claim))
        return;
    struct ty_volume_record *made = &draft->made_claims[draft->submit.made_count++];
    *made = (struct ty_volume_record){.name = volume->claim,
                                      .size = volume->size,
                                      .access_mode = volume->access_mode,
                                      .storage_class = volume->storage_class};
    (void)!ty_quantity_parse_whole(volume->size, &made->size_bytes); /* read once already */
}

static void drop_claims(struct api_draft *draft)
{
    for (size_t i = 0; i < draft->submit.insert.claims_count; i++)
        free(draft->claims[i]);
    free(draft->claims);
    free(draft->made_claims);
    draft->claims = NULL;
    draft->made_claims = NULL;
    draft->submit.made_count = 0;
    draft->submit.insert.claims_count = 0;
}

/* Every claim the job names, once; its own ones are named after the object. */
static ty_status collect_claims(struct api_draft *draft, struct ty_error *err)
{
    const struct ty_spec_role *roles[] = {&draft->spec->master, &draft->spec->worker};
    size_t room = roles[0]->volumes_count + roles[1]->volumes_count + 1;
    draft->claims = calloc(room, sizeof *draft->claims);
    draft->made_claims = calloc(room, sizeof *draft->made_claims);
    if (!draft->claims || !draft->made_claims)
        return ty_fail(err, TY_NO_MEMORY, "job");
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < roles[r]->volumes_count; i++) {
            const struct ty_spec_volume *volume = &roles[r]->volumes[i];
            if (volume->kind != TY_VOLUME_CLAIM)
                continue;
            if (add_claim(draft, volume, err) != TY_OK)
                return err->status;
            if (roles[r]->replicas > 0)
                note_made(draft, volume);
        }
    draft->submit.insert.claims = (const char *const *)draft->claims;
    draft->submit.made_claims = draft->made_claims;
    return TY_OK;
}

ty_status api_render(const struct ty_api *api, const struct ty_render_input *input,
                     struct ty_manifest *manifest_out, struct ty_faults *faults,
                     struct ty_error *err)
{
    return api->options.renderer->render(input, manifest_out, faults, err);
}

ty_status api_draft_render(const struct api_draft *draft, struct ty_manifest *manifest_out,
                           struct ty_faults *faults, struct ty_error *err)
{
    const struct ty_render_input input = {.spec = draft->spec,
                                          .job_id = draft->id,
                                          .object_name = draft->object_name,
                                          .namespace = draft->session.principal.namespace,
                                          .tenant = draft->session.principal.tenant_name};
    return api_render(draft->api, &input, manifest_out, faults, err);
}

static ty_status check_workload(const struct ty_manifest *manifest, struct ty_faults *faults,
                                struct ty_error *err)
{
    size_t bytes = ty_manifest_workload_bytes(manifest);
    if (bytes <= TY_WORKLOAD_MAX)
        return TY_OK;
    ty_faults_add(faults, TY_AT_POINTER, "", "spec_too_large",
                  "makes an object of %zu bytes beside script and files; a cluster takes at most "
                  "%d: shorten args and env",
                  bytes, TY_WORKLOAD_MAX);
    return ty_fail_code(err, TY_REFUSED, "validation_failed", "the job spec is too large");
}

/* What a large spec makes may be larger than a cluster takes, so it is rendered once to see. A
 * small one never is: a role repeats the job's members, and escapes double them at most. */
static ty_status check_size(struct api_draft *draft, struct ty_faults *faults, struct ty_error *err)
{
    if (draft->submit.insert.spec_len < RENDER_CHECK_FROM)
        return TY_OK;
    struct ty_manifest manifest = {0};
    ty_status status = api_draft_render(draft, &manifest, faults, err);
    if (status == TY_OK)
        status = check_workload(&manifest, faults, err);
    ty_manifest_done(&manifest);
    return status;
}

static void fill_record(struct api_draft *draft, const struct api_draft_input *input)
{
    const struct ty_job_spec *spec = draft->spec;
    struct ty_job_record *record = &draft->submit.insert.record;
    const struct ty_access_tenant *tenant = &draft->policy.tenant;
    *record = (struct ty_job_record){
        .tenant = draft->session.principal.tenant,
        .id = draft->id,
        .name = spec->name,
        .object_name = draft->object_name,
        .namespace = draft->session.principal.namespace,
        .tenant_name = draft->session.principal.tenant_name,
        .image = ty_job_spec_lead(spec)->image,
        .description = spec->description,
        .labels = draft->labels,
        .warnings = draft->warnings,
        .replica_list = "[]",
        .executor = draft->api->options.executor->ops->name,
        .origin_id = input->origin_id ? draft->origin_id : NULL,
        .origin_kind = input->origin_kind,
        .origin_changes = draft->changes,
        .replicas = spec->replicas,
        .gpus = ty_job_spec_gpus(spec),
        .elastic_min = spec->elastic.on ? spec->elastic.min : 0,
        .elastic_max = spec->elastic.on ? spec->elastic.max : 0,
        .epochs = spec->epochs,
        .priority = spec->priority,
        .max_retries = spec->max_retries,
        .timeout_seconds =
            spec->timeout_seconds ? spec->timeout_seconds : tenant->default_timeout_seconds,
        .keep_seconds = spec->keep_seconds >= 0 ? spec->keep_seconds : tenant->default_keep_seconds,
        .created_at = api_now(draft->api),
    };
    draft->submit.quota = tenant->quota;
    draft->submit.suspended = spec->suspended;
    ty_job_begin(spec->suspended, &record->status);
}

/* A repeat of the request is known by its key and its body. */
static ty_status read_key(struct api_draft *draft, const struct api_draft_input *input,
                          struct ty_error *err)
{
    if (!input->use_idempotency_key || !api_key_field(draft->request, draft->idempotency_key))
        return TY_OK;
    draft->submit.idempotency_key = draft->idempotency_key;
    ty_str_copy(draft->route, sizeof draft->route, input->route);
    draft->submit.idempotency_route = draft->route;
    return api_fingerprint(input->asked, draft->submit.fingerprint, err);
}

ty_status api_draft_rename(struct api_draft *draft, struct ty_error *err)
{
    ty_id_make(draft->api->options.random, api_now(draft->api), "job_", draft->id);
    ty_object_name_make(draft->spec->name, draft->id, draft->object_name);
    drop_claims(draft);
    return collect_claims(draft, err);
}

/* By the spec's own rules, and those of the executor it would run on. */
static ty_status read_spec(struct api_draft *draft, struct ty_faults *faults, struct ty_error *err)
{
    size_t before = faults->count;
    if (draft->api->options.executor->ops->one_machine)
        ty_job_spec_check_machine(draft->body, faults);
    bool refused = faults->count > before;
    ty_status status = ty_job_spec_parse(draft->body, &draft->spec, faults, err);
    return status == TY_OK && refused
               ? ty_fail_code(err, TY_REFUSED, "validation_failed", "the job spec is not allowed")
               : status;
}

/* The body under the tenant's policy, judged by every rule, as a spec and as text. */
static ty_status judge(struct api_draft *draft, const struct api_draft_input *input,
                       struct ty_faults *faults, struct ty_error *err)
{
    if (api_policy_open(draft->api, draft->request, &draft->policy, err) != TY_OK)
        return err->status;
    if (input->memory_only)
        draft->policy.reader = NULL;
    if (api_policy_apply(&draft->policy, input->body, &draft->body, faults, err) != TY_OK ||
        read_spec(draft, faults, err) != TY_OK)
        return draft->body && draft->body != input->body ? api_policy_blame(err) : err->status;
    draft->spec_text = spec_text(draft, input, err);
    if (!draft->spec_text)
        return TY_NO_MEMORY;
    return api_policy_check(&draft->policy, draft->body, draft->spec, draft->submit.insert.spec_len,
                            faults, err);
}

static ty_status prepare(struct api_draft *draft, const struct api_draft_input *input,
                         struct ty_faults *faults, struct ty_error *err)
{
    if (judge(draft, input, faults, err) != TY_OK || api_draft_rename(draft, err) != TY_OK ||
        check_size(draft, faults, err) != TY_OK)
        return err->status;
    if (note_changes(draft, input, err) != TY_OK)
        return err->status;
    draft->labels = labels_text(draft->spec, err);
    draft->warnings = warnings_text(draft, input->warnings, err);
    if (!draft->spec_text || !draft->labels || !draft->warnings)
        return TY_NO_MEMORY;
    draft->submit.insert.spec = draft->spec_text;
    if (input->origin_id)
        ty_str_copy(draft->origin_id, sizeof draft->origin_id, input->origin_id);
    fill_record(draft, input);
    return read_key(draft, input, err);
}

ty_status api_draft_create(struct ty_api *api, struct ty_request *request,
                           const struct api_draft_input *input, struct api_draft **draft_out,
                           struct ty_faults *faults, struct ty_error *err)
{
    struct api_draft *draft = calloc(1, sizeof *draft);
    if (!draft)
        return ty_fail(err, TY_NO_MEMORY, "job");
    draft->api = api;
    draft->request = request;
    draft->session = *(const struct api_session *)ty_request_principal(request);
    draft->submit.engine = api->options.engine;
    ty_status status = prepare(draft, input, faults, err);
    api_policy_close(&draft->policy);
    if (status != TY_OK) {
        api_draft_destroy(draft);
        return status;
    }
    *draft_out = draft;
    return TY_OK;
}

void api_draft_destroy(struct api_draft *draft)
{
    if (!draft)
        return;
    json_decref(draft->body);
    ty_job_spec_destroy(draft->spec);
    free(draft->spec_text);
    free(draft->labels);
    free(draft->warnings);
    free(draft->changes);
    drop_claims(draft);
    free(draft);
}

void api_write_manifest(struct ty_json_writer *writer, const struct ty_manifest *manifest)
{
    ty_json_object(writer);
    ty_json_put_string(writer, "apiVersion", "v1");
    ty_json_put_string(writer, "kind", "List");
    ty_json_key(writer, "items");
    ty_json_value(writer, manifest->objects);
    ty_json_end(writer);
}
