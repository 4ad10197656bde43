/* POST /v1/jobs:batch: each item is judged alone; those that pass are stored in one commit; one
 * answer tells of all. */
#include "api/draft.h"

#include "trainyard/http/problem.h"

#include <stdatomic.h>

/* Filled by the pool thread first and by the writer thread after it; `waiting` tells who is last.
 */
struct batch {
    struct ty_api *api;
    struct ty_request *request;
    size_t count;
    struct ty_buf *results;      /* one JSON object an item */
    struct api_draft **replayed; /* by item: made by an earlier request with this key, or NULL */
    struct api_draft *any_replayed;
    _Atomic size_t waiting; /* drafts that are with the engine, and the pool thread itself */
};

static void destroy_batch(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        ty_buf_done(&batch->results[i]);
        api_draft_destroy(batch->replayed[i]);
    }
    free(batch->results);
    free(batch->replayed);
    free(batch);
}

static void answer_batch(struct batch *batch)
{
    struct ty_buf body;
    struct ty_json_writer writer;
    ty_buf_init(&body, ANSWER_MAX);
    ty_json_writer_init(&writer, &body);
    ty_json_object(&writer);
    ty_json_key(&writer, "items");
    ty_json_array(&writer);
    for (size_t i = 0; i < batch->count; i++)
        ty_json_raw(&writer, batch->results[i].data, batch->results[i].len);
    ty_json_end(&writer);
    ty_json_end(&writer);
    struct ty_response *response = ty_response_buf(200, "application/json", &body);
    ty_response_compress(response, false); /* this may be the writer thread */
    ty_request_answer(batch->request, response);
    ty_buf_done(&body);
}

static void note_problem(struct batch *batch, size_t index, const struct ty_error *err,
                         const struct ty_faults *faults)
{
    const struct ty_problem_kind *kind = ty_problem_of_error(err);
    struct ty_json_writer writer;
    ty_auto_buf problem = {0};
    ty_buf_init(&problem, 256 * 1024);
    ty_problem_write(&problem, kind, ty_problem_detail(err), ty_request_path(batch->request),
                     ty_request_id(batch->request), faults);
    ty_json_writer_init(&writer, &batch->results[index]);
    ty_json_object(&writer);
    ty_json_put_int(&writer, "status", kind->status);
    ty_json_key(&writer, "problem");
    ty_json_raw(&writer, problem.data ? problem.data : "{}", problem.data ? problem.len : 2);
    ty_json_end(&writer);
}

static void note_job(struct batch *batch, size_t index, const struct ty_buf *job)
{
    struct ty_json_writer writer;
    ty_json_writer_init(&writer, &batch->results[index]);
    ty_json_object(&writer);
    ty_json_put_int(&writer, "status", 201);
    ty_json_key(&writer, "job");
    ty_json_raw(&writer, job->data, job->len);
    ty_json_end(&writer);
}

static void note_created(struct batch *batch, const struct api_draft *draft)
{
    struct ty_json_writer writer;
    struct ty_buf spec = {.data = draft->spec_text, .len = draft->submit.insert.spec_len};
    ty_auto_buf job = {0};
    ty_buf_init(&job, ANSWER_MAX);
    ty_json_writer_init(&writer, &job);
    api_write_job(&writer, &draft->submit.insert.record, &spec, 0);
    note_job(batch, draft->index, &job);
}

/* Items that an earlier request made are read on the pool, then all is told. */
static void answer_replays(void *context, struct ty_request *request)
{
    struct batch *batch = ((struct api_session *)ty_request_principal(request))->draft->owner;
    struct ty_reader *reader = api_reader(context, request);
    for (size_t i = 0; i < batch->count; i++) {
        struct ty_error err;
        ty_auto_buf job = {0};
        ty_buf_init(&job, ANSWER_MAX);
        if (!batch->replayed[i])
            continue;
        if (api_draft_replay(batch->replayed[i], reader, &job, &err) == TY_OK)
            note_job(batch, i, &job);
        else
            note_problem(batch, i, &err, NULL);
    }
    ty_request_answer_header(request, "Idempotency-Replayed", "true");
    answer_batch(batch);
    destroy_batch(batch);
}

