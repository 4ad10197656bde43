/* What clients ask for: submits, batches, cancel and its kin, removal; and retention. */
#include "engine_fixture.h"
#include "unit.h"

#include "trainyard/base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- submitting --- */
static void with_key(struct asked *asked, const char *key, unsigned char body)
{
    asked->submit.idempotency_key = key;
    asked->submit.idempotency_route = "POST /v1/jobs";
    asked->submit.fingerprint[0] = body;
}

static void send(struct engine_fixture *fixture, struct asked *asked)
{
    struct ty_error err = {0};
    assert_int_equal(ty_engine_submit(fixture->engine, &asked->submit, &err), TY_OK);
    assert_int_equal(asked->answers, 0); /* never before the commit */
    (void)ty_store_drain(fixture->store.store);
    assert_int_equal(asked->answers, 1);
}

static void a_key_used_again_gives_the_first_job_and_makes_no_other(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked first;
    struct asked again;
    asked_init(fixture, &first, "a");
    asked_init(fixture, &again, "a");
    with_key(&first, "k", 1);
    with_key(&again, "k", 1);
    send(fixture, &first);
    assert_int_equal(first.status, TY_OK);
    assert_false(first.submit.replayed);
    send(fixture, &again);
    assert_int_equal(again.status, TY_OK);
    assert_true(again.submit.replayed);
    assert_string_equal(again.submit.replayed_id, first.id);
    (void)engine_settle(fixture);
    assert_false(is_stored(fixture, again.id));
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 1);
}

static void a_key_of_another_body_is_a_conflict(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked first;
    struct asked other;
    asked_init(fixture, &first, "a");
    asked_init(fixture, &other, "a");
    with_key(&first, "k", 1);
    with_key(&other, "k", 2);
    send(fixture, &first);
    send(fixture, &other);
    assert_int_equal(other.status, TY_CONFLICT);
    assert_string_equal(other.code, "idempotency_key_reused");
    assert_false(is_stored(fixture, other.id));
}

static void a_submit_beyond_the_queued_quota_is_refused_and_unknown_to_the_engine(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[2];
    for (size_t i = 0; i < 2; i++) {
        asked_init(fixture, &jobs[i], "a");
        jobs[i].submit.quota.max_queued = 1;
        send(fixture, &jobs[i]);
    }
    assert_int_equal(jobs[0].status, TY_OK);
    assert_int_equal(jobs[1].status, TY_LIMITED);
    assert_string_equal(jobs[1].code, "quota_exceeded");
    (void)engine_settle(fixture);
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 1);
}

static void a_taken_object_name_is_a_conflict(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[2];
    asked_init(fixture, &jobs[0], "a");
    asked_init(fixture, &jobs[1], "a");
    jobs[1].submit.insert.record.object_name = jobs[0].object_name;
    send(fixture, &jobs[0]);
    send(fixture, &jobs[1]);
    assert_int_equal(jobs[1].status, TY_CONFLICT);
    assert_string_equal(jobs[1].code, "object_name_taken");
}

static void a_suspended_submit_waits_for_its_resume(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    struct ty_error err = {0};
    asked_init(fixture, &job, "a");
    job.submit.suspended = true;
    engine_submit(fixture, &job, "a");
    engine_pass(fixture, 3600000);
    assert_state(fixture, job.id, TY_JOB_SUSPENDED, TY_CAUSE_SUSPENDED_BY_USER);
    assert_int_equal(
        ty_engine_act(fixture->engine, fixture->store.tenant, job.id, TY_SEEN_RESUME, "", 0, &err),
        TY_OK);
    (void)engine_settle(fixture);
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
}

static void each_job_of_a_batch_is_judged_alone_in_one_commit(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[4];
    struct ty_submit *submits[4];
    struct ty_error err = {0};
    struct ty_store_figures before;
    struct ty_store_figures after;
    for (size_t i = 0; i < 4; i++) {
        asked_init(fixture, &jobs[i], "a");
        jobs[i].submit.quota.max_queued = 2;
        submits[i] = &jobs[i].submit;
    }
    jobs[1].submit.insert.record.object_name = jobs[0].object_name;
    ty_store_figures(fixture->store.store, &before);
    assert_int_equal(ty_engine_submit_batch(fixture->engine, submits, 4, &err), TY_OK);
    (void)ty_store_drain(fixture->store.store);
    ty_store_figures(fixture->store.store, &after);
    assert_int_equal(after.commits - before.commits, 1);
    static const ty_status expected[] = {TY_OK, TY_CONFLICT, TY_OK, TY_LIMITED};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(jobs[i].answers, 1);
        assert_int_equal(jobs[i].status, expected[i]);
        assert_int_equal(is_stored(fixture, jobs[i].id), expected[i] == TY_OK);
    }
    (void)engine_settle(fixture);
    assert_int_equal(count_calls(fixture, CALL_APPLY, NULL), 2);
}

