/* Every allocation of the store's own code (and of the simulated disk below it) fails in turn. */
#include "oom.h"
#include "sim_vfs.h"
#include "store_fixture.h"
#include "trainyard/store/cursor.h"
#include "trainyard/store/idempotency.h"
#include "trainyard/store/tenants.h"
#include "trainyard/store/tokens.h"
#include "unit.h"

static struct sim_vfs *vfs;
static struct store_fixture fixture;

static bool ignore_job(void *context, const struct ty_job_record *record)
{
    (void)context;
    (void)record;
    return true;
}

static ty_status submit(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct test_job *job = context;
    struct ty_idempotency entry = {.tenant = 1, .route = "POST /v1/jobs", .key = job->id};
    struct ty_job_record record;
    ty_status status = ty_idempotency_find(writer, 1, entry.route, entry.key, 1, &entry, err);
    if (status != TY_NOT_FOUND)
        return status;
    status = ty_jobs_insert(writer, &job->insert, NULL, err);
    entry.created_at = 1;
    entry.body = "{}";
    entry.body_len = 2;
    if (status == TY_OK)
        status = ty_idempotency_insert(writer, &entry, err);
    if (status == TY_OK)
        status = ty_idempotency_find(writer, 1, entry.route, entry.key, 1, &entry, err);
    if (status == TY_OK)
        status = ty_jobs_find(writer, 1, job->id, &record, err);
    return status;
}

static ty_status read_all(struct ty_store *store, struct ty_error *err)
{
    struct ty_reader *reader = NULL;
    struct ty_cursor cursor = {.row = 5};
    struct ty_cursor_scope scope = {.query = "q", .query_len = 1};
    ty_auto_buf text = {0};
    struct ty_job_query query = {.tenant = 1, .name = "m", .name_prefix = true, .limit = 10};
    ty_buf_init(&text, 4096);
    ty_status status = ty_reader_open(store, &reader, err);
    if (status == TY_OK)
        status = ty_jobs_list(reader, &query, ignore_job, NULL, err);
    if (status == TY_OK)
        status = ty_cursor_write(store, &scope, &cursor, 1, &text, err);
    if (status == TY_OK)
        status = ty_cursor_read(store, &scope, text.data, 1, &cursor, err);
    if (status == TY_OK) {
        ty_buf_clear(&text);
        status = ty_jobs_spec(reader, 1, &text, err);
    }
    ty_reader_close(reader);
    return status;
}

static void live_one_life(void *context)
{
    struct ty_store *store = NULL;
    struct ty_error err = {0};
    struct test_job job;
    (void)context;
    test_job_init(&job, &fixture, "mnist", "{\"a\":\"b\"}");
    job.insert.record.tenant = 1;
    ty_status status = ty_store_open(&fixture.options, &store, &err);
    if (status == TY_OK)
        status = store_apply(store, submit, &job, &err);
    if (status == TY_OK)
        status = read_all(store, &err);
    ty_store_close(store);
    if (status != TY_OK && !(ty_oom_failed() && status == TY_NO_MEMORY))
        fail_msg("%s: %s", ty_status_name(status), err.text);
}

static void every_failed_allocation_is_told_and_leaks_nothing(void **state)
{
    (void)state;
    vfs = sim_vfs_create("sim-oom", 11);
    test_clock_init(&fixture.time, 1000000);
    fixture.options =
        (struct ty_store_options){.folder = "sim", .vfs = "sim-oom", .clock = &fixture.time.clock};
    live_one_life(NULL); /* makes the database and its first job */
    assert_true(ty_oom_sweep(live_one_life, NULL) > 20);
    live_one_life(NULL);
    sim_vfs_destroy(vfs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_is_told_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
