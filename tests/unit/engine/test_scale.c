/* Other sizes of elastic jobs: judged, committed, told to the executor, and told again after a
 * crash.
 */
#include "engine_fixture.h"
#include "unit.h"

#include <stdio.h>

/* The executor of the fixture holds 8 replicas and 4 GPUs. */
static void submit_elastic(struct engine_fixture *fixture, struct asked *asked, int32_t replicas,
                           int32_t gpus_each)
{
    static const char spec[] = "{\"name\":\"e\",\"image\":\"python:3\",\"script\":\"print(1)\","
                               "\"elastic\":{\"min\":1,\"max\":6}}";
    asked_init(fixture, asked, "e");
    struct ty_job_record *record = &asked->submit.insert.record;
    record->replicas = replicas;
    record->gpus = replicas * gpus_each;
    record->elastic_min = 1;
    record->elastic_max = 6;
    asked->submit.insert.spec = spec;
    asked->submit.insert.spec_len = sizeof(spec) - 1;
}

static void start_elastic(struct engine_fixture *fixture, struct asked *asked, int32_t replicas,
                          int32_t gpus_each)
{
    submit_elastic(fixture, asked, replicas, gpus_each);
    engine_submit(fixture, asked, "e");
    engine_see(fixture, asked->id, TY_SEEN_RUNNING, 1);
    assert_state(fixture, asked->id, TY_JOB_RUNNING, TY_CAUSE_REPLICAS_STARTED);
}

static const struct ty_quota unlimited = {-1, -1, -1, -1};

static ty_status scale_within(struct engine_fixture *fixture, const char *id, int32_t replicas,
                              const struct ty_quota *quota, struct ty_error *err)
{
    const struct ty_scale asked = {
        .tenant = fixture->store.tenant, .job_id = id, .replicas = replicas, .quota = *quota};
    bool changed = false;
    ty_status status = ty_engine_scale(fixture->engine, &asked, &changed, err);
    (void)engine_settle(fixture);
    return status;
}

static void scale(struct engine_fixture *fixture, const char *id, int32_t replicas)
{
    struct ty_error err = {0};
    if (scale_within(fixture, id, replicas, &unlimited, &err) != TY_OK)
        fail_msg("scale to %d: %s", (int)replicas, err.text);
}

static void refused(struct engine_fixture *fixture, const char *id, int32_t replicas,
                    ty_status status, const char *code)
{
    struct ty_error err = {0};
    int32_t before = stored_replicas(fixture, id);
    int64_t revision = stored_revision(fixture, id);
    size_t calls = count_calls(fixture, CALL_SCALE, id);
    assert_int_equal(scale_within(fixture, id, replicas, &unlimited, &err), status);
    assert_string_equal(err.code, code);
    assert_int_equal(stored_replicas(fixture, id), before);
    assert_int_equal(stored_revision(fixture, id), revision);
    assert_int_equal(count_calls(fixture, CALL_SCALE, id), calls);
}

static void the_executor_is_told_of_each_size_once(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    start_elastic(fixture, &job, 1, 0);
    int64_t revision = stored_revision(fixture, job.id);
    scale(fixture, job.id, 3);
    assert_int_equal(last_call(fixture, CALL_SCALE)->replicas, 3);
    assert_int_equal(last_call(fixture, CALL_SCALE)->attempt, 1);
    assert_int_equal(stored_replicas(fixture, job.id), 3);
    assert_int_equal(stored_revision(fixture, job.id), revision + 1);
    size_t calls = count_calls(fixture, CALL_SCALE, job.id);
    scale(fixture, job.id, 3);
    engine_see(fixture, job.id, TY_SEEN_RUNNING, 1);
    engine_pass(fixture, 60000);
    assert_int_equal(count_calls(fixture, CALL_SCALE, job.id), calls);
    scale(fixture, job.id, 2);
    assert_int_equal(last_call(fixture, CALL_SCALE)->replicas, 2);
    assert_state(fixture, job.id, TY_JOB_RUNNING, TY_CAUSE_REPLICAS_STARTED);
}

static void a_call_that_fails_is_made_again(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    start_elastic(fixture, &job, 1, 0);
    fixture->script.answers[CALL_SCALE] = TY_UNAVAILABLE;
    scale(fixture, job.id, 4);
    fixture->script.answers[CALL_SCALE] = TY_OK;
    size_t calls = count_calls(fixture, CALL_SCALE, job.id);
    engine_pass(fixture, 60000);
    assert_int_equal(count_calls(fixture, CALL_SCALE, job.id), calls + 1);
    assert_int_equal(last_call(fixture, CALL_SCALE)->replicas, 4);
}