static void a_full_store_refuses_a_submit_at_once(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[3];
    struct ty_error err = {0};
    engine_close(fixture);
    store_fixture_close(&fixture->store);
    fixture->store.options.queue_capacity = 2;
    store_fixture_open(&fixture->store);
    engine_open(fixture);
    for (size_t i = 0; i < 3; i++)
        asked_init(fixture, &jobs[i], "a");
    assert_int_equal(ty_engine_submit(fixture->engine, &jobs[0].submit, &err), TY_OK);
    assert_int_equal(ty_engine_submit(fixture->engine, &jobs[1].submit, &err), TY_OK);
    assert_int_equal(ty_engine_submit(fixture->engine, &jobs[2].submit, &err), TY_UNAVAILABLE);
    assert_string_equal(err.code, "write_queue_full");
    assert_int_equal(jobs[2].answers, 0);
    struct ty_submit *batch[] = {&jobs[2].submit};
    assert_int_equal(ty_engine_submit_batch(fixture->engine, batch, 1, &err), TY_UNAVAILABLE);
    assert_int_equal(jobs[2].answers, 0);
    (void)ty_store_drain(fixture->store.store);
    assert_int_equal(jobs[0].answers + jobs[1].answers, 2);
    assert_int_equal(jobs[2].answers, 0);
}

static void a_word_is_kept_while_the_store_takes_nothing(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct asked fillers[2];
    struct ty_error err = {0};
    engine_close(fixture);
    store_fixture_close(&fixture->store);
    fixture->store.options.queue_capacity = 2;
    store_fixture_open(&fixture->store);
    engine_open(fixture);
    engine_submit(fixture, &job, "a");
    for (size_t i = 0; i < 2; i++) { /* the queue is full when the word comes */
        asked_init(fixture, &fillers[i], "b");
        assert_int_equal(ty_engine_submit(fixture->engine, &fillers[i].submit, &err), TY_OK);
    }
    struct ty_observation seen = {.kind = TY_SEEN_RUNNING, .attempt = 1, .at = 1};
    fixture->script.observer(fixture->script.context, job.id, &seen, NULL, 0);
    (void)ty_engine_step(fixture->engine, atomic_load(&fixture->store.time.wall_us));
    (void)ty_store_drain(fixture->store.store);
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
    engine_pass(fixture, 1001);
    assert_state(fixture, job.id, TY_JOB_RUNNING, TY_CAUSE_REPLICAS_STARTED);
}

/* --- acting --- */
static ty_status act(struct engine_fixture *fixture, const char *id, ty_seen_kind kind,
                     int64_t revision, struct ty_error *err)
{
    return ty_engine_act(fixture->engine, fixture->store.tenant, id, kind, "", revision, err);
}

static void actions_that_a_state_forbids_say_so_and_change_nothing(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_error err = {0};
    engine_submit(fixture, &job, "a");
    assert_int_equal(act(fixture, job.id, TY_SEEN_CANCEL, 0, &err), TY_OK);
    (void)engine_settle(fixture);
    assert_int_equal(act(fixture, job.id, TY_SEEN_CANCEL, 0, &err), TY_OK); /* is on its way */
    assert_int_equal(act(fixture, job.id, TY_SEEN_SUSPEND, 0, &err), TY_CONFLICT);
    assert_string_equal(err.code, "invalid_transition");
    engine_see(fixture, job.id, TY_SEEN_SUCCEEDED, 1); /* was faster */
    int64_t revision = stored_revision(fixture, job.id);
    assert_int_equal(act(fixture, job.id, TY_SEEN_CANCEL, 0, &err), TY_CONFLICT);
    assert_string_equal(err.code, "job_finished");
    assert_int_equal(stored_revision(fixture, job.id), revision);
}

