#include "store_fixture.h"
#include "trainyard/base/str.h"
#include "trainyard/store/events.h"
#include "trainyard/store/tenants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int start(void **state)
{
    struct store_fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    store_fixture_start(fixture, false);
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    store_fixture_stop(*state);
    free(*state);
    return 0;
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stored_job_reads_back_as_it_was, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