static void after_a_crash_the_executor_is_told_again(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    start_elastic(fixture, &job, 1, 0);
    const struct ty_scale asked = {
        .tenant = fixture->store.tenant, .job_id = job.id, .replicas = 5, .quota = unlimited};
    bool changed = false;
    struct ty_error err = {0};
    assert_int_equal(ty_engine_scale(fixture->engine, &asked, &changed, &err), TY_OK);
    assert_true(changed);
    engine_close(fixture); /* before its next step */
    size_t calls = count_calls(fixture, CALL_SCALE, job.id);
    engine_open(fixture);
    (void)engine_settle(fixture);
    assert_int_equal(count_calls(fixture, CALL_SCALE, job.id), calls + 1);
    assert_int_equal(last_call(fixture, CALL_SCALE)->replicas, 5);
}

static void without_a_run_the_number_waits_for_the_start(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    struct ty_error err = {0};
    submit_elastic(fixture, &job, 1, 0);
    job.submit.suspended = true;
    engine_submit(fixture, &job, "e");
    scale(fixture, job.id, 6);
    assert_int_equal(count_calls(fixture, CALL_SCALE, job.id), 0);
    assert_int_equal(
        ty_engine_act(fixture->engine, fixture->store.tenant, job.id, TY_SEEN_RESUME, "", 0, &err),
        TY_OK);
    (void)engine_settle(fixture);
    assert_int_equal(last_call(fixture, CALL_APPLY)->replicas, 6);
}

static void a_waiting_job_that_shrinks_enough_starts(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked big;
    struct asked job;
    start_elastic(fixture, &big, 6, 0);
    submit_elastic(fixture, &job, 3, 0);
    engine_submit(fixture, &job, "e");
    engine_pass(fixture, 2000);
    assert_state(fixture, job.id, TY_JOB_QUEUED, TY_CAUSE_WAITING_FOR_CAPACITY);
    scale(fixture, job.id, 2);
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    assert_int_equal(last_call(fixture, CALL_APPLY)->replicas, 2);
}

static void what_a_run_gives_back_is_anothers_and_the_books_stay_right(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked big;
    struct asked job;
    struct ty_engine_figures figures;
    start_elastic(fixture, &big, 4, 1);
    submit_elastic(fixture, &job, 2, 1);
    engine_submit(fixture, &job, "e");
    engine_pass(fixture, 2000);
    assert_state(fixture, job.id, TY_JOB_QUEUED, TY_CAUSE_WAITING_FOR_CAPACITY);
    scale(fixture, big.id, 2);
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    (void)engine_settle(fixture);
    ty_engine_figures(fixture->engine, &figures);
    assert_int_equal(figures.admitted_replicas, 4);
    assert_int_equal(figures.admitted_gpus, 4);
    engine_see(fixture, big.id, TY_SEEN_SUCCEEDED, 1);
    engine_see(fixture, job.id, TY_SEEN_SUCCEEDED, 1);
    ty_engine_figures(fixture->engine, &figures);
    assert_int_equal(figures.admitted_replicas, 0);
    assert_int_equal(figures.admitted_gpus, 0);
}

static void a_run_grows_only_within_what_is_free(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked one;
    struct asked other;
    start_elastic(fixture, &one, 1, 1);
    start_elastic(fixture, &other, 2, 0);
    refused(fixture, one.id, 5, TY_CONFLICT, "capacity_exceeded"); /* GPUs */
    scale(fixture, one.id, 4);
    refused(fixture, other.id, 5, TY_CONFLICT, "capacity_exceeded"); /* replicas */
    scale(fixture, other.id, 4);
}

static void a_run_grows_only_within_the_tenants_quota(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked one;
    struct asked other;
    struct ty_error err = {0};
    start_elastic(fixture, &one, 1, 1);
    start_elastic(fixture, &other, 1, 1);
    static const struct ty_quota cases[] = {
        {-1, -1, 3,  -1},
        {-1, -1, -1, 3 }
    };
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        assert_int_equal(scale_within(fixture, one.id, 3, &cases[i], &err), TY_LIMITED);
        assert_string_equal(err.code, "quota_exceeded");
        assert_int_equal(scale_within(fixture, one.id, 2, &cases[i], &err), TY_OK);
        assert_int_equal(scale_within(fixture, one.id, 1, &cases[i], &err), TY_OK);
    }
    static const struct ty_quota none = {0, 0, 0, 0};
    scale(fixture, one.id, 2);
    assert_int_equal(scale_within(fixture, one.id, 1, &none, &err), TY_OK); /* less is allowed */
}

