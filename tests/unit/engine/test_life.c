/* The life of jobs, as the engine leads them through it. */
#include "engine_fixture.h"
#include "unit.h"

#include "trainyard/base/file.h"
#include "trainyard/base/str.h"
#include "trainyard/store/tenants.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_job_goes_from_submit_to_its_end_and_is_applied_once(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    engine_submit(fixture, &job, "a");
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    assert_int_equal(count_calls(fixture, CALL_APPLY, job.id), 1);
    assert_int_equal(last_call(fixture, CALL_APPLY)->attempt, 1);
    assert_string_equal(last_call(fixture, CALL_APPLY)->object_name, job.object_name);

    engine_see(fixture, job.id, TY_SEEN_STARTING, 1);
    engine_see(fixture, job.id, TY_SEEN_RUNNING, 1);
    assert_state(fixture, job.id, TY_JOB_RUNNING, TY_CAUSE_REPLICAS_STARTED);
    engine_see(fixture, job.id, TY_SEEN_SUCCEEDED, 1);
    assert_state(fixture, job.id, TY_JOB_SUCCEEDED, TY_CAUSE_COMPLETED);
    assert_int_equal(stored(fixture, job.id).sequence, 4);
    assert_false(stored(fixture, job.id).run_active);
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 1);
    assert_int_equal(count_calls(fixture, CALL_STOP, NULL), 0);
}

static void several_words_at_once_are_taken_in_order(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    engine_submit(fixture, &job, "a");
    static const ty_seen_kind kinds[] = {TY_SEEN_STARTING, TY_SEEN_RUNNING, TY_SEEN_SUCCEEDED,
                                         TY_SEEN_RUNNING, TY_SEEN_FAILED};
    for (size_t i = 0; i < UNIT_COUNT(kinds); i++) {
        struct ty_observation seen = {.kind = kinds[i], .attempt = 1, .at = 1};
        fixture->script.observer(fixture->script.context, job.id, &seen, NULL, 0);
    }
    (void)engine_settle(fixture);
    assert_state(fixture, job.id, TY_JOB_SUCCEEDED, TY_CAUSE_COMPLETED);
    assert_int_equal(stored(fixture, job.id).sequence, 4);
}

static void words_about_unknown_jobs_and_other_attempts_change_nothing(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    engine_submit(fixture, &job, "a");
    engine_see(fixture, "job_00000000000000000000000000", TY_SEEN_SUCCEEDED, 1);
    engine_see(fixture, job.id, TY_SEEN_SUCCEEDED, 2);
    engine_see(fixture, job.id, TY_SEEN_FAILED, 0);
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    engine_see(fixture, job.id, TY_SEEN_RUNNING, 1);
    engine_see(fixture, job.id, TY_SEEN_SUCCEEDED, 1);
    int64_t revision = stored_revision(fixture, job.id);
    engine_see(fixture, job.id, TY_SEEN_RUNNING, 1); /* after its end */
    assert_int_equal(stored_revision(fixture, job.id), revision);
}

static void an_apply_that_fails_is_repeated_within_its_window_and_not_before(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    fixture->script.answers[CALL_APPLY] = TY_UNAVAILABLE;
    engine_submit(fixture, &job, "a");
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 1);
    (void)engine_settle(fixture);
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 1);
    engine_pass(fixture, 1001);
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 2);
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED); /* no news is no bad news */
    fixture->script.answers[CALL_APPLY] = TY_OK;
    engine_pass(fixture, 2001);
    engine_pass(fixture, 100000);
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 3);
}

static void a_refused_apply_fails_the_job_with_its_cause_and_clears_up(void **state)
{
    struct engine_fixture *fixture = *state;
    static const struct {
        const char *code;
        ty_job_cause cause;
    } cases[] = {
        {"image_name_invalid", TY_CAUSE_IMAGE_NAME_INVALID},
        {"no_such_cause",      TY_CAUSE_SPEC_REJECTED     },
        {"",                   TY_CAUSE_SPEC_REJECTED     },
        {"object_conflict",    TY_CAUSE_OBJECT_CONFLICT   }
    };
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct asked job = {0};
        fixture->script.answers[CALL_APPLY] = TY_REFUSED;
        fixture->script.code = cases[i].code;
        engine_submit(fixture, &job, "a");
        assert_state(fixture, job.id, TY_JOB_FAILED, cases[i].cause);
        assert_string_equal(stored(fixture, job.id).message, "as the script says");
        assert_int_equal(count_calls(fixture, CALL_STOP, job.id), 1);
        engine_see(fixture, job.id, TY_SEEN_GONE, 1);
        assert_false(stored(fixture, job.id).run_active);
    }
}

