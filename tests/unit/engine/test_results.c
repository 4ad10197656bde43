#include "engine_fixture.h"

#include "place.h"

#include "trainyard/store/events.h"

static const char spec[] =
    "{\"name\":\"sim\",\"image\":\"python:3\",\"script\":\"print(1)\","
    "\"output\":\"out\",\"checkpoints\":{\"volume\":\"ck\",\"path\":\"run\"}}";

struct told {
    char line[2048];
};

/* "checkpoint.created:a.pt " and so on. */
static bool note(void *context, const struct ty_event *event)
{
    struct told *told = context;
    const char *path = strstr(event->extra, "\"path\":\"");
    const char *count = strstr(event->extra, "\"count\":");
    char one[128];
    if (event->type >= TY_EVENT_JOB_STATE && !ty_job_terminal(event->state))
        return true;
    if (path)
        (void)snprintf(one, sizeof one, "%.*s ", (int)strcspn(path + 8, "\""), path + 8);
    else if (count)
        (void)snprintf(one, sizeof one, "artifacts:%.*s ", (int)strcspn(count + 8, ",}"),
                       count + 8);
    else
        (void)snprintf(one, sizeof one, "%s ", ty_event_type_name(event->type));
    strncat(told->line, one, sizeof told->line - strlen(told->line) - 1);
    return true;
}

static void assert_told(struct engine_fixture *fixture, const char *line)
{
    struct told told = {0};
    struct ty_error err = {0};
    int64_t seen = 0;
    const struct ty_event_query query = {.tenant = fixture->store.tenant, .limit = 1000};
    assert_int_equal(ty_events_list(fixture->store.reader, &query, note, &told, &seen, &err),
                     TY_OK);
    assert_string_equal(told.line, line);
}

static int64_t now_seconds(struct engine_fixture *fixture)
{
    return atomic_load(&fixture->store.time.wall_us) / 1000000;
}

static void save(const struct place *place, const char *path, int64_t seconds)
{
    place_text(place, path, "x");
    place_time(place, path, seconds);
}

static struct place *make_place(void)
{
    void *place = NULL;
    if (place_make(&place) != 0)
        abort();
    return place;
}

/* A job that runs, on claims that hold an old checkpoint already. */
static void begin(struct engine_fixture *fixture, struct place *place, struct asked *job)
{
    place_folder(place, "run");
    save(place, "run/old.pt", now_seconds(fixture) - 500);
    fixture->script.claim_fd = place->fd;
    asked_init(fixture, job, "a");
    job->submit.insert.spec = spec;
    job->submit.insert.spec_len = strlen(spec);
    engine_submit(fixture, job, "a");
    engine_see(fixture, job->id, TY_SEEN_RUNNING, 1);
    assert_state(fixture, job->id, TY_JOB_RUNNING, TY_CAUSE_REPLICAS_STARTED);
}

static void checkpoints_are_told_once_within_a_minute_and_the_rest_before_the_end(void **state)
{
    struct engine_fixture *fixture = *state;
    struct place *place = make_place();
    struct asked job;

    begin(fixture, place, &job);
    engine_pass(fixture, 20000);
    save(place, "run/a.pt", now_seconds(fixture));
    save(place, "run/b.pt.tmp", now_seconds(fixture));
    engine_pass(fixture, 61000);
    assert_told(fixture, "a.pt ");
    engine_pass(fixture, 130000);
    assert_told(fixture, "a.pt ");
    save(place, "run/b.pt", now_seconds(fixture));
    engine_see(fixture, job.id, TY_SEEN_SUCCEEDED, 1);
    assert_told(fixture, "a.pt b.pt artifacts:4 job.succeeded ");
    assert_int_equal(place_remove((void **)&place), 0);
}

static void what_was_told_is_not_told_again_after_a_crash(void **state)
{
    struct engine_fixture *fixture = *state;
    struct place *place = make_place();
    struct asked job;

    begin(fixture, place, &job);
    engine_pass(fixture, 20000);
    save(place, "run/a.pt", now_seconds(fixture));
    engine_pass(fixture, 61000);
    engine_close(fixture);
    engine_open(fixture);
    engine_pass(fixture, 61000);
    engine_pass(fixture, 61000);
    assert_told(fixture, "a.pt ");
    save(place, "run/a.pt", now_seconds(fixture)); /* written anew: another checkpoint */
    engine_pass(fixture, 130000);
    assert_told(fixture, "a.pt a.pt ");
    assert_int_equal(place_remove((void **)&place), 0);
}

static void of_very_many_checkpoints_the_newest_are_told(void **state)
{
    struct engine_fixture *fixture = *state;
    struct place *place = make_place();
    struct asked job;
    char path[64];
    struct told told = {0};
    struct ty_error err = {0};
    int64_t seen = 0;

    begin(fixture, place, &job);
    engine_pass(fixture, 200000);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(path, sizeof path, "run/%03d", i);
        save(place, path, now_seconds(fixture) - 100 + i);
    }
    engine_see(fixture, job.id, TY_SEEN_FAILED, 1);
    const struct ty_event_query query = {.tenant = fixture->store.tenant, .limit = 1000};
    assert_int_equal(ty_events_list(fixture->store.reader, &query, note, &told, &seen, &err),
                     TY_OK);
    assert_true(strncmp(told.line, "036 037 ", 8) == 0);
    assert_non_null(strstr(told.line, "099 artifacts:101 job.failed "));
    assert_int_equal(place_remove((void **)&place), 0);
}

static void a_job_without_files_ends_without_a_word_of_them(void **state)
{
    struct engine_fixture *fixture = *state;
    struct asked job;

    asked_init(fixture, &job, "a");
    engine_submit(fixture, &job, "a");
    engine_see(fixture, job.id, TY_SEEN_RUNNING, 1);
    engine_see(fixture, job.id, TY_SEEN_SUCCEEDED, 1);
    assert_told(fixture, "job.succeeded ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, engine_setup, engine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(checkpoints_are_told_once_within_a_minute_and_the_rest_before_the_end),
        TEST(what_was_told_is_not_told_again_after_a_crash),
        TEST(of_very_many_checkpoints_the_newest_are_told),
        TEST(a_job_without_files_ends_without_a_word_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
