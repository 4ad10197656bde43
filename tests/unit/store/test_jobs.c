#include "store_fixture.h"
#include "trainyard/base/str.h"
#include "trainyard/store/events.h"
#include "trainyard/store/tenants.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

/* --- what a visit saw --- */

struct seen {
    size_t count;
    int64_t rows[64];
    struct ty_job_record last;
    char id[TY_ID_TEXT];
    char labels[128];
    char description[64];
    char replica_list[64];
};

static bool look(void *context, const struct ty_job_record *record)
{
    struct seen *seen = context;
    if (seen->count < 64)
        seen->rows[seen->count] = record->row;
    seen->count++;
    seen->last = *record;
    ty_str_copy(seen->id, sizeof(seen->id), record->id);
    ty_str_copy(seen->labels, sizeof(seen->labels), record->labels);
    ty_str_copy(seen->description, sizeof(seen->description),
                record->description ? record->description : "(none)");
    ty_str_copy(seen->replica_list, sizeof(seen->replica_list), record->replica_list);
    return true;
}

static struct seen get(struct store_fixture *fixture, const char *id)
{
    struct seen seen = {0};
    struct ty_error err = {0};
    if (ty_jobs_get(fixture->reader, fixture->tenant, id, look, &seen, &err) != TY_OK)
        fail_msg("get: %s", err.text);
    return seen;
}

static struct ty_tenant_counts count(struct store_fixture *fixture)
{
    struct ty_tenant_counts counts = {0};
    struct ty_error err = {0};
    assert_int_equal(ty_tenants_count(fixture->reader, fixture->tenant, &counts, &err), TY_OK);
    return counts;
}

static void a_stored_job_reads_back_as_it_was(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    test_job_init(&job, fixture, "mnist", "{\"team\":\"vision\"}");
    job.insert.record.description = "first";
    job.insert.record.gpus = 3;
    job.insert.record.origin_id = "job_x";
    job.insert.record.origin_kind = "clone";
    test_job_store(fixture, &job);
    struct seen seen = get(fixture, job.id);
    assert_string_equal(seen.id, job.id);
    assert_string_equal(seen.labels, "{\"team\":\"vision\"}");
    assert_string_equal(seen.description, "first");
    assert_string_equal(seen.replica_list, "[]");
    assert_int_equal(seen.last.gpus, 3);
    assert_int_equal(seen.last.revision, 1);
    assert_int_equal(seen.last.status.sequence, 1);
    assert_int_equal(seen.last.created_at, ty_now_us(&fixture->time.clock));
    assert_false(seen.last.status.exit.known);
    struct ty_tenant_counts counts = count(fixture);
    assert_int_equal(counts.jobs, 1);
    assert_int_equal(counts.queued, 1);
    assert_int_equal(counts.live, 1);
    assert_int_equal(counts.last_event, 1);
}

static void a_job_of_another_tenant_is_not_found_like_an_unknown_one(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct seen seen = {0};
    struct ty_error other = {0};
    struct ty_error unknown = {0};
    test_job_init(&job, fixture, "mnist", NULL);
    test_job_store(fixture, &job);
    assert_int_equal(ty_jobs_get(fixture->reader, fixture->tenant + 1, job.id, look, &seen, &other),
                     TY_NOT_FOUND);
    assert_int_equal(
        ty_jobs_get(fixture->reader, fixture->tenant, "job_nothing", look, &seen, &unknown),
        TY_NOT_FOUND);
    assert_int_equal(seen.count, 0);
    assert_string_equal(other.text, unknown.text);
    assert_string_equal(other.code, unknown.code);
}

static ty_status insert(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_jobs_insert(writer, context, NULL, err);
}