static void a_spec_that_cannot_be_rendered_fails_with_the_place(void **state)
{
    struct engine_fixture *fixture = *state;
    static const char spec[] =
        "{\"name\":\"too-large\",\"image\":\"python:3\",\"script\":\"print(1)\"}";
    struct asked job;
    asked_init(fixture, &job, "too-large");
    job.submit.insert.spec = spec;
    job.submit.insert.spec_len = sizeof(spec) - 1;
    engine_submit(fixture, &job, "too-large");
    assert_state(fixture, job.id, TY_JOB_FAILED, TY_CAUSE_SPEC_REJECTED);
    assert_string_equal(stored(fixture, job.id).message, "/script: too many bytes");
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 0);
}

static void a_stored_spec_that_cannot_be_read_is_the_gateways_fault(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    asked_init(fixture, &job, "a");
    job.submit.insert.spec = "{\"name\":";
    job.submit.insert.spec_len = strlen(job.submit.insert.spec);
    engine_submit(fixture, &job, "a");
    assert_state(fixture, job.id, TY_JOB_FAILED, TY_CAUSE_GATEWAY_ERROR);
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 0);
}

static void a_deadline_stops_the_run_and_fails_the_job(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    asked_init(fixture, &job, "a");
    job.submit.insert.record.timeout_seconds = 60;
    engine_submit(fixture, &job, "a");
    engine_see(fixture, job.id, TY_SEEN_RUNNING, 1);
    engine_pass(fixture, 59000);
    assert_state(fixture, job.id, TY_JOB_RUNNING, TY_CAUSE_REPLICAS_STARTED);
    engine_pass(fixture, 1001);
    assert_state(fixture, job.id, TY_JOB_CANCELLING, TY_CAUSE_DEADLINE_EXCEEDED);
    assert_int_equal(count_calls(fixture, CALL_STOP, job.id), 1);
    engine_see(fixture, job.id, TY_SEEN_STOPPED, 1);
    assert_state(fixture, job.id, TY_JOB_FAILED, TY_CAUSE_DEADLINE_EXCEEDED);
}

static void see_cause(struct engine_fixture *fixture, const char *id, ty_job_cause cause)
{
    struct ty_observation seen = {.kind = TY_SEEN_STARTING, .attempt = 1, .cause = cause};
    ty_str_copy(seen.message, sizeof(seen.message), "so and so");
    engine_see_more(fixture, id, &seen);
}

/* With a start deadline of ten minutes, which only a new engine knows. */
static void give_start_deadline(struct engine_fixture *fixture)
{
    fixture->options.start_deadline_us = INT64_C(600000000);
    engine_close(fixture);
    engine_open(fixture);
    (void)engine_settle(fixture);
}

