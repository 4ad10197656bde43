/* Many threads submit, read and list while the writer commits: for the thread sanitizer, and for
 * counts that add up. */
#include "store_fixture.h"
#include "trainyard/base/thread.h"
#include "trainyard/store/tenants.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUBMITTERS = 4, READERS = 3, EACH = 150 };

struct shared {
    struct store_fixture *fixture;
    _Atomic bool over;
    _Atomic int next;
    _Atomic int listed;
};

static ty_status insert(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_jobs_insert(writer, context, NULL, err);
}

static void *submit(void *context)
{
    struct shared *shared = context;
    for (int i = 0; i < EACH; i++) {
        struct ty_error err = {0};
        struct test_job job;
        struct store_fixture numbers = {.tenant = shared->fixture->tenant,
                                        .made = atomic_fetch_add(&shared->next, 1)};
        test_clock_init(&numbers.time, INT64_C(1767225600000000) + i);
        test_job_init(&job, &numbers, "thread", "{\"a\":\"b\"}");
        if (store_apply(shared->fixture->store, insert, &job.insert, &err) != TY_OK)
            abort();
    }
    return NULL;
}

struct walk {
    int64_t last;
    size_t count;
};

static bool note(void *context, const struct ty_job_record *record)
{
    struct walk *walk = context;
    if (record->row <= walk->last)
        abort();
    walk->last = record->row;
    walk->count++;
    return true;
}

static void *list(void *context)
{
    struct shared *shared = context;
    while (!atomic_load(&shared->over)) {
        struct ty_error err = {0};
        struct ty_reader *reader = NULL;
        struct walk walk = {0};
        struct ty_tenant_counts counts = {0};
        struct ty_store_figures figures;
        struct ty_job_query query = {.tenant = shared->fixture->tenant,
                                     .states = 1U << TY_JOB_QUEUED,
                                     .oldest_first = true,
                                     .limit = 10000};
        if (ty_reader_open(shared->fixture->store, &reader, &err) != TY_OK ||
            ty_jobs_list(reader, &query, note, &walk, &err) != TY_OK ||
            ty_tenants_count(reader, query.tenant, &counts, &err) != TY_OK)
            abort();
        if (walk.count > (size_t)counts.jobs) /* counted later than listed */
            abort();
        ty_reader_close(reader);
        ty_store_figures(shared->fixture->store, &figures);
        if (ty_store_health(shared->fixture->store, &err) != TY_OK)
            abort();
        atomic_fetch_add(&shared->listed, 1);
    }
    return NULL;
}

static void readers_and_submitters_get_along(void **state)
{
    struct store_fixture fixture;
    struct ty_error err = {0};
    struct ty_tenant_counts counts;
    pthread_t submitters[SUBMITTERS];
    pthread_t readers[READERS];
    (void)state;
    store_fixture_start(&fixture, true);
    struct shared shared = {.fixture = &fixture};
    for (int i = 0; i < READERS; i++)
        assert_int_equal(ty_thread_start(&readers[i], "reader", list, &shared, &err), TY_OK);
    for (int i = 0; i < SUBMITTERS; i++)
        assert_int_equal(ty_thread_start(&submitters[i], "submitter", submit, &shared, &err),
                         TY_OK);
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_join(submitters[i], NULL);
    atomic_store(&shared.over, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(ty_tenants_count(fixture.reader, fixture.tenant, &counts, &err), TY_OK);
    assert_int_equal(counts.jobs, SUBMITTERS * EACH);
    assert_int_equal(counts.queued, SUBMITTERS * EACH);
    assert_int_equal(counts.last_event, SUBMITTERS * EACH);
    assert_true(atomic_load(&shared.listed) > 0);
    struct ty_store_figures figures;
    ty_store_figures(fixture.store, &figures);
    assert_int_equal(figures.writes, SUBMITTERS * EACH);
    assert_true(figures.commits <= figures.writes);
    store_fixture_stop(&fixture);
}

/* A log that no checkpoint could ever empty would grow with every write. */
static void the_log_stays_bounded_under_writes(void **state)
{
    struct store_fixture fixture;
    char path[128];
    (void)state;
    store_fixture_start(&fixture, true);
    for (int i = 0; i < 3000; i++)
        test_job_make(&fixture, "bounded", "{\"a\":\"b\"}");
    (void)snprintf(path, sizeof(path), "%s/trainyard.db-wal", fixture.folder);
    FILE *log = fopen(path, "rb");
    assert_non_null(log);
    assert_int_equal(fseek(log, 0, SEEK_END), 0);
    assert_in_range(ftell(log), 1,
                    16 * 1024 * 1024); /* without checkpoints it would be over 100 MB */
    fclose(log);
    store_fixture_stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_and_submitters_get_along),
        cmocka_unit_test(the_log_stays_bounded_under_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