static void a_job_of_another_tenant_is_unknown(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_error err = {0};
    bool pending = true;
    engine_submit(fixture, &job, "a");
    assert_int_equal(ty_engine_act(fixture->engine, fixture->store.tenant + 1, job.id,
                                   TY_SEEN_CANCEL, "", 0, &err),
                     TY_NOT_FOUND);
    assert_int_equal(ty_engine_delete(fixture->engine, fixture->store.tenant + 1, job.id, true, 0,
                                      &pending, &err),
                     TY_NOT_FOUND);
    assert_true(pending); /* untouched */
    assert_state(fixture, job.id, TY_JOB_STARTING, TY_CAUSE_ADMITTED);
}

static void a_stale_revision_has_no_effect_at_all(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_error err = {0};
    bool pending;
    engine_submit(fixture, &job, "a");
    int64_t revision = stored_revision(fixture, job.id);
    assert_int_equal(act(fixture, job.id, TY_SEEN_CANCEL, revision - 1, &err), TY_PRECONDITION);
    assert_int_equal(act(fixture, job.id, TY_SEEN_CANCEL, revision, &err), TY_OK);
    (void)engine_settle(fixture);
    engine_see(fixture, job.id, TY_SEEN_STOPPED, 1);
    assert_int_equal(ty_engine_delete(fixture->engine, fixture->store.tenant, job.id, false,
                                      revision, &pending, &err),
                     TY_PRECONDITION);
    assert_int_equal(count_calls(fixture, CALL_REMOVE, NULL), 0);
    assert_true(is_stored(fixture, job.id));
}

static void a_queued_job_is_cancelled_without_troubling_the_executor(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;
    struct ty_error err = {0};
    asked_init(fixture, &job, "a");
    job.submit.insert.record.replicas = 9;
    engine_submit(fixture, &job, "a");
    assert_int_equal(act(fixture, job.id, TY_SEEN_CANCEL, 0, &err), TY_OK);
    (void)engine_settle(fixture);
    assert_state(fixture, job.id, TY_JOB_CANCELLED, TY_CAUSE_CANCELLED_BY_USER);
    assert_int_equal(fixture->script.calls_count, 0);
}

/* --- removing --- */
static void make_logs(struct engine_fixture *fixture, const char *id)
{
    char path[256];
    struct ty_error err = {0};
    (void)snprintf(path, sizeof(path), "%s/logs/%s", fixture->store.folder, id);
    assert_int_equal(ty_folder_make(path, &err), TY_OK);
}

static bool has_logs(struct engine_fixture *fixture, const char *id)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/logs/%s", fixture->store.folder, id);
    return access(path, F_OK) == 0;
}

static bool nothing_set_aside(struct engine_fixture *fixture, const char *id)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/logs/.removed/%s", fixture->store.folder, id);
    return access(path, F_OK) != 0;
}

static void submit_and_end(struct engine_fixture *fixture, struct asked *job)
{
    engine_submit(fixture, job, "a");
    engine_see(fixture, job->id, TY_SEEN_SUCCEEDED, 1);
    make_logs(fixture, job->id);
}

static ty_status remove_job(struct engine_fixture *fixture, const char *id, bool force,
                            bool *pending, struct ty_error *err)
{
    return ty_engine_delete(fixture->engine, fixture->store.tenant, id, force, 0, pending, err);
}

static void a_finished_job_goes_with_its_run_its_logs_and_its_own_claim(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_error err = {0};
    char claim[128];
    bool pending = true;
    submit_and_end(fixture, &job);
    assert_int_equal(remove_job(fixture, job.id, false, &pending, &err), TY_OK);
    assert_false(pending);
    assert_false(is_stored(fixture, job.id));
    assert_int_equal(count_calls(fixture, CALL_REMOVE, job.id), 1);
    assert_false(has_logs(fixture, job.id));
    assert_true(nothing_set_aside(fixture, job.id));
    (void)snprintf(claim, sizeof(claim), "%s-output", job.object_name);
    assert_string_equal(last_call(fixture, CALL_REMOVE_CLAIM)->text, claim);
    assert_int_equal(remove_job(fixture, job.id, false, &pending, &err), TY_NOT_FOUND);
}

static void a_claim_that_a_live_job_names_stays(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct asked user;
    struct ty_error err = {0};
    char claim[128];
    const char *claims[] = {claim};
    bool pending;
    submit_and_end(fixture, &job);
    (void)snprintf(claim, sizeof(claim), "%s-output", job.object_name);
    asked_init(fixture, &user, "b");
    user.submit.insert.claims = claims;
    user.submit.insert.claims_count = 1;
    engine_submit(fixture, &user, "b");
    assert_int_equal(remove_job(fixture, job.id, false, &pending, &err), TY_OK);
    assert_int_equal(count_calls(fixture, CALL_REMOVE_CLAIM, NULL), 0);
}

