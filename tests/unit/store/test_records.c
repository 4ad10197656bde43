/* Idempotency keys, events and volumes. */
#include "store_fixture.h"
#include "trainyard/base/str.h"
#include "trainyard/store/events.h"
#include "trainyard/store/idempotency.h"
#include "trainyard/store/tenants.h"
#include "trainyard/store/volumes.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

/* --- idempotency --- */

static ty_status insert_key(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_idempotency_insert(writer, context, err);
}

struct look_up {
    int64_t tenant;
    const char *route;
    const char *key;
    int64_t now;
    struct ty_idempotency found;
    char job_id[TY_ID_TEXT];
    char body[64];
};

static ty_status find_key(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct look_up *look = context;
    ty_status status = ty_idempotency_find(writer, look->tenant, look->route, look->key, look->now,
                                           &look->found, err);
    if (status != TY_OK)
        return status;
    ty_str_copy(look->job_id, sizeof(look->job_id), look->found.job_id ? look->found.job_id : "");
    ty_str_copy(look->body, sizeof(look->body), look->found.body ? look->found.body : "");
    return TY_OK;
}

static void note_entry(void *context, const struct ty_idempotency *entry)
{
    struct look_up *look = context;
    look->found = *entry;
    ty_str_copy(look->job_id, sizeof(look->job_id), entry->job_id ? entry->job_id : "");
}

static struct ty_idempotency key_of(struct store_fixture *fixture, const char *key)
{
    return (struct ty_idempotency){
        .tenant = fixture->tenant,
        .route = "POST /v1/jobs",
        .key = key,
        .fingerprint = {1, 2, 3},
        .job_id = "job_1",
        .created_at = ty_now_us(&fixture->time.clock)
    };
}

static void a_key_is_found_in_its_scope_only(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    int64_t now = ty_now_us(&fixture->time.clock);
    struct ty_idempotency entry = key_of(fixture, "k1");
    assert_int_equal(store_apply(fixture->store, insert_key, &entry, &err), TY_OK);
    assert_int_equal(store_apply(fixture->store, insert_key, &entry, &err), TY_CONFLICT);
    const struct {
        int64_t tenant;
        const char *route;
        const char *key;
        int64_t now;
        ty_status status;
    } cases[] = {
        {entry.tenant,     "POST /v1/jobs",    "k1", now,                              TY_OK       },
        {entry.tenant,     "POST /v1/jobs",    "k1", now + TY_IDEMPOTENCY_KEEP_US - 1, TY_OK       },
        {entry.tenant,     "POST /v1/jobs",    "k1", now + TY_IDEMPOTENCY_KEEP_US,     TY_NOT_FOUND},
        {entry.tenant,     "POST /v1/jobs",    "K1", now,                              TY_NOT_FOUND},
        {entry.tenant,     "POST /v1/volumes", "k1", now,                              TY_NOT_FOUND},
        {entry.tenant + 1, "POST /v1/jobs",    "k1", now,                              TY_NOT_FOUND},
    };
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct look_up look = {.tenant = cases[i].tenant,
                               .route = cases[i].route,
                               .key = cases[i].key,
                               .now = cases[i].now};
        struct look_up read = look;
        assert_int_equal(store_apply(fixture->store, find_key, &look, &err), cases[i].status);
        assert_int_equal(ty_idempotency_get(fixture->reader, look.tenant, look.route, look.key,
                                            look.now, note_entry, &read, &err),
                         cases[i].status);
        assert_string_equal(look.job_id, cases[i].status == TY_OK ? "job_1" : "");
        assert_string_equal(read.job_id, look.job_id);
        if (cases[i].status == TY_OK)
            assert_memory_equal(look.found.fingerprint, entry.fingerprint, TY_SHA256);
    }
}