static void what_cannot_be_scaled_says_why_and_stays(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked fixed = {0};
    struct asked job;
    struct ty_error err = {0};
    engine_submit(fixture, &fixed, "fixed");
    refused(fixture, fixed.id, 2, TY_CONFLICT, "job_not_elastic");
    start_elastic(fixture, &job, 2, 0);
    refused(fixture, job.id, 0, TY_REFUSED, "replicas_out_of_range");
    refused(fixture, job.id, 7, TY_REFUSED, "replicas_out_of_range");
    const struct ty_scale stale = {.tenant = fixture->store.tenant,
                                   .job_id = job.id,
                                   .replicas = 3,
                                   .if_revision = stored_revision(fixture, job.id) + 1,
                                   .quota = unlimited};
    bool changed = true;
    assert_int_equal(ty_engine_scale(fixture->engine, &stale, &changed, &err), TY_PRECONDITION);
    assert_true(changed); /* untouched */
    const struct ty_scale foreign = {
        .tenant = fixture->store.tenant + 1, .job_id = job.id, .replicas = 3, .quota = unlimited};
    assert_int_equal(ty_engine_scale(fixture->engine, &foreign, &changed, &err), TY_NOT_FOUND);
    assert_int_equal(
        ty_engine_act(fixture->engine, fixture->store.tenant, job.id, TY_SEEN_CANCEL, "", 0, &err),
        TY_OK);
    (void)engine_settle(fixture);
    refused(fixture, job.id, 3, TY_CONFLICT, "invalid_transition");
    engine_see(fixture, job.id, TY_SEEN_STOPPED, 1);
    refused(fixture, job.id, 3, TY_CONFLICT, "job_finished");
}

static void a_run_that_is_being_stopped_holds_its_room_until_it_is_over(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    struct ty_error err = {0};
    start_elastic(fixture, &job, 3, 0);
    assert_int_equal(
        ty_engine_act(fixture->engine, fixture->store.tenant, job.id, TY_SEEN_SUSPEND, "", 0, &err),
        TY_OK);
    (void)engine_settle(fixture);
    refused(fixture, job.id, 1, TY_CONFLICT, "invalid_transition");
    scale(fixture, job.id, 3);
    engine_see(fixture, job.id, TY_SEEN_STOPPED, 1);
    scale(fixture, job.id, 1);
}

static void a_run_that_is_being_stopped_is_not_told(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    struct ty_error err = {0};
    start_elastic(fixture, &job, 1, 0);
    assert_int_equal(
        ty_engine_act(fixture->engine, fixture->store.tenant, job.id, TY_SEEN_SUSPEND, "", 0, &err),
        TY_OK);
    (void)engine_settle(fixture);
    size_t calls = count_calls(fixture, CALL_SCALE, job.id);
    scale(fixture, job.id, 4);
    assert_int_equal(count_calls(fixture, CALL_SCALE, job.id), calls);
    engine_see(fixture, job.id, TY_SEEN_STOPPED, 1);
    assert_int_equal(
        ty_engine_act(fixture->engine, fixture->store.tenant, job.id, TY_SEEN_RESUME, "", 0, &err),
        TY_OK);
    (void)engine_settle(fixture);
    assert_int_equal(last_call(fixture, CALL_APPLY)->replicas, 4);
    assert_int_equal(last_call(fixture, CALL_APPLY)->attempt, 2);
    struct ty_engine_figures figures;
    ty_engine_figures(fixture->engine, &figures);
    assert_int_equal(figures.admitted_replicas, 4);
}

/* --- growing while others are judged --- */
struct growth {
    struct engine_fixture *fixture;
    const char *id;
    int32_t replicas;
};

/* Within a round of admission, which knows nothing of it. */
static void grow(void *context)
{
    const struct growth *growth = context;
    const struct ty_scale asked = {.tenant = growth->fixture->store.tenant,
                                   .job_id = growth->id,
                                   .replicas = growth->replicas,
                                   .quota = unlimited};
    bool changed = false;
    struct ty_error err = {0};
    assert_int_equal(ty_engine_scale(growth->fixture->engine, &asked, &changed, &err), TY_OK);
    assert_true(changed);
}

static void an_admission_judged_before_another_job_grew_is_judged_again(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked one;
    struct asked other;
    start_elastic(fixture, &one, 1, 0);
    struct growth growth = {fixture, one.id, 6};
    fixture->script.asked_context = &growth;
    fixture->script.asked_once = grow;
    submit_elastic(fixture, &other, 3, 0);
    engine_submit(fixture, &other, "e");
    assert_null(fixture->script.asked_once);
    engine_pass(fixture, 2000);
    assert_state(fixture, other.id, TY_JOB_QUEUED, TY_CAUSE_WAITING_FOR_CAPACITY);
    assert_int_equal(stored(fixture, other.id).attempt, 0);
    scale(fixture, one.id, 5);
    assert_state(fixture, other.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
}

#define SCALE(name) cmocka_unit_test_setup_teardown(name, engine_setup, engine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCALE(the_executor_is_told_of_each_size_once),
        SCALE(a_call_that_fails_is_made_again),
        SCALE(after_a_crash_the_executor_is_told_again),
        SCALE(without_a_run_the_number_waits_for_the_start),
        SCALE(a_waiting_job_that_shrinks_enough_starts),
        SCALE(what_a_run_gives_back_is_anothers_and_the_books_stay_right),
        SCALE(a_run_grows_only_within_what_is_free),
        SCALE(a_run_grows_only_within_the_tenants_quota),
        SCALE(what_cannot_be_scaled_says_why_and_stays),
        SCALE(a_run_that_is_being_stopped_holds_its_room_until_it_is_over),
        SCALE(a_run_that_is_being_stopped_is_not_told),
        SCALE(an_admission_judged_before_another_job_grew_is_judged_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