static void a_taken_object_name_is_a_conflict_and_changes_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job first;
    struct test_job second;
    struct ty_error err = {0};
    test_job_init(&first, fixture, "mnist", NULL);
    test_job_store(fixture, &first);
    test_job_init(&second, fixture, "mnist", NULL);
    second.insert.record.object_name = first.object_name;
    struct ty_job_insert before = second.insert;
    assert_int_equal(store_apply(fixture->store, insert, &second.insert, &err), TY_CONFLICT);
    assert_string_equal(err.code, "object_name_taken");
    assert_memory_equal(&second.insert, &before, sizeof(before));
    assert_int_equal(count(fixture).jobs, 1);
    second.insert.record.namespace = "elsewhere"; /* the same name in another namespace is free */
    assert_int_equal(store_apply(fixture->store, insert, &second.insert, &err), TY_OK);
}

static void a_job_of_an_unknown_tenant_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    test_job_init(&job, fixture, "mnist", NULL);
    job.insert.record.tenant = 99;
    assert_int_equal(store_apply(fixture->store, insert, &job.insert, &err), TY_NOT_FOUND);
    assert_string_equal(err.code, "tenant_not_found");
}

static ty_status insert_in_quota(struct ty_writer *writer, void *context, struct ty_error *err)
{
    static const struct ty_quota quota = {.max_queued = 2};
    return ty_jobs_insert(writer, context, &quota, err);
}

static void the_quota_of_waiting_jobs_counts_those_that_wait(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job jobs[4];
    struct ty_error err = {0};
    for (size_t i = 0; i < 4; i++)
        test_job_init(&jobs[i], fixture, "mnist", NULL);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(store_apply(fixture->store, insert_in_quota, &jobs[i].insert, &err),
                         TY_OK);
    assert_int_equal(store_apply(fixture->store, insert_in_quota, &jobs[2].insert, &err),
                     TY_LIMITED);
    assert_string_equal(err.code, "quota_exceeded");
    jobs[3].insert.record.status.state = TY_JOB_SUSPENDED; /* does not wait */
    assert_int_equal(store_apply(fixture->store, insert_in_quota, &jobs[3].insert, &err), TY_OK);
    test_job_move(fixture, jobs[0].id, TY_JOB_STARTING, true);
    assert_int_equal(store_apply(fixture->store, insert_in_quota, &jobs[2].insert, &err), TY_OK);
    assert_int_equal(count(fixture).queued, 2);
    assert_int_equal(count(fixture).live, 4);
}

/* --- steps --- */

struct step {
    const char *id;
    ty_step_result result;
    struct ty_job_status next;
    const char *replicas;
    struct ty_job_record after;
};

static ty_status save(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct step *step = context;
    struct ty_job_record record;
    ty_status status = ty_jobs_find(writer, 0, step->id, &record, err);
    if (status == TY_OK)
        status = ty_jobs_save_step(writer, &record, step->result, &step->next, step->replicas, err);
    if (status == TY_OK)
        step->after = record;
    return status;
}

static void assert_same_status(const struct ty_job_status *got, const struct ty_job_status *want)
{
    assert_int_equal(got->state, want->state);
    assert_int_equal(got->cause, want->cause);
    assert_string_equal(got->message, want->message);
    assert_int_equal(got->sequence, want->sequence);
    assert_int_equal(got->attempt, want->attempt);
    assert_int_equal(got->restarts, want->restarts);
    assert_int_equal(got->attempt_restarts, want->attempt_restarts);
    assert_int_equal(got->run_active, want->run_active);
    assert_int_equal(got->cancel_requested, want->cancel_requested);
    assert_int_equal(got->suspend_requested, want->suspend_requested);
    assert_int_equal(got->started_at, want->started_at);
    assert_int_equal(got->finished_at, want->finished_at);
    assert_int_equal(got->deadline_at, want->deadline_at);
    assert_int_equal(got->retry_at, want->retry_at);
    assert_int_equal(got->observed_at, want->observed_at);
    assert_int_equal(got->exit.known, want->exit.known);
    assert_int_equal(got->exit.code, want->exit.code);
    assert_int_equal(got->exit.signal, want->exit.signal);
    assert_string_equal(got->exit.replica, want->exit.replica);
}

