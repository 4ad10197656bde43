#include "engine_fixture.h"

#include "place.h"

#define SAVED(more)                                                                                \
    "{\"name\":\"sim\",\"image\":\"python:3\",\"script\":\"print(1)\",\"checkpoints\":"            \
    "{\"volume\":" more ",\"path\":\"run\",\"keep_last\":2}}"

static void save(const struct place *place, const char *name, int64_t seconds)
{
    char path[64];

    (void)snprintf(path, sizeof path, "run/%s", name);
    place_text(place, path, "x");
    place_time(place, path, seconds);
}

static bool there(const struct place *place, const char *name)
{
    char path[64];

    (void)snprintf(path, sizeof path, "run/%s", name);
    return faccessat(place->fd, path, F_OK, 0) == 0;
}

static struct place *make_place(void)
{
    void *place = NULL;
    if (place_make(&place) != 0)
        abort();
    return place;
}

/* A job with four checkpoints that runs; the last was written just now. */
static void begin(struct engine_fixture *fixture, struct place *place, struct asked *job,
                  const char *spec)
{
    int64_t now = atomic_load(&fixture->store.time.wall_us) / 1000000;

    place_folder(place, "run");
    save(place, "ckpt-1.pt", now - 400);
    save(place, "ckpt-2.pt", now - 300);
    save(place, "ckpt-3.pt", now - 200);
    save(place, "ckpt-4.pt", now - 5);
    fixture->script.claim_fd = place->fd;
    asked_init(fixture, job, "a");
    job->submit.insert.spec = spec;
    job->submit.insert.spec_len = strlen(spec);
    engine_submit(fixture, job, "a");
    engine_see(fixture, job->id, TY_SEEN_RUNNING, 1);
    assert_state(fixture, job->id, TY_JOB_RUNNING, TY_CAUSE_REPLICAS_STARTED);
    assert_true(there(place, "ckpt-1.pt"));
}

static void
surplus_is_gone_when_a_job_ends_and_a_broken_off_run_keeps_what_may_be_unfinished(void **state)
{
    static const struct {
        ty_seen_kind seen;
        ty_job_state becomes;
        bool second_stays;
    } cases[] = {
        {TY_SEEN_SUCCEEDED, TY_JOB_SUCCEEDED, false},
        {TY_SEEN_FAILED,    TY_JOB_FAILED,    true },
        {TY_SEEN_GONE,      TY_JOB_LOST,      true },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct engine_fixture *fixture;
        struct place *place = make_place();
        struct asked job;

        assert_int_equal(engine_setup((void **)&fixture), 0);
        begin(fixture, place, &job, SAVED("\"ck\""));
        engine_see(fixture, job.id, cases[i].seen, 1);
        assert_int_equal(stored(fixture, job.id).state, cases[i].becomes);
        assert_false(there(place, "ckpt-1.pt"));
        assert_int_equal(there(place, "ckpt-2.pt"), cases[i].second_stays);
        assert_true(there(place, "ckpt-3.pt") && there(place, "ckpt-4.pt"));
        assert_int_equal(engine_teardown((void **)&fixture), 0);
        assert_int_equal(place_remove((void **)&place), 0);
    }
}

static void a_running_job_loses_its_surplus_within_a_minute_also_under_a_new_engine(void **state)
{
    struct engine_fixture *fixture = *state;
    struct place *place = make_place();
    struct asked job;

    begin(fixture, place, &job, SAVED("\"ck\""));
    engine_close(fixture);
    engine_open(fixture);
    engine_pass(fixture, 1000);
    assert_true(there(place, "ckpt-1.pt"));
    engine_pass(fixture, 60000);
    assert_false(there(place, "ckpt-1.pt") || there(place, "ckpt-2.pt"));
    assert_true(there(place, "ckpt-3.pt") && there(place, "ckpt-4.pt"));
    save(place, "ckpt-5.pt", atomic_load(&fixture->store.time.wall_us) / 1000000 - 70);
    engine_pass(fixture, 61000);
    assert_false(there(place, "ckpt-3.pt"));
    assert_int_equal(place_remove((void **)&place), 0);
}

static void what_a_job_may_only_read_is_not_removed(void **state)
{
    static const char spec[] =
        "{\"name\":\"sim\",\"image\":\"python:3\",\"script\":\"print(1)\",\"volumes\":[{\"claim\":"
        "\"ck\",\"mount_path\":\"/old\",\"read_only\":true}],"
        "\"checkpoints\":{\"path\":\"/old/run\",\"keep_last\":1}}";
    struct engine_fixture *fixture = *state;
    struct place *place = make_place();
    struct asked job;

    begin(fixture, place, &job, spec);
    engine_pass(fixture, 61000);
    engine_see(fixture, job.id, TY_SEEN_SUCCEEDED, 1);
    assert_state(fixture, job.id, TY_JOB_SUCCEEDED, TY_CAUSE_COMPLETED);
    assert_true(there(place, "ckpt-1.pt"));
    assert_int_equal(place_remove((void **)&place), 0);
}

/* The claim is not there, then it cannot be opened: the job ends all the same. */
static void trouble_with_checkpoints_keeps_no_job_from_ending(void **state)
{
    struct engine_fixture *fixture = *state;
    struct place *place = make_place();
    struct asked jobs[2];

    begin(fixture, place, &jobs[0], SAVED("\"ck\""));
    fixture->script.claim_fd = -1;
    engine_see(fixture, jobs[0].id, TY_SEEN_SUCCEEDED, 1);
    assert_state(fixture, jobs[0].id, TY_JOB_SUCCEEDED, TY_CAUSE_COMPLETED);
    memset(&jobs[1], 0, sizeof jobs[1]);
    asked_init(fixture, &jobs[1], "b");
    jobs[1].submit.insert.spec = SAVED("\"ck\"");
    jobs[1].submit.insert.spec_len = strlen(SAVED("\"ck\""));
    engine_submit(fixture, &jobs[1], "b");
    engine_see(fixture, jobs[1].id, TY_SEEN_RUNNING, 1);
    fixture->script.claim_fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* no folder at all */
    engine_see(fixture, jobs[1].id, TY_SEEN_FAILED, 1);
    assert_state(fixture, jobs[1].id, TY_JOB_FAILED, TY_CAUSE_CONTAINER_ERROR);
    close(fixture->script.claim_fd);
    assert_int_equal(place_remove((void **)&place), 0);
}

#define PRUNE(name) cmocka_unit_test_setup_teardown(name, engine_setup, engine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            surplus_is_gone_when_a_job_ends_and_a_broken_off_run_keeps_what_may_be_unfinished),
        PRUNE(a_running_job_loses_its_surplus_within_a_minute_also_under_a_new_engine),
        PRUNE(what_a_job_may_only_read_is_not_removed),
        PRUNE(trouble_with_checkpoints_keeps_no_job_from_ending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