static void a_fault_may_keep_a_job_from_starting_until_the_start_deadline(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[3] = {0};
    give_start_deadline(fixture);
    for (size_t i = 0; i < UNIT_COUNT(jobs); i++)
        engine_submit(fixture, &jobs[i], "a");
    see_cause(fixture, jobs[0].id, TY_CAUSE_VOLUME_NOT_FOUND);
    see_cause(fixture, jobs[1].id, TY_CAUSE_MOUNT_FAILED);
    see_cause(fixture, jobs[2].id, TY_CAUSE_IMAGE_PULL_FAILED);
    engine_pass(fixture, 300000);
    see_cause(fixture, jobs[1].id, TY_CAUSE_IMAGE_PULL_FAILED); /* another fault, no new time */
    engine_see(fixture, jobs[2].id, TY_SEEN_RUNNING, 1);        /* mended */
    engine_pass(fixture, 299000);
    assert_state(fixture, jobs[1].id, TY_JOB_STARTING, TY_CAUSE_IMAGE_PULL_FAILED);
    engine_pass(fixture, 1001);
    assert_state(fixture, jobs[1].id, TY_JOB_CANCELLING, TY_CAUSE_DEADLINE_EXCEEDED);
    assert_int_equal(count_calls(fixture, CALL_STOP, jobs[1].id), 1);
    engine_see(fixture, jobs[1].id, TY_SEEN_STOPPED, 1);
    assert_state(fixture, jobs[1].id, TY_JOB_FAILED, TY_CAUSE_DEADLINE_EXCEEDED);
    assert_string_equal(stored(fixture, jobs[1].id).message,
                        "not started within 600 s: image_pull_failed: so and so");
    engine_pass(fixture, 86400000);
    assert_state(fixture, jobs[0].id, TY_JOB_STARTING, TY_CAUSE_VOLUME_NOT_FOUND);
    assert_state(fixture, jobs[2].id, TY_JOB_RUNNING, TY_CAUSE_REPLICAS_STARTED);
    see_cause(fixture, jobs[0].id, TY_CAUSE_MOUNT_FAILED); /* from here on only */
    engine_pass(fixture, 599000);
    assert_state(fixture, jobs[0].id, TY_JOB_STARTING, TY_CAUSE_MOUNT_FAILED);
    engine_pass(fixture, 1001);
    assert_state(fixture, jobs[0].id, TY_JOB_CANCELLING, TY_CAUSE_DEADLINE_EXCEEDED);
}

static void a_start_deadline_outlives_the_engine_and_leaves_a_new_one_a_minute(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[2] = {0};
    give_start_deadline(fixture);
    engine_submit(fixture, &jobs[0], "a");
    see_cause(fixture, jobs[0].id, TY_CAUSE_MOUNT_FAILED);
    engine_pass(fixture, 400000);
    engine_submit(fixture, &jobs[1], "b");
    see_cause(fixture, jobs[1].id, TY_CAUSE_MOUNT_FAILED);
    engine_close(fixture);
    atomic_fetch_add(&fixture->store.time.wall_us, INT64_C(250000000));
    atomic_fetch_add(&fixture->store.time.monotonic_ms, 250000);
    engine_open(fixture);
    (void)engine_settle(fixture);
    engine_pass(fixture, 59000);
    assert_state(fixture, jobs[0].id, TY_JOB_STARTING, TY_CAUSE_MOUNT_FAILED);
    engine_pass(fixture, 1001);
    assert_state(fixture, jobs[0].id, TY_JOB_CANCELLING, TY_CAUSE_DEADLINE_EXCEEDED);
    engine_pass(fixture, 288000);
    assert_state(fixture, jobs[1].id, TY_JOB_STARTING, TY_CAUSE_MOUNT_FAILED);
    engine_pass(fixture, 2001);
    assert_state(fixture, jobs[1].id, TY_JOB_CANCELLING, TY_CAUSE_DEADLINE_EXCEEDED);
}

static void without_a_start_deadline_a_fault_is_waited_out(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    engine_submit(fixture, &job, "a");
    see_cause(fixture, job.id, TY_CAUSE_MOUNT_FAILED);
    engine_pass(fixture, 86400000);
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_MOUNT_FAILED);
}

static void a_deadline_follows_a_clock_that_is_set(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    asked_init(fixture, &job, "a");
    job.submit.insert.record.timeout_seconds = 7200;
    engine_submit(fixture, &job, "a");
    atomic_fetch_add(&fixture->store.time.wall_us, INT64_C(7201000000)); /* wall alone */
    engine_pass(fixture, 1);
    assert_state(fixture, job.id, TY_JOB_CANCELLING, TY_CAUSE_DEADLINE_EXCEEDED);
}

static void an_unanswered_stop_is_asked_again(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_error err = {0};
    engine_submit(fixture, &job, "a");
    fixture->script.answers[CALL_STOP] = TY_UNAVAILABLE;
    assert_int_equal(
        ty_engine_act(fixture->engine, fixture->store.tenant, job.id, TY_SEEN_CANCEL, "", 0, &err),
        TY_OK);
    (void)engine_settle(fixture);
    assert_int_equal(count_calls(fixture, CALL_STOP, NULL), 1);
    fixture->script.answers[CALL_STOP] = TY_OK;
    engine_pass(fixture, 1001);
    assert_int_equal(count_calls(fixture, CALL_STOP, NULL), 2);
    engine_pass(fixture, 29000);
    assert_int_equal(count_calls(fixture, CALL_STOP, NULL), 2);
    engine_pass(fixture, 1001);
    assert_int_equal(count_calls(fixture, CALL_STOP, NULL), 3);
    engine_see(fixture, job.id, TY_SEEN_STOPPED, 1);
    engine_pass(fixture, 120000);
    assert_int_equal(count_calls(fixture, CALL_STOP, NULL), 3);
}