static void a_step_is_stored_with_its_transition_and_event(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    test_job_init(&job, fixture, "mnist", NULL);
    test_job_store(fixture, &job);
    struct step step = {
        .id = job.id,
        .result = TY_STEP_CHANGED,
        .next = {.state = TY_JOB_FAILED,
                 .cause = TY_CAUSE_CONTAINER_ERROR,
                 .message = "worker-1 ended with 3",
                 .sequence = 2,
                 .attempt = 1,
                 .restarts = 4,
                 .started_at = 5,
                 .finished_at = INT64_C(1767225600000009),
                 .observed_at = 7,
                 .exit = {true, 3, 0, "worker-1"}},
        .replicas = "[{\"name\":\"worker-1\"}]"
    };
    assert_int_equal(store_apply(fixture->store, save, &step, &err), TY_OK);
    assert_int_equal(step.after.revision, 2);
    struct seen seen = get(fixture, job.id);
    assert_same_status(&seen.last.status, &step.next);
    assert_string_equal(seen.replica_list, step.replicas);
    assert_int_equal(seen.last.updated_at, step.next.finished_at);
    assert_int_equal(count(fixture).queued, 0);
    assert_int_equal(count(fixture).live, 0);
    assert_int_equal(count(fixture).last_event, 2);
}

static void a_touch_stores_no_transition(void **state)
{
    static const struct {
        struct ty_job_status next;
        int64_t revision;
    } cases[] = {
        {{.state = TY_JOB_QUEUED, .sequence = 1, .observed_at = 9},                        1},
        {{.state = TY_JOB_QUEUED, .sequence = 1, .observed_at = 9, .restarts = 1},         2},
        {{.state = TY_JOB_QUEUED, .sequence = 1, .restarts = 1, .cancel_requested = true}, 3},
        {{.state = TY_JOB_QUEUED, .sequence = 1, .restarts = 1, .cancel_requested = true}, 3},
    };
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    test_job_init(&job, fixture, "mnist", NULL);
    test_job_store(fixture, &job);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct step step = {.id = job.id, .result = TY_STEP_TOUCHED, .next = cases[i].next};
        assert_int_equal(store_apply(fixture->store, save, &step, &err), TY_OK);
        struct seen seen = get(fixture, job.id);
        assert_int_equal(seen.last.revision, cases[i].revision);
        assert_int_equal(seen.last.status.restarts, cases[i].next.restarts);
        assert_int_equal(seen.last.status.attempt_restarts, cases[i].next.attempt_restarts);
        assert_int_equal(seen.last.status.observed_at, cases[i].next.observed_at);
        assert_int_equal(seen.last.status.cancel_requested, cases[i].next.cancel_requested);
    }
    assert_int_equal(count(fixture).last_event, 1);
}

static void a_job_is_live_until_its_run_is_gone(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    struct seen live = {0};
    test_job_init(&job, fixture, "mnist", NULL);
    test_job_store(fixture, &job);
    test_job_move(fixture, job.id, TY_JOB_RUNNING, true);
    test_job_move(fixture, job.id, TY_JOB_FAILED, true);
    assert_int_equal(ty_jobs_live(fixture->reader, 0, 10, look, &live, &err), TY_OK);
    assert_int_equal(live.count, 1);
    struct step step = {.id = job.id, .result = TY_STEP_TOUCHED, .next = live.last.status};
    step.next.run_active = false;
    assert_int_equal(store_apply(fixture->store, save, &step, &err), TY_OK);
    live = (struct seen){0};
    assert_int_equal(ty_jobs_live(fixture->reader, 0, 10, look, &live, &err), TY_OK);
    assert_int_equal(live.count, 0);
    assert_int_equal(count(fixture).live, 0);
    assert_int_equal(count(fixture).jobs, 1);
}

static bool note_transition(void *context, const struct ty_transition *transition)
{
    char *line = context;
    char one[64];
    (void)snprintf(one, sizeof(one), "%d:%s>%s ", (int)transition->sequence,
                   ty_job_state_name(transition->from), ty_job_state_name(transition->to));
    strncat(line, one, 200);
    return true;
}

