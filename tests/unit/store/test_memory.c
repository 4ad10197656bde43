/* Every allocation of SQLite fails once, in turn: the call says so or works, nothing leaks, and the
 * store goes on. */
#include "sim_vfs.h"
#include "store_fixture.h"
#include "trainyard/store/tenants.h"
#include "unit.h"

#include <sqlite3.h>
#include <stdlib.h>

static sqlite3_mem_methods real;
static uint64_t fail_in; /* 0 = never */
static uint64_t failures;

static bool fails(void)
{
    if (fail_in == 0 || --fail_in > 0)
        return false;
    failures++;
    return true;
}

static void *sweep_malloc(int size)
{
    return fails() ? NULL : real.xMalloc(size);
}

static void *sweep_realloc(void *block, int size)
{
    return fails() ? NULL : real.xRealloc(block, size);
}

static int install(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real), SQLITE_OK);
    sqlite3_mem_methods sweep = real;
    sweep.xMalloc = sweep_malloc;
    sweep.xRealloc = sweep_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &sweep), SQLITE_OK);
    return 0;
}

static bool count_job(void *context, const struct ty_job_record *record)
{
    (void)record;
    ++*(size_t *)context;
    return true;
}

static ty_status insert(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_jobs_insert(writer, context, NULL, err);
}

static ty_status run_everything(struct store_fixture *fixture, struct ty_error *err)
{
    struct test_job job;
    size_t count = 0;
    struct ty_job_query query = {.tenant = fixture->tenant,
                                 .name = "m",
                                 .name_prefix = true,
                                 .states = 3,
                                 .labels_count = 1,
                                 .limit = 10};
    query.labels[0].key = "a";
    query.labels[0].value = "b";
    test_job_init(&job, fixture, "mnist", "{\"a\":\"b\"}");
    ty_status status = store_apply(fixture->store, insert, &job.insert, err);
    if (status == TY_OK)
        status = ty_jobs_get(fixture->reader, fixture->tenant, job.id, count_job, &count, err);
    if (status == TY_OK)
        status = ty_jobs_list(fixture->reader, &query, count_job, &count, err);
    return status;
}

static void every_failed_allocation_of_a_write_and_a_read_is_told(void **state)
{
    struct sim_vfs *vfs = sim_vfs_create("sim-memory", 9);
    struct store_fixture fixture = {0};
    (void)state;
    test_clock_init(&fixture.time, 1000000);
    fixture.options = (struct ty_store_options){
        .folder = "sim", .vfs = "sim-memory", .clock = &fixture.time.clock};
    for (uint64_t nth = 1;; nth += nth < 150 ? 1 : 7) {
        struct ty_error err = {0};
        store_fixture_open(&fixture);
        uint64_t before = failures;
        fail_in = nth;
        ty_status status = run_everything(&fixture, &err);
        fail_in = 0;
        bool failed = failures > before;
        if (status != TY_OK)
            assert_int_equal(status, TY_NO_MEMORY);
        if (!failed)
            assert_int_equal(status, TY_OK);
        (void)ty_store_drain(fixture.store);
        assert_int_equal(ty_store_health(fixture.store, &err), TY_OK);
        assert_int_equal(run_everything(&fixture, &err), TY_OK); /* it goes on */
        store_fixture_close(&fixture);
        if (!failed)
            break;
    }
    assert_true(failures > 20);
    sim_vfs_destroy(vfs);
}

static void every_failed_allocation_of_an_open_is_told(void **state)
{
    struct sim_vfs *vfs = sim_vfs_create("sim-memory", 10);
    struct store_fixture fixture = {0};
    struct ty_error err = {0};
    (void)state;
    test_clock_init(&fixture.time, 1000000);
    fixture.options = (struct ty_store_options){
        .folder = "sim", .vfs = "sim-memory", .clock = &fixture.time.clock};
    for (uint64_t nth = 1;; nth += nth < 150 ? 1 : 7) {
        uint64_t before = failures;
        fail_in = nth;
        ty_status status = ty_store_open(&fixture.options, &fixture.store, &err);
        fail_in = 0;
        if (status == TY_OK) {
            ty_store_close(fixture.store);
            if (failures == before)
                break;
        } else {
            if (status != TY_NO_MEMORY)
                fail_msg("allocation %llu: %s", (unsigned long long)nth, err.text);
        }
    }
    store_fixture_open(&fixture);
    assert_int_equal(run_everything(&fixture, &err), TY_OK);
    store_fixture_close(&fixture);
    sim_vfs_destroy(vfs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_of_a_write_and_a_read_is_told),
        cmocka_unit_test(every_failed_allocation_of_an_open_is_told),
    };
    return cmocka_run_group_tests(tests, install, NULL);
}