static void
a_suspended_job_goes_on_with_a_new_attempt_only_after_the_old_one_has_ended(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_error err = {0};
    int64_t tenant = fixture->store.tenant;
    engine_submit(fixture, &job, "a");
    engine_see(fixture, job.id, TY_SEEN_RUNNING, 1);
    assert_int_equal(ty_engine_act(fixture->engine, tenant, job.id, TY_SEEN_SUSPEND, "", 0, &err),
                     TY_OK);
    assert_int_equal(ty_engine_act(fixture->engine, tenant, job.id, TY_SEEN_RESUME, "", 0, &err),
                     TY_OK);
    (void)engine_settle(fixture);
    assert_state(fixture, job.id, TY_JOB_QUEUED, TY_CAUSE_RESUMED_BY_USER);
    assert_int_equal(count_calls(fixture, CALL_STOP, job.id), 1);
    assert_int_equal(count_calls(fixture, CALL_APPLY, job.id), 1);
    engine_see(fixture, job.id, TY_SEEN_STOPPED, 1);
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    assert_int_equal(count_calls(fixture, CALL_APPLY, job.id), 2);
    assert_int_equal(last_call(fixture, CALL_APPLY)->attempt, 2);
}

static void what_waits_is_told_why_and_where_it_stands(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[4] = {0};
    static const int32_t replicas[] = {6, 4, 1, 9};
    for (size_t i = 0; i < 4; i++) {
        asked_init(fixture, &jobs[i], "a");
        jobs[i].submit.insert.record.replicas = replicas[i];
        engine_submit(fixture, &jobs[i], "a");
    }
    assert_state(fixture, jobs[0].id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    assert_int_equal(ty_engine_queue_position(fixture->engine, jobs[0].id), 0);
    assert_state(fixture, jobs[1].id, TY_JOB_QUEUED, TY_CAUSE_SUBMITTED); /* not told at once */
    engine_pass(fixture, 1001);
    for (size_t i = 1; i < 4; i++) {
        assert_state(fixture, jobs[i].id, TY_JOB_QUEUED, TY_CAUSE_WAITING_FOR_CAPACITY);
        assert_int_equal(ty_engine_queue_position(fixture->engine, jobs[i].id), (int64_t)i);
    }
    assert_non_null(strstr(stored(fixture, jobs[3].id).message, "9 replicas"));
    assert_non_null(strstr(stored(fixture, jobs[3].id).message, "has in all"));

    struct ty_engine_figures figures;
    ty_engine_figures(fixture->engine, &figures);
    assert_int_equal(figures.live_jobs[TY_JOB_QUEUED], 3);
    assert_int_equal(figures.live_jobs[TY_JOB_STARTING], 1);
    assert_int_equal(figures.admitted_replicas, 6);

    engine_see(fixture, jobs[0].id, TY_SEEN_SUCCEEDED, 1);
    assert_state(fixture, jobs[1].id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    assert_state(fixture, jobs[2].id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    assert_int_equal(ty_engine_queue_position(fixture->engine, jobs[3].id), 1);
}

static ty_status set_quota(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct ty_tenant_record tenant;
    ty_status status = ty_tenants_find(writer, TY_TENANT_DEFAULT, &tenant, err);
    if (status != TY_OK)
        return status;
    tenant.quota.max_replicas = *(const int32_t *)context;
    return ty_tenants_save(writer, &tenant, err);
}

static void a_quota_holds_and_a_change_of_it_is_noticed_when_poked(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[2] = {0};
    struct ty_error err = {0};
    int32_t replicas = 1;
    assert_int_equal(store_apply(fixture->store.store, set_quota, &replicas, &err), TY_OK);
    engine_submit(fixture, &jobs[0], "a");
    engine_submit(fixture, &jobs[1], "b");
    engine_pass(fixture, 1001);
    assert_state(fixture, jobs[0].id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    assert_state(fixture, jobs[1].id, TY_JOB_QUEUED, TY_CAUSE_WAITING_FOR_QUOTA);
    replicas = 2;
    assert_int_equal(store_apply(fixture->store.store, set_quota, &replicas, &err), TY_OK);
    engine_pass(fixture, 60000);
    assert_state(fixture, jobs[1].id, TY_JOB_QUEUED, TY_CAUSE_WAITING_FOR_QUOTA);
    ty_engine_poke(fixture->engine);
    (void)engine_settle(fixture);
    assert_state(fixture, jobs[1].id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
}

static void more_room_is_noticed_when_poked(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    fixture->script.capacity.gpus = 0;
    asked_init(fixture, &job, "a");
    job.submit.insert.record.gpus = 1;
    engine_submit(fixture, &job, "a");
    engine_pass(fixture, 60000);
    assert_state(fixture, job.id, TY_JOB_QUEUED, TY_CAUSE_WAITING_FOR_CAPACITY);
    fixture->script.capacity.gpus = 1;
    ty_engine_poke(fixture->engine);
    (void)engine_settle(fixture);
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
}

static void a_job_that_waits_for_a_claim_is_applied_again_when_poked(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    engine_submit(fixture, &job, "a");
    engine_see_more(fixture, job.id,
                    &(struct ty_observation){.kind = TY_SEEN_STARTING,
                                             .attempt = 1,
                                             .cause = TY_CAUSE_VOLUME_NOT_FOUND});
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 1);
    ty_engine_poke(fixture->engine);
    (void)engine_settle(fixture);
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 2);
}

/* --- after a crash --- */
static void a_new_engine_takes_up_what_it_finds(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked starting = {0};
    struct asked running = {0};
    struct ty_error err = {0};
    struct asked stopping = {0};
    engine_submit(fixture, &starting, "a");
    engine_submit(fixture, &running, "b");
    engine_submit(fixture, &stopping, "c");
    engine_see(fixture, running.id, TY_SEEN_RUNNING, 1);
    assert_int_equal(ty_engine_act(fixture->engine, fixture->store.tenant, stopping.id,
                                   TY_SEEN_CANCEL, "", 0, &err),
                     TY_OK);
    (void)engine_settle(fixture);
    engine_close(fixture);
    fixture->script.calls_count = 0;

    engine_open(fixture);
    (void)engine_settle(fixture);
    assert_int_equal(count_calls(fixture, CALL_APPLY, starting.id), 1);
    assert_int_equal(last_call(fixture, CALL_APPLY)->attempt, 1);
    assert_int_equal(count_calls(fixture, CALL_APPLY, running.id), 0);
    assert_int_equal(count_calls(fixture, CALL_CHECK, running.id), 1);
    assert_int_equal(count_calls(fixture, CALL_STOP, stopping.id), 1);
    struct ty_engine_figures figures;
    ty_engine_figures(fixture->engine, &figures);
    assert_int_equal(figures.admitted_replicas, 3);
    engine_see(fixture, running.id, TY_SEEN_GONE, 1);
    assert_state(fixture, running.id, TY_JOB_LOST, TY_CAUSE_OBJECT_DELETED);
}

/* --- retries that only the gateway counts --- */
static void the_limit_of_restarts_by_exit_code_is_the_gateways_and_survives_it(void **state)
{
    struct engine_fixture *fixture = *state;
    static const char spec[] = "{\"name\":\"a\",\"image\":\"python:3\",\"script\":\"print(1)\","
                               "\"restart\":\"exit_code\",\"max_retries\":1}";
    struct asked job;
    asked_init(fixture, &job, "a");
    job.submit.insert.spec = spec;
    job.submit.insert.spec_len = sizeof(spec) - 1;
    engine_submit(fixture, &job, "a");
    engine_see_more(
        fixture, job.id,
        &(struct ty_observation){.kind = TY_SEEN_RESTARTING, .attempt = 1, .restarts = 1});
    assert_state(fixture, job.id, TY_JOB_RESTARTING, TY_CAUSE_REPLICA_RESTARTED);
    engine_close(fixture);
    engine_open(fixture);
    (void)engine_settle(fixture);
    engine_see_more(
        fixture, job.id,
        &(struct ty_observation){.kind = TY_SEEN_RESTARTING, .attempt = 1, .restarts = 2});
    assert_state(fixture, job.id, TY_JOB_CANCELLING, TY_CAUSE_RETRY_LIMIT_EXCEEDED);
    assert_int_equal(stored(fixture, job.id).restarts, 2);
    engine_see(fixture, job.id, TY_SEEN_STOPPED, 1);
    assert_state(fixture, job.id, TY_JOB_FAILED, TY_CAUSE_RETRY_LIMIT_EXCEEDED);
}

/* --- going on from a checkpoint --- */
static void make_file(int folder, const char *name, const char *text)
{
    struct ty_error err = {0};
    assert_int_equal(ty_file_write(folder, name, text, strlen(text), 0600, &err), TY_OK);
}

static void a_job_that_resumes_is_given_its_newest_complete_checkpoint(void **state)
{
    struct engine_fixture *fixture = *state;
    static const char spec[] =
        "{\"name\":\"a\",\"image\":\"python:3\",\"script\":\"print(1)\","
        "\"checkpoints\":{\"volume\":\"ck\",\"path\":\"run\",\"resume\":true}}";
    struct asked jobs[2];
    struct ty_error err = {0};
    int root = open(fixture->store.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int folder = -1;
    assert_true(root >= 0);
    for (size_t i = 0; i < 2; i++) {
        asked_init(fixture, &jobs[i], "a");
        jobs[i].submit.insert.spec = spec;
        jobs[i].submit.insert.spec_len = sizeof(spec) - 1;
    }
    engine_submit(fixture, &jobs[0], "a"); /* no claim yet */
    assert_string_equal(last_call(fixture, CALL_APPLY)->text, "");

    assert_int_equal(ty_folder_open(root, "run", true, &folder, &err), TY_OK);
    make_file(folder, "ckpt-9.pt", "old");
    make_file(folder, "ckpt-10.pt", "new");
    make_file(folder, "ckpt-11.pt.tmp", "half");
    make_file(folder, "ckpt-12.pt", "");
    const struct timespec same[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(folder, "ckpt-9.pt", same, 0), 0);
    assert_int_equal(utimensat(folder, "ckpt-10.pt", same, 0), 0);
    fixture->script.claim_fd = root;
    engine_submit(fixture, &jobs[1], "a");
    assert_string_equal(last_call(fixture, CALL_APPLY)->text, "/checkpoints/run/ckpt-10.pt");
    close(folder);
    close(root);
}

#define LIFE(name) cmocka_unit_test_setup_teardown(name, engine_setup, engine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(a_job_goes_from_submit_to_its_end_and_is_applied_once),
        LIFE(several_words_at_once_are_taken_in_order),
        LIFE(words_about_unknown_jobs_and_other_attempts_change_nothing),
        LIFE(an_apply_that_fails_is_repeated_within_its_window_and_not_before),
        LIFE(a_refused_apply_fails_the_job_with_its_cause_and_clears_up),
        LIFE(a_spec_that_cannot_be_rendered_fails_with_the_place),
        LIFE(a_stored_spec_that_cannot_be_read_is_the_gateways_fault),
        LIFE(a_deadline_stops_the_run_and_fails_the_job),
        LIFE(a_deadline_follows_a_clock_that_is_set),
        LIFE(a_fault_may_keep_a_job_from_starting_until_the_start_deadline),
        LIFE(a_start_deadline_outlives_the_engine_and_leaves_a_new_one_a_minute),
        LIFE(without_a_start_deadline_a_fault_is_waited_out),
        LIFE(an_unanswered_stop_is_asked_again),
        LIFE(a_suspended_job_goes_on_with_a_new_attempt_only_after_the_old_one_has_ended),
        LIFE(what_waits_is_told_why_and_where_it_stands),
        LIFE(a_quota_holds_and_a_change_of_it_is_noticed_when_poked),
        LIFE(more_room_is_noticed_when_poked),
        LIFE(a_job_that_waits_for_a_claim_is_applied_again_when_poked),
        LIFE(a_new_engine_takes_up_what_it_finds),
        LIFE(the_limit_of_restarts_by_exit_code_is_the_gateways_and_survives_it),
        LIFE(a_job_that_resumes_is_given_its_newest_complete_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