static void transitions_come_in_order_and_by_pages(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    char line[512] = "";
    test_job_init(&job, fixture, "mnist", NULL);
    int64_t row = test_job_store(fixture, &job);
    test_job_move(fixture, job.id, TY_JOB_STARTING, true);
    test_job_move(fixture, job.id, TY_JOB_RUNNING, true);
    test_job_move(fixture, job.id, TY_JOB_SUCCEEDED, false);
    assert_int_equal(ty_transitions_list(fixture->reader, row, 0, 10, note_transition, line, &err),
                     TY_OK);
    assert_string_equal(line, "1:queued>queued 2:queued>starting 3:starting>running "
                              "4:running>succeeded ");
    line[0] = '\0';
    assert_int_equal(ty_transitions_list(fixture->reader, row, 2, 1, note_transition, line, &err),
                     TY_OK);
    assert_string_equal(line, "3:starting>running ");
}

static void the_schema_refuses_a_state_that_cannot_be(void **state)
{
    static const struct ty_job_status cases[] = {
        {.state = TY_JOB_SUCCEEDED, .sequence = 2   }, /* terminal without an end */
        {                         .state = TY_JOB_RUNNING,            .sequence = 2, .finished_at = 7}, /* an end, not terminal */
        {                         .state = TY_JOB_RUNNING,            .sequence = 0                },
        { .state = (ty_job_state)10,         .sequence = 2,                         .finished_at = 7},
        {   .state = TY_JOB_RUNNING,           .sequence = 2,                           .restarts = -1},
    };
    struct store_fixture *fixture = *state;
    struct test_job job;
    test_job_init(&job, fixture, "mnist", NULL);
    test_job_store(fixture, &job);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_error err = {0};
        struct step step = {.id = job.id, .result = TY_STEP_CHANGED, .next = cases[i]};
        assert_int_equal(store_apply(fixture->store, save, &step, &err), TY_INTERNAL);
        assert_int_equal(get(fixture, job.id).last.status.state, TY_JOB_QUEUED);
    }
    assert_int_equal(count(fixture).last_event, 1);
}

/* --- labels and description --- */

struct patch {
    const char *id;
    const char *labels;
    const char *description;
    bool clear;
};

static ty_status patch_job(struct ty_writer *writer, void *context, struct ty_error *err)
{
    const struct patch *patch = context;
    struct ty_job_record record;
    ty_status status = ty_jobs_find(writer, 0, patch->id, &record, err);
    if (status == TY_OK)
        status = ty_jobs_save_metadata(writer, &record, patch->labels, patch->description,
                                       patch->clear, err);
    return status;
}

static size_t with_label(struct store_fixture *fixture, const char *key, const char *value)
{
    struct seen seen = {0};
    struct ty_error err = {0};
    struct ty_job_query query = {.tenant = fixture->tenant, .labels_count = 1, .limit = 50};
    query.labels[0].key = key;
    query.labels[0].value = value;
    assert_int_equal(ty_jobs_list(fixture->reader, &query, look, &seen, &err), TY_OK);
    return seen.count;
}

static void a_patch_changes_what_it_names_and_its_index(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    test_job_init(&job, fixture, "mnist", "{\"a\":\"1\",\"b\":\"2\"}");
    test_job_store(fixture, &job);
    const struct patch patches[] = {
        {job.id, "{\"b\":\"3\",\"c\":\"4\"}", NULL,   false},
        {job.id, NULL,                        "text", false},
        {job.id, NULL,                        NULL,   false},
        {job.id, NULL,                        NULL,   true },
    };
    static const struct {
        const char *description;
        int64_t revision;
    } expected[] = {
        {"(none)", 2},
        {"text",   3},
        {"text",   3},
        {"(none)", 4},
    };
    for (size_t i = 0; i < UNIT_COUNT(patches); i++) {
        struct patch patch = patches[i];
        assert_int_equal(store_apply(fixture->store, patch_job, &patch, &err), TY_OK);
        struct seen seen = get(fixture, job.id);
        assert_string_equal(seen.description, expected[i].description);
        assert_int_equal(seen.last.revision, expected[i].revision);
        assert_string_equal(seen.labels, "{\"b\":\"3\",\"c\":\"4\"}");
    }
    assert_int_equal(with_label(fixture, "a", "1"), 0);
    assert_int_equal(with_label(fixture, "b", "2"), 0);
    assert_int_equal(with_label(fixture, "b", "3"), 1);
    assert_int_equal(with_label(fixture, "c", "4"), 1);
}