static void a_live_job_is_not_removed(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_error err = {0};
    bool pending = true;
    engine_submit(fixture, &job, "a");
    make_logs(fixture, job.id);
    assert_int_equal(remove_job(fixture, job.id, false, &pending, &err), TY_CONFLICT);
    assert_string_equal(err.code, "job_active");
    assert_true(pending); /* untouched */
    assert_true(has_logs(fixture, job.id));
    assert_int_equal(count_calls(fixture, CALL_REMOVE, NULL), 0);
}

static void a_forced_removal_waits_for_the_end_of_the_run(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_error err = {0};
    bool pending = false;
    engine_submit(fixture, &job, "a");
    make_logs(fixture, job.id);
    assert_int_equal(remove_job(fixture, job.id, true, &pending, &err), TY_OK);
    assert_true(pending);
    (void)engine_settle(fixture);
    assert_state(fixture, job.id, TY_JOB_CANCELLING, TY_CAUSE_CANCELLED_BY_USER);
    assert_true(has_logs(fixture, job.id));
    engine_see(fixture, job.id, TY_SEEN_STOPPED, 1);
    assert_false(is_stored(fixture, job.id));
    assert_false(has_logs(fixture, job.id));
}

static void a_forced_removal_that_fails_is_tried_again(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[2] = {0};
    struct ty_error err = {0};
    bool pending = false;
    fixture->script.answers[CALL_REMOVE] = TY_UNAVAILABLE;
    engine_submit(fixture, &jobs[0], "a");
    assert_int_equal(remove_job(fixture, jobs[0].id, true, &pending, &err), TY_OK);
    engine_see(fixture, jobs[0].id, TY_SEEN_STOPPED, 1);
    assert_true(is_stored(fixture, jobs[0].id));
    engine_pass(fixture, 1001);
    assert_int_equal(count_calls(fixture, CALL_REMOVE, jobs[0].id), 2);
    fixture->script.answers[CALL_REMOVE] = TY_OK;
    engine_pass(fixture, 2001);
    assert_false(is_stored(fixture, jobs[0].id));
    engine_pass(fixture, 60000);
    assert_int_equal(count_calls(fixture, CALL_REMOVE, jobs[0].id), 3);

    /* It may end by itself before the engine hears of the wish. */
    engine_submit(fixture, &jobs[1], "a");
    struct ty_observation seen = {.kind = TY_SEEN_SUCCEEDED, .attempt = 1, .at = 1};
    fixture->script.observer(fixture->script.context, jobs[1].id, &seen, NULL, 0);
    assert_int_equal(remove_job(fixture, jobs[1].id, true, &pending, &err), TY_OK);
    (void)engine_settle(fixture);
    assert_false(is_stored(fixture, jobs[1].id));
}

static void a_wish_to_remove_outlives_a_crash(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[2] = {0};
    struct ty_error err = {0};
    bool pending = false;
    char path[256];
    for (size_t i = 0; i < 2; i++)
        engine_submit(fixture, &jobs[i], "a");
    assert_int_equal(remove_job(fixture, jobs[0].id, true, &pending, &err), TY_OK);
    assert_true(pending);
    /* A wish whose cancellation never came to be is none. */
    (void)snprintf(path, sizeof(path), "%s/logs/.removed/%s.wish", fixture->store.folder,
                   jobs[1].id);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    engine_close(fixture);

    engine_open(fixture);
    (void)engine_settle(fixture);
    for (size_t i = 0; i < 2; i++)
        engine_see(fixture, jobs[i].id, TY_SEEN_SUCCEEDED, 1);
    assert_false(is_stored(fixture, jobs[0].id));
    assert_true(is_stored(fixture, jobs[1].id));
    assert_int_not_equal(access(path, F_OK), 0);
    (void)snprintf(path, sizeof(path), "%s/logs/.removed/%s.wish", fixture->store.folder,
                   jobs[0].id);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_removal_the_executor_fails_leaves_all_in_place(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_error err = {0};
    bool pending;
    submit_and_end(fixture, &job);
    fixture->script.answers[CALL_REMOVE] = TY_UNAVAILABLE;
    assert_int_equal(remove_job(fixture, job.id, false, &pending, &err), TY_UNAVAILABLE);
    assert_true(is_stored(fixture, job.id));
    assert_true(has_logs(fixture, job.id));
}

/* A crash between setting the logs aside and the commit, and one after the commit. */
static void logs_set_aside_by_a_crash_come_back_or_go_by_what_the_database_says(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked kept = {0};
    const char *gone = "job_00000000000000000000000009";
    char from[256];
    char to[256];
    submit_and_end(fixture, &kept);
    make_logs(fixture, gone);
    const char *ids[] = {kept.id, gone};
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(from, sizeof(from), "%s/logs/%s", fixture->store.folder, ids[i]);
        (void)snprintf(to, sizeof(to), "%s/logs/.removed/%s", fixture->store.folder, ids[i]);
        assert_int_equal(rename(from, to), 0);
    }
    engine_close(fixture);
    engine_open(fixture);
    assert_true(has_logs(fixture, kept.id));
    assert_false(has_logs(fixture, gone));
    assert_true(nothing_set_aside(fixture, kept.id));
    assert_true(nothing_set_aside(fixture, gone));
}