static void a_stored_answer_comes_back_as_it_was(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct ty_idempotency entry = key_of(fixture, "k1");
    entry.job_id = NULL;
    entry.status = 201;
    entry.body = "{\"a\":1}trailing";
    entry.body_len = 7;
    assert_int_equal(store_apply(fixture->store, insert_key, &entry, &err), TY_OK);
    struct look_up look = {
        .tenant = entry.tenant, .route = entry.route, .key = entry.key, .now = entry.created_at};
    assert_int_equal(store_apply(fixture->store, find_key, &look, &err), TY_OK);
    assert_int_equal(look.found.status, 201);
    assert_int_equal(look.found.body_len, 7);
    assert_string_equal(look.body, "{\"a\":1}");
    assert_null(look.found.job_id);
}

static void an_expired_key_is_replaced_and_pruned(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct ty_idempotency entry = key_of(fixture, "k1");
    struct ty_idempotency other = key_of(fixture, "k2");
    assert_int_equal(store_apply(fixture->store, insert_key, &entry, &err), TY_OK);
    assert_int_equal(store_apply(fixture->store, insert_key, &other, &err), TY_OK);
    atomic_fetch_add(&fixture->time.wall_us, TY_IDEMPOTENCY_KEEP_US + 1);
    entry.created_at = ty_now_us(&fixture->time.clock);
    entry.job_id = "job_2";
    assert_int_equal(store_apply(fixture->store, insert_key, &entry, &err), TY_OK);
    for (int i = 0; i < 3; i++)
        (void)ty_store_drain(fixture->store); /* idle: prunes k2 */
    struct look_up look = {
        .tenant = entry.tenant, .route = entry.route, .key = "k1", .now = entry.created_at};
    assert_int_equal(store_apply(fixture->store, find_key, &look, &err), TY_OK);
    assert_string_equal(look.job_id, "job_2");
    look.key = "k2";
    look.now = entry.created_at - 10; /* it would still be valid then, were it there */
    assert_int_equal(store_apply(fixture->store, find_key, &look, &err), TY_NOT_FOUND);
}

/* --- events --- */

struct events_seen {
    size_t count;
    char line[1024];
    int64_t sequences[64];
};

static bool note_event(void *context, const struct ty_event *event)
{
    struct events_seen *seen = context;
    char one[96];
    (void)snprintf(one, sizeof(one), "%s:%s ", ty_event_type_name(event->type),
                   event->job_id ? ty_job_state_name(event->state) : event->name);
    strncat(seen->line, one, 95);
    seen->sequences[seen->count++] = event->sequence;
    return true;
}

static ty_status list_events(struct store_fixture *fixture, int64_t tenant, int64_t after,
                             size_t limit, struct events_seen *seen, struct ty_error *err)
{
    const struct ty_event_query query = {.tenant = tenant, .after = after, .limit = limit};
    int64_t up_to = 0;
    return ty_events_list(fixture->reader, &query, note_event, seen, &up_to, err);
}

struct patch_or_delete {
    int64_t tenant;
    const char *id;
    bool delete_it;
};

static ty_status patch_or_delete(struct ty_writer *writer, void *context, struct ty_error *err)
{
    const struct patch_or_delete *what = context;
    struct ty_job_record record;
    if (what->delete_it)
        return ty_jobs_delete(writer, what->tenant, what->id, err);
    ty_status status = ty_jobs_find(writer, what->tenant, what->id, &record, err);
    return status == TY_OK ? ty_jobs_save_metadata(writer, &record, "{}", "d", false, err) : status;
}