/* --- size --- */

struct size {
    const char *id;
    int32_t replicas;
    struct ty_job_record record; /* numbers only */
    struct ty_jobs_use use;
};

static ty_status resize(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct size *size = context;
    ty_status status = ty_jobs_find(writer, 0, size->id, &size->record, err);
    if (status == TY_OK)
        status = ty_jobs_use(writer, &size->record, &size->use, err);
    if (status == TY_OK && size->replicas > 0)
        status = ty_jobs_save_size(writer, &size->record, size->replicas, err);
    return status;
}

static void a_size_is_stored_in_the_row_and_in_the_spec(void **state)
{
    struct store_fixture *fixture = *state;
    static const struct {
        const char *spec;
        int32_t replicas;
        const char *stored;
    } cases[] = {
        {"{\"replicas\":2,\"a\":{\"replicas\":9}}", 3, "{\"replicas\":3,\"a\":{\"replicas\":9}}"},
        {"{\"a\":\"\\u00fc \xc3\xbc\",\"b\":1.50}", 1,
         "{\"a\":\"\\u00fc \xc3\xbc\",\"b\":1.50,"
         "\"replicas\":1}"                                                                      },
    };
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct test_job job;
        struct ty_error err = {0};
        ty_auto_buf spec = {0};
        test_job_init(&job, fixture, "elastic", "{}");
        job.insert.record.replicas = 2;
        job.insert.record.gpus = 4;
        job.insert.record.elastic_min = 1;
        job.insert.record.elastic_max = 5;
        job.insert.spec = cases[i].spec;
        job.insert.spec_len = strlen(cases[i].spec);
        int64_t row = test_job_store(fixture, &job);
        struct size size = {.id = job.id, .replicas = cases[i].replicas};
        assert_int_equal(store_apply(fixture->store, resize, &size, &err), TY_OK);
        size.replicas = 0;
        assert_int_equal(store_apply(fixture->store, resize, &size, &err), TY_OK);
        assert_int_equal(size.record.replicas, cases[i].replicas);
        assert_int_equal(size.record.gpus, 2 * cases[i].replicas);
        assert_int_equal(size.record.first_replicas, 2);
        assert_int_equal(size.record.revision, 2);
        assert_int_equal(size.record.elastic_min, 1);
        assert_int_equal(size.record.elastic_max, 5);
        ty_buf_init(&spec, 4096);
        assert_int_equal(ty_jobs_spec(fixture->reader, row, &spec, &err), TY_OK);
        assert_string_equal(spec.data, cases[i].stored);
    }
}

static void what_other_runs_hold_is_added_up_for_all_and_for_the_tenant(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job jobs[4];
    struct ty_error err = {0};
    for (size_t i = 0; i < UNIT_COUNT(jobs); i++) {
        test_job_init(&jobs[i], fixture, "elastic", "{}");
        jobs[i].insert.record.replicas = (int32_t)i + 1;
        jobs[i].insert.record.gpus = 10 * ((int32_t)i + 1);
        test_job_store(fixture, &jobs[i]);
    }
    struct size size = {.id = jobs[0].id};
    assert_int_equal(store_apply(fixture->store, resize, &size, &err), TY_OK);
    assert_int_equal(size.use.replicas, 0); /* none of them runs */
    test_job_move(fixture, jobs[0].id, TY_JOB_STARTING, true);
    test_job_move(fixture, jobs[1].id, TY_JOB_STARTING, true);
    test_job_move(fixture, jobs[2].id, TY_JOB_STARTING, true);
    test_job_move(fixture, jobs[2].id, TY_JOB_SUSPENDED, true); /* its run is not over yet */
    assert_int_equal(store_apply(fixture->store, resize, &size, &err), TY_OK);
    assert_int_equal(size.use.replicas, 2 + 3);
    assert_int_equal(size.use.gpus, 20 + 30);
    assert_int_equal(size.use.tenant_replicas, 2 + 3);
    assert_int_equal(size.use.tenant_gpus, 20 + 30);
}