static void note_remains(struct engine_fixture *fixture, const char *id, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/logs/.removed/%s.remains", fixture->store.folder, id);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool remains_noted(struct engine_fixture *fixture, const char *id)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/logs/.removed/%s.remains", fixture->store.folder, id);
    return access(path, F_OK) == 0;
}

/* A crash after the commit and before the run and the claims went; `calls`: how often the executor
 * is told to remove a run, and a claim. */
static void a_removal_that_a_crash_cut_short_is_finished_by_its_note(void **state)
{
    static const struct {
        const char *text;
        size_t runs;
        size_t claims;
    } notes[] = {
        {"default\nobject\n1\nobject-output\nobject-data\n", 1, 2},
        {"default\nobject\n0\nobject-output\n",              0, 1},
        {"default\nobject\n2\n",                             1, 0},
        {"default\nobject\n1\nobject-output\ncut off",       1, 1},
        {"default\nobject\n",                                0, 0},
        {"default\nobject\nmany\nobject-output\n",           0, 0},
        {"",                                                 0, 0},
    };
    struct engine_fixture *fixture = *state;
    const char *gone = "job_00000000000000000000000009";
    size_t runs = 0;
    size_t claims = 0;
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        engine_close(fixture);
        note_remains(fixture, gone, notes[i].text);
        engine_open(fixture);
        runs += notes[i].runs;
        claims += notes[i].claims;
        assert_int_equal(count_calls(fixture, CALL_REMOVE, gone), runs);
        assert_int_equal(count_calls(fixture, CALL_REMOVE_CLAIM, NULL), claims);
        assert_false(remains_noted(fixture, gone));
    }
}

static void a_note_of_a_job_that_was_not_removed_removes_nothing(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked kept = {0};
    submit_and_end(fixture, &kept);
    engine_close(fixture);
    note_remains(fixture, kept.id, "default\nobject\n1\nobject-output\n");
    engine_open(fixture);
    assert_true(is_stored(fixture, kept.id));
    assert_int_equal(count_calls(fixture, CALL_REMOVE, kept.id), 0);
    assert_int_equal(count_calls(fixture, CALL_REMOVE_CLAIM, NULL), 0);
    assert_false(remains_noted(fixture, kept.id));
}

/* --- retention --- */
static void jobs_go_when_their_keeping_time_is_over(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked jobs[3];
    static const int64_t keep_seconds[] = {60, 600, -1};
    for (size_t i = 0; i < 3; i++) {
        asked_init(fixture, &jobs[i], "a");
        jobs[i].submit.insert.record.keep_seconds = keep_seconds[i];
        submit_and_end(fixture, &jobs[i]);
    }
    engine_pass(fixture, 59000);
    assert_true(is_stored(fixture, jobs[0].id));
    engine_pass(fixture, 12000);
    assert_false(is_stored(fixture, jobs[0].id));
    assert_false(has_logs(fixture, jobs[0].id));
    assert_true(is_stored(fixture, jobs[1].id));
    engine_pass(fixture, 600000);
    assert_false(is_stored(fixture, jobs[1].id));
    engine_pass(fixture, INT64_C(400) * 86400 * 1000);
    assert_true(is_stored(fixture, jobs[2].id)); /* kept for ever: no default */
    assert_true(has_logs(fixture, jobs[2].id));
}