static void what_happens_to_a_job_is_told_in_order_and_outlives_it(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct test_job job;
    struct events_seen seen = {0};
    test_job_init(&job, fixture, "mnist", NULL);
    test_job_store(fixture, &job);
    test_job_move(fixture, job.id, TY_JOB_RUNNING, true);
    struct patch_or_delete what = {fixture->tenant, job.id, false};
    assert_int_equal(store_apply(fixture->store, patch_or_delete, &what, &err), TY_OK);
    test_job_move(fixture, job.id, TY_JOB_SUCCEEDED, false);
    what.delete_it = true;
    assert_int_equal(store_apply(fixture->store, patch_or_delete, &what, &err), TY_OK);
    assert_int_equal(list_events(fixture, fixture->tenant, 0, 50, &seen, &err), TY_OK);
    assert_string_equal(seen.line, "job.queued:queued job.running:running "
                                   "job.updated:running job.succeeded:succeeded "
                                   "job.deleted:succeeded ");
    for (size_t i = 0; i < seen.count; i++)
        assert_int_equal(seen.sequences[i], i + 1);
    seen = (struct events_seen){0};
    assert_int_equal(list_events(fixture, fixture->tenant, 3, 1, &seen, &err), TY_OK);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.sequences[0], 4);
}

struct told {
    int calls;
    int64_t tenants[4];
    size_t count;
};

static void note_told(void *context, const int64_t *tenants, size_t count)
{
    struct told *told = context;
    told->calls++;
    told->count = count;
    memcpy(told->tenants, tenants, (count < 4 ? count : 4) * sizeof(*tenants));
}

static void who_listens_hears_of_a_commit_after_it_and_of_nothing_else(void **state)
{
    struct store_fixture *fixture = *state;
    struct told told = {0};
    const struct ty_event_listener listener = {note_told, &told};
    ty_events_listen(fixture->store, &listener);
    test_job_make(fixture, "mnist", NULL);
    assert_int_equal(told.calls, 1);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.tenants[0], fixture->tenant);
    (void)ty_store_drain(fixture->store);
    assert_int_equal(told.calls, 1);
    ty_events_listen(fixture->store, NULL);
    test_job_make(fixture, "mnist", NULL);
    assert_int_equal(told.calls, 1);
}

static bool keep_event(void *context, const struct ty_event *event)
{
    struct ty_event *kept = context;
    *kept = *event;
    return false; /* the statement is reset afterwards: no texts are looked at */
}

static bool check_body(void *context, const struct ty_event *event)
{
    int *seen = context;
    assert_string_equal(event->name, "mnist");
    assert_string_equal(event->labels, "{\"team\":\"vision\"}");
    ++*seen;
    if (event->job_sequence == 1)
        assert_false(event->has_from);
    else
        assert_true(event->has_from && event->from == TY_JOB_QUEUED);
    assert_false(event->has_exit);
    return true;
}

static void an_event_says_all_of_its_job_and_one_jobs_events_are_found(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct ty_event last = {0};
    struct test_job job;
    int64_t up_to = 0;
    int seen = 0;
    test_job_make(fixture, "other", NULL);
    test_job_init(&job, fixture, "mnist", "{\"team\":\"vision\"}");
    test_job_store(fixture, &job);
    test_job_make(fixture, "other", NULL);
    test_job_move(fixture, job.id, TY_JOB_RUNNING, true);
    struct ty_event_query query = {.tenant = fixture->tenant, .after = 3, .limit = 10};
    assert_int_equal(ty_events_list(fixture->reader, &query, keep_event, &last, &up_to, &err),
                     TY_OK);
    assert_int_equal(last.sequence, 4);
    query = (struct ty_event_query){.tenant = fixture->tenant, .job = last.job, .limit = 10};
    assert_int_equal(ty_events_list(fixture->reader, &query, check_body, &seen, &up_to, &err),
                     TY_OK);
    assert_int_equal(seen, 2);
    assert_int_equal(up_to, 4);
    query.limit = 1;
    assert_int_equal(ty_events_list(fixture->reader, &query, check_body, &seen, &up_to, &err),
                     TY_OK);
    assert_int_equal(up_to, 2);
    query.tenant = 99;
    assert_int_equal(ty_events_list(fixture->reader, &query, check_body, &seen, &up_to, &err),
                     TY_NOT_FOUND);
}