/* --- removal --- */

struct removal {
    int64_t tenant;
    const char *id;
};

static ty_status delete_job(struct ty_writer *writer, void *context, struct ty_error *err)
{
    const struct removal *removal = context;
    return ty_jobs_delete(writer, removal->tenant, removal->id, err);
}

static void only_an_ended_job_is_removed_and_leaves_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    struct seen seen = {0};
    struct ty_buf spec;
    char line[512] = "";
    ty_buf_init(&spec, 1000);
    test_job_init(&job, fixture, "mnist", "{\"a\":\"1\"}");
    int64_t row = test_job_store(fixture, &job);
    struct removal removal = {.tenant = fixture->tenant, .id = job.id};
    assert_int_equal(store_apply(fixture->store, delete_job, &removal, &err), TY_CONFLICT);
    assert_string_equal(err.code, "job_active");
    test_job_move(fixture, job.id, TY_JOB_CANCELLED, true); /* its run is not gone */
    assert_int_equal(store_apply(fixture->store, delete_job, &removal, &err), TY_CONFLICT);
    test_job_move(fixture, job.id, TY_JOB_CANCELLED, false);
    struct removal foreign = {.tenant = fixture->tenant + 1, .id = job.id};
    assert_int_equal(store_apply(fixture->store, delete_job, &foreign, &err), TY_NOT_FOUND);
    assert_int_equal(store_apply(fixture->store, delete_job, &removal, &err), TY_OK);
    assert_int_equal(ty_jobs_get(fixture->reader, fixture->tenant, job.id, look, &seen, &err),
                     TY_NOT_FOUND);
    assert_int_equal(ty_jobs_spec(fixture->reader, row, &spec, &err), TY_NOT_FOUND);
    assert_int_equal(ty_transitions_list(fixture->reader, row, 0, 10, note_transition, line, &err),
                     TY_OK);
    assert_string_equal(line, "");
    assert_int_equal(with_label(fixture, "a", "1"), 0);
    assert_int_equal(count(fixture).jobs, 0);
    assert_int_equal(store_apply(fixture->store, delete_job, &removal, &err), TY_NOT_FOUND);
    ty_buf_done(&spec);
}

static void a_removed_row_is_never_given_again(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    test_job_init(&job, fixture, "mnist", NULL);
    int64_t row = test_job_store(fixture, &job);
    test_job_move(fixture, job.id, TY_JOB_CANCELLED, false);
    struct removal removal = {.tenant = fixture->tenant, .id = job.id};
    assert_int_equal(store_apply(fixture->store, delete_job, &removal, &err), TY_OK);
    store_fixture_close(fixture);
    store_fixture_open(fixture);
    assert_true(test_job_make(fixture, "next", NULL) > row);
}

static void a_long_history_goes_in_pieces_after_its_job(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    char line[512] = "";
    test_job_init(&job, fixture, "mnist", NULL);
    int64_t row = test_job_store(fixture, &job);
    for (int i = 0; i < 650; i++)
        test_job_move(fixture, job.id, i % 2 ? TY_JOB_RUNNING : TY_JOB_RESTARTING, true);
    test_job_move(fixture, job.id, TY_JOB_CANCELLED, false);
    struct removal removal = {.tenant = fixture->tenant, .id = job.id};
    assert_int_equal(store_apply(fixture->store, delete_job, &removal, &err), TY_OK);
    assert_int_equal(ty_transitions_list(fixture->reader, row, 0, 1, note_transition, line, &err),
                     TY_OK);
    assert_string_not_equal(line, "");
    atomic_fetch_add(&fixture->time.wall_us, INT64_C(120000000));
    for (int i = 0; i < 5; i++)
        (void)ty_store_drain(fixture->store);
    line[0] = '\0';
    assert_int_equal(ty_transitions_list(fixture->reader, row, 0, 1, note_transition, line, &err),
                     TY_OK);
    assert_string_equal(line, "");
}