static void leave(struct batch *batch)
{
    if (atomic_fetch_sub(&batch->waiting, 1) > 1)
        return;
    if (batch->any_replayed) {
        ((struct api_session *)ty_request_principal(batch->request))->draft = batch->any_replayed;
        if (!api_to_pool(batch->api, batch->request, answer_replays))
            destroy_batch(batch);
        return;
    }
    answer_batch(batch);
    destroy_batch(batch);
}

static void item_answered(struct ty_submit *submit, ty_status status, const struct ty_error *err)
{
    struct api_draft *draft = (struct api_draft *)submit;
    struct batch *batch = draft->owner;
    if (status == TY_OK && submit->replayed) {
        batch->replayed[draft->index] = batch->any_replayed = draft;
        leave(batch);
        return;
    }
    if (status == TY_OK)
        note_created(batch, draft);
    else
        note_problem(batch, draft->index, err, NULL);
    api_draft_destroy(draft);
    leave(batch);
}

static struct api_draft *judge_item(struct batch *batch, size_t index, const json_t *item)
{
    /* The key covers the whole call: each item has it under a route of its own. */
    char route[64];
    struct api_draft_input input = {
        .body = item, .asked = item, .route = route, .use_idempotency_key = true};
    snprintf(route, sizeof route, "POST /v1/jobs:batch#%zu", index);
    struct api_draft *draft = NULL;
    struct ty_faults faults;
    struct ty_error err;
    ty_faults_init(&faults);
    if (ty_contract_check(batch->api->options.contract, "JobSpec", item, &faults, &err) != TY_OK ||
        api_draft_create(batch->api, batch->request, &input, &draft, &faults, &err) != TY_OK) {
        note_problem(batch, index, &err, &faults);
        return NULL;
    }
    draft->owner = batch;
    draft->index = index;
    draft->submit.answered = item_answered;
    return draft;
}

/* All that passed, in one commit. A refusal of the whole hand-over is each item's. */
static void submit_all(struct batch *batch, struct ty_submit **submits, size_t count)
{
    struct ty_error err;
    atomic_fetch_add(&batch->waiting, count);
    if (count == 0 ||
        ty_engine_submit_batch(batch->api->options.engine, submits, count, &err) == TY_OK)
        return;
    for (size_t i = 0; i < count; i++)
        item_answered(submits[i], err.status, &err);
}

static struct batch *create_batch(struct ty_api *api, struct ty_request *request, size_t count)
{
    struct batch *batch = calloc(1, sizeof *batch);
    struct ty_buf *results = calloc(count + 1, sizeof *results);
    struct api_draft **replayed = calloc(count + 1, sizeof(struct api_draft *));
    if (!batch || !results || !replayed) {
        free(batch);
        free(results);
        free(replayed);
        return NULL;
    }
    *batch = (struct batch){.api = api,
                            .request = request,
                            .count = count,
                            .results = results,
                            .replayed = replayed,
                            .waiting = 1};
    for (size_t i = 0; i < count; i++)
        ty_buf_init(&results[i], ANSWER_MAX);
    return batch;
}

void jobs_batch(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    const json_t *items = json_object_get(ty_request_json(request), "items");
    size_t count = json_array_size(items);
    struct batch *batch = create_batch(api, request, count);
    ty_auto_free struct ty_submit **submits = calloc(count + 1, sizeof *submits);
    if (!batch || !submits) {
        if (batch)
            destroy_batch(batch);
        ty_request_answer(request, NULL);
        return;
    }
    size_t passed = 0;
    for (size_t i = 0; i < count; i++) {
        struct api_draft *draft = judge_item(batch, i, json_array_get(items, i));
        if (draft)
            submits[passed++] = &draft->submit;
    }
    submit_all(batch, submits, passed);
    leave(batch);
}