static void trimmed_events_are_a_gap_that_is_told(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct events_seen seen = {0};
    int64_t first = -1;
    int64_t last = -1;
    for (int i = 0; i < 5; i++)
        test_job_make(fixture, "mnist", NULL);
    atomic_fetch_add(&fixture->time.wall_us, TY_EVENTS_KEEP_US + 1000000);
    test_job_make(fixture, "mnist", NULL);
    for (int i = 0; i < 3; i++)
        (void)ty_store_drain(fixture->store);
    assert_int_equal(ty_events_range(fixture->reader, fixture->tenant, &first, &last, &err), TY_OK);
    assert_int_equal(first, 6);
    assert_int_equal(last, 6);
    assert_int_equal(list_events(fixture, fixture->tenant, 4, 10, &seen, &err), TY_GONE);
    assert_string_equal(err.code, "event_expired");
    assert_int_equal(list_events(fixture, fixture->tenant, 5, 10, &seen, &err), TY_OK);
    assert_int_equal(seen.count, 1);
    /* The number goes on where it was, also when everything is gone. */
    atomic_fetch_add(&fixture->time.wall_us, TY_EVENTS_KEEP_US + 1000000);
    for (int i = 0; i < 3; i++)
        (void)ty_store_drain(fixture->store);
    assert_int_equal(ty_events_range(fixture->reader, fixture->tenant, &first, &last, &err), TY_OK);
    assert_int_equal(first, 7);
    assert_int_equal(last, 6);
    test_job_make(fixture, "mnist", NULL);
    assert_int_equal(ty_events_range(fixture->reader, fixture->tenant, &first, &last, &err), TY_OK);
    assert_int_equal(last, 7);
}

static void an_unknown_tenant_has_no_events(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct events_seen seen = {0};
    int64_t first = -1;
    int64_t last = -1;
    assert_int_equal(list_events(fixture, 99, 0, 10, &seen, &err), TY_NOT_FOUND);
    assert_int_equal(ty_events_range(fixture->reader, 99, &first, &last, &err), TY_NOT_FOUND);
    assert_int_equal(first, -1);
    assert_string_equal(ty_event_type_name((ty_event_type)99), "unknown");
}

/* --- volumes --- */

static ty_status insert_volume(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_volumes_insert(writer, context, err);
}

struct volume_removal {
    int64_t tenant;
    const char *name;
};

static ty_status delete_volume(struct ty_writer *writer, void *context, struct ty_error *err)
{
    const struct volume_removal *removal = context;
    return ty_volumes_delete(writer, removal->tenant, removal->name, err);
}

static bool note_volume(void *context, const struct ty_volume_record *volume)
{
    char *line = context;
    strncat(line, volume->name, 64);
    strncat(line, " ", 2);
    return true;
}

static bool note_user(void *context, const char *job_id)
{
    char *line = context;
    strncat(line, job_id + 28, 10);
    strncat(line, " ", 2);
    return true;
}

static bool note_waiter(void *context, int64_t row, const char *job_id)
{
    assert_true(row > 0);
    return note_user(context, job_id);
}

static struct ty_volume_record volume_of(struct store_fixture *fixture, const char *name)
{
    return (struct ty_volume_record){.tenant = fixture->tenant,
                                     .namespace = "default",
                                     .name = name,
                                     .size = "10Gi",
                                     .size_bytes = INT64_C(10) << 30,
                                     .access_mode = TY_READ_WRITE_MANY,
                                     .created_at = ty_now_us(&fixture->time.clock)};
}

static void make_job_with_claims(struct store_fixture *fixture, struct test_job *job,
                                 const char *const *claims, size_t count)
{
    test_job_init(job, fixture, "mnist", NULL);
    job->insert.claims = claims;
    job->insert.claims_count = count;
    test_job_store(fixture, job);
}