/* --- retention --- */

static void retention_finds_what_has_had_its_time(void **state)
{
    static const struct {
        int64_t keep_seconds;
        ty_job_state state;
        bool run_active;
    } jobs[] = {
        {-1, TY_JOB_SUCCEEDED, false}, /* the server's default */
        {-1, TY_JOB_RUNNING,   true },
        {10, TY_JOB_FAILED,    false},
        {10, TY_JOB_FAILED,    true }, /* its run may still exist */
        {0,  TY_JOB_CANCELLED, false},
        {50, TY_JOB_LOST,      false},
    };
    static const struct {
        int64_t seconds;
        int64_t default_seconds;
        size_t limit;
        size_t found;
    } cases[] = {
        {0,  20, 10, 0},
        {1,  20, 10, 1},
        {11, 20, 10, 2},
        {21, 20, 10, 3},
        {21, 0,  10, 2}, /* default: for ever */
        {51, 20, 10, 4},
        {51, 20, 2,  2},
    };
    struct store_fixture *fixture = *state;
    int64_t start_us = ty_now_us(&fixture->time.clock);
    for (size_t i = 0; i < UNIT_COUNT(jobs); i++) {
        struct test_job job;
        test_job_init(&job, fixture, "mnist", NULL);
        job.insert.record.keep_seconds = jobs[i].keep_seconds;
        test_job_store(fixture, &job);
        test_job_move(fixture, job.id, jobs[i].state, jobs[i].run_active);
    }
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct seen seen = {0};
        struct ty_error err = {0};
        assert_int_equal(ty_jobs_expired(fixture->reader, start_us + cases[i].seconds * 1000000,
                                         cases[i].default_seconds * 1000000, cases[i].limit, look,
                                         &seen, &err),
                         TY_OK);
        assert_int_equal(seen.count, cases[i].found);
    }
}

static void the_spec_comes_back_byte_for_byte(void **state)
{
    struct store_fixture *fixture = *state;
    struct test_job job;
    struct ty_error err = {0};
    struct ty_buf buf;
    size_t len = 300000;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, 'x', len);
    ty_buf_init(&buf, 1000000);
    ty_buf_adds(&buf, "before ");
    test_job_init(&job, fixture, "mnist", NULL);
    job.insert.spec = text;
    job.insert.spec_len = len;
    int64_t row = test_job_store(fixture, &job);
    assert_int_equal(ty_jobs_spec(fixture->reader, row, &buf, &err), TY_OK);
    assert_int_equal(buf.len, len + 7);
    assert_memory_equal(buf.data + 7, text, len);
    ty_buf_done(&buf);
    ty_buf_init(&buf, 100);
    assert_int_equal(ty_jobs_spec(fixture->reader, row, &buf, &err), TY_TOO_LARGE);
    ty_buf_done(&buf);
    free(text);
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, store_fixture_setup, store_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stored_job_reads_back_as_it_was),
        TEST(a_job_of_another_tenant_is_not_found_like_an_unknown_one),
        TEST(a_taken_object_name_is_a_conflict_and_changes_nothing),
        TEST(a_job_of_an_unknown_tenant_is_refused),
        TEST(the_quota_of_waiting_jobs_counts_those_that_wait),
        TEST(a_step_is_stored_with_its_transition_and_event),
        TEST(a_touch_stores_no_transition),
        TEST(a_job_is_live_until_its_run_is_gone),
        TEST(transitions_come_in_order_and_by_pages),
        TEST(the_schema_refuses_a_state_that_cannot_be),
        TEST(a_patch_changes_what_it_names_and_its_index),
        TEST(a_size_is_stored_in_the_row_and_in_the_spec),
        TEST(what_other_runs_hold_is_added_up_for_all_and_for_the_tenant),
        TEST(only_an_ended_job_is_removed_and_leaves_nothing),
        TEST(a_removed_row_is_never_given_again),
        TEST(a_long_history_goes_in_pieces_after_its_job),
        TEST(retention_finds_what_has_had_its_time),
        TEST(the_spec_comes_back_byte_for_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