static void the_default_keeping_time_holds_for_jobs_that_do_not_say(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    fixture->options.default_keep_us = INT64_C(3600) * 1000000;
    engine_close(fixture);
    engine_open(fixture);
    submit_and_end(fixture, &job);
    engine_pass(fixture, 3590000);
    assert_true(is_stored(fixture, job.id));
    engine_pass(fixture, 30000);
    assert_false(is_stored(fixture, job.id));
}

static void many_expired_jobs_go_in_pieces(void **state)
{
    struct engine_fixture *fixture = *state;
    enum { MANY = 50 };
    struct asked jobs[MANY];
    for (size_t i = 0; i < MANY; i++) {
        asked_init(fixture, &jobs[i], "a");
        jobs[i].submit.insert.record.keep_seconds = 1;
        jobs[i].submit.suspended = true;
        engine_submit(fixture, &jobs[i], "a");
        struct ty_error err = {0};
        assert_int_equal(act(fixture, jobs[i].id, TY_SEEN_CANCEL, 0, &err), TY_OK);
    }
    engine_pass(fixture, 12000);
    size_t left = 0;
    for (size_t i = 0; i < MANY; i++)
        left += is_stored(fixture, jobs[i].id) ? 1 : 0;
    assert_in_range(left, 1, MANY - 1);
    for (int turns = 0; turns < 4; turns++)
        engine_pass(fixture, 100);
    for (size_t i = 0; i < MANY; i++)
        assert_false(is_stored(fixture, jobs[i].id));
}

/* --- the hub --- */
static void the_hub_hears_of_every_commit(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job = {0};
    struct ty_job_body *body = NULL;
    engine_submit(fixture, &job, "a");
    assert_null(ty_hub_get(fixture->hub, job.id));
    assert_int_equal(ty_job_body_create("x", 1, &body), TY_OK);
    body->revision = stored_revision(fixture, job.id);
    ty_hub_put(fixture->hub, job.id, body);
    struct ty_job_body *cached = ty_hub_get(fixture->hub, job.id);
    assert_ptr_equal(cached, body);
    ty_job_body_unref(cached);
    engine_see(fixture, job.id, TY_SEEN_RUNNING, 1);
    assert_null(ty_hub_get(fixture->hub, job.id));
    ty_hub_put(fixture->hub, job.id, body); /* overtaken */
    assert_null(ty_hub_get(fixture->hub, job.id));
    ty_job_body_unref(body);
}

#define ACTION(name) cmocka_unit_test_setup_teardown(name, engine_setup, engine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ACTION(a_key_used_again_gives_the_first_job_and_makes_no_other),
        ACTION(a_key_of_another_body_is_a_conflict),
        ACTION(a_submit_beyond_the_queued_quota_is_refused_and_unknown_to_the_engine),
        ACTION(a_taken_object_name_is_a_conflict),
        ACTION(a_suspended_submit_waits_for_its_resume),
        ACTION(each_job_of_a_batch_is_judged_alone_in_one_commit),
        ACTION(a_full_store_refuses_a_submit_at_once),
        ACTION(a_word_is_kept_while_the_store_takes_nothing),
        ACTION(actions_that_a_state_forbids_say_so_and_change_nothing),
        ACTION(a_job_of_another_tenant_is_unknown),
        ACTION(a_stale_revision_has_no_effect_at_all),
        ACTION(a_queued_job_is_cancelled_without_troubling_the_executor),
        ACTION(a_finished_job_goes_with_its_run_its_logs_and_its_own_claim),
        ACTION(a_claim_that_a_live_job_names_stays),
        ACTION(a_live_job_is_not_removed),
        ACTION(a_forced_removal_waits_for_the_end_of_the_run),
        ACTION(a_forced_removal_that_fails_is_tried_again),
        ACTION(a_wish_to_remove_outlives_a_crash),
        ACTION(a_removal_that_a_crash_cut_short_is_finished_by_its_note),
        ACTION(a_note_of_a_job_that_was_not_removed_removes_nothing),
        ACTION(a_removal_the_executor_fails_leaves_all_in_place),
        ACTION(logs_set_aside_by_a_crash_come_back_or_go_by_what_the_database_says),
        ACTION(jobs_go_when_their_keeping_time_is_over),
        ACTION(the_default_keeping_time_holds_for_jobs_that_do_not_say),
        ACTION(many_expired_jobs_go_in_pieces),
        ACTION(the_hub_hears_of_every_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