static void volumes_are_listed_by_name(void **state)
{
    static const char *const names[] = {"models", "data", "output", "scratch"};
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    char line[256] = "";
    for (size_t i = 0; i < UNIT_COUNT(names); i++) {
        struct ty_volume_record volume = volume_of(fixture, names[i]);
        assert_int_equal(store_apply(fixture->store, insert_volume, &volume, &err), TY_OK);
        assert_true(volume.row > 0);
    }
    struct ty_volume_record again = volume_of(fixture, "data");
    assert_int_equal(store_apply(fixture->store, insert_volume, &again, &err), TY_CONFLICT);
    assert_string_equal(err.code, "volume_exists");
    assert_int_equal(again.row, 0);
    assert_int_equal(
        ty_volumes_list(fixture->reader, fixture->tenant, NULL, 2, note_volume, line, &err), TY_OK);
    assert_int_equal(
        ty_volumes_list(fixture->reader, fixture->tenant, "models", 9, note_volume, line, &err),
        TY_OK);
    assert_string_equal(line, "data models output scratch ");
    line[0] = '\0';
    assert_int_equal(
        ty_volumes_get(fixture->reader, fixture->tenant + 1, "data", note_volume, line, &err),
        TY_NOT_FOUND);
    assert_int_equal(
        ty_volumes_get(fixture->reader, fixture->tenant, "data", note_volume, line, &err), TY_OK);
    assert_string_equal(line, "data ");
}

static void a_volume_in_use_stays_until_its_jobs_have_ended(void **state)
{
    static const char *const claims[] = {"data", "missing", "data"};
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct test_job first;
    struct test_job second;
    char line[256] = "";
    struct ty_volume_record volume = volume_of(fixture, "data");
    struct volume_removal removal = {fixture->tenant, "data"};
    assert_int_equal(store_apply(fixture->store, insert_volume, &volume, &err), TY_OK);
    make_job_with_claims(fixture, &first, claims, 3);
    make_job_with_claims(fixture, &second, claims, 1);
    assert_int_equal(
        ty_volumes_users(fixture->reader, fixture->tenant, "data", 9, note_user, line, &err),
        TY_OK);
    assert_string_equal(line, "01 02 ");
    line[0] = '\0';
    assert_int_equal(
        ty_volumes_waiters(fixture->reader, "default", "missing", note_waiter, line, &err), TY_OK);
    assert_string_equal(line, "01 ");
    assert_int_equal(store_apply(fixture->store, delete_volume, &removal, &err), TY_CONFLICT);
    assert_string_equal(err.code, "volume_in_use");
    test_job_move(fixture, first.id, TY_JOB_FAILED, false);
    test_job_move(fixture, second.id, TY_JOB_FAILED, true); /* its run may still write */
    assert_int_equal(store_apply(fixture->store, delete_volume, &removal, &err), TY_CONFLICT);
    test_job_move(fixture, second.id, TY_JOB_FAILED, false);
    assert_int_equal(store_apply(fixture->store, delete_volume, &removal, &err), TY_OK);
    assert_int_equal(store_apply(fixture->store, delete_volume, &removal, &err), TY_NOT_FOUND);
    struct events_seen seen = {0};
    assert_int_equal(list_events(fixture, fixture->tenant, 6, 50, &seen, &err), TY_OK);
    assert_string_equal(seen.line, "volume.deleted:data ");
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, store_fixture_setup, store_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_key_is_found_in_its_scope_only),
        TEST(a_stored_answer_comes_back_as_it_was),
        TEST(an_expired_key_is_replaced_and_pruned),
        TEST(what_happens_to_a_job_is_told_in_order_and_outlives_it),
        TEST(who_listens_hears_of_a_commit_after_it_and_of_nothing_else),
        TEST(an_event_says_all_of_its_job_and_one_jobs_events_are_found),
        TEST(trimmed_events_are_a_gap_that_is_told),
        TEST(an_unknown_tenant_has_no_events),
        TEST(volumes_are_listed_by_name),
        TEST(a_volume_in_use_stays_until_its_jobs_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
